//! `POST /convert`, `POST /transform` and `POST /check`: tools in the body, nothing remembered.

use axum_core::response::Response;
use bytes::Bytes;
use gateway_dialects::check::{Limits, check_within};
use gateway_dialects::dialect::ToolShape;
use gateway_dialects::{Changes, TooMuchWork, Translator, Work};
use http::{StatusCode, Uri};
use serde_json::{Map, Value, json};

use crate::errors::{ApiError, code, json_response};
use crate::gateway::Gateway;
use gateway_runtime::parameters::{Parameters, compat, translation_options};

/// Work that one request may take, and what it may take for each byte of its body.
const WORK: usize = 32 << 20;
const WORK_PER_BYTE: usize = 64;

/// Roughly the most bytes of changes that an answer lists, and as many of findings.
const LISTED: usize = 4 << 20;

/// Work on the query and the body of a request, which gives the body of the answer.
type HeavyWork = fn(&Gateway, Option<&str>, &Bytes) -> Result<Vec<u8>, ApiError>;

/// Does work that takes long on a thread of its own, when it is its turn.
pub(super) async fn heavy(
    gateway: Gateway,
    uri: Uri,
    body: Bytes,
    work: HeavyWork,
) -> Result<Response, ApiError> {
    let turn = gateway.state.turns.take(body.len()).await?;
    // The work cannot be broken off, so that it keeps its turn if its caller leaves.
    let own = gateway.clone();
    let outcome = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work(&own, uri.query(), &body)
    });
    Ok(json_response(StatusCode::OK, outcome.await.map_err(|_| broken())??))
}

/// The work that a body of so many bytes may take.
pub(super) fn work_for(body: &Bytes) -> Work {
    Work::at_most(body.len().saturating_mul(WORK_PER_BYTE).saturating_add(WORK))
}

pub(super) fn too_much(_: TooMuchWork) -> ApiError {
    let message = "these tools take more work than one request may take: send fewer tools, name fewer dialects in \"to\", or use \
                   the command line, which has no such bound";
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, code::BODY_TOO_LARGE, message)
}

pub(super) fn written(answer: &impl serde::Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(answer).map_err(|error| {
        let message = format!("writing the answer: {error}");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, message)
    })
}

/// Changes as far as there is room for them, and how many there is none for.
struct Listed {
    left: usize,
    omitted: usize,
}

impl Listed {
    fn new() -> Self {
        Self { left: LISTED, omitted: 0 }
    }

    fn changes(&mut self, changes: &Changes<'_>) -> Vec<Value> {
        let mut listed = Vec::new();
        for change in changes.iter() {
            match self.left.checked_sub(change.report_bytes()).filter(|_| self.omitted == 0) {
                Some(left) => {
                    self.left = left;
                    listed.push(json!(change));
                }
                None => self.omitted += 1,
            }
        }
        listed
    }

    /// Says in the answer what it does not list.
    fn note(&self, answer: &mut Value) {
        if self.omitted > 0 {
            answer["truncated"] = json!({"changes": self.omitted});
        }
    }
}

/// Translates the tools of the body: `{"to" or "provider" or "model", "tools": […], options…}`.
pub(super) fn convert(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let mut work = work_for(body);
    let (body, tools) = read(body)?;
    let parameters = parameters(body, query);
    let translator = translator(gateway, &parameters)?;
    let translation = translator.translate_within(&tools, &mut work).map_err(too_much)?;
    let mut listed = Listed::new();
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
                "changes": listed.changes(&tool.changes),
            })
        })
        .collect();
    let quarantined = translation.tools.iter().filter(|tool| tool.quarantine.is_some()).count();
    gateway.call_metrics().conversions(translation.tools.len(), quarantined);
    let mut answer = json!({
        "dialect": translator.dialect().name,
        translator.dialect().tool.document.as_str(): translation.request_field().to_value(),
        "report": rows,
    });
    listed.note(&mut answer);
    warn(gateway, &parameters, &mut answer);
    written(&answer)
}

/// What a body and a query say; the query stands above the body.
fn parameters(body: Map<String, Value>, query: Option<&str>) -> Parameters {
    let mut parameters = Parameters::of_object(body);
    parameters.extend(Parameters::of_query(query));
    parameters
}

/// The translator that a body asks for.
fn translator(gateway: &Gateway, parameters: &Parameters) -> Result<Translator, ApiError> {
    let name = ["to", "provider", "profile"].iter().find_map(|key| parameters.get(key));
    let model = parameters.get("model");
    if name.is_none() && model.is_none() {
        return Err(ApiError::bad_request("say which dialect: \"to\", \"provider\" or \"model\" is missing"));
    }
    let dialect = gateway
        .ready_dialects()
        .choose(name, model, &compat(parameters))
        .map_err(|error| gateway.lists().unknown_dialect(&error))?;
    Ok(gateway.lists().translator(dialect, translation_options(parameters)?)?)
}

/// Says so where no rule knows the model.
fn warn(gateway: &Gateway, parameters: &Parameters, answer: &mut Value) {
    if let Some(warning) = parameters.get("model").and_then(|model| gateway.lists().unknown_model(model)) {
        answer["warnings"] = json!([warning]);
    }
}

/// Transforms the schema of the body: `{"schema": {…}, "to" or "provider" or "model", options…}`.
pub(super) fn transform(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let mut work = work_for(body);
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
    let parameters = parameters(body, query);
    let translator = translator(gateway, &parameters)?;
    let tools = [json!({"name": "schema", "inputSchema": schema})];
    let translation = translator.translate_within(&tools, &mut work).map_err(too_much)?;
    let translated = translation.tools.first().ok_or_else(broken)?;
    gateway.call_metrics().conversions(1, usize::from(translated.quarantine.is_some()));
    if let Some(reason) = &translated.quarantine {
        return Err(ApiError::bad_request(format!("the schema cannot be transformed: {reason}")));
    }
    let mut listed = Listed::new();
    let mut answer = json!({
        "dialect": translator.dialect().name,
        "schema": translated.schema(translator.dialect()),
        "strict": translated.strict,
        "tokens": {"before": translated.tokens.before, "after": translated.tokens.after},
        "changes": listed.changes(&translated.changes),
    });
    listed.note(&mut answer);
    warn(gateway, &parameters, &mut answer);
    written(&answer)
}

/// Lints the tools of the body for the dialects in `to`, all of them where none is named.
pub(super) fn check(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let work = work_for(body);
    let (body, tools) = read(body)?;
    let parameters = parameters(body, query);
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
        .map_err(|error| gateway.lists().unknown_dialect(&error))?;
    let limits = Limits { work, bytes: LISTED };
    written(&check_within("the request", &tools, &translators, limits).map_err(too_much)?)
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
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, "the translation broke off")
}
