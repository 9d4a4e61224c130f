//! What an upstream offers beside tools: resources, their templates, and prompts. Read when somebody asks, kept until the
//! server says that it changed, or it is old.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateway_config::{Endpoint, RestartPolicy, UpstreamSpec};
use gateway_protocol::{ListKind, RawJson, RpcError, code, method};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Fleet;
use super::conform::conform;
use super::listing::list;
use super::pause::{pause, random_byte, with_jitter};
use super::upstream::{Command, Upstream};
use crate::error::CallError;

/// What a server said that it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// It has tools.
    pub tools: bool,
    /// It has prompts.
    pub prompts: bool,
    /// It has resources.
    pub resources: bool,
    /// It completes arguments.
    pub completions: bool,
    /// It sends log messages.
    pub logging: bool,
    /// Extensions that it knows, with their settings.
    pub extensions: Map<String, Value>,
    /// It notifies subscribers when a resource changes.
    pub subscribe: bool,
}

impl Capabilities {
    /// Reads what a server said.
    pub fn of(raw: &RawJson) -> Self {
        let said: Value = raw.read().unwrap_or_default();
        let has = |name: &str| said.get(name).is_some_and(|value| !value.is_null());
        Self {
            tools: has("tools"),
            prompts: has("prompts"),
            resources: has("resources"),
            completions: has("completions"),
            logging: has("logging"),
            extensions: said.get("extensions").and_then(Value::as_object).cloned().unwrap_or_default(),
            subscribe: said.pointer("/resources/subscribe") == Some(&Value::Bool(true)),
        }
    }
}

/// Characters of a malformed entry in the log.
const SHOWN: usize = 80;

/// How long a list is taken for true, if the server gives neither its lifetime nor announces a change.
const AGE: Duration = Duration::from_mins(5);

/// The lists of one upstream that somebody asked for. The last that was read is kept until there is another: a server that
/// is away for a while still counts where names are given.
#[derive(Debug, Default)]
pub(super) struct Offers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Grows with every change, so that a list that was asked for before it is not taken for new.
    version: u64,
    lists: HashMap<ListKind, Kept>,
    reading: HashMap<ListKind, Reading>,
    /// Lists that were beyond all bounds, and until when they are not read again.
    excessive: HashMap<ListKind, Excess>,
    /// Those that somebody waited for in vain; nobody else has to.
    late: HashSet<Option<ListKind>>,
    /// What the server said last that it can do.
    can: Option<Capabilities>,
    /// Digests of the malformed entries that were logged last.
    malformed: HashMap<ListKind, u64>,
}

/// A list that the server makes too large.
#[derive(Clone, Debug)]
struct Excess {
    failures: u32,
    until: Instant,
    error: CallError,
}

/// Notified when a list was read.
type Reading = watch::Receiver<Option<Result<Arc<[RawJson]>, CallError>>>;

#[derive(Clone, Debug)]
struct Kept {
    entries: Arc<[RawJson]>,
    until: Instant,
    then: Then,
}

/// What is to be done with a list that is no longer known to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It is another now, or may be by the server's own word: whoever asks waits for the new one.
    Wait,
    /// It is only old: it is given while it is read again.
    Renew,
}

impl Offers {
    /// Takes note of a notification.
    pub(super) fn note(&self, notification: &str) {
        match notification {
            method::RESOURCES_CHANGED => self.outdate(&[ListKind::Resources, ListKind::ResourceTemplates]),
            method::PROMPTS_CHANGED => self.outdate(&[ListKind::Prompts]),
            _ => {}
        }
    }

    /// A new connection may be to another version of the server.
    pub(super) fn renew(&self, capabilities: &RawJson) {
        self.outdate(&[ListKind::Resources, ListKind::ResourceTemplates, ListKind::Prompts]);
        let mut state = self.lock();
        state.can = Some(Capabilities::of(capabilities));
        state.late.clear();
        state.excessive.clear();
    }

