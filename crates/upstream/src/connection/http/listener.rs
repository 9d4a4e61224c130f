//! The long streams on which a server announces changes: GET in the legacy era, `subscriptions/listen` in the modern.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gateway_protocol::{RawJson, header};
use http::StatusCode;
use http::header::{HeaderMap, HeaderValue};
use reqwest::Response;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::client::{self, SendError};
use super::session::modern_headers;
use super::stream::{EventStream, NoEvent};
use super::{Http, LONGEST_RETRY};
use crate::connection::handshake::{
    Identity, Introduction, LISTEN_FIRST_PAUSE, LISTEN_LONGEST_PAUSE, listen_call, listen_filter,
};
use crate::connection::tasks::Tasks;

/// How long the head of the response may take. The stream itself lives as long as the connection.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long the opening of a connection waits for the first legacy stream.
const STREAM_PATIENCE: Duration = Duration::from_millis(500);

/// Starts listening where the server has something to announce. A legacy server may ask its questions on this stream only:
/// a call that overtakes the stream would lose them. So the opening waits for the server's answer, for a short time,
/// because some servers send the head of a stream only with its first event.
pub(super) async fn start(tasks: &Tasks, http: &Arc<Http>, who: &Introduction, identity: &Identity) {
    let (http, stop) = (Arc::clone(http), tasks.stop().clone());
    if !identity.era.is_modern() {
        let (answered, answer) = oneshot::channel();
        tasks.spawn(async move {
            let _ = stop.run_until_cancelled(listen_legacy(&http, answered)).await;
        });
        let _ = timeout(STREAM_PATIENCE, answer).await;
    } else if let Some(filter) = listen_filter(&identity.capabilities) {
        let meta = who.meta(&identity.era);
        tasks.spawn(async move {
            let _ = stop.run_until_cancelled(listen_modern(&http, &meta, &filter, None)).await;
        });
    }
}

/// How a try to listen went.
enum Heard {
    /// The stream was there and broke.
    Broken { retry: Option<Duration> },
    /// There was no stream this time.
    Nothing,
    /// The session is gone.
    SessionGone,
    /// There never will be a stream.
    Never,
}

/// Listens for as long as the connection lives. `answered` is dropped once the server has answered for the first time.
async fn listen_legacy(http: &Http, answered: oneshot::Sender<()>) {
    let mut answered = Some(answered);
    let mut pause = LISTEN_FIRST_PAUSE;
    let mut last_id: Option<String> = None;
    // Whether there was a time in which the server could not announce changes.
    let mut missed = false;
    let mut sessions = http.session.subscribe();
    let mut generation = None;
    loop {
        let session = Arc::clone(&sessions.borrow_and_update());
        // Another session has other streams.
        if generation.replace(session.generation) != Some(session.generation) {
            last_id = None;
        }
        let mut headers = session.headers();
        if let Some(id) = last_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(&header::LAST_EVENT, id);
        }
        let began = Instant::now();
        let answer = timeout(HEAD_PATIENCE, http.client.get_events(headers)).await;
        drop(answered.take());
        let heard = match answer {
            Ok(sent) => http.hear(sent, &mut last_id, missed, None).await,
            Err(_) => Heard::Nothing,
        };
        let wait = match heard {
            Heard::Never => return,
            Heard::SessionGone => {
                // Perhaps it is only the event that the server does not know any more.
                if last_id.take().is_some() {
                    missed = true;
                    continue;
                }
                // The next caller finds out and asks for a new one.
                if sessions.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Heard::Broken { retry } => {
                // A stream that ends at once is hardly better than none.
                if began.elapsed() >= LISTEN_FIRST_PAUSE {
                    pause = LISTEN_FIRST_PAUSE;
                }
                // A server that wants us back at once would keep us busy for ever.
                retry.unwrap_or_default().max(pause)
            }
            Heard::Nothing => pause,
        };
        missed = true;
        sleep(wait).await;
        pause = (pause * 2).min(LISTEN_LONGEST_PAUSE);
    }
}

/// Listens for as long as the server lets us. `acknowledged` is cancelled once it has agreed.
pub(super) async fn listen_modern(
    http: &Http,
    meta: &[(&'static str, Vec<u8>)],
    filter: &RawJson,
    acknowledged: Option<&CancellationToken>,
) {
    let entries: Vec<_> = meta.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let params = [("notifications", filter.as_bytes())];
    let mut pause = LISTEN_FIRST_PAUSE;
    loop {
        let call = listen_call(&params, &entries);
        let mut headers: HeaderMap = http.session().headers();
        modern_headers(&mut headers, &call);
        let mut body = Vec::new();
        call.write(&mut body, http.next_id.fetch_add(1, Ordering::Relaxed));
        let heard = match timeout(HEAD_PATIENCE, http.client.post(&http.client.url, headers, body)).await {
            Ok(sent) => http.hear(sent, &mut None, false, acknowledged).await,
            Err(_) => Heard::Nothing,
        };
        match heard {
            Heard::Never | Heard::SessionGone => return,
            Heard::Broken { .. } => pause = LISTEN_FIRST_PAUSE,
            Heard::Nothing => {}
        }
        sleep(pause).await;
        pause = (pause * 2).min(LISTEN_LONGEST_PAUSE);
        // Changes that happened meanwhile were announced to nobody.
        http.events.everything_changed();
    }
}

impl Http {
    /// Reads a stream of events to its end. Where changes may have been `missed` before it, all lists count as changed
    /// as soon as it is there.
    async fn hear(
        &self,
        sent: Result<Response, SendError>,
        last_id: &mut Option<String>,
        missed: bool,
        acknowledged: Option<&CancellationToken>,
    ) -> Heard {
        let response = match sent {
            Ok(response) => response,
            Err(SendError::NotSent(reason)) => {
                self.note_unreachable(&reason);
                return Heard::Nothing;
            }
            Err(SendError::Unclear(_)) => return Heard::Nothing,
        };
        self.unreachable.store(0, Ordering::Relaxed);
        match response.status() {
            StatusCode::NOT_FOUND if self.session().has_id() => return Heard::SessionGone,
            StatusCode::TOO_MANY_REQUESTS => return Heard::Nothing,
            status if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {
                return Heard::Nothing;
            }
            status if !status.is_success() => return Heard::Never,
            _ if !client::is_stream(&response) => return Heard::Never,
            _ => {}
        }
        if missed {
            self.events.everything_changed();
        }
        let mut stream = EventStream::new(&self.client, response, &self.events.results);
        loop {
            let event = stream.next().await;
            *last_id = stream.parser.last_id().map(str::to_owned).or(last_id.take());
            match event {
                Ok(event) if event.event == "message" && !event.data.is_empty() => {
                    // The first message of a modern stream is the server's agreement.
                    if let Some(acknowledged) = acknowledged {
                        acknowledged.cancel();
                    }
                    self.free_message(event.data);
                }
                // Without room for a long event, the parser skips to its end and reports that.
                Ok(_) | Err(NoEvent::NoRoom | NoEvent::Skipped(_)) => {}
                Err(NoEvent::Broken(_)) => break,
                // It may have no end: the stream begins anew behind it.
                Err(NoEvent::TooLong(_)) => return Heard::Broken { retry: None },
            }
        }
        let retry = stream.parser.retry_ms().map(|millis| Duration::from_millis(millis).min(LONGEST_RETRY));
        Heard::Broken { retry }
    }
}
