//! What both eras have in common: lists, calls, prompts, resources, completion. It keeps nothing about its callers.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use gateway_protocol::{ListKind, RawJson, RawObject, RpcError, code, meta, method, without_repeats};
use gateway_upstream::UpstreamId;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::errors::{internal, invalid, not_found, required, rpc_error, rpc_failure};
use crate::in_flight::{Progressed, drive};
use crate::lists;
use crate::offers::{self, Whose};
use crate::outbound::Out;
use crate::search::{self, Meant};
use crate::tasks;
use gateway_runtime::call::Origin;
use gateway_runtime::call::in_flight::{
    InFlight, Input, Target, UpstreamRequest, prompt_input, resource_input,
};
use gateway_runtime::parked::Waiting;
use gateway_runtime::seal::{Behind, request_mark};

/// How calls came to us, for the log.
const ORIGIN: Origin = Origin { transport: "mcp", provider: None };

const LISTS: [ListKind; 4] =
    [ListKind::Tools, ListKind::Resources, ListKind::ResourceTemplates, ListKind::Prompts];

/// Answers a request. A method that both eras do not share is not known here.
pub(crate) async fn answer(
    caller: &Caller,
    out: &Out,
    asked: &str,
    params: Option<&RawJson>,
) -> Result<RawJson, RpcError> {
    if let Some(kind) = LISTS.into_iter().find(|kind| kind.method() == asked) {
        return lists::list(caller, kind, params).await;
    }
    match asked {
        method::CALL_TOOL | method::GET_PROMPT | method::READ_RESOURCE => {
            let params = required(params)?;
            let other;
            let params = match search::meant(caller, asked, params).await? {
                Meant::Itself => params,
                Meant::Answered(result) => return Ok(finished(caller, method::CALL_TOOL, result)),
                Meant::Other(meant) => {
                    other = meant;
                    &other
                }
            };
            let asked = Asked::read(asked, params)?;
            asked.answer(caller, out, params).await
        }
        method::COMPLETE => complete(caller, params).await,
        asked if caller.is_modern() && tasks::is_meant(asked) => tasks::answer(caller, asked, params).await,
        other => Err(RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {other}"))),
    }
}

/// A request that an upstream answers, and that may need more than one try.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    #[serde(skip)]
    method: &'static str,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_state: Option<Cow<'a, str>>,
}

impl<'a> Asked<'a> {
    fn read(asked: &str, params: &'a RawJson) -> Result<Self, RpcError> {
        let mut read: Self =
            params.read().map_err(|error| invalid(format!("reading the params of {asked}: {error}")))?;
        read.method = match asked {
            method::CALL_TOOL => method::CALL_TOOL,
            method::GET_PROMPT => method::GET_PROMPT,
            _ => method::READ_RESOURCE,
        };
        if read.method == method::READ_RESOURCE {
            read.name = Some(read.uri.take().ok_or_else(|| invalid("`params.uri` is missing"))?);
        } else if read.name.is_none() {
            return Err(invalid("`params.name` is missing"));
        }
        Ok(read)
    }

    /// The name or the URI of what is asked for.
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    async fn answer(&self, caller: &Caller, out: &Out, params: &RawJson) -> Result<RawJson, RpcError> {
        let call = match self.resumed(caller, params)? {
            Resumed::Call(call) => *call,
            Resumed::Input(input) => {
                let target = self.target(caller, params).await?;
                let request = UpstreamRequest {
                    runtime: (*caller.endpoint).clone(),
                    context: caller.context.clone(),
                    origin: ORIGIN,
                    owner: Arc::clone(&caller.owner),
                    target,
                    meta: self.own_meta(params, caller, out),
                    capabilities: caller.can.raw.clone(),
                    is_watched: out.token.is_some() || out.level.is_some(),
                };
                Arc::new(request).start(input, None)
            }
        };
        let request = Arc::clone(&call.request);
        let progressed = drive(call, caller, out).await;
        match progressed.map_err(|error| self.refused(caller, error))? {
            Progressed::Done(done) => {
                let result = tasks::published(caller, request.target.server(), done);
                Ok(finished(caller, self.method, result))
            }
            Progressed::Waits(call) => waiting(caller, &self.mark(caller)?, call),
            Progressed::Asks(result) => resealed(caller, &self.mark(caller)?, &result),
        }
    }

