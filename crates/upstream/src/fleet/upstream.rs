//! One upstream as everybody else sees it: its state, its connection, its tools.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use gateway_config::{Endpoint, Fallback, OnDefinitionChange, Problem, UpstreamSpec};
use gateway_protocol::{Era, RawJson};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::catalogue::ToolListing;
use crate::connection::Connection;
use crate::error::CallError;
use crate::fleet::health::{DefinitionNotice, UpstreamHealth, UpstreamState};
use crate::fleet::offers::Offers;
use crate::fleet::responders::Responders;
use crate::fleet::subscriptions::Subscriptions;

/// What the supervisor is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Be there.
    Connect,
    /// End the connection and start anew.
    Restart,
    /// Read the list again.
    Refresh,
}

/// One upstream.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) spec: Arc<UpstreamSpec>,
    pub(super) connection: ArcSwapOption<Connection>,
    pub(super) state: watch::Sender<UpstreamState>,
    /// Whether a listing succeeded since the last connect, or the last attempt at one failed.
    pub(super) listing: watch::Sender<ListingState>,
    /// How many connections there were.
    pub(super) generation: AtomicU64,
    pub(super) stop: CancellationToken,
    /// The command that takes its calls over.
    pub(super) standby: Option<Arc<Upstream>>,
    commands: mpsc::Sender<Command>,
    facts: Mutex<Facts>,
    /// Milliseconds since `born` of the last use.
    last_used: AtomicU64,
    born: Instant,
    /// Somebody waited for its tools in vain.
    late: AtomicBool,
    /// Who answers for the calls in flight.
    pub(super) responders: Arc<Responders>,
    /// What it offers beside tools, as far as somebody asked.
    pub(super) offers: Offers,
    pub(super) subscriptions: Subscriptions,
    /// How many of its requests were refused, over all connections.
    pub(super) refused: Arc<AtomicU64>,
}

/// What is known about the list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingState {
    Unknown,
    Known,
    Failed,
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// What is wrong with its entry in the configuration.
    pub(super) problems: Vec<Problem>,
    tools: Option<Arc<ToolListing>>,
    /// Whether `tools` are those of an earlier run.
    is_stale: bool,
    /// What is listed for it instead of its own tools.
    stand_in: Option<Arc<ToolListing>>,
    /// The reason of the failure that was logged last.
    logged: Option<String>,
    /// Why it does not work.
    pub(super) reason: Option<String>,
    era: Option<Era>,
    server: Option<(String, String)>,
    transport: Option<&'static str>,
    pub(super) restarts: u64,
    pub(super) failures: u32,
    next_attempt: Option<Instant>,
    /// When the last attempt began or failed.
    last_attempt: Option<Instant>,
    pub(super) stderr: String,
    pub(super) notices: Vec<DefinitionNotice>,
}

/// How many orders may wait; more of the same change nothing.
const ORDERS: usize = 16;

impl Upstream {
    pub(super) fn new(spec: UpstreamSpec, standby: Option<Arc<Self>>) -> (Self, mpsc::Receiver<Command>) {
        let (commands, receiver) = mpsc::channel(ORDERS);
        let state = match (spec.disabled, &spec.endpoint) {
            (true, _) => UpstreamState::Disabled,
            (false, Endpoint::Invalid) => UpstreamState::Invalid,
            (false, _) => UpstreamState::Idle,
        };
        let facts = Facts { problems: spec.problems.clone(), ..Facts::default() };
        let upstream = Self {
            spec: Arc::new(spec),
            connection: ArcSwapOption::empty(),
            state: watch::Sender::new(state),
            listing: watch::Sender::new(ListingState::Unknown),
            generation: AtomicU64::new(0),
            stop: CancellationToken::new(),
            standby,
            commands,
            facts: Mutex::new(facts),
            last_used: AtomicU64::new(0),
            born: Instant::now(),
            late: AtomicBool::new(false),
            responders: Arc::default(),
            offers: Offers::default(),
            subscriptions: Subscriptions::default(),
            refused: Arc::default(),
        };
        (upstream, receiver)
    }

    /// Asks the supervisor for something. A full queue means that it is asked for a connection many times already.
    pub(super) fn order(&self, command: Command) {
        let _ = self.commands.try_send(command);
    }

