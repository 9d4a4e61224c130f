//! Which addresses a tool that was registered over the network may lead to.
//!
//! Whoever may register tools must not reach what only this machine or its network reaches. Addresses are looked at when a
//! tool is registered and again whenever a connection is made: the name is resolved, every address that it has is checked,
//! and the connection goes to one of these. What the name means a moment later does not matter.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::{io, net::SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

type Looking = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// How names become addresses.
#[derive(Clone)]
pub(super) struct Lookup(Arc<dyn Fn(&str) -> Looking + Send + Sync>);

impl fmt::Debug for Lookup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Lookup")
    }
}

/// As this machine resolves names.
impl Default for Lookup {
    fn default() -> Self {
        Self::new(|name| {
            let name = name.to_owned();
            Box::pin(async move {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            })
        })
    }
}

impl Lookup {
    pub(super) fn new(lookup: impl Fn(&str) -> Looking + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }

    /// The addresses of a name, if all of them may be reached.
    async fn checked(&self, name: &str) -> Result<Vec<IpAddr>, String> {
        let found = (self.0)(name).await.map_err(|error| format!("`{name}` has no address: {error}"))?;
        if found.is_empty() {
            return Err(format!("`{name}` has no address"));
        }
        // One bad address among good ones is how a check is tricked, so all have to be good.
        match found.iter().find_map(|address| Some((address, refused(*address)?))) {
            Some((address, why)) => Err(format!("`{name}` leads to {address}, which is {why}; {ALLOW}")),
            None => Ok(found),
        }
    }
}

const ALLOW: &str = "such addresses are refused unless the configuration sets `registry.allowPrivate`";

/// Checks an address before anything is sent to it. All ways to write an IPv4 address as numbers (`2130706433`, `0x7f.1`,
/// `017700000001`) have become the usual one when the address was parsed.
pub(super) async fn check(url: &Url, lookup: &Lookup) -> Result<(), String> {
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or("the address names no host")?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(address) = bare.parse() else { return lookup.checked(bare).await.map(drop) };
    match refused(address) {
        Some(why) => Err(format!("{address} is {why}; {ALLOW}")),
        None => Ok(()),
    }
}

/// Resolves names for connections: only to addresses that may be reached.
impl Resolve for Lookup {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, name) = (self.clone(), name.as_str().to_owned());
        Box::pin(async move {
            let found = lookup.checked(&name).await?;
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// Why an address is refused, if it is.
pub(super) fn refused(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refused_v4(address),
        IpAddr::V6(address) => refused_v6(address),
    }
}

fn refused_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    Some(match (a, b, c) {
        (0, ..) => "this machine",
        (127, ..) => "a loopback address",
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => "a private address",
        (169, 254, _) => "a link-local address",
        (100, 64..=127, _) => "an address of a carrier's own network",
        // Also the anycast addresses of AS112 and AMT, which whoever is near answers.
        (192, 0, 0) | (192, 31, 196) | (192, 52, 193) | (192, 88, 99) | (192, 175, 48) => {
            "an address for protocols"
        }
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => "an address for examples",
        (198, 18..=19, _) => "an address for measurements",
        (224..=239, ..) => "a multicast address",
        (240..=255, ..) => "a reserved address",
        _ => return None,
    })
}

