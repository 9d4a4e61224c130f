//! One MCP server as an application has it: its tools in any provider's format, and its tools called by name.
//!
//! A client is a [`ToolSystem`] with one server, so that lists and calls go the way that those of the gateway go: the same
//! engine, the same checks, the same log. The transport makes no difference to what a client gives.
//!
//! ```no_run
//! use gateway_runtime::client::McpClient;
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = McpClient::stdio("uvx", ["mcp-server-time"]).await?;
//! let tools = client.get_tools("openai").await?;
//! println!("{} tools: {tools:?}", tools.len());
//! let result = client.call_tool("get_current_time", &json!({"timezone": "Europe/Berlin"})).await?;
//! println!("{}", result.first_text()?);
//! client.close().await;
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gateway_config::{Environment, Problem, Problems};
use gateway_dialects::dialect::Compat;
use gateway_dialects::{Options, results};
use gateway_protocol::{CallResultView, RawJson};
use gateway_upstream::{
    CallError, ConnectMode, Endpoint, HttpMode, LeftOut, LeftOutReason, UpstreamId, UpstreamSpec,
};
use serde_json::{Value, json};

use crate::Runtime;
use crate::call::{CallArguments, CallRequest, CallState, LIBRARY, Origin};
use crate::context::RequestContext;
use crate::failure::{Failure, code};
use crate::lists::{ListForm, ListRequest, MostTools, Rendered};
use crate::route::RouteOptions;
use crate::scope::Scope;
use crate::system::{SystemError, SystemParts, ToolSystem};

/// The name of the server of a client that was made without one.
const SERVER: &str = "server";

/// Why a client cannot be used, or has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It was closed.
    #[error("MCP client is not connected to MCP server")]
    NotConnected,
    /// The entry of its server cannot be used.
    #[error("reading the entry of server `{server}`: {problems}")]
    Entry {
        /// The server.
        server: String,
        /// What is wrong with it, all at once.
        problems: Problems,
    },
    /// The gateway around it did not start.
    #[error("starting the client")]
    Start(#[from] SystemError),
    /// Its server cannot be connected to, or its tools cannot be listed.
    #[error("connecting to the MCP server: {0}")]
    Connect(CallError),
    /// The request gave no list or no result.
    #[error("{}", .0.message())]
    Failed(Failure),
    /// What the server gave cannot be read as a value.
    #[error("reading what the server gave: {0}")]
    Unreadable(serde_json::Error),
}

impl ClientError {
    /// The word for programs, as in the answers of the HTTP API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotConnected => code::CONNECTION_ERROR,
            Self::Entry { .. } => code::VALIDATION_ERROR,
            Self::Start(_) => code::UNKNOWN,
            Self::Connect(error) => crate::failure::call_code(error),
            Self::Failed(failure) => failure.code(),
            Self::Unreadable(_) => code::SERVER_ERROR,
        }
    }
}

impl From<serde_json::Error> for ClientError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What a tool gave, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult(RawJson);

impl ToolResult {
    /// Its bytes as the server sent them.
    pub fn raw(&self) -> &RawJson {
        &self.0
    }

    /// The result as a value.
    pub fn value(&self) -> Result<Value, ClientError> {
        Ok(self.0.read()?)
    }

    /// Whether the tool reports that it failed.
    pub fn is_error(&self) -> bool {
        CallResultView::of(&self.0).is_error
    }

    /// Its first block if that is a text, else its list of content.
    pub fn first_text(&self) -> Result<Value, ClientError> {
        Ok(results::first_text(&self.value()?))
    }
}

/// A client of one MCP server. It is connected from the start until it is closed; clones are the same client, and dropping the
/// last one ends the server too.
///
/// ```
/// use gateway_runtime::client::McpClient;
/// use gateway_upstream::{Endpoint, UpstreamSpec};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = McpClient::connect(UpstreamSpec::new("demo", Endpoint::Demo)).await?;
/// let tools = client.get_tools("dial").await?;
/// assert_eq!(tools[0]["type"], "function");
/// let sum = client.call_tool("add", &json!({"a": 15, "b": 27})).await?;
/// assert_eq!(sum.first_text()?, r#"{"result":42,"operation":"add","a":15,"b":27}"#);
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct McpClient(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    system: ToolSystem,
    server: UpstreamId,
}

/// Nobody can wait here, but the server is told to end.
impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.system.gateway() {
            runtime.fleet().stop();
        }
    }
}

