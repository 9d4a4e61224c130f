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
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::Outcome;
use crate::loopback::{self, Parts, plain};
use crate::runtime::EndSignals;
use crate::terminal::{Form, output};

/// Where a server is by custom.
const PATH: &str = "/mcp";
/// Sessions that are remembered; a client that comes with an older one has to begin anew.
const SESSIONS: usize = 1024;
/// Messages that may wait for a stream at least, beside all that the cassette holds.
const WAITING: usize = 1024;

/// What all connections share.
#[derive(Debug)]
struct State {
    tape: Arc<Tape>,
    /// The clients of the modern era have no sessions, so they share one.
    modern: Arc<Mutex<Session>>,
    sessions: Mutex<VecDeque<(String, Arc<Mutex<Session>>)>>,
    opened: AtomicU64,
    /// What fills the streams of answers and of sessions.
    streams: Mutex<JoinSet<()>>,
}

/// One session, and who waits in it.
#[derive(Debug)]
struct Session {
    player: Player,
    exchanges: u64,
    waiting: HashMap<u64, mpsc::Sender<Output>>,
    /// The stream beside all answers, once a client has opened it.
    stream: Option<Arc<Notify>>,
    queue: VecDeque<Bytes>,
    /// How many messages may wait for one stream. The whole cassette fits, so only who does not read loses anything.
    waiting_limit: usize,
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
        streams: Mutex::default(),
    });
    let work = {
        let state = Arc::clone(&state);
        move |request| answer(Arc::clone(&state), request)
    };
    let outcome = tokio::select! {
        served = loopback::serve(listener, work) => served.map(|_| Outcome::Good),
        _ = signals.next() => Ok(Outcome::Good),
    };
    let mut streams = std::mem::take(&mut *lock(&state.streams));
    streams.shutdown().await;
    outcome
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
        (Method::GET, Some(session)) => open_stream(&state, session),
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
            let mut response = answer_request(state, &session, &request, ErrorStatus::Ok);
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
            answer_request(state, &session, &request, status)
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
        if sessions.len() >= SESSIONS
            && let Some((_, oldest)) = sessions.pop_front()
        {
            lock(&oldest).end_stream();
        }
        sessions.push_back((id.clone(), Arc::clone(&session)));
        (id, session)
    }

    fn session(&self, id: &str) -> Option<Arc<Mutex<Session>>> {
        lock(&self.sessions).iter().find(|(known, _)| known == id).map(|(_, session)| Arc::clone(session))
    }

    /// Fills a stream until it ends or the program does.
    fn spawn(&self, filling: impl Future<Output = ()> + Send + 'static) {
        let mut streams = lock(&self.streams);
        // Those that have ended.
        while streams.try_join_next().is_some() {}
        streams.spawn(filling);
    }

    fn forget(&self, id: &str) {
        let mut sessions = lock(&self.sessions);
        let ended = sessions.iter().position(|(known, _)| known == id).and_then(|at| sessions.remove(at));
        if let Some((_, session)) = ended {
            lock(&session).end_stream();
        }
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
            waiting_limit: tape.messages().max(WAITING),
        }))
    }

    fn end_stream(&mut self) {
        if let Some(stream) = self.stream.take() {
            stream.notify_one();
        }
    }

    fn deliver(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output.to {
                Target::Exchange(exchange) => {
                    if let Some(waiting) = self.waiting.get(&exchange) {
                        // Full, or gone: whoever waits there does not read.
                        let _ = waiting.try_send(output);
                    }
                }
                Target::Session => {
                    if self.queue.len() >= self.waiting_limit {
                        self.queue.pop_front();
                    }
                    self.queue.push_back(event(&output.text));
                    if let Some(stream) = &self.stream {
                        stream.notify_one();
                    }
                }
            }
        }
    }
}

/// Answers a request: as JSON if the first message is the answer, else as a stream of events.
fn answer_request(
    state: &State,
    session: &Arc<Mutex<Session>>,
    request: &McpRequest,
    status: ErrorStatus,
) -> Response<Parts> {
    let (exchange, mut outputs) = {
        let mut locked = lock(session);
        let (sender, outputs) = mpsc::channel(locked.waiting_limit);
        locked.exchanges += 1;
        let exchange = locked.exchanges;
        locked.waiting.insert(exchange, sender);
        let messages = locked.player.request(exchange, request);
        locked.deliver(messages);
        (exchange, outputs)
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
            state.spawn(async move {
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
fn open_stream(state: &State, session: Arc<Mutex<Session>>) -> Response<Parts> {
    let (sender, body) = Parts::channel();
    let own = Arc::new(Notify::new());
    {
        let mut locked = lock(&session);
        locked.end_stream();
        locked.stream = Some(Arc::clone(&own));
    }
    state.spawn(async move {
        // An event leaves the queue only when there is room for it, so that none is lost with its stream.
        while let Ok(room) = sender.reserve().await {
            let next = {
                let mut locked = lock(&session);
                if !locked.stream.as_ref().is_some_and(|stream| Arc::ptr_eq(stream, &own)) {
                    return;
                }
                locked.queue.pop_front()
            };
            if let Some(event) = next {
                room.send(event);
                continue;
            }
            drop(room);
            tokio::select! {
                () = own.notified() => {}
                () = sender.closed() => return,
            }
        }
    });
    loopback::answer(StatusCode::OK, "text/event-stream", body)
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
