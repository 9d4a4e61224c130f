//! All upstreams together: who is there, what they offer, and how a call reaches the right one.

mod accepted;
mod call;
mod conform;
mod definitions;
mod health;
mod kept_lists;
mod listing;
mod memory;
mod missing;
mod offers;
mod pause;
mod ping;
mod registry;
mod renamed;
mod responders;
mod stale;
mod subscriptions;
mod supervisor;
mod tool_key;
mod upstream;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use gateway_builtin::Registry;
use gateway_config::{CatalogueRules, ConnectMode, Endpoint, UpstreamId, UpstreamSpec};
use gateway_protocol::{Implementation, Notification, RawJson};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalogue::{Catalogue, ListingOverrides, Part, TREE_BYTES, ToolListing, build};
use crate::error::CallError;
use crate::results::ResultBudget;

pub use accepted::AcceptError;
pub use call::{Answered, CallOptions};
pub use health::{DefinitionNotice, UpstreamHealth, UpstreamState};
pub use memory::{
    AcceptFileError, Unaccepted, accept_in_file, are_new_tools_taken_in_file, take_new_tools_in_file,
    unaccepted_fingerprint, unaccepted_in_file,
};
pub use offers::Capabilities;
pub use responders::InFlight;
pub use subscriptions::ResourceSubscription;
pub use watch::{FileWatch, watch_files};

use kept_lists::KeptLists;
use memory::Memory;
use tool_key::tool_key;
use upstream::{Command, Upstream, log_problems, standby};

/// What the fleet needs to know beside the upstreams.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FleetOptions {
    /// Who we are, for the servers.
    pub client: Implementation,
    /// What we can do for the servers.
    pub capabilities: RawJson,
    /// How tools of several upstreams become one list, until a [reload](Fleet::reload) says otherwise.
    pub catalogue: CatalogueRules,
    /// Where eras and fingerprints are remembered between runs; `None` if they are not.
    pub memory: Option<PathBuf>,
    /// Tools that are not an upstream's. They are offered as those of one more upstream, as soon as there are any.
    pub registry: Registry,
    /// What results may take that are held for callers.
    pub results: ResultBudget,
}

impl Default for FleetOptions {
    fn default() -> Self {
        Self {
            client: Implementation {
                name: "mcp-tool-gateway".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                title: None,
            },
            capabilities: RawJson::empty_object(),
            catalogue: CatalogueRules::default(),
            memory: None,
            registry: Registry::new(),
            results: ResultBudget::default(),
        }
    }
}

/// Something that happened to an upstream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FleetEvent {
    /// Its state changed.
    State {
        /// The upstream.
        upstream: UpstreamId,
        /// The new state.
        state: UpstreamState,
        /// Why, if that is known.
        reason: Option<String>,
    },
    /// The configuration was applied: upstreams may be new, others or gone.
    Reloaded,
    /// Its list of tools was read.
    Listed {
        /// The upstream.
        upstream: UpstreamId,
        /// How many tools it has.
        tools: usize,
    },
    /// Definitions are others than they were.
    DefinitionsChanged {
        /// The upstream.
        upstream: UpstreamId,
        /// Which; the first hundred where there are many.
        notices: Vec<DefinitionNotice>,
        /// How many more.
        more: usize,
    },
    /// It sent a notification that belongs to no call.
    Notification {
        /// The upstream.
        upstream: UpstreamId,
        /// The notification.
        notification: Notification,
        /// Whose calls were in flight on its connection.
        in_flight: InFlight,
    },
}

/// All upstreams. Clones share them.
#[derive(Clone, Debug)]
pub struct Fleet {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: FleetOptions,
    upstreams: ArcSwap<BTreeMap<UpstreamId, Arc<Upstream>>>,
    /// How tools become one list, as configured last.
    rules: ArcSwap<CatalogueRules>,
    catalogue: ArcSwap<Catalogue>,
    version: AtomicU64,
    events: broadcast::Sender<FleetEvent>,
    memory: Arc<Memory>,
    lists: Arc<KeptLists>,
    renamed: renamed::Logged,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// How long calls in flight may go on once the fleet ends.
    drain_ms: AtomicU64,
    /// Held while the map or the catalogue is rebuilt, never across an await.
    rebuild: Mutex<()>,
    /// Where supervisors run, also those of upstreams that somebody outside of it brings about.
    runtime: tokio::runtime::Handle,
}

/// How many events a slow listener may lag behind.
const EVENTS: usize = 1_024;

