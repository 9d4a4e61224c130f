//! The legacy era: `initialize`, sessions, a stream for everything that was not asked for.

mod batch;
mod http;
mod sse;

pub(crate) use self::batch::Batch;
pub(crate) use self::http::{delete, get, post, post_batch};
pub(crate) use self::sse::{api, events};

use std::sync::Arc;

use ::http::StatusCode;
use bytes::Bytes;
use gateway_protocol::{Incoming, Notification, RawJson, RpcError, code, method, negotiate_legacy};
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::caller::{Caller, Reach};
use crate::endpoint::Endpoint;
use crate::errors::{check_params, internal, invalid, read_params, rpc_error};
use crate::http_request::HttpRequest;
use crate::notifications::set_log_level;
use crate::outbound::{Out, Sink};
use crate::params::member;
use crate::requests::{self, resource};
use crate::response::{Refused, counted_message, message};
use crate::server_info;
use crate::sessions::{Handshake, Running, Session};
use crate::subscriptions::Subscription;
use crate::view::View;
use gateway_runtime::capabilities::Capabilities;
use gateway_runtime::context::RequestContext;

/// Opens a session for the caller of a request.
fn open_session(
    endpoint: &Endpoint,
    http: &HttpRequest,
    request: Option<&RawJson>,
    handshake: Option<Handshake>,
    sink: Option<Sink>,
) -> Result<Arc<Session>, Refused> {
    let (caller, name) = (http.context.caller.clone(), http.name.as_deref().map(Arc::from));
    endpoint.state().sessions.open(caller, name, handshake, sink).ok_or_else(|| {
        let error = internal("the system gives no random numbers for a session");
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, request.cloned(), error)
    })
}

/// Reads `initialize` and answers it.
async fn initialize(
    endpoint: &Endpoint,
    view: &View,
    params: Option<&RawJson>,
) -> Result<(Handshake, RawJson), RpcError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        protocol_version: String,
        #[serde(default = "RawJson::empty_object")]
        capabilities: RawJson,
    }
    check_params(params)?;
    let params: Params = read_params(method::INITIALIZE, params)?;
    let version = negotiate_legacy(&params.protocol_version);
    let answer = RawJson::of(&server_info::initialize(endpoint, view, version).await).map_err(internal)?;
    Ok((Handshake { version, can: Capabilities::of(params.capabilities) }, answer))
}

/// Takes a message on a connection whose answers share one channel: standard output, or the events of old clients. It is
/// noted at once, in the order in which messages come; what it needs to be answered is left to the future.
pub(crate) fn take(
    endpoint: &Endpoint,
    session: &Arc<Session>,
    context: RequestContext,
    incoming: Incoming,
    channel: &mpsc::Sender<Bytes>,
) -> impl Future<Output = ()> + Send + use<> {
    let noted = note(session, incoming);
    let (endpoint, sink) = (endpoint.clone(), Sink::Channel(channel.clone()));
    async move {
        let running = match noted {
            Ok(Some(running)) => running,
            Ok(None) => return,
            Err(refused) => return sink.send(refused.message()).await,
        };
        let (session, request) = (&running.session, &running.request);
        if request.method == method::INITIALIZE {
            let outcome = match view_of(&endpoint, session) {
                Ok(view) => initialize(&endpoint, &view, request.params.as_ref()).await,
                Err(error) => Err(error),
            };
            let outcome = outcome.map(|(handshake, answer)| {
                let _ = session.handshake.set(handshake);
                answer
            });
            return sink.send(message(&request.id, &outcome)).await;
        }
        if let Some(text) = answer_message(&endpoint, context, sink.clone(), running).await {
            sink.send(text).await;
        }
    }
}

fn view_of(endpoint: &Endpoint, session: &Session) -> Result<View, RpcError> {
    View::named(endpoint.fleet(), session.view.as_deref())
        .ok_or_else(|| RpcError::new(code::INVALID_REQUEST, "this group is not configured any more"))
}

