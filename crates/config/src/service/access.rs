//! Reading where to listen, and who may call.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use super::ServiceConfig;
use super::read::{read_texts, texts, texts_schema};
use crate::expand::Source;
use crate::fields::{Fields, Item, Setting as _, Unit, any_of};
use crate::key::{Secret, is_broken_hash, name_of_key, name_problem};
use crate::problem::Problem;

/// Where to listen: `listen`, or `host` and `port`; the variables `HOST` and `PORT` win.
pub(super) fn listen(at: &mut Fields<'_>) -> SocketAddr {
    let (environment, problems) = (at.context.source.environment, at.context.problems);
    let mut address = ServiceConfig::default().listen;
    let about = "Where to listen, as `address:port`.";
    if let Some(item) = at.item("listen", about, String::schema) {
        match item.value.as_str().and_then(|text| parse_listen(text, address)) {
            Some(listen) => address = listen,
            None => item.error("must be `address:port`, such as `127.0.0.1:8787` or `[::1]:8787`"),
        }
    }
    if let Some(item) = at.item("host", "The address to listen on.", String::schema) {
        match item.value.as_str().and_then(parse_host) {
            Some(host) => address.set_ip(host),
            None => item.error("must be an address, such as `127.0.0.1`, or `localhost`"),
        }
    }
    let usual = Some(u64::from(address.port()));
    if let Some(port) =
        at.number("port", "The port to listen on; 0 takes a free one.", Unit::One, 0..=65_535, usual)
    {
        address.set_port(port);
    }
    if let Some(text) = environment.non_empty("HOST") {
        if let Some(host) = parse_host(&text) {
            address.set_ip(host);
        } else {
            // Shells set this variable to the machine's name.
            let problem = Problem::of_variable("HOST", "is no address, so it is not used");
            problems.borrow_mut().warnings.push(problem);
        }
    }
    if let Some(text) = environment.non_empty("PORT") {
        if let Ok(port) = text.trim().parse() {
            address.set_port(port);
        } else {
            let problem = Problem::of_variable("PORT", "must be a number from 0 to 65535");
            problems.borrow_mut().errors.push(problem);
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
/// at the same index is another owner. The names of variables that they are taken from are added to `taken_from`.
pub(super) fn keys(
    at: &mut Fields<'_>,
    field: &'static str,
    about: &str,
    variable: &str,
    taken_from: &mut BTreeSet<String>,
) -> BTreeMap<String, Secret> {
    let mut keys = BTreeMap::new();
    let listed = || json!({"type": "array", "items": {"type": "string"}});
    let schema = || any_of(&[BTreeMap::<String, String>::schema(), listed()]);
    if let Some(item) = at.item(field, about, schema) {
        match item.value {
            Value::Object(_) => {
                keys.extend(item.members().filter_map(|(owner, item)| key(Some(owner), &item, taken_from)));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, key)| item.inner(&index.to_string(), key));
                keys.extend(items.filter_map(|item| key(None, &item, taken_from)));
            }
            _ => item.error("must be an object of keys by the name of their owner, or a list of keys"),
        }
    }
    if let Some(key) = at.context.source.environment.non_empty(variable) {
        if is_broken_hash(&key) {
            let problem = Problem::of_variable(variable, BROKEN_HASH);
            at.context.problems.borrow_mut().errors.push(problem);
        }
        keys.insert(name_of_key(&key), Secret::new(key));
    }
    keys
}

fn key(
    owner: Option<&String>,
    item: &Item<'_>,
    taken_from: &mut BTreeSet<String>,
) -> Option<(String, Secret)> {
    let text: String = item.read()?;
    // A key is a secret: neither the default of an input, which is in the file for all to read, nor a path makes one.
    let source = Source { inputs: &Value::Null, folder: None, ..item.context.source };
    let expanded = item.context.expand(source, &text).map_err(|message| item.error(&message)).ok()?;
    taken_from.extend(expanded.variables);
    let key = expanded.text;
    let problem = match owner.and_then(|owner| name_problem(owner)) {
        None if key.is_empty() => Some("must not be empty".to_owned()),
        None if is_broken_hash(&key) => Some(BROKEN_HASH.to_owned()),
        other => other,
    };
    if let Some(problem) = problem {
        item.error(&problem);
        return None;
    }
    if key.len() < KEY_LENGTH {
        item.warn(&format!("has fewer than {KEY_LENGTH} characters and may be guessed"));
    }
    Some((owner.cloned().unwrap_or_else(|| name_of_key(&key)), Secret::new(key)))
}

/// `allowedOrigins`, or `cors` as a list or as `{origins}`.
pub(super) fn origins(at: &mut Fields<'_>) -> Vec<String> {
    let mut origins = Vec::new();
    texts(at, "allowedOrigins", "Pages of browsers that may call.", &mut origins);
    let other = any_of(&[texts_schema(), json!({"const": false})]);
    let fields = |at: &mut Fields<'_>| texts(at, "origins", "The same as `allowedOrigins`.", &mut origins);
    if let Some(item) = at.object_or("cors", "The same as `allowedOrigins`.", Some(other), fields) {
        match item.value {
            Value::Bool(false) => {}
            Value::Bool(true) => item.error("must list the origins; `[\"*\"]` allows every page to read"),
            _ => origins.extend(read_texts(&item)),
        }
    }
    for origin in &origins {
        let is_origin = origin == "*"
            || origin.split_once("://").is_some_and(|(scheme, rest)| {
                !scheme.is_empty() && !rest.is_empty() && !rest.trim_end_matches('/').contains('/')
            });
        if !is_origin {
            at.error("allowedOrigins", &format!("`{origin}` must look like `https://app.example.org`"));
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
