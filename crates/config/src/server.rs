//! One entry of the servers.

use std::collections::BTreeMap;
use std::time::Duration;

use gateway_notation::pattern::any_matches;

use crate::environment::Environment;
use crate::fields::{self, is_disabled, warn_of_unknown};
use crate::reader::Reader;
use crate::spec::{
    ConnectMode, Endpoint, Fallback, FallbackOn, HttpMode, Limits, ProtocolChoice, RestartPolicy, Timeouts,
    UpstreamId, UpstreamSpec,
};
use crate::tools::tool_rules;
use crate::workspace::workspace;
use crate::{dotenv, unsafe_env};

/// Reads an entry. Nothing, if it has no usable endpoint; the reason is noted then.
pub(crate) fn read_server(
    name: &str,
    reader: &Reader<'_>,
    environment: &Environment<'_>,
) -> Option<UpstreamSpec> {
    warn_of_unknown(reader, fields::SERVER, fields::IGNORED);
    let endpoint = endpoint(name, reader, environment);
    // Everything else is read also where the endpoint is wrong, so that all errors are reported.
    let path = |text: String| environment.path(&text);
    let mut spec = UpstreamSpec::new(name, Endpoint::Demo);
    let protocols = [
        ("auto", ProtocolChoice::Auto),
        ("modern", ProtocolChoice::Modern),
        ("legacy", ProtocolChoice::Legacy),
    ];
    spec.protocol = reader.choice("protocol", &protocols).unwrap_or_default();
    spec.connect = reader
        .choice("connect", &[("eager", ConnectMode::Eager), ("lazy", ConnectMode::Lazy)])
        .unwrap_or_default();
    spec.required = reader.flag("required").unwrap_or(false);
    spec.disabled = is_disabled(reader);
    for name in ["disabled", "enabled", "isActive"] {
        // Only for the note, where it is no flag.
        let _ = reader.flag(name);
    }
    spec.timeouts = timeouts(reader);
    spec.idle_stop = time_or_false(reader, "idleStop", None);
    spec.restart = restart(reader);
    spec.limits = limits(reader);
    spec.tools = tool_rules(reader);
    spec.prefix = prefix(name, reader);
    spec.log_path = reader.filled_text("logPath").map(path);
    (spec.fallback, spec.fallback_on) = fallback(name, reader, environment);
    spec.watch_paths = reader.texts("watchPaths").unwrap_or_default().into_iter().map(path).collect();
    spec.endpoint = endpoint?;
    Some(spec)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http(HttpMode),
    Demo,
    Workspace,
}

fn endpoint(name: &str, reader: &Reader<'_>, environment: &Environment<'_>) -> Option<Endpoint> {
    let refuse = |field: &str, text: &str| -> Option<Endpoint> {
        reader.error(field, &format!("Server \"{name}\": {text}"));
        None
    };
    let url_field = reader.first_of(&["url", "serverUrl", "httpUrl"]);
    let command_field = reader.first_of(&["command", "image", "docker"]);
    let transport = transport(name, reader, url_field)?;
    if let (Some(command), Some(url)) = (command_field, url_field) {
        let text = format!(
            "has both \"{command}\" and \"{url}\". Keep \"{command}\" if the gateway shall start the server, \
             or \"{url}\" if it is running already"
        );
        return refuse(url, &text);
    }
    match transport {
        Transport::Stdio => {
            let Some(process) = process(reader) else {
                return refuse("", "stdio transport requires \"command\" field");
            };
            let env = variables(&format!("Server \"{name}\""), reader, environment, process.env);
            let cwd = reader.filled_text("cwd").map(|text| environment.path(&text));
            let command = match process.command.strip_prefix("~/") {
                Some(_) => environment.path(&process.command).display().to_string(),
                None => process.command,
            };
            let mut args = process.before_env;
            if process.passes_env_on {
                // Only names: docker takes the values from its own environment, and no list of processes shows them.
                args.extend(env.keys().flat_map(|name| ["-e".to_owned(), name.clone()]));
            }
            args.extend(process.after_env);
            Some(Endpoint::Stdio { command, args, env, cwd })
        }
        Transport::Http(mode) => {
            let Some(url) = url_field.and_then(|field| reader.filled_text(field)) else {
                return refuse("", "http transport requires \"url\" field");
            };
            let field = url_field.unwrap_or("url");
            let parsed: Option<http::Uri> = url.parse().ok();
            let is_http = parsed.is_some_and(|uri| {
                matches!(uri.scheme_str(), Some("http" | "https"))
                    && uri.host().is_some_and(|host| !host.is_empty())
            });
            if !is_http {
                return refuse(field, &format!("\"{field}\" must be an address with http:// or https://"));
            }
            Some(Endpoint::Http { url, headers: headers(reader), mode })
        }
        Transport::Demo => Some(Endpoint::Demo),
        Transport::Workspace => workspace(name, reader, environment).map(Endpoint::Workspace),
    }
}

