//! Keeps one upstream alive: connects, lists, notices its end, comes back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gateway_config::{Endpoint, UpstreamSpec};
use gateway_protocol::{ListKind, method};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use super::health::UpstreamState;
use super::listing::{ListError, Listing, list};
use super::pause::{pause, random_byte, with_jitter};
use super::upstream::{Command, ListingState, Upstream};
use super::{FleetEvent, Shared};
use crate::catalogue::{MalformedTool, ToolListing, Withheld};
use crate::connection::{ConnectOptions, Connection, ServerEvent};
use crate::error::ConnectError;

/// How many notifications of a server may wait.
const SERVER_EVENTS: usize = 256;

/// Notifications of changed lists come in storms; the list is read once they pause for so long.
const SETTLE: Duration = Duration::from_millis(50);

/// A storm that does not pause is answered after so long all the same.
const LONGEST_STORM: Duration = Duration::from_secs(1);

/// Lists are not read more often than this, whatever a server says about their life.
const SHORTEST_TTL: Duration = Duration::from_secs(5);

/// A connection that lived this long was a good one: the next failure is the first again.
const PROVEN: Duration = Duration::from_secs(10);

/// Runs until the upstream is taken away or the fleet ends.
pub(super) async fn supervise(
    upstream: Arc<Upstream>,
    shared: Arc<Shared>,
    mut commands: mpsc::Receiver<Command>,
) {
    let (own, fleet) = (upstream.stop.clone(), shared.stop.clone());
    let mut supervisor =
        Supervisor { upstream, shared, failures: 0, wanted: false, connections: 0, current: None };
    tokio::select! {
        () = supervisor.run(&mut commands) => {}
        () = own.cancelled() => {}
        () = fleet.cancelled() => {}
    }
    supervisor.finish().await;
}

struct Supervisor {
    upstream: Arc<Upstream>,
    shared: Arc<Shared>,
    failures: u32,
    /// Somebody wants the upstream to be there.
    wanted: bool,
    connections: u64,
    /// The connection that has to be closed before the supervisor ends.
    current: Option<Arc<Connection>>,
}

/// How an upstream failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// There is no program that could be started, so that nothing crashes.
    NotStarted,
    /// It ended, or did not answer.
    Ended,
}

/// Why a connection is over.
enum After {
    Ended(String),
    Restart,
    Unused,
}

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

impl Supervisor {
    async fn run(&mut self, commands: &mut mpsc::Receiver<Command>) {
        if self.upstream.spec.is_off() {
            return std::future::pending().await;
        }
        loop {
            while !self.wanted {
                match commands.recv().await {
                    Some(Command::Connect | Command::Restart) => self.wanted = true,
                    Some(Command::Refresh) => {}
                    None => return std::future::pending().await,
                }
            }
            let (sender, events) = mpsc::channel(SERVER_EVENTS);
            match self.open(sender).await {
                Ok(connection) => self.live(Arc::new(connection), events, commands).await,
                Err(error) => {
                    let failure = match error {
                        ConnectError::Spawn(_) => Failure::NotStarted,
                        _ => Failure::Ended,
                    };
                    self.failed(error.to_string(), failure, commands).await;
                }
            }
        }
    }

