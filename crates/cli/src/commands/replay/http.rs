//! Streamable HTTP: sessions of the legacy era, and requests of the modern one.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use gateway_cassette::{Output, Player, Tape, Target};
use gateway_protocol::{
    Incoming, RawJson, Request as McpRequest, Response as McpResponse, RpcError, code, header, method,
    parse_message, parse_strict_message, write_error,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use tokio::sync::mpsc;

use crate::Outcome;
use crate::loopback::{self, Parts, plain};
use crate::runtime::EndSignals;
use crate::terminal::{Form, output};

/// Where a server is by custom.
const PATH: &str = "/mcp";
/// Sessions that are remembered; a client that comes with an older one has to begin anew.
const SESSIONS: usize = 1024;
/// Messages that wait for the stream of their session.
const WAITING: usize = 1024;

/// What all connections share.
#[derive(Debug)]
struct State {
    tape: Arc<Tape>,
    /// The clients of the modern era have no sessions, so they share one.
    modern: Arc<Mutex<Session>>,
    sessions: Mutex<VecDeque<(String, Arc<Mutex<Session>>)>>,
    opened: AtomicU64,
}

/// One session, and who waits in it.
#[derive(Debug)]
struct Session {
    player: Player,
    exchanges: u64,
    waiting: HashMap<u64, mpsc::Sender<Output>>,
    /// The stream beside all answers, once a client has opened it.
    stream: Option<mpsc::Sender<Bytes>>,
    queue: VecDeque<Bytes>,
}

/// Serves until a signal arrives.
pub(super) async fn serve(tape: Arc<Tape>, port: u16) -> Result<Outcome> {
    let mut signals = EndSignals::listen()?;
    let (listener, address) = loopback::listen(port).await?;
    let mut stdout = output(Form::Text);
    writeln!(stdout, "listening on http://{address}{PATH}")?;
    stdout.flush()?;
    let state = Arc::new(State {
        modern: Session::new(&tape),
        tape,
        sessions: Mutex::default(),
        opened: AtomicU64::new(1),
    });
    let work = move |request| answer(Arc::clone(&state), request);
    tokio::select! {
        served = loopback::serve(listener, work) => served.map(|_| Outcome::Good),
        _ = signals.next() => Ok(Outcome::Good),
    }
}

async fn answer(state: Arc<State>, request: Request<hyper::body::Incoming>) -> Response<Parts> {
    let (head, body) = request.into_parts();
    if head.uri.path() != PATH {
        return plain(StatusCode::NOT_FOUND, format!("the recorded server is at {PATH}\n"));
    }
    let session = match session_id(&head.headers) {
        // A modern server ignores it.
        Some(id) if !state.tape.is_modern() => match state.session(id) {
            Some(session) => Some(session),
            None => return plain(StatusCode::NOT_FOUND, "no such session; begin with `initialize`\n"),
        },
        _ => None,
    };
    match (head.method, session) {
        (Method::POST, session) => {
            let Some(body) = loopback::whole_body(body).await else {
                return plain(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long\n");
            };
            post(&state, session, body)
        }
        (Method::GET, Some(session)) => Session::open_stream(&session),
        (Method::DELETE, Some(_)) => {
            state.forget(session_id(&head.headers).unwrap_or_default());
            plain(StatusCode::OK, "")
        }
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, ""),
    }
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(&header::SESSION).map(|id| id.to_str().unwrap_or_default())
}

fn post(state: &Arc<State>, session: Option<Arc<Mutex<Session>>>, body: Bytes) -> Response<Parts> {
    let message = match parse_strict_message(body) {
        Ok(message) => message,
        Err(error) => {
            let error = RpcError::new(code::PARSE_ERROR, error.to_string());
            return refusal(StatusCode::BAD_REQUEST, &RawJson::null(), &error);
        }
    };
    let has_session = session.is_some();
    let session = session.unwrap_or_else(|| Arc::clone(&state.modern));
    match message {
        Incoming::Request(request) if request.method == method::INITIALIZE && !state.tape.is_modern() => {
            let (id, session) = state.open();
            let mut response = Session::answer(&session, &request, ErrorStatus::Ok);
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(&header::SESSION, id);
            }
            response
        }
        Incoming::Request(request) => {
            let status = match (has_session, state.tape.is_modern()) {
                (true, _) => ErrorStatus::Ok,
                (false, true) => ErrorStatus::Modern,
                (false, false) => ErrorStatus::BadRequest,
            };
            Session::answer(&session, &request, status)
        }
        Incoming::Notification(notification) => {
            let mut session = lock(&session);
            let outputs = session.player.notification(&notification);
            session.deliver(outputs);
            plain(StatusCode::ACCEPTED, "")
        }
        Incoming::Response(response) => {
            let mut session = lock(&session);
            let outputs = session.player.response(&response);
            session.deliver(outputs);
            plain(StatusCode::ACCEPTED, "")
        }
    }
}