fn transport(name: &str, reader: &Reader<'_>, url_field: Option<&str>) -> Option<Transport> {
    let Some(field) = reader.first_of(&["transport", "type", "transportType"]) else {
        return Some(match url_field {
            Some("httpUrl") => Transport::Http(HttpMode::Streamable),
            Some(_) => Transport::Http(HttpMode::Auto),
            None => Transport::Stdio,
        });
    };
    let word = reader.text(field)?;
    Some(match word.as_str() {
        "stdio" | "local" => Transport::Stdio,
        "http" | "remote" => Transport::Http(HttpMode::Auto),
        "streamable-http" | "streamableHttp" | "streamable_http" => Transport::Http(HttpMode::Streamable),
        "sse" => {
            reader.warn(
                field,
                &format!(
                    "Server \"{name}\": the sse transport is deprecated; use \"http\" if the server can"
                ),
            );
            Transport::Http(HttpMode::Sse)
        }
        "builtin" | "demo" => Transport::Demo,
        "workspace" => Transport::Workspace,
        other => {
            let text = format!(
                "Server \"{name}\": invalid transport type \"{other}\". Must be \"stdio\" or \"http\". \
                 Also accepted: \"streamable-http\", \"sse\", \"builtin\", \"workspace\""
            );
            reader.error(field, &text);
            return None;
        }
    })
}

/// What to start.
struct Process {
    command: String,
    before_env: Vec<String>,
    after_env: Vec<String>,
    /// Whether the names of the variables are given on the command line.
    passes_env_on: bool,
    /// Variables that stand inside `command`.
    env: BTreeMap<String, String>,
}

fn process(reader: &Reader<'_>) -> Option<Process> {
    let args = reader.texts("args").unwrap_or_default();
    if let Some(container) = container(reader, &args) {
        return Some(container);
    }
    let (mut words, env) = match reader.get("command")? {
        serde_json::Value::Object(_) => {
            let inner = reader.object("command")?;
            warn_of_unknown(&inner, fields::ZED_COMMAND, &[]);
            let words = inner.filled_text("path").into_iter().chain(inner.texts("args").unwrap_or_default());
            (words.collect(), inner.text_map("env").unwrap_or_default())
        }
        _ => (reader.texts("command")?, BTreeMap::new()),
    };
    words.extend(args);
    let mut words = words.into_iter();
    let command = words.next().filter(|command| !command.trim().is_empty())?;
    Some(Process { command, before_env: words.collect(), after_env: Vec::new(), passes_env_on: false, env })
}

fn container(reader: &Reader<'_>, args: &[String]) -> Option<Process> {
    if reader.has("command") {
        return None;
    }
    let inner = reader.get("docker").filter(|value| value.is_object()).and_then(|_| reader.object("docker"));
    if let Some(inner) = &inner {
        warn_of_unknown(inner, fields::DOCKER, &[]);
    }
    let of_inner = |name: &str| inner.as_ref().and_then(|inner| inner.texts(name)).unwrap_or_default();
    let image = match &inner {
        Some(inner) => inner.filled_text("image"),
        None => reader.filled_text(reader.first_of(&["image", "docker"])?),
    }?;
    let command =
        inner.as_ref().and_then(|inner| inner.filled_text("command")).unwrap_or_else(|| "docker".to_owned());
    let before_env =
        ["run", "--rm", "-i"].map(str::to_owned).into_iter().chain(of_inner("options")).collect();
    let after_env = std::iter::once(image).chain(of_inner("args")).chain(args.iter().cloned()).collect();
    Some(Process { command, before_env, after_env, passes_env_on: true, env: BTreeMap::new() })
}

