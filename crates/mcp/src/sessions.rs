//! Legacy sessions: what their callers say once, and what runs for them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use gateway_protocol::{RawJson, Request, RpcError, code};
use gateway_upstream::{Fleet, ResultBudget, UpstreamId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::log_level::LogLevel;
use crate::outbound::{Peer, Sink};
use crate::resumable::{Budget, ResumableStream};
use crate::subscriptions::Subscription;
use crate::view::View;
use gateway_runtime::capabilities::Capabilities;
use gateway_runtime::lock::locked;
use gateway_runtime::owner::Owner;
use gateway_runtime::seal::secret_id;

/// How long an ended stream is kept for a caller who comes back.
const STREAM_LIFE: Duration = Duration::from_mins(1);

/// Bytes that the streams of one session keep for callers who come back, and those of all sessions.
const SESSION_BYTES: usize = 16 << 20;
const ALL_BYTES: usize = 64 << 20;

/// Resources that one session may listen to.
const RESOURCES: usize = 1_000;

/// Streams of one session on which somebody listens.
const LISTENERS: usize = 32;

/// Requests of one session at work.
const AT_WORK: usize = 1_024;

/// One session of one caller. Idle ones cost little: nothing runs for them.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: Arc<str>,
    /// The owner of the key that opened it; nobody else may use it.
    pub(crate) caller: Option<Owner>,
    /// The group or server that it is about.
    pub(crate) view: Option<Arc<str>>,
    /// What was said in the handshake.
    pub(crate) handshake: OnceLock<Handshake>,
    /// Where everything goes that belongs to no request.
    pub(crate) sink: Sink,
    pub(crate) peer: Arc<Peer>,
    /// Ended with the session.
    pub(crate) over: CancellationToken,
    /// Milliseconds since the sessions began.
    used: AtomicU64,
    /// Room for streams on which somebody hears what was not asked for.
    listeners: Arc<Semaphore>,
    state: Mutex<State>,
    /// What its streams keep together.
    budget: Arc<Budget>,
}

/// What a caller said in the handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) version: &'static str,
    pub(crate) can: Capabilities,
}

#[derive(Debug, Default)]
struct State {
    level: Option<LogLevel>,
    resources: HashMap<String, Subscription>,
    /// By the text of their ids, which may be numbers or strings.
    running: HashMap<Box<str>, CancellationToken>,
    streams: Vec<Arc<ResumableStream>>,
    last_stream: u64,
}

impl Session {
    /// The level from which on the caller gets log messages. One that asked for none gets those that matter, as most
    /// servers do it and most callers rely on; before the handshake there is nobody to get any.
    pub(crate) fn level(&self) -> Option<LogLevel> {
        self.asked_level().or_else(|| self.handshake.get().map(|_| LogLevel::default()))
    }

    /// The level that the caller asked for.
    pub(crate) fn asked_level(&self) -> Option<LogLevel> {
        locked(&self.state).level
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        locked(&self.state).level = Some(level);
    }

    pub(crate) fn subscribe(&self, subscribed: Subscription) {
        locked(&self.state).resources.insert(subscribed.public.clone(), subscribed);
    }

