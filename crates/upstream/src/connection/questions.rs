//! What a server asks while it works on a call, and who answers.
//!
//! Servers of the legacy era may ask back: for a sample of a model, for an answer of the user, for the roots of a
//! workspace. Such a request names no call. On a stream of its own (Streamable HTTP) it is clear whose it is; on a shared
//! stream it is given to the owner of the calls in flight, and to nobody where there is more than one owner.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use gateway_config::UpstreamId;
use gateway_protocol::{RawJson, Request, RpcError, code};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Questions of one call that may wait.
const QUESTIONS: usize = 16;

/// How long the last words of a call that was given up may be on their way.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Somebody who answers what a server asks during a call. Clones are the same somebody.
#[derive(Clone, Debug)]
pub struct Responder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    owner: Arc<str>,
    questions: mpsc::Sender<Question>,
    since: Instant,
    /// Questions that nobody has answered yet.
    open: AtomicUsize,
    /// Milliseconds since `since` of the last answer.
    answered: AtomicU64,
    /// When the call was set aside, where it is.
    aside: Mutex<Option<Instant>>,
    /// The upstream that took the call over, if one did.
    fallback: OnceLock<UpstreamId>,
}

impl Responder {
    /// One for a call of `owner`. Calls of one owner may be taken for each other; those of two owners never are.
    pub fn new(owner: Arc<str>) -> (Self, mpsc::Receiver<Question>) {
        let (questions, receiver) = mpsc::channel(QUESTIONS);
        let inner = Inner {
            owner,
            questions,
            since: Instant::now(),
            open: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            aside: Mutex::default(),
            fallback: OnceLock::new(),
        };
        (Self(Arc::new(inner)), receiver)
    }

    /// Whose calls it answers for.
    pub fn owner(&self) -> &Arc<str> {
        &self.0.owner
    }

    /// Hands on a request of the server. Where there is no room, dropping the answer refuses it. `successors` are asked where
    /// the call is over before the answer is there.
    pub(crate) fn ask(
        &self,
        request: Request,
        answer: oneshot::Sender<Result<RawJson, RpcError>>,
        successors: Option<Weak<dyn Successors>>,
    ) {
        let Request { method, params, .. } = request;
        self.take_over((method, params), QuestionOrigin::Server, answer, successors);
    }

    fn take_over(
        &self,
        (method, params): (String, Option<RawJson>),
        origin: QuestionOrigin,
        answer: oneshot::Sender<Result<RawJson, RpcError>>,
        successors: Option<Weak<dyn Successors>>,
    ) {
        self.0.open.fetch_add(1, Ordering::AcqRel);
        let question =
            Question { method, params, origin, answer: Some(answer), responder: self.clone(), successors };
        if let Err(error) = self.0.questions.try_send(question) {
            // Two of them without room would hand it to each other for ever.
            error.into_inner().successors = None;
        }
    }

    /// Asks something of our own, and waits for the answer. Whoever cannot be asked this refuses.
    pub async fn put(&self, method: &str, params: RawJson) -> Result<RawJson, RpcError> {
        let (answer, receiver) = oneshot::channel();
        self.take_over((method.to_owned(), Some(params)), QuestionOrigin::Gateway, answer, None);
        let refused = || RpcError::new(code::METHOD_NOT_FOUND, "the caller cannot be asked");
        receiver.await.unwrap_or_else(|_| Err(refused()))
    }

    /// Notes that another upstream takes the call over: its questions come from there.
    pub(crate) fn falls_back(&self, upstream: &UpstreamId) {
        // A call falls back once.
        let _ = self.0.fallback.set(upstream.clone());
    }

    /// The upstream that took the call over, if one did.
    pub fn fallback(&self) -> Option<&UpstreamId> {
        self.0.fallback.get()
    }

    /// Notes that the call is set aside until its caller brings an answer, which may be never.
    pub fn set_aside(&self) {
        self.set_aside_at(Instant::now());
    }

    pub(crate) fn set_aside_at(&self, moment: Instant) {
        *self.aside() = Some(moment);
    }

    /// Notes that the call goes on.
    pub fn take_up(&self) {
        *self.aside() = None;
    }

    /// Whether the call was set aside, and what the server asked with the question that it waits for has come.
    pub(crate) fn is_aside(&self) -> bool {
        self.aside().is_some_and(|since| since.elapsed() >= LINGER)
    }

    fn aside(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.0.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are for the same call.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether the server waits for an answer.
    pub(super) fn is_asking(&self) -> bool {
        self.0.open.load(Ordering::Acquire) > 0
    }

    /// When the last answer was given.
    pub(super) fn last_answer(&self) -> Instant {
        self.0.since + Duration::from_millis(self.0.answered.load(Ordering::Acquire))
    }
}

/// Who answers a question that came on a shared stream when the call is over that it was given to.
///
/// Such a question may have been another call's of the same owner, which still waits for it.
pub(crate) trait Successors: std::fmt::Debug + Send + Sync {
    /// Another call of the same owner.
    fn successor(&self, of: &Responder) -> Option<Responder>;
}

/// Who asks the caller something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionOrigin {
    /// The server that works on the call.
    Server,
    /// The gateway itself, before the call runs.
    Gateway,
}

/// A request of a server. Dropping it refuses the request, unless another call of the same owner may be meant.
#[derive(Debug)]
pub struct Question {
    /// The method: `elicitation/create`, `sampling/createMessage`, `roots/list` or one that is not known yet.
    pub method: String,
    /// Its parameters as they came.
    pub params: Option<RawJson>,
    /// Who asks.
    pub origin: QuestionOrigin,
    answer: Option<oneshot::Sender<Result<RawJson, RpcError>>>,
    responder: Responder,
    successors: Option<Weak<dyn Successors>>,
}

impl Question {
    /// Answers the server.
    pub fn answer(mut self, outcome: Result<RawJson, RpcError>) {
        if let Some(answer) = self.answer.take() {
            // A server that went away wants no answer.
            let _ = answer.send(outcome);
        }
    }

    /// Waits until the server takes its request back; for ever where it does not.
    pub async fn withdrawn(&mut self) {
        match &mut self.answer {
            Some(answer) => answer.closed().await,
            None => std::future::pending().await,
        }
    }

    /// Refuses a question that the caller cannot be asked.
    pub fn refuse(self) {
        let message = format!("the caller does not answer `{}`", self.method);
        self.answer(Err(RpcError::new(code::METHOD_NOT_FOUND, message)));
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let inner = &self.responder.0;
        let millis = u64::try_from(inner.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        inner.answered.store(millis, Ordering::Release);
        inner.open.fetch_sub(1, Ordering::AcqRel);
        let Some(answer) = self.answer.take().filter(|answer| !answer.is_closed()) else { return };
        let successor = self
            .successors
            .as_ref()
            .and_then(Weak::upgrade)
            .and_then(|successors| successors.successor(&self.responder));
        if let Some(successor) = successor {
            let request = (std::mem::take(&mut self.method), self.params.take());
            successor.take_over(request, self.origin, answer, self.successors.take());
        }
    }
}
