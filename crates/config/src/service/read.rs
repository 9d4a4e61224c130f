//! Reading the settings of the service from the file and from variables. Variables win.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::access::{keys, listen, origins};
use super::{
    ApprovalConfig, Approver, CacheConfig, LogConfig, McpConfig, RateLimit, SearchMode, ServiceConfig,
};
use crate::conversations::read_conversations;
use crate::environment::Environment;
use crate::fields::{DAY, Fields, Item, Setting as _, Unit, time_within};
use crate::level::LogLevel;
use crate::models::{read_loop, read_models};
use crate::privacy::read_privacy;
use crate::problem::Problem;
use crate::secret_text::secret;
use crate::server::servers_schema;
use crate::servers::is_of_opencode;
use crate::spec::Approval;

const SECOND: Duration = Duration::from_secs(1);

/// Reads the settings. Names of the variables that keys are taken from are added to `key_variables`.
pub(crate) fn read(at: &mut Fields<'_>, key_variables: &mut BTreeSet<String>) -> ServiceConfig {
    let environment = at.context.source.environment;
    let mut config = ServiceConfig { listen: listen(at), ..ServiceConfig::default() };
    let about = "Keys of callers by the name of their owner, or a list.";
    config.keys = keys(at, "apiKeys", about, "MCP_GATEWAY_API_KEY", key_variables);
    let about = "Keys of those who may also register tools and approve calls.";
    config.admin_keys = keys(at, "adminKeys", about, "MCP_GATEWAY_ADMIN_KEY", key_variables);
    let about = "Names that requests may use for the gateway, beside loopback ones.";
    texts(at, "allowedHosts", about, &mut config.allowed_hosts);
    config.allowed_origins = origins(at);
    at.object("limits", "Bounds of the service.", |at| limits(&mut config, at));
    at.object("timeouts", "How long callers and servers are waited for.", |at| timeouts(&mut config, at));
    at.object("rateLimit", "How many requests each caller may send.", |at| {
        config.rate_limit = rate_limit(at);
    });
    let about = "How long calls in flight may finish at the end.";
    at.time("drain", about, Duration::ZERO..=DAY, &mut config.drain);
    let about = "The server that is meant if a request names none.";
    config.default_server = text(at, "defaultServer", about).map(str::to_owned);
    let about = "Whether arguments are checked against the tool's schema before they are sent.";
    at.set("validate", about, &mut config.validate);
    let mut dialects = Vec::new();
    texts(at, "dialects", "Dialect files to add to the built-in ones.", &mut dialects);
    config.dialect_files = dialects.iter().map(|path| resolve(at, path)).collect();
    let about = "Where the call log and what is remembered of servers is kept.";
    let data = path(at, "dataDirectory", about);
    config.data = environment
        .non_empty("MCP_GATEWAY_DATA")
        .map(PathBuf::from)
        .or(data)
        .or_else(|| state_directory(environment));
    at.object("cache", "Results to keep for a while.", |at| cache(&mut config.cache, at));
    let about = "Which calls run, and which somebody has to approve.";
    at.object("approval", about, |at| {
        approval(&mut config.approval, at);
        if config.approval.approver == Approver::Admin && config.admin_keys.is_empty() {
            at.warn("approver", "nobody can approve a call: no admin key is configured");
        }
    });
    let about = "The MCP endpoint; in a file of VS Code's or OpenCode's also its servers.";
    if let Some(item) = at.object_or("mcp", about, None, |at| mcp(&mut config.mcp, at)) {
        // Another program's, as we have only an object there.
        item.warn("is no object, so it is not used");
    }
    config.models = read_models(at, key_variables);
    let about = "Bounds of the loop that runs the calls of models.";
    at.object("loop", about, |at| read_loop(&mut config.agent, &config.models, at));
    let about = "Conversations that the gateway keeps.";
    at.object("conversations", about, |at| read_conversations(&mut config.conversations, at, key_variables));
    config.agent.model = environment.non_empty("ARGO_DEFAULT_MODEL").or(config.agent.model.take());
    let about = "What is done about personal data, and where: `off`, `mark`, `mask` or `block`.";
    at.object("privacy", about, |at| read_privacy(&mut config.privacy, at));
    log(&mut config, at, key_variables);
    config.log_level = log_level(at);
    config
}

