//! One entry of the servers.

mod tools;
mod workspace;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fields::{ANY_SIZE, Fields, Item, Setting as _, Unit, any_of, describe};
use crate::program::{Container, Program};
use crate::spec::{
    Endpoint, Fallback, FallbackOn, HttpMode, Limits, RestartPolicy, Timeouts, UpstreamId, UpstreamSpec,
};

/// Reads an entry. Its endpoint is [`Endpoint::Invalid`] if there is no usable one, after reporting why.
pub(crate) fn read_server(name: &str, at: &mut Fields<'_>) -> UpstreamSpec {
    at.ignore(IGNORED);
    let mut spec = UpstreamSpec::new(name, Endpoint::Invalid);
    // Everything else is read also if the endpoint is wrong, so that all errors are reported.
    let endpoint = endpoint(name, at);
    spec.connect = endpoint.as_ref().map_or(spec.connect, Endpoint::usual_connect);
    at.set("protocol", "Which era of MCP to speak; asked by default.", &mut spec.protocol);
    at.set("connect", "Whether to connect at the start or when it is needed.", &mut spec.connect);
    at.set("required", "Whether the gateway is not ready without this server.", &mut spec.required);
    at.set(
        "strict",
        "Whether one malformed tool makes the server unusable, instead of that tool.",
        &mut spec.strict,
    );
    at.set(
        "onConversionError",
        "What becomes of a list in a provider's format that cannot take one of the server's tools: that tool is left out, all tools \
         of the server are, or the list is refused.",
        &mut spec.on_conversion_error,
    );
    at.set("disabled", "Keeps the entry without using it.", &mut spec.disabled);
    for name in ["enabled", "isActive"] {
        at.item(name, "The opposite of `disabled`.", bool::schema).and_then(|item| item.read::<bool>());
    }
    spec.disabled = is_disabled(at.members);
    spec.timeouts = timeouts(at);
    at.set("idleStop", "Stops the server after so long without a call.", &mut spec.idle_stop);
    let about = "How the server comes back after a failure.";
    at.object("restart", about, |at| restart(&mut spec.restart, at));
    at.object("limits", "Bounds.", |at| limits(&mut spec.limits, at));
    spec.tools = tools::tool_rules(at);
    spec.prefix = prefix(name, at);
    at.set("logPath", "A JSON-lines log that the server writes itself.", &mut spec.log_path);
    (spec.fallback, spec.fallback_on) = fallback(name, at);
    let mut paths = Vec::new();
    at.set("watchPaths", "Files whose change restarts the server.", &mut paths);
    spec.watch_paths = paths.iter().map(|path| at.context.source.environment.path(path)).collect();
    spec.endpoint = endpoint.unwrap_or(Endpoint::Invalid);
    // Servers that write such a log learn from this variable where to.
    if let (Endpoint::Stdio { env, .. }, Some(path)) = (&mut spec.endpoint, &spec.log_path) {
        env.entry("MCP_CALL_LOG".to_owned()).or_insert_with(|| path.display().to_string());
    }
    spec
}

/// Whether an entry is switched off. Asked before anything else, as such an entry need not be complete.
pub(crate) fn is_disabled(members: &serde_json::Map<String, Value>) -> bool {
    let says = |name: &str, flag: bool| members.get(name) == Some(&Value::Bool(flag));
    says("disabled", true) || says("enabled", false) || says("isActive", false)
}

/// Fields of well-known clients that mean nothing here.
const IGNORED: &[&str] = &[
    "$schema",
    "name",
    "title",
    "description",
    "notes",
    "comment",
    "_comment",
    "icon",
    "iconUrl",
    "logo",
    "tags",
    "source",
    "settings",
    "gallery",
    "version",
    "dev",
    "sandbox",
    "sandboxEnabled",
    "trust",
    "autoStart",
    "autostart",
    "provider",
    "providerUrl",
    "installSource",
    "registry",
    "registryUrl",
    "registryType",
    "metadata",
    "_meta",
    "auth",
    "oauth",
    "oauth_client_id",
    "authProviderType",
    "remoteConfig",
    "fromGalleryId",
    "timeoutMs",
    "id",
    "dockerImage",
    "extension",
    "display_name",
    "bundled",
    "scopes",
    "oauth_resource",
    "default_tools_approval_mode",
];

#[derive(Clone, Copy)]
enum Transport {
    Stdio,
    Http(HttpMode),
    Demo,
    Workspace,
}

const TRANSPORTS: [(&str, Transport); 11] = [
    ("stdio", Transport::Stdio),
    ("http", Transport::Http(HttpMode::Auto)),
    ("streamable-http", Transport::Http(HttpMode::Streamable)),
    ("streamableHttp", Transport::Http(HttpMode::Streamable)),
    ("streamable_http", Transport::Http(HttpMode::Streamable)),
    ("sse", Transport::Http(HttpMode::Sse)),
    ("builtin", Transport::Demo),
    ("demo", Transport::Demo),
    ("workspace", Transport::Workspace),
    ("local", Transport::Stdio),
    ("remote", Transport::Http(HttpMode::Auto)),
];