fn refused_v6(address: Ipv6Addr) -> Option<&'static str> {
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        refused_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("this machine"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback address"),
        // IPv4 inside IPv6: mapped, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, and ISATAP below any prefix.
        [0x2001, 0, ..] | [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => Some("a tunnel's address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("an address for examples"),
        [0x2001, 0x2, 0, ..] => Some("an address for measurements"),
        [0x2001, 0x1..=0x1ff, ..] | [0x2620, 0x4f, 0x8000, ..] => Some("an address for protocols"),
        [0xfc00..=0xfdff, ..] => Some("a private address"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfec0..=0xfeff, ..] => Some("a site-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        // Everything that is reached from everywhere begins with these three bits.
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody() -> Lookup {
        Lookup::new(|name| {
            let outcome = match name {
                "public.example" => Ok(vec![[93, 184, 216, 34].into()]),
                "private.example" => Ok(vec![[10, 0, 0, 8].into()]),
                "mixed.example" => Ok(vec![[93, 184, 216, 34].into(), [127, 0, 0, 1].into()]),
                "v6.example" => Ok(vec![Ipv6Addr::LOCALHOST.into()]),
                "localhost" | "localhost." | "app.localhost" => Ok(vec![[127, 0, 0, 1].into()]),
                "metadata.google.internal" => Ok(vec![[169, 254, 169, 254].into()]),
                "empty.example" => Ok(Vec::new()),
                _ => Err(io::Error::from(io::ErrorKind::NotFound)),
            };
            Box::pin(async move { outcome })
        })
    }

    #[tokio::test]
    async fn only_addresses_of_everybody_are_taken() {
        // What follows `http://`, and whether it may be reached.
        let table = [
            ("93.184.216.34", true),
            ("1.1.1.1:8080", true),
            ("[2606:4700:4700::1111]", true),
            ("public.example", true),
            ("PUBLIC.example:81/x?y#z", true),
            ("[::ffff:1.1.1.1]", true),
            ("[64:ff9b::101:101]", true),
            ("172.15.0.1", true),
            ("172.32.0.1", true),
            ("100.63.255.255", true),
            ("100.128.0.0", true),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("0", false),
            ("10.0.0.1", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("192.0.0.192", false),
            ("192.0.2.1", false),
            ("198.18.0.1", false),
            ("198.51.100.7", false),
            ("203.0.113.9", false),
            ("224.0.0.1", false),
            ("239.255.255.250", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            // The same loopback address in other spellings.
            ("2130706433", false),
            ("0x7f000001", false),
            ("0x7f.1", false),
            ("017700000001", false),
            ("0177.0.0.1", false),
            ("127.1", false),
            ("127.0.1", false),
            ("%31%32%37.0.0.1", false),
            ("１２７.0.0.1", false),
            ("2852039166", false),
            ("0xa9fea9fe", false),
            ("3232235777", false),
            ("[::]", false),
            ("[::1]", false),
            ("[0:0:0:0:0:0:0:1]", false),
            ("[::ffff:127.0.0.1]", false),
            ("[::ffff:7f00:1]", false),
            ("[::ffff:a9fe:a9fe]", false),
            ("[::127.0.0.1]", false),
            ("[64:ff9b::7f00:1]", false),
            ("[64:ff9b:1::1]", false),
            ("[2002:7f00:1::]", false),
            ("[2002:c0a8:101::1]", false),
            ("[2001:0:1::1]", false),
            ("[2001:db8::1]", false),
            ("[100::1]", false),
            // ISATAP: an IPv4 address behind any prefix, here 10.0.0.1 and a public one.
            ("[2606:4700::5efe:a00:1]", false),
            ("[2606:4700::200:5efe:102:304]", false),
            ("[2606:4700::5eff:a00:1]", true),
            // 2001::/23 is for protocols; behind it are addresses of everybody.
            ("[2001:1::1]", false),
            ("[2001:3::1]", false),
            ("[2001:4:112::1]", false),
            ("[2001:5::1]", false),
            ("[2001:20::1]", false),
            ("[2001:1ff:ffff::1]", false),
            ("[2001:200::1]", true),
            ("[2620:4f:8000::1]", false),
            ("192.31.196.1", false),
            ("192.52.193.1", false),
            ("192.175.48.1", false),
            ("[5f00::1]", false),
            ("[fc00::1]", false),
            ("[fd12:3456:789a::1]", false),
            ("[fd00:ec2::254]", false),
            ("[fe80::1]", false),
            ("[fec0::1]", false),
            ("[ff02::1]", false),
            ("localhost", false),
            ("LOCALHOST", false),
            ("localhost.", false),
            ("app.localhost", false),
            ("metadata.google.internal", false),
            ("private.example", false),
            ("mixed.example", false),
            ("v6.example", false),
            ("empty.example", false),
            ("unknown.example", false),
        ];
        for (address, allowed) in table {
            let url =
                Url::parse(&format!("http://{address}")).unwrap_or_else(|error| panic!("{address}: {error}"));
            let outcome = check(&url, &nobody()).await;
            assert_eq!(outcome.is_ok(), allowed, "{address}: {outcome:?}");
        }
    }

    #[tokio::test]
    async fn a_connection_is_made_to_addresses_that_were_checked() {
        let resolved = |name: &str| nobody().resolve(name.parse().unwrap());
        let good: Vec<SocketAddr> = resolved("public.example").await.map_err(drop).unwrap().collect();
        assert_eq!(good, [SocketAddr::from(([93, 184, 216, 34], 0))]);
        let error = resolved("mixed.example").await.map(drop).unwrap_err();
        assert!(error.to_string().starts_with("`mixed.example` leads to 127.0.0.1"), "{error}");
    }
}
