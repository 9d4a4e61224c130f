//! What all routes share.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use gateway_config::{ApprovalConfig, ServiceConfig};
use gateway_dialects::Dialects;
use gateway_store::{CallLog, Subscription};
use gateway_upstream::{Fleet, Registry, ResultBudget};
use tokio::sync::Notify;

use crate::idempotency::Idempotency;
use crate::lists::ReadyDialects;
use crate::lists::Renders;
use crate::mcp::Mcp;
use crate::metrics::Metrics;
use crate::routes::Turns;
use crate::runtime::approval::Approvals;
use crate::runtime::cache::ResultCache;
use crate::runtime::validators::Validators;

/// How long the call log may take to write what waits, at the end.
const LOG_CLOSE: Duration = Duration::from_secs(5);

/// What long bodies may take at once while they are read, unless somebody says otherwise.
const BODIES_BYTES: usize = 64 << 20;

/// So many bodies of the size that is allowed fit at once at least.
const BODIES: usize = 4;

/// How long a body waits for room.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// The gateway: upstreams, dialects, log and everything that is remembered between requests. Clones share it.
#[derive(Clone, Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: ServiceConfig,
    fleet: Fleet,
    dialects: Dialects,
    ready: OnceLock<ReadyDialects>,
    log: CallLog,
    metrics: Metrics,
    renders: Renders,
    validators: Validators,
    idempotency: Idempotency,
    mcp: Mcp,
    cache: ResultCache,
    approvals: Approvals,
    turns: Turns,
    bodies: ResultBudget,
    /// The policy of the newest configuration; all other settings are those of the start.
    approval: ArcSwap<ApprovalConfig>,
    written: Arc<Notify>,
    _subscription: Subscription,
}

impl Gateway {
    /// Puts a gateway together.
    pub fn new(config: ServiceConfig, fleet: Fleet, dialects: Dialects, log: CallLog) -> Self {
        let written = Arc::new(Notify::new());
        let wake = Arc::clone(&written);
        let mcp = Mcp::new(&config.mcp, fleet.results());
        let bodies = bodies_of(&config);
        let shared = Shared {
            _subscription: log.on_write(move |_| wake.notify_waiters()),
            written,
            cache: ResultCache::new(config.cache.clone()),
            approval: ArcSwap::from_pointee(config.approval.clone()),
            config,
            fleet,
            ready: OnceLock::new(),
            dialects,
            log,
            metrics: Metrics::default(),
            renders: Renders::default(),
            validators: Validators::default(),
            idempotency: Idempotency::default(),
            approvals: Approvals::default(),
            turns: Turns::default(),
            bodies,
            mcp,
        };
        Self { shared: Arc::new(shared) }
    }

    /// The upstreams.
    pub fn fleet(&self) -> &Fleet {
        &self.shared.fleet
    }

    /// The tools that are not an upstream's; the registry of the fleet.
    pub fn registry(&self) -> &Registry {
        self.shared.fleet.registry()
    }

    /// The call log.
    pub fn log(&self) -> &CallLog {
        &self.shared.log
    }

    /// Ends the upstreams, whose calls in flight may finish until `drain` is over, and writes the rest of the log. For
    /// gateways that do not listen; [`crate::Running::shutdown`] does more.
    pub async fn close(&self, drain: Duration) {
        self.shared.mcp.stop();
        self.shared.fleet.shutdown(drain).await;
        self.close_log().await;
    }

    /// Writes what waits to be written.
    pub(crate) async fn close_log(&self) {
        let gateway = self.clone();
        let closed = tokio::task::spawn_blocking(move || gateway.log().close(LOG_CLOSE)).await;
        match closed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "Call log is not complete."),
            Err(error) => tracing::error!(%error, "Call log was not closed."),
        }
    }

    /// The settings that the gateway was started with.
    pub fn config(&self) -> &ServiceConfig {
        &self.shared.config
    }

    /// Takes another policy: which calls run from now on, and which somebody has to approve. Calls that wait already go on
    /// waiting, except that nobody can approve what it denies.
    pub fn set_approval(&self, approval: ApprovalConfig) {
        self.shared.approval.store(Arc::new(approval));
    }

    /// The policy in force.
    pub(crate) fn approval(&self) -> Arc<ApprovalConfig> {
        self.shared.approval.load_full()
    }

    pub(crate) fn dialects(&self) -> &Dialects {
        &self.shared.dialects
    }

    pub(crate) fn ready_dialects(&self) -> &ReadyDialects {
        // Not at the start, which has no time for it.
        self.shared.ready.get_or_init(|| ReadyDialects::of(self.dialects()))
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    pub(crate) fn renders(&self) -> &Renders {
        &self.shared.renders
    }

    pub(crate) fn validators(&self) -> &Validators {
        &self.shared.validators
    }

    pub(crate) fn mcp(&self) -> &Mcp {
        &self.shared.mcp
    }

    pub(crate) fn approvals(&self) -> &Approvals {
        &self.shared.approvals
    }

    /// Whose turn it is to translate what a request brought.
    pub(crate) fn turns(&self) -> &Turns {
        &self.shared.turns
    }

    /// The bytes of long bodies that are being read, over all callers.
    pub(crate) fn bodies(&self) -> &ResultBudget {
        &self.shared.bodies
    }

    pub(crate) fn cache(&self) -> &ResultCache {
        &self.shared.cache
    }

    /// Told each time that the log has written entries.
    pub(crate) fn written(&self) -> &Notify {
        &self.shared.written
    }

    pub(crate) fn idempotency(&self) -> &Idempotency {
        &self.shared.idempotency
    }
}

/// The budget for bodies. Who waits for room learns that before the time for the whole body is over.
fn bodies_of(config: &ServiceConfig) -> ResultBudget {
    let most =
        config.bodies_bytes.unwrap_or_else(|| config.body_bytes.saturating_mul(BODIES).max(BODIES_BYTES));
    ResultBudget::with_patience(most, BODY_PATIENCE.min(config.read_timeout / 2))
}