/// Fields for the address of a server; the first that is present counts.
const URLS: [(&str, &str); 4] = [
    ("url", "The address of a server over HTTP."),
    ("serverUrl", "The same as `url`."),
    ("httpUrl", "The same as `url`, for Streamable HTTP only."),
    ("uri", "The same as `url`, as Goose has it."),
];

fn endpoint(name: &str, at: &mut Fields<'_>) -> Option<Endpoint> {
    let owner = format!("Server \"{name}\"");
    let words = || json!({"enum": TRANSPORTS.map(|(word, _)| word)});
    let about = "How to speak to the server; follows from `command` or `url`.";
    let named = [
        at.item("transport", "The same as `type`.", words),
        at.item("type", about, words),
        at.item("transportType", "The same as `type`.", words),
    ];
    let url = URLS.into_iter().find_map(|(field, _)| Some((field, at.get(field)?)));
    let transport = transport(&owner, at, named.into_iter().flatten().next(), url.as_ref());
    let (program, container) = at.read_if(matches!(transport, Some(Transport::Stdio)), |at| {
        let program = Program::read(at, "The program to start. No shell is involved.");
        (program, at.read_if(!at.has("command"), Container::read))
    });
    for (field, about) in URLS {
        at.item(field, about, String::schema);
    }
    let mut headers = BTreeMap::new();
    at.read_if(matches!(transport, Some(Transport::Http(_))), |at| {
        at.text_map("headers", "Headers of every request to the server.", &mut headers);
        at.text_map("http_headers", "The same as `headers`, as Codex has it.", &mut headers);
        headers_of_variables(&mut headers, at);
    });
    let workspace = at.read_if(matches!(transport, Some(Transport::Workspace)), workspace::read);
    match transport? {
        Transport::Stdio => stdio(&owner, at, program, container),
        Transport::Http(mode) => {
            let filled = |item: &Item<'_>| item.read::<Option<String>>().flatten();
            let Some((field, item, address)) = url.and_then(|(field, item)| {
                let address = filled(&item)?;
                Some((field, item, address))
            }) else {
                at.error("", &format!("{owner}: http transport requires \"url\" field"));
                return None;
            };
            if !is_http(&address) {
                item.error(&format!("{owner}: \"{field}\" must be an address with http:// or https://"));
                return None;
            }
            check_headers(at, &headers);
            Some(Endpoint::Http { url: address, headers, mode })
        }
        Transport::Demo => Some(Endpoint::Demo),
        Transport::Workspace => workspace::check(workspace, &owner, at).map(Endpoint::Workspace),
    }
}

/// Headers whose values are variables that are only named, as Codex has them.
fn headers_of_variables(headers: &mut BTreeMap<String, String>, at: &mut Fields<'_>) {
    let value_of = |at: &Fields<'_>, field: &str, name: &str| {
        let value = at.context.source.environment.variable(name);
        match &value {
            Some(value) => at.context.secrets.borrow_mut().push(value.clone()),
            None => at.error(field, &format!("variable `{name}` is not set; set it")),
        }
        value
    };
    let mut named = BTreeMap::new();
    let about = "Headers whose values are in variables: the name of each variable by the name of the header.";
    at.text_map("env_http_headers", about, &mut named);
    for (header, variable) in named {
        headers.extend(value_of(at, "env_http_headers", &variable).map(|value| (header, value)));
    }
    let mut token: Option<String> = None;
    let about = "The variable with the token for a header `Authorization: Bearer`.";
    at.set("bearer_token_env_var", about, &mut token);
    if let Some(token) = token.and_then(|variable| value_of(at, "bearer_token_env_var", &variable)) {
        headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
    }
}

