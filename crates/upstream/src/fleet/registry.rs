//! The registry as one of the upstreams.
//!
//! Its tools are in our own process, so nobody waits for them: the catalogue is built anew before whoever registered a tool
//! goes on.

use std::sync::{Arc, PoisonError};

use gateway_builtin::Registry;
use gateway_config::{Endpoint, UpstreamSpec};

use super::{FleetEvent, Shared};

/// Follows the registry until the fleet ends.
pub(super) fn watch(shared: &Arc<Shared>) {
    let weak = Arc::downgrade(shared);
    shared.options.registry.watch(move || {
        let lives = weak.upgrade().filter(|shared| !shared.stop.is_cancelled());
        lives.inspect(changed).is_some()
    });
}

/// The upstream for what is registered, where there is something and no upstream stands for them.
pub(super) fn missing(registry: &Registry, specs: &[UpstreamSpec]) -> Option<UpstreamSpec> {
    let is_there = specs.iter().any(|spec| spec.endpoint == Endpoint::Registry);
    if is_there || registry.is_empty() {
        return None;
    }
    let name = registry.server_name();
    if specs.iter().any(|spec| spec.id.as_str() == name) {
        tracing::warn!(upstream = name, "Registered tools are not offered: a server has their name.");
        return None;
    }
    Some(UpstreamSpec::registry(&name))
}

fn changed(shared: &Arc<Shared>) {
    let _guard = shared.rebuild.lock().unwrap_or_else(PoisonError::into_inner);
    let specs: Vec<UpstreamSpec> =
        shared.upstreams.load().values().map(|upstream| (*upstream.spec).clone()).collect();
    if missing(&shared.options.registry, &specs).is_some() {
        shared.apply_locked(specs);
    } else {
        shared.rebuild_locked();
    }
    let upstreams = shared.upstreams.load();
    let offered = upstreams.values().find(|upstream| upstream.spec.endpoint == Endpoint::Registry);
    if let Some(upstream) = offered {
        let tools = shared.options.registry.get_all().len();
        shared.notify(FleetEvent::Listed { upstream: upstream.spec.id.clone(), tools });
    }
}
