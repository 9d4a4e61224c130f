//! What is configured for one upstream, after parsing.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::fields::Words;
use crate::problem::Problem;
use crate::tool::LONGEST_TOOL_TIMEOUT;

/// The name of an upstream, as the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UpstreamId(Arc<str>);

impl UpstreamId {
    /// A name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name, shared.
    pub fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UpstreamId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Everything that is known about one upstream before it is connected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UpstreamSpec {
    /// Its name.
    pub id: UpstreamId,
    /// Where it is.
    pub endpoint: Endpoint,
    /// Which era to speak.
    pub protocol: ProtocolChoice,
    /// When to connect.
    pub connect: ConnectMode,
    /// Whether the gateway is not ready without it.
    pub required: bool,
    /// Configured, but not to be used.
    pub disabled: bool,
    /// Whether one malformed tool makes its whole list unusable.
    pub strict: bool,
    /// What becomes of a list in a dialect that cannot take one of its tools.
    pub on_conversion_error: OnConversionError,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Stop it after so long without a call; the next call starts it again.
    pub idle_stop: Option<Duration>,
    /// How to come back after a failure.
    pub restart: RestartPolicy,
    /// Bounds.
    pub limits: Limits,
    /// Which tools are offered, and how.
    pub tools: ToolRules,
    /// The name in front of its tools if names clash or are always prefixed; the id if absent.
    pub prefix: Option<String>,
    /// A JSON-lines log that the server itself writes (S004-14).
    pub log_path: Option<PathBuf>,
    /// What takes over when this one times out or cannot be reached, if its tool may run again.
    pub fallback: Option<Fallback>,
    /// When it takes over.
    pub fallback_on: FallbackOn,
    /// Files whose change restarts the upstream.
    pub watch_paths: Vec<PathBuf>,
    /// Names of variables that its process does not inherit: those that hold keys of the gateway.
    pub hidden_env: Arc<[String]>,
    /// What is wrong with its entry. Its endpoint is [`Endpoint::Invalid`] then, unless it goes on under an earlier entry.
    pub problems: Vec<Problem>,
}

impl UpstreamSpec {
    /// An upstream with the defaults.
    pub fn new(id: &str, endpoint: Endpoint) -> Self {
        Self {
            id: UpstreamId::new(id),
            endpoint,
            protocol: ProtocolChoice::Auto,
            connect: ConnectMode::Lazy,
            required: false,
            disabled: false,
            strict: false,
            on_conversion_error: OnConversionError::default(),
            timeouts: Timeouts::default(),
            idle_stop: None,
            restart: RestartPolicy::default(),
            limits: Limits::default(),
            tools: ToolRules::default(),
            prefix: None,
            log_path: None,
            fallback: None,
            fallback_on: FallbackOn::default(),
            watch_paths: Vec::new(),
            hidden_env: Arc::default(),
            problems: Vec::new(),
        }
    }

    /// Whether nothing is ever connected for it: it is disabled, or its entry is invalid.
    pub fn is_off(&self) -> bool {
        self.disabled || self.endpoint == Endpoint::Invalid
    }

    /// Whether both describe the same server, whatever is wrong with their entries.
    pub fn is_same_server(&self, other: &Self) -> bool {
        if self.problems == other.problems {
            return self == other;
        }
        Self { problems: Vec::new(), ..self.clone() } == Self { problems: Vec::new(), ..other.clone() }
    }

    /// The registered tools as an upstream of this name. Each tool has a time of its own, so that calls have none.
    pub fn registry(name: &str) -> Self {
        let mut spec = Self::new(name, Endpoint::Registry);
        spec.connect = ConnectMode::Eager;
        spec.timeouts.call = LONGEST_TOOL_TIMEOUT;
        spec.timeouts.call_maximum = spec.timeouts.call;
        spec
    }
}

/// What becomes of a list in a dialect that cannot take a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConversionError {
    /// That tool is left out.
    #[default]
    Skip,
    /// All tools of its upstream are left out.
    Empty,
    /// There is no list, but an error that names the tool.
    Error,
}

impl Words for OnConversionError {
    const WORDS: &'static [(&'static str, Self)] =
        &[("skip", Self::Skip), ("empty", Self::Empty), ("error", Self::Error)];
}

/// What takes calls over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Another upstream, by its name.
    Server(UpstreamId),
    /// A server of its own, over stdio, that is started for these calls. Its tools are listed only while the upstream that
    /// it stands in for was never reached.
    Command(Endpoint),
}

