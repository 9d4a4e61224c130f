//! Between clients over HTTP and a server over HTTP.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use gateway_cassette::Channel;
use gateway_protocol::{Incoming, RequestId, RpcError, SseParser, code, header};
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, TRANSFER_ENCODING,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use reqwest::{Client, Url, redirect};
use serde::de::IgnoredAny;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::calls::{self, ToolCall};
use super::known_secrets;
use super::tape::Tape;
use crate::Outcome;
use crate::loopback::{self, LONGEST_MESSAGE, Parts};
use crate::runtime::EndSignals;
use crate::terminal::{Form, errors, output};

/// Headers that concern one connection, not a message.
static OF_A_CONNECTION: [HeaderName; 6] = [
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TRANSFER_ENCODING,
    ACCEPT_ENCODING,
    HeaderName::from_static("keep-alive"),
];
/// How much of a refusal that is no message of MCP is recorded.
const SHOWN: usize = 200;
/// Sessions that are remembered.
const SESSIONS: usize = 1024;
/// How long a server may take to accept a connection. How long it works on a request is for its client to judge.
const CONNECT: Duration = Duration::from_secs(30);

/// Passes requests on to a server and notes what is said.
#[derive(Clone, Debug)]
pub(super) struct Proxy(Arc<State>);

#[derive(Debug)]
struct State {
    tape: Tape,
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// Numbers for those with whom ids of requests are unique.
    peers: AtomicU64,
    /// The sessions that clients were last seen in, and their numbers.
    sessions: Mutex<VecDeque<(String, u64)>>,
    /// The streams that are passed on.
    streams: Mutex<JoinSet<()>>,
}

/// What one request over HTTP is about.
struct Exchange {
    peer: u64,
    channel: Channel,
    /// The requests of MCP in it.
    asked: Vec<RequestId>,
}