impl McpClient {
    /// Connects to a server and lists its tools. With [`strict`](UpstreamSpec::strict), one malformed tool is an error that names all of
    /// them; otherwise such tools are left out with a warning, and [`skipped`](Self::skipped) has them.
    ///
    /// Cancel-safe: dropped meanwhile, it ends what it began.
    pub async fn connect(server: UpstreamSpec) -> Result<Self, ClientError> {
        Self::connect_with(server, SystemParts::default()).await
    }

    /// The same with other dialects, settings or another log than the defaults. The servers of `parts` are replaced by this one.
    pub async fn connect_with(mut server: UpstreamSpec, mut parts: SystemParts) -> Result<Self, ClientError> {
        let id = server.id.clone();
        let patience = server.timeouts.connect + server.timeouts.list;
        server.connect = ConnectMode::Eager;
        parts.servers = vec![server];
        let client = Self(Arc::new(Inner { system: ToolSystem::new(parts), server: id.clone() }));
        let runtime = client.0.system.initialize().await?;
        let connected = async {
            let fleet = runtime.fleet();
            fleet.connect(id.as_str()).await?;
            fleet.listed(std::slice::from_ref(&id), patience).await;
            fleet.unlisted(id.as_str()).map_or(Ok(()), Err)
        };
        if let Err(error) = connected.await {
            client.close().await;
            return Err(ClientError::Connect(error));
        }
        // What the likely dialects cannot take is logged now, and not when somebody chats.
        runtime.lists().check_conversions().await;
        Ok(client)
    }

