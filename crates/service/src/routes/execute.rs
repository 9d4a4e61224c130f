//! `POST /execute`: what a model said, run.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Map, Value};

use crate::context::RequestContext;
use crate::errors::{ApiError, json_response};
use crate::execute::Turn;
use crate::gateway::Gateway;
use crate::idempotency::{IdempotencyKey, NotRun};
use crate::metrics::Provider;
use crate::query::Parameters;

/// Runs the calls of a model and answers in the provider's shape.
pub(crate) async fn execute(
    State(gateway): State<Gateway>,
    Extension(context): Extension<RequestContext>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let key = match IdempotencyKey::of(&headers, context.caller.clone(), "/execute", uri.query(), &body) {
        Ok(key) => key,
        Err(error) => return error.into_response(),
    };
    let query = Parameters::of_query(uri.query());
    let Some(key) = key else {
        return run(&gateway, &context, &query, &body).await.unwrap_or_else(ApiError::into_response);
    };
    let owned = gateway.clone();
    let work =
        async move { run(&owned, &context, &query, &body).await.unwrap_or_else(ApiError::into_response) };
    gateway.idempotency().run(key, work).await.unwrap_or_else(ApiError::into_response)
}

async fn run(
    gateway: &Gateway,
    context: &RequestContext,
    query: &Parameters,
    body: &Bytes,
) -> Result<Response, ApiError> {
    let body: Map<String, Value> = match serde_json::from_slice(body) {
        Ok(Value::Object(body)) => body,
        Ok(_) => return Err(ApiError::bad_request("the body must be a JSON object with \"call\"")),
        Err(error) => return Err(ApiError::bad_request(format!("reading the body as JSON: {error}"))),
    };
    let turn = Turn::parse(gateway, &body, query).await?;
    let ran = turn.run(gateway, context).await?;
    let answer = turn.answer(&ran)?;
    let mut response = json_response(StatusCode::OK, answer.body);
    response.extensions_mut().insert(Provider(answer.provider));
    if answer.not_run {
        response.extensions_mut().insert(NotRun);
    }
    Ok(response)
}