    fn outdate(&self, kinds: &[ListKind]) {
        let mut state = self.lock();
        state.version += 1;
        for kind in kinds {
            state.reading.remove(kind);
            if let Some(kept) = state.lists.get_mut(kind) {
                (kept.until, kept.then) = (Instant::now(), Then::Wait);
            }
        }
    }

    fn keep(&self, version: u64, kind: ListKind, kept: Kept) {
        let mut state = self.lock();
        if state.version == version {
            state.lists.insert(kind, kept);
            state.late.remove(&Some(kind));
            state.excessive.remove(&kind);
        }
    }

    /// Lets the next attempt wait, each time longer.
    fn note_excess(&self, kind: ListKind, policy: &RestartPolicy, error: CallError) {
        let mut state = self.lock();
        let failures = state.excessive.get(&kind).map_or(0, |excess| excess.failures).saturating_add(1);
        let until = Instant::now() + with_jitter(pause(policy, failures), random_byte());
        state.excessive.insert(kind, Excess { failures, until, error });
    }

    /// Logs that entries of a list are malformed, in one line, unless the last line about that list said the same.
    fn log_malformed(&self, spec: &UpstreamSpec, kind: ListKind, malformed: &[(RawJson, Vec<String>)]) {
        let mut hasher = DefaultHasher::new();
        for (entry, faults) in malformed {
            (entry.as_str(), faults).hash(&mut hasher);
        }
        let digest = hasher.finish();
        let is_known = self.lock().malformed.insert(kind, digest) == Some(digest);
        if let Some((first, faults)) = malformed.first().filter(|_| !is_known) {
            let (upstream, count, faults) = (&spec.id, malformed.len(), faults.join("; "));
            let first: String = first.as_str().chars().take(SHOWN).collect();
            tracing::warn!(%upstream, count, first, faults, "Some of its {} are malformed.", kind.member());
        }
    }

