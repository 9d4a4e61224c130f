//! What is configured for the service itself.

mod access;
mod read;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::conversations::ConversationsConfig;
use crate::fields::Words;
use crate::key::Secret;
use crate::level::LogLevel;
use crate::models::{LoopConfig, ModelSpec};
use crate::privacy::PrivacyConfig;
use crate::spec::Approval;

pub(crate) use read::read;

/// Settings of the service, after parsing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Keys by the name of their owner, as texts; they are hashed when the service starts.
    pub keys: BTreeMap<String, Secret>,
    /// Keys of those who may also register tools and approve calls. They open everything that `keys` open.
    pub admin_keys: BTreeMap<String, Secret>,
    /// Hosts that requests may name beside loopback ones.
    pub allowed_hosts: Vec<String>,
    /// Origins that browsers may come from (CORS); none by default.
    pub allowed_origins: Vec<String>,
    /// Most bytes of a request's body.
    pub body_bytes: usize,
    /// Most bytes of long bodies that are being read at once, over all callers; if absent, 64 MB or four times `body_bytes`,
    /// whichever is more.
    pub bodies_bytes: Option<usize>,
    /// How many requests each caller may send; no bound if absent.
    pub rate_limit: Option<RateLimit>,
    /// Requests at once, before 503.
    pub concurrent_requests: usize,
    /// Calls of one turn that run at once.
    pub concurrent_calls_per_turn: usize,
    /// Most bytes of long results that are held for callers at once, over all of them.
    pub result_bytes: usize,
    /// Streams of the call log at once, before 503.
    pub log_streams: usize,
    /// How often a stream says that it is alive.
    pub heartbeat: Duration,
    /// How long a caller may take to send a request; also how long an unused connection is kept.
    pub read_timeout: Duration,
    /// How long a caller may read nothing of an answer before its connection is closed.
    pub write_timeout: Duration,
    /// How long a listing waits for servers that are starting.
    pub list_wait: Duration,
    /// How long calls in flight may finish after SIGTERM.
    pub drain: Duration,
    /// The server that is meant if a request names none; `default` if one is called so.
    pub default_server: Option<String>,
    /// Whether arguments are checked against the tool's schema before they are sent.
    pub validate: bool,
    /// Results that are kept for a while.
    pub cache: CacheConfig,
    /// Which calls run, and which somebody has to approve.
    pub approval: ApprovalConfig,
    /// The call log.
    pub log: LogConfig,
    /// The MCP endpoint.
    pub mcp: McpConfig,
    /// The models that can be asked, in the order of the file.
    pub models: Vec<ModelSpec>,
    /// Bounds of the loop that runs their calls.
    pub agent: LoopConfig,
    /// What is done about personal data.
    pub privacy: PrivacyConfig,
    /// Conversations that the gateway keeps.
    pub conversations: ConversationsConfig,
    /// Dialect files to add to the built-in ones.
    pub dialect_files: Vec<PathBuf>,
    /// What the gateway itself remembers: the call log, eras and fingerprints of servers. Not kept if absent.
    pub data: Option<PathBuf>,
    /// From which level on events are written, if configured.
    pub log_level: Option<LogLevel>,
    /// Where the configuration came from: `file`, `env` or `none`.
    pub source: &'static str,
}

/// How many requests a caller may send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// In the long run.
    pub per_second: f64,
    /// At once, after a pause.
    pub burst: f64,
}

/// Which results are kept, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// `server/tool` patterns and the time that results are kept; the first that fits counts. A pattern covers only tools that
    /// only read; a tool without `*` is covered always. None by default.
    pub tools: Vec<(String, Duration)>,
    /// Most bytes of all results together.
    pub bytes: usize,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self { tools: Vec::new(), bytes: 16 << 20 }
    }
}

/// Which calls run, and which somebody has to approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalConfig {
    /// For tools that nothing else is said about.
    pub default: Approval,
    /// `server/tool` patterns; the first that fits counts.
    pub tools: Vec<(String, Approval)>,
    /// Who decides about calls that somebody has to approve.
    pub approver: Approver,
    /// How long a call waits for somebody with an admin key.
    pub wait: Duration,
    /// How long it can be approved.
    pub expiry: Duration,
    /// Calls at once that can be approved.
    pub pending: usize,
    /// How many of them may be one caller's; a quarter if absent.
    pub pending_per_caller: Option<usize>,
}