    /// What a state for this request is bound to.
    fn mark(&self, caller: &Caller) -> Result<String, RpcError> {
        let arguments = self.arguments.map(RawValue::get);
        request_mark(&caller.view.word(), self.method, self.name(), arguments)
            .map_err(|error| invalid(format!("reading `params.arguments`: {error}")))
    }

    /// An error as the caller's era has it.
    fn refused(&self, caller: &Caller, mut error: RpcError) -> RpcError {
        // The code of the legacy era has no meaning any more (MCP 2026-07-28, Resources).
        if caller.is_modern()
            && self.method == method::READ_RESOURCE
            && error.code == code::LEGACY_RESOURCE_NOT_FOUND
        {
            error.code = code::INVALID_PARAMS;
        }
        error
    }

    /// What the caller brought from an earlier try.
    fn resumed(&self, caller: &Caller, params: &RawJson) -> Result<Resumed, RpcError> {
        let responses = self.input_responses.map(|responses| params.part(responses));
        let Some(state) = &self.request_state else {
            return Ok(Resumed::Input(Input { responses, state: None }));
        };
        let who = caller.context.caller.as_ref();
        let behind = caller.endpoint.seal().read(state, who, &self.mark(caller)?);
        match behind.map_err(|bad| invalid(bad.to_string()))? {
            Behind::Upstream(state) => Ok(Resumed::Input(Input { responses, state })),
            Behind::Parked(id) => {
                let taken = caller.endpoint.parked().take_if(&id, |_| Ok::<_, Infallible>(()));
                let taken = taken.and_then(Result::ok).and_then(Waiting::downcast);
                let Some(mut call): Option<Box<InFlight>> = taken else {
                    let message =
                        "the call behind this `requestState` is over; send the request again without it";
                    return Err(invalid(message));
                };
                let given =
                    responses.as_ref().and_then(|given| RawObject::parse(given).ok()).unwrap_or_default();
                call.answer(|key| given.get(key).and_then(|value| RawJson::of(value).ok()));
                Ok(Resumed::Call(call))
            }
        }
    }

    async fn target(&self, caller: &Caller, params: &RawJson) -> Result<Target, RpcError> {
        let arguments = self.arguments.map(|arguments| params.part(arguments));
        let name = self.name();
        match self.method {
            method::CALL_TOOL => {
                let arguments = arguments.unwrap_or_else(RawJson::empty_object);
                let (server, name) = tool(caller, name, &arguments).await?;
                Ok(Target::Tool { server, name, arguments })
            }
            method::GET_PROMPT => {
                let Some((server, own)) = offers::prompt(&caller.endpoint, &caller.view, name).await else {
                    let input = prompt_input(name, arguments.as_ref());
                    let error = invalid(format!("Unknown prompt: {name}"));
                    return Err(self.missing(caller, &input, error).await);
                };
                Ok(Target::Prompt { server, name: own, arguments })
            }
            _ => match resource(caller, name).await {
                Ok((server, uri)) => Ok(Target::Resource { server, uri }),
                Err(error) => Err(self.missing(caller, &resource_input(name), error).await),
            },
        }
    }

    /// Writes to the log that nobody has what was asked for, and gives the error for the caller.
    async fn missing(&self, caller: &Caller, input: &RawJson, error: RpcError) -> RpcError {
        let is_resource = self.method == method::READ_RESOURCE;
        let why = if is_resource {
            gateway_runtime::failure::code::RESOURCE_NOT_FOUND
        } else {
            gateway_runtime::failure::code::NOT_FOUND
        };
        let recorded = caller
            .endpoint
            .record_missing(self.method, input, &caller.context, &ORIGIN, (why, &error.message))
            .await;
        recorded.map_or_else(rpc_failure, |()| error)
    }

