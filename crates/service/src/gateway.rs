//! What the routes share.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateway_dialects::Dialects;
use gateway_mcp::Endpoint;
use gateway_store::CallLog;
use gateway_upstream::{Fleet, ResultBudget};

use crate::idempotency::Idempotency;
use crate::metrics::Metrics;
use crate::turns::Turns;
use gateway_config::ServiceConfig;
use gateway_runtime::Runtime;

/// What long bodies may take at once while they are read, unless somebody says otherwise.
const BODIES_BYTES: usize = 64 << 20;

/// So many bodies of the size that is allowed fit at once at least.
const BODIES: usize = 4;

/// How long a body waits for room.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// How long turns may take to be saved when the gateway ends.
#[cfg(feature = "agent")]
const SAVING: Duration = Duration::from_secs(5);

/// The gateway as a service: the runtime, and what only HTTP and MCP remember between requests. Clones share it.
#[derive(Clone, Debug)]
pub struct Gateway {
    runtime: Runtime,
    pub(crate) state: Arc<ServiceState>,
}

/// What requests over HTTP and MCP share.
#[derive(Debug)]
pub(crate) struct ServiceState {
    pub(crate) metrics: Metrics,
    pub(crate) idempotency: Idempotency,
    mcp: Endpoint,
    /// The models, and the loop over them.
    #[cfg(feature = "agent")]
    pub(crate) completions: gateway_agent::completions::Completions,
    /// Conversations that the gateway keeps.
    #[cfg(feature = "agent")]
    pub(crate) conversations: gateway_agent::conversations::Conversations,
    /// Whose turn it is to translate what a request brought.
    pub(crate) turns: Turns,
    /// The bytes of long bodies that are being read, over all callers.
    pub(crate) bodies: ResultBudget,
    config: Mutex<ConfigState>,
}

/// What is known of the configuration. A reload may change it.
#[derive(Debug)]
struct ConfigState {
    /// Where the one in use comes from.
    source: &'static str,
    /// Why a later one is not in use.
    problems: Vec<String>,
}

impl Gateway {
    /// Puts a gateway together.
    pub fn new(config: ServiceConfig, fleet: Fleet, dialects: Dialects, log: CallLog) -> Self {
        Self::over(Runtime::new(config, fleet, dialects, log))
    }

    /// Serves a runtime.
    pub fn over(runtime: Runtime) -> Self {
        #[cfg(feature = "agent")]
        let completions = gateway_agent::completions::Completions::new(
            runtime.clone(),
            gateway_agent::Store::new(runtime.config()),
        );
        let state = ServiceState {
            mcp: Endpoint::new(runtime.clone()),
            #[cfg(feature = "agent")]
            conversations: gateway_agent::conversations::Conversations::new(
                runtime.clone(),
                completions.store().clone(),
                Arc::clone(completions.models()),
                Arc::clone(completions.results()),
            ),
            #[cfg(feature = "agent")]
            completions,
            metrics: Metrics::new(Arc::clone(runtime.call_metrics())),
            idempotency: Idempotency::default(),
            turns: Turns::default(),
            bodies: bodies_of(runtime.config()),
            config: Mutex::new(ConfigState { source: runtime.config().source, problems: Vec::new() }),
        };
        Self { runtime, state: Arc::new(state) }
    }

    /// Ends the upstreams, whose calls in flight may finish until `drain` is over, and writes the rest of the log. For
    /// gateways that do not listen; [`crate::Running::shutdown`] does more.
    pub async fn close(&self, drain: Duration) {
        self.state.mcp.stop();
        self.runtime.close(drain).await;
        self.save_turns().await;
    }

    /// Waits until the turns are saved whose callers have gone.
    #[cfg_attr(
        not(feature = "agent"),
        expect(clippy::unused_async, reason = "without the agent there are no turns")
    )]
    pub(crate) async fn save_turns(&self) {
        #[cfg(feature = "agent")]
        if tokio::time::timeout(SAVING, self.state.conversations.close()).await.is_err() {
            tracing::warn!("Turns of conversations could not be saved in time.");
        }
    }

    /// Notes where the configuration that was just taken over comes from.
    pub fn set_config_source(&self, source: &'static str) {
        *self.config_state() = ConfigState { source, problems: Vec::new() };
    }

    /// Notes why a changed configuration was not taken over.
    pub fn set_config_problems(&self, problems: Vec<String>) {
        self.config_state().problems = problems;
    }

    /// Where the configuration in use comes from.
    pub(crate) fn config_source(&self) -> &'static str {
        self.config_state().source
    }

    /// Why a changed configuration is not in use.
    pub(crate) fn config_problems(&self) -> Vec<String> {
        self.config_state().problems.clone()
    }

    fn config_state(&self) -> MutexGuard<'_, ConfigState> {
        self.state.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gateway as an MCP server.
    pub fn mcp(&self) -> &Endpoint {
        &self.state.mcp
    }
}

/// A gateway is a runtime that is served: whatever needs no more is asked of it directly.
impl Deref for Gateway {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.runtime
    }
}

/// The budget for bodies. Who waits for room learns that before the time for the whole body is over.
fn bodies_of(config: &ServiceConfig) -> ResultBudget {
    let most =
        config.bodies_bytes.unwrap_or_else(|| config.body_bytes.saturating_mul(BODIES).max(BODIES_BYTES));
    ResultBudget::with_patience(most, BODY_PATIENCE.min(config.read_timeout / 2))
}
