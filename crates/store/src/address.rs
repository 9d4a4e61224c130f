//! Addresses of servers, which may hold a password.

use std::fmt;

use url::Url;

/// The address of a server, such as `redis://user:password@host:6379/0`. Nothing prints its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Url);

/// A text that is no such address. It is not repeated, because it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as {expected}")]
pub struct InvalidAddress {
    expected: &'static str,
}

/// What a server's address looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) schemes: &'static [&'static str],
    pub(crate) example: &'static str,
    pub(crate) port: u16,
}

impl Address {
    /// Reads the address of a Redis server: `redis://` or, with TLS, `rediss://`.
    pub fn redis(text: &str) -> Result<Self, InvalidAddress> {
        Self::read(text, REDIS)
    }

    /// Reads the address of a PostgreSQL database: `postgres://` or `postgresql://`.
    pub fn postgres(text: &str) -> Result<Self, InvalidAddress> {
        Self::read(text, POSTGRES)
    }

    fn read(text: &str, form: Form) -> Result<Self, InvalidAddress> {
        let invalid = InvalidAddress { expected: form.example };
        let url = Url::parse(text).map_err(|_| invalid)?;
        if form.schemes.contains(&url.scheme()) { Ok(Self(url)) } else { Err(invalid) }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// The host, without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        let host = self.0.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
        host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(crate) fn port_or(&self, form: Form) -> u16 {
        self.0.port().unwrap_or(form.port)
    }
}

/// Addresses of Redis.
pub(crate) const REDIS: Form =
    Form { schemes: &["redis", "rediss"], example: "redis://localhost:6379/0", port: 6379 };

/// Addresses of PostgreSQL. Its library has the same default.
const POSTGRES: Form = Form {
    schemes: &["postgres", "postgresql"],
    example: "postgres://user:password@localhost:5432/gateway",
    port: 5432,
};

/// The address without what may be secret: user, password, query.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.0.scheme(), self.0.host_str().unwrap_or_default())?;
        if let Some(port) = self.0.port() {
            write!(formatter, ":{port}")?;
        }
        formatter.write_str(self.0.path())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A part of an address with its percent escapes resolved; `None` if that is no text.
pub(crate) fn unescape(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, others @ ..] = rest else { return None };
        let digits = [*high, *low];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        rest = others;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints_a_password() {
        let address = Address::redis("redis://me:hunter2@cache.test:7000/3?password=hunter2").unwrap();
        assert_eq!(format!("{address} {address:?}"), "redis://cache.test:7000/3 redis://cache.test:7000/3");
        for wrong in ["hunter2", "http://me:hunter2@x/", "redis://me:hunter2@x:99999999"] {
            let error = Address::redis(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{wrong}");
        }
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        for text in ["redis://", "redis://localhost", "rediss://:x@localhost/"] {
            let address = Address::redis(text).unwrap();
            assert_eq!((address.host(), address.port_or(REDIS)), ("localhost", 6379), "{text}");
        }
        let address = Address::redis("redis://[::1]:7").unwrap();
        assert_eq!((address.host(), address.port_or(REDIS)), ("::1", 7));
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unescape("red%40s%2Fsecret").as_deref(), Some("red@s/secret"));
        for wrong in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(unescape(wrong), None, "{wrong}");
        }
    }
}
