//! HTTP with SSE, the transport of 2024-11-05: one stream of events down, a POST for each message up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use gateway_config::UpstreamSpec;
use gateway_protocol::{Addressee, SseError, SseEvent, SseParser};
use http::header::HeaderMap;
use reqwest::{Response, Url};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::channel::{self, Inbox};
use super::events::{EventSink, Reaction};
use super::handshake::{self, Introduction};
use super::http::client::{self, HttpClient, Kind, SendError};
use super::router::{Router, SkipCause};
use super::status::Status;
use super::tasks::Tasks;
use super::{Channel, Opened};
use crate::error::{CallError, ConnectError};
use crate::results::{Reservation, ServerResults, needed};

/// Messages on their way up at a time, and as many answers to the server. Further messages wait; a server that asks
/// faster than it takes answers gets none.
const ON_THEIR_WAY: usize = 256;
/// How long the way up may take.
const POST_PATIENCE: Duration = Duration::from_secs(30);

/// Opens the stream, learns where to send, and shakes hands.
pub(super) async fn open(
    spec: &UpstreamSpec,
    client: Arc<HttpClient>,
    who: &Introduction,
    events: &Arc<EventSink>,
    until: Instant,
) -> Result<Opened, ConnectError> {
    let late = |_| ConnectError::Timeout { step: "the stream of events", waited: spec.timeouts.connect };
    let response = match timeout_at(until, client.get_events(HeaderMap::new())).await.map_err(late)? {
        Ok(response) => response,
        Err(SendError::NotSent(reason) | SendError::Unclear(reason)) => return Err(client.error(reason)),
    };
    let results = events.results.clone();
    let parser = SseParser::new(client.limit);
    let mut stream = EventStream { response, parser, results, reserved: None };
    if !stream.response.status().is_success() {
        let body = timeout_at(until, client.error_body(&mut stream.response)).await.map_err(late)?;
        return Err(client.error(client.explain_status(stream.response.status(), &body)));
    }
    if client::kind(&stream.response) != Kind::Events {
        return Err(client.error("it gave no stream of events"));
    }
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

/// An event that there was no room for may be so many times as long as one that is taken.
const SKIPPED: u64 = 4;

/// Why there is no next event.
enum StreamEnd {
    /// There was no room for one beside other results. It was skipped, and the stream can be read on.
    NoRoom(Addressee),
    TooLong(String),
    Broken(String),
}

struct EventStream {
    response: Response,
    parser: SseParser,
    results: ServerResults,
    /// Room for the event that is being read, if it is long.
    reserved: Option<Reservation>,
}

impl EventStream {
    /// The next event. Cancel-safe: what was read stays in the parser.
    async fn next(&mut self, client: &HttpClient) -> Result<SseEvent, StreamEnd> {
        loop {
            match self.parser.next_event() {
                Ok(None) => {}
                Ok(Some(mut event)) => {
                    event.data = self.results.count(event.data, self.reserved.take());
                    return Ok(event);
                }
                Err(SseError::GivenUp { addressee }) => return Err(StreamEnd::NoRoom(addressee)),
                Err(error) => return Err(StreamEnd::TooLong(error.to_string())),
            }
            if self.parser.skipped() > SKIPPED.saturating_mul(client.limit as u64) {
                return Err(StreamEnd::TooLong("it sent an event without end".to_owned()));
            }
            self.reserve(client.limit).await;
            match client.chunk(&mut self.response).await.map_err(StreamEnd::Broken)? {
                Some(piece) => self.parser.push(&piece),
                None => return Err(StreamEnd::Broken("it ended the stream of events".to_owned())),
            }
        }
    }

    /// Reserves room for a long event before it is read on, or gives it up. Cancel-safe: it does not wait longer for being
    /// asked again.
    async fn reserve(&mut self, limit: usize) {
        let Some(bytes) = needed(self.parser.held(), limit) else {
            self.reserved = None;
            return;
        };
        let reservation = self.reserved.get_or_insert_with(|| self.results.reservation());
        if !reservation.grow(bytes).await {
            self.reserved = None;
            self.parser.give_up();
        }
    }
}

/// Where messages go, as the first event says.
async fn endpoint(client: &HttpClient, stream: &mut EventStream) -> Result<Url, ConnectError> {
    loop {
        let event = match stream.next(client).await {
            Ok(event) => event,
            Err(StreamEnd::TooLong(reason) | StreamEnd::Broken(reason)) => return Err(client.error(reason)),
            Err(StreamEnd::NoRoom(_)) => return Err(client.error(NO_ROOM)),
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
    outcome: Result<Bytes, PostError>,
}

enum PostError {
    NotSent(String),
    Unclear(String),
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
                            router.settle(id, Err(match error {
                                PostError::NotSent(reason) => CallError::Unreachable { upstream, reason },
                                PostError::Unclear(reason) => CallError::Lost { upstream, reason },
                            }));
                        }
                    }
                }
                event = stream.next(client) => match event {
                    Ok(event) if event.event == "message" => router.accept(&event.data, &mut reactions),
                    Ok(_) => {}
                    // The rest of the event cannot be told from the next one.
                    Err(StreamEnd::TooLong(reason)) => {
                        router.skip_for_all(SkipCause::TooLong);
                        return reason;
                    }
                    Err(StreamEnd::NoRoom(addressee)) => router.skip_for(addressee, SkipCause::NoRoom),
                    Err(StreamEnd::Broken(reason)) => return reason,
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
        let mut response =
            client.post(endpoint, HeaderMap::new(), message).await.map_err(|error| match error {
                SendError::NotSent(reason) => PostError::NotSent(reason),
                SendError::Unclear(reason) => PostError::Unclear(reason),
            })?;
        let body = client.error_body(&mut response).await;
        let status = response.status();
        if status.is_success() {
            return Ok(body);
        }
        let reason = client.explain_status(status, &body);
        Err(if status.is_client_error() { PostError::NotSent(reason) } else { PostError::Unclear(reason) })
    };
    let outcome = timeout(POST_PATIENCE, sending)
        .await
        .unwrap_or_else(|_| Err(PostError::Unclear("the message was not taken in time".to_owned())));
    Posted { id, sent, outcome }
}
