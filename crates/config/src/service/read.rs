//! Reading the settings from the configuration file and from variables. Variables win.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::access::{keys, listen, origins, readers};
use super::approval::read_approval;
use super::section::{Notes, Section, SettingProblem, SettingProblems};
use super::{Approver, CacheConfig, McpConfig, RateLimit, SearchMode, ServiceConfig};
use crate::environment::Environment;
use crate::file::{ConfigSource, GatewayConfig};
use crate::jsonc::Document;
use crate::level::LogLevel;

/// The members at the top of the file that are read here.
const KNOWN: &[&str] = &[
    "listen",
    "host",
    "port",
    "apiKeys",
    "adminKeys",
    "allowedHosts",
    "allowedOrigins",
    "cors",
    "limits",
    "timeouts",
    "rateLimit",
    "drain",
    "defaultServer",
    "validate",
    "cache",
    "approval",
    "mcp",
    "log",
    "logLevel",
    "dialects",
    "dataDirectory",
];

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

/// Settings that were read, and what should be looked at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The settings.
    pub service: ServiceConfig,
    /// What should be looked at.
    pub warnings: Vec<SettingProblem>,
}

impl ServiceConfig {
    /// Reads the settings of the service from what the parser of the configuration file left over, and from variables.
    pub fn read(config: &GatewayConfig, environment: &Environment<'_>) -> Result<Settings, SettingProblems> {
        let (file, source) = match &config.source {
            ConfigSource::File(path) => (path.display().to_string(), "file"),
            ConfigSource::Environment => ("environment".to_owned(), "env"),
            ConfigSource::Nothing => ("environment".to_owned(), "none"),
        };
        let folder = match &config.source {
            ConfigSource::File(path) => path.parent().unwrap_or(Path::new("")),
            ConfigSource::Environment | ConfigSource::Nothing => Path::new(""),
        };
        let mut settings = read(&config.rest, config.document.as_ref(), &file, folder, environment)?;
        settings.service.source = source;
        Ok(settings)
    }
}

/// Reads the members of the file. Paths are relative to `folder`.
fn read(
    members: &Map<String, Value>,
    document: Option<&Document>,
    file: &str,
    folder: &Path,
    environment: &Environment<'_>,
) -> Result<Settings, SettingProblems> {
    let notes = Notes { file, document, errors: RefCell::default(), warnings: RefCell::default() };
    let top = Section { notes: &notes, pointer: String::new(), members };
    top.warn_of_unknown(KNOWN);
    let paths = Paths { folder, environment };
    let mut config = ServiceConfig { listen: listen(&top, environment), ..ServiceConfig::default() };
    config.keys = keys(&top, "apiKeys", "MCP_GATEWAY_API_KEY", environment);
    config.admin_keys = keys(&top, "adminKeys", "MCP_GATEWAY_ADMIN_KEY", environment);
    config.allowed_hosts = top.texts("allowedHosts").unwrap_or_default();
    config.allowed_origins = origins(&top);
    read_limits(&mut config, &top);
    config.rate_limit = top.object("rateLimit").and_then(|section| rate_limit(&section));
    if let Some(drain) = top.time("drain", Duration::ZERO..=DAY) {
        config.drain = drain;
    }
    config.default_server = top.text("defaultServer").map(str::to_owned);
    config.validate = top.flag("validate").unwrap_or(config.validate);
    config.dialect_files =
        top.texts("dialects").unwrap_or_default().iter().map(|path| paths.resolve(path)).collect();
    config.data = environment
        .non_empty("MCP_GATEWAY_DATA")
        .map(PathBuf::from)
        .or_else(|| top.text("dataDirectory").map(|path| paths.resolve(path)))
        .or_else(|| paths.data());
    if let Some(section) = top.object("cache") {
        read_cache(&mut config.cache, &section);
    }
    if let Some(section) = top.object("approval") {
        read_approval(&mut config.approval, &section);
        if config.approval.approver == Approver::Admin && config.admin_keys.is_empty() {
            notes.warn(&section.at("approver"), "nobody can approve a call: no admin key is configured");
        }
    }
    if let Some(section) = top.object("mcp") {
        read_mcp(&mut config.mcp, &section);
    }
    read_log(&mut config, &top, &paths);
    read_level(&mut config, &top, environment);
    let errors = notes.errors.into_inner();
    if !errors.is_empty() {
        return Err(SettingProblems(errors));
    }
    Ok(Settings { service: config, warnings: notes.warnings.into_inner() })
}

