//! Requests of a server that nobody answers: the first of a kind is logged, the others are counted.
//!
//! A server can ask without end. One line for each request would fill the log of the gateway.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateway_config::UpstreamId;
use tokio::time::Instant;
use tracing::{info, warn};

/// How often the count is logged.
const SUMMARY: Duration = Duration::from_mins(1);

/// How much of a method that we do not know goes into the log.
const METHOD_CHARACTERS: usize = 100;

/// What servers ask for. Methods that we do not know are one kind, because a server can invent any number.
const KINDS: [&str; 3] = ["sampling/createMessage", "elicitation/create", ROOTS];
const ROOTS: &str = "roots/list";

/// The refused requests of one connection.
#[derive(Debug)]
pub(super) struct Refusals {
    upstream: UpstreamId,
    /// Over all connections of the upstream.
    total: Arc<AtomicU64>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    logged: [bool; KINDS.len() + 1],
    /// Refused since the last line of the log.
    unreported: u64,
    since: Instant,
}

impl Refusals {
    pub(super) fn new(upstream: UpstreamId, total: Arc<AtomicU64>) -> Self {
        let state = State { logged: [false; KINDS.len() + 1], unreported: 0, since: Instant::now() };
        Self { upstream, total, state: Mutex::new(state) }
    }

    /// Takes note of a request that is refused.
    pub(super) fn note(&self, method: &str) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let kind = KINDS.iter().position(|kind| *kind == method).unwrap_or(KINDS.len());
        let upstream = &self.upstream;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(logged @ false) = state.logged.get_mut(kind) {
            *logged = true;
            let method: String = method.chars().take(METHOD_CHARACTERS).collect();
            // Many servers ask for roots as soon as they are connected, when no caller is there yet, and do without.
            if method == ROOTS {
                info!(%upstream, method, "Request of the server refused: there is no caller who could answer it. That is harmless.");
            } else {
                warn!(
                    %upstream, method,
                    "Request of the server refused: nobody can answer it, or it is not clear for whom it is. More of its kind are only counted."
                );
            }
            return;
        }
        state.unreported += 1;
        if state.since.elapsed() >= SUMMARY {
            state.report(upstream);
        }
    }
}

impl State {
    fn report(&mut self, upstream: &UpstreamId) {
        let count = std::mem::take(&mut self.unreported);
        self.since = Instant::now();
        if count > 0 {
            warn!(%upstream, count, "More requests of the server refused.");
        }
    }
}

impl Drop for Refusals {
    fn drop(&mut self) {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).report(&self.upstream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_lines::log_lines;

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_requests_is_a_few_lines() {
        let total = Arc::new(AtomicU64::new(0));
        let refusals = Refusals::new(UpstreamId::new("up"), Arc::clone(&total));
        let flood = log_lines(|| {
            for number in 0..1_000 {
                refusals.note("sampling/createMessage");
                refusals.note(&format!("invented/{number}"));
            }
        });
        let first = |method: &str| {
            format!(
                "Request of the server refused: nobody can answer it, or it is not clear for whom it is. More of its \
                 kind are only counted. upstream=up method={method}"
            )
        };
        assert_eq!(flood, [first("sampling/createMessage"), first("invented/0")], "one line for each kind");
        tokio::time::advance(SUMMARY).await;
        let later = log_lines(|| {
            refusals.note("sampling/createMessage");
            refusals.note("sampling/createMessage");
        });
        assert_eq!(
            later,
            ["More requests of the server refused. upstream=up count=1999"],
            "a summary each minute"
        );
        let end = log_lines(|| drop(refusals));
        assert_eq!(end, ["More requests of the server refused. upstream=up count=1"], "and one at the end");
        assert_eq!(total.load(Ordering::Relaxed), 2_002);
    }
}