pub(crate) fn variables(
    owner: &str,
    reader: &Reader<'_>,
    environment: &Environment<'_>,
    mut env: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    if let Some(file) = reader.filled_text("envFile") {
        match environment.read(&environment.path(&file)) {
            Ok(text) => env.extend(dotenv::parse(&text)),
            Err(error) => reader.error("envFile", &format!("cannot be read: {error}")),
        }
    }
    env.extend(reader.text_map("environment").unwrap_or_default());
    env.extend(reader.text_map("env").unwrap_or_default());
    let allowed = reader.texts("allowUnsafeEnv").unwrap_or_default();
    for variable in env.keys() {
        if variable.is_empty() || variable.contains(['=', '\0']) {
            reader.error_within("env", variable, "is no name of a variable");
        } else if let Some(why) = unsafe_env::refused(variable).filter(|_| !any_matches(&allowed, variable)) {
            let text = format!(
                "{owner}: variable {variable} is refused: {why}. \
                 If you mean it, name it in \"allowUnsafeEnv\""
            );
            reader.error_within("env", variable, &text);
        }
    }
    env
}

pub(crate) fn headers(reader: &Reader<'_>) -> BTreeMap<String, String> {
    let headers = reader.text_map("headers").unwrap_or_default();
    for (name, value) in &headers {
        if name.parse::<http::HeaderName>().is_err() {
            reader.error_within("headers", name, "is no name of a header");
        } else if http::HeaderValue::from_str(value).is_err() {
            reader.error_within("headers", name, "has a value that no header can have");
        }
    }
    headers
}

fn timeouts(reader: &Reader<'_>) -> Timeouts {
    let mut timeouts = Timeouts::default();
    let set = |name: &str, place: &mut Duration| {
        if let Some(time) = reader.duration(name) {
            *place = time;
        }
    };
    set("probeTimeout", &mut timeouts.probe);
    set("connectTimeout", &mut timeouts.connect);
    set("listTimeout", &mut timeouts.list);
    set("maxCallTimeout", &mut timeouts.call_maximum);
    set("closeTimeout", &mut timeouts.close);
    if let Some(time) = client_timeout(reader) {
        timeouts.call = time;
    }
    set("callTimeout", &mut timeouts.call);
    timeouts.per_tool = reader.map_of("toolTimeouts", Reader::duration).unwrap_or_default();
    if !reader.has("maxCallTimeout") {
        timeouts.call_maximum = timeouts.call_maximum.max(timeouts.call);
    } else if timeouts.call_maximum < timeouts.call {
        reader.warn(
            "maxCallTimeout",
            "is shorter than the time for a call without progress; both are the longer one now",
        );
        timeouts.call_maximum = timeouts.call;
    }
    timeouts
}