fn read_limits(config: &mut ServiceConfig, top: &Section<'_>) {
    if let Some(limits) = top.object("limits") {
        limits.warn_of_unknown(&[
            "bodyBytes",
            "bodiesBytes",
            "concurrentRequests",
            "concurrentCallsPerTurn",
            "logStreams",
            "resultBytes",
        ]);
        if let Some(bytes) = limits.bytes("bodyBytes", 1_024..=1 << 30) {
            config.body_bytes = usize::try_from(bytes).unwrap_or(config.body_bytes);
        }
        if let Some(bytes) = limits.bytes("bodiesBytes", 1 << 20..=1 << 40) {
            config.bodies_bytes = usize::try_from(bytes).ok();
        }
        if let Some(bytes) = limits.bytes("resultBytes", 1 << 20..=1 << 40) {
            config.result_bytes = usize::try_from(bytes).unwrap_or(config.result_bytes);
        }
        let set = |place: &mut usize, name: &str, most: u64| {
            if let Some(count) = limits.count(name, 1..=most) {
                *place = count;
            }
        };
        set(&mut config.concurrent_requests, "concurrentRequests", 1_000_000);
        set(&mut config.concurrent_calls_per_turn, "concurrentCallsPerTurn", 1_024);
        set(&mut config.log_streams, "logStreams", 10_000);
    }
    if let Some(timeouts) = top.object("timeouts") {
        timeouts.warn_of_unknown(&["read", "write", "list", "heartbeat"]);
        let set = |place: &mut Duration, name: &str| {
            if let Some(time) = timeouts.time(name, Duration::from_millis(10)..=DAY) {
                *place = time;
            }
        };
        set(&mut config.read_timeout, "read");
        set(&mut config.write_timeout, "write");
        set(&mut config.list_wait, "list");
        set(&mut config.heartbeat, "heartbeat");
    }
}

fn rate_limit(section: &Section<'_>) -> Option<RateLimit> {
    section.warn_of_unknown(&["perSecond", "burst"]);
    let per_second = section.positive("perSecond", 1e6);
    if section.get("perSecond").is_none() {
        section.error("perSecond", "is missing");
    }
    let per_second = per_second?;
    let burst = section.positive("burst", 1e6).unwrap_or(per_second).max(1.0);
    Some(RateLimit { per_second, burst })
}

fn read_cache(config: &mut CacheConfig, section: &Section<'_>) {
    section.warn_of_unknown(&["tools", "maxBytes"]);
    if let Some(bytes) = section.bytes("maxBytes", 1 << 10..=1 << 40) {
        config.bytes = usize::try_from(bytes).unwrap_or(config.bytes);
    }
    let Some(tools) = section.object("tools") else { return };
    for pattern in tools.members.keys() {
        if !pattern.contains('/') && pattern != "*" {
            tools.error(pattern, "must name a server and a tool, such as `docs/search` or `docs/*`");
        } else if tools.get(pattern) == Some(&Value::Bool(false)) {
            config.tools.push((pattern.clone(), Duration::ZERO));
        } else if let Some(time) = tools.time(pattern, Duration::ZERO..=DAY) {
            config.tools.push((pattern.clone(), time));
        }
    }
}