impl Proxy {
    pub(super) fn new(tape: Tape, url: &str, headers: &BTreeMap<String, String>) -> Result<Self> {
        // It may hold secrets, so it is not repeated.
        let url = Url::parse(url).context("reading the URL")?;
        // An already installed provider is fine too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder().redirect(redirect::Policy::none()).connect_timeout(CONNECT);
        if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            builder = builder.no_proxy();
        }
        let client = builder.build().context("making an HTTP client")?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let (Ok(key), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
            else {
                bail!("the header `{name}` has characters that no header may have");
            };
            map.insert(key, value);
        }
        Ok(Self(Arc::new(State {
            tape,
            client,
            url,
            headers: map,
            peers: AtomicU64::new(1),
            sessions: Mutex::default(),
            streams: Mutex::default(),
        })))
    }

    async fn forward(self, request: Request<hyper::body::Incoming>) -> Response<Parts> {
        let state = &self.0;
        let (head, body) = request.into_parts();
        if head.uri.path() != state.url.path() {
            return loopback::plain(
                StatusCode::NOT_FOUND,
                format!("the server is at {}\n", state.url.path()),
            );
        }
        let Some(body) = loopback::whole_body(body).await else {
            return loopback::plain(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the message is too long to be recorded\n",
            );
        };
        let exchange = self.note_request(&head.method, &head.headers, &body);
        let mut headers = without_connection(&head.headers);
        // The server would take it for a page of ours.
        headers.remove(ORIGIN);
        headers.extend(state.headers.clone());
        let sent =
            state.client.request(head.method, state.url.clone()).headers(headers).body(body).send().await;
        match sent {
            Ok(response) => self.answer(exchange, response).await,
            Err(error) => {
                let reason = format!("{:#}", anyhow::Error::new(error.without_url()));
                self.refuse(&exchange, &format!("the server cannot be reached: {reason}"));
                loopback::plain(
                    StatusCode::BAD_GATEWAY,
                    format!("asking {}: {reason}\n", known_secrets::shown(&state.url)),
                )
            }
        }
    }

    fn note_request(&self, method: &Method, headers: &HeaderMap, body: &[u8]) -> Exchange {
        let peer = match headers.get(&header::SESSION).and_then(|id| id.to_str().ok()) {
            Some(session) => self.peer_of(session),
            None => self.0.peers.fetch_add(1, Ordering::Relaxed),
        };
        let mut asked = Vec::new();
        if *method == Method::POST {
            for message in self.0.tape.messages(body, |recorder, message| recorder.client(peer, message)) {
                if let Incoming::Request(request) = message {
                    asked.extend(request.id.read::<RequestId>());
                }
            }
        }
        let channel = asked.first().map_or(Channel::Session, |id| Channel::AnswerTo(id.clone()));
        Exchange { peer, channel, asked }
    }

    fn peer_of(&self, session: &str) -> u64 {
        let mut sessions = self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sessions.iter().position(|(id, _)| id == session).and_then(|at| sessions.remove(at));
        let (id, peer) =
            known.unwrap_or_else(|| (session.to_owned(), self.0.peers.fetch_add(1, Ordering::Relaxed)));
        // The one that was idle for longest goes: what it still says is recorded as that of a new client.
        if sessions.len() >= SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((id, peer));
        peer
    }

    /// Passes an answer on, whole or as it comes.
    async fn answer(self, exchange: Exchange, mut answer: reqwest::Response) -> Response<Parts> {
        let (sender, body) = Parts::channel();
        let mut response = Response::new(body);
        *response.status_mut() = answer.status();
        *response.headers_mut() = without_connection(answer.headers());
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") && answer.status().is_success() {
            let state = Arc::clone(&self.0);
            let mut streams = state.streams.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that have ended.
            while streams.try_join_next().is_some() {}
            streams.spawn(self.pass_events(exchange, answer, sender));
            return response;
        }
        let mut whole = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(Some(part)) if whole.len() + part.len() <= LONGEST_MESSAGE => {
                    whole.extend_from_slice(&part);
                }
                Ok(None) => break,
                Ok(Some(_)) => return self.broken(&exchange, "its answer is too long to be recorded"),
                Err(error) => {
                    return self
                        .broken(&exchange, &format!("its answer breaks off: {}", error.without_url()));
                }
            }
        }
        // What is no JSON is recorded below, as a refusal.
        let is_json = serde_json::from_slice::<IgnoredAny>(&whole).is_ok();
        let found = if is_json { self.note_answer(&exchange, &whole) } else { Vec::new() };
        let is_answered = found.iter().any(|message| matches!(message, Incoming::Response(_)));
        if !exchange.asked.is_empty() && !is_answered {
            let text = String::from_utf8_lossy(&whole);
            let shown: String = text.trim().chars().take(SHOWN).collect();
            self.refuse(&exchange, &format!("the server answered {}: {shown}", answer.status()));
        }
        // There is room for it: nothing was sent before.
        let _ = sender.try_send(whole.into());
        response
    }

    async fn pass_events(
        self,
        exchange: Exchange,
        mut answer: reqwest::Response,
        sender: mpsc::Sender<Bytes>,
    ) {
        let mut events = SseParser::new(LONGEST_MESSAGE);
        loop {
            let part = tokio::select! {
                part = answer.chunk() => part,
                () = sender.closed() => break,
            };
            let part = match part {
                Ok(Some(part)) => part,
                Ok(None) => return,
                Err(error) => {
                    let reason = format!("{:#}", anyhow::Error::new(error.without_url()));
                    // A closed standard error is fine.
                    let _ = writeln!(errors(), "a stream of the server breaks off: {reason}");
                    return;
                }
            };
            events.push(&part);
            loop {
                match events.next_event() {
                    // An event without data only says where to go on.
                    Ok(Some(event)) if event.data.is_empty() => {}
                    Ok(Some(event)) => drop(self.note_answer(&exchange, &event.data)),
                    Ok(None) => break,
                    Err(error) => self.0.tape.pass_over(&error.to_string()),
                }
            }
            if sender.send(part).await.is_err() {
                break;
            }
        }
        // The client has gone: in the modern era that is how it gives a request up.
        self.0.tape.note(|recorder| {
            for id in &exchange.asked {
                recorder.abandoned(exchange.peer, id);
            }
        });
    }

    fn note_answer(&self, exchange: &Exchange, text: &[u8]) -> Vec<Incoming> {
        self.0
            .tape
            .messages(text, |recorder, message| recorder.server(exchange.peer, &exchange.channel, message))
    }

    /// Notes that requests were refused without a message of MCP.
    fn refuse(&self, exchange: &Exchange, reason: &str) {
        self.0.tape.note(|recorder| {
            for id in &exchange.asked {
                recorder.refused(exchange.peer, id, &RpcError::new(code::INVALID_REQUEST, reason));
            }
        });
    }

    fn broken(&self, exchange: &Exchange, reason: &str) -> Response<Parts> {
        self.refuse(exchange, reason);
        loopback::plain(
            StatusCode::BAD_GATEWAY,
            format!("asking {}: {reason}\n", known_secrets::shown(&self.0.url)),
        )
    }
}

fn without_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in &OF_A_CONNECTION {
        kept.remove(name);
    }
    kept
}

/// Serves clients until a signal arrives, or is the client itself.
pub(super) async fn record(
    proxy: Proxy,
    port: u16,
    timeout: Duration,
    calls: Option<Vec<ToolCall>>,
) -> Result<Outcome> {
    let mut signals = EndSignals::listen()?;
    let (listener, address) = loopback::listen(port).await?;
    let tape = proxy.0.tape.clone();
    let here = format!("http://{address}{}", proxy.0.url.path());
    let outcome = if let Some(calls) = calls {
        tokio::select! {
            outcome = calls::over_http(&here, timeout, &calls) => outcome,
            served = serve(listener, proxy.clone()) => served,
        }
    } else {
        announce(&here)?;
        tokio::select! {
            served = serve(listener, proxy.clone()) => served,
            never = tape.keep_saving() => match never {},
            _ = signals.next() => Ok(Outcome::Good),
        }
    };
    let mut streams = std::mem::take(&mut *proxy.0.streams.lock().unwrap_or_else(PoisonError::into_inner));
    streams.shutdown().await;
    tape.finish().await?;
    outcome
}

async fn serve(listener: TcpListener, proxy: Proxy) -> Result<Outcome> {
    loopback::serve(listener, move |request| proxy.clone().forward(request)).await.map(|_| Outcome::Good)
}

/// Says where to connect to.
fn announce(url: &str) -> Result<()> {
    let mut stdout = output(Form::Text);
    writeln!(stdout, "listening on {url}")?;
    Ok(stdout.flush()?)
}