/// How to speak to the server. `None` if that is not clear, after reporting why.
fn transport(
    owner: &str,
    at: &Fields<'_>,
    named: Option<Item<'_>>,
    url: Option<&(&str, Item<'_>)>,
) -> Option<Transport> {
    let transport = match (named, url) {
        (Some(item), _) => transport_named(owner, &item)?,
        (None, Some(("httpUrl", _))) => Transport::Http(HttpMode::Streamable),
        (None, Some(_)) => Transport::Http(HttpMode::Auto),
        (None, None) => Transport::Stdio,
    };
    let command = ["command", "cmd", "image", "docker"].into_iter().find(|name| at.has(name));
    if let (Some(command), Some((url, item))) = (command, url) {
        item.error(&format!(
            "{owner}: has both \"{command}\" and \"{url}\". Keep \"{command}\" if the gateway shall start the server, \
             or \"{url}\" if it is running already"
        ));
        return None;
    }
    Some(transport)
}

fn transport_named(owner: &str, item: &Item<'_>) -> Option<Transport> {
    let word: String = item.read()?;
    if word == "sse" {
        item.warn(&format!("{owner}: the sse transport is deprecated; use \"http\" if the server can"));
    }
    let found = TRANSPORTS.into_iter().find(|(known, _)| *known == word).map(|(_, transport)| transport);
    if found.is_none() {
        item.error(&format!(
            "{owner}: invalid transport type \"{word}\". Must be \"stdio\" or \"http\". \
             Also accepted: \"streamable-http\", \"sse\", \"builtin\", \"workspace\""
        ));
    }
    found
}

fn stdio(owner: &str, at: &Fields<'_>, program: Program, container: Container) -> Option<Endpoint> {
    let env = program.surroundings.variables(owner, at);
    let has_command = at.has("command") || at.has("cmd");
    let words = if has_command { Some(program.words) } else { container.words(&env, &program.words) };
    let mut words = words.unwrap_or_default().into_iter();
    let Some(command) = words.next().filter(|command| !command.trim().is_empty()) else {
        at.error("", &format!("{owner}: stdio transport requires \"command\" field"));
        return None;
    };
    let command = at.context.source.environment.program(command);
    Some(Endpoint::Stdio { command, args: words.collect(), env, cwd: program.surroundings.cwd })
}

fn is_http(url: &str) -> bool {
    url.parse().is_ok_and(|uri: http::Uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    })
}

pub(crate) fn check_headers(at: &Fields<'_>, headers: &BTreeMap<String, String>) {
    for (name, value) in headers {
        if name.parse::<http::HeaderName>().is_err() {
            at.error_within("headers", name, "is no name of a header");
        } else if http::HeaderValue::from_str(value).is_err() {
            at.error_within("headers", name, "has a value that no header can have");
        }
    }
}

fn timeouts(at: &mut Fields<'_>) -> Timeouts {
    let mut timeouts = Timeouts::default();
    let about = "How long to wait for the answer which era the server speaks.";
    at.set("probeTimeout", about, &mut timeouts.probe);
    at.set("startup_timeout_sec", "The same as `connectTimeout`, as Codex has it.", &mut timeouts.connect);
    at.set("connectTimeout", "How long the whole start may take.", &mut timeouts.connect);
    at.set("listTimeout", "How long a whole listing may take.", &mut timeouts.list);
    at.set("closeTimeout", "How long to wait for a clean end.", &mut timeouts.close);
    timeouts.call = client_timeout(at).unwrap_or(timeouts.call);
    at.set("tool_timeout_sec", "The same as `callTimeout`, as Codex has it.", &mut timeouts.call);
    at.set("callTimeout", "How long a call may take without a sign of life.", &mut timeouts.call);
    let about = "How long a call that shows progress may take.";
    at.set("maxCallTimeout", about, &mut timeouts.call_maximum);
    at.set("toolTimeouts", "`callTimeout` for single tools.", &mut timeouts.per_tool);
    if at.has("maxCallTimeout") && timeouts.call_maximum < timeouts.call {
        let text = "is shorter than the time for a call without progress; both are the longer one now";
        at.warn("maxCallTimeout", text);
    }
    timeouts.call_maximum = timeouts.call_maximum.max(timeouts.call);
    timeouts
}

/// Fields that only entries of Gemini CLI have, whose `timeout` is in milliseconds.
const GEMINI: [&str; 4] = ["httpUrl", "trust", "includeTools", "excludeTools"];

