//! The state of a fixture process, behind every transport.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalogue::Catalogue;
use crate::everything::{Asked, Everything};
use crate::exchange::Exchange;
use crate::files::AppendFile;
use crate::lock::lock;
use crate::message::Message;
use crate::modes::{Fault, Mode, Modes, Scope};
use crate::notify::{Change, Subscription};
use crate::options::{Options, Serves};
use crate::subscribers::Subscribers;

/// The state of one fixture process.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) options: Options,
    pub(crate) modes: Modes,
    pub(crate) catalogue: Catalogue,
    pub(crate) counter: AppendFile,
    pub(crate) call_log: AppendFile,
    pub(crate) wire_log: AppendFile,
    pub(crate) pids: AppendFile,
    /// What it offers instead of the catalogue.
    pub(crate) everything: Option<Everything>,
    pub(crate) values: Mutex<HashMap<String, String>>,
    pub(crate) tasks: TaskTracker,
    pub(crate) counted: AtomicU64,
    fault_memory: AppendFile,
    faults: AtomicU64,
    /// Calls that the faults of answers could have hit.
    calls: AtomicU64,
    pub(crate) lists: AtomicU64,
    pub(crate) revision: AtomicU64,
    stormed: AtomicBool,
    pub(crate) subscribers: Subscribers,
    in_flight: Mutex<HashMap<(String, String), CancellationToken>>,
}

impl Server {
    pub(crate) fn new(options: Options) -> Result<Self> {
        let open = |path: &Option<PathBuf>| {
            AppendFile::open(path.as_deref()).with_context(|| format!("opening {path:?}"))
        };
        // Empty where no log is wanted.
        let named = || std::env::var_os("MCP_CALL_LOG").filter(|path| !path.is_empty());
        let call_log = options.call_log.clone().or_else(|| named().map(PathBuf::from));
        let modes = Modes::new(&options.modes);
        Ok(Self {
            catalogue: Catalogue::new(&options, &modes)?,
            counter: open(&options.counter)?,
            call_log: open(&call_log)?,
            wire_log: open(&options.wire_log)?,
            pids: open(&options.pid_file)?,
            fault_memory: open(&options.fault_memory)?,
            everything: (options.serve == Serves::Everything).then(Everything::default),
            values: Mutex::default(),
            tasks: TaskTracker::new(),
            counted: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            lists: AtomicU64::new(0),
            revision: AtomicU64::new(0),
            stormed: AtomicBool::new(false),
            subscribers: Subscribers::default(),
            in_flight: Mutex::default(),
            options,
            modes,
        })
    }

    /// The request, if everything is offered instead of the catalogue.
    pub(crate) fn asked<'a>(&'a self, message: &'a Message<'a>, exchange: &'a Exchange) -> Option<Asked<'a>> {
        Some(Asked {
            options: &self.options,
            subscribers: &self.subscribers,
            everything: self.everything.as_ref()?,
            message,
            exchange,
        })
    }

    /// Which faults hit this request. If any, this uses up one of `--fault-times`.
    pub(crate) fn faults_of(&self, message: &Message<'_>) -> Modes {
        let options = &self.options;
        let is_target = message.method() == options.fault_method
            && options.fault_tool.as_deref().is_none_or(|tool| message.name() == Some(tool));
        if !is_target {
            return Modes::default();
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let due = |mode: Mode| match mode.fault {
            Fault::CrashEvery => number.is_multiple_of(mode.value.max(1)),
            Fault::OutOfOrder => number % 2 == 1,
            fault => fault.scope() == Scope::Answer,
        };
        let modes = self.modes.filtered(due);
        if modes.is_empty() || self.fault_happens() { modes } else { Modes::default() }
    }

    /// Counts one fault and says whether it may still happen.
    pub(crate) fn fault_happens(&self) -> bool {
        let Some(times) = self.options.fault_times else { return true };
        let so_far = match &self.options.fault_memory {
            Some(path) => crate::process::count_lines(path) as u64,
            None => self.faults.load(Ordering::Relaxed),
        };
        if so_far >= times {
            return false;
        }
        self.faults.fetch_add(1, Ordering::Relaxed);
        self.fault_memory.append("fault");
        true
    }

    /// Changes the list of tools that many times and notifies all clients each time.
    pub(crate) fn change_tools(&self, times: u64) {
        for _ in 0..times {
            self.revision.fetch_add(1, Ordering::Relaxed);
            self.subscribers.notify(&Change::Tools);
        }
    }

    /// Starts the storm of the mode `list-changed-storm` once the list was read and a client listens.
    pub(crate) fn storm_if_due(self: &Arc<Self>) {
        let Some(times) = self.modes.get(Fault::ListChangedStorm) else { return };
        let is_due = self.subscribers.is_heard() && self.lists.load(Ordering::Relaxed) > 0;
        if !is_due || self.stormed.swap(true, Ordering::Relaxed) {
            return;
        }
        let server = Arc::clone(self);
        self.tasks.spawn(async move {
            // The answer that triggered it is sent first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.change_tools(times);
        });
    }

    pub(crate) fn subscribe(self: &Arc<Self>, subscription: Subscription) {
        self.subscribers.subscribe(subscription);
        self.storm_if_due();
    }

    /// Registers a request so that a notification can cancel it.
    pub(crate) fn begin(&self, exchange: &Exchange, id: &str, cancelled: &CancellationToken) {
        lock(&self.in_flight).insert(request_key(exchange, id), cancelled.clone());
    }

    /// The request is over.
    pub(crate) fn end(&self, exchange: &Exchange, id: &str) {
        lock(&self.in_flight).remove(&request_key(exchange, id));
    }

    pub(crate) fn cancel(&self, exchange: &Exchange, id: &str) {
        if let Some(token) = lock(&self.in_flight).remove(&request_key(exchange, id)) {
            token.cancel();
        }
        self.subscribers.unsubscribe(id);
    }
}

/// The key of a request in flight: ids are unique only within one connection.
fn request_key(exchange: &Exchange, id: &str) -> (String, String) {
    (exchange.session.as_ref().map(|session| session.id.clone()).unwrap_or_default(), id.to_owned())
}
