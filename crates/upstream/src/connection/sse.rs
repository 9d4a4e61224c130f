//! HTTP with SSE, the transport of 2024-11-05: one stream of events down, a POST for each message up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use http::header::HeaderMap;
use reqwest::Url;
use tokio::sync::oneshot;
use tokio::time::{timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::channel::{self, Inbox};
use super::events::Reaction;
use super::http::client::{self, HttpClient, SendError};
use super::http::stream::{EventStream, NoEvent};
use super::router::{Router, SkipCause};
use super::status::Status;
use super::tasks::Tasks;
use super::{Attempt, Channel, Opened, handshake};
use crate::error::{CallError, ConnectError};

/// Messages on their way up at a time, and as many answers to the server. Further messages wait; a server that asks
/// faster than it takes answers gets none.
const ON_THEIR_WAY: usize = 256;
/// How long the way up may take.
const POST_PATIENCE: Duration = Duration::from_secs(30);

/// Opens the stream, learns where to send, and shakes hands.
pub(super) async fn open(attempt: &Attempt<'_>, client: Arc<HttpClient>) -> Result<Opened, ConnectError> {
    let Attempt { spec, who, events, until, .. } = attempt;
    let until = *until;
    let late = |_| ConnectError::Timeout { step: "the stream of events", waited: spec.timeouts.connect };
    let mut response = match timeout_at(until, client.get_events(HeaderMap::new())).await.map_err(late)? {
        Ok(response) => response,
        Err(SendError::NotSent(reason) | SendError::Unclear(reason)) => return Err(client.error(reason)),
    };
    if !response.status().is_success() {
        let body = timeout_at(until, client.error_body(&mut response)).await.map_err(late)?;
        return Err(client.error(client.explain_status(response.status(), response.headers(), &body)));
    }
    if !client::is_stream(&response) {
        return Err(client.error("it gave no stream of events"));
    }
    let mut stream = EventStream::new(&client, response, &events.results);
    let endpoint = timeout_at(until, endpoint(&client, &mut stream)).await.map_err(late)??;
    let tasks = Tasks::new();
    let status = Arc::new(Status::new(spec.limits.stderr_bytes, None));
    let (channel, inbox) = channel::channel(&spec.id, &status);
    let router =
        Router::new(spec.id.clone(), spec.limits.message_bytes, Arc::clone(events), Arc::clone(&status));
    let carrier = Carrier { client, endpoint, router, longest_answer: spec.timeouts.call_maximum };
    let stop = tasks.stop().clone();
    tasks.spawn(carrier.run(stream, inbox, stop));
    let identity = handshake::initialize(&channel, who, until).await?;
    Ok(Opened { transport: "sse", identity, status, channel: Channel::Stream(Arc::new(channel)), tasks })
}

/// Why the first event is not read.
const NO_ROOM: &str = "there is no room for its event beside the results of others (`limits.resultBytes`)";

/// Where messages go, as the first event says.
async fn endpoint(client: &HttpClient, stream: &mut EventStream) -> Result<Url, ConnectError> {
    loop {
        let event = match stream.next().await {
            Ok(event) => event,
            Err(NoEvent::TooLong(reason) | NoEvent::Broken(reason)) => return Err(client.error(reason)),
            Err(NoEvent::NoRoom | NoEvent::Skipped(_)) => return Err(client.error(NO_ROOM)),
        };
        if event.event != "endpoint" {
            continue;
        }
        let text = String::from_utf8_lossy(&event.data);
        let url = client
            .url
            .join(text.trim())
            .map_err(|error| client.error(format!("it named an invalid endpoint: {error}")))?;
        if url.origin() != client.url.origin() {
            // Our headers may hold secrets that are not meant for others.
            return Err(client.error("it named an endpoint of another origin"));
        }
        return Ok(url);
    }
}

/// The task that owns the connection.
struct Carrier {
    client: Arc<HttpClient>,
    endpoint: Url,
    router: Router,
    longest_answer: Duration,
}

/// How the way up went.
struct Posted {
    id: Option<u64>,
    sent: Option<oneshot::Sender<()>>,
    outcome: Result<Bytes, SendError>,
}

impl Carrier {
    async fn run(mut self, mut stream: EventStream, mut inbox: Inbox, stop: CancellationToken) {
        let reason = self.work(&mut stream, &mut inbox, &stop).await;
        self.router.status.end(&reason);
        // What was handed to HTTP may have arrived.
        self.router.lose_all(u64::MAX - 1, &reason);
        channel::refuse_rest(inbox, &self.router.upstream, &reason).await;
    }

    async fn work(
        &mut self,
        stream: &mut EventStream,
        inbox: &mut Inbox,
        stop: &CancellationToken,
    ) -> String {
        let Self { client, endpoint, router, longest_answer } = self;
        let (client, endpoint) = (&**client, &*endpoint);
        let events = Arc::clone(&router.events);
        let (stopped, delivering) = (stop.cancelled(), events.keep_delivering());
        tokio::pin!(stopped, delivering);
        let mut posts = FuturesUnordered::new();
        let mut replies = FuturesUnordered::new();
        let mut answers = FuturesUnordered::new();
        let mut reactions = Vec::new();
        loop {
            tokio::select! {
                () = &mut stopped => return "closed by the gateway".to_owned(),
                outgoing = inbox.outgoing.recv(), if posts.len() < ON_THEIR_WAY => {
                    let Some(outgoing) = outgoing else { return "closed by the gateway".to_owned() };
                    let id = outgoing.request.as_ref().map(|(id, _)| *id);
                    if let Some((id, waiting)) = outgoing.request {
                        if waiting.answer.is_closed() {
                            continue;
                        }
                        router.add(id, waiting, 0);
                    }
                    posts.push(post(client, endpoint, id, outgoing.sent, outgoing.message));
                }
                Some(left) = inbox.left.recv() => {
                    if router.forget(left.id) && let Some(message) = left.message() {
                        posts.push(post(client, endpoint, None, None, message));
                    }
                }
                Some(posted) = posts.next(), if !posts.is_empty() => {
                    if let Some(sent) = posted.sent {
                        let _ = sent.send(());
                    }
                    match (posted.id, posted.outcome) {
                        // Some servers answer here already.
                        (Some(_), Ok(body)) if body.first() == Some(&b'{') => router.accept(&body, &mut reactions),
                        (_, Ok(_)) | (None, Err(_)) => {}
                        (Some(id), Err(error)) => {
                            let upstream = router.upstream.clone();
                            router.fail(id, match error {
                                SendError::NotSent(reason) => CallError::Unreachable { upstream, reason },
                                SendError::Unclear(reason) => CallError::Lost { upstream, reason },
                            });
                        }
                    }
                }
                event = stream.next() => match event {
                    Ok(event) if event.event == "message" => router.accept(&event.data, &mut reactions),
                    // What there is no room for is skipped to its end, which shows whose it was.
                    Ok(_) | Err(NoEvent::NoRoom) => {}
                    // The rest of the event cannot be distinguished from the next one.
                    Err(NoEvent::TooLong(reason)) => {
                        router.skip_for_all(SkipCause::TooLong);
                        return reason;
                    }
                    Err(NoEvent::Skipped(addressee)) => router.skip_for(addressee, SkipCause::NoRoom),
                    Err(NoEvent::Broken(reason)) => return reason,
                },
                Some(message) = answers.next(), if !answers.is_empty() && replies.len() < ON_THEIR_WAY => {
                    if let Some(message) = message {
                        replies.push(post(client, endpoint, None, None, message));
                    }
                }
                // Nobody waits for how it went.
                Some(_) = replies.next(), if !replies.is_empty() => {}
                () = &mut delivering => {}
            }
            for reaction in reactions.drain(..) {
                match reaction {
                    Reaction::Send(message) if replies.len() < ON_THEIR_WAY => {
                        replies.push(post(client, endpoint, None, None, message));
                    }
                    Reaction::Await(unanswered) if answers.len() < ON_THEIR_WAY => {
                        answers.push(unanswered.written(*longest_answer));
                    }
                    excess @ (Reaction::Send(_) | Reaction::Await(_)) => excess.leave(),
                }
            }
        }
    }
}

async fn post(
    client: &HttpClient,
    endpoint: &Url,
    id: Option<u64>,
    sent: Option<oneshot::Sender<()>>,
    message: Vec<u8>,
) -> Posted {
    let sending = async {
        let mut response = client.post(endpoint, HeaderMap::new(), message).await?;
        let body = client.error_body(&mut response).await;
        let status = response.status();
        if status.is_success() {
            return Ok(body);
        }
        let reason = client.explain_status(status, response.headers(), &body);
        Err(if status.is_client_error() { SendError::NotSent(reason) } else { SendError::Unclear(reason) })
    };
    let outcome = timeout(POST_PATIENCE, sending)
        .await
        .unwrap_or_else(|_| Err(SendError::Unclear("the message was not taken in time".to_owned())));
    Posted { id, sent, outcome }
}
