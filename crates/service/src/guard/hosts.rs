//! Which hosts and origins a request may name.
//!
//! A page in a browser can make its own host name mean 127.0.0.1 (DNS rebinding) and then speak to us as if it were
//! ours. Such a request names the page's host, so only names that nobody else can own are let in.

use std::net::IpAddr;

/// The hosts that requests may name.
#[derive(Debug)]
pub(crate) struct Hosts {
    bound: IpAddr,
    any: bool,
    names: Vec<String>,
}

impl Hosts {
    /// `names` may hold `*` for any host and `*.example.org` for every host below that domain.
    pub(crate) fn new(bound: IpAddr, names: &[String]) -> Self {
        let names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { bound, any: names.iter().any(|name| name == "*"), names }
    }

    /// Whether a request to `authority` (`host` or `host:port`) is for us.
    pub(crate) fn allows(&self, authority: &str) -> bool {
        let Some(host) = host_of(authority) else { return false };
        if self.any || is_loopback(host) {
            return true;
        }
        // An address cannot be rebound: whoever names it means the machine that has it.
        if let Some(address) = address_of(host) {
            return address == self.bound
                || self.bound.is_unspecified()
                || self.names.iter().any(|name| name == host);
        }
        self.names.iter().any(|name| match name.strip_prefix('*') {
            Some(end) => ends_with(host, end),
            None => name.eq_ignore_ascii_case(host),
        })
    }
}

/// What an origin is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginKind {
    /// A page of ours.
    Same,
    /// Another page of this machine: it may ask for what changes nothing, but it may not read the answers.
    Near,
    /// Configured: may read answers.
    Listed,
    /// Anybody else.
    Foreign,
}

/// The origins that browsers may come from.
#[derive(Debug)]
pub(crate) struct Origins {
    any: bool,
    listed: Vec<String>,
}

impl Origins {
    pub(crate) fn new(origins: &[String]) -> Self {
        let listed: Vec<String> =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect();
        Self { any: listed.iter().any(|origin| origin == "*"), listed }
    }

    /// Whether no page elsewhere may read answers.
    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// What `origin` is to us; `host` is the host that the request names.
    pub(crate) fn kind_of(&self, origin: &str, host: &str) -> OriginKind {
        if self.any || self.listed.iter().any(|listed| listed.eq_ignore_ascii_case(origin)) {
            return OriginKind::Listed;
        }
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let Some(authority) = authority else { return OriginKind::Foreign };
        if authority.eq_ignore_ascii_case(host) {
            return OriginKind::Same;
        }
        if host_of(authority).is_some_and(is_loopback) { OriginKind::Near } else { OriginKind::Foreign }
    }
}

/// The host of `host:port`; `None` if it is malformed.
fn host_of(authority: &str) -> Option<&str> {
    let end = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at_checked(end)?;
    let port = rest.strip_prefix(':').unwrap_or(rest);
    let well_formed = !host.is_empty()
        && (rest.is_empty() || rest.starts_with(':'))
        && port.len() <= 5
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte));
    well_formed.then_some(host)
}

fn address_of(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host).parse().ok()
}

/// Names and addresses of this machine that cannot be given to another. Browsers keep `localhost` and all below it
/// (RFC 6761).
fn is_loopback(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    name.eq_ignore_ascii_case("localhost")
        || ends_with(name, ".localhost")
        || address_of(host).is_some_and(|address| address.to_canonical().is_loopback())
}

fn ends_with(host: &str, end: &str) -> bool {
    host.len() > end.len()
        && host.get(host.len() - end.len()..).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bound: &str, names: &[&str], authority: &str, expected: bool) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let hosts = Hosts::new(bound.parse().unwrap(), &names);
        assert_eq!(hosts.allows(authority), expected, "{authority} at {bound}");
    }

    #[test]
    fn only_names_that_nobody_else_can_own_are_let_in() {
        for authority in [
            "localhost",
            "localhost:8787",
            "LocalHost:1",
            "localhost.:80",
            "a.localhost",
            "127.0.0.1:8787",
            "127.9.9.9",
            "[::1]",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
        ] {
            check("127.0.0.1", &[], authority, true);
        }
        for authority in [
            "evil.example",
            "evil.example:8787",
            "localhost.evil.example",
            "evillocalhost",
            "127.0.0.1.evil.example",
            "192.168.1.5",
            "user@localhost",
            "localhost@evil.example",
            "localhost:80:80",
            "localhost:port",
            "localhost:999999",
            "[::1",
            "[::1]x",
            "",
            ":80",
            "local host",
            "0.0.0.0",
            "[::]",
            "2130706433",
        ] {
            check("127.0.0.1", &[], authority, false);
        }
    }

    #[test]
    fn the_bound_address_and_configured_names_are_let_in() {
        check("192.168.1.5", &[], "192.168.1.5:8787", true);
        check("192.168.1.5", &[], "192.168.1.6:8787", false);
        check("0.0.0.0", &[], "192.168.1.6:8787", true);
        check("0.0.0.0", &[], "gateway.internal", false);
        check("0.0.0.0", &["Gateway.Internal"], "gateway.internal:8787", true);
        check("127.0.0.1", &["*.example.org"], "a.b.example.org", true);
        check("127.0.0.1", &["*.example.org"], "example.org", false);
        check("127.0.0.1", &["*.example.org"], "badexample.org", false);
        check("127.0.0.1", &["*"], "anything.example", true);
        check("127.0.0.1", &["*"], "user@anything.example", false);
    }

    #[test]
    fn origins_are_same_near_listed_or_foreign() {
        let origins = Origins::new(&["https://App.example/".to_owned()]);
        let cases = [
            ("https://app.example", OriginKind::Listed),
            ("http://app.example", OriginKind::Foreign),
            ("https://app.example.evil", OriginKind::Foreign),
            ("http://localhost:3000", OriginKind::Near),
            ("http://[::1]:3000", OriginKind::Near),
            ("http://gateway:8787", OriginKind::Same),
            ("http://gateway:8788", OriginKind::Foreign),
            ("null", OriginKind::Foreign),
            ("file://", OriginKind::Foreign),
            ("chrome-extension://abc", OriginKind::Foreign),
            ("http://localhost.evil.example", OriginKind::Foreign),
            ("", OriginKind::Foreign),
        ];
        for (origin, expected) in cases {
            assert_eq!(origins.kind_of(origin, "gateway:8787"), expected, "{origin}");
        }
        assert_eq!(Origins::new(&["*".to_owned()]).kind_of("null", "x"), OriginKind::Listed);
    }
}
