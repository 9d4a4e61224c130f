//! Which HTTP transport and era a server speaks: modern, else legacy Streamable HTTP, else HTTP with SSE.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gateway_config::HttpMode;
use gateway_protocol::{MODERN, RawJson, RpcError, header, method, write_notification};
use http::StatusCode;
use http::header::{HeaderMap, HeaderValue};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::client::HttpClient;
use super::courier::{self, Duties};
use super::session::{Session, SessionMode, modern_headers};
use super::{Http, Trouble, listener};
use crate::connection::handshake::{
    Identity, Introduction, Opening, handshake_call, is_modern_error, not_modern, read_discovery,
    read_initialize,
};
use crate::connection::status::Status;
use crate::connection::tasks::Tasks;
use crate::connection::{Attempt, Channel, Opened, sse};
use crate::error::ConnectError;

/// Requests to the courier that wait at most.
const COURIER_REQUESTS: usize = 1_024;

/// What `initialize` led to.
#[derive(Debug)]
pub(super) enum Reply {
    Shaken(Identity),
    Refused { error: RpcError },
    Status { status: StatusCode, reason: String },
}

/// Opens a connection over HTTP.
pub(in crate::connection) async fn open(
    attempt: &Attempt<'_>,
    url: &str,
    headers: &BTreeMap<String, String>,
    mode: HttpMode,
) -> Result<Opened, ConnectError> {
    let Attempt { spec, who, events, opening, until } = attempt;
    let agent = format!("{}/{}", who.client.name, who.client.version);
    let client = Arc::new(HttpClient::new(url, headers, &agent, spec.limits.message_bytes)?);
    if mode == HttpMode::Sse {
        return sse::open(attempt, client).await;
    }
    let tasks = Tasks::new();
    let (courier, requests) = mpsc::channel(COURIER_REQUESTS);
    let http = Arc::new(Http {
        upstream: spec.id.clone(),
        client: Arc::clone(&client),
        next_id: AtomicU64::new(1),
        session: watch::Sender::new(Arc::new(Session::default())),
        progress: Mutex::new(HashMap::new()),
        events: Arc::clone(events),
        status: Arc::new(Status::new(spec.limits.stderr_bytes, None)),
        courier,
        stop: tasks.stop().clone(),
        unreachable: AtomicU32::new(0),
    });
    let identity = match shake(&http, who, *opening, spec.timeouts.probe, *until).await? {
        Reply::Shaken(identity) => identity,
        Reply::Refused { error } => return Err(ConnectError::Handshake { error }),
        Reply::Status { status, reason } => {
            let may_be_sse = matches!(status.as_u16(), 400 | 404 | 405) && mode == HttpMode::Auto;
            if !may_be_sse {
                return Err(http.client.error(reason));
            }
            return sse::open(attempt, client).await.map_err(|error| match error {
                ConnectError::Http { url, reason: second } => ConnectError::Http {
                    url,
                    reason: format!(
                        "no known transport: to `initialize` {reason}; as a stream of events {second}"
                    ),
                },
                other => other,
            });
        }
    };
    let duties = Duties { who: who.clone(), era: identity.era.clone(), timeouts: spec.timeouts.clone() };
    tasks.spawn(courier::run(Arc::clone(&http), requests, duties));
    listener::start(&tasks, &http, who, &identity).await;
    let status = Arc::clone(&http.status);
    Ok(Opened { transport: "http", identity, status, channel: Channel::Http(http), tasks })
}

async fn shake(
    http: &Http,
    who: &Introduction,
    opening: Opening,
    probe: Duration,
    until: Instant,
) -> Result<Reply, ConnectError> {
    match opening {
        Opening::Legacy => initialize(http, who, 1, until).await,
        Opening::LegacyAsBefore => match initialize(http, who, 1, until).await? {
            Reply::Shaken(identity) => Ok(Reply::Shaken(identity)),
            // The server is another one now.
            Reply::Refused { .. } | Reply::Status { .. } => ask_first(http, who, probe, until).await,
        },
        Opening::Probe(patience) => ask_first(http, who, patience, until).await,
        Opening::Modern => match discover(http, who, until).await? {
            Discovered::Modern(identity) => Ok(Reply::Shaken(identity)),
            Discovered::Legacy(outcome) => Err(not_modern(outcome)),
            Discovered::Status { reason, .. } => Err(http.client.error(reason)),
            Discovered::Silence(waited) => Err(ConnectError::Timeout { step: method::DISCOVER, waited }),
        },
    }
}

