//! The task that sends what no caller waits for: answers, cancellations, new sessions and the farewell.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use gateway_config::Timeouts;
use gateway_protocol::Era;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::Http;
use super::opening::{self, Reply};
use crate::connection::events::Reaction;
use crate::connection::handshake::Introduction;

/// Messages on their way at a time; further ones wait.
const ON_THEIR_WAY: usize = 64;
/// How long a message may take.
const POST_PATIENCE: Duration = Duration::from_secs(30);

/// Something to send.
#[derive(Debug)]
pub(super) enum CourierRequest {
    /// A message without an answer.
    Post(Vec<u8>),
    /// The answer to a request of the server.
    React(Reaction),
    /// A new session instead of the one of this generation.
    Renew { generation: u64, done: oneshot::Sender<Result<(), String>> },
}

/// How the courier works.
#[derive(Debug)]
pub(super) struct Duties {
    pub(super) who: Introduction,
    pub(super) era: Era,
    pub(super) timeouts: Timeouts,
}

/// Serves requests until the connection is closed.
pub(super) async fn run(http: Arc<Http>, mut requests: mpsc::Receiver<CourierRequest>, duties: Duties) {
    let mut on_their_way: FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send>>> =
        FuturesUnordered::new();
    let delivering = http.events.keep_delivering();
    tokio::pin!(delivering);
    loop {
        tokio::select! {
            () = http.stop.cancelled() => break,
            request = requests.recv(), if on_their_way.len() < ON_THEIR_WAY => {
                let http = Arc::clone(&http);
                match request {
                    None => break,
                    Some(CourierRequest::Post(message) | CourierRequest::React(Reaction::Send(message))) => {
                        on_their_way.push(Box::pin(async move { http.deliver(message).await }));
                    }
                    Some(CourierRequest::React(Reaction::Await(unanswered))) => {
                        let longest = duties.timeouts.call_maximum;
                        on_their_way.push(Box::pin(async move {
                            if let Some(message) = unanswered.written(longest).await {
                                http.deliver(message).await;
                            }
                        }));
                    }
                    Some(CourierRequest::Renew { generation, done }) => {
                        // One at a time: whoever comes later finds the new session.
                        let stop = http.stop.clone();
                        let Some(outcome) = stop.run_until_cancelled(renew(&http, &duties, generation)).await else {
                            break;
                        };
                        let _ = done.send(outcome);
                    }
                }
            }
            Some(()) = on_their_way.next(), if !on_their_way.is_empty() => {}
            () = &mut delivering => {}
        }
    }
    drop(on_their_way);
    let session = http.session();
    if session.has_id() {
        let _ = timeout(duties.timeouts.close, http.client.delete(session.headers())).await;
    }
}

impl Http {
    /// Sends a message whose answer nobody reads.
    async fn deliver(&self, message: Vec<u8>) {
        let headers = self.session().headers();
        let sending = async {
            if let Ok(mut response) = self.client.post(&self.client.url, headers, message).await {
                // Read to its end, the connection can be used again.
                let _ = self.client.error_body(&mut response).await;
            }
        };
        let _ = timeout(POST_PATIENCE, sending).await;
    }
}

async fn renew(http: &Http, duties: &Duties, generation: u64) -> Result<(), String> {
    if http.session().generation != generation {
        return Ok(());
    }
    let until = Instant::now() + duties.timeouts.connect.min(POST_PATIENCE);
    let refused = |reason: String| {
        http.status.end(&reason);
        Err(reason)
    };
    match opening::initialize(http, &duties.who, generation + 1, until).await {
        Ok(Reply::Shaken(identity)) if identity.era == duties.era => {
            // A server that forgot its session was started anew, perhaps with other tools.
            http.events.everything_changed();
            http.events.renewed();
            Ok(())
        }
        Ok(Reply::Shaken(identity)) => {
            refused(format!("it forgot its session and now speaks {}", identity.era.version()))
        }
        Ok(Reply::Refused { error }) => {
            refused(format!("it forgot its session and refuses a new one: {error}"))
        }
        Ok(Reply::Status { reason, .. }) => {
            refused(format!("it forgot its session and refuses a new one: {reason}"))
        }
        Err(error) => Err(error.to_string()),
    }
}
