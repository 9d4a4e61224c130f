//! The `requestState` that callers carry from one request to the next: signed, so that nobody can write one; with a time
//! after which it is void; and bound to the caller and the request that it was made for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, Mac as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::canonical::{Members, spelled};
use crate::owner::Owner;

/// What a state stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Behind {
    /// The state that the upstream gave, if it gave one; nothing is kept here.
    #[serde(rename = "u")]
    Upstream(Option<String>),
    /// A call that waits here for its answers.
    #[serde(rename = "p")]
    Parked(String),
}

/// What is written into a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// What it stands for.
    #[serde(rename = "b")]
    pub behind: Behind,
    /// Who may use it.
    #[serde(rename = "c")]
    pub caller: Option<String>,
    /// The request that it belongs to.
    #[serde(rename = "r")]
    pub request: String,
    /// Seconds since 1970 after which it is void. What has none is the same text whenever it is written.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
}

/// Why a state is not taken. Callers see no more than these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadState {
    /// Not ours, or changed.
    #[error("this `requestState` was not made here, or was changed")]
    Forged,
    /// Too old.
    #[error("this `requestState` has expired; send the request again without it")]
    Expired,
    /// Given to somebody else, or for another request.
    #[error("this `requestState` belongs to another request or another caller")]
    Foreign,
}

/// Signs states and knows its own again. Where the system gave no random key, none is ever known.
#[derive(Clone)]
pub struct Seal(Option<Hmac<Sha256>>);

impl std::fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Seal")
    }
}

impl Seal {
    /// One with a key of real chance: states end with the process.
    pub fn random() -> Self {
        random_bytes().map_or(Self(None), |key| Self::new(&key))
    }

    fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).ok())
    }

    /// The state for a request of a caller; void after `life`, if it has one.
    pub fn write(
        &self,
        behind: Behind,
        caller: Option<&Owner>,
        request: &str,
        life: Option<Duration>,
    ) -> String {
        let seconds = life.map(|life| i64::try_from(life.as_secs()).unwrap_or(i64::MAX));
        let claims = Claims {
            behind,
            caller: caller.map(Owner::to_string),
            request: request.to_owned(),
            expires: seconds.map(|seconds| Timestamp::now().as_second().saturating_add(seconds)),
        };
        let payload = BASE64.encode(serde_json::to_vec(&claims).unwrap_or_default());
        let Some(key) = self.0.clone() else { return String::new() };
        let mac = key.chain_update(payload.as_bytes()).finalize().into_bytes();
        format!("{payload}.{}", BASE64.encode(mac))
    }

    /// What a state stands for, if it is ours, still holds, and belongs to this request of this caller.
    pub fn read(&self, text: &str, caller: Option<&Owner>, request: &str) -> Result<Behind, BadState> {
        let (payload, mac) = text.split_once('.').ok_or(BadState::Forged)?;
        let mac = BASE64.decode(mac).map_err(|_| BadState::Forged)?;
        let key = self.0.clone().ok_or(BadState::Forged)?;
        key.chain_update(payload.as_bytes()).verify_slice(&mac).map_err(|_| BadState::Forged)?;
        let payload = BASE64.decode(payload).map_err(|_| BadState::Forged)?;
        let claims: Claims = serde_json::from_slice(&payload).map_err(|_| BadState::Forged)?;
        if claims.expires.is_some_and(|end| end < Timestamp::now().as_second()) {
            return Err(BadState::Expired);
        }
        if claims.caller.as_deref() != caller.map(Owner::as_str) || claims.request != request {
            return Err(BadState::Foreign);
        }
        Ok(claims.behind)
    }
}

/// What distinguishes one request from another: the same method, name and arguments give the same text, whatever their spacing
/// and the order of their keys. Numbers are the same where they are written the same.
pub fn request_mark(
    endpoint: &str,
    method: &str,
    name: &str,
    arguments: Option<&str>,
) -> Result<String, serde_json::Error> {
    let mut hash = Sha256::new();
    for part in [endpoint, method, name] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.update(spelled(arguments.unwrap_or("null"), Members::ByName)?);
    Ok(BASE64.encode(hash.finalize()))
}