/// The time-out as other clients have it: `timeout` in seconds, in milliseconds if the entry is one of Gemini CLI.
fn client_timeout(at: &mut Fields<'_>) -> Option<Duration> {
    let about = "How many seconds a call may take without a sign of life.";
    let timeout = at.item("timeout", about, || json!({"type": "number", "minimum": 1}));
    let millis = at.number(
        "timeoutInMillis",
        "The same as `timeout`, in milliseconds.",
        Unit::One,
        1..=3_600_000,
        None,
    );
    if let Some(millis) = millis {
        return Some(Duration::from_millis(millis));
    }
    let item = timeout?;
    let is_gemini = GEMINI.iter().any(|name| at.has(name));
    match item.value.as_f64() {
        Some(seconds) if (1.0..=3_600.0).contains(&seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Some(millis) if is_gemini && (1.0..=3_600_000.0).contains(&millis) => {
            item.warn("is taken as milliseconds, as Gemini CLI has it");
            Duration::try_from_secs_f64(millis / 1_000.0).ok()
        }
        _ => item.expected("a number of seconds from 1 to 3600; for milliseconds use \"timeoutInMillis\""),
    }
}

fn restart(policy: &mut RestartPolicy, at: &mut Fields<'_>) {
    at.set("first", "The first pause; each further one is twice as long.", &mut policy.first);
    at.set("longest", "The longest pause.", &mut policy.longest);
    policy.longest = policy.longest.max(policy.first);
    let about = "After so many failures in a row the server counts as crashing.";
    at.count("attempts", about, 1..=1_000, &mut policy.attempts);
    let about = "How often to ask a legacy stdio server whether it is alive.";
    at.set("pingEvery", about, &mut policy.ping_every);
    at.set("pingTimeout", "How long to wait for that answer.", &mut policy.ping_timeout);
    let about = "After so many missing answers the server is restarted.";
    at.count("pingFailures", about, 1..=1_000, &mut policy.ping_failures);
}

fn limits(limits: &mut Limits, at: &mut Fields<'_>) {
    at.bytes("messageBytes", "Bytes of one message.", ANY_SIZE, &mut limits.message_bytes);
    at.count("inFlight", "Calls at the same time.", 1..=1_000_000, &mut limits.in_flight);
    at.bytes("stderrBytes", "Bytes of standard error that are kept.", ANY_SIZE, &mut limits.stderr_bytes);
    at.count("pages", "Pages of one listing.", 1..=1_000_000, &mut limits.pages);
    at.count("entries", "Entries of one listing.", 1..=10_000_000, &mut limits.entries);
    let about = "Bytes of one listing, all pages together.";
    at.bytes("listingBytes", about, ANY_SIZE, &mut limits.listing_bytes);
}

fn prefix(name: &str, at: &mut Fields<'_>) -> Option<String> {
    let about = "Stands before the names of its tools always, as `prefix__tool`; true for the server's name.";
    let item = at.item("prefix", about, || any_of(&[String::schema(), bool::schema()]))?;
    match item.value.as_bool() {
        Some(always) => always.then(|| name.to_owned()),
        None => item.read().flatten(),
    }
}

fn fallback(name: &str, at: &mut Fields<'_>) -> (Option<Fallback>, FallbackOn) {
    let about =
        "The server or the command that takes over when this one cannot be reached or does not answer.";
    let mut on = FallbackOn::default();
    let mut fallback = None;
    let inner = |at: &mut Fields<'_>| {
        let mut server: Option<String> = None;
        at.set("server", "The other server.", &mut server);
        let about = "Instead of `server`: a program that speaks MCP on its standard streams and is started when it is needed.";
        let program = at.read_if(server.is_none(), |at| Program::read(at, about));
        on = fallback_on(at);
        match (server, at.has("command")) {
            (Some(_), true) => at.error("command", "has \"server\" beside it; keep one of them"),
            (None, true) => {
                let endpoint = stdio(&format!("Server \"{name}\""), at, program, Container::default());
                fallback = endpoint.map(Fallback::Command);
            }
            (None, false) => {
                at.error("server", "must name the other server, or \"command\" a program to start");
            }
            (Some(server), false) => fallback = Some(Fallback::Server(UpstreamId::new(&server))),
        }
    };
    if let Some(item) = at.object_or("fallback", about, Some(String::schema()), inner) {
        let server: Option<String> = item.read().flatten();
        fallback = server.map(|server| Fallback::Server(UpstreamId::new(&server)));
    }
    if matches!(&fallback, Some(Fallback::Server(server)) if server.as_str() == name) {
        at.error("fallback", "must be another server");
        fallback = None;
    }
    (fallback, on)
}

fn fallback_on(at: &mut Fields<'_>) -> FallbackOn {
    let about = "When: `unreachable` (or `connect`), `timeout`, `lost`; all of them if absent.";
    let words: Option<Vec<String>> = at.item("on", about, Vec::<String>::schema).and_then(|item| item.read());
    let Some(words) = words else { return FallbackOn::default() };
    let has = |word: &str| words.iter().any(|given| given == word);
    if words.iter().any(|word| !["unreachable", "connect", "timeout", "lost"].contains(&word.as_str())) {
        at.error("on", "must be a list of \"unreachable\" (or \"connect\"), \"timeout\" and \"lost\"");
    }
    FallbackOn {
        unreachable: has("unreachable") || has("connect"),
        timeout: has("timeout"),
        lost: has("lost"),
    }
}

/// The schema of an entry.
pub(crate) fn server_schema() -> Value {
    let mut schema = describe(|at| read_server("", at));
    schema["if"] = json!({"anyOf": GEMINI.map(|name| json!({"required": [name]}))});
    schema["else"] = json!({"properties": {"timeout": {"maximum": 3_600}}});
    schema
}

/// The schema of a block of servers.
pub(crate) fn servers_schema() -> Value {
    json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/server"}})
}
