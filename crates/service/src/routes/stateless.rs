//! `POST /convert`, `POST /transform` and `POST /check`: tools in the body, nothing remembered.

use axum_core::response::Response;
use bytes::Bytes;
use gateway_dialects::check::{Limits, Report, check_within};
use gateway_dialects::dialect::ToolShape;
use gateway_dialects::{
    Changes, DialectError, DocumentError, LoneSchema, TooMuchWork, ToolDocument, Translator, Work,
    estimate_tokens, holds_tools,
};
use http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::members;
use crate::errors::{ApiError, code, json_response};
use crate::gateway::Gateway;
use crate::openapi::{Action, route_of};
use gateway_protocol::RawObject;
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

    /// What the answer does not list.
    fn omitted(&self) -> Option<Value> {
        (self.omitted > 0).then(|| json!({"changes": self.omitted}))
    }
}

/// Translates the tools of the body: `{"to" or "provider" or "model", "tools": […], options…}`.
pub(super) fn convert(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let mut work = work_for(body);
    let ToolDocument { tools, members: beside, .. } = read(body)?;
    let misspelt = members::hint(Action::Convert, beside.keys().map(String::as_str));
    let parameters = parameters(Action::Convert, beside, query)?;
    let translator = translator(gateway, &parameters).map_err(|error| match &misspelt {
        Some(hint) => ApiError { message: format!("{}; {hint}", error.message), ..error },
        None => error,
    })?;
    let translation = translator.translate_within(&tools, &mut work).map_err(too_much)?;
    let mut listed = Listed::new();
    let rows = translation.tools.iter().enumerate();
    let rows: Vec<Value> =
        rows.map(|(index, tool)| tool.report_row(index, listed.changes(&tool.changes).into())).collect();
    let quarantined = translation.tools.iter().filter(|tool| tool.quarantine.is_some()).count();
    gateway.call_metrics().conversions(translation.tools.len(), quarantined);
    let mut answer = json!({
        "dialect": translator.dialect().name,
        translator.dialect().tool.document.as_str(): translation.request_field().to_value(),
        "report": rows,
    });
    if let Some(omitted) = listed.omitted() {
        answer["truncated"] = omitted;
    }
    let warnings = warnings(gateway, &parameters, misspelt);
    if !warnings.is_empty() {
        answer["warnings"] = json!(warnings);
    }
    written(&answer)
}

/// What a body and a query say; the query stands above the body.
fn parameters(action: Action, body: Map<String, Value>, query: Option<&str>) -> Result<Parameters, ApiError> {
    let mut parameters = Parameters::of_object(body);
    // What else a document holds may have any value.
    parameters.check(|name| route_of(action).is_some_and(|route| route.has_member(name)))?;
    parameters.extend(Parameters::of_query(query));
    Ok(parameters)
}

/// The translator that a body asks for.
fn translator(gateway: &Gateway, parameters: &Parameters) -> Result<Translator, ApiError> {
    chosen(gateway, parameters)?.map_err(|error| gateway.lists().unknown_dialect(&error).into())
}

/// The translator that a body asks for, or why there is no such dialect.
fn chosen(gateway: &Gateway, parameters: &Parameters) -> Result<Result<Translator, DialectError>, ApiError> {
    let name = ["to", "provider", "profile"].iter().find_map(|key| parameters.get(key));
    let model = parameters.get("model");
    if name.is_none() && model.is_none() {
        return Err(ApiError::bad_request("say which dialect: \"to\", \"provider\" or \"model\" is missing"));
    }
    match gateway.ready_dialects().choose(name, model, &compat(parameters)) {
        Ok(dialect) => Ok(Ok(gateway.lists().translator(dialect, translation_options(parameters)?)?)),
        Err(error) => Ok(Err(error)),
    }
}

/// What the caller should know: that no rule knows the model, what the options mean, and `note`.
fn warnings(gateway: &Gateway, parameters: &Parameters, note: Option<String>) -> Vec<String> {
    let unknown = parameters.get("model").and_then(|model| gateway.lists().unknown_model(model));
    let options = translation_options(parameters).ok();
    let of_options = options.and_then(|options| options.warning()).map(str::to_owned);
    unknown.into_iter().chain(of_options).chain(note).collect()
}

/// The answer of `/transform`.
#[derive(Serialize)]
struct Transformed<'t> {
    dialect: Option<&'t str>,
    schema: &'t RawValue,
    strict: bool,
    tokens: Value,
    changes: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl<'t> Transformed<'t> {
    /// The schema as it came.
    fn unchanged(dialect: Option<&'t str>, schema: &'t RawValue, warnings: Vec<String>) -> Self {
        let tokens = estimate_tokens(schema.get().len());
        Self {
            dialect,
            schema,
            strict: false,
            tokens: json!({"before": tokens, "after": tokens}),
            changes: Vec::new(),
            truncated: None,
            warnings,
        }
    }
}

