//! `subscriptions/listen`: what changes, as long as somebody listens.

use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, meta, method};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Checked;
use crate::errors::{invalid, read_params, rpc_error};
use crate::outbound::{Sink, written};
use crate::requests::resource;
use crate::response::{Refused, Response, channel_events, streamed};
use crate::subscriptions::{Filter, Listener, Listening, Subscription};

/// Notifications that wait for a slow listener; more are lost, as the specification allows.
const WAITING: usize = 256;

/// Resources that one listener may name.
const RESOURCES: usize = 1_000;

/// Begins to listen. The acknowledgement goes to `sink` before anything else.
pub(crate) async fn begin(checked: &Checked, sink: Sink) -> Result<Listening, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        notifications: Filter,
    }
    let (request, caller) = (&checked.request, &checked.caller);
    let endpoint = &caller.endpoint;
    let Params { notifications: filter } = read_params(method::LISTEN, request.params.as_ref())?;
    if filter.resource_subscriptions.len() > RESOURCES {
        return Err(invalid(format!("more than {RESOURCES} resources in one subscription")));
    }
    let mut resources = Vec::new();
    for uri in &filter.resource_subscriptions {
        let (server, own) = resource(caller, uri).await?;
        let upstream = endpoint.fleet().subscribe(server.as_str(), &own).await.map_err(rpc_error)?;
        resources.push(Subscription { server, own, public: uri.clone(), _upstream: upstream });
    }
    let id: Value = request.id.read().unwrap_or_default();
    let acknowledged = json!({"notifications": filter, "_meta": {meta::SUBSCRIPTION_ID: id}});
    sink.send(written(method::ACKNOWLEDGED, RawJson::of(&acknowledged).ok().as_ref())).await;
    let listener = Listener { view: caller.view.clone(), filter, resources, id, sink };
    Ok(endpoint.state().listeners.add(listener))
}

/// Answers with a stream that lives as long as both sides want.
pub(crate) async fn stream(checked: Checked) -> Result<Response, Refused> {
    let (sender, messages) = mpsc::channel::<Bytes>(WAITING);
    let listening = begin(&checked, Sink::Channel(sender)).await;
    let Checked { request, caller, .. } = checked;
    let listening = listening.map_err(|error| Refused::by_code(request.id, error))?;
    let heard = channel_events(&caller.endpoint, messages, listening);
    Ok(streamed(heard, caller.endpoint.config().heartbeat))
}
