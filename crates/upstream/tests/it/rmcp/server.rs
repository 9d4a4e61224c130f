//! A server that is built with the official SDK, over its standard streams and over HTTP.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool,
};
use ::rmcp::service::{RequestContext, SubscriptionContext};
use ::rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use ::rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use ::rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use gateway_upstream::{Endpoint, UpstreamSpec};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::fleet::quick;

/// The variables that make this test binary a server over stdio.
const SPEAKS: &str = "RMCP_PEER_SPEAKS";
const RECORD: &str = "RMCP_PEER_RECORD";

/// Which versions of the protocol the server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    /// Those with `initialize`.
    Legacy,
    /// The newest one alone.
    Modern,
    /// All.
    Both,
}

impl Speaks {
    fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Both => "both",
        }
    }

    fn named(name: &str) -> Self {
        [Self::Legacy, Self::Modern, Self::Both].into_iter().find(|speaks| speaks.name() == name).unwrap()
    }
}

/// How the server answers over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// Legacy callers get a session.
    Sessions,
    /// No sessions, each answer a stream of events.
    Stateless,
    /// No sessions, each answer a JSON text where nothing comes before it.
    Json,
    /// No sessions, and every request must name its version itself.
    Strict,
}

/// The server's tools. What happens to it is written to a file, because over stdio it is another process.
#[derive(Clone)]
struct Peer {
    speaks: Speaks,
    record: PathBuf,
    /// How often the list of tools has grown.
    grown: watch::Sender<usize>,
}

impl Peer {
    fn new(speaks: Speaks, record: PathBuf) -> Self {
        Self { speaks, record, grown: watch::Sender::new(0) }
    }

    fn note(&self, line: &str) {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.record).unwrap();
        // In one write, so that lines of several requests do not run together.
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn tools(&self) -> Vec<Tool> {
        let schema = |value: Value| -> Map<String, Value> { serde_json::from_value(value).unwrap() };
        let numbers =
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
        let nothing = json!({"type": "object", "properties": {}});
        let mut tools = vec![Tool::new("add", "Adds two numbers", schema(numbers))];
        for name in ["fail", "ghost", "steps", "wait", "hold", "grow", "exit"] {
            tools.push(Tool::new(name, "For tests", schema(nothing.clone())));
        }
        for number in 0..*self.grown.borrow() {
            tools.push(Tool::new(format!("grown-{number}"), "New", schema(nothing.clone())));
        }
        tools
    }
}

/// After how long streams that were closed are to be taken up again.
const RETRY: Duration = Duration::from_millis(20);

