//! `POST /convert`, `POST /transform` and `POST /check`: tools in the body, nothing remembered.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use gateway_dialects::Translator;
use gateway_dialects::dialect::ToolShape;
use http::{StatusCode, Uri};
use serde_json::{Map, Value, json};

use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;
use crate::query::{Parameters, compat, translation_options};
use crate::render::{unknown_dialect, unknown_model};

/// Translates the tools of the body: `{"to" or "provider" or "model", "tools": […], options…}`.
pub(crate) async fn convert(State(gateway): State<Gateway>, uri: Uri, body: Bytes) -> Response {
    let work = tokio::task::spawn_blocking(move || converted(&gateway, uri.query(), &body));
    match work.await {
        Ok(Ok(body)) => json_response(StatusCode::OK, body.to_string()),
        Ok(Err(error)) => error.into_response(),
        Err(_) => broken().into_response(),
    }
}

fn converted(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Value, ApiError> {
    let (body, tools) = read(body)?;
    let mut parameters = Parameters::of_object(&body);
    parameters.extend(&Parameters::of_query(query));
    let translator = translator(gateway, &parameters)?;
    let translation = translator.translate(&tools);
    let rows: Vec<Value> = translation
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "wireName": tool.wire_name,
                "quarantine": tool.quarantine,
                "strict": tool.strict,
                "tokens": {"before": tool.tokens.before, "after": tool.tokens.after},
                "changes": tool.changes.iter().map(|change| json!(change)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let quarantined = translation.tools.iter().filter(|tool| tool.quarantine.is_some()).count();
    gateway.metrics().conversions(translation.tools.len(), quarantined);
    let mut answer = json!({
        "dialect": translator.dialect().name,
        translator.dialect().tool.document.as_str(): translation.request_field().to_value(),
        "report": rows,
    });
    warn(gateway, &parameters, &mut answer);
    Ok(answer)
}

/// The translator that a body asks for.
fn translator(gateway: &Gateway, parameters: &Parameters) -> Result<Translator, ApiError> {
    let name = ["to", "provider", "profile"].iter().find_map(|key| parameters.get(key));
    let model = parameters.get("model");
    if name.is_none() && model.is_none() {
        return Err(ApiError::bad_request("say which dialect: \"to\", \"provider\" or \"model\" is missing"));
    }
    let dialect = gateway
        .dialects()
        .choose(name, model, &compat(parameters))
        .map_err(|error| unknown_dialect(gateway, &error))?;
    Translator::with(gateway.dialects(), dialect, translation_options(parameters)?)
        .map_err(|error| unknown_dialect(gateway, &error))
}

/// Says so where no rule knows the model.
fn warn(gateway: &Gateway, parameters: &Parameters, answer: &mut Value) {
    if let Some(warning) = parameters.get("model").and_then(|model| unknown_model(gateway, model)) {
        answer["warnings"] = json!([warning]);
    }
}

/// Transforms the schema of the body: `{"schema": {…}, "to" or "provider" or "model", options…}`.
pub(crate) async fn transform(State(gateway): State<Gateway>, uri: Uri, body: Bytes) -> Response {
    let work = tokio::task::spawn_blocking(move || transformed(&gateway, uri.query(), &body));
    match work.await {
        Ok(Ok(body)) => json_response(StatusCode::OK, body.to_string()),
        Ok(Err(error)) => error.into_response(),
        Err(_) => broken().into_response(),
    }
}

fn transformed(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Value, ApiError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
    let Value::Object(mut body) = body else {
        return Err(ApiError::bad_request("the body must be an object with \"schema\""));
    };
    let schema = match body.remove("schema") {
        Some(schema @ Value::Object(_)) => schema,
        Some(_) => return Err(ApiError::bad_request("\"schema\" must be an object: a JSON Schema")),
        None => return Err(ApiError::bad_request("\"schema\" is missing: a JSON Schema, as an object")),
    };
    let mut parameters = Parameters::of_object(&body);
    parameters.extend(&Parameters::of_query(query));
    let translator = translator(gateway, &parameters)?;
    let tool = json!({"name": "schema", "inputSchema": schema});
    let translated = translator.translate_one(&tool);
    gateway.metrics().conversions(1, usize::from(translated.quarantine.is_some()));
    if let Some(reason) = &translated.quarantine {
        return Err(ApiError::bad_request(format!("the schema cannot be transformed: {reason}")));
    }
    let mut answer = json!({
        "dialect": translator.dialect().name,
        "schema": translated.schema(translator.dialect()),
        "strict": translated.strict,
        "tokens": {"before": translated.tokens.before, "after": translated.tokens.after},
        "changes": translated.changes,
    });
    warn(gateway, &parameters, &mut answer);
    Ok(answer)
}

/// Lints the tools of the body for the dialects in `to`, all of them where none is named.
pub(crate) async fn check(State(gateway): State<Gateway>, uri: Uri, body: Bytes) -> Response {
    let work = tokio::task::spawn_blocking(move || checked(&gateway, uri.query(), &body));
    match work.await {
        Ok(Ok(body)) => json_response(StatusCode::OK, body),
        Ok(Err(error)) => error.into_response(),
        Err(_) => broken().into_response(),
    }
}

fn checked(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let (body, tools) = read(body)?;
    let mut parameters = Parameters::of_object(&body);
    parameters.extend(&Parameters::of_query(query));
    let options = translation_options(&parameters)?;
    let wanted = parameters.all("to");
    let dialects = gateway.dialects();
    let names: Vec<String> = if wanted.is_empty() || wanted.iter().any(|name| name == "all") {
        let provider = |name: &&str| {
            dialects.get(name).is_ok_and(|dialect| !dialect.layer && dialect.tool.shape != ToolShape::Mcp)
        };
        dialects.names().filter(provider).map(str::to_owned).collect()
    } else {
        wanted
    };
    let translators = names
        .iter()
        .map(|name| Translator::new(dialects, name, options.clone()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unknown_dialect(gateway, &error))?;
    let report = gateway_dialects::check::check("the request", &tools, &translators);
    serde_json::to_vec(&report).map_err(|error| {
        ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            crate::errors::code::UNKNOWN,
            format!("writing the report: {error}"),
        )
    })
}

/// The tools of a body: a list, `{"tools": […]}`, or a reply to `tools/list`.
fn read(body: &Bytes) -> Result<(Map<String, Value>, Vec<Value>), ApiError> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
    match value {
        Value::Array(tools) => Ok((Map::new(), tools)),
        Value::Object(mut members) => {
            let reply = members.get_mut("result").and_then(|result| result.get_mut("tools")).map(Value::take);
            let tools = members.remove("tools").or(reply);
            match tools {
                Some(Value::Array(tools)) => Ok((members, tools)),
                _ => Err(ApiError::bad_request("Missing or invalid \"tools\" field")),
            }
        }
        _ => Err(ApiError::bad_request("the body must be a list of tools or an object with \"tools\"")),
    }
}

fn broken() -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        crate::errors::code::UNKNOWN,
        "the translation broke off",
    )
}
