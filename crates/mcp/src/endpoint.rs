//! What the requests over MCP share.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use futures_util::FutureExt as _;
use gateway_protocol::RawJson;
use gateway_runtime::Runtime;
use gateway_runtime::lists::Finder;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::sessions::Sessions;
use crate::subscriptions::Listeners;
use crate::view::PerView;

/// Held as long as somebody works on a request, who may go on when its caller has left.
pub type Slot = Arc<dyn Any + Send + Sync>;

/// The gateway as an MCP server. Clones share it.
#[derive(Clone, Debug)]
pub struct Endpoint(Arc<State>);

/// What the endpoint keeps.
#[derive(Debug)]
pub(crate) struct State {
    runtime: Runtime,
    pub(crate) sessions: Sessions,
    pub(crate) listeners: Arc<Listeners>,
    /// The tools of each view, as they are shown, by the era of who sees them.
    pub(crate) tools: PerView<Arc<[RawJson]>>,
    pub(crate) legacy_tools: PerView<Arc<[RawJson]>>,
    pub(crate) finders: PerView<Arc<Finder>>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl Endpoint {
    /// An endpoint over a runtime.
    pub fn new(runtime: Runtime) -> Self {
        let config = &runtime.config().mcp;
        let sessions = Sessions::new(config.sessions, config.session_share(), config.session_idle);
        sessions.make_room_in(runtime.fleet().results());
        Self(Arc::new(State {
            runtime,
            sessions,
            listeners: Arc::default(),
            tools: PerView::default(),
            legacy_tools: PerView::default(),
            finders: PerView::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }))
    }

    /// Ends all streams, and the calls that wait for answers: nobody can bring them any more.
    pub fn stop(&self) {
        self.0.stopping.cancel();
        self.parked().clear();
    }

    /// Waits for the requests of legacy sessions.
    pub async fn drain(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub(crate) fn state(&self) -> &State {
        &self.0
    }

    /// Works on a request, also when its caller leaves: in the legacy era only a notification cancels.
    pub(crate) fn spawn<F>(&self, slot: Option<Slot>, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        // Mapped, not awaited in another block: that would hold the future twice, and move it.
        self.0.tasks.spawn(work.map(move |output| {
            drop(slot);
            output
        }))
    }
}

/// What needs no session is asked of the runtime directly.
impl Deref for Endpoint {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.0.runtime
    }
}