    /// Ends a subscription. Dropping it unsubscribes at the upstream, outside the lock.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let ended = locked(&self.state).resources.remove(uri);
        drop(ended);
    }

    /// What the caller calls a resource that it wants to hear about.
    pub(crate) fn subscribed(&self, server: &UpstreamId, uri: &str) -> Option<String> {
        let state = locked(&self.state);
        let found = state.resources.values().find(|found| found.server == *server && found.own == uri)?;
        Some(found.public.clone())
    }

    /// Whether there is room for another subscription, or this one is there already.
    pub(crate) fn check_room(&self, uri: &str) -> Result<(), RpcError> {
        let state = locked(&self.state);
        if state.resources.len() < RESOURCES || state.resources.contains_key(uri) {
            return Ok(());
        }
        let message = format!("more than {RESOURCES} subscriptions in one session");
        Err(RpcError::new(code::INVALID_PARAMS, message))
    }

    /// Whether what it was opened for is still configured.
    pub(crate) fn has_view(&self, fleet: &Fleet) -> bool {
        View::named(fleet, self.view.as_deref()).is_some()
    }

    /// Whether it sees a server.
    pub(crate) fn shows(&self, fleet: &Fleet, server: &UpstreamId) -> bool {
        View::named(fleet, self.view.as_deref()).is_some_and(|view| view.shows(fleet, server))
    }

    /// Notes a request that can be cancelled until the guard is dropped. Two at once under one id could not be distinguished.
    pub(crate) fn running(self: &Arc<Self>, request: Request) -> Result<Running, (RawJson, RpcError)> {
        let token = CancellationToken::new();
        let mut state = locked(&self.state);
        if state.running.len() >= AT_WORK {
            let message = format!("more than {AT_WORK} requests at once; try again later");
            return Err((request.id, RpcError::new(code::INTERNAL_ERROR, message)));
        }
        match state.running.entry(request.id.as_str().into()) {
            Entry::Occupied(_) => {
                let message = format!("a request with the id {} is at work already", request.id.as_str());
                Err((request.id, RpcError::new(code::INVALID_REQUEST, message)))
            }
            Entry::Vacant(vacant) => {
                vacant.insert(token.clone());
                drop(state);
                Ok(Running { session: Arc::clone(self), request, token })
            }
        }
    }

    pub(crate) fn cancel(&self, id: &RawJson) {
        if let Some(token) = locked(&self.state).running.get(id.as_str()) {
            token.cancel();
        }
    }

    /// A stream for one request; it can be found again once it is kept.
    pub(crate) fn new_stream(&self) -> Arc<ResumableStream> {
        let mut state = locked(&self.state);
        state.last_stream += 1;
        Arc::new(ResumableStream::new(state.last_stream, &self.budget))
    }

    /// Keeps a stream for a caller who comes back.
    pub(crate) fn keep(&self, stream: &Arc<ResumableStream>) {
        /// More than these at once would be a caller who never reads.
        const STREAMS: usize = 1_024;
        let mut state = locked(&self.state);
        state.streams.retain(|stream| !stream.is_over(STREAM_LIFE));
        if state.streams.len() < STREAMS {
            state.streams.push(Arc::clone(stream));
        }
    }

    /// Forgets the oldest streams that ended, where all together keep more than they may.
    pub(crate) fn trim(&self) {
        let mut forgotten = Vec::new();
        while self.budget.is_over() {
            let mut state = locked(&self.state);
            let Some(index) = state.streams.iter().position(|stream| stream.is_over(Duration::ZERO)) else {
                break;
            };
            let stream = state.streams.remove(index);
            drop(state);
            stream.forget();
            forgotten.push(stream);
        }
    }

    pub(crate) fn kept(&self, number: u64) -> Option<Arc<ResumableStream>> {
        if let Sink::Stream(stream) = &self.sink
            && stream.number == number
        {
            return Some(Arc::clone(stream));
        }
        let found = locked(&self.state).streams.iter().find(|stream| stream.number == number).cloned();
        found.filter(|stream| !stream.is_forgotten())
    }

    /// Notes somebody who hears what was not asked for, until the permit is dropped; the session is in use as long. `None` if
    /// too many listen already.
    pub(crate) fn attach(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.listeners).try_acquire_owned().ok()
    }

    fn is_attached(&self) -> bool {
        self.listeners.available_permits() < LISTENERS
    }
}

/// A request at work.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) session: Arc<Session>,
    pub(crate) request: Request,
    pub(crate) token: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        locked(&self.session.state).running.remove(self.request.id.as_str());
    }
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    most: usize,
    /// Sessions of one caller; without keys all callers are one, who may have them all.
    share: usize,
    idle: Duration,
    began: Instant,
    present: Mutex<Present>,
    /// What the streams of all sessions keep together.
    budget: Arc<Budget>,
}

