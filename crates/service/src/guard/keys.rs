//! Who may call: keys, kept as hashes and compared without telling how much of them was right.

use std::collections::BTreeMap;

use gateway_config::Secret;
use http::{HeaderMap, HeaderName, header};
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use gateway_runtime::owner::Owner;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The keys that are configured.
#[derive(Debug)]
pub(crate) struct Keys {
    owners: Vec<(Owner, [u8; 32])>,
}

/// Why a caller is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotKnown {
    /// The request has no key.
    Missing,
    /// The key is not one of ours.
    Wrong,
}

impl Keys {
    /// Keys by the name of their owner; `owner` makes one of a name.
    pub(crate) fn new(keys: &BTreeMap<String, Secret>, owner: impl Fn(&str) -> Owner) -> Self {
        let owners = keys.iter().map(|(name, key)| (owner(name), key.hash())).collect();
        Self { owners }
    }

    /// Whether anybody may call.
    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The owner of the key that a request shows.
    pub(crate) fn owner(&self, headers: &HeaderMap) -> Result<Owner, NotKnown> {
        let shown = bearer(headers).or_else(|| headers.get(API_KEY).map(http::HeaderValue::as_bytes));
        let hash: [u8; 32] = Sha256::digest(shown.ok_or(NotKnown::Missing)?).into();
        // Every key is compared, whichever fits, so that the time says nothing.
        let mut found = u64::MAX;
        for (index, (_, known)) in (0_u64..).zip(&self.owners) {
            found.conditional_assign(&index, known.ct_eq(&hash));
        }
        let owner = usize::try_from(found).ok().and_then(|found| self.owners.get(found));
        owner.map(|(owner, _)| owner.clone()).ok_or(NotKnown::Wrong)
    }
}

/// The token of `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(header: &'static str, value: &'static str, expected: Result<&str, NotKnown>) {
        let keys = BTreeMap::from([
            ("alice".to_owned(), Secret::new("first-key")),
            (
                "bob".to_owned(),
                Secret::new("sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"),
            ),
        ]);
        let keys = Keys::new(&keys, Owner::caller);
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(header), HeaderValue::from_static(value));
        assert_eq!(keys.owner(&headers), expected.map(Owner::caller), "{header}: {value}");
    }

    #[test]
    fn keys_lead_to_their_owners() {
        check("authorization", "Bearer first-key", Ok("alice"));
        check("authorization", "bEARER  first-key ", Ok("alice"));
        check("x-api-key", "first-key", Ok("alice"));
        check("x-api-key", "foo", Ok("bob"));
        check("authorization", "Bearer first-ke", Err(NotKnown::Wrong));
        check("authorization", "Bearer ", Err(NotKnown::Wrong));
        check("authorization", "Basic Zmlyc3Qta2V5", Err(NotKnown::Missing));
        check(
            "x-api-key",
            "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
            Err(NotKnown::Wrong),
        );
        check("x-other", "first-key", Err(NotKnown::Missing));
    }
}
