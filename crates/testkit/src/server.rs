//! The server behind every transport: takes one message and answers at once if it can.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, code, method, write_error};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalogue::{Catalogue, ListState};
use crate::everything::Everything;
use crate::files::AppendFile;
use crate::lifecycle::{self, SpeaksNow};
use crate::message::Message;
use crate::modes::{Fault, Mode, Modes};
use crate::notify::{Change, Outbox, Subscription, lock};
use crate::options::{Options, Serves};
use crate::session::Session;
use crate::tools::Called;

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
    lists: AtomicU64,
    revision: AtomicU64,
    stormed: AtomicBool,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    subscriptions: Mutex<Vec<Subscription>>,
    in_flight: Mutex<HashMap<(String, String), CancellationToken>>,
}

/// The context of one message.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) era: SpeaksNow,
    /// The legacy connection; `None` in the modern era.
    pub(crate) session: Option<Arc<Session>>,
    /// Where messages that belong to this request go before its answer.
    pub(crate) related: Option<Outbox>,
    /// Its mirrored headers.
    pub(crate) mirrored: Vec<(&'static str, String)>,
    /// The fault that already happened: a redirect is not followed by another.
    pub(crate) behind: Option<Fault>,
}

/// The outcome of a message.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The answer was appended; with its HTTP status.
    Answered(u16),
    /// It needs no answer.
    Accepted,
    /// The answer takes time or has a fault: run the job.
    Later,
    /// It asks for notifications.
    Listen,
    /// It is never answered.
    Ignored,
}

