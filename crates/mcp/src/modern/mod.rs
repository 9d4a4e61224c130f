//! Requests of the modern era: each carries everything, and nothing is kept between two of them.

pub(crate) mod listen;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{
    RawJson, Request, RpcError, code, encode_header_value, header, is_modern, meta, method,
    supported_versions,
};
use http::{HeaderMap, StatusCode, header::AsHeaderName};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::caller::{Caller, Reach};
use crate::endpoint::Endpoint;
use crate::errors::{check_params, internal, invalid};
use crate::http_request::HttpRequest;
use crate::log_level::LogLevel;
use crate::outbound::{Out, Sink};
use crate::requests;
use crate::response::{
    Refused, Response, counted_message, event_pieces, json_response, not_acceptable, status_of, streamed,
    takes_events,
};
use crate::server_info;
use crate::tasks;
use crate::view::View;
use gateway_runtime::capabilities::Capabilities;
use gateway_runtime::context::RequestContext;
use gateway_runtime::progress::{Step, until_done};
use gateway_runtime::seal::unique_name;

/// Messages of one request that wait for their reader; what sends more waits too.
const MESSAGES: usize = 4;

/// What a request says about itself.
#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: String,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: RawJson,
    #[serde(default, rename = "io.modelcontextprotocol/logLevel")]
    level: Option<LogLevel>,
    #[serde(default, rename = "progressToken")]
    token: Option<RawJson>,
}

/// The params of a request, as far as they are read here.
#[derive(Deserialize)]
struct Params<'a, M> {
    #[serde(rename = "_meta")]
    meta: M,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
}

/// Whether a message is one of the modern era: it carries its version, or its header names a modern one.
pub(crate) fn is_meant(params: Option<&RawJson>, version: Option<&str>) -> bool {
    #[derive(Deserialize)]
    struct Versioned {
        #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
        _version: Value,
    }
    let carries = || params?.read::<Params<'_, Versioned>>().ok();
    version.is_some_and(is_modern) || carries().is_some()
}

/// A request that was checked.
pub(crate) struct Checked {
    pub(crate) request: Request,
    pub(crate) caller: Caller,
    token: Option<RawJson>,
    level: Option<LogLevel>,
    /// The name and the address in its params, as they stand there.
    name: Option<RawJson>,
    uri: Option<RawJson>,
}

/// Reads what a request says about itself, and compares it with the header that repeats it, where there are headers.
pub(crate) fn check(
    endpoint: &Endpoint,
    request: Request,
    context: RequestContext,
    owner: Arc<str>,
    view: View,
    headers: Option<&HeaderMap>,
) -> Result<Checked, Refused> {
    let read = || {
        check_params(request.params.as_ref())?;
        let params = request.params.as_ref().ok_or_else(|| invalid("`params._meta` is missing"))?;
        let Params { meta, name, uri }: Params<'_, Meta> =
            params.read().map_err(|error| invalid(format!("reading `params._meta`: {error}")))?;
        // A contradiction comes first: it says nothing about the version.
        if let Some(headers) = headers {
            same(headers, &header::PROTOCOL_VERSION, Some(&meta.version))?;
        }
        if !supported_versions().contains(&meta.version.as_str()) || !is_modern(&meta.version) {
            let data = json!({"supported": supported_versions(), "requested": meta.version});
            return Err(RpcError {
                code: code::UNSUPPORTED_VERSION,
                message: format!("Unsupported protocol version: {}", meta.version),
                data: RawJson::of(&data).ok(),
            });
        }
        if meta.capabilities.as_bytes().first() != Some(&b'{') {
            return Err(invalid(format!("`{}` must be an object", meta::CLIENT_CAPABILITIES)));
        }
        Ok((meta, name.map(|name| params.part(name)), uri.map(|uri| params.part(uri))))
    };
    match read() {
        Ok((meta, name, uri)) => {
            let can = Capabilities::of(meta.capabilities);
            let endpoint = endpoint.clone();
            let caller = Caller { endpoint, context, owner, view, can, reach: Reach::Returns };
            Ok(Checked { request, caller, token: meta.token, level: meta.level, name, uri })
        }
        Err(error) => Err(Refused::by_code(request.id, error)),
    }
}