/// Transforms the schema of the body: `{"schema": …, "to" or "provider" or "model", options…}`. What cannot be transformed
/// comes back as it was, with a warning.
pub(super) fn transform(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let mut work = work_for(body);
    let unreadable = |error| ApiError::bad_request(format!("reading the body as JSON: {error}"));
    let whole: &RawValue = serde_json::from_slice(body).map_err(unreadable)?;
    let mut members: RawObject<'_> = serde_json::from_str(whole.get())
        .map_err(|_| ApiError::bad_request("the body must be an object with \"schema\""))?;
    let Some(raw) = members.remove("schema") else {
        return Err(ApiError::bad_request("\"schema\" is missing: a JSON Schema"));
    };
    if holds_tools(raw.get()) {
        let message = "\"schema\" holds tools, not a schema; POST /convert translates tools";
        return Err(ApiError::bad_request(message));
    }
    let rest = members
        .members()
        .iter()
        .map(|(name, value)| Ok((name.to_string(), gateway_dialects::from_slice(value.get().as_bytes())?)))
        .collect::<Result<Map<String, Value>, _>>()
        .map_err(unreadable)?;
    members::check(Action::Transform, rest.keys().map(String::as_str))?;
    let parameters = parameters(Action::Transform, rest, query)?;
    let translator = match chosen(gateway, &parameters)? {
        Ok(translator) => translator,
        Err(DialectError::UnknownModel { .. }) => {
            let warnings = warnings(gateway, &parameters, None);
            return written(&Transformed::unchanged(None, &raw, warnings));
        }
        Err(error) => return Err(gateway.lists().unknown_dialect(&error).into()),
    };
    let dialect = Some(translator.dialect().name.as_str());
    let schema = match gateway_dialects::from_slice(raw.get().as_bytes()) {
        Ok(schema) => LoneSchema::new(schema),
        // It is JSON, but deeper or with larger numbers than can be read.
        Err(error) => {
            gateway.call_metrics().conversions(1, 1);
            let note = format!("it cannot be transformed, so it comes back unchanged: {error}");
            let warnings = warnings(gateway, &parameters, Some(note));
            return written(&Transformed::unchanged(dialect, &raw, warnings));
        }
    };
    let transformed = translator.transform_within(&schema, &mut work).map_err(too_much)?;
    gateway.call_metrics().conversions(1, usize::from(transformed.is_given_up));
    let warnings = warnings(gateway, &parameters, transformed.note);
    let mut listed = Listed::new();
    let changes = listed.changes(&transformed.changes);
    let lowered = serde_json::value::to_raw_value(&transformed.schema).map_err(|_| broken())?;
    let tokens = transformed.tokens;
    written(&Transformed {
        dialect,
        schema: &lowered,
        strict: transformed.strict,
        tokens: json!({"before": tokens.before, "after": tokens.after}),
        changes,
        truncated: listed.omitted(),
        warnings,
    })
}

/// The answer of `/check`.
#[derive(Serialize)]
struct Checked {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Lints the tools of the body for the dialects in `to`, all of them where none is named.
pub(super) fn check(gateway: &Gateway, query: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let work = work_for(body);
    let ToolDocument { tools, members: beside, .. } = read(body)?;
    let misspelt = members::hint(Action::Check, beside.keys().map(String::as_str));
    let parameters = parameters(Action::Check, beside, query)?;
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
        .map(|name| Translator::new(&dialects, name, options.clone()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| gateway.lists().unknown_dialect(&error))?;
    let limits = Limits { work, bytes: LISTED };
    let report = check_within("the request", &tools, &translators, limits).map_err(too_much)?;
    written(&Checked { report, warnings: warnings(gateway, &parameters, misspelt) })
}

/// The tools of a body: a list, `{"tools": […]}`, a reply to `tools/list`, or one tool.
fn read(body: &Bytes) -> Result<ToolDocument, ApiError> {
    let text = std::str::from_utf8(body)
        .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
    ToolDocument::parse(text).map_err(|error| match error {
        DocumentError::Json(error) => ApiError::bad_request(format!("reading the body as JSON: {error}")),
        error => ApiError::bad_request(format!("Missing or invalid \"tools\" field: {error}")),
    })
}

fn broken() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, "the translation broke off")
}
