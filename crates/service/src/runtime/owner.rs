//! Who calls: the owner of a key.

use std::fmt;
use std::sync::Arc;

use gateway_protocol::printable;
use sha2::{Digest as _, Sha256};

/// What the text of an admin begins with, in the log and wherever owners are named.
const ADMIN: &str = "admin:";

/// What the text of a caller begins with whose name could be taken for another owner's. The configuration refuses such
/// names; programs that embed the gateway may choose any.
const CALLER: &str = "caller:";

/// What the names of keys without a name begin with.
const UNNAMED: &str = "key-";

/// Hexadecimal digits after it.
const DIGITS: usize = 16;

/// Keeps these names apart from every other use of a key's hash.
const DOMAIN: &[u8] = b"mcp-tool-gateway owner of a key\0";

/// The owner of a key. Two owners are equal if they have the same name and are both admins, or both callers.
///
/// The text differs wherever owners do: `admin:NAME` for an admin, `NAME` for a caller. So it may stand for the owner in
/// the log, in digests and in signed states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    kind: Kind,
    text: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Admin,
    Caller,
}

impl Owner {
    /// The owner of an admin key.
    pub(crate) fn admin(name: &str) -> Self {
        Self { kind: Kind::Admin, text: format!("{ADMIN}{name}").into() }
    }

    /// The owner of an API key, or whoever an embedding program calls for.
    pub(crate) fn caller(name: &str) -> Self {
        let is_ambiguous = name.starts_with(ADMIN) || name.starts_with(CALLER);
        let text = if is_ambiguous { format!("{CALLER}{name}").into() } else { name.into() };
        Self { kind: Kind::Caller, text }
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.kind == Kind::Admin
    }

    /// The text that stands for this owner and no other.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The same, shared.
    pub(crate) fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The name of a key's owner where the configuration gives none, from the SHA-256 of the key. Another key has another
/// name, so that it finds nothing that belonged to its predecessor.
pub(crate) fn name_of_hash(hash: &[u8; 32]) -> String {
    let digest = Sha256::new().chain_update(DOMAIN).chain_update(hash).finalize();
    let mut name = UNNAMED.to_owned();
    for byte in digest.iter().take(DIGITS / 2) {
        for half in [byte >> 4, byte & 0xf] {
            name.extend(char::from_digit(u32::from(half), 16));
        }
    }
    name
}

/// Why a name cannot be an owner's.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("needs the name of its owner".to_owned());
    }
    if printable(name) != name {
        return Some("the name of an owner must not have control or invisible characters".to_owned());
    }
    if let Some(prefix) = [ADMIN, CALLER].into_iter().find(|prefix| name.starts_with(prefix)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_where_owners_do() {
        let owners = [
            (Owner::admin("a"), "admin:a"),
            (Owner::caller("a"), "a"),
            (Owner::caller("admin:a"), "caller:admin:a"),
            (Owner::caller("caller:admin:a"), "caller:caller:admin:a"),
            (Owner::admin("admin:a"), "admin:admin:a"),
        ];
        for (owner, text) in &owners {
            assert_eq!(owner.as_str(), *text);
            assert_eq!(owners.iter().filter(|(other, _)| other == owner).count(), 1, "{owner}");
        }
    }

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
