//! Who wants to hear what of the servers: subscriptions to resources, and the listeners of the modern era.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gateway_protocol::{RawJson, meta, method};
use gateway_upstream::{Fleet, ResourceSubscription, UpstreamId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::outbound::{Sink, written};
use crate::view::View;
use gateway_runtime::lock::locked;

/// Something that callers may want to hear.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A list is another than before; of all servers if none is named.
    List { server: Option<UpstreamId>, method: &'static str },
    /// A server has something of this list for the first time.
    Appeared { server: UpstreamId, method: &'static str },
    /// A resource is another than before.
    Resource { server: UpstreamId, uri: String },
}

/// A resource that somebody wants to hear about.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) server: UpstreamId,
    pub(crate) own: String,
    pub(crate) public: String,
    /// Ends with the listener.
    pub(crate) _upstream: ResourceSubscription,
}

/// What a listener wants to hear.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Filter {
    pub(crate) tools_list_changed: bool,
    pub(crate) prompts_list_changed: bool,
    pub(crate) resources_list_changed: bool,
    pub(crate) resource_subscriptions: Vec<String>,
}

/// Everybody who listens.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    next: AtomicU64,
    present: Mutex<HashMap<u64, Listener>>,
}

/// One `subscriptions/listen`.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) view: View,
    pub(crate) filter: Filter,
    pub(crate) resources: Vec<Subscription>,
    /// The id of the request, which is in every notification.
    pub(crate) id: Value,
    pub(crate) sink: Sink,
}

/// A listener among the others; dropping it ends the listening.
#[derive(Debug)]
pub(crate) struct Listening {
    listeners: Arc<Listeners>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let ended = locked(&self.listeners.present).remove(&self.number);
        // Its subscriptions end outside the lock.
        drop(ended);
    }
}

impl Listener {
    /// The notification of a change that it wants to hear about.
    fn notification(&self, fleet: &Fleet, change: &Change) -> Option<(&'static str, Value)> {
        let list = |server: Option<&UpstreamId>, method| {
            self.wants(fleet, server, method).then(|| (method, json!({})))
        };
        match change {
            Change::List { server, method } => list(server.as_ref(), method),
            Change::Appeared { server, method } => list(Some(server), method),
            Change::Resource { server, uri } => {
                let found =
                    self.resources.iter().find(|found| found.server == *server && found.own == *uri)?;
                Some((method::RESOURCE_UPDATED, json!({"uri": found.public})))
            }
        }
    }

    /// Whether it wants to hear that a list changed, of one server or of any.
    fn wants(&self, fleet: &Fleet, server: Option<&UpstreamId>, list: &str) -> bool {
        let wants = match list {
            method::TOOLS_CHANGED => self.filter.tools_list_changed,
            method::PROMPTS_CHANGED => self.filter.prompts_list_changed,
            _ => self.filter.resources_list_changed,
        };
        let shows = |server| list == method::TOOLS_CHANGED || self.view.shows(fleet, server);
        wants && server.is_none_or(shows)
    }
}

impl Listeners {
    /// Adds a listener, which hears of changes until the guard is dropped.
    pub(crate) fn add(self: &Arc<Self>, listener: Listener) -> Listening {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        locked(&self.present).insert(number, listener);
        Listening { listeners: Arc::clone(self), number }
    }

    /// Notifies everybody whom a change concerns.
    pub(crate) fn notify(&self, fleet: &Fleet, change: &Change) {
        for listener in locked(&self.present).values() {
            if let Some((method, mut params)) = listener.notification(fleet, change) {
                params["_meta"] = json!({meta::SUBSCRIPTION_ID: listener.id});
                listener.sink.offer(written(method, RawJson::of(&params).ok().as_ref()));
            }
        }
    }
}