/// The status of an answer that is an error.
#[derive(Clone, Copy, Debug)]
enum ErrorStatus {
    /// In a session the error is the answer.
    Ok,
    /// The modern era has a status for each.
    Modern,
    /// Nothing goes on without a session.
    BadRequest,
}

impl ErrorStatus {
    fn of(self, error: &RpcError) -> StatusCode {
        match self {
            Self::Modern if error.code == code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            Self::Modern if code::is_modern(error.code) => StatusCode::BAD_REQUEST,
            Self::Ok | Self::Modern => StatusCode::OK,
            Self::BadRequest => StatusCode::BAD_REQUEST,
        }
    }
}

impl State {
    /// A new session and its id, which is the same for the same client in every replay.
    fn open(&self) -> (String, Arc<Mutex<Session>>) {
        let id = format!("replay-{}", self.opened.fetch_add(1, Ordering::Relaxed));
        let session = Session::new(&self.tape);
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back((id.clone(), Arc::clone(&session)));
        (id, session)
    }

    fn session(&self, id: &str) -> Option<Arc<Mutex<Session>>> {
        lock(&self.sessions).iter().find(|(known, _)| known == id).map(|(_, session)| Arc::clone(session))
    }

    fn forget(&self, id: &str) {
        lock(&self.sessions).retain(|(known, _)| known != id);
    }
}

impl Session {
    fn new(tape: &Arc<Tape>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            player: Player::new(Arc::clone(tape)),
            exchanges: 0,
            waiting: HashMap::new(),
            stream: None,
            queue: VecDeque::new(),
        }))
    }

    /// Answers a request: as JSON if the first message is the answer, else as a stream of events.
    fn answer(session: &Arc<Mutex<Self>>, request: &McpRequest, status: ErrorStatus) -> Response<Parts> {
        let (sender, mut outputs) = mpsc::channel(WAITING);
        let exchange = {
            let mut locked = lock(session);
            locked.exchanges += 1;
            let exchange = locked.exchanges;
            locked.waiting.insert(exchange, sender);
            let messages = locked.player.request(exchange, request);
            locked.deliver(messages);
            exchange
        };
        let guard = Waiting { session: Arc::clone(session), exchange };
        // Nothing may come for a while, or ever: the client then sees that its request is being worked on.
        match outputs.try_recv() {
            Ok(output) if output.is_answer => {
                let status = match parse_message(output.text.clone().into()) {
                    Ok(Incoming::Response(McpResponse { outcome: Err(error), .. })) => status.of(&error),
                    _ => StatusCode::OK,
                };
                loopback::answer(status, "application/json", Parts::whole(output.text))
            }
            first => {
                let (sender, body) = Parts::channel();
                tokio::spawn(async move {
                    let _guard = guard;
                    let mut next = first.ok();
                    loop {
                        let output = if let Some(output) = next.take() {
                            output
                        } else {
                            tokio::select! {
                                output = outputs.recv() => match output { Some(output) => output, None => return },
                                () = sender.closed() => return,
                            }
                        };
                        if sender.send(event(&output.text)).await.is_err() || output.is_answer {
                            return;
                        }
                    }
                });
                loopback::answer(StatusCode::OK, "text/event-stream", body)
            }
        }
    }

    /// The stream beside all answers; a later one takes the place of an earlier one.
    fn open_stream(session: &Arc<Mutex<Self>>) -> Response<Parts> {
        let (sender, body) = Parts::channel();
        let mut locked = lock(session);
        locked.stream = Some(sender);
        locked.flush();
        loopback::answer(StatusCode::OK, "text/event-stream", body)
    }

    fn deliver(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output.to {
                Target::Exchange(exchange) => {
                    if let Some(waiting) = self.waiting.get(&exchange) {
                        // Full, or gone: whoever waits there has stopped reading.
                        let _ = waiting.try_send(output);
                    }
                }
                Target::Session => {
                    if self.queue.len() >= WAITING {
                        self.queue.pop_front();
                    }
                    self.queue.push_back(event(&output.text));
                }
            }
        }
        self.flush();
    }

    /// Hands over what waits for the stream.
    fn flush(&mut self) {
        let Some(stream) = &self.stream else { return };
        while let Some(event) = self.queue.pop_front() {
            if let Err(error) = stream.try_send(event) {
                let (mpsc::error::TrySendError::Closed(event) | mpsc::error::TrySendError::Full(event)) =
                    error;
                self.queue.push_front(event);
                break;
            }
        }
    }
}

/// Ends an exchange when nobody waits for it any more.
#[derive(Debug)]
struct Waiting {
    session: Arc<Mutex<Session>>,
    exchange: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut session = lock(&self.session);
        session.waiting.remove(&self.exchange);
        session.player.abandon(self.exchange);
    }
}

fn event(text: &[u8]) -> Bytes {
    [b"event: message\ndata: ".as_slice(), text, b"\n\n"].concat().into()
}

fn refusal(status: StatusCode, id: &RawJson, error: &RpcError) -> Response<Parts> {
    let mut text = Vec::new();
    write_error(&mut text, id, error);
    loopback::answer(status, "application/json", Parts::whole(text))
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
