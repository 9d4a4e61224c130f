//! `/conversations`: conversations that the gateway keeps.

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_agent::conversations::{
    Chat, ChatItem, Conversations, ConversationsError, MessageRange, Shown, cursor, failed_stream,
};
use gateway_agent::{AgentError, ModelFailure};
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::ErrorStyle;
use gateway_runtime::parameters::Parameters;
use gateway_runtime::progress::with_heartbeats;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use serde_json::{Value, json};

use super::completions::QUIET;
use super::tool_request::ToolRequest;
use crate::errors::{ApiError, code, event_stream, json_response};
use crate::gateway::Gateway;
use crate::metrics::Entered;

/// Which of the gateway's tools a caller wants.
const TOOLS: &str = "x-gateway-tools";

/// Most messages or conversations that a request may ask for at once.
const MOST: u64 = 1_000_000;

/// `POST /conversations`.
pub(super) async fn create(request: ToolRequest, query: Parameters) -> Result<Response, ApiError> {
    let ToolRequest { gateway, context, body, .. } = request;
    let style = query.error_style()?;
    let created = gateway.state.conversations.create(&context, &body).await;
    Ok(shown(created.map_err(refused(style))?))
}

/// `GET /conversations`.
pub(super) async fn list(gateway: Gateway, context: RequestContext, uri: Uri) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let style = parameters.error_style()?;
    let limit = number(&parameters, "limit", 1)?;
    let after = parameters.get("after").map(cursor).transpose().map_err(refused(style))?;
    let page = gateway.state.conversations.list(&context, parameters.get("q"), limit, after).await;
    let page = page.map_err(refused(style))?;
    let mut response = json_response(StatusCode::OK, Value::from(page.conversations).to_string());
    if let Some(next) = page.next {
        let kept = uri.query().unwrap_or_default().split('&');
        let kept = kept.filter(|pair| !pair.is_empty() && pair.split('=').next() != Some("after"));
        let cursor = format!("after={next}");
        let query: Vec<&str> = kept.chain([cursor.as_str()]).collect();
        let link = format!("<{}?{}>; rel=\"next\"", uri.path(), query.join("&"));
        response.headers_mut().extend(HeaderValue::from_str(&link).ok().map(|link| (header::LINK, link)));
    }
    Ok(response)
}

/// `GET /conversations/{id}`.
pub(super) async fn get(
    gateway: Gateway,
    context: RequestContext,
    id: String,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let style = parameters.error_style()?;
    let offset = number(&parameters, "offset", 0)?.unwrap_or(0);
    let range = MessageRange { offset, limit: number(&parameters, "limit", 1)? };
    let found = gateway.state.conversations.get(&context, &id, range).await;
    Ok(shown(found.map_err(refused(style))?))
}

/// `PATCH /conversations/{id}`.
pub(super) async fn rename(
    gateway: Gateway,
    context: RequestContext,
    id: String,
    (uri, headers): (Uri, HeaderMap),
    body: Bytes,
) -> Result<Response, ApiError> {
    let style = Parameters::of_query(uri.query()).error_style()?;
    let version = wanted_version(&headers)?;
    let renamed = gateway.state.conversations.rename(&context, &id, &body, version).await;
    Ok(shown(renamed.map_err(refused(style))?))
}

/// `DELETE /conversations/{id}`.
pub(super) async fn delete(
    gateway: Gateway,
    context: RequestContext,
    id: String,
    uri: Uri,
) -> Result<Response, ApiError> {
    let style = Parameters::of_query(uri.query()).error_style()?;
    gateway.state.conversations.delete(&context, &id).await.map_err(refused(style))?;
    let body = json!({"message": "Conversation deleted successfully", "success": true});
    Ok(json_response(StatusCode::OK, body.to_string()))
}

/// `GET /conversations/{id}/calls`.
pub(super) async fn calls(
    gateway: Gateway,
    context: RequestContext,
    id: String,
    uri: Uri,
) -> Result<Response, ApiError> {
    let style = Parameters::of_query(uri.query()).error_style()?;
    let calls = gateway.state.conversations.calls(&context, &id).await.map_err(refused(style))?;
    Ok(json_response(StatusCode::OK, json!({"conversation_id": id, "calls": calls}).to_string()))
}

/// `POST /conversations/{id}/chat`. A stream counts as a request at work until it ends. What is streamed is not kept for a second
/// request with the same `Idempotency-Key`: nobody could read it as it comes.
pub(super) async fn chat(request: ToolRequest, id: String, entered: Option<Entered>) -> Response {
    if Conversations::wants_stream(&request.body) {
        let query = Parameters::of_query(request.uri.query());
        let answered = chatted(request, query, id, entered).await;
        return answered.unwrap_or_else(ApiError::into_response);
    }
    request.answered(|request, query| chatted(request, query, id, entered)).await
}

