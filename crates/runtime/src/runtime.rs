//! What all faces share.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use gateway_config::{ApprovalConfig, ServiceConfig};
use gateway_dialects::Dialects;
use gateway_store::{CallLog, Subscription};
use gateway_upstream::{Fleet, Registry};
use tokio::sync::Notify;

use crate::approvals::Approvals;
use crate::cache::ResultCache;
use crate::call_ids::CallIds;
use crate::lists::{Lists, ReadyDialects};
use crate::metrics::CallMetrics;
use crate::parked::Parked;
use crate::seal::Seal;
use crate::validators::Validators;

/// How long the call log may take to write what waits, at the end.
const LOG_CLOSE: Duration = Duration::from_secs(5);

/// The gateway without a face: upstreams, dialects, log and everything that is remembered between requests. Clones share it.
#[derive(Clone, Debug)]
pub struct Runtime {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: ServiceConfig,
    fleet: Fleet,
    log: CallLog,
    metrics: Arc<CallMetrics>,
    lists: Lists,
    validators: Validators,
    /// Calls that wait for answers of their callers, and the signature of what these callers carry.
    parked: Parked,
    seal: Seal,
    cache: ResultCache,
    call_ids: CallIds,
    approvals: Approvals,
    /// The policy of the newest configuration; all other settings are those of the start.
    approval: ArcSwap<ApprovalConfig>,
    written: Arc<Notify>,
    _subscription: Subscription,
}

impl Runtime {
    /// Puts a gateway together.
    pub fn new(config: ServiceConfig, fleet: Fleet, dialects: Dialects, log: CallLog) -> Self {
        let written = Arc::new(Notify::new());
        let wake = Arc::clone(&written);
        let lists = Lists::new(fleet.clone(), dialects, config.list_wait);
        let shared = Shared {
            _subscription: log.on_write(move |_| wake.notify_waiters()),
            written,
            cache: ResultCache::new(config.cache.clone()),
            parked: Parked::new(config.mcp.parked_calls),
            seal: Seal::random(),
            call_ids: CallIds::random(),
            approval: ArcSwap::from_pointee(config.approval.clone()),
            config,
            fleet,
            log,
            metrics: Arc::default(),
            lists,
            validators: Validators::default(),
            approvals: Approvals::default(),
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
    /// gateways that do not listen; the faces have more to end.
    pub async fn close(&self, drain: Duration) {
        self.shared.parked.clear();
        self.shared.fleet.shutdown(drain).await;
        self.close_log().await;
    }

    /// Writes what waits to be written.
    pub async fn close_log(&self) {
        let runtime = self.clone();
        let closed = tokio::task::spawn_blocking(move || runtime.log().close(LOG_CLOSE)).await;
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

    /// The server that is meant where none is named.
    pub fn default_server(&self) -> &str {
        self.config().default_server.as_deref().unwrap_or("default")
    }

    /// Takes another policy: which calls run from now on, and which somebody has to approve. Calls that wait already go on
    /// waiting, except that nobody can approve what it denies.
    pub fn set_approval(&self, approval: ApprovalConfig) {
        self.shared.approval.store(Arc::new(approval));
    }

    /// The policy in force.
    pub fn approval(&self) -> Arc<ApprovalConfig> {
        self.shared.approval.load_full()
    }

    /// The dialects that are known.
    pub fn dialects(&self) -> Arc<Dialects> {
        Arc::clone(&self.ready_dialects().all)
    }

    /// The dialects that are ready to use.
    pub fn ready_dialects(&self) -> Arc<ReadyDialects> {
        self.shared.lists.dialects()
    }

    /// Takes other dialects, for all that is asked for from now on.
    pub fn set_dialects(&self, dialects: Dialects) {
        self.shared.lists.set_dialects(dialects);
    }

    /// What is counted of calls.
    pub fn call_metrics(&self) -> &Arc<CallMetrics> {
        &self.shared.metrics
    }

    /// All lists that callers may ask for.
    pub fn lists(&self) -> &Lists {
        &self.shared.lists
    }

    /// Compiled schemas of tools.
    pub fn validators(&self) -> &Validators {
        &self.shared.validators
    }

    /// Calls that wait for answers of their callers.
    pub fn parked(&self) -> &Parked {
        &self.shared.parked
    }

    /// Signs what callers carry from one request to the next.
    pub fn seal(&self) -> &Seal {
        &self.shared.seal
    }

    /// Ids for calls that came without one.
    pub(crate) fn call_ids(&self) -> &CallIds {
        &self.shared.call_ids
    }

    /// Calls that wait for somebody.
    pub fn approvals(&self) -> &Approvals {
        &self.shared.approvals
    }

    /// Results that are kept.
    pub fn cache(&self) -> &ResultCache {
        &self.shared.cache
    }

    /// Notified each time that the log has written entries.
    pub fn written(&self) -> &Notify {
        &self.shared.written
    }
}