    /// The last that is known of a list.
    fn last(&self, kind: ListKind) -> Option<Arc<[RawJson]>> {
        self.lock().lists.get(&kind).map(|kept| Arc::clone(&kept.entries))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fleet {
    /// What an upstream can do, as it said last; one that never said is started and waited for, but no longer than `wait`,
    /// and by one caller only.
    pub async fn capabilities(&self, id: &str, wait: Duration) -> Option<Capabilities> {
        let upstream = self.upstream(id).ok()?;
        if upstream.spec.endpoint == Endpoint::Registry && !upstream.spec.disabled {
            // In our own process, and another with every resource that is registered.
            let resources = self.registry().has_resources();
            return Some(Capabilities { tools: true, resources, ..Capabilities::default() });
        }
        let known = || upstream.offers.lock().can.clone();
        if let Some(can) = known() {
            return Some(can);
        }
        if upstream.offers.lock().late.contains(&None) {
            upstream.order(Command::Connect);
            return None;
        }
        match tokio::time::timeout(wait, upstream.connected()).await {
            Ok(Ok(connection)) => Some(Capabilities::of(connection.capabilities())),
            Ok(Err(_)) => None,
            Err(_) => {
                upstream.offers.lock().late.insert(None);
                known()
            }
        }
    }

    /// The instructions for the model of an upstream that is connected.
    pub fn instructions(&self, id: &str) -> Option<String> {
        let upstream = self.upstream(id).ok()?;
        upstream.live()?.instructions().map(str::to_owned)
    }

    /// The resources, templates or prompts of an upstream, as they came but for what MCP does not allow. A server that does
    /// not declare them is not asked. A list that is not there after `wait` is the last that was read, and the next caller does not wait for it.
    pub async fn entries(
        &self,
        id: &str,
        kind: ListKind,
        wait: Duration,
    ) -> Result<Arc<[RawJson]>, CallError> {
        let upstream = self.upstream(id)?;
        if kind == ListKind::Tools {
            return Ok(upstream.tools().map(|tools| Arc::clone(&tools.definitions)).unwrap_or_default());
        }
        if upstream.spec.endpoint == Endpoint::Registry && !upstream.spec.disabled {
            return Ok(self.registry().resource_definitions(kind).into());
        }
        let last_or = |error: CallError| upstream.offers.last(kind).ok_or(error);
        let mut reading = {
            let mut state = upstream.offers.lock();
            let kept = state.lists.get(&kind).cloned();
            let is_fresh = kept.as_ref().is_some_and(|kept| kept.until > Instant::now());
            if let Some(kept) = kept.as_ref().filter(|_| is_fresh) {
                return Ok(Arc::clone(&kept.entries));
            }
            let refused = state.excessive.get(&kind).filter(|excess| excess.until > Instant::now());
            if let Some(error) = refused.map(|excess| excess.error.clone()) {
                drop(state);
                return last_or(error);
            }
            let version = state.version;
            let reading =
                state.reading.entry(kind).or_insert_with(|| self.read(&upstream, kind, version)).clone();
            if let Some(kept) = kept.filter(|kept| kept.then == Then::Renew) {
                return Ok(kept.entries);
            }
            if state.late.contains(&Some(kind)) {
                drop(state);
                return last_or(late(&upstream));
            }
            reading
        };
        let outcome = match tokio::time::timeout(wait, reading.wait_for(Option::is_some)).await {
            Ok(Ok(outcome)) => outcome.clone(),
            Ok(Err(_)) => None,
            Err(_) => {
                upstream.offers.lock().late.insert(Some(kind));
                None
            }
        };
        match outcome {
            Some(Ok(entries)) => Ok(entries),
            Some(Err(error)) => last_or(error),
            None => last_or(late(&upstream)),
        }
    }

    /// Begins to read a list; whoever waits for it may go away.
    fn read(&self, upstream: &Arc<Upstream>, kind: ListKind, version: u64) -> Reading {
        let (sender, reading) = watch::channel(None);
        let (upstream, stop) = (Arc::clone(upstream), self.shared.stop.clone());
        self.shared.tasks.spawn(async move {
            let outcome = tokio::select! {
                outcome = entries_of(&upstream, kind) => outcome,
                () = stop.cancelled() => return,
                () = upstream.stop.cancelled() => return,
            };
            let outcome = outcome.map(|(listed, kept)| {
                upstream.offers.keep(listed, kind, kept.clone());
                kept.entries
            });
            {
                let mut state = upstream.offers.lock();
                // A change meanwhile began another one.
                if state.version == version {
                    state.reading.remove(&kind);
                }
            }
            sender.send_replace(Some(outcome));
        });
        reading
    }
}

fn late(upstream: &Upstream) -> CallError {
    CallError::Unreachable {
        upstream: upstream.spec.id.clone(),
        reason: "it has not said yet what it offers".to_owned(),
    }
}

/// Reads a list, and gives which version of the server's offers it belongs to: a connection that had to be made first began
/// a new one.
async fn entries_of(upstream: &Upstream, kind: ListKind) -> Result<(u64, Kept), CallError> {
    let connection = upstream.connected().await?;
    let version = upstream.offers.lock().version;
    let can = Capabilities::of(connection.capabilities());
    let declared = match kind {
        ListKind::Tools => can.tools,
        ListKind::Resources | ListKind::ResourceTemplates => can.resources,
        ListKind::Prompts => can.prompts,
    };
    if !declared {
        let kept = Kept { entries: Arc::default(), until: Instant::now() + AGE, then: Then::Renew };
        return Ok((version, kept));
    }
    upstream.touch();
    let spec = &upstream.spec;
    let listing = list(&connection, kind, spec).await.map_err(|cause| {
        let error = RpcError::new(code::INTERNAL_ERROR, cause.to_string());
        let error = CallError::Refused { upstream: spec.id.clone(), error };
        if cause.is_excess() {
            upstream.offers.note_excess(kind, &spec.restart, error.clone());
        }
        error
    })?;
    let (until, then) = match listing.ttl {
        Some(ttl) => (Instant::now() + ttl, Then::Wait),
        None => (Instant::now() + AGE, Then::Renew),
    };
    let mut malformed = Vec::new();
    let shown = listing.entries.into_iter().map(|entry| {
        let Some((shown, faults)) = conform(kind, &entry) else { return entry };
        if !faults.is_empty() {
            malformed.push((shown.clone(), faults));
        }
        shown
    });
    let entries = shown.collect();
    upstream.offers.log_malformed(spec, kind, &malformed);
    Ok((version, Kept { entries, until, then }))
}

#[cfg(test)]
mod tests {
    use gateway_testkit::{Fixture, SpokenEra};

    use super::*;
    use crate::fleet::FleetOptions;
    use gateway_config::{HttpMode, UpstreamSpec};

    #[test]
    fn capabilities_are_read_by_presence() {
        let raw = |text: &str| RawJson::parse(text.to_owned()).unwrap();
        let read =
            Capabilities::of(&raw(r#"{"tools":{},"resources":{"subscribe":true},"prompts":null,"x":1}"#));
        assert_eq!(
            read,
            Capabilities { tools: true, resources: true, subscribe: true, ..Capabilities::default() }
        );
        assert_eq!(Capabilities::of(&raw("[]")), Capabilities::default());
    }

    #[test]
    fn a_list_that_is_older_than_a_change_is_not_taken_for_new() {
        let offers = Offers::default();
        let kept = |number: u32| Kept {
            entries: Arc::from([RawJson::of(&number).unwrap()]),
            until: Instant::now() + AGE,
            then: Then::Renew,
        };
        let before = offers.lock().version;
        offers.note(method::PROMPTS_CHANGED);
        offers.keep(before, ListKind::Prompts, kept(1));
        assert!(offers.last(ListKind::Prompts).is_none(), "it was asked for before the change");
        let now = offers.lock().version;
        offers.keep(now, ListKind::Prompts, kept(2));
        offers.note(method::LOG_MESSAGE);
        let state = |offers: &Offers| offers.lock().lists.get(&ListKind::Prompts).cloned().unwrap();
        assert!(state(&offers).until > Instant::now() && state(&offers).then == Then::Renew);
        offers.note(method::PROMPTS_CHANGED);
        assert!(state(&offers).until <= Instant::now() && state(&offers).then == Then::Wait);
        assert_eq!(offers.last(ListKind::Prompts).map(|entries| entries.len()), Some(1), "the last is kept");
    }

    /// A server of the legacy era announces neither how long a list holds nor, here, that it changed.
    #[tokio::test]
    async fn a_list_is_read_again_after_five_minutes() {
        let fixture = Fixture::http().era(SpokenEra::Legacy).everything().start().await.unwrap();
        let endpoint = Endpoint::Http {
            url: fixture.url().to_owned(),
            headers: std::collections::BTreeMap::new(),
            mode: HttpMode::Auto,
        };
        let fleet = Fleet::start(vec![UpstreamSpec::new("up", endpoint)], FleetOptions::default());
        let ask = async || fleet.entries("up", ListKind::Prompts, Duration::from_secs(20)).await.unwrap();
        let listed = ask().await;
        assert!(!listed.is_empty());
        let upstream = fleet.upstream("up").unwrap();
        let until = || upstream.offers.lock().lists.get(&ListKind::Prompts).map(|kept| kept.until).unwrap();
        let is_reading = || upstream.offers.lock().reading.contains_key(&ListKind::Prompts);
        let first = until();
        // From here on time passes only on demand.
        tokio::time::pause();
        let age = first - Instant::now();
        assert!(age <= Duration::from_mins(5) && age > Duration::from_mins(4), "{age:?}");
        tokio::time::advance(age.saturating_sub(Duration::from_secs(1))).await;
        assert_eq!(ask().await, listed);
        assert!(!is_reading(), "it is not old yet");
        tokio::time::advance(Duration::from_secs(2)).await;
        let now = Instant::now();
        assert_eq!((ask().await, Instant::now()), (listed, now), "nobody waits for it");
        assert!(is_reading(), "it is read again meanwhile");
        tokio::time::resume();
        while until() == first {
            tokio::task::yield_now().await;
        }
        assert!(until() > Instant::now(), "it holds again");
        fleet.shutdown(Duration::ZERO).await;
    }
}