async fn chatted(
    request: ToolRequest,
    query: Parameters,
    id: String,
    entered: Option<Entered>,
) -> Result<Response, ApiError> {
    let ToolRequest { gateway, context, headers, body, .. } = request;
    let style = query.error_style()?;
    let version = wanted_version(&headers)?;
    // What cannot be read is no choice: it must not offer all tools.
    let tools = headers.get(TOOLS).map(http::HeaderValue::to_str).transpose();
    let wrong = |_| ApiError::bad_request(format!("{TOOLS}: expected ASCII text"));
    let tools = tools.map_err(wrong)?;
    match gateway.state.conversations.chat(context, &id, &body, tools, version).await {
        Ok(Chat::Whole(body)) => Ok(json_response(StatusCode::OK, body)),
        Ok(Chat::Stream(items)) => {
            let items = with_heartbeats(items, gateway.config().heartbeat.min(QUIET));
            streamed(Box::pin(items), style, entered).await
        }
        Err(error) => Err(refusal(&error, style)),
    }
}

/// A stream. What comes first decides the status.
async fn streamed(
    mut items: impl stream::Stream<Item = Option<ChatItem>> + Send + Unpin + 'static,
    style: ErrorStyle,
    entered: Option<Entered>,
) -> Result<Response, ApiError> {
    let first = match items.next().await {
        Some(Some(ChatItem::Failed { error, .. })) => return Err(refusal(&error, style)),
        first => stream::iter(first),
    };
    Ok(event_stream(first.chain(items).map(move |item| {
        let _counted = &entered;
        item.map(|item| match item {
            ChatItem::Bytes(bytes) => bytes,
            ChatItem::Failed { error, begin } => failed_stream(&error, refusal(&error, style).code, begin),
        })
    })))
}

/// A conversation, with its version as its tag.
fn shown(shown: Shown) -> Response {
    let mut response = json_response(StatusCode::OK, shown.body);
    let tag = HeaderValue::from_str(&format!("\"{}\"", shown.version));
    response.headers_mut().extend(tag.ok().map(|tag| (header::ETAG, tag)));
    response
}

/// The version in `If-Match`.
fn wanted_version(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(given) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = given.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let version = text.trim_start_matches("W/").trim_matches('"').parse();
    let wrong = || ApiError::bad_request("If-Match: expected the `ETag` of the conversation");
    version.map(Some).map_err(|_| wrong())
}

fn number(parameters: &Parameters, name: &str, least: u64) -> Result<Option<usize>, ApiError> {
    let number = parameters.number(name, least..=MOST)?;
    Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
}

/// The answer for a failure, as `map_err` wants it.
fn refused(style: ErrorStyle) -> impl FnOnce(ConversationsError) -> ApiError {
    move |error| refusal(&error, style)
}

/// The answer for a failure. Its words stand under `error`, and the guard repeats them under `detail`.
fn refusal(error: &ConversationsError, style: ErrorStyle) -> ApiError {
    let (precise, code) = match error {
        ConversationsError::NotFound => (StatusCode::NOT_FOUND, code::CONVERSATION_NOT_FOUND),
        ConversationsError::Request(_) | ConversationsError::UnknownModel(_) => {
            (StatusCode::BAD_REQUEST, code::VALIDATION_ERROR)
        }
        ConversationsError::Conflict { .. } | ConversationsError::Busy => {
            (StatusCode::CONFLICT, code::CONFLICT)
        }
        ConversationsError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, code::CONVERSATION_FULL),
        ConversationsError::Store | ConversationsError::Agent(AgentError::Journal(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, code::STORE_ERROR)
        }
        ConversationsError::Agent(AgentError::Tools(failure)) => {
            return ApiError::of(failure.clone(), style);
        }
        ConversationsError::Agent(AgentError::Model(error)) => match &error.failure {
            ModelFailure::Timeout(_) => (StatusCode::GATEWAY_TIMEOUT, code::TIMEOUT),
            _ => (StatusCode::BAD_GATEWAY, code::MODEL_ERROR),
        },
        ConversationsError::Agent(AgentError::Empty { .. }) => (StatusCode::BAD_GATEWAY, code::MODEL_ERROR),
        ConversationsError::Agent(AgentError::PersonalData(_)) => {
            (StatusCode::BAD_REQUEST, code::PERSONAL_DATA)
        }
        ConversationsError::Agent(AgentError::Limit(_)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, code::LIMIT_EXCEEDED)
        }
        ConversationsError::Agent(AgentError::Gone) => (StatusCode::INTERNAL_SERVER_ERROR, code::CANCELLED),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN),
    };
    let status = match style {
        ErrorStyle::Precise => precise,
        ErrorStyle::Plain if precise.is_client_error() => precise,
        ErrorStyle::Plain => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let mut answer = ApiError::new(status, code, error.to_string());
    match error {
        ConversationsError::Conflict { current } => answer = answer.with("version", *current),
        ConversationsError::Busy => answer.retry_after = Some(1),
        ConversationsError::UnknownModel(unknown) if !unknown.known.is_empty() => {
            answer = answer.with("availableModels", unknown.known.clone());
        }
        _ => {}
    }
    answer
}