fn read_mcp(config: &mut McpConfig, section: &Section<'_>) {
    section.warn_of_unknown(&[
        "pageSize",
        "sessions",
        "sessionIdle",
        "sessionsPerCaller",
        "inputExpiry",
        "parkedCalls",
        "lineBytes",
        "search",
    ]);
    let set = |place: &mut usize, name: &str, most: u64| {
        if let Some(count) = section.count(name, 1..=most) {
            *place = count;
        }
    };
    set(&mut config.page, "pageSize", 1_000_000);
    set(&mut config.sessions, "sessions", 10_000_000);
    set(&mut config.parked_calls, "parkedCalls", 1_000_000);
    if let Some(share) = section.count("sessionsPerCaller", 1..=10_000_000) {
        config.sessions_per_caller = Some(share);
    }
    if let Some(time) = section.time("sessionIdle", SECOND..=DAY) {
        config.session_idle = time;
    }
    if let Some(time) = section.time("inputExpiry", SECOND..=DAY) {
        config.input_expiry = time;
    }
    match section.get("search") {
        None => {}
        Some(Value::Bool(is_on)) => config.search = if *is_on { SearchMode::On } else { SearchMode::Off },
        Some(Value::String(word)) if word == "on" => config.search = SearchMode::On,
        Some(Value::String(word)) if word == "off" => config.search = SearchMode::Off,
        Some(Value::Number(number)) if number.is_u64() => {
            let above = number.as_u64().and_then(|number| usize::try_from(number).ok());
            config.search = SearchMode::Above(above.unwrap_or(usize::MAX));
        }
        Some(_) => section.error("search", "must be \"off\", \"on\" or a number of tools"),
    }
    if let Some(bytes) = section.bytes("lineBytes", 1 << 10..=1 << 30) {
        config.line_bytes = usize::try_from(bytes).unwrap_or(config.line_bytes);
    }
}

fn read_log(config: &mut ServiceConfig, top: &Section<'_>, paths: &Paths<'_>) {
    config.log.directory = config.data.clone();
    if top.get("log") == Some(&Value::Bool(false)) {
        config.log.directory = None;
        return;
    }
    let Some(log) = top.object("log") else { return };
    log.warn_of_unknown(&[
        "directory",
        "path",
        "readers",
        "redact",
        "maxValueBytes",
        "keepDays",
        "keepBytes",
    ]);
    if let Some(path) = log.text("directory").or_else(|| log.text("path")) {
        config.log.directory = Some(paths.resolve(path));
    }
    config.log.readers = readers(&log, &config.keys);
    if log.get("redact").is_some_and(Value::is_object) {
        if let Some(redact) = log.object("redact") {
            redact.warn_of_unknown(&["keys", "paths"]);
            config.log.redact_keys = redact.texts("keys").unwrap_or_default();
            config.log.redact_paths = redact.texts("paths").unwrap_or_default();
        }
    } else {
        let rules = log.texts("redact").unwrap_or_default();
        let (paths, keys) = rules.into_iter().partition(|rule| rule.contains(":/"));
        (config.log.redact_paths, config.log.redact_keys) = (paths, keys);
    }
    if let Some(bytes) = log.bytes("maxValueBytes", 64..=1 << 30) {
        config.log.value_bytes = usize::try_from(bytes).unwrap_or(config.log.value_bytes);
    }
    if let Some(days) = log.positive("keepDays", 36_500.0) {
        config.log.keep = Duration::from_secs_f64(days * DAY.as_secs_f64()).max(SECOND);
    }
    if let Some(bytes) = log.bytes("keepBytes", 1 << 20..=1 << 50) {
        config.log.keep_bytes = bytes;
    }
}

fn read_level(config: &mut ServiceConfig, top: &Section<'_>, environment: &Environment<'_>) {
    if let Some(text) = top.text("logLevel") {
        match text.parse() {
            Ok(level) => config.log_level = Some(level),
            Err(message) => top.error("logLevel", message),
        }
    }
    if let Some(text) = environment.non_empty("LOG_LEVEL") {
        match text.parse::<LogLevel>() {
            Ok(level) => config.log_level = Some(level),
            Err(message) => top.notes.variable("LOG_LEVEL", message, false),
        }
    }
}

/// Where paths lead.
struct Paths<'a> {
    folder: &'a Path,
    environment: &'a Environment<'a>,
}