    /// The live connection, started if need be.
    pub(super) async fn connected(&self) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        if let Some(error) = self.off() {
            return Err(error);
        }
        let mut state = self.state.subscribe();
        let before = self.facts().last_attempt;
        if self.may_try_now() {
            self.order(Command::Connect);
        } else {
            return Err(self.unreachable());
        }
        let waiting = async {
            loop {
                if let Some(connection) = self.live() {
                    return Ok(connection);
                }
                // Before the order is taken the state is that of the last failure, which says nothing about this try.
                let now = *state.borrow_and_update();
                if now == UpstreamState::Closed || (self.facts().last_attempt > before && now.is_down()) {
                    return Err(self.unreachable());
                }
                if state.changed().await.is_err() {
                    return Err(self.unreachable());
                }
            }
        };
        match tokio::time::timeout(self.spec.timeouts.connect, waiting).await {
            Ok(outcome) => outcome,
            Err(_) => Err(CallError::Unreachable {
                upstream: self.spec.id.clone(),
                reason: format!("still connecting after {:?}", self.spec.timeouts.connect),
            }),
        }
    }

    /// Ends the connection, if there is one, starts anew and waits for what comes of it.
    pub(super) async fn reconnected(&self) -> Result<(), CallError> {
        let mut state = self.state.subscribe();
        let (before, generation) = (self.facts().last_attempt, self.generation.load(Ordering::Acquire));
        self.order(Command::Restart);
        let waiting = async {
            loop {
                if self.generation.load(Ordering::Acquire) > generation && self.live().is_some() {
                    return Ok(());
                }
                let tried = self.facts().last_attempt > before;
                if (tried && state.borrow().is_down()) || state.changed().await.is_err() {
                    return Err(self.unreachable());
                }
            }
        };
        let wait = self.spec.timeouts.connect + self.spec.timeouts.close.saturating_mul(2);
        tokio::time::timeout(wait, waiting).await.unwrap_or_else(|_| Err(self.unreachable()))
    }

    /// Whether its tools are known, or not to be had for now.
    pub(super) fn is_settled(&self) -> bool {
        self.is_clear() || self.spec.is_off() || self.late.load(Ordering::Relaxed)
    }

    fn is_clear(&self) -> bool {
        *self.listing.borrow() != ListingState::Unknown
            && self.stand_in().is_none_or(|standby| standby.is_settled())
    }

    /// Notes that somebody waited for its tools in vain; nobody else has to, until they are there.
    pub(super) fn note_late(&self) {
        self.late.store(!self.is_clear(), Ordering::Relaxed);
    }

    /// Waits until its tools are known, or it is clear that they are not to be had.
    pub(super) async fn settled(&self) {
        if self.is_settled() {
            return;
        }
        if *self.listing.borrow() == ListingState::Unknown {
            self.order(Command::Connect);
            let mut listing = self.listing.subscribe();
            let _ = listing.wait_for(|listing| *listing != ListingState::Unknown).await;
        }
        if let Some(standby) = self.stand_in() {
            Box::pin(standby.settled()).await;
        }
    }

    /// Makes the state of its listing another, if it is `old`.
    pub(super) fn replace_listing(&self, old: ListingState, new: ListingState) {
        self.listing.send_if_modified(|listing| *listing == old && std::mem::replace(listing, new) == old);
    }

    /// The command whose tools are to be listed instead of its own: it was never reached, so nobody knows its own, and a
    /// call would be taken over.
    fn stand_in(&self) -> Option<&Arc<Self>> {
        let is_missing = *self.listing.borrow() == ListingState::Failed
            && self.live().is_none()
            && self.spec.fallback_on.unreachable;
        self.standby.as_ref().filter(|_| is_missing && self.own_tools().is_none())
    }

    /// The connection, if it lives.
    pub(super) fn live(&self) -> Option<Arc<Connection>> {
        self.connection.load_full().filter(|connection| !connection.is_ended())
    }

    /// Whether it was ever connected.
    pub(super) fn was_live(&self) -> bool {
        self.generation.load(Ordering::Acquire) > 0
    }

    /// What it listed, or the command that stands in for it; `None` if neither was ever listed.
    pub(super) fn tools(&self) -> Option<Arc<ToolListing>> {
        self.own_tools().or_else(|| {
            let definitions = Arc::clone(&self.standby.as_ref()?.own_tools()?.definitions);
            Some(self.list_instead(definitions))
        })
    }

    pub(super) fn own_tools(&self) -> Option<Arc<ToolListing>> {
        self.facts().tools.clone()
    }

    /// The definitions of another upstream, as its own configuration has them.
    pub(super) fn list_instead(&self, definitions: Arc<[RawJson]>) -> Arc<ToolListing> {
        let known = self.facts().stand_in.clone();
        let listing = Arc::new(ToolListing::read(&self.spec, definitions, known.as_deref(), 0));
        self.facts().stand_in = Some(Arc::clone(&listing));
        listing
    }

    /// Whether it was tried in vain and has never listed its tools.
    pub(super) fn is_missing(&self) -> bool {
        if self.spec.is_off() || self.live().is_some() {
            return false;
        }
        let facts = self.facts();
        facts.tools.is_none() && (facts.failures > 0 || self.late.load(Ordering::Relaxed))
    }

    /// Whether a name begins with its id or with the prefix that its tools have in the list of all.
    pub(super) fn has_prefix_of(&self, name: &str) -> bool {
        let configured = self.spec.prefix.as_deref().filter(|prefix| !prefix.is_empty());
        configured.into_iter().chain([self.spec.id.as_str()]).any(|prefix| {
            let tool = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix("__"));
            tool.is_some_and(|tool| !tool.is_empty())
        })
    }

    /// Why nothing is ever connected for it; `None` if it can be used.
    pub(super) fn off(&self) -> Option<CallError> {
        let upstream = || self.spec.id.clone();
        if self.spec.disabled {
            return Some(CallError::Disabled { upstream: upstream() });
        }
        // Callers need not learn where the file is.
        let reason =
            || self.facts().problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>();
        (self.spec.endpoint == Endpoint::Invalid)
            .then(|| CallError::Misconfigured { upstream: upstream(), reason: reason().join("; ") })
    }

    /// Why its tools are not known; `None` if they are.
    pub(super) fn unlisted(&self) -> Option<CallError> {
        if let Some(error) = self.off() {
            return Some(error);
        }
        if self.own_tools().is_some() {
            return None;
        }
        if self.live().is_none() {
            return Some(self.unreachable());
        }
        let reason = self.facts().reason.clone().unwrap_or_else(|| "it has not answered yet".to_owned());
        Some(CallError::Unlisted { upstream: self.spec.id.clone(), reason })
    }

    /// Why calls of a tool are refused.
    pub(super) fn blocked(&self, tool: &str) -> Option<String> {
        // Most upstreams never block anything, and their calls need not look.
        if self.spec.tools.on_definition_change != OnDefinitionChange::Block {
            return None;
        }
        let facts = self.facts();
        let notice = facts.notices.iter().find(|notice| notice.blocked && notice.change.tool == tool)?;
        Some(notice.change.to_string())
    }

    /// All tools whose calls are refused, each with the reason.
    pub(super) fn unaccepted(&self) -> BTreeMap<String, String> {
        if self.spec.tools.on_definition_change != OnDefinitionChange::Block {
            return BTreeMap::new();
        }
        let facts = self.facts();
        let blocked = facts.notices.iter().filter(|notice| notice.blocked);
        blocked.map(|notice| (notice.change.tool.clone(), notice.change.to_string())).collect()
    }

    pub(super) fn set_tools(&self, tools: ToolListing) {
        self.late.store(false, Ordering::Relaxed);
        let mut facts = self.facts();
        (facts.tools, facts.stand_in, facts.reason) = (Some(Arc::new(tools)), None, None);
        facts.is_stale = false;
    }

    /// Takes what it listed in an earlier run, until it is asked again.
    pub(super) fn set_stale_tools(&self, tools: ToolListing) {
        let mut facts = self.facts();
        (facts.tools, facts.is_stale) = (Some(Arc::new(tools)), true);
    }

    /// Whether its tools are those of an earlier run.
    pub(super) fn is_stale(&self) -> bool {
        self.facts().is_stale
    }

    /// Lets a stale list be read again, unless that was tried. Gives false: nobody has to wait for it.
    pub(super) fn refresh_stale(&self) -> bool {
        if *self.listing.borrow() == ListingState::Unknown {
            self.order(Command::Connect);
        }
        false
    }

    /// Notes why it failed, or that it works. Whether that is another reason than the one before.
    pub(super) fn note_logged(&self, reason: Option<&str>) -> bool {
        let mut facts = self.facts();
        let is_new = facts.logged.as_deref() != reason;
        facts.logged = reason.map(str::to_owned);
        is_new
    }

    pub(super) fn attempt_begins(&self) {
        let mut facts = self.facts();
        facts.last_attempt = Some(Instant::now());
        facts.next_attempt = None;
    }

    pub(super) fn attempt_failed(&self, reason: String, failures: u32, pause: Duration) {
        let mut facts = self.facts();
        facts.reason = Some(reason);
        facts.failures = failures;
        facts.next_attempt = Some(Instant::now() + pause);
        facts.last_attempt = Some(Instant::now());
    }

    pub(super) fn attempt_succeeded(&self, connection: &Connection) {
        let mut facts = self.facts();
        facts.era = Some(connection.era().clone());
        let server = connection.server_info();
        facts.server = Some((server.name.clone(), server.version.clone()));
        facts.transport = Some(connection.transport());
        facts.reason = None;
        facts.next_attempt = None;
    }

    /// How it is, at this moment.
    pub(super) fn health(&self) -> UpstreamHealth {
        let live = self.live();
        let state = *self.state.borrow();
        let listing = *self.listing.borrow();
        let facts = self.facts();
        let ok = match state {
            UpstreamState::Connected => live.is_some() && listing == ListingState::Known,
            UpstreamState::Idle => facts.tools.is_some() || facts.reason.is_none(),
            UpstreamState::Disabled
            | UpstreamState::Invalid
            | UpstreamState::Connecting
            | UpstreamState::Waiting
            | UpstreamState::Crashing
            | UpstreamState::Closed => false,
        };
        let config_problems: Vec<String> = facts.problems.iter().map(ToString::to_string).collect();
        UpstreamHealth {
            id: self.spec.id.clone(),
            transport: facts.transport.unwrap_or_else(|| self.spec.endpoint.transport()),
            state,
            ok,
            reason: if self.spec.disabled {
                Some("disabled by configuration".to_owned())
            } else if self.spec.endpoint == Endpoint::Invalid {
                Some(config_problems.join("; "))
            } else {
                facts.reason.clone()
            },
            config_problems,
            required: self.spec.required,
            era: facts.era.clone(),
            server: facts.server.clone(),
            tools: facts.tools.as_ref().map(|tools| tools.definitions.len()),
            restarts: facts.restarts,
            failures: facts.failures,
            next_attempt_ms: facts
                .next_attempt
                .map(|at| millis(at.saturating_duration_since(Instant::now()))),
            in_flight: live.as_ref().map_or(0, |connection| connection.in_flight()),
            process: live.as_ref().and_then(|connection| connection.process()),
            stderr: live.as_ref().map_or_else(|| facts.stderr.clone(), |connection| connection.stderr()),
            stale: facts.is_stale,
            malformed_tools: facts.tools.as_ref().map(|tools| tools.malformed()).unwrap_or_default(),
            changed_definitions: facts.notices.clone(),
            refused_requests: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Notes that somebody used it.
    pub(super) fn touch(&self) {
        self.last_used.store(millis(self.born.elapsed()), Ordering::Relaxed);
    }

    /// How long nobody has used it.
    pub(super) fn unused_for(&self) -> Duration {
        self.born.elapsed().saturating_sub(Duration::from_millis(self.last_used.load(Ordering::Relaxed)))
    }

    /// Callers may bring the next attempt forward, but not more than once a second.
    fn may_try_now(&self) -> bool {
        const SOONEST: Duration = Duration::from_secs(1);
        let state = *self.state.borrow();
        !state.is_down() || self.facts().last_attempt.is_none_or(|at| at.elapsed() >= SOONEST)
    }

    fn unreachable(&self) -> CallError {
        let health = self.health();
        let mut reason = health.reason.unwrap_or_else(|| health.state.name().to_owned());
        if let Some(next) = health.next_attempt_ms {
            reason = format!("{reason} (next attempt in {:.1} s)", Duration::from_millis(next).as_secs_f32());
        }
        CallError::Unreachable { upstream: self.spec.id.clone(), reason }
    }

    /// What is known of it. Locked: not to be held across an await, nor while another upstream is looked at.
    pub(super) fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The command that takes over, as an upstream of its own: it starts when it is needed first, and is spoken to as the
/// upstream that it stands in for.
pub(super) fn standby(upstream: &UpstreamSpec) -> Option<UpstreamSpec> {
    let Some(Fallback::Command(endpoint)) = upstream.fallback.as_ref().filter(|_| !upstream.is_off()) else {
        return None;
    };
    let mut spec = UpstreamSpec::new(&format!("{}/fallback", upstream.id), endpoint.clone());
    spec.timeouts.clone_from(&upstream.timeouts);
    spec.idle_stop = upstream.idle_stop;
    spec.restart.clone_from(&upstream.restart);
    spec.limits.clone_from(&upstream.limits);
    spec.hidden_env = Arc::clone(&upstream.hidden_env);
    Some(spec)
}

/// Logs what is wrong with an entry, unless it was logged before.
pub(super) fn log_problems(spec: &UpstreamSpec, before: Option<Vec<Problem>>) {
    if spec.problems.is_empty() || before.is_some_and(|before| before == spec.problems) {
        return;
    }
    let upstream = &spec.id;
    for problem in &spec.problems {
        if spec.endpoint == Endpoint::Invalid {
            error!(%upstream, %problem, "Server left out: its entry in the configuration is invalid.");
        } else {
            error!(%upstream, %problem, "Entry of a server is invalid; it goes on under the earlier one.");
        }
    }
}
