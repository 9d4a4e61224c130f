//! The clients that are notified: legacy sessions, and subscriptions of the modern era.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::lock::lock;
use crate::notify::{Change, Subscription};
use crate::session::Session;

/// Everyone who can be notified.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    subscriptions: Mutex<Vec<Subscription>>,
}

impl Subscribers {
    /// Notifies all subscribers.
    pub(crate) fn notify(&self, change: &Change) {
        let sessions: Vec<_> = lock(&self.sessions).values().cloned().collect();
        for session in sessions {
            session.notify(change);
        }
        lock(&self.subscriptions).retain(|subscription| subscription.notify(change));
    }

    /// Whether a client listens.
    pub(crate) fn is_heard(&self) -> bool {
        !lock(&self.subscriptions).is_empty()
            || lock(&self.sessions).values().any(|session| session.outbox().is_some())
    }

    pub(crate) fn add_session(&self, session: &Arc<Session>) {
        lock(&self.sessions).insert(session.id.clone(), Arc::clone(session));
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).get(id).cloned()
    }

    pub(crate) fn remove_session(&self, id: &str) {
        if let Some(session) = lock(&self.sessions).remove(id) {
            session.end();
        }
    }

    pub(crate) fn forget_sessions(&self) {
        lock(&self.sessions).clear();
    }

    /// Acknowledges a subscription and keeps it, unless its receiver is gone.
    pub(crate) fn subscribe(&self, subscription: Subscription) {
        if subscription.acknowledge() {
            lock(&self.subscriptions).push(subscription);
        }
    }

    /// Ends the subscription of a request.
    pub(crate) fn unsubscribe(&self, id: &str) {
        lock(&self.subscriptions).retain(|subscription| subscription.id != id);
    }
}