fn limits(config: &mut ServiceConfig, at: &mut Fields<'_>) {
    at.bytes("bodyBytes", "Bytes of a request's body.", 1 << 10..=1 << 30, &mut config.body_bytes);
    let about = "Bytes of long bodies that are read at once; 64 MB or four times `bodyBytes` if absent.";
    config.bodies_bytes = at.number("bodiesBytes", about, Unit::Byte, 1 << 20..=1 << 40, None);
    let about = "Bytes of long results that are held at once.";
    at.bytes("resultBytes", about, 1 << 20..=1 << 40, &mut config.result_bytes);
    at.count("concurrentRequests", "Requests at once.", 1..=1_000_000, &mut config.concurrent_requests);
    let about = "Calls of one turn at once.";
    at.count("concurrentCallsPerTurn", about, 1..=1_024, &mut config.concurrent_calls_per_turn);
    at.count("logStreams", "Streams of the call log at once.", 1..=10_000, &mut config.log_streams);
}

fn timeouts(config: &mut ServiceConfig, at: &mut Fields<'_>) {
    let bounds = || Duration::from_millis(10)..=DAY;
    at.time("read", "To send a request.", bounds(), &mut config.read_timeout);
    at.time("write", "To read nothing of an answer.", bounds(), &mut config.write_timeout);
    at.time("list", "To wait for servers that are starting.", bounds(), &mut config.list_wait);
    at.time("heartbeat", "Between signs of life of streams.", bounds(), &mut config.heartbeat);
}

fn rate_limit(at: &mut Fields<'_>) -> Option<RateLimit> {
    let per_second = at.positive("perSecond", "Requests in the long run.", 1e6);
    let burst = at.positive("burst", "Requests at once, after a pause; `perSecond` if absent.", 1e6);
    if !at.has("perSecond") {
        at.error("perSecond", "is missing");
    }
    let per_second = per_second?;
    Some(RateLimit { per_second, burst: burst.unwrap_or(per_second).max(1.0) })
}

fn cache(config: &mut CacheConfig, at: &mut Fields<'_>) {
    at.bytes("maxBytes", "Bytes of all results together.", 1 << 10..=1 << 40, &mut config.bytes);
    let about = "By `server/tool` pattern: how long results are kept; false for never.";
    let schema = || json!({"type": "object", "additionalProperties": Option::<Duration>::schema()});
    let read = |item: &Item<'_>| match item.value {
        Value::Bool(false) => Some(Duration::ZERO),
        _ => time_within(item, Duration::ZERO..=DAY),
    };
    config.tools = by_pattern(at.item("tools", about, schema).as_ref(), "`docs/search` or `docs/*`", read);
}

fn approval(config: &mut ApprovalConfig, at: &mut Fields<'_>) {
    at.set("default", "For tools that nothing else is said about.", &mut config.default);
    let about = "Who is asked: the caller over MCP if it can answer, or always an admin.";
    at.set("approver", about, &mut config.approver);
    let about = "How long a call waits for somebody with an admin key.";
    at.time("wait", about, Duration::ZERO..=DAY, &mut config.wait);
    at.time("expiry", "How long it can be approved.", SECOND..=DAY, &mut config.expiry);
    config.expiry = config.expiry.max(config.wait);
    at.count("pending", "Calls at once that can be approved.", 1..=100_000, &mut config.pending);
    let about = "How many of them may be one caller's; a quarter if absent.";
    config.pending_per_caller = at.number("pendingPerCaller", about, Unit::One, 1..=100_000, None);
    let about = "By `server/tool` pattern; the first that fits counts.";
    let schema = || json!({"type": "object", "additionalProperties": Approval::schema()});
    config.tools =
        by_pattern(at.item("tools", about, schema).as_ref(), "`files/write` or `files/*`", Approval::read);
}

