//! The legacy era: `initialize`, sessions, a stream for everything that was not asked for.

mod batch;
mod http;
mod session;
mod sse;
mod stream;

pub(in crate::mcp) use batch::Batch;
pub(in crate::mcp) use http::{delete, get, post, post_batch};
pub(crate) use session::Session;
pub(in crate::mcp) use session::{Running, Sessions, Shaken};
pub(in crate::mcp) use sse::{api, events};
pub(crate) use stream::Stream;

use std::sync::Arc;

use gateway_protocol::{Incoming, Notification, RawJson, Request, RpcError, code, method, negotiate_legacy};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::caller::{Caller, Reach};
use super::core::{self, check_params, invalid, resource};
use super::drive::rpc_error;
use super::events::{counted_message, message};
use super::face::Face;
use super::level::Level;
use super::listen::Subscribed;
use super::out::{Out, Sink};
use crate::mcp::Endpoint;
use gateway_runtime::capabilities::Capabilities;
use gateway_runtime::context::RequestContext;

/// Reads `initialize` and answers it.
pub(in crate::mcp) async fn shake(
    endpoint: &Endpoint,
    face: &Face,
    params: Option<&RawJson>,
) -> Result<(Shaken, RawJson), RpcError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        protocol_version: String,
        #[serde(default = "RawJson::empty_object")]
        capabilities: RawJson,
    }
    check_params(params)?;
    let params = params.ok_or_else(|| invalid("`params` are missing"))?;
    let params: Params =
        params.read().map_err(|error| invalid(format!("reading the params of initialize: {error}")))?;
    let version = negotiate_legacy(&params.protocol_version);
    let answer = super::about::initialize(endpoint, face, version).await;
    let answer =
        RawJson::of(&answer).map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))?;
    Ok((Shaken { version, can: Capabilities::of(params.capabilities) }, answer))
}

/// Takes a message on a connection whose answers share one channel: standard output, or the events of old clients. It is
/// noted at once, in the order in which messages come; what it needs to be answered is left to the future.
pub(in crate::mcp) fn take(
    endpoint: &Endpoint,
    session: &Arc<Session>,
    context: RequestContext,
    incoming: Incoming,
    channel: &mpsc::Sender<bytes::Bytes>,
) -> impl Future<Output = ()> + Send + use<> {
    let noted = match incoming {
        Incoming::Request(request) => {
            let running = session.running(&request.id);
            Some((request, running))
        }
        Incoming::Notification(notification) => {
            notified(session, &notification);
            None
        }
        Incoming::Response(response) => {
            session.peer.answered(&response.id, response.outcome);
            None
        }
    };
    let (endpoint, session, sink) = (endpoint.clone(), Arc::clone(session), Sink::Channel(channel.clone()));
    async move {
        let Some((request, running)) = noted else { return };
        let id = request.id.clone();
        let running = match running {
            Ok(running) => running,
            Err(error) => return sink.send(message(&id, &Err(error))).await,
        };
        if request.method == method::INITIALIZE {
            let outcome = match face_of(&endpoint, &session) {
                Ok(face) => shake(&endpoint, &face, request.params.as_ref()).await,
                Err(error) => Err(error),
            };
            let outcome = outcome.map(|(shaken, answer)| {
                let _ = session.shaken.set(shaken);
                answer
            });
            return sink.send(message(&id, &outcome)).await;
        }
        let holding = context.clone();
        if let Some(outcome) = answer(&endpoint, &session, context, request, sink.clone(), running).await {
            sink.send(counted_message(&endpoint, &holding, &id, &outcome).await).await;
        }
    }
}

fn face_of(endpoint: &Endpoint, session: &Session) -> Result<Face, RpcError> {
    Face::named(endpoint, session.face.as_deref())
        .ok_or_else(|| RpcError::new(code::INVALID_REQUEST, "this group is not configured any more"))
}

/// Takes a notification of a caller.
pub(in crate::mcp) fn notified(session: &Session, notification: &Notification) {
    #[derive(Deserialize)]
    struct Cancelled {
        #[serde(rename = "requestId")]
        id: RawJson,
    }
    if notification.method == method::CANCELLED
        && let Some(cancelled) =
            notification.params.as_ref().and_then(|params| params.read::<Cancelled>().ok())
    {
        session.cancel(&cancelled.id);
    }
}

/// Answers a request of a session; a request that was cancelled has no answer.
pub(in crate::mcp) async fn answer(
    endpoint: &Endpoint,
    session: &Arc<Session>,
    context: RequestContext,
    request: Request,
    sink: Sink,
    running: Running,
) -> Option<Result<RawJson, RpcError>> {
    // Boxed, because it is long and would be moved many times on its way into a task.
    let answered = Box::pin(answered(endpoint, session, context, &request, sink));
    let answered = running.token.run_until_cancelled(answered).await;
    if answered.is_none() && session.over.is_cancelled() {
        let message =
            "the session ended before the answer: it was closed, or made room for another of the same caller";
        return Some(Err(RpcError::new(code::INTERNAL_ERROR, message)));
    }
    answered
}

async fn answered(
    endpoint: &Endpoint,
    session: &Arc<Session>,
    context: RequestContext,
    request: &Request,
    sink: Sink,
) -> Result<RawJson, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(default, rename = "_meta")]
        meta: Option<RawJson>,
    }
    #[derive(Deserialize)]
    struct Token {
        #[serde(default, rename = "progressToken")]
        token: Option<RawJson>,
    }
    if request.method == method::PING {
        return Ok(RawJson::empty_object());
    }
    let Some(shaken) = session.shaken.get() else {
        return Err(RpcError::new(code::INVALID_REQUEST, "`initialize` must come first"));
    };
    let params = request.params.as_ref();
    check_params(params)?;
    let caller = Caller {
        context,
        owner: Arc::clone(&session.id),
        face: face_of(endpoint, session)?,
        can: shaken.can.clone(),
        reach: Reach::Asked(Arc::clone(&session.peer)),
        transport: "mcp",
    };
    match request.method.as_str() {
        method::SET_LEVEL => {
            let level = Level::read(params).ok_or_else(|| invalid("`level` is missing or not known"))?;
            session.set_level(level);
            super::news::spread_level(endpoint, &caller.face).await;
            Ok(RawJson::empty_object())
        }
        method::SUBSCRIBE => {
            let uri = uri_of(params)?;
            session.check_room(&uri)?;
            let (server, own) = resource(endpoint, &caller, &uri).await?;
            let upstream = endpoint.fleet().subscribe(server.as_str(), &own).await.map_err(rpc_error)?;
            // Others may have come meanwhile.
            session.check_room(&uri)?;
            session.subscribe(Subscribed { server, own, public: uri, _upstream: upstream });
            Ok(RawJson::empty_object())
        }
        method::UNSUBSCRIBE => {
            session.unsubscribe(&uri_of(params)?);
            Ok(RawJson::empty_object())
        }
        asked => {
            let meta = params.and_then(|params| params.read::<Params>().ok()).and_then(|found| found.meta);
            let token = meta.and_then(|meta| meta.read::<Token>().ok()).and_then(|found| found.token);
            let out = Out { sink, token, level: session.level() };
            core::answer(endpoint, &caller, &out, asked, params).await
        }
    }
}

fn uri_of(params: Option<&RawJson>) -> Result<String, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    let params = params.ok_or_else(|| invalid("`params` are missing"))?;
    params
        .read::<Params>()
        .map(|params| params.uri)
        .map_err(|error| invalid(format!("reading `uri`: {error}")))
}
