//! How a call reaches its upstream.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use gateway_config::{Fallback, OnDefinitionChange, Timeouts, UpstreamId};
use gateway_protocol::method::{CALL_TOOL, SET_LEVEL};
use gateway_protocol::{Notification, RawJson, RawObject, encode_header_value};
use tokio::sync::mpsc;

use super::Fleet;
use super::responders::Entered;
use super::upstream::Upstream;
use crate::catalogue::CatalogueTool;
use crate::connection::{OutgoingRequest, Responder};
use crate::error::CallError;

/// How a call is made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// How long to wait without a sign of life; the upstream's own setting where absent.
    pub timeout: Option<Duration>,
    /// Members of `_meta`.
    pub meta: Vec<(Cow<'static, str>, RawJson)>,
    /// Takes progress and log messages of the call.
    pub progress: Option<mpsc::Sender<Notification>>,
    /// Who answers what a server of the legacy era asks meanwhile.
    pub responder: Option<Responder>,
    /// What the caller can do, for servers of the modern era; nothing where absent.
    pub capabilities: Option<RawJson>,
    /// Further members of the parameters, as JSON texts: `inputResponses` and `requestState` of the modern era.
    pub params: Vec<(&'static str, RawJson)>,
}

impl CallOptions {
    /// A request with these options, which waits for `usual` unless they say something else.
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: &'a [(&'a str, &'a [u8])],
        timeouts: &Timeouts,
        usual: Duration,
    ) -> OutgoingRequest<'a> {
        let idle = self.timeout.unwrap_or(usual);
        OutgoingRequest {
            params,
            meta: &self.meta,
            maximum: timeouts.call_maximum.max(idle),
            progress: self.progress.clone(),
            responder: self.responder.clone(),
            capabilities: self.capabilities.as_ref(),
            ..OutgoingRequest::new(method, idle)
        }
    }
}

/// What came of a call, and from whom.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answered {
    /// The result as it came, or why there is none.
    pub outcome: Result<RawJson, CallError>,
    /// Who ran it, where that is not the upstream that was asked.
    pub ran_on: Option<UpstreamId>,
}

/// What was tried for a call.
#[derive(Default)]
struct Attempts {
    /// It was sent to the same upstream again.
    is_repeated: bool,
    /// A reload had replaced its upstream.
    is_replaced: bool,
    /// Who took it over.
    fallback: Option<UpstreamId>,
}

impl Fleet {
    /// Runs a tool and gives its result as it came.
    ///
    /// The call is sent once. It is sent again only where it certainly did not run, or the tool may run twice by its
    /// annotation or the configuration. Dropping the future cancels the call at the upstream.
    pub async fn call(
        &self,
        tool: &CatalogueTool,
        arguments: Option<&RawJson>,
        options: &CallOptions,
    ) -> Result<RawJson, CallError> {
        self.call_unless(tool, arguments, options, |_| false).await.outcome
    }

    /// The same, except that no server takes the call over of which `is_refused` says so. It is asked once the call has
    /// failed, with the name of the server that would run it.
    pub async fn call_unless(
        &self,
        tool: &CatalogueTool,
        arguments: Option<&RawJson>,
        options: &CallOptions,
        is_refused: impl Fn(&UpstreamId) -> bool + Send + Sync,
    ) -> Answered {
        self.refreshed(tool).await;
        let (mut upstream, arguments) = match self.prepared(tool, arguments) {
            Ok(prepared) => prepared,
            Err(error) => return Answered { outcome: Err(error), ran_on: None },
        };
        let name = RawJson::text(&tool.name);
        let text = arguments.as_ref().map_or(b"{}".as_slice(), RawJson::as_bytes);
        let mut params = vec![("name", name.as_bytes()), ("arguments", text)];
        params.extend(options.params.iter().map(|(key, value)| (*key, value.as_bytes())));
        let headers = mirrored(tool, arguments.as_ref());
        let mut attempts = Attempts::default();
        loop {
            let timeouts = &upstream.spec.timeouts;
            let usual = timeouts.per_tool.get(&*tool.name).copied().unwrap_or(timeouts.call);
            let request = OutgoingRequest {
                name: Some(&tool.name),
                headers: &headers,
                ..options.request(CALL_TOOL, &params, timeouts, usual)
            };
            let outcome = match upstream.connected().await {
                Ok(connection) => {
                    upstream.touch();
                    let entered = (!connection.era().is_modern())
                        .then(|| upstream.responders.enter(options.responder.as_ref()));
                    let outcome = connection.request(request).await;
                    note_answer(entered, &outcome);
                    outcome
                }
                Err(error) => Err(error),
            };
            let error = match outcome {
                Ok(result) => return Answered { outcome: Ok(result), ran_on: attempts.fallback },
                Err(error) => error,
            };
            // Boxed: few calls fail, and all would carry the future along.
            let next = self.next_attempt(&upstream, tool, error, &mut attempts, &is_refused);
            upstream = match Box::pin(next).await {
                Ok(next) => next,
                Err(error) => return Answered { outcome: Err(error), ran_on: attempts.fallback },
            };
            if let (Some(fallback), Some(responder)) = (&attempts.fallback, &options.responder) {
                responder.falls_back(fallback);
            }
        }
    }

