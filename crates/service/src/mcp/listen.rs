//! `subscriptions/listen`: what changes, told as long as somebody listens (modern era).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use axum_core::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{RawJson, RpcError, meta, method};
use gateway_upstream::{ResourceSubscription, UpstreamId};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::core::{invalid, resource};
use super::events::{event, refusal, status_of, streamed};
use super::face::Face;
use super::modern::Checked;
use super::news::News;
use super::out::{Sink, written};
use crate::mcp::Endpoint;

/// News that wait for a slow listener; more are lost, as the specification allows.
const NEWS: usize = 256;

/// Resources that one listener may name.
const RESOURCES: usize = 1_000;

/// What a listener wants to hear.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
}

/// Everybody who listens.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    next: AtomicU64,
    present: Mutex<HashMap<u64, Listener>>,
}

#[derive(Debug)]
struct Listener {
    face: Face,
    filter: Filter,
    resources: Vec<Subscribed>,
    subscription: Value,
    sink: Sink,
}

/// A resource that somebody wants to hear about.
#[derive(Debug)]
pub(super) struct Subscribed {
    pub(super) server: UpstreamId,
    pub(super) own: String,
    pub(super) public: String,
    /// Ends with the listener.
    pub(super) _upstream: ResourceSubscription,
}

/// A listener's place; dropping it ends the listening.
#[derive(Debug)]
pub(super) struct Listening {
    endpoint: Endpoint,
    place: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.endpoint.mcp().listeners.lock().remove(&self.place);
    }
}

impl Listener {
    /// Whether another list, of one server or of any, is news for it.
    fn wants(&self, endpoint: &Endpoint, server: Option<&UpstreamId>, list: &str) -> bool {
        let wants = match list {
            method::TOOLS_CHANGED => self.filter.tools_list_changed,
            method::PROMPTS_CHANGED => self.filter.prompts_list_changed,
            _ => self.filter.resources_list_changed,
        };
        let shows = |server| list == method::TOOLS_CHANGED || self.face.shows(endpoint, server);
        wants && server.is_none_or(shows)
    }
}

impl Listeners {
    /// Tells everybody whom it concerns.
    pub(super) fn tell(&self, endpoint: &Endpoint, news: &News) {
        for listener in self.lock().values() {
            let wanted = match news {
                News::Changed { server, list } => {
                    listener.wants(endpoint, server.as_ref(), list).then(|| (*list, json!({})))
                }
                News::Appeared { server, list } => {
                    listener.wants(endpoint, Some(server), list).then(|| (*list, json!({})))
                }
                News::Updated { server, uri } => listener
                    .resources
                    .iter()
                    .find(|found| found.server == *server && found.own == *uri)
                    .map(|found| (method::RESOURCE_UPDATED, json!({"uri": found.public}))),
            };
            if let Some((method, mut params)) = wanted {
                params["_meta"] = json!({meta::SUBSCRIPTION_ID: listener.subscription});
                listener.sink.offer(written(method, RawJson::of(&params).ok().as_ref()));
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Listener>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins to listen. The acknowledgement goes to `sink` before anything else.
pub(super) async fn begin(endpoint: &Endpoint, checked: &Checked, sink: Sink) -> Result<Listening, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        notifications: Filter,
    }
    let (request, caller) = (&checked.request, &checked.caller);
    let params: Params = request
        .params
        .as_ref()
        .ok_or_else(|| invalid("`params` are missing"))?
        .read()
        .map_err(|error| invalid(format!("reading the params of {}: {error}", method::LISTEN)))?;
    let filter = params.notifications;
    if filter.resource_subscriptions.len() > RESOURCES {
        return Err(invalid(format!("more than {RESOURCES} resources in one subscription")));
    }
    let mut resources = Vec::new();
    for uri in &filter.resource_subscriptions {
        let (server, own) = resource(endpoint, caller, uri).await?;
        let upstream =
            endpoint.fleet().subscribe(server.as_str(), &own).await.map_err(super::drive::rpc_error)?;
        resources.push(Subscribed { server, own, public: uri.clone(), _upstream: upstream });
    }
    let subscription: Value = request.id.read().unwrap_or_default();
    let acknowledged = json!({
        "notifications": {
            "toolsListChanged": filter.tools_list_changed,
            "promptsListChanged": filter.prompts_list_changed,
            "resourcesListChanged": filter.resources_list_changed,
            "resourceSubscriptions": filter.resource_subscriptions,
        },
        "_meta": {meta::SUBSCRIPTION_ID: subscription},
    });
    sink.send(written(method::ACKNOWLEDGED, RawJson::of(&acknowledged).ok().as_ref())).await;
    let listeners = &endpoint.mcp().listeners;
    let place = listeners.next.fetch_add(1, Ordering::Relaxed);
    let listener = Listener { face: caller.face.clone(), filter, resources, subscription, sink };
    listeners.lock().insert(place, listener);
    Ok(Listening { endpoint: endpoint.clone(), place })
}

/// Answers with a stream that lives as long as both sides want.
pub(super) async fn stream(endpoint: &Endpoint, checked: Checked) -> Response {
    let (sender, messages) = mpsc::channel::<Bytes>(NEWS);
    let listening = match begin(endpoint, &checked, Sink::Channel(sender)).await {
        Ok(listening) => listening,
        Err(error) => return refusal(status_of(&error), Some(&checked.request.id), error),
    };
    let news = stream::unfold((messages, listening), |(mut messages, listening)| async move {
        let message = messages.recv().await?;
        Some((event(None, &message), (messages, listening)))
    });
    let stopping = endpoint.mcp().stopping.clone();
    let news = news.take_until(async move { stopping.cancelled().await });
    streamed(news, endpoint.config().heartbeat)
}
