//! Upstreams whose tools are not known: why, whose calls that concerns, and whose tools are listed meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_config::{Fallback, UpstreamId};

use super::upstream::Upstream;
use super::{Fleet, Shared};
use crate::catalogue::canonical_splits;
use crate::error::CallError;

type Upstreams = BTreeMap<UpstreamId, Arc<Upstream>>;

impl Fleet {
    /// Why an upstream has never listed its tools; `None` if it has. What is listed instead is not its own.
    pub fn unlisted(&self, id: &str) -> Option<CallError> {
        let upstreams = self.shared.upstreams.load();
        upstreams.get(&UpstreamId::new(id))?.unlisted()
    }

    /// The upstreams whose prefix a name begins with.
    pub fn with_prefix_of(&self, name: &str) -> Vec<UpstreamId> {
        let upstreams = self.shared.upstreams.load();
        let named = upstreams.values().filter(|upstream| upstream.has_prefix_of(name));
        named.map(|upstream| upstream.spec.id.clone()).collect()
    }

    /// Why the upstream that a call names has never listed its tools: by `server`, by a name such as `mcp__<upstream>__<tool>` or
    /// `<prefix>__<tool>`, else `implied`, else because it is the only one. `None` if it has, or none is named.
    ///
    /// Whoever knows no tool of that name asks here first: what a server may have that cannot be asked is not unknown.
    pub fn unlisted_for(&self, server: Option<&str>, name: &str, implied: Option<&str>) -> Option<CallError> {
        let upstreams = self.shared.upstreams.load();
        let get = |id: &str| upstreams.get(&UpstreamId::new(id));
        if let Some(server) = server {
            return get(server)?.unlisted();
        }
        let mut canonical = canonical_splits(name, |server| get(server).is_some()).peekable();
        if canonical.peek().is_some() || name.starts_with("mcp__") {
            return canonical.find_map(|(server, _)| get(server)?.unlisted());
        }
        let prefixed = upstreams.values().filter(|upstream| upstream.has_prefix_of(name));
        let error = prefixed.into_iter().find_map(|upstream| upstream.unlisted());
        error.or_else(|| implied.map_or_else(|| only(&upstreams), get)?.unlisted())
    }
}

/// The only upstream that is switched on; where none is, the only one.
fn only(upstreams: &Upstreams) -> Option<&Arc<Upstream>> {
    let mut on = upstreams.values().filter(|upstream| !upstream.spec.disabled);
    match (on.next(), on.next()) {
        (Some(one), None) => Some(one),
        (None, _) if upstreams.len() == 1 => upstreams.values().next(),
        _ => None,
    }
}

/// Whose tools are listed for an upstream that was never reached: it takes every call over meanwhile.
pub(super) fn fallback_server<'a>(
    upstreams: &'a Upstreams,
    upstream: &Upstream,
) -> Option<&'a Arc<Upstream>> {
    let Some(Fallback::Server(id)) = &upstream.spec.fallback else { return None };
    if !upstream.spec.fallback_on.unreachable || !upstream.is_missing() {
        return None;
    }
    upstreams.get(id)
}

impl Shared {
    /// Lists the tools of whoever takes over for an upstream, once it is clear that its own are not to be had.
    pub(super) fn list_fallback(&self, upstream: &Upstream) {
        let is_listed = fallback_server(&self.upstreams.load(), upstream)
            .is_some_and(|fallback| fallback.own_tools().is_some());
        if is_listed && self.catalogue.load().tools_of(upstream.spec.id.as_str()).next().is_none() {
            self.rebuild();
        }
    }
}