/// Asks which era it is, and opens a legacy session where it is not the modern one.
async fn ask_first(
    http: &Http,
    who: &Introduction,
    patience: Duration,
    until: Instant,
) -> Result<Reply, ConnectError> {
    let asked_until = (Instant::now() + patience).min(until);
    match discover(http, who, asked_until).await? {
        Discovered::Modern(identity) => return Ok(Reply::Shaken(identity)),
        Discovered::Status { status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, reason } => {
            return Err(http.client.error(reason));
        }
        Discovered::Legacy(_) | Discovered::Status { .. } | Discovered::Silence(_) => {}
    }
    match initialize(http, who, 1, until).await? {
        // A modern server that was only slow at first.
        Reply::Refused { error } if is_modern_error(&error) => match discover(http, who, until).await? {
            Discovered::Modern(identity) => Ok(Reply::Shaken(identity)),
            Discovered::Legacy(_) | Discovered::Status { .. } | Discovered::Silence(_) => {
                Ok(Reply::Refused { error })
            }
        },
        reply => Ok(reply),
    }
}

/// What `server/discover` led to.
enum Discovered {
    Modern(Identity),
    Legacy(Result<RawJson, RpcError>),
    Status { status: StatusCode, reason: String },
    Silence(Duration),
}

async fn discover(http: &Http, who: &Introduction, until: Instant) -> Result<Discovered, ConnectError> {
    let meta = who.modern_meta();
    let entries: Vec<_> = meta.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let call = handshake_call(method::DISCOVER, &[], &entries, until);
    let mut headers = HeaderMap::new();
    headers.insert(&header::PROTOCOL_VERSION, HeaderValue::from_static(MODERN));
    modern_headers(&mut headers, &call);
    let outcome = match http.ask(&Session::default(), headers, &call).await {
        Ok(answer) => answer.outcome,
        Err(Trouble::Timeout(waited)) => return Ok(Discovered::Silence(waited)),
        Err(Trouble::Status { status, reason }) => return Ok(Discovered::Status { status, reason }),
        Err(Trouble::NotSent(reason)) => return Err(http.client.error(reason)),
        // Legacy servers answer all kinds of things.
        Err(
            Trouble::Unclear(_)
            | Trouble::NotMcp { .. }
            | Trouble::TooLong
            | Trouble::NoRoom
            | Trouble::SessionGone,
        ) => Err(RpcError::new(0, "no answer to `server/discover`")),
    };
    let Some(identity) = read_discovery(&outcome)? else { return Ok(Discovered::Legacy(outcome)) };
    if let Ok(version) = HeaderValue::from_str(identity.era.version()) {
        http.session.send_replace(Arc::new(Session { generation: 1, mode: SessionMode::Modern { version } }));
    }
    Ok(Discovered::Modern(identity))
}

/// Opens a legacy session as the given generation.
pub(super) async fn initialize(
    http: &Http,
    who: &Introduction,
    generation: u64,
    until: Instant,
) -> Result<Reply, ConnectError> {
    let params = who.initialize_params();
    let params: Vec<_> = params.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let call = handshake_call(method::INITIALIZE, &params, &[], until);
    let answer = match http.ask(&Session::default(), HeaderMap::new(), &call).await {
        Ok(answer) => answer,
        Err(Trouble::Status { status, reason }) => return Ok(Reply::Status { status, reason }),
        Err(Trouble::NotSent(reason) | Trouble::Unclear(reason)) => return Err(http.client.error(reason)),
        Err(Trouble::NotMcp { reason, .. }) => return Err(ConnectError::NotMcp { reason }),
        Err(Trouble::TooLong | Trouble::NoRoom) => {
            return Err(ConnectError::NotMcp { reason: "the answer is too long".to_owned() });
        }
        Err(Trouble::SessionGone) => return Err(http.client.error("it refuses a session")),
        Err(Trouble::Timeout(waited)) => {
            return Err(ConnectError::Timeout { step: method::INITIALIZE, waited });
        }
    };
    let identity = match answer.outcome {
        Ok(result) => read_initialize(&result)?,
        Err(error) => return Ok(Reply::Refused { error }),
    };
    let version = identity.era.version();
    let Ok(version) = HeaderValue::from_str(version) else {
        return Err(ConnectError::Version { offered: version.to_owned() });
    };
    let session = Session { generation, mode: SessionMode::Legacy { version, id: answer.session } };
    let headers = session.headers();
    let mut message = Vec::new();
    write_notification(&mut message, method::INITIALIZED, &[], &[]);
    let sending = http.client.post(&http.client.url, headers, message);
    match timeout_at(until, sending).await {
        // Servers say 202, 200, 204 and other things; what counts is that it came first.
        Ok(Ok(_)) => {}
        Ok(Err(super::SendError::NotSent(reason) | super::SendError::Unclear(reason))) => {
            return Err(http.client.error(reason));
        }
        Err(_) => {
            return Err(ConnectError::Timeout { step: method::INITIALIZED, waited: Duration::ZERO });
        }
    }
    http.session.send_replace(Arc::new(session));
    Ok(Reply::Shaken(identity))
}
