//! Who calls: the owner of a key.

use std::fmt;
use std::sync::Arc;

use gateway_config::{ADMIN_PREFIX, CALLER_PREFIX};

/// The owner of a key. Two owners are equal if they have the same name and are both admins, or both callers.
///
/// The text differs wherever owners do: `admin:NAME` for an admin, `NAME` for a caller. So it may stand for the owner in
/// the log, in digests and in signed states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
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
    pub fn admin(name: &str) -> Self {
        Self { kind: Kind::Admin, text: format!("{ADMIN_PREFIX}{name}").into() }
    }

    /// The owner of an API key, or whoever an embedding program calls for.
    pub fn caller(name: &str) -> Self {
        let is_ambiguous = name.starts_with(ADMIN_PREFIX) || name.starts_with(CALLER_PREFIX);
        let text = if is_ambiguous { format!("{CALLER_PREFIX}{name}").into() } else { name.into() };
        Self { kind: Kind::Caller, text }
    }

    /// Whether it may administer the gateway.
    pub fn is_admin(&self) -> bool {
        self.kind == Kind::Admin
    }

    /// The text that stands for this owner and no other.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The same, shared.
    pub fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
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
}
