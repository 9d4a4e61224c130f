//! `POST /history`: a conversation of one dialect, written as one of another.

use bytes::Bytes;
use gateway_dialects::history::{Conversation, HistoryOptions, TransferMode, TranslatedTools, transfer};
use gateway_dialects::{Dialect, Options, Work};
use serde_json::{Map, Value, json};

use super::members;
use super::stateless::{too_much, work_for, written};
use crate::errors::ApiError;
use crate::gateway::Gateway;
use crate::openapi::Action;
use gateway_runtime::parameters::Parameters;

/// Answers `{"from", "to", "messages", "system"?, "tools"?, "mode"?}` with `{"messages", "system"?, "warnings"}`.
pub(super) fn history(gateway: &Gateway, _: Option<&str>, body: &Bytes) -> Result<Vec<u8>, ApiError> {
    let mut work = work_for(body);
    let mut body: Map<String, Value> = match gateway_dialects::from_slice(body) {
        Ok(Value::Object(body)) => body,
        Ok(_) => return Err(ApiError::bad_request("the body must be an object with \"messages\"")),
        Err(error) => return Err(ApiError::unreadable_body(body, &error)),
    };
    members::check(Action::History, body.keys().map(String::as_str))?;
    let Some(Value::Array(messages)) = body.remove("messages") else {
        return Err(ApiError::bad_request("Missing or invalid \"messages\" field: it must be a list"));
    };
    let tools = match body.remove("tools") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(ApiError::bad_request("\"tools\" must be a list of MCP tools")),
    };
    let system = body.remove("system").filter(|system| !system.is_null());
    let (from, to) = (side(gateway, &body, "from")?, side(gateway, &body, "to")?);
    let parameters = Parameters::of_object(body);
    parameters.check(|_| true)?;
    let mode = parameters.word("mode", &TransferMode::WORDS)?.unwrap_or_default();
    let mut codec = |dialect: &Dialect| codec(gateway, dialect, &tools, &mut work);
    let (from_tools, to_tools) = (codec(&from)?, codec(&to)?);
    let mut options = HistoryOptions::default();
    if let Some(model) = parameters.get("model") {
        options.results = options.results.for_model(model);
    }
    let held = Conversation { system, messages };
    let (moved, warnings) = transfer(&held, (&from, &from_tools), (&to, &to_tools), mode, &options);
    let mut answer = json!({"messages": moved.messages});
    if let Some(system) = moved.system {
        answer["system"] = system;
    }
    let warnings =
        warnings.into_iter().map(|warning| json!({"message": warning.message, "text": warning.text}));
    answer["warnings"] = warnings.collect();
    written(&answer)
}

/// The dialect that stands under `key`.
fn side(gateway: &Gateway, body: &Map<String, Value>, key: &str) -> Result<Dialect, ApiError> {
    let name = body.get(key).and_then(Value::as_str).filter(|name| !name.is_empty()).ok_or_else(|| {
        let message = format!(
            "Missing or invalid \"{key}\" field: it must name a dialect, such as \"openai\" or \"neutral\""
        );
        ApiError::bad_request(message)
    })?;
    Ok(gateway.dialects().get(name).map_err(|error| gateway.lists().unknown_dialect(&error))?)
}

/// Names and arguments as `dialect` has them; as they are where no tools were given.
fn codec(
    gateway: &Gateway,
    dialect: &Dialect,
    tools: &[Value],
    work: &mut Work,
) -> Result<TranslatedTools, ApiError> {
    if tools.is_empty() {
        return Ok(TranslatedTools::default());
    }
    let translator = gateway.lists().translator(dialect.clone(), Options::default())?;
    let translation = translator.translate_within(tools, work).map_err(too_much)?;
    Ok(TranslatedTools::new(&translation))
}
