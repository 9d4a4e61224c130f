//! What the requests over MCP share.

use std::ops::Deref;
use std::sync::Arc;

use gateway_config::McpConfig;
use gateway_runtime::Runtime;
use gateway_upstream::ResultBudget;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::legacy::Sessions;
use super::listen::Listeners;
use super::lists::ToolLists;
use super::news;
use super::search::Finders;
use crate::metrics::Metrics;

/// The gateway as an MCP server. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    shared: Shared,
    metrics: Arc<Metrics>,
}

/// What the endpoint keeps.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) sessions: Sessions,
    pub(super) listeners: Listeners,
    pub(super) tools: ToolLists,
    pub(super) finders: Finders,
    pub(super) tasks: TaskTracker,
    pub(super) stopping: CancellationToken,
}

impl Shared {
    fn new(config: &McpConfig, results: &ResultBudget) -> Self {
        let sessions = Sessions::new(config.sessions, config.session_share(), config.session_idle);
        sessions.make_room_in(results);
        Self {
            sessions,
            listeners: Listeners::default(),
            tools: ToolLists::default(),
            finders: Finders::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }
}

impl Endpoint {
    /// An endpoint over a runtime.
    pub(crate) fn new(runtime: Runtime, metrics: Arc<Metrics>) -> Self {
        let shared = Shared::new(&runtime.config().mcp, runtime.fleet().results());
        Self(Arc::new(Inner { runtime, shared, metrics }))
    }

    /// Begins to notify callers of what happens.
    pub(crate) fn start(&self) {
        self.mcp().tasks.spawn(news::run(self.clone()));
    }

    /// Ends all streams, and the calls that wait for answers: nobody can bring them any more.
    pub(crate) fn stop(&self) {
        self.mcp().stopping.cancel();
        self.parked().clear();
    }

    /// Waits for the requests of legacy sessions.
    pub(crate) async fn drain(&self) {
        self.mcp().tasks.close();
        self.mcp().tasks.wait().await;
    }

    pub(super) fn mcp(&self) -> &Shared {
        &self.0.shared
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }
}

/// What needs no session is asked of the runtime directly.
impl Deref for Endpoint {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.0.runtime
    }
}