    /// Waits until a tool of an earlier run is compared with what its server has now, where a changed one is blocked. Elsewhere
    /// nobody waits for the list: the call needs the connection only.
    async fn refreshed(&self, tool: &CatalogueTool) {
        let Ok(upstream) = self.upstream(tool.server.as_str()) else { return };
        let is_blocking = upstream.spec.tools.on_definition_change == OnDefinitionChange::Block;
        if is_blocking && upstream.is_stale() {
            let timeouts = &upstream.spec.timeouts;
            let _ = tokio::time::timeout(timeouts.connect + timeouts.list, upstream.settled()).await;
        }
    }

    /// Who gets a call that has failed: the same upstream once more, the one that a reload has put in its place, or the
    /// fallback. The error if nobody does.
    async fn next_attempt(
        &self,
        upstream: &Arc<Upstream>,
        tool: &CatalogueTool,
        mut error: CallError,
        attempts: &mut Attempts,
        is_refused: impl Fn(&UpstreamId) -> bool,
    ) -> Result<Arc<Upstream>, CallError> {
        if attempts.fallback.is_some() {
            return Err(error);
        }
        let may_repeat = match &error {
            // Nothing was sent yet. A reload may have replaced the upstream while the call waited for it.
            CallError::Unreachable { .. } => match self.upstream(tool.server.as_str()) {
                Ok(current) if Arc::ptr_eq(&current, upstream) => {
                    upstream.live().is_none() && upstream.was_live()
                }
                // Once: a file that is written again and again must not keep a call for ever.
                Ok(current) if !attempts.is_replaced => {
                    (attempts.is_repeated, attempts.is_replaced) = (false, true);
                    return Ok(current);
                }
                Ok(_) => false,
                Err(gone) => {
                    error = gone;
                    false
                }
            },
            CallError::Lost { .. } => tool.idempotent,
            _ => false,
        };
        if may_repeat && !attempts.is_repeated {
            attempts.is_repeated = true;
            return Ok(Arc::clone(upstream));
        }
        let Some(fallback) = self.fallback_for(upstream, tool, &error, is_refused).await else {
            return Err(error);
        };
        tracing::warn!(upstream = %tool.server, fallback = %fallback.spec.id, %error, "Call falls back.");
        attempts.fallback = Some(fallback.spec.id.clone());
        Ok(fallback)
    }

    /// The upstream of a tool and the arguments for it, if it may be called.
    fn prepared(
        &self,
        tool: &CatalogueTool,
        arguments: Option<&RawJson>,
    ) -> Result<(Arc<Upstream>, Option<RawJson>), CallError> {
        let upstream = self.upstream(tool.server.as_str())?;
        if let Some(reason) = upstream.blocked(&tool.name) {
            let (upstream, tool) = (tool.server.clone(), tool.name.clone());
            return Err(CallError::Blocked { upstream, tool, reason });
        }
        Ok((upstream, with_injected(tool, arguments)?))
    }