    async fn open(&self, events: mpsc::Sender<ServerEvent>) -> Result<Connection, ConnectError> {
        let spec = &self.upstream.spec;
        self.upstream.attempt_begins();
        self.state(UpstreamState::Connecting, None);
        let options = ConnectOptions {
            remembered: self.shared.memory.era(spec),
            client: self.shared.options.client.clone(),
            capabilities: self.shared.options.capabilities.clone(),
            events,
            registry: self.shared.options.registry.clone(),
            refused: Arc::clone(&self.upstream.refused),
            results: self.shared.options.results.clone(),
        };
        let waited = spec.timeouts.connect;
        match tokio::time::timeout(waited, Connection::open(spec, options)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ConnectError::Timeout { step: "connect", waited }),
        }
    }

    /// Notes a failure and waits for the next attempt, or for somebody who wants one now.
    async fn failed(&mut self, reason: String, failure: Failure, commands: &mut mpsc::Receiver<Command>) {
        self.failures = self.failures.saturating_add(1);
        let policy = &self.upstream.spec.restart;
        let pause = with_jitter(pause(policy, self.failures), random_byte());
        self.upstream.attempt_failed(reason.clone(), self.failures, pause);
        let crashing = failure == Failure::Ended && self.failures >= policy.attempts;
        let state = if crashing { UpstreamState::Crashing } else { UpstreamState::Waiting };
        self.state(state, Some(reason));
        // Before anybody who waits for its list looks.
        self.shared.list_fallback(&self.upstream);
        self.upstream.replace_listing(ListingState::Unknown, ListingState::Failed);
        let until = Instant::now() + pause;
        // Orders from before the failure asked for the attempt that just failed; a restart is always one more attempt.
        while let Ok(command) = commands.try_recv() {
            if command == Command::Restart {
                self.failures = 0;
                return;
            }
        }
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                command = commands.recv() => match command {
                    Some(Command::Connect) => return,
                    Some(Command::Restart) => {
                        self.failures = 0;
                        return;
                    }
                    Some(Command::Refresh) => {}
                    None => return std::future::pending().await,
                },
            }
        }
    }

    /// Serves one connection until it ends.
    async fn live(
        &mut self,
        connection: Arc<Connection>,
        events: mpsc::Receiver<ServerEvent>,
        commands: &mut mpsc::Receiver<Command>,
    ) {
        let upstream = Arc::clone(&self.upstream);
        self.shared.memory.set_era(&upstream.spec, Some(connection.era()));
        upstream.attempt_succeeded(&connection);
        upstream.touch();
        self.connections += 1;
        if self.connections > 1 {
            upstream.facts().restarts += 1;
        }
        self.current = Some(Arc::clone(&connection));
        upstream.connection.store(Some(Arc::clone(&connection)));
        upstream.generation.fetch_add(1, Ordering::Release);
        // Whoever wants the list waits for the one that is read now, not for what came of the last attempt.
        upstream.replace_listing(ListingState::Failed, ListingState::Unknown);
        upstream.offers.renew(connection.capabilities());
        upstream.subscriptions.renew(&upstream, &connection, &self.shared.tasks);
        self.state(UpstreamState::Connected, None);
        let began = Instant::now();
        let after = self.serve(&connection, events, commands).await;
        upstream.connection.store(None);
        upstream.facts().stderr = connection.stderr();
        if began.elapsed() >= PROVEN {
            self.failures = 0;
            upstream.facts().failures = 0;
        }
        match after {
            After::Ended(reason) => {
                if connection.may_answer() {
                    self.retire_aside(connection);
                } else {
                    connection.close().await;
                    self.current = None;
                }
                self.failed(reason, Failure::Ended, commands).await;
            }
            After::Restart => {
                self.failures = 0;
                self.retire_aside(connection);
            }
            After::Unused => {
                self.wanted = false;
                retire(&self.upstream, &self.shared, &connection).await;
                self.current = None;
                self.state(UpstreamState::Idle, None);
            }
        }
        self.shared.save_soon();
    }

    /// Calls in flight finish on the old connection while the new one is opened.
    fn retire_aside(&mut self, connection: Arc<Connection>) {
        self.current = None;
        let (upstream, shared) = (Arc::clone(&self.upstream), Arc::clone(&self.shared));
        self.shared.tasks.spawn(async move { retire(&upstream, &shared, &connection).await });
    }

    async fn serve(
        &mut self,
        connection: &Arc<Connection>,
        mut events: mpsc::Receiver<ServerEvent>,
        commands: &mut mpsc::Receiver<Command>,
    ) -> After {
        let upstream = Arc::clone(&self.upstream);
        let spec = Arc::clone(&upstream.spec);
        let read_list = || -> Pending<Result<Option<Duration>, ListError>> {
            Some(Box::pin(read_tools(
                Arc::clone(&self.shared),
                Arc::clone(&upstream),
                Arc::clone(connection),
            )))
        };
        let mut listing = read_list();
        let mut list_at: Option<Instant> = None;
        let mut list_failures = 0;
        // Until when a list is not read again, whatever the server announces: the last one was beyond all bounds.
        let mut list_not_before: Option<Instant> = None;
        // When the first change was announced that no list shows yet.
        let mut announced: Option<Instant> = None;
        let mut ping: Pending<bool> = None;
        let mut missed = 0;
        let pings = spec
            .restart
            .ping_every
            .filter(|_| !connection.era().is_modern() && connection.process().is_some());
        let mut ping_at = pings.map(|every| Instant::now() + every);
        loop {
            let idle_at =
                spec.idle_stop.map(|idle| Instant::now() + idle.saturating_sub(upstream.unused_for()));
            tokio::select! {
                reason = connection.ended() => return After::Ended(reason),
                Some(event) = events.recv() => {
                    if self.take_event(event) {
                        let first = *announced.get_or_insert_with(Instant::now);
                        list_at = Some((Instant::now() + SETTLE).min(first + LONGEST_STORM)).max(list_not_before);
                    }
                }
                command = commands.recv() => match command {
                    Some(Command::Connect) => {}
                    Some(Command::Restart) => return After::Restart,
                    Some(Command::Refresh) => list_at = Some(Instant::now()),
                    None => std::future::pending().await,
                },
                outcome = poll(&mut listing) => {
                    listing = None;
                    match outcome {
                        Ok(ttl) => {
                            (list_failures, list_not_before) = (0, None);
                            // A change that was announced meanwhile comes first.
                            list_at = list_at.or_else(|| ttl.map(|ttl| Instant::now() + ttl.max(SHORTEST_TTL)));
                        }
                        Err(error) => {
                            list_failures += 1;
                            let pause = pause(&spec.restart, list_failures);
                            warn!(upstream = %spec.id, %error, retry_s = pause.as_secs(), "Listing tools failed.");
                            upstream.facts().reason = Some(error.to_string());
                            upstream.replace_listing(ListingState::Unknown, ListingState::Failed);
                            list_at = Some(Instant::now() + with_jitter(pause, random_byte()));
                            list_not_before = list_at.filter(|_| error.is_excess());
                        }
                    }
                }
                () = at(list_at), if listing.is_none() => {
                    (list_at, announced) = (None, None);
                    listing = read_list();
                }
                () = at(ping_at), if ping.is_none() => {
                    ping_at = pings.map(|every| Instant::now() + every);
                    let (connection, wait) = (Arc::clone(connection), spec.restart.ping_timeout);
                    ping = Some(Box::pin(async move { super::ping::ping(&connection, wait).await.is_ok() }));
                }
                alive = poll(&mut ping) => {
                    ping = None;
                    // A server that is busy with calls may be too busy to answer; their own deadlines watch over it.
                    missed = if alive || connection.in_flight() > 0 { 0 } else { missed + 1 };
                    if missed >= spec.restart.ping_failures {
                        return After::Ended(format!("no answer to {missed} pings in a row"));
                    }
                }
                () = at(idle_at) => {
                    let unused = spec.idle_stop.is_some_and(|idle| upstream.unused_for() >= idle);
                    if unused && connection.in_flight() == 0 {
                        return After::Unused;
                    }
                    if connection.in_flight() > 0 {
                        upstream.touch();
                    }
                }
            }
        }
    }

    /// Whether the list of tools must be read again.
    fn take_event(&self, event: ServerEvent) -> bool {
        match event {
            ServerEvent::Notification(notification) => {
                let again = notification.method == method::TOOLS_CHANGED;
                self.upstream.offers.note(&notification.method);
                let (upstream, in_flight) =
                    (self.upstream.spec.id.clone(), self.upstream.responders.in_flight());
                self.shared.notify(FleetEvent::Notification { upstream, notification, in_flight });
                again
            }
            ServerEvent::Renewed => {
                let (upstream, tasks) = (&self.upstream, &self.shared.tasks);
                if let Some(connection) = &self.current {
                    upstream.subscriptions.renew(upstream, connection, tasks);
                }
                // Whoever configures servers when they connect has to do it again.
                let (upstream, state) = (upstream.spec.id.clone(), UpstreamState::Connected);
                let reason = Some("it began a new session".to_owned());
                self.shared.notify(FleetEvent::State { upstream, state, reason });
                false
            }
            ServerEvent::Request { request, answer } => {
                // Nobody can answer, or it is not clear who is meant: dropping the sender refuses the request.
                if let Some(responder) = self.upstream.responders.only() {
                    let responders = Arc::downgrade(&self.upstream.responders);
                    responder.ask(request, answer, Some(responders));
                }
                false
            }
        }
    }

    async fn finish(&self) {
        self.upstream.connection.store(None);
        if let Some(connection) = &self.current {
            retire(&self.upstream, &self.shared, connection).await;
        }
        self.upstream.replace_listing(ListingState::Unknown, ListingState::Failed);
        // Whoever took its place has another state, which is the last that anybody should hear of.
        let current = self.shared.upstreams.load().get(&self.upstream.spec.id).cloned();
        if current.is_some_and(|current| !Arc::ptr_eq(&current, &self.upstream)) {
            self.upstream.state.send_replace(UpstreamState::Closed);
            return;
        }
        self.state(UpstreamState::Closed, None);
    }

    fn state(&self, state: UpstreamState, reason: Option<String>) {
        let upstream = &self.upstream;
        let before = upstream.state.send_replace(state);
        if before == state && reason.is_none() {
            return;
        }
        match (&reason, state) {
            (Some(reason), _) if upstream.note_logged(Some(reason)) => {
                warn!(upstream = %upstream.spec.id, %state, reason, "Upstream failed.");
            }
            // The same again, as before each attempt of a server that is not there.
            (Some(reason), _) => {
                debug!(upstream = %upstream.spec.id, %state, reason, "Upstream failed again.");
            }
            (None, UpstreamState::Connected) => {
                upstream.note_logged(None);
                info!(upstream = %upstream.spec.id, "Upstream connected.");
            }
            (None, _) => {}
        }
        self.shared.notify(FleetEvent::State { upstream: upstream.spec.id.clone(), state, reason });
    }
}

