//! `POST /call_tool`: one tool, by name.

use std::fmt;

use axum_core::response::Response;
use bytes::Bytes;
use gateway_dialects::results::ResultMode;
use gateway_protocol::RawJson;
use gateway_upstream::UpstreamId;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::members;
use super::tool_request::ToolRequest;
use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;
use crate::openapi::Action;
use gateway_runtime::call::input::{Answerer, Continued, InputRequired, PausedCall, Suspension, park};
use gateway_runtime::call::{CallArguments, CallOutcome, CallRequest, CallState, Origin, PLAIN};
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::{ErrorStyle, Failure};
use gateway_runtime::parameters::Parameters;
use gateway_runtime::parked::Suspended;
use gateway_runtime::turn::{rendered_result, result_mode};

#[derive(Default)]
struct Body<'a> {
    server: Option<&'a RawValue>,
    tool: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    state: Option<&'a RawValue>,
    /// The first member that means nothing.
    unknown: Option<String>,
}

enum Field {
    Server,
    Tool,
    Arguments,
    Input,
    Continue,
    Responses,
    Unknown(String),
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Field;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a member")
            }

            fn visit_str<E>(self, name: &str) -> Result<Field, E> {
                Ok(match name {
                    "server" => Field::Server,
                    "tool" => Field::Tool,
                    "arguments" => Field::Arguments,
                    "input" => Field::Input,
                    "continue" => Field::Continue,
                    "responses" => Field::Responses,
                    unknown => Field::Unknown(unknown.to_owned()),
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
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
                        // Read again with the answers in it, which are only there beside a state.
                        Field::Responses => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                        Field::Unknown(name) => {
                            map.next_value::<IgnoredAny>()?;
                            body.unknown.get_or_insert(name);
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
pub(super) async fn call_tool(request: ToolRequest, query: Parameters) -> Result<Response, ApiError> {
    let ToolRequest { gateway, context, body: text, .. } = request;
    let (gateway, context, parameters) = (&gateway, &context, &query);
    let style = parameters.error_style()?;
    let mode = result_mode(parameters)?;
    let body: Body<'_> =
        gateway_protocol::read_json(&text).map_err(|error| ApiError::unreadable_body(&text, &error))?;
    // The members of a call are all read below, without repeats; answers are not.
    if (body.unknown.is_some() || body.state.is_some())
        && let Some(repeated) = gateway_protocol::find_repeated(&text)
    {
        return Err(ApiError::repeated(&repeated));
    }
    if body.state.is_some() {
        return go_on(gateway, context, text).await;
    }
    members::check(Action::CallTool, body.unknown.as_deref())?;
    let answerer = answerer(parameters, body.input)?;
    let server = text_field(body.server, "server")?;
    let name = text_field(body.tool, "tool")?
        .ok_or_else(|| ApiError::bad_request("Missing or invalid \"tool\" field"))?;
    let arguments =
        body.arguments.map_or_else(RawJson::empty_object, |arguments| RawJson::part_of(&text, arguments));
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
    let server = server.as_deref();
    let catalogue = gateway.catalogue_for(server, &name).await?;
    let request = CallRequest {
        named: (server, &name),
        tool: gateway.find(&catalogue, server, &name).map(|tool| (tool, None)),
        catalogue: &catalogue,
        arguments: CallArguments::Read { text: &arguments, value: &value },
        context,
        origin: &Origin { transport: PLAIN, provider: None },
        answerer: answerer.as_ref(),
        siblings: None,
    };
    respond(gateway, context, (mode, style), gateway.call(request, permit).await)
}

/// A call that was set aside, with how its caller wants the answer.
#[derive(Debug)]
struct PausedRequest {
    call: PausedCall,
    mode: ResultMode,
    style: ErrorStyle,
}

/// Goes on with a call that waits for answers.
async fn go_on(gateway: &Gateway, context: &RequestContext, text: Bytes) -> Result<Response, ApiError> {
    let body = RawJson::parse(text)
        .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
    let continued = Continued::read(&body)?;
    let paused: Box<PausedRequest> = continued.take(gateway, context, Suspension::Call)?;
    let PausedRequest { call, mode, style } = *paused;
    let call = Box::pin(call.resume(context, |key| continued.response(key))).await;
    respond(gateway, context, (mode, style), call)
}

/// The answer: a result, or what has to be known before there can be one.
fn respond(
    gateway: &Gateway,
    context: &RequestContext,
    (mode, style): (ResultMode, ErrorStyle),
    call: CallState,
) -> Result<Response, ApiError> {
    let outcome = match call {
        CallState::Done(outcome) => outcome,
        CallState::Waiting(call) => {
            return set_aside(gateway, context, PausedRequest { call: *call, mode, style });
        }
        CallState::Ahead => return Err(Failure::Internal("the call was not begun".to_owned()).into()),
    };
    if let Some(failure) = outcome.failure {
        return Err(ApiError::of(failure, style));
    }
    let server = outcome.server.as_ref().map_or("", UpstreamId::as_str);
    let tool = outcome.tool.as_deref().unwrap_or_default();
    let result = rendered_result(gateway, mode, (server, tool), &outcome.result);
    let mut answer = Vec::with_capacity(result.len() + 16);
    answer.extend_from_slice(b"{\"result\":");
    answer.extend_from_slice(result.as_bytes());
    answer.push(b'}');
    let mut response = json_response(StatusCode::OK, answer);
    if let Some(age) = outcome.age {
        response.headers_mut().insert(CACHE, HeaderValue::from_static("hit"));
        response.headers_mut().insert(header::AGE, HeaderValue::from(age.as_secs()));
    }
    Ok(response)
}

/// The answer for a call whose server wants to know something first.
fn set_aside(
    gateway: &Gateway,
    context: &RequestContext,
    paused: PausedRequest,
) -> Result<Response, ApiError> {
    let (requests, patience) = (paused.call.requests.clone(), paused.call.patience());
    let CallOutcome { server, tool, .. } = &paused.call.outcome;
    let names = json!({"server": server.as_ref().map(UpstreamId::as_str), "tool": tool});
    let waiting: (Box<dyn Suspended>, _) = (Box::new(paused), patience);
    let input = park(gateway, context, Suspension::Call, waiting, (1, &requests))?;
    let answer = Asking { input_required: &input, names: &names };
    Ok(json_response(StatusCode::OK, serde_json::to_vec(&answer).unwrap_or_default()))
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
        None => Ok(Answerer::of(&parameters.all("input"))?),
        Some(input) => {
            let words: Vec<String> = serde_json::from_str(input.get()).map_err(|_| {
                ApiError::bad_request("Missing or invalid \"input\" field: expected a list of words")
            })?;
            Ok(Answerer::of(&words)?)
        }
    }
}

/// Says that the result is that of an earlier call.
const CACHE: HeaderName = HeaderName::from_static("x-cache");

fn text_field(value: Option<&RawValue>, name: &str) -> Result<Option<String>, ApiError> {
    let Some(value) = value.filter(|value| value.get() != "null") else { return Ok(None) };
    serde_json::from_str::<String>(value.get())
        .ok()
        .filter(|text| !text.is_empty())
        .map(Some)
        .ok_or_else(|| ApiError::bad_request(format!("Missing or invalid \"{name}\" field")))
}