    /// Sends any other request to an upstream, once. Dropping the future cancels it there.
    ///
    /// `name` is what the request is about, for the header of the modern era.
    pub async fn request(
        &self,
        id: &str,
        method: &str,
        name: Option<&str>,
        params: &[(&str, &[u8])],
        options: &CallOptions,
    ) -> Result<RawJson, CallError> {
        let upstream = self.upstream(id)?;
        let connection = upstream.connected().await?;
        upstream.touch();
        let timeouts = &upstream.spec.timeouts;
        let mut params = params.to_vec();
        params.extend(options.params.iter().map(|(key, value)| (*key, value.as_bytes())));
        // The level of log messages is our own business, and what the server says then is of its own accord.
        let counts = !connection.era().is_modern() && method != SET_LEVEL;
        let entered = counts.then(|| upstream.responders.enter(options.responder.as_ref()));
        let request = options.request(method, &params, timeouts, timeouts.call);
        let outcome = connection.request(OutgoingRequest { name, ..request }).await;
        note_answer(entered, &outcome);
        outcome
    }

    /// The upstream that may take the call over: one is configured, and the call did not run or may run twice.
    async fn fallback_for(
        &self,
        upstream: &Upstream,
        tool: &CatalogueTool,
        error: &CallError,
        is_refused: impl Fn(&UpstreamId) -> bool,
    ) -> Option<Arc<Upstream>> {
        let fits = match error {
            CallError::Unreachable { .. } => upstream.spec.fallback_on.unreachable,
            CallError::Timeout { .. } => upstream.spec.fallback_on.timeout && tool.idempotent,
            CallError::Lost { .. } => upstream.spec.fallback_on.lost && tool.idempotent,
            CallError::UnknownUpstream { .. }
            | CallError::Disabled { .. }
            | CallError::Misconfigured { .. }
            | CallError::UnknownTool { .. }
            | CallError::Blocked { .. }
            | CallError::Unlisted { .. }
            | CallError::Busy { .. }
            | CallError::TooLong { .. }
            | CallError::ResultDropped { .. }
            | CallError::Malformed { .. }
            | CallError::Refused { .. } => false,
        };
        match upstream.spec.fallback.as_ref().filter(|_| fits)? {
            Fallback::Server(id) => {
                // What it may run is known once its tools are.
                self.listed(std::slice::from_ref(id), upstream.spec.timeouts.connect).await;
                if is_refused(id) { None } else { self.upstream(id.as_str()).ok() }
            }
            Fallback::Command(_) => upstream.standby.clone(),
        }
    }
}

/// A server that gave no answer may still be at work.
fn note_answer(entered: Option<Entered<'_>>, outcome: &Result<RawJson, CallError>) {
    if let (Some(entered), Ok(_) | Err(CallError::Refused { .. })) = (entered, outcome) {
        entered.answered();
    }
}

/// The arguments with what the configuration fills in.
fn with_injected(tool: &CatalogueTool, arguments: Option<&RawJson>) -> Result<Option<RawJson>, CallError> {
    if tool.injected.is_empty() {
        return Ok(arguments.cloned());
    }
    let fault = |error: serde_json::Error| CallError::Malformed {
        upstream: tool.server.clone(),
        reason: format!("the arguments are no object that parameters can be filled into: {error}"),
        raw: arguments.cloned(),
    };
    let empty = RawJson::empty_object();
    let mut object = RawObject::parse(arguments.unwrap_or(&empty)).map_err(fault)?;
    for (name, value) in &tool.injected {
        object.set(name, &RawJson::of(value).map_err(fault)?).map_err(fault)?;
    }
    object.to_raw().map(Some).map_err(fault)
}

/// The headers that repeat arguments (MCP 2026-07-28, SEP-2243).
fn mirrored(tool: &CatalogueTool, arguments: Option<&RawJson>) -> Vec<(String, String)> {
    if tool.header_parameters.is_empty() {
        return Vec::new();
    }
    let Some(arguments) = arguments.and_then(|arguments| arguments.read::<serde_json::Value>().ok()) else {
        return Vec::new();
    };
    tool.header_parameters
        .iter()
        .filter_map(|parameter| {
            let value = parameter.path.iter().try_fold(&arguments, |value, key| value.get(key))?;
            Some((parameter.header.clone(), encode_header_value(value)?))
        })
        .collect()
}
