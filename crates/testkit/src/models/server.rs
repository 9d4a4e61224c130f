//! The server: listens, records, answers.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use super::compose::Asked;
use super::connection::{Connection, Request};
use super::deliver::{After, Delivering};
use super::delivery::Pieces;
use super::errors::{Problem, Violation};
use super::models_list;
use super::plan::{Answer, Plan};
use super::record::{Log, Outcome, RecordedRequest};
use super::reply::Reply;
use super::script::{Script, Step};
use super::strict;
use super::wire::{Route, Streamed, Wire};
use crate::lock::lock;
use crate::process::TimedOut;

/// How many connections a server has at once.
const MOST_CONNECTIONS: usize = 1024;
/// How many wait to be accepted.
const BACKLOG: u32 = 1024;

/// How a server behaves beside its script.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Refuses what the provider would refuse, in the provider's words.
    pub strict: bool,
    /// The only key that is accepted; any or none if absent.
    pub key: Option<String>,
    /// The models that it has; requests for others are refused. Any if empty.
    pub models: Vec<String>,
    /// Its port; a free one if 0.
    pub port: u16,
    /// A file to which every request is appended when it ends, as a line of JSON.
    pub record: Option<PathBuf>,
}

/// A server that plays a model. Dropping it ends all its tasks and connections.
#[derive(Debug)]
pub struct ModelServer {
    inner: Listening,
    /// Where redirects go.
    elsewhere: Listening,
    url: String,
}

impl ModelServer {
    /// Starts a server on a free port of the loopback address.
    pub async fn start(wire: Wire, script: Script) -> io::Result<Self> {
        Self::start_with(wire, script, ServerOptions::default()).await
    }

    /// Starts a server with options.
    pub async fn start_with(wire: Wire, script: Script, options: ServerOptions) -> io::Result<Self> {
        let followed = Script::new().last(Reply::new().text("You followed a redirect."));
        let elsewhere = Listening::start(wire, followed, ServerOptions::default(), String::new())?;
        // Another name for the same machine: to a client it is another host.
        let target = format!("http://localhost:{}", elsewhere.address.port());
        let inner = Listening::start(wire, script, options, target)?;
        let url = format!("http://{}{}", inner.address, wire.base_path());
        // Whoever starts a server may connect at once.
        tokio::task::yield_now().await;
        Ok(Self { inner, elsewhere, url })
    }

    /// The base URL, with `/v1` where clients of this wire are given it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.inner.address
    }

    /// All requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.inner.shared.log.all()
    }

    /// What followed a redirect. A client that holds a key must leave this empty.
    pub fn redirected(&self) -> Vec<RecordedRequest> {
        self.elsewhere.shared.log.all()
    }

    /// Waits until request `index`, counted from 0, is there.
    pub async fn arrived(&self, index: usize) -> Result<RecordedRequest, TimedOut> {
        self.inner.shared.log.wait(index, "arrival", |_| true).await
    }

    /// Waits until the peer aborted request `index`.
    pub async fn aborted(&self, index: usize) -> Result<RecordedRequest, TimedOut> {
        self.inner.shared.log.wait(index, "abort", |request| request.outcome == Outcome::Aborted).await
    }

    /// Waits until request `index` has ended in one way or the other.
    pub async fn ended(&self, index: usize) -> Result<RecordedRequest, TimedOut> {
        self.inner.shared.log.wait(index, "end", |request| request.outcome != Outcome::InProgress).await
    }

    /// Waits until chunk `chunk`, counted from 0, of request `index` is written.
    pub async fn written(&self, index: usize, chunk: usize) -> Result<RecordedRequest, TimedOut> {
        let what = format!("chunk {chunk}");
        self.inner.shared.log.wait(index, &what, |request| request.chunks > chunk).await
    }

    /// Listens again after [`super::Fault::ConnectionRefused`].
    pub fn reopen(&self) -> io::Result<()> {
        self.inner.shared.script.skip_refusals();
        self.inner.shared.port.open()
    }
}