/// Lets calls in flight finish, as long as any call may take, then closes. When the fleet ends, its deadline holds.
async fn retire(upstream: &Upstream, shared: &Shared, connection: &Connection) {
    let drained = async {
        while connection.may_answer() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let ending = async {
        shared.stop.cancelled().await;
        tokio::time::sleep(shared.drain()).await;
    };
    tokio::select! {
        _ = tokio::time::timeout(upstream.spec.timeouts.call_maximum, drained) => {}
        () = ending => {}
    }
    connection.close().await;
}

/// Reads the list of tools and makes it the upstream's. Gives how long it stays true, if the server says so. Cancel-safe: a list
/// is taken as a whole or not at all.
async fn read_tools(
    shared: Arc<Shared>,
    upstream: Arc<Upstream>,
    connection: Arc<Connection>,
) -> Result<Option<Duration>, ListError> {
    let spec = &upstream.spec;
    let Listing { entries, ttl } = list(&connection, ListKind::Tools, spec).await?;
    if spec.endpoint == Endpoint::Registry {
        // It may have changed since; and whoever replaces a tool there means to.
        shared.rebuild();
        return Ok(ttl);
    }
    let (known, was_stale) = (upstream.own_tools(), upstream.is_stale());
    let listing = ToolListing::read(spec, entries, known.as_deref(), shared.room_for_trees(&upstream));
    let tools = listing.definitions.len();
    let malformed = listing.malformed();
    if spec.strict && !malformed.is_empty() {
        return Err(ListError::Malformed(
            malformed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        ));
    }
    // What was logged in an earlier run is logged in this one too.
    let logged = known.filter(|_| !was_stale).map(|known| known.malformed());
    log_malformed(spec, &malformed, &logged.unwrap_or_default());
    // First, so that nobody ever sees a definition that is blocked.
    shared.compare_definitions(&upstream, &listing).await;
    upstream.set_tools(listing);
    shared.rebuild();
    upstream.listing.send_replace(ListingState::Known);
    shared.save_soon();
    shared.notify(FleetEvent::Listed { upstream: spec.id.clone(), tools });
    shared.keep_list(&upstream);
    Ok(ttl)
}

/// Logs tools that are not as MCP has them, unless the list before had them too.
fn log_malformed(spec: &UpstreamSpec, malformed: &[MalformedTool], before: &[MalformedTool]) {
    let is_known = |tool: &MalformedTool| {
        before.iter().any(|known| (&known.name, &known.reason) == (&tool.name, &tool.reason))
    };
    for MalformedTool { name, index, reason, withheld, .. } in malformed.iter().filter(|tool| !is_known(tool))
    {
        let (server, tool) = (&spec.id, name.as_deref().unwrap_or("(without a name)"));
        match withheld {
            Withheld::FromAll => warn!(tool, %server, index, reason, "Tool left out."),
            Withheld::FromClients => {
                warn!(tool, %server, index, reason, "Tool is not shown to clients of MCP.");
            }
            Withheld::FromNobody => {
                warn!(tool, %server, index, reason, "Tool is malformed; it is repaired for clients of MCP.");
            }
        }
    }
}

/// Waits for a moment, or for ever.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits for a future, or for ever.
async fn poll<T>(pending: &mut Pending<T>) -> T {
    match pending {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