/// Answers a request over HTTP.
pub(crate) async fn post(
    endpoint: &Endpoint,
    http: HttpRequest,
    view: View,
    request: Request,
) -> Result<Response, Refused> {
    // Two requests are two owners: nothing ties them together.
    let single = unique_name().into();
    let checked = check(endpoint, request, http.context, single, view, Some(&http.headers))?;
    let id = checked.request.id.clone();
    check_headers(&checked, &http.headers).map_err(|error| Refused::by_code(id.clone(), error))?;
    let takes_events = takes_events(&http.headers);
    if checked.request.method == method::LISTEN {
        if !takes_events {
            return Err(not_acceptable(Some(id)));
        }
        return listen::stream(checked).await;
    }
    let is_watched = checked.token.is_some() || checked.level.is_some();
    let context = checked.caller.context.clone();
    if !takes_events || !is_watched {
        // What comes before the answer has no room in it, or is not wanted.
        let outcome = Box::pin(answer(checked, Sink::Nobody)).await;
        return Ok(alone(endpoint, &context, &id, &outcome).await);
    }
    let (sender, messages) = mpsc::channel(MESSAGES);
    let mut steps = Box::pin(until_done(answer(checked, Sink::Channel(sender)), messages));
    // An answer without anything before it is one message; a stream begins with the first notification.
    let first = match steps.next().await {
        Some(Step::Done(outcome)) => return Ok(alone(endpoint, &context, &id, &outcome).await),
        first => stream::iter(first),
    };
    let heartbeat = endpoint.config().heartbeat;
    let answering = (endpoint.clone(), context, id);
    let texts = first.chain(steps).then(move |step| {
        let (endpoint, context, id) = answering.clone();
        async move {
            match step {
                Step::Message(text) => text,
                Step::Done(outcome) => counted_message(&endpoint, &context, &id, &outcome).await,
            }
        }
    });
    Ok(streamed(texts.flat_map(|text| stream::iter(event_pieces(None, text))), heartbeat))
}

/// An answer that is one message.
async fn alone(
    endpoint: &Endpoint,
    context: &RequestContext,
    id: &RawJson,
    outcome: &Result<RawJson, RpcError>,
) -> Response {
    let status = outcome.as_ref().map_or_else(status_of, |_| StatusCode::OK);
    json_response(status, counted_message(endpoint, context, id, outcome).await)
}

/// Answers a request; what belongs to it goes to `sink` first.
pub(crate) async fn answer(checked: Checked, sink: Sink) -> Result<RawJson, RpcError> {
    let Checked { request, caller, token, level, .. } = checked;
    let out = Out { sink, token, level };
    if request.method == method::DISCOVER {
        return RawJson::of(&server_info::discover(&caller.endpoint, &caller.view).await).map_err(internal);
    }
    requests::answer(&caller, &out, &request.method, request.params.as_ref()).await
}

/// The headers of a request must say what its body says (MCP 2026-07-28, SEP-2243).
fn check_headers(checked: &Checked, headers: &HeaderMap) -> Result<(), RpcError> {
    let request = &checked.request;
    let params = request.params.as_ref();
    same(headers, &header::METHOD, Some(&request.method))?;
    let text = |raw: &Option<RawJson>| raw.as_ref().and_then(|raw| raw.read::<String>().ok());
    let (name, uri) = (text(&checked.name), text(&checked.uri));
    match request.method.as_str() {
        method::CALL_TOOL => {
            same(headers, &header::NAME, name.as_deref())?;
            let name = name.unwrap_or_default();
            let catalogue = checked.caller.endpoint.fleet().catalogue();
            let Ok(tool) = checked.caller.view.tool(&catalogue, &name) else { return Ok(()) };
            if tool.header_parameters.is_empty() {
                return Ok(());
            }
            let params: Value = params.and_then(|params| params.read().ok()).unwrap_or_default();
            let arguments = params.get("arguments").unwrap_or(&Value::Null);
            for parameter in &tool.header_parameters {
                let value = parameter.path.iter().try_fold(arguments, |value, key| value.get(key));
                let wanted = value.filter(|value| !value.is_null()).and_then(plain_text);
                same(headers, &parameter.header, wanted.as_deref())?;
            }
            Ok(())
        }
        asked if tasks::is_meant(asked) => same(headers, &header::NAME, tasks::task_id(params).as_deref()),
        method::GET_PROMPT => same(headers, &header::NAME, name.as_deref()),
        method::READ_RESOURCE => same(headers, &header::NAME, uri.as_deref()),
        _ => Ok(()),
    }
}

/// A value as the text that its header stands for.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        other => encode_header_value(other),
    }
}

fn same(
    headers: &HeaderMap,
    name: impl AsHeaderName + fmt::Display + Copy,
    wanted: Option<&str>,
) -> Result<(), RpcError> {
    let given = headers.get(name).map(|value| decoded(value.as_bytes()));
    if given.as_ref().map(Option::as_deref) == wanted.map(Some) {
        return Ok(());
    }
    let message = match (given, wanted) {
        (None, Some(_)) => format!("the header `{name}` is missing"),
        (Some(Some(given)), wanted) => {
            format!("the header `{name}` says `{given}`, the body `{}`", wanted.unwrap_or("nothing"))
        }
        (Some(None), _) => format!("the header `{name}` cannot be read"),
        (None, None) => return Ok(()),
    };
    Err(RpcError::new(code::HEADER_MISMATCH, message))
}

/// The text that a header stands for.
fn decoded(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    let inner = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match inner {
        Some(inner) => String::from_utf8(BASE64.decode(inner).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}