/// What stands at each `server/tool` pattern, in the order of the file.
fn by_pattern<V>(
    item: Option<&Item<'_>>,
    examples: &str,
    read: impl Fn(&Item<'_>) -> Option<V>,
) -> Vec<(String, V)> {
    let mut found = Vec::new();
    for (pattern, item) in item.into_iter().flat_map(Item::members) {
        if pattern.contains('/') || pattern == "*" {
            let value = (!item.value.is_null()).then(|| read(&item)).flatten();
            found.extend(value.map(|value| (pattern.clone(), value)));
        } else {
            item.error(&format!("must name a server and a tool, such as {examples}"));
        }
    }
    found
}

fn mcp(config: &mut McpConfig, at: &mut Fields<'_>) {
    at.ignore(&["mcpServers", "context_servers", "inputs"]);
    at.ignore_if(is_of_opencode);
    at.item("servers", "The servers, as VS Code's settings have them.", servers_schema);
    at.count("pageSize", "Entries of one page of a list.", 1..=1_000_000, &mut config.page);
    at.count("sessions", "Legacy sessions at once.", 1..=10_000_000, &mut config.sessions);
    let about = "How many of them may be one caller's; a quarter if absent.";
    config.sessions_per_caller = at.number("sessionsPerCaller", about, Unit::One, 1..=10_000_000, None);
    at.time("sessionIdle", "How long an unused session is kept.", SECOND..=DAY, &mut config.session_idle);
    let about = "How long a caller may take to answer what a server asks.";
    at.time("inputExpiry", about, SECOND..=DAY, &mut config.input_expiry);
    let about = "Calls at once that wait for such answers.";
    at.count("parkedCalls", about, 1..=1_000_000, &mut config.parked_calls);
    let about = "Bytes of a message on standard input.";
    at.bytes("lineBytes", about, 1 << 10..=1 << 30, &mut config.line_bytes);
    let about = "Whether `tools/list` shows three tools (search, describe, call) instead of all; or above which number.";
    let schema =
        || json!({"anyOf": [{"enum": ["off", "on", true, false]}, {"type": "integer", "minimum": 0}]});
    let Some(item) = at.item("search", about, schema) else { return };
    match item.value {
        Value::Bool(false) => config.search = SearchMode::Off,
        Value::Bool(true) => config.search = SearchMode::On,
        Value::String(word) if word == "off" => config.search = SearchMode::Off,
        Value::String(word) if word == "on" => config.search = SearchMode::On,
        other => match other.as_u64() {
            Some(above) => config.search = SearchMode::Above(usize::try_from(above).unwrap_or(usize::MAX)),
            None => item.error("must be \"off\", \"on\" or a number of tools"),
        },
    }
}

fn log(config: &mut ServiceConfig, at: &mut Fields<'_>, key_variables: &mut BTreeSet<String>) {
    config.log.directory.clone_from(&config.data);
    let about = "The call log; false keeps it in memory.";
    let fields = |at: &mut Fields<'_>| {
        log_fields(&mut config.log, at, key_variables);
        for name in config.log.readers.iter().filter(|name| !config.keys.contains_key(*name)) {
            let name = gateway_protocol::printable(name);
            at.warn("readers", &format!("`{name}` is no owner of a key in `apiKeys`"));
        }
    };
    match at.object_or("log", about, Some(json!({"const": false})), fields) {
        Some(item) if item.value == &Value::Bool(false) => config.log.directory = None,
        Some(item) => drop(item.object()),
        None => {}
    }
}