impl Fleet {
    /// Starts the upstreams: eager ones connect at once, in parallel; lazy ones when they are needed.
    ///
    /// Must be called inside a tokio runtime.
    pub fn start(specs: Vec<UpstreamSpec>, options: FleetOptions) -> Self {
        // Before anything runs, so these wait for the file. Afterwards nothing that a call needs does.
        let memory = Arc::new(Memory::open(options.memory.as_deref()));
        if memory.meet(&specs) {
            memory.write();
        }
        let lists = Arc::new(KeptLists::beside(options.memory.as_deref()));
        let shared = Arc::new(Shared {
            rules: ArcSwap::from_pointee(options.catalogue.clone()),
            options,
            upstreams: ArcSwap::default(),
            catalogue: ArcSwap::from_pointee(Catalogue::default()),
            version: AtomicU64::new(0),
            events: broadcast::Sender::new(EVENTS),
            memory,
            lists,
            renamed: renamed::Logged::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            drain_ms: AtomicU64::new(0),
            rebuild: Mutex::new(()),
            runtime: tokio::runtime::Handle::current(),
        });
        registry::watch(&shared);
        accepted::watch(&shared);
        let fleet = Self { shared };
        fleet.apply(specs);
        fleet
    }

    /// Makes the configured upstreams these: new ones start, missing ones end, changed ones are replaced, all others
    /// stay untouched. Calls in flight finish.
    pub fn apply(&self, specs: Vec<UpstreamSpec>) {
        self.shared.load_lists(&specs);
        let _guard = self.shared.rebuild.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.apply_locked(specs);
    }

    /// Takes a whole new configuration over: [the upstreams](Self::apply), and how their tools become one list.
    pub fn reload(&self, specs: Vec<UpstreamSpec>, rules: CatalogueRules) {
        self.shared.load_lists(&specs);
        let _guard = self.shared.rebuild.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that no list is built from old upstreams and new rules.
        self.shared.rules.store(Arc::new(rules));
        self.shared.apply_locked(specs);
    }

    /// What results may take that are held for callers.
    pub fn results(&self) -> &ResultBudget {
        &self.shared.options.results
    }

    /// The tools that are not an upstream's.
    pub fn registry(&self) -> &Registry {
        &self.shared.options.registry
    }

    /// The tools of all upstreams, as far as they are known.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.shared.catalogue.load_full()
    }

    /// What happens to the upstreams from now on.
    pub fn events(&self) -> broadcast::Receiver<FleetEvent> {
        self.shared.events.subscribe()
    }

    /// The names of all upstreams, in order.
    pub fn ids(&self) -> Vec<UpstreamId> {
        self.shared.upstreams.load().keys().cloned().collect()
    }

    /// What is configured for an upstream.
    pub fn spec(&self, id: &str) -> Option<Arc<UpstreamSpec>> {
        self.shared.upstreams.load().get(&UpstreamId::new(id)).map(|upstream| Arc::clone(&upstream.spec))
    }

    /// How an upstream is.
    pub fn health_of(&self, id: &str) -> Option<UpstreamHealth> {
        self.shared.upstreams.load().get(&UpstreamId::new(id)).map(|upstream| upstream.health())
    }

    /// How all upstreams are, in order.
    pub fn health(&self) -> Vec<UpstreamHealth> {
        self.shared.upstreams.load().values().map(|upstream| upstream.health()).collect()
    }

    /// Waits until the tools of these upstreams are known, or it is clear that they are not to be had, but no longer
    /// than `wait`. Lazy upstreams are started. Without names: all upstreams. Where one is not to be had, this waits for the
    /// fallback whose tools are listed instead too.
    pub async fn listed(&self, ids: &[UpstreamId], wait: Duration) {
        self.wait_for_lists(ids, wait, |_| true).await;
    }

    async fn wait_for_lists(
        &self,
        ids: &[UpstreamId],
        wait: Duration,
        is_awaited: impl Fn(&Upstream) -> bool,
    ) {
        let upstreams = self.shared.upstreams.load_full();
        let wanted: Vec<_> = upstreams
            .iter()
            .filter(|(id, upstream)| (ids.is_empty() || ids.contains(id)) && is_awaited(upstream))
            .map(|(_, upstream)| upstream)
            .collect();
        let fallbacks =
            || wanted.iter().filter_map(|upstream| missing::fallback_server(&upstreams, upstream));
        if wanted.iter().copied().chain(fallbacks()).all(|upstream| upstream.is_settled()) {
            return;
        }
        let all = async {
            join_all(wanted.iter().map(|upstream| upstream.settled())).await;
            join_all(fallbacks().map(|upstream| upstream.settled())).await;
        };
        if tokio::time::timeout(wait, all).await.is_err() {
            // Who is late is left out; the list is read again when it comes.
            for upstream in wanted.iter().copied().chain(fallbacks()) {
                upstream.note_late();
            }
            for upstream in wanted {
                self.shared.list_fallback(upstream);
            }
        }
    }

    /// Starts an upstream if it is not there, and waits for it.
    pub async fn connect(&self, id: &str) -> Result<(), CallError> {
        let upstream = self.upstream(id)?;
        upstream.connected().await.map(|_| ())
    }

    /// Ends an upstream's connection and starts it anew; a crashing one is revived.
    pub async fn restart(&self, id: &str) -> Result<(), CallError> {
        let upstream = self.upstream(id)?;
        if let Some(error) = upstream.off() {
            return Err(error);
        }
        upstream.reconnected().await
    }

    /// Reads the list of an upstream's tools again, soon.
    pub fn refresh(&self, id: &str) -> Result<(), CallError> {
        self.upstream(id)?.order(Command::Refresh);
        Ok(())
    }

    /// Accepts definitions that changed: that of the tool with this fingerprint, or all of them where it is
    /// [the one for all](UpstreamHealth::changes_fingerprint). They are no longer reported or blocked.
    ///
    /// Waits until that is written to the file, if there is one; dropped meanwhile, it is accepted all the same.
    pub async fn accept_definitions(&self, id: &str, fingerprint: &str) -> Result<(), AcceptError> {
        let upstream = self.upstream(id).map_err(|_| AcceptError::UnknownUpstream { name: id.to_owned() })?;
        self.shared.accept(&upstream, fingerprint)?;
        self.shared.memory.save().await;
        Ok(())
    }

    /// What became of a file with what was remembered of upstreams, where it could not be read.
    pub fn memory_problem(&self) -> Option<&str> {
        self.shared.memory.problem.as_deref()
    }

    /// Begins to end all upstreams, calls in flight included, and waits for nothing: for destructors.
    pub fn stop(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
    }

    /// Ends all upstreams; calls in flight may finish until `deadline`. When this returns, no child is left.
    pub async fn shutdown(&self, deadline: Duration) {
        self.shared
            .drain_ms
            .store(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.stop();
        self.shared.tasks.wait().await;
        self.shared.memory.save().await;
    }

    fn upstream(&self, id: &str) -> Result<Arc<Upstream>, CallError> {
        let upstreams = self.shared.upstreams.load();
        upstreams
            .get(&UpstreamId::new(id))
            .cloned()
            .ok_or_else(|| CallError::UnknownUpstream { name: id.to_owned() })
    }
}