/// Tools on one page.
const PAGE: usize = 3;

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
            .with_server_info(Implementation::new("rmcp-peer", "1.0.0"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.speaks {
            Speaks::Legacy => Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25)),
            Speaks::Modern => Cow::Borrowed(&[ProtocolVersion::V_2026_07_28]),
            Speaks::Both => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let start: usize = request.and_then(|request| request.cursor).map_or(0, |text| text.parse().unwrap());
        let tools = self.tools();
        let end = (start + PAGE).min(tools.len());
        let mut page = ListToolsResult::with_all_items(tools[start..end].to_vec());
        page.next_cursor = (end < tools.len()).then(|| end.to_string());
        Ok(page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let done = |text: String| Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into());
        self.note(&format!("ran {}", request.name));
        match &*request.name {
            "add" => {
                let arguments = request.arguments.unwrap_or_default();
                let number = |name: &str| arguments.get(name).and_then(Value::as_i64).unwrap_or_default();
                done((number("a") + number("b")).to_string())
            }
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("it did not work")]).into()),
            "steps" => {
                let token = context.meta.get_progress_token();
                for step in [1.0, 2.0, 3.0] {
                    if let Some(token) = token.clone() {
                        let progress = ProgressNotificationParam::new(token, step).with_total(3.0);
                        context.peer.notify_progress(progress).await.unwrap();
                    }
                }
                done("done".to_owned())
            }
            "wait" => {
                context.ct.cancelled().await;
                self.note("cancelled");
                done("cancelled".to_owned())
            }
            "hold" => {
                let mut grown = self.grown.subscribe();
                grown.mark_unchanged();
                self.note("holding");
                grown.changed().await.unwrap();
                done("held".to_owned())
            }
            "grow" => {
                self.grown.send_modify(|grown| *grown += 1);
                // The modern era tells who listens; before, whoever is connected is told.
                let version = context.protocol_version();
                if version.is_none_or(|version| version.has_initialize()) {
                    context.peer.notify_tool_list_changed().await.unwrap();
                }
                done("grown".to_owned())
            }
            "exit" => std::process::exit(3),
            other => Err(ErrorData::invalid_params(format!("no tool is called {other}"), None)),
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut grown = self.grown.subscribe();
        grown.mark_unchanged();
        self.note("listening");
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = grown.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// A specification that starts this test binary as a server over stdio.
pub(super) fn stdio_spec(speaks: Speaks, record: &std::path::Path) -> UpstreamSpec {
    let words = ["rmcp::server::over_stdio", "--exact", "--ignored", "--nocapture", "--quiet"];
    let endpoint = Endpoint::Stdio {
        command: std::env::current_exe().unwrap().to_str().unwrap().to_owned(),
        args: words.map(str::to_owned).to_vec(),
        env: [(SPEAKS, speaks.name()), (RECORD, record.to_str().unwrap())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        cwd: None,
    };
    quick(UpstreamSpec::new("peer", endpoint))
}

/// Not a test: the server itself, in a process that [`stdio_spec`] starts. What the harness prints before it is noise on
/// the standard output, as real servers make it.
#[tokio::test]
#[ignore = "the server that other tests start"]
async fn over_stdio() {
    let (Ok(speaks), Ok(record)) = (std::env::var(SPEAKS), std::env::var(RECORD)) else { return };
    let peer = Peer::new(Speaks::named(&speaks), record.into());
    // A client that goes away during the handshake is no failure.
    if let Ok(service) = peer.serve(::rmcp::transport::stdio()).await {
        let _ = service.waiting().await;
    }
}

/// The server over HTTP, in this process.
pub(super) struct HttpPeer {
    pub(super) url: String,
    peer: Peer,
    answers: Answers,
    sessions: Arc<LocalSessionManager>,
    /// Streams of events that were opened with GET.
    pub(super) gets: Arc<AtomicUsize>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl HttpPeer {
    pub(super) async fn start(speaks: Speaks, answers: Answers, record: &std::path::Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = Peer::new(speaks, record.to_owned());
        Self::on(listener, peer, answers)
    }

    fn on(listener: TcpListener, peer: Peer, answers: Answers) -> Self {
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.sse_retry = Some(RETRY);
        let sessions = Arc::new(sessions);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(answers == Answers::Sessions)
            .with_json_response(answers == Answers::Json)
            .with_stateless_protocol_metadata_required(answers == Answers::Strict)
            // The SDK notices a caller that has gone when it writes.
            .with_sse_keep_alive(Some(Duration::from_millis(20)))
            .with_sse_retry(Some(RETRY))
            .with_cancellation_token(stop.child_token());
        let factory = peer.clone();
        let service = StreamableHttpService::new(move || Ok(factory.clone()), Arc::clone(&sessions), config);
        let gets = Arc::new(AtomicUsize::new(0));
        tasks.spawn(accept(listener, service, Arc::clone(&gets), stop.clone(), tasks.clone()));
        Self { url, peer, answers, sessions, gets, stop, tasks }
    }

    /// Forgets all sessions, as a server does that clears up or is started anew.
    pub(super) async fn forget_sessions(&self) {
        self.sessions.sessions.write().await.clear();
    }

    /// Closes the streams of all requests in flight and those beside them; what they would have carried is kept.
    pub(super) async fn close_streams(&self) {
        for session in self.sessions.sessions.read().await.values() {
            // Requests are numbered within their session. Most of these are over, which is no failure.
            for request in 0..64 {
                let _ = session.close_sse_stream(request, None).await;
            }
            let _ = session.close_standalone_sse_stream(None).await;
        }
    }

    /// Ends the server with all its connections and starts another one at the same address.
    pub(super) async fn restarted(self) -> Self {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let address = self.url.trim_start_matches("http://").trim_end_matches("/mcp");
        let listener = TcpListener::bind(address).await.unwrap();
        Self::on(listener, self.peer, self.answers)
    }
}

async fn accept(
    listener: TcpListener,
    service: StreamableHttpService<Peer, LocalSessionManager>,
    gets: Arc<AtomicUsize>,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    while let Some(Ok((stream, _))) = stop.run_until_cancelled(listener.accept()).await {
        let (service, gets, stop) = (service.clone(), Arc::clone(&gets), stop.clone());
        let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let (service, gets) = (service.clone(), Arc::clone(&gets));
            async move {
                let is_get = request.method() == hyper::Method::GET;
                let response = service.handle(request).await;
                if is_get && response.status().is_success() {
                    gets.fetch_add(1, Ordering::SeqCst);
                }
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        tasks.spawn(async move {
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
            // A connection that a client drops is no failure.
            let _ = stop.run_until_cancelled(connection).await;
        });
    }
}