/// The sessions at one moment.
type Present = HashMap<Arc<str>, Arc<Session>>;

/// Takes out the session of a caller that was unused for longest.
fn evict(present: &mut Present, caller: Option<&Owner>) -> Option<Arc<Session>> {
    let own = present.values().filter(|session| session.caller.as_ref() == caller);
    let oldest = own.min_by_key(|session| (session.is_attached(), session.used.load(Ordering::Relaxed)));
    let id = oldest.map(|session| Arc::clone(&session.id))?;
    present.remove(&id)
}

/// Makes room for one more session of a caller: by one of its own, where it has any. A caller without one replaces
/// a session of the caller with the most.
fn make_room(
    present: &mut Present,
    caller: Option<&Owner>,
    (most, share): (usize, usize),
) -> Option<Arc<Session>> {
    let share = if caller.is_some() { share.min(most) } else { most };
    if present.len() < share {
        return None;
    }
    let own = present.values().filter(|session| session.caller.as_ref() == caller).count();
    if own >= share || (own > 0 && present.len() >= most) {
        return evict(present, caller);
    }
    if present.len() < most {
        return None;
    }
    let mut held: HashMap<Option<&Owner>, usize> = HashMap::new();
    for session in present.values() {
        *held.entry(session.caller.as_ref()).or_default() += 1;
    }
    let largest = held.into_iter().max_by_key(|(_, count)| *count)?.0.cloned();
    evict(present, largest.as_ref())
}

impl Sessions {
    pub(crate) fn new(most: usize, share: usize, idle: Duration) -> Self {
        let budget = Arc::new(Budget::new(ALL_BYTES, None));
        Self { most, share, idle, began: Instant::now(), present: Mutex::default(), budget }
    }

    /// What streams keep without need makes room in `results`.
    pub(crate) fn make_room_in(&self, results: &ResultBudget) {
        results.reclaim_from(&self.budget);
    }

    /// A new session; `None` if the system gives no random numbers.
    pub(crate) fn open(
        &self,
        caller: Option<Owner>,
        view: Option<Arc<str>>,
        handshake: Option<Handshake>,
        sink: Option<Sink>,
    ) -> Option<Arc<Session>> {
        let id: Arc<str> = secret_id()?.into();
        let budget = Arc::new(Budget::new(SESSION_BYTES, Some(Arc::clone(&self.budget))));
        let stream = || Sink::Stream(Arc::new(ResumableStream::new(0, &budget)));
        let sink = sink.unwrap_or_else(stream);
        let session = Arc::new(Session {
            id,
            caller,
            view,
            handshake: handshake.map_or_else(OnceLock::new, OnceLock::from),
            sink,
            peer: Arc::default(),
            over: CancellationToken::new(),
            used: AtomicU64::new(self.now()),
            listeners: Arc::new(Semaphore::new(LISTENERS)),
            state: Mutex::default(),
            budget,
        });
        let mut present = locked(&self.present);
        let evicted = make_room(&mut present, session.caller.as_ref(), (self.most, self.share));
        present.insert(Arc::clone(&session.id), Arc::clone(&session));
        drop(present);
        // Its calls and subscriptions end outside the lock.
        if let Some(evicted) = evicted {
            evicted.end();
        }
        Some(session)
    }

    /// The session of this id, if it is this caller's, and about the group or server `name`.
    pub(crate) fn get(&self, id: &str, caller: Option<&Owner>, name: Option<&str>) -> Option<Arc<Session>> {
        let session = self.named(id)?;
        if session.caller.as_ref() != caller || session.view.as_deref() != name {
            return None;
        }
        session.used.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session.
    pub(crate) fn close(&self, session: &Session) {
        let closed = locked(&self.present).remove(&session.id);
        if let Some(closed) = &closed {
            closed.end();
        }
        drop(closed);
    }

    /// Ends the sessions that nobody has used for long. One with a call at work or somebody who listens is in use.
    pub(crate) fn sweep(&self) {
        let now = self.now();
        let oldest = now.saturating_sub(u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX));
        let mut over = Vec::new();
        locked(&self.present).retain(|_, session| {
            // Looked at first, because it forgets streams as well.
            let is_busy = session.is_busy();
            if is_busy || session.is_attached() {
                session.used.store(now, Ordering::Relaxed);
            }
            let is_used = session.used.load(Ordering::Relaxed) >= oldest;
            if !is_used {
                over.push(Arc::clone(session));
            }
            is_used
        });
        for session in over {
            session.end();
        }
    }