    /// Starts a program and connects to it over its standard streams.
    pub async fn stdio(
        command: impl Into<String>,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, ClientError> {
        let args = args.into_iter().map(Into::into).collect();
        let endpoint = Endpoint::Stdio { command: command.into(), args, env: BTreeMap::new(), cwd: None };
        Self::connect(UpstreamSpec::new(SERVER, endpoint)).await
    }

    /// Connects over HTTP: Streamable HTTP, or the older HTTP+SSE where the server speaks only that.
    pub async fn http(url: impl Into<String>) -> Result<Self, ClientError> {
        let endpoint = Endpoint::Http { url: url.into(), headers: BTreeMap::new(), mode: HttpMode::Auto };
        Self::connect(UpstreamSpec::new(SERVER, endpoint)).await
    }

    /// Connects to a server as configuration files have it, such as `{"image": "mcp/time"}` or `{"url": …, "strict": true}`.
    /// Variables in it are those of this process.
    pub async fn entry(name: &str, entry: &Value) -> Result<Self, ClientError> {
        Self::connect(server_of(name, entry)?).await
    }

    /// The tools in the format of a provider, as a bare list: what stands around it in a request is the caller's to write. All
    /// tools, however many the provider takes. `dial` keeps every schema as it is; the others write what their provider accepts.
    pub async fn get_tools(&self, profile: &str) -> Result<Vec<Value>, ClientError> {
        self.bare_list(Some(profile), None).await
    }

    /// The same for a model, whose dialect is found out where no `profile` is named.
    pub async fn get_tools_for_model(
        &self,
        profile: Option<&str>,
        model: &str,
    ) -> Result<Vec<Value>, ClientError> {
        self.bare_list(profile, Some(model)).await
    }

    async fn bare_list(&self, profile: Option<&str>, model: Option<&str>) -> Result<Vec<Value>, ClientError> {
        let list = self.list(profile, model, Options::default()).await?;
        Ok(serde_json::from_slice(&list.list())?)
    }

    /// The list as bytes, with the names and plans that belong to it.
    pub async fn list(
        &self,
        profile: Option<&str>,
        model: Option<&str>,
        options: Options,
    ) -> Result<Arc<Rendered>, ClientError> {
        let runtime = self.runtime()?;
        let request = self.all_tools((profile, model), options);
        runtime.lists().listed(&request).await;
        Ok(runtime.lists().offered(&request).await?)
    }

    /// The tools as MCP has them.
    pub async fn tools(&self) -> Result<Vec<Value>, ClientError> {
        let runtime = self.runtime()?;
        let mut request = self.all_tools((None, None), Options::default());
        request.form = ListForm::Mcp;
        runtime.lists().listed(&request).await;
        Ok(serde_json::from_slice(&runtime.lists().get(&request).await?.list())?)
    }

    fn all_tools(&self, (profile, model): (Option<&str>, Option<&str>), options: Options) -> ListRequest {
        let scope = Scope::Server(self.0.server.clone());
        let mut request = ListRequest::in_dialect(scope, (profile, model, Compat::Auto), options);
        request.most_tools = MostTools::Unlimited;
        request
    }

    /// What the server listed and is in no list, because it is malformed.
    pub fn skipped(&self) -> Result<Vec<LeftOut>, ClientError> {
        let is_configured =
            |left: &&LeftOut| matches!(left.reason, LeftOutReason::NotAllowed | LeftOutReason::Denied);
        let catalogue = self.runtime()?.fleet().catalogue();
        Ok(catalogue.left_out().iter().filter(|left| !is_configured(left)).cloned().collect())
    }

    /// Calls a tool by the name that its server gave it, with arguments as its schema has them. A tool that fails has a result
    /// too; see [`ToolResult::is_error`]. For calls as models write them, there is [`execute`](Self::execute).
    ///
    /// Dropped meanwhile, it cancels the call.
    pub async fn call_tool(&self, name: &str, arguments: &Value) -> Result<ToolResult, ClientError> {
        let runtime = self.runtime()?;
        if !arguments.is_object() {
            let message = format!("calling tool `{name}`: expected an object as arguments, got {arguments}");
            return Err(Failure::Arguments(message.chars().take(500).collect()).into());
        }
        let server = Some(self.0.server.as_str());
        let text = RawJson::of(arguments)?;
        let permit = runtime.reserve().await?;
        let catalogue = runtime.catalogue_for(server, name).await?;
        let request = CallRequest {
            named: (server, name),
            tool: runtime.find(&catalogue, server, name).map(|tool| (tool, None)),
            catalogue: &catalogue,
            arguments: CallArguments::Read { text: &text, value: arguments },
            context: &RequestContext::new(None),
            origin: &Origin { transport: LIBRARY, provider: None },
            answerer: None,
            siblings: None,
        };
        match Box::pin(runtime.call(request, permit)).await {
            CallState::Done(outcome) => match outcome.failure {
                Some(failure) => Err(failure.into()),
                None => Ok(ToolResult(outcome.result)),
            },
            CallState::Ahead | CallState::Waiting(_) => {
                Err(Failure::Internal(format!("the call of tool `{name}` did not end")).into())
            }
        }
    }

    /// Runs the calls of a model, in the format of any provider, and answers in the same; see [`Runtime::route`]. `call` is one call, a list
    /// of them, or the whole reply.
    pub async fn execute(&self, call: &Value, options: &RouteOptions) -> Result<Value, ClientError> {
        let mut options = options.clone();
        options.server = Some(self.0.server.as_str().to_owned());
        Ok(self.runtime()?.route(call, &options).await)
    }

    /// The gateway around the server, for all that it has beyond this.
    ///
    /// A provider that nobody has heard of is a text. It can be added while the client runs:
    ///
    /// ```
    /// # use gateway_runtime::client::McpClient;
    /// # use gateway_upstream::{Endpoint, UpstreamSpec};
    /// use gateway_dialects::Dialects;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = McpClient::connect(UpstreamSpec::new("demo", Endpoint::Demo)).await?;
    /// let runtime = client.runtime()?;
    /// let mut dialects = Dialects::clone(&runtime.dialects());
    /// let acme = r#"
    ///     name = "acme"
    ///     title = "Acme, which takes no defaults"
    ///     extends = "openai-chat"
    ///     [schema]
    ///     defaults = "strip"
    /// "#;
    /// dialects.add("acme.toml", acme)?;
    /// dialects.add_models("models.toml", r#"model = [{matches = ["acme-*"], dialect = "acme"}]"#)?;
    /// runtime.set_dialects(dialects);
    /// let tools = client.get_tools_for_model(None, "acme-1").await?;
    /// assert_eq!(tools, client.get_tools("acme").await?);
    /// # client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn runtime(&self) -> Result<Runtime, ClientError> {
        self.0.system.gateway().ok_or(ClientError::NotConnected)
    }

    /// Whether it was not closed.
    pub fn is_connected(&self) -> bool {
        self.0.system.is_initialized()
    }

    /// Ends the connection and the server's process. Calls under way may finish within the configured time.
    pub async fn close(&self) {
        self.0.system.shutdown().await;
    }
}

/// The server that an entry describes.
fn server_of(name: &str, entry: &Value) -> Result<UpstreamSpec, ClientError> {
    let text = json!({"mcpServers": {name: entry}}).to_string();
    let wrong = |problems| ClientError::Entry { server: name.to_owned(), problems };
    let file = Path::new("entry");
    let config = gateway_config::parse(file, &text, &Environment::of_process()).map_err(wrong)?;
    let server = config.servers.into_iter().find(|server| server.id.as_str() == name);
    match server {
        Some(server) if server.problems.is_empty() => Ok(server),
        found => {
            let none = || vec![Problem::of_file(file, "it describes no server that is to be connected")];
            let errors = found.map_or_else(none, |server| server.problems);
            Err(wrong(Problems { errors, warnings: config.warnings }))
        }
    }
}
