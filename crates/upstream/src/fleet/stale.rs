//! Tools that are known from an earlier run: who may list them, and what is kept for the next one.

use std::time::Duration;

use gateway_config::{OnDefinitionChange, UpstreamId, UpstreamSpec};
use gateway_protocol::RawJson;

use super::upstream::Upstream;
use super::{Fleet, Shared};
use crate::catalogue::ToolListing;

impl Fleet {
    /// The upstreams whose tools are those of an earlier run, in order.
    pub fn stale(&self) -> Vec<UpstreamId> {
        let upstreams = self.shared.upstreams.load();
        let stale = upstreams.iter().filter(|(_, upstream)| upstream.is_stale());
        stale.map(|(id, _)| id.clone()).collect()
    }

    /// The same as [`listed`](Self::listed), except that nobody is waited for whose tools are known from an earlier run: they are read again meanwhile.
    pub async fn listed_or_stale(&self, ids: &[UpstreamId], wait: Duration) {
        let is_awaited = |upstream: &Upstream| !upstream.is_stale() || upstream.refresh_stale();
        self.wait_for_lists(ids, wait, is_awaited).await;
    }
}

impl Shared {
    /// Reads the lists that are kept of upstreams that are new or others than before. Blocks, so it comes before the lock.
    pub(super) fn load_lists(&self, specs: &[UpstreamSpec]) {
        let known = self.upstreams.load();
        let is_new = |spec: &&UpstreamSpec| {
            known.get(&spec.id).is_none_or(|upstream| !upstream.spec.is_same_server(spec))
        };
        self.lists.load(specs.iter().filter(is_new));
    }

    /// Lists what an upstream listed in an earlier run. Where changes are blocked, only what is remembered as accepted.
    pub(super) fn take_stale(&self, upstream: &Upstream, kept: Vec<RawJson>) {
        let spec = &upstream.spec;
        let mut listing = ToolListing::read(spec, kept, None, self.room_for_trees(upstream));
        if spec.tools.on_definition_change == OnDefinitionChange::Block {
            let is_foreign = |name: &str| {
                let tool = listing.tools.iter().find(|tool| tool.name == name);
                !tool.is_some_and(|tool| self.memory.is_accepted(spec, tool))
            };
            let accepted = listing.accepted_definitions(is_foreign);
            listing = ToolListing::read(spec, accepted, Some(&listing), 0);
        }
        if !listing.tools.is_empty() {
            upstream.set_stale_tools(listing);
        }
    }

    /// Keeps the tools of an upstream for the next start, without those that somebody has to accept first.
    pub(super) fn keep_list(&self, upstream: &Upstream) {
        let Some(listing) = upstream.own_tools() else { return };
        let unaccepted = upstream.unaccepted();
        let kept = listing.accepted_definitions(|name| unaccepted.contains_key(name));
        if let Some(write) = self.lists.keep(&upstream.spec, kept) {
            let done = tokio::task::spawn_blocking(write);
            self.tasks.spawn_on(async move { drop(done.await) }, &self.runtime);
        }
    }
}