    /// All sessions at this moment.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        locked(&self.present).values().cloned().collect()
    }

    pub(crate) fn named(&self, id: &str) -> Option<Arc<Session>> {
        locked(&self.present).get(id).cloned()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Session {
    /// Whether something runs for it. Streams that nobody will come back to are forgotten on the way.
    fn is_busy(&self) -> bool {
        let mut state = locked(&self.state);
        state.streams.retain(|stream| !stream.is_over(STREAM_LIFE));
        !state.running.is_empty()
    }

    /// Ends what runs for it.
    fn end(&self) {
        self.over.cancel();
        let mut state = locked(&self.state);
        for token in state.running.values() {
            token.cancel();
        }
        let resources = std::mem::take(&mut state.resources);
        // Requests that run end their streams themselves, with an answer that says why.
        state.streams.clear();
        drop(state);
        drop(resources);
        if let Sink::Stream(stream) = &self.sink {
            stream.end(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(sessions: &Sessions, caller: Option<&str>) -> Arc<Session> {
        sessions.open(caller.map(Owner::caller), None, None, None).unwrap()
    }

    fn request(id: RawJson) -> Request {
        Request { id, method: "ping".to_owned(), params: None }
    }

    #[test]
    fn a_session_is_its_callers_alone() {
        let sessions = Sessions::new(10, 10, Duration::from_mins(1));
        let ann = open(&sessions, Some("ann"));
        let owner = Owner::caller("ann");
        assert!(sessions.get(&ann.id, Some(&owner), None).is_some());
        assert!(sessions.get(&ann.id, Some(&Owner::caller("bob")), None).is_none());
        assert!(sessions.get(&ann.id, Some(&Owner::admin("ann")), None).is_none());
        assert!(sessions.get(&ann.id, None, None).is_none());
        assert!(sessions.get("guess", Some(&owner), None).is_none());
        assert!(ann.id.len() >= 43, "256 bits: {}", ann.id);
    }

    #[test]
    fn sessions_are_bounded_in_number_and_life() {
        let sessions = Sessions::new(2, 2, Duration::ZERO);
        let first = open(&sessions, None);
        let second = open(&sessions, None);
        second.used.store(u64::MAX, Ordering::Relaxed);
        let running = first.running(request(RawJson::null())).unwrap();
        let third = open(&sessions, None);
        third.used.store(u64::MAX, Ordering::Relaxed);
        assert!(sessions.named(&first.id).is_none(), "the oldest made room");
        assert!(running.token.is_cancelled(), "and its calls ended");
        assert!(sessions.named(&second.id).is_some() && sessions.named(&third.id).is_some());
        let listening = second.attach().unwrap();
        for session in [&second, &third] {
            session.used.store(0, Ordering::Relaxed);
        }
        let sessions =
            Sessions { began: Instant::now().checked_sub(Duration::from_secs(9)).unwrap(), ..sessions };
        sessions.sweep();
        assert!(sessions.named(&second.id).is_some(), "somebody listens");
        assert!(sessions.named(&third.id).is_none() && third.over.is_cancelled());
        drop(listening);
        second.used.store(0, Ordering::Relaxed);
        sessions.sweep();
        assert_eq!(sessions.all().len(), 0);
    }

    #[test]
    fn a_caller_with_too_many_sessions_loses_its_own_oldest() {
        let sessions = Sessions::new(6, 2, Duration::from_mins(1));
        let ann = open(&sessions, Some("ann"));
        let bobs: Vec<_> = (0..10).map(|_| open(&sessions, Some("bob"))).collect();
        assert!(sessions.named(&ann.id).is_some(), "she is not to blame");
        let left = bobs.iter().filter(|session| sessions.named(&session.id).is_some()).count();
        assert_eq!((left, sessions.all().len()), (2, 3));
        let others: Vec<_> = ["c", "d", "e"].map(|name| open(&sessions, Some(name))).into();
        assert_eq!(sessions.all().len(), 6);
        let last = open(&sessions, Some("f"));
        let left = bobs.iter().filter(|session| sessions.named(&session.id).is_some()).count();
        assert_eq!((left, sessions.all().len()), (1, 6), "whoever has the most makes room");
        for session in [ann, last].iter().chain(&others) {
            assert!(sessions.named(&session.id).is_some());
        }
    }

    #[test]
    fn listeners_of_a_session_are_bounded() {
        let sessions = Sessions::new(2, 2, Duration::from_mins(1));
        let session = open(&sessions, None);
        let all: Vec<_> = (0..LISTENERS).map(|_| session.attach().unwrap()).collect();
        assert!(session.attach().is_none());
        drop(all);
        assert!(session.attach().is_some(), "refusals take no room");
    }

    #[test]
    fn two_requests_at_once_need_two_ids() {
        let sessions = Sessions::new(2, 2, Duration::from_mins(1));
        let session = open(&sessions, None);
        let id = RawJson::of(&7).unwrap();
        let first = session.running(request(id.clone())).unwrap();
        assert_eq!(session.running(request(id.clone())).unwrap_err().1.code, code::INVALID_REQUEST);
        session.cancel(&id);
        assert!(first.token.is_cancelled(), "the first one is still found");
        drop(first);
        assert!(session.running(request(id.clone())).is_ok());
        let texts = (0..AT_WORK).map(|number| RawJson::of(&number).unwrap());
        let all: Vec<Running> = texts.map(|id| session.running(request(id)).unwrap()).collect();
        assert_eq!(session.running(request(RawJson::null())).unwrap_err().1.code, code::INTERNAL_ERROR);
        drop(all);
    }

    #[test]
    fn what_streams_keep_is_bounded_for_a_session_and_for_all() {
        let sessions = Sessions::new(100, 100, Duration::from_mins(1));
        let session = open(&sessions, None);
        let big = || bytes::Bytes::from(vec![b'x'; 3 << 20]);
        for _ in 0..20 {
            let stream = session.new_stream();
            session.keep(&stream);
            stream.end(Some(big()));
            session.trim();
        }
        let kept = locked(&session.state).streams.len();
        assert!((1..=5).contains(&kept), "{kept}");
        let last = locked(&session.state).last_stream;
        assert!(session.kept(last).is_some() && session.kept(1).is_none(), "the newest are kept");
        for _ in 0..99 {
            let other = open(&sessions, None);
            let stream = other.new_stream();
            other.keep(&stream);
            for _ in 0..2 {
                stream.push(big());
            }
        }
        assert!(sessions.budget.bytes() <= ALL_BYTES + 100 * (3 << 20), "{}", sessions.budget.bytes());
        let all = sessions.all();
        for session in &all {
            sessions.close(session);
        }
        drop((all, session));
        assert_eq!(sessions.budget.bytes(), 0, "what is gone counts no more");
    }

    #[test]
    fn streams_that_ended_are_forgotten_while_somebody_listens() {
        let sessions = Sessions::new(2, 2, Duration::from_mins(1));
        let session = open(&sessions, None);
        let _listening = session.attach().unwrap();
        let stream = session.new_stream();
        session.keep(&stream);
        stream.end_at(None, Instant::now().checked_sub(STREAM_LIFE * 2).unwrap());
        sessions.sweep();
        assert!(locked(&session.state).streams.is_empty());
    }
}
