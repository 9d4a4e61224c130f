//! Who hears what the server says unasked.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gateway_protocol::{meta, method, write_notification};
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::message::Message;
use crate::stdio::Stdout;

/// Where messages go.
#[derive(Clone, Debug)]
pub(crate) enum Outbox {
    /// To whoever writes the body of an answer.
    Channel(mpsc::UnboundedSender<Bytes>),
    /// To stdout, a line each.
    Stdout(Arc<Stdout>),
}

impl Outbox {
    /// Whether anyone can still hear it.
    pub(crate) fn send(&self, message: Vec<u8>) -> bool {
        match self {
            Self::Channel(sender) => sender.send(message.into()).is_ok(),
            Self::Stdout(stdout) => {
                stdout.write_line(&message);
                true
            }
        }
    }
}

/// One legacy connection.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its id; empty on stdio.
    pub(crate) id: String,
    phase: AtomicU8,
    outbox: Mutex<Option<Outbox>>,
}

impl Session {
    pub(crate) fn new(id: String, outbox: Option<Outbox>) -> Self {
        Self { id, phase: AtomicU8::new(0), outbox: Mutex::new(outbox) }
    }

    /// `initialize` came.
    pub(crate) fn opened(&self) {
        self.phase.store(1, Ordering::Relaxed);
    }

    /// `notifications/initialized` came.
    pub(crate) fn ready(&self) {
        if self.phase.load(Ordering::Relaxed) == 1 {
            self.phase.store(2, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == 2
    }

    /// Where answers and notifications of this session go now.
    pub(crate) fn attach(&self, outbox: Outbox) {
        *lock(&self.outbox) = Some(outbox);
    }

    pub(crate) fn outbox(&self) -> Option<Outbox> {
        lock(&self.outbox).clone()
    }

    /// Tells this session that the tools changed; false if nobody hears it.
    pub(crate) fn tell_tools_changed(&self) -> bool {
        let Some(outbox) = self.outbox().filter(|_| self.is_ready()) else { return false };
        let mut message = Vec::new();
        write_notification(&mut message, method::TOOLS_CHANGED, &[], &[]);
        outbox.send(message)
    }
}

/// One `subscriptions/listen` of the modern era.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    /// The id of the request, as it came.
    pub(crate) id: String,
    pub(crate) outbox: Outbox,
    /// Whether it asked for changes of the tools.
    pub(crate) tools: bool,
}

#[derive(Default, Deserialize)]
struct Filter {
    #[serde(default, rename = "toolsListChanged")]
    tools: bool,
}

impl Subscription {
    /// What a `subscriptions/listen` asks for.
    pub(crate) fn from_message(message: &Message<'_>, outbox: Outbox) -> Self {
        let filter = message.params.as_ref().and_then(|params| params.notifications);
        let filter: Filter =
            filter.and_then(|filter| serde_json::from_str(filter.get()).ok()).unwrap_or_default();
        Self { id: message.id_text().to_owned(), outbox, tools: filter.tools }
    }

    /// Says that the subscription stands, with the filter that is honoured.
    pub(crate) fn acknowledge(&self) -> bool {
        let filter: &[u8] = if self.tools { br#"{"toolsListChanged":true}"# } else { b"{}" };
        self.send(method::ACKNOWLEDGED, &[("notifications", filter)])
    }

    /// Tells that the tools changed; false if nobody hears it any more.
    pub(crate) fn tell_tools_changed(&self) -> bool {
        !self.tools || self.send(method::TOOLS_CHANGED, &[])
    }

    fn send(&self, method: &str, params: &[(&str, &[u8])]) -> bool {
        let mut message = Vec::new();
        write_notification(&mut message, method, params, &[(meta::SUBSCRIPTION_ID, self.id.as_bytes())]);
        self.outbox.send(message)
    }
}

/// Locks, also after a panic elsewhere: the fixture's state stays usable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