/// One port and the task behind it.
#[derive(Debug)]
struct Listening {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Connections are tasks of this one and end with it.
        self.task.abort();
    }
}

#[derive(Debug)]
struct Shared {
    wire: Wire,
    script: Script,
    options: ServerOptions,
    log: Log,
    port: Port,
    elsewhere: String,
}

impl Listening {
    fn start(wire: Wire, script: Script, options: ServerOptions, elsewhere: String) -> io::Result<Self> {
        let (port, address) = Port::bind(options.port)?;
        if !script.refuses_next() {
            port.open()?;
        }
        let log = Log::new(options.record.as_deref())?;
        let shared = Arc::new(Shared { wire, script, options, log, port, elsewhere });
        let task = tokio::spawn(accept(Arc::clone(&shared)));
        Ok(Self { address, shared, task })
    }
}

/// A port that is ours, whether or not somebody listens at it.
#[derive(Debug)]
struct Port {
    address: SocketAddr,
    state: Mutex<PortState>,
    opened: Notify,
}

#[derive(Debug)]
enum PortState {
    /// Bound, so that nobody else gets it; connections are refused.
    Closed(Option<TcpSocket>),
    Open(TcpListener),
}

impl Port {
    fn bind(port: u16) -> io::Result<(Self, SocketAddr)> {
        let socket = bound((Ipv4Addr::LOCALHOST, port).into())?;
        let address = socket.local_addr()?;
        let state = Mutex::new(PortState::Closed(Some(socket)));
        Ok((Self { address, state, opened: Notify::new() }, address))
    }

    fn open(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        if let PortState::Closed(socket) = &mut *state {
            let socket = socket.take().map_or_else(|| bound(self.address), Ok)?;
            *state = PortState::Open(socket.listen(BACKLOG)?);
            self.opened.notify_one();
        }
        Ok(())
    }

    /// Refuses connections from now on, also those that wait to be accepted.
    fn close(&self) {
        let mut state = lock(&self.state);
        *state = PortState::Closed(None);
        // Whoever takes the port now would be taken for us; if it cannot be had, `open` says so.
        *state = PortState::Closed(bound(self.address).ok());
    }

