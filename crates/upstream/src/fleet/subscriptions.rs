//! Which resources of an upstream somebody wants to hear about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use gateway_protocol::{RawJson, method};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::Fleet;
use super::upstream::Upstream;
use crate::connection::{Connection, OutgoingRequest};
use crate::error::CallError;

/// The resources of one upstream that somebody listens to. The upstream hears of each once, whoever listens.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    wanted: Mutex<HashMap<String, Wanted>>,
}

#[derive(Debug)]
struct Wanted {
    listeners: usize,
    /// For servers of the modern era.
    listening: Option<Listening>,
}

/// A subscription of the modern era; dropping it ends it.
#[derive(Debug)]
struct Listening {
    _stop: DropGuard,
    /// Cancelled once the server has agreed, or it is clear that it will not.
    acknowledged: CancellationToken,
}

/// How long a server's agreement is waited for. One that gives none may still notify.
const AGREEMENT: Duration = Duration::from_secs(2);

/// Somebody's interest in a resource; dropping it ends the interest.
#[derive(Debug)]
pub struct ResourceSubscription {
    upstream: Weak<Upstream>,
    tasks: TaskTracker,
    uri: String,
}

impl Subscriptions {
    /// Subscribes on a new connection to what is wanted.
    pub(super) fn renew(&self, upstream: &Arc<Upstream>, connection: &Arc<Connection>, tasks: &TaskTracker) {
        let mut wanted = self.lock();
        for (uri, entry) in wanted.iter_mut() {
            entry.listening = begin(upstream, connection, uri, tasks);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts to listen on a connection, without waiting for what comes of it.
fn begin(
    upstream: &Arc<Upstream>,
    connection: &Arc<Connection>,
    uri: &str,
    tasks: &TaskTracker,
) -> Option<Listening> {
    let (connection, wait) = (Arc::clone(connection), upstream.spec.timeouts.list);
    if connection.era().is_modern() {
        let filter = RawJson::of(&json!({"resourceSubscriptions": [uri]})).ok()?;
        let (stop, acknowledged) = (CancellationToken::new(), CancellationToken::new());
        let (stopped, agreed) = (stop.clone(), acknowledged.clone());
        tasks.spawn(async move {
            let _ = stopped.run_until_cancelled(connection.listen(filter, &agreed)).await;
            agreed.cancel();
        });
        return Some(Listening { _stop: stop.drop_guard(), acknowledged });
    }
    let uri = uri.to_owned();
    tasks.spawn(async move {
        let _ = request(&connection, method::SUBSCRIBE, &uri, wait).await;
    });
    None
}

async fn request(
    connection: &Connection,
    method: &str,
    uri: &str,
    wait: std::time::Duration,
) -> Result<RawJson, CallError> {
    let uri = json!(uri).to_string();
    let params = [("uri", uri.as_bytes())];
    connection.request(OutgoingRequest { params: &params, ..OutgoingRequest::new(method, wait) }).await
}

impl Fleet {
    /// Subscribes to changes of a resource of an upstream; they come as [`super::FleetEvent::Notification`].
    pub async fn subscribe(&self, id: &str, uri: &str) -> Result<ResourceSubscription, CallError> {
        let upstream = self.upstream(id)?;
        let connection = upstream.connected().await?;
        let (is_first, acknowledged) = {
            let mut wanted = upstream.subscriptions.lock();
            let entry = wanted.entry(uri.to_owned()).or_insert(Wanted { listeners: 0, listening: None });
            entry.listeners += 1;
            if entry.listeners == 1 && connection.era().is_modern() {
                entry.listening = begin(&upstream, &connection, uri, &self.shared.tasks);
            }
            let acknowledged = entry.listening.as_ref().map(|listening| listening.acknowledged.clone());
            (entry.listeners == 1, acknowledged)
        };
        let subscription = ResourceSubscription {
            upstream: Arc::downgrade(&upstream),
            tasks: self.shared.tasks.clone(),
            uri: uri.to_owned(),
        };
        if is_first && !connection.era().is_modern() {
            // Where the server refuses, dropping the subscription forgets it again.
            request(&connection, method::SUBSCRIBE, uri, upstream.spec.timeouts.list).await?;
        }
        // Whoever subscribed may change the resource at once and wait for the news.
        if let Some(acknowledged) = acknowledged {
            let _ = tokio::time::timeout(AGREEMENT, acknowledged.cancelled()).await;
        }
        Ok(subscription)
    }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        let Some(upstream) = self.upstream.upgrade() else { return };
        let is_last = {
            let mut wanted = upstream.subscriptions.lock();
            let Some(entry) = wanted.get_mut(&self.uri) else { return };
            entry.listeners = entry.listeners.saturating_sub(1);
            let is_last = entry.listeners == 0;
            if is_last {
                wanted.remove(&self.uri);
            }
            is_last
        };
        let Some(connection) = upstream.live().filter(|found| is_last && !found.era().is_modern()) else {
            return;
        };
        let (uri, wait) = (std::mem::take(&mut self.uri), upstream.spec.timeouts.list);
        self.tasks.spawn(async move {
            let _ = request(&connection, method::UNSUBSCRIBE, &uri, wait).await;
        });
    }
}