    /// The caller's members of `_meta` that are for the upstream: all but those that speak of this connection.
    fn own_meta(&self, params: &RawJson, caller: &Caller, out: &Out) -> Vec<(String, RawJson)> {
        const OURS: [&str; 5] = [
            meta::PROGRESS_TOKEN,
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES,
            meta::CLIENT_INFO,
            meta::SUBSCRIPTION_ID,
        ];
        let members: RawObject<'_> =
            self.meta.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let kept = members.members().iter().filter(|(key, _)| !OURS.contains(&key.as_ref()));
        let mut kept: Vec<(String, RawJson)> =
            kept.map(|(key, value)| (key.to_string(), params.part(value))).collect();
        // A legacy caller says once what it wants to hear; a modern upstream has to hear it each time.
        if let (Some(level), false) = (out.level, caller.is_modern()) {
            kept.retain(|(key, _)| key != meta::LOG_LEVEL);
            kept.extend(RawJson::of(&level).ok().map(|level| (meta::LOG_LEVEL.to_owned(), level)));
        }
        kept
    }
}

/// A result as the caller's era wants it.
fn finished(caller: &Caller, method: &str, result: RawJson) -> RawJson {
    if caller.is_modern() { completed(method, result) } else { result }
}

/// A result with what the modern era asks of every result.
fn completed(method: &str, result: RawJson) -> RawJson {
    let Ok(members) = RawObject::parse(&result) else { return result };
    let mut missing = String::new();
    let mut add = |key: &str, text: &str| {
        if members.get(key).is_none() {
            missing.push_str(text);
        }
    };
    add("resultType", "\"resultType\":\"complete\",");
    if method == method::READ_RESOURCE {
        add("ttlMs", "\"ttlMs\":0,");
        add("cacheScope", "\"cacheScope\":\"private\",");
    }
    if missing.is_empty() {
        return result;
    }
    if members.members().is_empty() {
        missing.pop();
    }
    let mut text = Vec::with_capacity(result.len() + missing.len());
    text.push(b'{');
    text.extend_from_slice(missing.as_bytes());
    text.extend_from_slice(result.as_bytes().get(1..).unwrap_or(b"}"));
    RawJson::parse(text).unwrap_or(result)
}

enum Resumed {
    Call(Box<InFlight>),
    Input(Input),
}

