//! Requests that may be sent twice and run once.
//!
//! A request with `Idempotency-Key` runs apart from its connection: if the caller goes away, it goes on, and whoever comes
//! back with the same key gets its answer. The same key with the same body gives the first answer again
//! (`Idempotent-Replayed: true`), or waits for it; with another body it is refused. Keys belong to their caller.
//!
//! Answers are kept for ten minutes where the tools ran or may have run: all of 2xx, and those of 5xx that are not marked
//! as [`NotRun`]. Other answers (4xx, 503, [`NotRun`]) are forgotten at once, so that the same key may try again. Where there is no
//! room for all answers, the keys stay, the latest 200,000 of them: such a request is refused, and does not run again.

mod evicted_keys;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum_core::body::Body;
use axum_core::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use self::evicted_keys::{EvictedKeys, Use};
use crate::errors::{ApiError, NotRun, code, collected, media_type};
use gateway_runtime::digest::digest_of;
use gateway_runtime::least_recently_used::LeastRecentlyUsed;
use gateway_runtime::lock::locked;
use gateway_runtime::owner::Owner;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

const KEY_LENGTH: usize = 255;
const KEPT_FOR: Duration = Duration::from_mins(10);
const ENTRIES: usize = 10_000;
const BYTES: usize = 64 << 20;
/// A longer answer is given, but not kept.
const ANSWER_BYTES: usize = 8 << 20;

/// A request under a key.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey {
    name: Name,
    digest: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    caller: Option<Owner>,
    key: Box<str>,
}

impl IdempotencyKey {
    /// The key that a request carries. The route, the query and the body together are what must be the same.
    pub(crate) fn of(
        headers: &HeaderMap,
        caller: Option<&Owner>,
        route: &str,
        query: Option<&str>,
        body: &[u8],
    ) -> Result<Option<Self>, ApiError> {
        let Some(value) = headers.get(KEY) else { return Ok(None) };
        let key = value.to_str().unwrap_or_default();
        if key.is_empty() || key.len() > KEY_LENGTH || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("Idempotency-Key must have 1 to {KEY_LENGTH} visible ASCII characters");
            return Err(ApiError::bad_request(message));
        }
        // The media type says how the same bytes are read.
        let (query, media) = (query.unwrap_or_default(), media_type(headers));
        let digest = digest_of(&[route.as_bytes(), query.as_bytes(), media.as_bytes(), body]);
        Ok(Some(Self { name: Name { caller: caller.cloned(), key: key.into() }, digest }))
    }
}

/// The answers of requests with a key.
#[derive(Clone, Debug)]
pub(crate) struct Idempotency {
    kept: Arc<Mutex<Kept>>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Kept {
    entries: Entries,
    evicted: EvictedKeys,
}

type Entries = LeastRecentlyUsed<Name, Entry>;

#[derive(Debug)]
struct Entry {
    digest: [u8; 32],
    since: Instant,
    state: watch::Receiver<State>,
}

/// How far a request is. One whose sender is gone while it runs gave an answer that is not worth keeping, or broke off.
#[derive(Clone, Debug)]
enum State {
    Running,
    Answered(Arc<http::Response<Bytes>>),
    /// It ran, but its answer is too long to keep.
    TooLong,
}

/// The bytes that an answer takes, about.
fn weight(answer: &http::Response<Bytes>) -> usize {
    let headers: usize = answer.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    answer.body().len() + headers + 256
}

impl Default for Idempotency {
    fn default() -> Self {
        let kept = Kept { entries: LeastRecentlyUsed::new(ENTRIES, BYTES), evicted: EvictedKeys::default() };
        Self { kept: Arc::new(Mutex::new(kept)), tasks: TaskTracker::new() }
    }
}

impl Idempotency {
    /// Runs `work` unless the same request ran already, and gives its answer. Dropping the future does not end the work.
    pub(crate) async fn run<F>(&self, key: IdempotencyKey, work: F) -> Result<Response, ApiError>
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let mut work = Some(work);
        loop {
            match self.enter(&key, Instant::now())? {
                Entered::First(sender) => {
                    let Some(work) = work.take() else { return Err(broke_off()) };
                    let task = Task { shared: self.clone(), name: key.name.clone(), sender };
                    // A task of its own: a caller who has gone away comes back for its answer.
                    let first = self.tasks.spawn(async move { task.settle(work.await).await });
                    return first.await.map_err(|_| broke_off());
                }
                Entered::Later(mut state) => {
                    // A sender that is gone has left its last word.
                    let _ = state.wait_for(|state| !matches!(state, State::Running)).await;
                    let last = state.borrow().clone();
                    match last {
                        State::Answered(answer) => return Ok(replayed((*answer).clone().map(Body::from))),
                        State::TooLong => {
                            return Err(ran_already("its answer was too long to keep"));
                        }
                        // The first one ran nothing, so this one may try.
                        State::Running => {}
                    }
                }
            }
        }
    }