/// A name that nothing else has. It is no secret.
pub fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("request {}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// An id that cannot be guessed; `None` if the system gives no random numbers.
pub fn secret_id() -> Option<String> {
    random_bytes().map(|bytes| BASE64.encode(bytes))
}

fn random_bytes() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Option<Duration> = Some(Duration::from_mins(1));

    #[test]
    fn a_state_holds_for_its_caller_and_its_request_only() {
        let seal = Seal::new(&[7; 32]);
        let behind = Behind::Upstream(Some("theirs".to_owned()));
        let [ann, bob, admin] = [Owner::caller("ann"), Owner::caller("bob"), Owner::admin("ann")];
        let state = seal.write(behind.clone(), Some(&ann), "r1", LIFE);
        assert_eq!(seal.read(&state, Some(&ann), "r1"), Ok(behind));
        for (caller, request) in [(Some(&bob), "r1"), (Some(&admin), "r1"), (None, "r1"), (Some(&ann), "r2")]
        {
            assert_eq!(seal.read(&state, caller, request), Err(BadState::Foreign), "{caller:?} {request}");
        }
        assert_eq!(Seal::new(&[8; 32]).read(&state, Some(&ann), "r1"), Err(BadState::Forged));
    }

    #[test]
    fn no_byte_of_a_state_can_be_changed() {
        let seal = Seal::new(&[7; 32]);
        let state = seal.write(Behind::Parked("x".to_owned()), None, "r", LIFE);
        for index in 0..state.len() {
            let mut bytes = state.clone().into_bytes();
            bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last letter of a base64 text has bits that mean nothing.
            if changed != state {
                assert!(seal.read(&changed, None, "r").is_err(), "byte {index}");
            }
        }
        for text in ["", ".", "a.b", &state[1..], &format!("{state}A")] {
            assert_eq!(seal.read(text, None, "r"), Err(BadState::Forged), "{text}");
        }
    }

    #[test]
    fn a_state_expires() {
        let seal = Seal::new(&[7; 32]);
        let mut claims = Claims {
            behind: Behind::Parked("x".to_owned()),
            caller: None,
            request: "r".to_owned(),
            expires: Some(Timestamp::now().as_second() - 1),
        };
        let sign = |claims: &Claims| {
            let payload = BASE64.encode(serde_json::to_vec(claims).unwrap());
            let mac = seal.0.clone().unwrap().chain_update(payload.as_bytes()).finalize().into_bytes();
            format!("{payload}.{}", BASE64.encode(mac))
        };
        assert_eq!(seal.read(&sign(&claims), None, "r"), Err(BadState::Expired));
        claims.expires = Some(Timestamp::now().as_second() + 60);
        assert!(seal.read(&sign(&claims), None, "r").is_ok());
    }

    #[test]
    fn a_state_without_an_end_says_no_time() {
        let seal = Seal::new(&[7; 32]);
        let state =
            seal.write(Behind::Upstream(Some("task-1".to_owned())), Some(&Owner::caller("ann")), "r", None);
        let payload = BASE64.decode(state.split_once('.').unwrap().0).unwrap();
        let written: serde_json::Value = serde_json::from_slice(&payload).unwrap();
        // What depends on the clock would give one task another id in each second.
        assert_eq!(written, serde_json::json!({"b": {"u": "task-1"}, "c": "ann", "r": "r"}));
        assert_eq!(
            seal.read(&state, Some(&Owner::caller("ann")), "r"),
            Ok(Behind::Upstream(Some("task-1".to_owned())))
        );
    }

    #[test]
    fn the_same_request_has_the_same_mark() {
        let mark =
            |name: &str, arguments: &str| request_mark("", "tools/call", name, Some(arguments)).unwrap();
        assert_eq!(mark("a", r#"{"x": 1, "y": [1, 2]}"#), mark("a", "{\"y\":[1,\n2],\"x\":1}"));
        assert_eq!(mark("a", r#"{"x": "\u00e4/"}"#), mark("a", r#"{"x": "ä\/"}"#));
        let one = mark("a", r#"{"x":1}"#);
        for other in [
            mark("b", r#"{"x":1}"#),
            mark("a", r#"{"x":"1"}"#),
            mark("a", r#"{"x":[1]}"#),
            mark("a", r#"{"x":1,"y":null}"#),
            mark("a", r#"{"x":1e400}"#),
            request_mark("", "tools/call", "a", None).unwrap(),
        ] {
            assert_ne!(other, one);
        }
    }

    #[test]
    fn numbers_that_nothing_holds_exactly_are_told_apart() {
        let mark =
            |number: &str| request_mark("", "tools/call", "a", Some(&format!("{{\"x\":{number}}}"))).unwrap();
        assert_ne!(mark("123456789012345678901234567890"), mark("123456789012345678901234567891"));
        assert_ne!(mark("1e400"), mark("1e401"));
        assert_ne!(mark("0.1"), mark("0.10000000000000000001"));
    }

    #[test]
    fn arguments_that_cannot_be_read_have_no_mark() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for arguments in ["{", r#"{"x":}"#, r#""\ud800""#, &deep] {
            assert!(request_mark("", "tools/call", "a", Some(arguments)).is_err(), "{arguments}");
        }
    }
}