/// Where an upstream is.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A child process that speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment, beside ours.
        env: BTreeMap<String, String>,
        /// Its working directory.
        cwd: Option<PathBuf>,
    },
    /// A server over HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of every request; they may hold secrets.
        headers: BTreeMap<String, String>,
        /// Which of the HTTP transports.
        mode: HttpMode,
    },
    /// The built-in demo server, in process.
    Demo,
    /// The built-in server for the files of a directory, in process.
    Workspace(WorkspaceSpec),
    /// The registered tools, in process.
    Registry,
    /// Nothing that could be connected to: the entry is invalid.
    Invalid,
}

/// Secrets stand in environments and headers, so only names are shown.
impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd } => formatter
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers, mode } => formatter
                .debug_struct("Http")
                .field("url", &address_without_secrets(url))
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .field("mode", mode)
                .finish(),
            Self::Demo => formatter.write_str("Demo"),
            Self::Workspace(spec) => formatter.debug_tuple("Workspace").field(spec).finish(),
            Self::Registry => formatter.write_str("Registry"),
            Self::Invalid => formatter.write_str("Invalid"),
        }
    }
}

/// An address without its query and without a user's name and password.
fn address_without_secrets(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => plain.to_owned(),
    }
}

impl Endpoint {
    /// When to connect, where its entry does not say it. There is nothing to start in our own process, so that nobody should have to wait.
    pub(crate) fn usual_connect(&self) -> ConnectMode {
        match self {
            Self::Demo | Self::Workspace(_) | Self::Registry => ConnectMode::Eager,
            Self::Stdio { .. } | Self::Http { .. } | Self::Invalid => ConnectMode::Lazy,
        }
    }

    /// The word for people: `stdio`, `http`, `sse` or `builtin`; `none` for an invalid entry.
    pub fn transport(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { mode: HttpMode::Auto | HttpMode::Streamable, .. } => "http",
            Self::Http { mode: HttpMode::Sse, .. } => "sse",
            Self::Demo | Self::Workspace(_) | Self::Registry => "builtin",
            Self::Invalid => "none",
        }
    }
}

/// A directory whose files the tools of the built-in server `workspace` may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceSpec {
    /// The directory. Nothing outside it is ever read or written.
    pub root: PathBuf,
    /// Leaves out the tools that write.
    pub read_only: bool,
    /// The longest text that is read, written or searched, in bytes.
    pub max_file_bytes: usize,
    /// The most entries or matches in one answer.
    pub max_results: usize,
}

impl WorkspaceSpec {
    /// A directory that may be written to, with the usual bounds.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), read_only: false, max_file_bytes: 1 << 20, max_results: 1_000 }
    }
}

/// The highest value of `max_file_bytes`: several copies of a text are in memory while it is edited.
pub(crate) const MOST_FILE_BYTES: usize = 64 << 20;
/// The highest value of `max_results`.
pub(crate) const MOST_RESULTS: u64 = 100_000;

/// Which of the HTTP transports to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpMode {
    /// Streamable HTTP, modern or legacy, else legacy SSE.
    #[default]
    Auto,
    /// Streamable HTTP only.
    Streamable,
    /// HTTP with SSE of 2024-11-05 only.
    Sse,
}

/// Which era to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Ask the server.
    #[default]
    Auto,
    /// Without sessions, 2026-07-28 and later.
    Modern,
    /// With `initialize`.
    Legacy,
}

impl Words for ProtocolChoice {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("modern", Self::Modern), ("legacy", Self::Legacy)];
}

/// When to connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectMode {
    /// When the gateway starts.
    Eager,
    /// When somebody lists or calls its tools.
    #[default]
    Lazy,
}

impl Words for ConnectMode {
    const WORDS: &'static [(&'static str, Self)] = &[("eager", Self::Eager), ("lazy", Self::Lazy)];
}

/// When a call is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FallbackOn {
    /// The upstream could not be reached, so the call did not run.
    pub unreachable: bool,
    /// It gave no answer in time; only for tools that may run again.
    pub timeout: bool,
    /// It went away during the call; only for tools that may run again.
    pub lost: bool,
}

impl Default for FallbackOn {
    fn default() -> Self {
        Self { unreachable: true, timeout: true, lost: true }
    }
}

/// Whether calls of a tool run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// They do.
    #[default]
    Allow,
    /// Somebody is asked first.
    Ask,
    /// They are refused.
    Deny,
}

impl Words for Approval {
    const WORDS: &'static [(&'static str, Self)] =
        &[("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];
}

/// How much a tool matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Importance {
    /// Can be spared.
    Low,
    /// As most tools.
    #[default]
    Normal,
    /// Should be offered first.
    High,
}

impl Words for Importance {
    const WORDS: &'static [(&'static str, Self)] =
        &[("low", Self::Low), ("normal", Self::Normal), ("high", Self::High)];
}

