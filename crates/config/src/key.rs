//! Keys of callers and the names of their owners.

use std::fmt;

use gateway_protocol::printable;
use sha2::{Digest as _, Sha256};

/// What the text of an admin begins with, in the log and wherever owners are named.
pub const ADMIN_PREFIX: &str = "admin:";

/// What the text of a caller begins with whose name could be taken for another owner's. The configuration refuses such
/// names; programs that embed the gateway may choose any.
pub const CALLER_PREFIX: &str = "caller:";

/// What the names of keys without a name begin with.
const UNNAMED: &str = "key-";

/// Hexadecimal digits after it.
const DIGITS: usize = 16;

/// Keeps these names apart from every other use of a key's hash.
const DOMAIN: &[u8] = b"mcp-tool-gateway owner of a key\0";

/// A text that is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever it was meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The SHA-256 that the key is known by: the one that it is configured as, else its own.
    pub fn hash(&self) -> [u8; 32] {
        hash_of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

/// A key that is configured as its hash: `sha256:` and 64 hexadecimal digits.
const HASHED: &str = "sha256:";

/// Whether a key is meant as a hash and is none. Taken as a plain key, it would be one that everybody can read.
pub(crate) fn is_broken_hash(key: &str) -> bool {
    key.starts_with(HASHED) && hashed(key).is_none()
}

/// The name of a key's owner where the configuration gives none: the same for a key and for its hash. Another key has
/// another name, so that it finds nothing that belonged to its predecessor.
pub(crate) fn name_of_key(key: &str) -> String {
    let digest = Sha256::new().chain_update(DOMAIN).chain_update(hash_of(key)).finalize();
    let digits = digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}"));
    UNNAMED.to_owned() + &digits.collect::<String>()
}

/// Why a name cannot be an owner's.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("needs the name of its owner".to_owned());
    }
    if printable(name) != name {
        return Some("the name of an owner must not have control or invisible characters".to_owned());
    }
    if let Some(prefix) = [ADMIN_PREFIX, CALLER_PREFIX].into_iter().find(|prefix| name.starts_with(prefix)) {
        return Some(format!(
            "the name of an owner must not begin with `{prefix}`, which tells admins from callers in the log"
        ));
    }
    let is_hash = name
        .strip_prefix(UNNAMED)
        .is_some_and(|rest| rest.len() == DIGITS && rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hash.then(|| {
        format!("the name of an owner must not be `{UNNAMED}` and {DIGITS} digits: keys without a name are called so")
    })
}

fn hash_of(key: &str) -> [u8; 32] {
    hashed(key).unwrap_or_else(|| Sha256::digest(key).into())
}

/// The hash that a key is configured as.
fn hashed(key: &str) -> Option<[u8; 32]> {
    let digits = key.strip_prefix(HASHED)?.as_bytes();
    let mut hash = [0; 32];
    // A number may have a sign, a hash may not.
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_anothers_are_refused() {
        for name in ["alice", "key-1", "environment", "größe", "key-3f9a1c", "a:admin:b"] {
            assert_eq!(name_problem(name), None, "{name}");
        }
        for (name, part) in [
            ("", "needs the name"),
            ("a\nb", "control or invisible"),
            ("a\u{202e}b", "control or invisible"),
            ("admin:alice", "must not begin with `admin:`"),
            ("caller:alice", "must not begin with `caller:`"),
            ("key-0123456789abcdef", "keys without a name"),
        ] {
            let problem = name_problem(name);
            assert!(problem.as_ref().is_some_and(|text| text.contains(part)), "{name:?}: {problem:?}");
        }
    }
}
