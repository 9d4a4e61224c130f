//! `POST /call_tool`: one tool, by name.

use std::fmt;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use gateway_dialects::results::ResultMode;
use gateway_notation::pointer;
use gateway_protocol::RawJson;
use gateway_upstream::{Catalogue, CatalogueTool, LookupError, UpstreamId};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::tool_request::{ToolRequest, Work};
use crate::errors::{ApiError, ErrorStyle, json_response};
use crate::mcp::Waiting;
use crate::mcp::plain::{self, Answerer, Came, Continued, InputRequired, PausedCall, Place};
use crate::query::Parameters;
use crate::runtime::call::{Call, Origin, PLAIN};
use crate::runtime::context::RequestContext;
use crate::runtime::failure::Failure;
use crate::runtime::gateway::Gateway;
use crate::runtime::lookup::Sought;
use crate::runtime::scope::unknown_server;
use crate::runtime::turn::{rendered_result, result_mode};

#[derive(Default)]
struct Body<'a> {
    server: Option<&'a RawValue>,
    tool: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    state: Option<&'a RawValue>,
    /// Whether there are members that mean nothing.
    has_others: bool,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Server,
    Tool,
    Arguments,
    Input,
    Continue,
    #[serde(other)]
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Body<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Body<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with \"tool\" and \"arguments\"")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut body = Body::default();
                while let Some(field) = map.next_key()? {
                    let member = match field {
                        Field::Server => &mut body.server,
                        Field::Tool => &mut body.tool,
                        Field::Arguments => &mut body.arguments,
                        Field::Input => &mut body.input,
                        Field::Continue => &mut body.state,
                        Field::Other => {
                            map.next_value::<IgnoredAny>()?;
                            body.has_others = true;
                            continue;
                        }
                    };
                    if member.is_some() {
                        return Err(A::Error::custom("a member is repeated"));
                    }
                    // `null` stands for nothing, but a second member is a repeat all the same.
                    *member = Some(map.next_value()?);
                }
                Ok(body)
            }
        }
        let mut body = deserializer.deserialize_map(Members)?;
        for member in
            [&mut body.server, &mut body.tool, &mut body.arguments, &mut body.input, &mut body.state]
        {
            *member = member.filter(|value| value.get() != "null");
        }
        Ok(body)
    }
}

/// Runs one tool and gives its result as it came.
pub(super) async fn call_tool(request: ToolRequest) -> Response {
    request.answered(run).await
}

async fn run(work: Work) -> Result<Response, ApiError> {
    let Work { gateway, context, query: parameters, body: text } = work;
    let (gateway, context, parameters) = (&gateway, &context, &parameters);
    let style = error_style(parameters)?;
    let mode = result_mode(parameters)?;
    let body: Body<'_> =
        serde_json::from_slice(&text).map_err(|error| ApiError::unreadable_body(&text, &error))?;
    // The members that mean something are all read below, without repeats; answers and unknown members are not.
    if (body.has_others || body.state.is_some())
        && let Some(repeated) = gateway_protocol::find_repeated(&text)
    {
        return Err(ApiError::repeated(&repeated));
    }
    if body.state.is_some() {
        return go_on(gateway, context, text).await;
    }
    let answerer = answerer(parameters, body.input)?;
    let server = text_field(body.server, "server")?;
    let name = text_field(body.tool, "tool")?
        .ok_or_else(|| ApiError::bad_request("Missing or invalid \"tool\" field"))?;
    let arguments = match body.arguments {
        None => RawJson::empty_object(),
        Some(arguments) => RawJson::parse(text.slice_ref(arguments.get().as_bytes()))
            .map_err(|error| ApiError::bad_request(format!("reading \"arguments\": {error}")))?,
    };
    let value = match gateway_dialects::from_slice(arguments.as_bytes()) {
        Ok(value) => value,
        Err(error) => {
            return Err(match gateway_protocol::find_repeated(&text) {
                Some(repeated) => ApiError::repeated(&repeated),
                None => ApiError::bad_request(format!("reading \"arguments\": {error}")),
            });
        }
    };
    if !value.is_object() {
        return Err(ApiError::bad_request("Missing or invalid \"arguments\" field: expected an object"));
    }
    let permit = gateway.reserve().await?;
    let catalogue = known_tools(gateway, server.as_deref(), &name).await?;
    let origin = Origin { transport: PLAIN, provider: None };
    let tool = match find(gateway, &catalogue, server.as_deref(), &name) {
        Ok(tool) => tool,
        Err(error) => {
            let wanted = (server.as_deref(), name.as_str());
            let failure = not_found(gateway, wanted, &error);
            gateway.record_unknown(wanted, &arguments, permit, context, &origin, &failure);
            return Err(failure.into_api(style));
        }
    };
    let call = Call { tool, arguments: &arguments, context, origin: &origin };
    if let Err(failure) = gateway.check_arguments(&catalogue, tool, &value, false, &pointer::dotted) {
        gateway.record_refusal(call, permit, &failure);
        return Err(failure.into_api(style));
    }
    let came = match &answerer {
        Some(answerer) => plain::call(gateway, call, permit, answerer).await,
        None => gateway.run(call, permit, context.own_call_options()).await.map(Came::Done),
    };
    let (server, tool) = (tool.server.to_string(), tool.name.clone());
    respond(gateway, context, (server, tool), (mode, style), came)
}

/// Goes on with a call that waits for answers.
async fn go_on(gateway: &Gateway, context: &RequestContext, text: Bytes) -> Result<Response, ApiError> {
    let body = RawJson::parse(text)
        .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
    let continued = Continued::read(&body)?;
    let Waiting::Call(call) = continued.take(gateway, context, Place::CallTool)? else {
        return Err(ApiError::bad_request("this state is of no single call"));
    };
    let PausedCall { paused, server, tool, mode, style } = *call;
    let came = paused.go_on(context, |key| continued.response(key)).await;
    respond(gateway, context, (server, tool), (mode, style), came)
}