impl Paths<'_> {
    /// `~` is the home directory; other relative paths start at the file's folder.
    fn resolve(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/").and_then(|rest| Some(self.home()?.join(rest))) {
            Some(path) => path,
            None => self.folder.join(text),
        }
    }

    /// Where programs keep what they must remember.
    fn data(&self) -> Option<PathBuf> {
        let state =
            self.environment.non_empty("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = state
            .or_else(|| self.environment.non_empty("LOCALAPPDATA").map(PathBuf::from))
            .or_else(|| Some(self.home()?.join(".local/state")));
        Some(state?.join("mcp-tool-gateway"))
    }

    fn home(&self) -> Option<PathBuf> {
        self.environment
            .non_empty("HOME")
            .or_else(|| self.environment.non_empty("USERPROFILE"))
            .map(PathBuf::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Secret;

    fn settings(text: &str, variables: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let environment =
            Environment::new(variable, |_| Err(std::io::Error::from(std::io::ErrorKind::NotFound)));
        let document = Document::parse(text).unwrap();
        let members = document.value().as_object().unwrap();
        read(members, Some(&document), "gateway.json", Path::new("/etc/gateway"), &environment)
            .map_err(|problems| problems.0.iter().map(ToString::to_string).collect())
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        let errors = settings(text, &[]).map(|settings| settings.service).unwrap_err();
        assert_eq!(errors, [expected]);
    }

    #[test]
    fn everything_can_be_set() {
        let text = r#"{
            // where
            "listen": "0.0.0.0:9000",
            "apiKeys": {"alice": "${ALICE_KEY}", "bob": "0123456789abcdef"},
            "adminKeys": {"root": "${ALICE_KEY}-admin"},
            "allowedHosts": ["gateway.internal"],
            "cors": ["https://app.example"],
            "limits": {"bodyBytes": "2MB", "bodiesBytes": "20MB", "concurrentRequests": 10, "concurrentCallsPerTurn": 2, "logStreams": 3, "resultBytes": "64MB"},
            "timeouts": {"read": "5s", "write": "6s", "list": 1.5},
            "rateLimit": {"perSecond": 5, "burst": 20},
            "drain": "3s",
            "mcp": {"pageSize": 20, "sessions": 30, "sessionsPerCaller": 9, "sessionIdle": "1m", "inputExpiry": 90, "parkedCalls": 40, "lineBytes": "1MB", "search": 300},
            "cache": {"tools": {"docs/secret": false, "docs/*": "5m"}, "maxBytes": "2MB"},
            "defaultServer": "files",
            "validate": false,
            "log": {"directory": "log", "readers": ["alice"], "redact": ["ssn", "bank/*:/account"], "maxValueBytes": 1024, "keepDays": 7, "keepBytes": "10MB"},
            "dialects": ["mine.toml"],
            "logLevel": "warn",
        }"#;
        let variables = [("ALICE_KEY", "a-long-enough-key"), ("HOME", "/home/me")];
        let Settings { service: config, warnings, .. } = settings(text, &variables).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(config.listen, "0.0.0.0:9000".parse().unwrap());
        assert_eq!(config.keys["alice"], Secret::new("a-long-enough-key"));
        assert_eq!(config.admin_keys["root"], Secret::new("a-long-enough-key-admin"));
        assert_eq!(config.allowed_origins, ["https://app.example"]);
        assert_eq!((config.body_bytes, config.concurrent_requests, config.log_streams), (2 << 20, 10, 3));
        assert_eq!((config.bodies_bytes, config.result_bytes), (Some(20 << 20), 64 << 20));
        assert_eq!(
            (config.read_timeout, config.list_wait),
            (Duration::from_secs(5), Duration::from_millis(1_500))
        );
        assert_eq!(config.rate_limit, Some(RateLimit { per_second: 5.0, burst: 20.0 }));
        let kept = [("docs/secret", Duration::ZERO), ("docs/*", Duration::from_mins(5))];
        let tools = kept.map(|(pattern, time)| (pattern.to_owned(), time)).into();
        assert_eq!(config.cache, CacheConfig { tools, bytes: 2 << 20 });
        let mcp = McpConfig {
            page: 20,
            sessions: 30,
            sessions_per_caller: Some(9),
            session_idle: Duration::from_mins(1),
            input_expiry: Duration::from_secs(90),
            parked_calls: 40,
            line_bytes: 1 << 20,
            search: SearchMode::Above(300),
        };
        assert_eq!(config.mcp, mcp);
        assert_eq!((config.drain, config.validate), (Duration::from_secs(3), false));
        assert_eq!(config.log.directory.as_deref(), Some(Path::new("/etc/gateway/log")));
        assert_eq!(config.log.readers, ["alice"]);
        assert_eq!(
            (&config.log.redact_keys[..], &config.log.redact_paths[..]),
            (&["ssn".to_owned()][..], &["bank/*:/account".to_owned()][..])
        );
        assert_eq!(
            (config.log.value_bytes, config.log.keep, config.log.keep_bytes),
            (1_024, DAY * 7, 10 << 20)
        );
        assert_eq!(config.dialect_files, [Path::new("/etc/gateway/mine.toml")]);
        assert_eq!(config.data.as_deref(), Some(Path::new("/home/me/.local/state/mcp-tool-gateway")));
        assert_eq!(config.log_level, Some(LogLevel::Warn));
        assert!(!format!("{config:?}").contains("a-long-enough-key"), "keys are not shown");
    }

    #[test]
    fn variables_win() {
        let text = r#"{"host": "192.168.1.1", "port": 9000, "logLevel": "warn", "dataDirectory": "~/data"}"#;
        let variables =
            [("HOST", "127.0.0.2"), ("PORT", "0"), ("LOG_LEVEL", "DEBUG"), ("MCP_GATEWAY_DATA", "/var/data")];
        let config = settings(text, &variables).unwrap().service;
        assert_eq!(config.listen, "127.0.0.2:0".parse().unwrap());
        assert_eq!(
            (config.log_level, config.data),
            (Some(LogLevel::Debug), Some(PathBuf::from("/var/data")))
        );
        let settings = settings(text, &[("HOST", "my-laptop"), ("HOME", "/home/me")]).unwrap();
        assert_eq!(settings.service.listen, "192.168.1.1:9000".parse().unwrap());
        assert_eq!(settings.service.data, Some(PathBuf::from("/home/me/data")));
        assert_eq!(settings.warnings[0].to_string(), "environment: HOST: is no address, so it is not used");
    }

    #[test]
    fn nothing_means_the_defaults() {
        let config = settings("{}", &[("XDG_STATE_HOME", "/state")]).unwrap().service;
        assert_eq!(config.listen, "127.0.0.1:8787".parse().unwrap());
        assert_eq!(config.log.directory, Some(PathBuf::from("/state/mcp-tool-gateway")));
        assert!(config.keys.is_empty() && config.rate_limit.is_none() && config.validate);
        assert_eq!(settings("{\"log\": false}", &[]).unwrap().service.log.directory, None);
    }

    #[test]
    fn errors_name_file_line_and_field() {
        check_error("{\n\"port\": 99999}", "gateway.json:2: port: must be a whole number from 0 to 65535");
        check_error(
            "{\"listen\": \"gateway.internal:80\"}",
            "gateway.json:1: listen: must be `address:port`, such as `127.0.0.1:8787` or `[::1]:8787`",
        );
        check_error(
            "{\"limits\": {\n\n\"concurrentRequests\": 0}}",
            "gateway.json:3: limits.concurrentRequests: must be a whole number from 1 to 1000000",
        );
        check_error("{\"apiKeys\": {\"a\": 5}}", "gateway.json:1: apiKeys.a: must be a text");
        check_error(
            "{\"apiKeys\": {\"admin:a\": \"a-long-enough-key\"}}",
            "gateway.json:1: apiKeys.admin:a: the name of an owner must not begin with `admin:`, which tells admins from \
             callers in the log",
        );
        check_error(
            "{\"adminKeys\": {\"a\\u001b[2J\": \"a-long-enough-key\"}}",
            "gateway.json:1: adminKeys.a\\u{1b}[2J: the name of an owner must not have control or invisible characters",
        );
        check_error("{\"apiKeys\": [\"\"]}", "gateway.json:1: apiKeys.0: must not be empty");
        let hash = "must have 64 hexadecimal digits after `sha256:`";
        check_error(
            "{\"adminKeys\": {\"root\": \"sha256:abc\"}}",
            &format!("gateway.json:1: adminKeys.root: {hash}"),
        );
        for digits in ["g".repeat(64), "+f".repeat(32), "0".repeat(63)] {
            check_error(
                &format!("{{\"apiKeys\": [\"sha256:{digits}\"]}}"),
                &format!("gateway.json:1: apiKeys.0: {hash}"),
            );
        }
        let errors = settings("{}", &[("MCP_GATEWAY_API_KEY", "sha256:")]).map(|_| ()).unwrap_err();
        assert_eq!(errors, [format!("environment: MCP_GATEWAY_API_KEY: {hash}")]);
        check_error(
            "{\"cors\": true}",
            "gateway.json:1: cors: must list the origins; `[\"*\"]` allows every page to read",
        );
        check_error(
            "{\"cors\": \"app.example\"}",
            "gateway.json:1: allowedOrigins: `app.example` must look like `https://app.example.org`",
        );
        check_error("{\"rateLimit\": {}}", "gateway.json:1: rateLimit.perSecond: is missing");
        check_error(
            "{\"logLevel\": \"loud\"}",
            "gateway.json:1: logLevel: `loud` is no level; expected debug, info, warn or error",
        );
        check_error(
            "{\"cache\": {\"tools\": {\"search\": 5}}}",
            "gateway.json:1: cache.tools.search: must name a server and a tool, such as `docs/search` or `docs/*`",
        );
        check_error("{\"validate\": \"yes\"}", "gateway.json:1: validate: must be true or false");
    }

    #[test]
    fn keys_without_a_name_are_named_by_their_hash() {
        let names = |text: &str, variables: &[(&str, &str)]| {
            let config = settings(text, variables).unwrap().service;
            let names = |keys: &std::collections::BTreeMap<String, Secret>| {
                keys.keys().cloned().collect::<Vec<String>>()
            };
            (names(&config.keys), names(&config.admin_keys))
        };
        let key = "a-long-enough-key";
        let hash = "sha256:b5681434f49f4f18969301e96a28b295a0e1f62be556c2ed2f902d53a872f6d9";
        let (first, _) = names(&format!(r#"{{"apiKeys": ["{key}"]}}"#), &[]);
        assert!(first[0].len() == 20 && first[0].starts_with("key-"), "{first:?}");
        let variables = [("MCP_GATEWAY_API_KEY", key), ("MCP_GATEWAY_ADMIN_KEY", key)];
        assert_eq!(names("{}", &variables), (first.clone(), first.clone()), "wherever the key comes from");
        let variables = [("MCP_GATEWAY_API_KEY", hash)];
        assert_eq!(names("{}", &variables).0, first, "also as its hash");
        let (second, _) = names(r#"{"apiKeys": ["another-long-key"]}"#, &[]);
        assert_ne!(first, second, "another key at the same index is another owner");
    }

    #[test]
    fn a_missing_variable_of_a_key_is_an_error_without_its_value() {
        let errors = settings("{\"apiKeys\": {\"a\": \"x${NOT_THERE}\"}}", &[]).map(|_| ()).unwrap_err();
        assert!(
            errors[0].starts_with("gateway.json:1: apiKeys.a: ") && errors[0].contains("NOT_THERE"),
            "{errors:?}"
        );
    }

    #[test]
    fn unknown_fields_and_short_keys_are_warned_of() {
        let text = r#"{"lisen": 1, "log": {"folder": "x", "readers": ["nobody"]}, "apiKeys": ["short"], "approval": {"approver": "admin"}}"#;
        let warnings: Vec<String> =
            settings(text, &[]).unwrap().warnings.iter().map(|warning| warning.field.clone()).collect();
        assert_eq!(warnings, ["lisen", "apiKeys.0", "approval.approver", "log.folder", "log.readers"]);
    }
}
