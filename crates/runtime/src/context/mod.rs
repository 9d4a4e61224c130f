//! What is known about one request: who asks, and under which ids.

mod held;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use gateway_protocol::{RawJson, meta};
use gateway_upstream::CallOptions;
use uuid::Uuid;

use crate::approval_handler::ApprovalHandler;
use crate::owner::Owner;
use crate::progress::ProgressSink;

pub use held::{Dropped, Held, holder, keeping};

/// The member of `_meta` under which servers get the correlation id.
const CORRELATION_META: &str = "mcp-tool-gateway/correlationId";

/// One request's context.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The id that ties together what belongs together.
    pub correlation: Arc<str>,
    /// The W3C trace context that goes on to servers and back to the caller.
    pub traceparent: Option<Arc<str>>,
    /// The state that goes with it.
    pub tracestate: Option<Arc<str>>,
    /// The owner of the key that the caller showed.
    pub caller: Option<Owner>,
    /// Whether the caller takes no results of earlier calls.
    pub wants_fresh: bool,
    /// Takes what servers report about calls of this request while they run.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// Decides about its calls that need approval, instead of the caller or an admin.
    pub approver: Option<Arc<dyn ApprovalHandler>>,
    /// What the request holds of the budget for results.
    pub held: Held,
}

impl RequestContext {
    /// The context of a request that brings no ids.
    pub fn new(caller: Option<Owner>) -> Self {
        Self {
            correlation: random_uuid(),
            traceparent: None,
            tracestate: None,
            caller,
            wants_fresh: false,
            progress: None,
            approver: None,
            held: Held::default(),
        }
    }

    /// The same for a call of a caller who cannot be asked anything.
    pub fn own_call_options(&self) -> CallOptions {
        let mut options = self.call_options();
        options.capabilities = Some(RawJson::empty_object());
        options
    }

    /// The ids as members of a call's `_meta`.
    pub fn call_options(&self) -> CallOptions {
        let mut options = CallOptions::default();
        let entries = [
            (CORRELATION_META, Some(&self.correlation)),
            (meta::TRACEPARENT, self.traceparent.as_ref()),
            (meta::TRACESTATE, self.tracestate.as_ref()),
        ];
        let given = entries.into_iter().filter_map(|(key, value)| Some((key.into(), RawJson::text(value?))));
        options.meta.extend(given);
        options
    }
}

/// A random id in the form of a UUID, version 4, as text.
pub fn random_uuid() -> Arc<str> {
    let mut text = Uuid::encode_buffer();
    Arc::from(&*random_id().hyphenated().encode_lower(&mut text))
}

/// A random id. It needs to be unique, not secret, but nobody should count the calls of others by it: a counter under the random keys
/// of this process takes no system call, which can be slow and can fail.
pub fn random_id() -> Uuid {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let step = NEXT.fetch_add(1, Ordering::Relaxed);
    let bits = u128::from(KEYS.hash_one(step)) << 64 | u128::from(KEYS.hash_one(!step));
    uuid::Builder::from_random_bytes(bits.to_ne_bytes()).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_ids_differ() {
        let ids: std::collections::HashSet<Arc<str>> = (0..1_000).map(|_| random_uuid()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in &ids {
            let parts: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert!(
                id.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
            );
            let (version, variant) = (id.as_bytes().get(14), id.as_bytes().get(19));
            assert!(version == Some(&b'4') && variant.is_some_and(|digit| b"89ab".contains(digit)), "{id}");
        }
    }
}