/// The answer: a result, or what has to be known before there can be one.
fn respond(
    gateway: &Gateway,
    context: &RequestContext,
    (server, tool): (String, String),
    (mode, style): (ResultMode, ErrorStyle),
    came: Result<Came, Failure>,
) -> Result<Response, ApiError> {
    let done = match came.map_err(|failure| failure.into_api(style))? {
        Came::Done(done) => done,
        Came::Waits(paused) => {
            let (requests, patience) = (paused.requests().to_vec(), paused.patience());
            let names = json!({"server": server, "tool": tool});
            let waiting = Waiting::Call(Box::new(PausedCall { paused: *paused, server, tool, mode, style }));
            let place = Place::CallTool;
            let input = plain::park(gateway, context, place, (waiting, patience), &requests)?;
            let answer = Asking { input_required: &input, names: &names };
            let answer = serde_json::to_vec(&answer).unwrap_or_default();
            return Ok(json_response(StatusCode::OK, answer));
        }
    };
    let result = rendered_result(gateway, mode, (&server, &tool), &done.result);
    let mut answer = Vec::with_capacity(result.len() + 16);
    answer.extend_from_slice(b"{\"result\":");
    answer.extend_from_slice(result.as_bytes());
    answer.push(b'}');
    let mut response = json_response(StatusCode::OK, answer);
    if let Some(age) = done.age {
        response.headers_mut().insert(CACHE, HeaderValue::from_static("hit"));
        response.headers_mut().insert(header::AGE, HeaderValue::from(age.as_secs()));
    }
    Ok(response)
}

/// An answer that is no result yet.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asking<'a> {
    input_required: &'a InputRequired,
    #[serde(flatten)]
    names: &'a Value,
}

/// What the caller can be asked: the body's word stands above the query.
fn answerer(parameters: &Parameters, input: Option<&RawValue>) -> Result<Option<Answerer>, ApiError> {
    match input.filter(|input| input.get() != "null") {
        None => Answerer::of(&parameters.all("input")),
        Some(input) => {
            let words: Vec<String> = serde_json::from_str(input.get()).map_err(|_| {
                ApiError::bad_request("Missing or invalid \"input\" field: expected a list of words")
            })?;
            Answerer::of(&words)
        }
    }
}

/// Says that the result is that of an earlier call.
const CACHE: HeaderName = HeaderName::from_static("x-cache");

/// The tools; a server that is still starting is waited for only where the tool is not known yet.
async fn known_tools(
    gateway: &Gateway,
    server: Option<&str>,
    name: &str,
) -> Result<Arc<Catalogue>, ApiError> {
    let fleet = gateway.fleet();
    let catalogue = fleet.catalogue();
    if let Some(server) = server
        && fleet.spec(server).is_none()
    {
        return Err(unknown_server(gateway, server));
    }
    if catalogue.resolve(server, name).is_ok() {
        return Ok(catalogue);
    }
    let ids: Vec<UpstreamId> = if let Some(server) = server {
        vec![UpstreamId::new(server)]
    } else {
        let is_server = |server: &str| fleet.spec(server).is_some();
        gateway_upstream::canonical_splits(name, is_server)
            .map(|(server, _)| UpstreamId::new(server))
            .collect()
    };
    if ids.is_empty() && name.starts_with("mcp__") {
        return Ok(catalogue);
    }
    fleet.listed(&ids, gateway.config().list_wait).await;
    Ok(fleet.catalogue())
}

/// The tool that a caller means.
fn find<'c>(
    gateway: &Gateway,
    catalogue: &'c Catalogue,
    server: Option<&str>,
    name: &str,
) -> Result<&'c CatalogueTool, LookupError> {
    let implied = (server.is_none() && !name.starts_with("mcp__")).then(|| default_server(gateway));
    let implied =
        implied.filter(|server| catalogue.get(server, name).is_some_and(|tool| tool.reserved_for.is_none()));
    catalogue.resolve(server.or(implied), name)
}

fn default_server(gateway: &Gateway) -> &str {
    gateway.config().default_server.as_deref().unwrap_or("default")
}

/// What is told of a name that leads to no tool.
fn not_found(gateway: &Gateway, (server, name): (Option<&str>, &str), error: &LookupError) -> Failure {
    let text = match error {
        LookupError::UnknownTool { server: None, .. } | LookupError::Ambiguous { .. }
            if server.is_none() && !name.starts_with("mcp__") =>
        {
            format!("server is required when tool is not canonical: {error}")
        }
        _ => error.to_string(),
    };
    let text = match error {
        LookupError::UnknownTool { server: None, .. } => gateway.unknown_among_all(&text),
        _ => text,
    };
    let implied = Some(default_server(gateway)).filter(|server| gateway.fleet().spec(server).is_some());
    gateway.not_found(Sought { server, name, implied }, error, text)
}

/// How the caller wants failures to be told.
pub(super) fn error_style(parameters: &Parameters) -> Result<ErrorStyle, ApiError> {
    let words = [("precise", ErrorStyle::Precise), ("plain", ErrorStyle::Plain)];
    Ok(parameters.word("errors", &words)?.unwrap_or_default())
}

fn text_field(value: Option<&RawValue>, name: &str) -> Result<Option<String>, ApiError> {
    let Some(value) = value.filter(|value| value.get() != "null") else { return Ok(None) };
    serde_json::from_str::<String>(value.get())
        .ok()
        .filter(|text| !text.is_empty())
        .map(Some)
        .ok_or_else(|| ApiError::bad_request(format!("Missing or invalid \"{name}\" field")))
}