/// The tool that a caller means. Servers that are still starting are waited for only where the name is not known yet.
/// A name that nobody has is written to the log like any other call.
async fn tool(caller: &Caller, name: &str, arguments: &RawJson) -> Result<(UpstreamId, String), RpcError> {
    let find = || {
        let catalogue = caller.endpoint.fleet().catalogue();
        let found = caller.view.tool(&catalogue, name);
        found.map(|tool| (tool.server.clone(), tool.name.clone()))
    };
    if let Ok(found) = find() {
        return Ok(found);
    }
    // First those who never listed anything: what others listed in an earlier run is known.
    let (fleet, wait) = (caller.endpoint.fleet(), caller.endpoint.config().list_wait);
    fleet.listed_or_stale(caller.view.awaited(), wait).await;
    if let Ok(found) = find() {
        return Ok(found);
    }
    fleet.listed(caller.view.awaited(), wait).await;
    let error = match find() {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let failure = not_found(caller, name, &error, format!("Unknown tool: {name} ({error})"));
    let permit = caller.endpoint.reserve().await.map_err(rpc_failure)?;
    let server = caller.view.server().map(UpstreamId::as_str);
    caller.endpoint.record_unknown((server, name), arguments, permit, &caller.context, &ORIGIN, &failure);
    Err(rpc_failure(failure))
}

/// The resource that a caller means.
pub(crate) async fn resource(caller: &Caller, uri: &str) -> Result<(UpstreamId, String), RpcError> {
    let (message, candidates) = match offers::resource(&caller.endpoint, &caller.view, uri).await {
        Whose::Of(server, own) => return Ok((server, own)),
        Whose::Nobodys => (format!("Resource not found: {uri}"), None),
        Whose::Several(candidates) => {
            (format!("several servers have {uri}; use one of: {}", candidates.join(", ")), Some(candidates))
        }
    };
    let code = if caller.is_modern() { code::INVALID_PARAMS } else { code::LEGACY_RESOURCE_NOT_FOUND };
    let data = RawJson::of(&json!({"uri": uri, "candidates": candidates})).ok();
    Err(RpcError { code, message, data })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    result_type: &'static str,
    input_requests: RawJson,
    request_state: String,
}

/// The answer for a caller who has to come back with answers for a server of the legacy era.
fn waiting(caller: &Caller, mark: &str, call: Box<InFlight>) -> Result<RawJson, RpcError> {
    let requests = call.input_requests().and_then(|requests| requests.to_raw()).map_err(internal)?;
    let life = call.patience();
    let waiting = Waiting { what: call, calls: 1, keys: Vec::new() };
    let parked = caller.endpoint.parked().park(waiting, life);
    let id = parked.ok_or_else(|| internal("too many calls wait for answers; try again later"))?;
    let who = caller.context.caller.as_ref();
    let state = caller.endpoint.seal().write(Behind::Parked(id), who, mark, Some(life));
    let answer =
        InputRequired { result_type: "input_required", input_requests: requests, request_state: state };
    RawJson::of(&answer).map_err(internal)
}

/// The upstream's own `input_required`, with a state that is bound to this caller and this request.
fn resealed(caller: &Caller, mark: &str, result: &RawJson) -> Result<RawJson, RpcError> {
    let fault =
        |error: serde_json::Error| internal(format!("the server's `input_required` cannot be read: {error}"));
    let result = without_repeats(result);
    let mut members = RawObject::parse(&result).map_err(fault)?;
    let theirs = match members.get("requestState") {
        Some(state) => Some(serde_json::from_str(state.get()).map_err(fault)?),
        None => None,
    };
    let who = caller.context.caller.as_ref();
    let life = caller.endpoint.config().mcp.input_expiry;
    let state = caller.endpoint.seal().write(Behind::Upstream(theirs), who, mark, Some(life));
    members.set("requestState", &RawJson::of(&state).map_err(fault)?).map_err(fault)?;
    members.to_raw().map_err(fault)
}

/// Completes an argument of a prompt or a template, by the server whose it is.
async fn complete(caller: &Caller, params: Option<&RawJson>) -> Result<RawJson, RpcError> {
    #[derive(Deserialize)]
    struct Reference {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        uri: Option<String>,
    }
    let params = required(params)?;
    let fault =
        |error: serde_json::Error| invalid(format!("reading the params of completion/complete: {error}"));
    let mut members = RawObject::parse(params).map_err(fault)?;
    let reference = members.get("ref").ok_or_else(|| invalid("`params.ref` is missing"))?.to_owned();
    let read: Reference = serde_json::from_str(reference.get()).map_err(fault)?;
    let (server, key, own) = match (read.kind.as_str(), read.name, read.uri) {
        ("ref/prompt", Some(name), _) => {
            let found = offers::prompt(&caller.endpoint, &caller.view, &name).await;
            let (server, own) = found.ok_or_else(|| invalid(format!("Unknown prompt: {name}")))?;
            (server, "name", own)
        }
        ("ref/resource", _, Some(uri)) => {
            let (server, own) = template(caller, &uri).await?;
            (server, "uri", own)
        }
        (kind, ..) => return Err(invalid(format!("`params.ref` of type `{kind}` names nothing"))),
    };
    let mut renamed: RawObject<'_> = serde_json::from_str(reference.get()).map_err(fault)?;
    renamed.set(key, &RawJson::of(&own).map_err(fault)?).map_err(fault)?;
    let renamed = renamed.to_raw().map_err(fault)?;
    members.set("ref", &renamed).map_err(fault)?;
    members.remove("_meta");
    let list: Vec<(&str, &[u8])> =
        members.members().iter().map(|(key, value)| (key.as_ref(), value.get().as_bytes())).collect();
    let options = caller.context.call_options();
    let outcome =
        caller.endpoint.fleet().request(server.as_str(), method::COMPLETE, None, &list, &options).await;
    outcome.map(|result| finished(caller, method::COMPLETE, result)).map_err(rpc_error)
}

/// The template that a caller means, or the resource.
async fn template(caller: &Caller, uri: &str) -> Result<(UpstreamId, String), RpcError> {
    let found = offers::offers(&caller.endpoint, &caller.view, ListKind::ResourceTemplates).await;
    match found.into_iter().find(|offer| offer.public == uri) {
        Some(offer) => Ok((offer.server, offer.own)),
        None => resource(caller, uri).await,
    }
}