    fn is_open(&self) -> bool {
        matches!(*lock(&self.state), PortState::Open(_))
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let accepted = std::future::poll_fn(|context| match &*lock(&self.state) {
            PortState::Open(listener) => listener.poll_accept(context),
            PortState::Closed(_) => std::task::Poll::Pending,
        });
        accepted.await.map(|(stream, _)| stream)
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

async fn accept(shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            stream = shared.port.accept() => {
                let Ok(stream) = stream else { continue };
                if connections.len() < MOST_CONNECTIONS {
                    connections.spawn(serve(Arc::clone(&shared), stream));
                }
            }
            () = shared.port.opened.notified() => {}
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    // Every write is a packet of its own.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut connection = Connection::new(stream);
    while let Ok(Some(request)) = connection.next_request().await {
        if shared.exchange(request, &mut connection).await == After::Close {
            return;
        }
    }
}

impl Shared {
    async fn exchange(&self, request: Request, connection: &mut Connection) -> After {
        let chunked_ok = request.chunked_ok;
        let Some((recorded, keep_alive)) = self.record(request) else { return After::Close };
        let (plan, step) = self.plan(&recorded);
        // Connections that are kept would survive a closed port.
        let keep_alive = keep_alive && self.port.is_open();
        let index = recorded.index;
        let work = Delivering {
            output: &mut connection.output,
            gates: step.as_ref().map_or(&[], |step| &step.gates),
            pieces: step.as_ref().map_or(Pieces::Usual, |step| step.delivery.pieces),
            chunked_ok,
            keep_alive,
        };
        let work = work.run(plan, |chunks| self.log.wrote(index, chunks));
        tokio::select! {
            biased;
            outcome = work => if let Ok(after) = outcome {
                self.log.ended(index, Outcome::Answered);
                after
            } else {
                self.log.ended(index, Outcome::Aborted);
                After::Close
            },
            () = connection.input.closed() => {
                self.log.ended(index, Outcome::Aborted);
                After::Close
            }
        }
    }

    fn record(&self, request: Request) -> Option<(RecordedRequest, bool)> {
        let keep_alive = request.keep_alive;
        let recorded = RecordedRequest {
            wire: self.wire,
            index: 0,
            method: request.method,
            path: request.path,
            query: request.query,
            headers: request.headers,
            body: serde_json::from_slice(&request.body).unwrap_or(Value::Null),
            raw: request.body,
            outcome: Outcome::InProgress,
            chunks: 0,
        };
        self.log.add(recorded).map(|recorded| (recorded, keep_alive))
    }

    fn plan(&self, request: &RecordedRequest) -> (Plan, Option<Step>) {
        let route = self.wire.route(&request.method, &request.path);
        let (form, streamed) = match route {
            Route::Turn { form, streamed } => (form, streamed),
            Route::Models | Route::Unknown => (self.wire.usual_form(), Streamed::ByBody { default: false }),
        };
        let asked = Asked { request, form, streamed, elsewhere: &self.elsewhere };
        let refuse = |problem: &Problem| (Plan::Answer(asked.refuse(problem)), None);
        if self.options.key.as_deref().is_some_and(|key| !has_key(request, key)) {
            return refuse(&Problem::Unauthorized);
        }
        match route {
            Route::Unknown => return refuse(&Problem::NoRoute),
            Route::Models => {
                let names: Vec<&str> = self.options.models.iter().map(String::as_str).collect();
                let list = models_list::models(request, &names);
                return (Plan::Answer(Answer::whole(200, "application/json", list.to_string())), None);
            }
            Route::Turn { .. } => {}
        }
        // Azure has no such resource without a version.
        let versioned = request.query.split('&').any(|pair| pair.starts_with("api-version="));
        if self.options.strict && self.wire == Wire::Dial && !versioned {
            return refuse(&Problem::NoRoute);
        }
        if self.options.strict && self.wire == Wire::Converse && !strict::is_signed(request) {
            return refuse(&Problem::Unsigned);
        }
        if request.body.is_null() {
            return refuse(&Problem::Invalid(Violation::new(
                "We could not parse the JSON body of your request.",
            )));
        }
        if let Some(model) = request.model().filter(|model| !self.has_model(model)) {
            return refuse(&Problem::UnknownModel(model));
        }
        if let Some(violation) =
            self.options.strict.then(|| strict::check(request, form)).and_then(Result::err)
        {
            return refuse(&Problem::Invalid(violation));
        }
        let Some(step) = self.script.take(request) else { return refuse(&Problem::ScriptOver) };
        let plan = asked.plan(&step);
        if step.refuses() || self.script.refuses_next() {
            self.port.close();
        }
        (plan, Some(step))
    }

    fn has_model(&self, model: &str) -> bool {
        self.options.models.is_empty() || self.options.models.iter().any(|known| known == model)
    }
}

/// Whether the key is where this provider wants it.
fn has_key(request: &RecordedRequest, key: &str) -> bool {
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(key);
    let under = |name: &str| request.header(name) == Some(key);
    match request.wire {
        Wire::Chat
        | Wire::Functions
        | Wire::Responses
        | Wire::Ollama
        | Wire::Argo
        | Wire::Mistral
        | Wire::Cohere => bearer,
        // A key of Bedrock's own, or the access key that signs the request.
        Wire::Converse => bearer || strict::access_key(request) == Some(key),
        Wire::Dial => under("api-key") || bearer,
        Wire::Messages => under("x-api-key"),
        Wire::GenerateContent => {
            under("x-goog-api-key")
                || request.query.split('&').any(|pair| pair.strip_prefix("key=") == Some(key))
        }
    }
}
