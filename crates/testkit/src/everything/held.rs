//! Calls that are held until they are cancelled, and their outcomes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Asked, failure, text};

/// How long a call is held, and how long a waiter waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every held call that ever began, by its label, and whether it was cancelled.
#[derive(Debug, Default)]
pub(crate) struct Held(watch::Sender<BTreeMap<String, State>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begun,
    Cancelled,
}

impl Held {
    fn note(&self, label: &str, state: State) {
        self.0.send_modify(|calls| {
            calls.insert(label.to_owned(), state);
        });
    }
}

/// Holds a call; `None` once it was cancelled.
pub(super) async fn hold(asked: Asked<'_>, cancelled: &CancellationToken) -> Option<Value> {
    let (held, label) = (&asked.everything.held, label_of(asked));
    held.note(&label, State::Begun);
    asked.progress(0);
    tokio::select! {
        () = cancelled.cancelled() => {}
        // The end of a session cancels its calls.
        () = end_of_session(asked) => {}
        () = tokio::time::sleep(PATIENCE) => return Some(failure(format!("nobody cancelled {label}"))),
    }
    held.note(&label, State::Cancelled);
    None
}

/// Waits until a held call has begun, or was cancelled.
pub(super) async fn wait(asked: Asked<'_>) -> Value {
    let label = label_of(asked);
    let wanted = match asked.arguments()["state"].as_str() {
        Some("begun") => State::Begun,
        _ => State::Cancelled,
    };
    let mut calls = asked.everything.held.0.subscribe();
    let reached = calls.wait_for(|calls| {
        calls.get(&label).is_some_and(|state| *state == wanted || *state == State::Cancelled)
    });
    match tokio::time::timeout(PATIENCE, reached).await {
        Ok(Ok(_)) => text(match wanted {
            State::Begun => format!("{label} has begun"),
            State::Cancelled => format!("{label} was cancelled"),
        }),
        _ => failure(format!("no such news of {label}")),
    }
}

/// A question that is never asked ends only with the session.
async fn end_of_session(asked: Asked<'_>) {
    match &asked.exchange.session {
        Some(session) => drop(session.expect_answer().1.await),
        None => std::future::pending().await,
    }
}

fn label_of(asked: Asked<'_>) -> String {
    asked.arguments()["label"].as_str().unwrap_or_default().to_owned()
}