impl Server {
    pub(crate) fn new(options: Options) -> Result<Self, String> {
        let open = |path: &Option<PathBuf>| {
            AppendFile::open(path.as_deref()).map_err(|error| format!("opening {path:?}: {error}"))
        };
        let call_log =
            options.call_log.clone().or_else(|| std::env::var_os("MCP_CALL_LOG").map(PathBuf::from));
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
            sessions: Mutex::default(),
            subscriptions: Mutex::default(),
            in_flight: Mutex::default(),
            options,
            modes,
        })
    }

    /// Takes one message. An answer that is known at once is appended to `out`.
    pub(crate) fn take(&self, message: &Message<'_>, exchange: &Exchange, out: &mut Vec<u8>) -> Taken {
        if message.method.is_none() {
            if let Some(session) = &exchange.session {
                session.answered(message.id_text(), message.answer());
            }
            return Taken::Accepted;
        }
        if message.id.is_none() {
            self.notice(message, exchange);
            return Taken::Accepted;
        }
        let is_opening = message.method() == method::INITIALIZE;
        let is_open = exchange.session.as_ref().is_some_and(|session| session.is_open());
        if self.modes.has(Fault::Silent)
            || self.modes.has(Fault::SilentBeforeInitialize) && !is_open && !is_opening
        {
            return Taken::Ignored;
        }
        if is_opening && let Some(session) = &exchange.session {
            session.opened();
        }
        if exchange.era == SpeaksNow::Modern
            && let Err(error) = lifecycle::check_modern(message)
        {
            append_error(out, message, &error);
            return Taken::Answered(400);
        }
        if message.method() == method::LISTEN && exchange.era == SpeaksNow::Modern {
            return Taken::Listen;
        }
        if !self.modes.is_empty() {
            return Taken::Later;
        }
        let start = out.len();
        begin_answer(out, message.id_text());
        match self.respond(message, exchange, out) {
            Called::Done => {
                out.push(b'}');
                Taken::Answered(200)
            }
            Called::Slow => {
                out.truncate(start);
                Taken::Later
            }
            Called::Failed(error) => {
                out.truncate(start);
                append_error(out, message, &error);
                Taken::Answered(lifecycle::status_of(exchange.era, &error))
            }
        }
    }

    /// Appends the result of a request to `out`.
    pub(crate) fn respond(&self, message: &Message<'_>, exchange: &Exchange, out: &mut Vec<u8>) -> Called {
        if let Some(everything) = &self.everything {
            return everything.respond(self, message, exchange, out);
        }
        match message.method() {
            method::CALL_TOOL => {
                if let Err(error) = lifecycle::check_ready(exchange) {
                    return Called::Failed(error);
                }
                self.call(message, exchange, out)
            }
            method::LIST_TOOLS => {
                if let Err(error) = lifecycle::check_ready(exchange) {
                    return Called::Failed(error);
                }
                self.list(message, exchange.era, out)
            }
            method::INITIALIZE if exchange.era == SpeaksNow::Legacy => {
                lifecycle::initialize(&self.options, message, out)
            }
            method::DISCOVER if exchange.era == SpeaksNow::Modern => lifecycle::discover(&self.options, out),
            method::PING if exchange.era == SpeaksNow::Legacy => {
                out.extend_from_slice(b"{}");
                Called::Done
            }
            other => {
                Called::Failed(RpcError::new(code::METHOD_NOT_FOUND, format!("method not found: {other}")))
            }
        }
    }

    fn list(&self, message: &Message<'_>, era: SpeaksNow, out: &mut Vec<u8>) -> Called {
        let cursor = message.params.as_ref().and_then(|params| params.cursor.as_deref());
        let lists = match cursor {
            None => self.lists.fetch_add(1, Ordering::Relaxed) + 1,
            Some(_) => self.lists.load(Ordering::Relaxed),
        };
        let state = ListState { lists, revision: self.revision.load(Ordering::Relaxed) };
        let page = match self.catalogue.page(cursor, self.options.page_size, &self.modes, state) {
            Ok(page) => page,
            Err(error) => return Called::Failed(error),
        };
        out.extend_from_slice(b"{\"tools\":[");
        for (index, tool) in page.tools.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(tool.as_bytes());
        }
        out.push(b']');
        if let Some(cursor) = page.next_cursor {
            out.extend_from_slice(b",\"nextCursor\":\"");
            out.extend_from_slice(cursor.as_bytes());
            out.push(b'"');
        }
        lifecycle::append_cache_hints(&self.options, era, out);
        out.push(b'}');
        Called::Done
    }

    fn notice(&self, message: &Message<'_>, exchange: &Exchange) {
        match message.method() {
            method::INITIALIZED => {
                if let Some(session) = &exchange.session {
                    session.ready();
                }
            }
            method::CANCELLED => {
                if let Some(id) = message.params.as_ref().and_then(|params| params.request_id) {
                    self.cancel(exchange, id.get());
                }
            }
            _ => {}
        }
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
            fault => fault.is_of_answers(),
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
            self.notify(&Change::Tools);
        }
    }

    /// Notifies all subscribers.
    pub(crate) fn notify(&self, change: &Change) {
        let sessions: Vec<_> = lock(&self.sessions).values().cloned().collect();
        for session in sessions {
            session.notify(change);
        }
        lock(&self.subscriptions).retain(|subscription| subscription.notify(change));
    }

    /// Starts the storm of the mode `list-changed-storm` once the list was read and a client listens.
    pub(crate) fn storm_if_due(self: &Arc<Self>) {
        let Some(times) = self.modes.get(Fault::ListChangedStorm) else { return };
        let heard = !lock(&self.subscriptions).is_empty()
            || lock(&self.sessions).values().any(|session| session.outbox().is_some());
        if !heard || self.lists.load(Ordering::Relaxed) == 0 || self.stormed.swap(true, Ordering::Relaxed) {
            return;
        }
        let server = Arc::clone(self);
        self.tasks.spawn(async move {
            // The answer that triggered it is sent first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.change_tools(times);
        });
    }

    pub(crate) fn add_session(&self, session: &Arc<Session>) {
        lock(&self.sessions).insert(session.id.clone(), Arc::clone(session));
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).get(id).cloned()
    }

    pub(crate) fn remove_session(&self, id: &str) -> bool {
        let session = lock(&self.sessions).remove(id);
        if let Some(session) = &session {
            session.end();
        }
        session.is_some()
    }

    pub(crate) fn forget_sessions(&self) {
        lock(&self.sessions).clear();
    }

    pub(crate) fn subscribe(self: &Arc<Self>, subscription: Subscription) {
        if subscription.acknowledge() {
            lock(&self.subscriptions).push(subscription);
            self.storm_if_due();
        }
    }

    /// Registers a request so that a notification can cancel it.
    pub(crate) fn begin(&self, exchange: &Exchange, id: &str, cancelled: &CancellationToken) {
        lock(&self.in_flight).insert(request_key(exchange, id), cancelled.clone());
    }

    /// The request is over.
    pub(crate) fn end(&self, exchange: &Exchange, id: &str) {
        lock(&self.in_flight).remove(&request_key(exchange, id));
    }

    fn cancel(&self, exchange: &Exchange, id: &str) {
        if let Some(token) = lock(&self.in_flight).remove(&request_key(exchange, id)) {
            token.cancel();
        }
        lock(&self.subscriptions).retain(|subscription| subscription.id != id);
    }
}

/// The key of a request in flight: ids are unique only within one connection.
fn request_key(exchange: &Exchange, id: &str) -> (String, String) {
    (exchange.session.as_ref().map(|session| session.id.clone()).unwrap_or_default(), id.to_owned())
}

/// Appends the beginning of an answer, up to its result.
pub(crate) fn begin_answer(out: &mut Vec<u8>, id: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":");
}

/// Appends the refusal of a request.
pub(crate) fn append_error(out: &mut Vec<u8>, message: &Message<'_>, error: &RpcError) {
    let id = RawJson::parse(Bytes::copy_from_slice(message.id_text().as_bytes()));
    write_error(out, &id.unwrap_or_else(|_| RawJson::null()), error);
}
