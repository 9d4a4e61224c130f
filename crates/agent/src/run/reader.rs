//! The tool that reads long results in pieces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_dialects::arguments::BadArguments;
use gateway_dialects::calls::ToolCall;
use gateway_dialects::calls::text::OfferedTools;
use gateway_dialects::{Dialect, Dialects, Options, Translator};
use gateway_protocol::RawJson;
use gateway_runtime::failure::{code, error_result};
use serde_json::{Map, Value, json};

use super::shown::{Keeper, READ_RESULT};
use crate::toolbox::ToolOutcome;

/// Bytes of a piece if the model does not say.
const USUAL: u64 = 8 << 10;

/// The longest piece.
const LONGEST: u64 = 32 << 10;

/// The definition of the tool in a dialect, as JSON.
pub(super) fn definition(dialect: &Arc<Dialect>) -> Option<String> {
    let tool = json!({
        "name": READ_RESULT,
        "description": "Read a piece of a long tool result that was cut. The result says under which id it is kept.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id of the result"},
                "offset": {"type": "integer", "minimum": 0, "description": "The byte to start from; 0 if absent"},
                "length": {"type": "integer", "minimum": 1, "maximum": LONGEST, "description": "How many bytes to read; 8192 if absent"},
            },
            "required": ["id"],
            "additionalProperties": false,
        },
    });
    let translator = Translator::with(&Dialects::builtin(), Arc::clone(dialect), Options::default()).ok()?;
    let translated = translator.translate_one(&tool);
    serde_json::to_string(translated.definition.as_ref()?).ok()
}

/// The tools that were offered, and this one.
#[derive(Debug)]
pub(super) struct WithReader(pub(super) Arc<dyn OfferedTools>);

impl OfferedTools for WithReader {
    fn is_offered(&self, name: &str) -> bool {
        name == READ_RESULT || self.0.is_offered(name)
    }

    fn schema(&self, name: &str) -> Value {
        self.0.schema(name)
    }

    fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        match arguments.get("id") {
            _ if name != READ_RESULT => self.0.check(name, arguments),
            Some(Value::String(_)) => Ok(()),
            Some(_) | None => Err(NO_ID.to_owned()),
        }
    }

    fn server(&self, name: &str) -> Option<String> {
        self.0.server(name)
    }
}

/// What is wrong with a call that names no result.
const NO_ID: &str = "The arguments do not fit: `id` must be the id of a result.";

/// Answers a call of the tool.
pub(super) async fn read_piece(keeper: &Keeper, call: &ToolCall) -> ToolOutcome {
    let begun = Instant::now();
    let outcome = |result: RawJson, code: Option<&'static str>, is_bad: bool, duration: Duration| {
        ToolOutcome { result, code, is_bad, ran_on: None, notes: Vec::new(), duration }
    };
    let arguments = match call.arguments_object("", BadArguments::Repair) {
        Ok(parsed) => Value::Object(parsed.object),
        Err(error) => {
            return outcome(
                error_result(&error.to_string()),
                Some(code::VALIDATION_ERROR),
                true,
                begun.elapsed(),
            );
        }
    };
    let Some(id) = arguments["id"].as_str() else {
        return outcome(error_result(NO_ID), Some(code::VALIDATION_ERROR), true, begun.elapsed());
    };
    let number = |name: &str| arguments[name].as_u64().or_else(|| arguments[name].as_str()?.parse().ok());
    let length = number("length").unwrap_or(USUAL).clamp(1, LONGEST);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let offset = number("offset").unwrap_or(0);
    match keeper.results.read(keeper.owner.as_deref(), id, offset, length).await {
        Ok(piece) => {
            let end = match piece.next {
                Some(next) => format!(
                    "[Bytes {} to {next} of {}; the next piece has offset {next}.]",
                    piece.offset, piece.total
                ),
                None => format!("[Bytes {} to {}; this is the end.]", piece.offset, piece.total),
            };
            let content =
                json!({"content": [{"type": "text", "text": piece.text}, {"type": "text", "text": end}]});
            let result = RawJson::of(&content).unwrap_or_else(|_| RawJson::empty_object());
            outcome(result, None, false, begun.elapsed())
        }
        Err(error) => {
            outcome(error_result(&error.to_string()), Some(code::RESOURCE_NOT_FOUND), true, begun.elapsed())
        }
    }
}