/// Notes a message of a session, in the order in which messages come. A request has an answer that is still to be found.
fn note(session: &Arc<Session>, incoming: Incoming) -> Result<Option<Running>, Refused> {
    match incoming {
        Incoming::Request(request) => {
            let refused = |(id, error)| Refused::new(StatusCode::BAD_REQUEST, Some(id), error);
            return session.running(request).map(Some).map_err(refused);
        }
        Incoming::Notification(notification) => notified(session, &notification),
        Incoming::Response(response) => session.peer.answered(&response.id, response.outcome),
    }
    Ok(None)
}

/// Takes a notification of a caller.
fn notified(session: &Session, notification: &Notification) {
    if notification.method == method::CANCELLED
        && let Some(id) = member(notification.params.as_ref(), "requestId")
    {
        session.cancel(&id);
    }
}

/// Answers a request of a session with a message that counts if it is long.
async fn answer_message(
    endpoint: &Endpoint,
    context: RequestContext,
    sink: Sink,
    running: Running,
) -> Option<Bytes> {
    let holding = context.clone();
    let outcome = answer(endpoint, context, sink, &running).await?;
    let id = running.request.id.clone();
    // It is over: another may have its id.
    drop(running);
    Some(counted_message(endpoint, &holding, &id, &outcome).await)
}

/// Answers a request of a session; a request that was cancelled has no answer.
async fn answer(
    endpoint: &Endpoint,
    context: RequestContext,
    sink: Sink,
    running: &Running,
) -> Option<Result<RawJson, RpcError>> {
    // Boxed, because it is long and would be moved many times on its way into a task.
    let answered = Box::pin(answered(endpoint, context, sink, running));
    let answered = running.token.run_until_cancelled(answered).await;
    if answered.is_none() && running.session.over.is_cancelled() {
        let message =
            "the session ended before the answer: it was closed, or made room for another of the same caller";
        return Some(Err(internal(message)));
    }
    answered
}

async fn answered(
    endpoint: &Endpoint,
    context: RequestContext,
    sink: Sink,
    Running { session, request, .. }: &Running,
) -> Result<RawJson, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(default, rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(default, rename = "progressToken")]
        token: Option<RawJson>,
    }
    if request.method == method::PING {
        return Ok(RawJson::empty_object());
    }
    let Some(handshake) = session.handshake.get() else {
        return Err(RpcError::new(code::INVALID_REQUEST, "`initialize` must come first"));
    };
    let params = request.params.as_ref();
    check_params(params)?;
    let caller = Caller {
        endpoint: endpoint.clone(),
        context,
        owner: Arc::clone(&session.id),
        view: view_of(endpoint, session)?,
        can: handshake.can.clone(),
        reach: Reach::Asked(Arc::clone(&session.peer)),
    };
    match request.method.as_str() {
        method::SET_LEVEL => {
            let level = member(params, "level").ok_or_else(|| invalid("`level` is missing or not known"))?;
            session.set_level(level);
            set_log_level(endpoint, &caller.view).await;
            Ok(RawJson::empty_object())
        }
        method::SUBSCRIBE => {
            let uri = uri_of(method::SUBSCRIBE, params)?;
            session.check_room(&uri)?;
            let (server, own) = resource(&caller, &uri).await?;
            let upstream = endpoint.fleet().subscribe(server.as_str(), &own).await.map_err(rpc_error)?;
            // Others may have come meanwhile.
            session.check_room(&uri)?;
            session.subscribe(Subscription { server, own, public: uri, _upstream: upstream });
            Ok(RawJson::empty_object())
        }
        method::UNSUBSCRIBE => {
            session.unsubscribe(&uri_of(method::UNSUBSCRIBE, params)?);
            Ok(RawJson::empty_object())
        }
        asked => {
            let read = params.and_then(|params| params.read::<Params>().ok());
            let token = read.and_then(|found| found.meta).and_then(|meta| meta.token);
            let out = Out { sink, token, level: session.level() };
            requests::answer(&caller, &out, asked, params).await
        }
    }
}

fn uri_of(method: &str, params: Option<&RawJson>) -> Result<String, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    read_params(method, params).map(|Params { uri }| uri)
}