impl Shared {
    /// Makes the upstreams these, and the registry if it has tools. `rebuild` is held.
    fn apply_locked(self: &Arc<Self>, mut specs: Vec<UpstreamSpec>) {
        specs.extend(registry::missing(&self.options.registry, &specs));
        if self.memory.meet(&specs) {
            self.save_soon();
        }
        let old = self.upstreams.load_full();
        let mut new = BTreeMap::new();
        let mut started = Vec::new();
        for spec in specs {
            let id = spec.id.clone();
            let before = old.get(&id);
            log_problems(&spec, before.map(|upstream| upstream.facts().problems.clone()));
            if let Some(same) = before.filter(|upstream| upstream.spec.is_same_server(&spec)) {
                same.facts().problems = spec.problems;
                new.insert(id, Arc::clone(same));
                continue;
            }
            let standby = standby(&spec).map(|spec| Upstream::new(spec, None));
            let (standby, standby_commands) =
                standby.map(|(upstream, commands)| (Arc::new(upstream), commands)).unzip();
            started.extend(standby.clone().zip(standby_commands));
            let (upstream, commands) = Upstream::new(spec, standby);
            if let Some(kept) = self.lists.take(&id) {
                self.take_stale(&upstream, kept);
            }
            let upstream = Arc::new(upstream);
            new.insert(id, Arc::clone(&upstream));
            started.push((upstream, commands));
        }
        let kept: Vec<*const Upstream> = new.values().map(Arc::as_ptr).collect();
        self.upstreams.store(Arc::new(new));
        for upstream in old.values().filter(|upstream| !kept.contains(&Arc::as_ptr(upstream))) {
            upstream.stop.cancel();
            if let Some(standby) = &upstream.standby {
                standby.stop.cancel();
            }
        }
        for (upstream, commands) in started {
            if upstream.spec.connect == ConnectMode::Eager {
                upstream.order(Command::Connect);
            }
            let shared = Arc::clone(self);
            self.tasks.spawn_on(supervisor::supervise(upstream, shared, commands), &self.runtime);
        }
        self.lists.drop_loaded();
        self.rebuild_locked();
        self.notify(FleetEvent::Reloaded);
    }

    /// Builds the catalogue from what every upstream last said.
    fn rebuild(&self) {
        let _guard = self.rebuild.lock().unwrap_or_else(PoisonError::into_inner);
        self.rebuild_locked();
    }