    /// Waits for the work that nobody waits for any more. New work is still taken.
    pub(crate) async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    fn enter(&self, key: &IdempotencyKey, now: Instant) -> Result<Entered, ApiError> {
        let mut kept = locked(&self.kept);
        let too_old = kept.entries.get(&key.name).is_some_and(|entry| entry.is_too_old(now));
        if too_old {
            kept.entries.remove(&key.name);
        }
        if let Some(entry) = kept.entries.get(&key.name) {
            if entry.digest != key.digest {
                return Err(used_otherwise());
            }
            return Ok(Entered::Later(entry.state.clone()));
        }
        match kept.evicted.use_of(&key.name, &key.digest, KEPT_FOR, now) {
            Some(Use::Same) => return Err(ran_already("its answer had to make room for others")),
            Some(Use::Other) => return Err(used_otherwise()),
            None => {}
        }
        kept.make_room(0, now);
        if kept.entries.len() >= ENTRIES {
            let message = "too many requests with an Idempotency-Key are running";
            return Err(ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 1));
        }
        let (sender, state) = watch::channel(State::Running);
        let entry = Entry { digest: key.digest, since: now, state };
        kept.entries.insert(key.name.clone(), entry, 0);
        Ok(Entered::First(sender))
    }
}

enum Entered {
    First(watch::Sender<State>),
    Later(watch::Receiver<State>),
}

impl Entry {
    fn is_running(&self) -> bool {
        matches!(*self.state.borrow(), State::Running)
    }

    fn is_too_old(&self, now: Instant) -> bool {
        !self.is_running() && now.saturating_duration_since(self.since) >= KEPT_FOR
    }
}

impl Kept {
    /// Forgets what is too old, and then the answers that were unused for longest, until there is room for one more. Their keys stay.
    fn make_room(&mut self, bytes: usize, now: Instant) {
        if !self.entries.has_room(bytes) {
            self.entries.retain(|_, entry| !entry.is_too_old(now));
            for (name, entry) in self.entries.make_room(bytes, |entry| !entry.is_running()) {
                self.evicted.add(&name, &entry.digest, entry.since);
            }
        }
    }
}

/// The running of one request. Where it breaks off, its entry is forgotten.
struct Task {
    shared: Idempotency,
    name: Name,
    sender: watch::Sender<State>,
}

impl Task {
    /// Whether an entry is this request's, and not a later one's of the same name.
    fn owns(&self, entry: &Entry) -> bool {
        entry.state.same_channel(&self.sender.subscribe())
    }

    async fn settle(&self, response: Response) -> Response {
        let not_run = response.extensions().get::<NotRun>().is_some();
        let status = response.status();
        let is_kept = !not_run
            && (status.is_success()
                || (status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE));
        if !is_kept {
            return response;
        }
        let (parts, body) = response.into_parts();
        let Ok(body) = collected(body).await else {
            return Response::from_parts(parts, Body::empty());
        };
        // Without the extensions, which are for whoever answers the first time.
        let mut answer = http::Response::new(body.clone());
        (*answer.status_mut(), *answer.headers_mut()) = (parts.status, parts.headers.clone());
        let (state, bytes) = match weight(&answer) {
            bytes if bytes > ANSWER_BYTES => (State::TooLong, 0),
            bytes => (State::Answered(Arc::new(answer)), bytes),
        };
        {
            let mut kept = locked(&self.shared.kept);
            kept.make_room(bytes, Instant::now());
            if let Some(entry) = kept.entries.get(&self.name).filter(|entry| self.owns(entry)) {
                entry.since = Instant::now();
                kept.entries.resize(&self.name, bytes);
            }
            // While the entries are locked: what is weighed is no longer running, and may be evicted.
            self.sender.send_replace(state);
        }
        Response::from_parts(parts, Body::from(body))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let entries = &mut locked(&self.shared.kept).entries;
        if entries.get(&self.name).is_some_and(|entry| entry.is_running() && self.owns(entry)) {
            entries.remove(&self.name);
        }
    }
}

fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

fn used_otherwise() -> ApiError {
    let message = "this Idempotency-Key was used for another request";
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code::IDEMPOTENCY_CONFLICT, message)
}

fn ran_already(but: &str) -> ApiError {
    let message = format!("this request ran already, but {but}");
    ApiError::new(StatusCode::CONFLICT, code::IDEMPOTENCY_CONFLICT, message)
}

fn broke_off() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, "the request broke off")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum_core::response::IntoResponse as _;
    use tokio::sync::Notify;

    use super::*;

    fn key(caller: &str, key: &str, body: &str) -> IdempotencyKey {
        let mut headers = HeaderMap::new();
        headers.insert(KEY, HeaderValue::from_str(key).unwrap());
        IdempotencyKey::of(&headers, Some(&Owner::caller(caller)), "/execute", None, body.as_bytes())
            .unwrap()
            .unwrap()
    }

    async fn text(response: Response) -> String {
        let replayed = response.headers().contains_key(REPLAYED);
        let body = collected(response.into_body()).await.unwrap();
        format!("{}{}", String::from_utf8_lossy(&body), if replayed { " again" } else { "" })
    }

    fn counted(
        count: &Arc<AtomicUsize>,
        status: StatusCode,
    ) -> impl Future<Output = Response> + Send + 'static + use<> {
        let count = Arc::clone(count);
        async move { (status, count.fetch_add(1, Ordering::Relaxed).to_string()).into_response() }
    }

    #[tokio::test]
    async fn the_same_request_runs_once() {
        let (shared, count) = (Idempotency::default(), Arc::default());
        let run = |key| shared.run(key, counted(&count, StatusCode::OK));
        assert_eq!(text(run(key("a", "k", "body")).await.unwrap()).await, "0");
        assert_eq!(text(run(key("a", "k", "body")).await.unwrap()).await, "0 again");
        assert_eq!(text(run(key("b", "k", "body")).await.unwrap()).await, "1", "another caller");
        let error = run(key("a", "k", "other")).await.unwrap_err();
        assert_eq!((error.status.as_u16(), error.code), (422, code::IDEMPOTENCY_CONFLICT));
    }

    #[test]
    fn the_same_bytes_of_another_type_are_another_request() {
        let digest = |media| {
            let headers = [(KEY, "k"), (http::header::CONTENT_TYPE, media)];
            let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
            IdempotencyKey::of(&HeaderMap::from_iter(headers), None, "/execute", None, b"{}")
                .unwrap()
                .unwrap()
                .digest
        };
        assert_eq!(digest("application/json"), digest("application/json; charset=utf-8"));
        assert_ne!(digest("application/json"), digest("application/x-ndjson"));
    }

    #[tokio::test]
    async fn the_second_waits_for_the_first_also_if_the_first_caller_leaves() {
        let (shared, gate) = (Idempotency::default(), Arc::new(Notify::new()));
        let waiting = Arc::clone(&gate);
        let work = async move {
            waiting.notified().await;
            "first".into_response()
        };
        let mut first = Box::pin(shared.run(key("a", "k", "body"), work));
        assert!(futures_util::poll!(&mut first).is_pending());
        drop(first);
        let second = shared.run(key("a", "k", "body"), async { "second".into_response() });
        let (second, ()) = tokio::join!(second, async { gate.notify_one() });
        assert_eq!(text(second.unwrap()).await, "first again");
        shared.drain().await;
    }

    #[tokio::test]
    async fn answers_of_requests_that_ran_nothing_are_forgotten() {
        let (shared, count) = (Idempotency::default(), Arc::default());
        for (status, expected) in [
            (StatusCode::BAD_REQUEST, "0"),
            (StatusCode::SERVICE_UNAVAILABLE, "1"),
            (StatusCode::GATEWAY_TIMEOUT, "2"),
            (StatusCode::OK, "2 again"),
        ] {
            let response = shared.run(key("a", "k", "body"), counted(&count, status)).await.unwrap();
            assert_eq!(text(response).await, expected);
        }
        let marked = async {
            let mut response = StatusCode::BAD_GATEWAY.into_response();
            response.extensions_mut().insert(NotRun);
            response
        };
        shared.run(key("a", "m", ""), marked).await.unwrap();
        assert_eq!(
            text(shared.run(key("a", "m", ""), counted(&count, StatusCode::OK)).await.unwrap()).await,
            "3"
        );
    }

    #[tokio::test]
    async fn work_that_breaks_off_is_forgotten() {
        let shared = Idempotency::default();
        let broken = async { panic!("on purpose") };
        assert!(shared.run(key("a", "k", ""), broken).await.is_err());
        assert_eq!(
            text(shared.run(key("a", "k", ""), async { "x".into_response() }).await.unwrap()).await,
            "x"
        );
    }

    #[tokio::test]
    async fn entries_and_bytes_are_bounded() {
        let shared = Idempotency::default();
        let long = vec![b'x'; 4 << 20];
        for number in 0..40 {
            let body = long.clone();
            shared.run(key("a", &number.to_string(), ""), async { body.into_response() }).await.unwrap();
        }
        let (bytes, count) = {
            let entries = &locked(&shared.kept).entries;
            (entries.bytes(), entries.len())
        };
        assert!(bytes <= BYTES && count < 20 && count > 5, "{bytes} {count}");
        for number in 0..ENTRIES + 100 {
            shared.run(key("b", &number.to_string(), ""), async { "x".into_response() }).await.unwrap();
        }
        assert!(locked(&shared.kept).entries.len() <= ENTRIES);
    }

    #[tokio::test]
    async fn a_request_whose_answer_made_room_does_not_run_again() {
        let (shared, count) = (Idempotency::default(), Arc::default());
        shared.run(key("a", "k", ""), counted(&count, StatusCode::OK)).await.unwrap();
        for number in 0..20 {
            let long = async { vec![b'x'; 4 << 20].into_response() };
            shared.run(key("b", &number.to_string(), ""), long).await.unwrap();
        }
        let error = shared.run(key("a", "k", ""), counted(&count, StatusCode::OK)).await.unwrap_err();
        assert_eq!((error.status, error.code), (StatusCode::CONFLICT, code::IDEMPOTENCY_CONFLICT));
        let error = shared.run(key("a", "k", "other"), counted(&count, StatusCode::OK)).await.unwrap_err();
        assert_eq!(error.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn too_long_answers_are_not_run_again() {
        let shared = Idempotency::default();
        let long = async { vec![b'x'; ANSWER_BYTES + 1].into_response() };
        assert_eq!(text(shared.run(key("a", "k", ""), long).await.unwrap()).await.len(), ANSWER_BYTES + 1);
        let error = shared.run(key("a", "k", ""), async { "x".into_response() }).await.unwrap_err();
        assert_eq!(error.status, StatusCode::CONFLICT);
    }

    #[test]
    fn keys_are_short_and_visible() {
        let mut headers = HeaderMap::new();
        let mut check = |value: &[u8]| {
            headers.insert(KEY, HeaderValue::from_bytes(value).unwrap());
            IdempotencyKey::of(&headers, None, "/", None, b"").is_ok()
        };
        assert!(check(b"a") && check(&[b'k'; 255]));
        assert!(!check(b"") && !check(&[b'k'; 256]) && !check(b"a b") && !check("é".as_bytes()));
    }

    #[test]
    fn old_entries_are_forgotten() {
        let shared = Idempotency::default();
        let start = Instant::now();
        let Ok(Entered::First(sender)) = shared.enter(&key("a", "k", ""), start) else { panic!("not first") };
        assert!(
            matches!(shared.enter(&key("a", "k", ""), start + KEPT_FOR), Ok(Entered::Later(_))),
            "still running"
        );
        sender.send_replace(State::TooLong);
        assert!(matches!(shared.enter(&key("a", "k", ""), start + KEPT_FOR), Ok(Entered::First(_))));
    }
}