impl Importance {
    /// Reads `low`, `normal` (or `medium`) or `high`.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.to_ascii_lowercase();
        let known = |(name, _): &&(&str, Self)| *name == word || word == "medium" && *name == "normal";
        Self::WORDS.iter().find(known).map(|(_, importance)| *importance)
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

/// What a changed tool definition means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDefinitionChange {
    /// Say so in health and log.
    #[default]
    Warn,
    /// Refuse calls to that tool until somebody accepts it.
    Block,
}

impl Words for OnDefinitionChange {
    const WORDS: &'static [(&'static str, Self)] = &[("warn", Self::Warn), ("block", Self::Block)];
}

/// How long to wait for what.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For the answer to the era probe; silence means legacy.
    pub probe: Duration,
    /// For the whole start: process, probe, handshake.
    pub connect: Duration,
    /// For a whole listing, all pages.
    pub list: Duration,
    /// For a call without any sign of life.
    pub call: Duration,
    /// For a call that shows progress.
    pub call_maximum: Duration,
    /// For one tool, instead of `call`.
    pub per_tool: BTreeMap<String, Duration>,
    /// For a clean end before the process is killed.
    pub close: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(2),
            connect: Duration::from_mins(1),
            list: Duration::from_secs(30),
            call: Duration::from_mins(1),
            call_maximum: Duration::from_mins(10),
            per_tool: BTreeMap::new(),
            close: Duration::from_secs(2),
        }
    }
}

/// How an upstream comes back after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestartPolicy {
    /// The first pause; each further one is twice as long.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// After so many failures in a row the upstream counts as crashing; it is then tried at the longest pause only.
    pub attempts: u32,
    /// How often to ask a legacy stdio server whether it is alive.
    pub ping_every: Option<Duration>,
    /// How long to wait for that answer.
    pub ping_timeout: Duration,
    /// After so many missing answers the upstream is restarted.
    pub ping_failures: u32,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(2),
            longest: Duration::from_mins(1),
            attempts: 5,
            ping_every: Some(Duration::from_secs(10)),
            ping_timeout: Duration::from_secs(5),
            ping_failures: 3,
        }
    }
}

/// Bounds of one upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message: a line, an event, a body.
    pub message_bytes: usize,
    /// Calls in flight.
    pub in_flight: usize,
    /// Bytes of standard error that are kept.
    pub stderr_bytes: usize,
    /// Pages of one listing.
    pub pages: usize,
    /// Entries of one listing.
    pub entries: usize,
    /// Bytes of one listing, all pages with everything in them.
    pub listing_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 32 << 20,
            in_flight: 1_024,
            stderr_bytes: 16 << 10,
            pages: 1_000,
            entries: 20_000,
            // The largest listing of the servers that we know has 0.7 MB.
            listing_bytes: 32 << 20,
        }
    }
}

/// Which tools of an upstream are offered, and how.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolRules {
    /// Patterns (`*`, `?`) of names that are offered; all if empty.
    pub allow: Vec<String>,
    /// Patterns of names that are not.
    pub deny: Vec<String>,
    /// Patterns of tools that may run again after an unclear failure.
    pub idempotent: Vec<String>,
    /// Patterns of tools that need no approval.
    pub always_allow: Vec<String>,
    /// Whether calls run, by tool pattern.
    pub approval: BTreeMap<String, Approval>,
    /// Parameters that the model never sees and the gateway fills in, by tool pattern.
    pub injected: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// Parameters that the model never sees, by tool pattern.
    pub hidden: BTreeMap<String, Vec<String>>,
    /// Category, by tool pattern.
    pub categories: BTreeMap<String, String>,
    /// Importance, by tool pattern.
    pub importance: BTreeMap<String, Importance>,
    /// Patterns of tools that a list which cannot hold all of them holds first.
    pub pin: Vec<String>,
    /// Tags, by tool pattern.
    pub tags: BTreeMap<String, Vec<String>>,
    /// Title, description or annotations instead of the server's own, by exact tool name.
    pub overrides: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// What a changed definition means.
    pub on_definition_change: OnDefinitionChange,
}

/// Values that are filled in may be secrets, so only their names are shown.
impl fmt::Debug for ToolRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let injected: BTreeMap<&String, Vec<&String>> =
            self.injected.iter().map(|(pattern, values)| (pattern, values.keys().collect())).collect();
        formatter
            .debug_struct("ToolRules")
            .field("allow", &self.allow)
            .field("deny", &self.deny)
            .field("idempotent", &self.idempotent)
            .field("always_allow", &self.always_allow)
            .field("approval", &self.approval)
            .field("injected", &injected)
            .field("hidden", &self.hidden)
            .field("categories", &self.categories)
            .field("importance", &self.importance)
            .field("pin", &self.pin)
            .field("tags", &self.tags)
            .field("overrides", &self.overrides.keys().collect::<Vec<_>>())
            .field("on_definition_change", &self.on_definition_change)
            .finish()
    }
}