    fn rebuild_locked(&self) {
        let upstreams = self.upstreams.load();
        for upstream in upstreams.values() {
            if upstream.spec.endpoint == Endpoint::Registry && !upstream.spec.disabled {
                let (known, room) = (upstream.own_tools(), self.room_for_trees(upstream));
                let definitions = self.options.registry.definitions();
                upstream.set_tools(ToolListing::read(&upstream.spec, definitions, known.as_deref(), room));
                upstream.listing.send_replace(upstream::ListingState::Known);
            }
        }
        let mut overrides = ListingOverrides::default();
        let mut listings = Vec::with_capacity(upstreams.len());
        for (id, upstream) in upstreams.iter() {
            let mut tools = upstream.tools();
            if tools.is_none()
                && let Some(fallback) = missing::fallback_server(&upstreams, upstream)
            {
                // Only what the fallback offers itself.
                let offered = |tools: Arc<ToolListing>| {
                    tools.tools.iter().map(|tool| tool.definition.clone()).collect()
                };
                tools = fallback.own_tools().map(|tools| upstream.list_instead(offered(tools)));
                overrides.fallbacks.insert(id.clone(), Arc::clone(&fallback.spec));
            }
            let unaccepted = upstream.unaccepted();
            if !unaccepted.is_empty() {
                overrides.unaccepted.insert(id.clone(), unaccepted);
            }
            listings.push((upstream, tools));
        }
        // The registry becomes an upstream with its first tool; its names are reserved before.
        let registry = UpstreamId::new(&self.options.registry.server_name());
        if !upstreams.contains_key(&registry) {
            overrides.reserved.push(registry);
        }
        let parts: Vec<Part<'_>> = listings
            .iter()
            .map(|(upstream, tools)| Part { spec: &upstream.spec, listing: tools.as_deref() })
            .collect();
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        let catalogue = build(version, &parts, &self.rules.load(), &overrides);
        self.renamed.log(&catalogue);
        self.catalogue.store(Arc::new(catalogue));
    }

    /// Bytes of definitions of an upstream whose trees may be kept beside those of all others.
    fn room_for_trees(&self, upstream: &Upstream) -> usize {
        let upstreams = self.upstreams.load();
        let others = upstreams.values().filter(|other| other.spec.id != upstream.spec.id);
        let kept = others.filter_map(|other| Some(other.own_tools()?.tree_bytes)).sum();
        TREE_BYTES.saturating_sub(kept)
    }

    fn accept(&self, upstream: &Upstream, fingerprint: &str) -> Result<(), AcceptError> {
        let notices = upstream.facts().notices.clone();
        let changed =
            notices.iter().map(|notice| (tool_key(&notice.change.tool), notice.fingerprint.as_str()));
        let accepted = memory::accepted_by(fingerprint, changed);
        if accepted.is_empty() || notices.is_empty() {
            let (upstream, fingerprint) = (upstream.spec.id.clone(), fingerprint.chars().take(100).collect());
            return Err(AcceptError::Stale { upstream, fingerprint, pending: notices.len() });
        }
        self.memory.accept(&upstream.spec, accepted.clone());
        self.release(upstream, &accepted);
        Ok(())
    }

    /// Takes away the notices of definitions that somebody accepted, given by the keys of their tools.
    fn release(&self, upstream: &Upstream, accepted: &BTreeMap<String, String>) {
        let mut was_blocked = false;
        upstream.facts().notices.retain(|notice| {
            let is_accepted =
                accepted.get(tool_key(&notice.change.tool).as_ref()) == Some(&notice.fingerprint);
            was_blocked |= is_accepted && notice.blocked;
            !is_accepted
        });
        if was_blocked {
            self.rebuild();
            let tools = upstream.own_tools().map_or(0, |tools| tools.definitions.len());
            self.notify(FleetEvent::Listed { upstream: upstream.spec.id.clone(), tools });
        }
    }

    /// Takes over what was accepted in the file.
    async fn take_accepted(&self) {
        self.memory.reload().await;
        for upstream in self.upstreams.load().values() {
            let mut waiting = upstream.facts().notices.clone();
            waiting.retain(|notice| notice.blocked);
            if !waiting.is_empty() {
                self.release(upstream, &self.memory.remembered_of(&upstream.spec, &waiting));
            }
        }
    }

    /// Writes what is remembered without waiting for the file. [`Fleet::shutdown`] waits for it.
    fn save_soon(&self) {
        let memory = Arc::clone(&self.memory);
        self.tasks.spawn_on(async move { memory.save().await }, &self.runtime);
    }

    fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms.load(Ordering::Relaxed))
    }

    fn notify(&self, event: FleetEvent) {
        // Nobody listening is fine.
        let _ = self.events.send(event);
    }
}
