//! Reading where to listen, and who may call.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use gateway_protocol::printable;
use serde_json::Value;

use super::ServiceConfig;
use super::section::Section;
use crate::environment::Environment;
use crate::expand::expand;
use crate::key::{Secret, is_broken_hash, name_of_key, name_problem};

/// Where to listen: `listen`, or `host` and `port`; the variables `HOST` and `PORT` win.
pub(super) fn listen(top: &Section<'_>, environment: &Environment<'_>) -> SocketAddr {
    let mut address = ServiceConfig::default().listen;
    if let Some(text) = top.text("listen") {
        match parse_listen(text, address) {
            Some(listen) => address = listen,
            None => top.error("listen", "must be `address:port`, such as `127.0.0.1:8787` or `[::1]:8787`"),
        }
    }
    if let Some(text) = top.text("host") {
        match parse_host(text) {
            Some(host) => address.set_ip(host),
            None => top.error("host", "must be an address, such as `127.0.0.1`, or `localhost`"),
        }
    }
    if let Some(port) = top.whole("port", 0..=65_535).and_then(|port| u16::try_from(port).ok()) {
        address.set_port(port);
    }
    if let Some(text) = environment.non_empty("HOST") {
        match parse_host(&text) {
            Some(host) => address.set_ip(host),
            // Shells set this variable to the machine's name.
            None => top.notes.variable("HOST", "is no address, so it is not used", false),
        }
    }
    if let Some(text) = environment.non_empty("PORT") {
        match text.trim().parse() {
            Ok(port) => address.set_port(port),
            Err(_) => top.notes.variable("PORT", "must be a number from 0 to 65535", true),
        }
    }
    address
}

fn parse_listen(text: &str, usual: SocketAddr) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Some(host) = parse_host(text) {
        return Some(SocketAddr::new(host, usual.port()));
    }
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let host = if host.is_empty() { usual.ip() } else { parse_host(host)? };
    Some(SocketAddr::new(host, port))
}

fn parse_host(text: &str) -> Option<IpAddr> {
    match text {
        "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        "*" => Some(Ipv4Addr::UNSPECIFIED.into()),
        other => other.trim_start_matches('[').trim_end_matches(']').parse().ok(),
    }
}

/// Fewer characters are guessed too soon.
const KEY_LENGTH: usize = 16;

const BROKEN_HASH: &str = "must have 64 hexadecimal digits after `sha256:`";

/// Keys by the name of their owner. Those of a list and of the variable have none, and are named by their hash: another key
/// at the same place is another owner.
pub(super) fn keys(
    top: &Section<'_>,
    field: &str,
    variable: &str,
    environment: &Environment<'_>,
) -> BTreeMap<String, Secret> {
    let mut keys = BTreeMap::new();
    let mut add = |owner: Option<&str>, value: &Value, pointer: &str| {
        if let Some(problem) = owner.and_then(name_problem) {
            return top.notes.error(pointer, problem);
        }
        let Some(text) = value.as_str() else { return top.notes.error(pointer, "must be a text") };
        match expand(text, environment) {
            Ok(expanded) if expanded.text.is_empty() => top.notes.error(pointer, "must not be empty"),
            Ok(expanded) if is_broken_hash(&expanded.text) => top.notes.error(pointer, BROKEN_HASH),
            Ok(expanded) => {
                if expanded.text.len() < KEY_LENGTH {
                    top.notes
                        .warn(pointer, format!("has fewer than {KEY_LENGTH} characters and may be guessed"));
                }
                let owner = owner.map_or_else(|| name_of_key(&expanded.text), str::to_owned);
                keys.insert(owner, Secret::new(expanded.text));
            }
            Err(error) => top.notes.error(pointer, error.to_string()),
        }
    };
    match top.get(field) {
        None => {}
        Some(Value::Object(members)) => {
            let section = Section { notes: top.notes, pointer: top.at(field), members };
            for (owner, value) in members {
                add(Some(owner), value, &section.at(owner));
            }
        }
        Some(Value::Array(items)) => {
            for (place, value) in items.iter().enumerate() {
                add(None, value, &format!("{}/{place}", top.at(field)));
            }
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            top.error(field, "must be an object of keys by the name of their owner, or a list of keys");
        }
    }
    if let Some(key) = environment.non_empty(variable) {
        if is_broken_hash(&key) {
            top.notes.variable(variable, BROKEN_HASH, true);
        }
        keys.insert(name_of_key(&key), Secret::new(key));
    }
    keys
}

/// `readers` of the log: owners of API keys who see the calls of all.
pub(super) fn readers(log: &Section<'_>, keys: &BTreeMap<String, Secret>) -> Vec<String> {
    let readers = log.texts("readers").unwrap_or_default();
    for name in readers.iter().filter(|name| !keys.contains_key(*name)) {
        let message = format!("`{}` is no owner of a key in `apiKeys`", printable(name));
        log.notes.warn(&log.at("readers"), message);
    }
    readers
}

/// `allowedOrigins`, or `cors` as a list or as `{origins}`.
pub(super) fn origins(top: &Section<'_>) -> Vec<String> {
    let mut origins = top.texts("allowedOrigins").unwrap_or_default();
    match top.get("cors") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Object(_)) => {
            let Some(section) = top.object("cors") else { return origins };
            section.warn_of_unknown(&["origins"]);
            origins.extend(section.texts("origins").unwrap_or_default());
        }
        Some(Value::Bool(true)) => {
            top.error("cors", "must list the origins; `[\"*\"]` allows every page to read");
        }
        Some(_) => origins.extend(top.texts("cors").unwrap_or_default()),
    }
    for origin in &origins {
        let is_origin = origin == "*"
            || origin.split_once("://").is_some_and(|(scheme, rest)| {
                !scheme.is_empty() && !rest.is_empty() && !rest.trim_end_matches('/').contains('/')
            });
        if !is_origin {
            top.notes
                .error("/allowedOrigins", format!("`{origin}` must look like `https://app.example.org`"));
        }
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_several_forms() {
        let usual: SocketAddr = "127.0.0.1:8787".parse().unwrap();
        for (text, expected) in [
            ("127.0.0.1:1", Some("127.0.0.1:1")),
            ("[::1]:2", Some("[::1]:2")),
            ("::1", Some("[::1]:8787")),
            ("localhost:3", Some("127.0.0.1:3")),
            (":4", Some("127.0.0.1:4")),
            ("*:5", Some("0.0.0.0:5")),
            ("localhost", Some("127.0.0.1:8787")),
            ("host.example:1", None),
            ("1.2.3.4:99999", None),
        ] {
            assert_eq!(parse_listen(text, usual), expected.map(|address| address.parse().unwrap()), "{text}");
        }
    }
}