/// Who decides about calls that somebody has to approve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approver {
    /// The caller itself over MCP, if it can be asked; else somebody with an admin key.
    #[default]
    Caller,
    /// Somebody with an admin key, always.
    Admin,
}

impl Words for Approver {
    const WORDS: &'static [(&'static str, Self)] = &[("caller", Self::Caller), ("admin", Self::Admin)];
}

impl ApprovalConfig {
    /// How many calls of one caller can be approved at once.
    pub fn share(&self) -> usize {
        self.pending_per_caller.unwrap_or_else(|| self.pending.div_ceil(4)).min(self.pending)
    }
}

impl Default for ApprovalConfig {
    fn default() -> Self {
        Self {
            default: Approval::Allow,
            tools: Vec::new(),
            approver: Approver::Caller,
            wait: Duration::from_secs(45),
            expiry: Duration::from_mins(10),
            pending: 100,
            pending_per_caller: None,
        }
    }
}

/// Settings of the call log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogConfig {
    /// The folder of the database; in memory if absent.
    pub directory: Option<PathBuf>,
    /// The address of a PostgreSQL database that keeps it instead.
    pub store: Option<Secret>,
    /// Owners of `keys` who see the calls of all callers, as admins do.
    pub readers: Vec<String>,
    /// Further keys whose values are not written.
    pub redact_keys: Vec<String>,
    /// `server/tool:/pointer` locations that are not written.
    pub redact_paths: Vec<String>,
    /// Most bytes of one input or result.
    pub value_bytes: usize,
    /// How long entries are kept.
    pub keep: Duration,
    /// Most bytes of the database.
    pub keep_bytes: u64,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            directory: None,
            store: None,
            readers: Vec::new(),
            redact_keys: Vec::new(),
            redact_paths: Vec::new(),
            value_bytes: 64 << 10,
            keep: Duration::from_hours(30 * 24),
            keep_bytes: 1 << 30,
        }
    }
}

/// Settings of the MCP endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpConfig {
    /// Entries of one page of a list.
    pub page: usize,
    /// Legacy sessions at once; the one that was unused for longest makes room.
    pub sessions: usize,
    /// How many of them may be one caller's; a quarter if absent.
    pub sessions_per_caller: Option<usize>,
    /// How long an unused session is kept.
    pub session_idle: Duration,
    /// How long a caller may take to answer what a server asks.
    pub input_expiry: Duration,
    /// Calls at once that wait for such answers.
    pub parked_calls: usize,
    /// Whether `tools/list` shows three tools (search, describe, call) instead of all. JSON name `search`: `"off"`, `"on"`, or the
    /// number of tools above which it is on.
    pub search: SearchMode,
    /// Most bytes of a message on standard input.
    pub line_bytes: usize,
}

impl McpConfig {
    /// How many sessions one caller may have.
    pub fn session_share(&self) -> usize {
        self.sessions_per_caller.unwrap_or_else(|| self.sessions.div_ceil(4)).min(self.sessions)
    }
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            page: 1_000,
            sessions: 20_000,
            sessions_per_caller: None,
            session_idle: Duration::from_mins(30),
            input_expiry: Duration::from_mins(10),
            parked_calls: 1_000,
            search: SearchMode::Off,
            line_bytes: 32 << 20,
        }
    }
}

/// When an endpoint offers search instead of all its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Never.
    #[default]
    Off,
    /// Where it has more tools than this.
    Above(usize),
    /// Always.
    On,
}

/// Most bytes of long results that are held for callers at once, if nobody says otherwise.
pub const RESULT_BYTES: usize = 128 << 20;

/// Where to listen if nobody says otherwise.
const PORT: u16 = 8787;

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
            keys: BTreeMap::new(),
            admin_keys: BTreeMap::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            body_bytes: 1 << 20,
            bodies_bytes: None,
            rate_limit: None,
            concurrent_requests: 1_024,
            concurrent_calls_per_turn: 16,
            result_bytes: RESULT_BYTES,
            log_streams: 64,
            heartbeat: Duration::from_secs(30),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            list_wait: Duration::from_secs(15),
            drain: Duration::from_secs(10),
            default_server: None,
            validate: true,
            cache: CacheConfig::default(),
            approval: ApprovalConfig::default(),
            log: LogConfig::default(),
            mcp: McpConfig::default(),
            models: Vec::new(),
            agent: LoopConfig::default(),
            privacy: PrivacyConfig::default(),
            conversations: ConversationsConfig::default(),
            dialect_files: Vec::new(),
            data: None,
            log_level: None,
            source: "none",
        }
    }
}