fn log_fields(log: &mut LogConfig, at: &mut Fields<'_>, key_variables: &mut BTreeSet<String>) {
    let other = path(at, "path", "The same as `directory`.");
    let directory = path(at, "directory", "The directory of the database; `dataDirectory` if absent.");
    let has_directory = directory.is_some() || other.is_some();
    log.directory = directory.or(other).or(log.directory.take());
    let about = "A PostgreSQL database that keeps it instead, such as `${LOG_DATABASE}`: `postgres://user:password@host/database`.";
    log.store = secret(at, "store", about, key_variables);
    if let Some(store) = &log.store {
        // What was given may be a password, so it is not repeated.
        if !["postgres://", "postgresql://"].iter().any(|scheme| store.expose().starts_with(scheme)) {
            at.error("store", "must be an address such as `postgres://user:password@localhost:5432/gateway`");
        } else if has_directory {
            at.warn("directory", "is not used, because `store` is set");
        }
    }
    let about = "Owners in `apiKeys` who see the calls of all callers, as admins do.";
    texts(at, "readers", about, &mut log.readers);
    let about = "Further keys whose values are not written, and paths as `server/tool:/pointer`.";
    let apart = |at: &mut Fields<'_>| {
        texts(at, "keys", "Further keys whose values are not written.", &mut log.redact_keys);
        texts(at, "paths", "Paths as `server/tool:/pointer`.", &mut log.redact_paths);
    };
    if let Some(item) = at.object_or("redact", about, Some(texts_schema()), apart) {
        let rules = read_texts(&item);
        (log.redact_paths, log.redact_keys) = rules.into_iter().partition(|rule| rule.contains(":/"));
    }
    at.bytes("maxValueBytes", "Bytes of one input or result.", 64..=1 << 30, &mut log.value_bytes);
    if let Some(days) = at.positive("keepDays", "How many days entries are kept; 30 if absent.", 36_500.0) {
        log.keep = Duration::from_secs_f64(days * DAY.as_secs_f64()).max(SECOND);
    }
    at.bytes("keepBytes", "Bytes of the database.", 1 << 20..=1 << 50, &mut log.keep_bytes);
}

fn log_level(at: &mut Fields<'_>) -> Option<LogLevel> {
    let context = at.context;
    let mut level = None;
    at.set("logLevel", "From which level on events are written.", &mut level);
    match context.source.environment.non_empty("LOG_LEVEL").map(|text| text.parse()) {
        Some(Ok(chosen)) => level = Some(chosen),
        Some(Err(message)) => {
            context.problems.borrow_mut().warnings.push(Problem::of_variable("LOG_LEVEL", message));
        }
        None => {}
    }
    level
}

/// A path of the file, which must not be empty.
fn path(at: &mut Fields<'_>, name: &'static str, about: &str) -> Option<PathBuf> {
    text(at, name, about).map(|text| resolve(at, text))
}

/// A text that must not be empty.
fn text<'a>(at: &mut Fields<'a>, name: &'static str, about: &str) -> Option<&'a str> {
    let item = at.item(name, about, String::schema)?;
    let text = item.value.as_str().filter(|text| !text.is_empty());
    text.or_else(|| item.expected("a text that is not empty"))
}

/// Texts, or one text alone. A number is a mistake here, other than in the servers of other clients.
pub(super) fn texts(at: &mut Fields<'_>, name: &'static str, about: &str, setting: &mut Vec<String>) {
    if let Some(item) = at.item(name, about, texts_schema) {
        setting.extend(read_texts(&item));
    }
}

pub(super) fn read_texts(item: &Item<'_>) -> Vec<String> {
    let texts = match item.value {
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        single => single.as_str().map(|text| vec![text.to_owned()]),
    };
    texts.or_else(|| item.expected("a text or a list of texts")).unwrap_or_default()
}

pub(super) fn texts_schema() -> Value {
    json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]})
}

/// `~` is the home directory; other relative paths start at the file's folder.
fn resolve(at: &Fields<'_>, path: &str) -> PathBuf {
    at.context.directory.join(at.context.source.environment.path(path))
}

/// Where programs keep what they must remember.
fn state_directory(environment: &Environment<'_>) -> Option<PathBuf> {
    let state = environment.non_empty("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state
        .or_else(|| environment.non_empty("LOCALAPPDATA").map(PathBuf::from))
        .or_else(|| Some(Path::new(&environment.home()?).join(".local/state")));
    Some(state?.join("mcp-tool-gateway"))
}