/// The time-out as other clients have it: `timeout` in seconds, in milliseconds where the entry is one of Gemini CLI.
fn client_timeout(reader: &Reader<'_>) -> Option<Duration> {
    if let Some(millis) = reader.whole("timeoutInMillis", 1, 3_600_000) {
        return Some(Duration::from_millis(millis));
    }
    let number = reader.get("timeout")?.as_f64();
    let is_gemini = reader.first_of(&["httpUrl", "trust", "includeTools", "excludeTools"]).is_some();
    match number {
        Some(seconds) if (1.0..=3_600.0).contains(&seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Some(millis) if is_gemini && (1.0..=3_600_000.0).contains(&millis) => {
            reader.warn("timeout", "is taken as milliseconds, as Gemini CLI has it");
            Duration::try_from_secs_f64(millis / 1_000.0).ok()
        }
        _ => {
            reader.error(
                "timeout",
                "must be a number of seconds from 1 to 3600; for milliseconds use \"timeoutInMillis\"",
            );
            None
        }
    }
}

/// A time, or `false` for never; `otherwise` where nothing is configured.
fn time_or_false(reader: &Reader<'_>, name: &str, otherwise: Option<Duration>) -> Option<Duration> {
    match reader.get(name) {
        Some(serde_json::Value::Bool(false)) => None,
        Some(_) => reader.duration(name),
        None => otherwise,
    }
}

fn restart(reader: &Reader<'_>) -> RestartPolicy {
    let mut policy = RestartPolicy::default();
    let Some(reader) = reader.object("restart") else { return policy };
    warn_of_unknown(&reader, fields::RESTART, &[]);
    let count = |name: &str| reader.whole(name, 1, 1_000).and_then(|count| u32::try_from(count).ok());
    policy.first = reader.duration("first").unwrap_or(policy.first);
    policy.longest = reader.duration("longest").unwrap_or(policy.longest).max(policy.first);
    policy.attempts = count("attempts").unwrap_or(policy.attempts);
    policy.ping_every = time_or_false(&reader, "pingEvery", policy.ping_every);
    policy.ping_timeout = reader.duration("pingTimeout").unwrap_or(policy.ping_timeout);
    policy.ping_failures = count("pingFailures").unwrap_or(policy.ping_failures);
    policy
}

fn limits(reader: &Reader<'_>) -> Limits {
    let mut limits = Limits::default();
    let Some(reader) = reader.object("limits") else { return limits };
    warn_of_unknown(&reader, fields::LIMITS, &[]);
    let count =
        |name: &str, most: u64| reader.whole(name, 1, most).and_then(|count| usize::try_from(count).ok());
    limits.message_bytes = reader.bytes("messageBytes").unwrap_or(limits.message_bytes);
    limits.in_flight = count("inFlight", 1_000_000).unwrap_or(limits.in_flight);
    limits.stderr_bytes = reader.bytes("stderrBytes").unwrap_or(limits.stderr_bytes);
    limits.pages = count("pages", 1_000_000).unwrap_or(limits.pages);
    limits.entries = count("entries", 10_000_000).unwrap_or(limits.entries);
    limits.listing_bytes = reader.bytes("listingBytes").unwrap_or(limits.listing_bytes);
    limits
}

fn prefix(name: &str, reader: &Reader<'_>) -> Option<String> {
    match reader.get("prefix")? {
        serde_json::Value::Bool(always) => always.then(|| name.to_owned()),
        _ => reader.filled_text("prefix"),
    }
}

fn fallback(
    name: &str,
    reader: &Reader<'_>,
    environment: &Environment<'_>,
) -> (Option<Fallback>, FallbackOn) {
    let mut on = FallbackOn::default();
    let fallback = match reader.get("fallback") {
        Some(serde_json::Value::Object(_)) => {
            let Some(inner) = reader.object("fallback") else { return (None, on) };
            warn_of_unknown(&inner, fields::FALLBACK, &[]);
            if let Some(words) = inner.texts("on") {
                on = fallback_on(&inner, &words);
            }
            match (inner.has("server"), inner.has("command")) {
                (true, true) => {
                    inner.error("command", "has \"server\" beside it; keep one of them");
                    return (None, on);
                }
                (false, true) => endpoint(name, &inner, environment).map(Fallback::Command),
                (_, false) => {
                    let server = inner.filled_text("server");
                    if server.is_none() {
                        inner
                            .error("server", "must name the other server, or \"command\" a program to start");
                    }
                    server.map(|server| Fallback::Server(UpstreamId::new(&server)))
                }
            }
        }
        Some(_) => reader.filled_text("fallback").map(|server| Fallback::Server(UpstreamId::new(&server))),
        None => None,
    };
    if matches!(&fallback, Some(Fallback::Server(server)) if server.as_str() == name) {
        reader.error("fallback", "must be another server");
        return (None, on);
    }
    (fallback, on)
}

fn fallback_on(reader: &Reader<'_>, words: &[String]) -> FallbackOn {
    let mut on = FallbackOn { unreachable: false, timeout: false, lost: false };
    for word in words {
        match word.as_str() {
            "unreachable" | "connect" => on.unreachable = true,
            "timeout" => on.timeout = true,
            "lost" => on.lost = true,
            _ => {
                let text = "must be a list of \"unreachable\" (or \"connect\"), \"timeout\" and \"lost\"";
                reader.error("on", text);
                break;
            }
        }
    }
    on
}
