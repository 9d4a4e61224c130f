//! `ask_followup_question`: a question for the user, by elicitation.
//!
//! As in the modern era, the first call is answered with what is asked for, and the second one brings the answer. Nothing is
//! kept between them: the question stands in the arguments of both.

use gateway_protocol::{RawJson, RawObject, RpcError, code, meta, method};
use serde_json::{Map, Value, json};

use super::as_result;
use crate::arguments::Arguments;
use crate::server::object_schema;

pub(super) const NAME: &str = "ask_followup_question";

/// The longest question, in bytes.
const QUESTION: usize = 10_000;
/// How many answers may be suggested.
const SUGGESTIONS: usize = 20;
/// The name of the question in `inputRequests` and of its answer in `inputResponses`.
const KEY: &str = "answer";

pub(super) fn definition() -> Value {
    let schema = object_schema(
        &[
            ("question", json!({"type": "string", "description": "The question"})),
            (
                "follow_up",
                json!({
                    "type": ["array", "string"],
                    "items": {"type": "string"},
                    "description": "Answers that the user can choose from; another answer stays possible",
                }),
            ),
        ],
        &["follow_up"],
    );
    json!({
        "name": NAME,
        "title": "Ask the user",
        "description": "Ask the user a question, for something that is needed and cannot be found out otherwise.",
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false
        },
    })
}

/// Asks, or gives the answer that the call brought.
pub(super) fn ask(arguments: Arguments<'_>, params: Option<&RawJson>) -> Result<Value, RpcError> {
    let (question, suggestions) = match read(arguments) {
        Ok(read) => read,
        Err(text) => return Ok(as_result(Err(text))),
    };
    let caller = Caller::read(params)?;
    if let Some(response) = caller.response {
        return Ok(as_result(answer(&response)));
    }
    if !caller.can_be_asked {
        let text = "nobody can be asked: the caller's side does not offer elicitation. \
                    Go on with a sensible assumption and say so, or end with the question";
        return Ok(as_result(Err(text.to_owned())));
    }
    let request = json!({
        "method": method::ELICIT,
        "params": {"mode": "form", "message": question, "requestedSchema": form(&suggestions)},
    });
    Ok(json!({"resultType": "input_required", "inputRequests": {KEY: request}}))
}

fn read(arguments: Arguments<'_>) -> Result<(String, Vec<String>), String> {
    arguments.only(&["question", "follow_up"])?;
    let question = arguments.text("question")?.trim();
    if question.is_empty() || question.len() > QUESTION {
        return Err(format!("argument `question` must have 1 to {QUESTION} bytes"));
    }
    let suggestions = match arguments.get("follow_up") {
        None => Vec::new(),
        Some(Value::String(text)) => suggestions(text),
        Some(Value::Array(list)) => {
            let texts: Option<Vec<String>> =
                list.iter().map(|entry| entry.as_str().map(str::to_owned)).collect();
            texts.ok_or("argument `follow_up` must be a list of strings")?
        }
        Some(_) => return Err("argument `follow_up` must be a list of strings".to_owned()),
    };
    let mut kept: Vec<String> = Vec::new();
    for text in suggestions.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        if text.len() > QUESTION {
            return Err(format!("argument `follow_up` has a suggestion of more than {QUESTION} bytes"));
        }
        if !kept.iter().any(|known| known == text) {
            kept.push(text.to_owned());
        }
    }
    if kept.len() > SUGGESTIONS {
        return Err(format!(
            "argument `follow_up` must have at most {SUGGESTIONS} suggestions, not {}",
            kept.len()
        ));
    }
    Ok((question.to_owned(), kept))
}

/// Suggestions in one text: JSON, elements `<suggest>`, or one suggestion alone.
fn suggestions(text: &str) -> Vec<String> {
    if let Ok(list) = serde_json::from_str::<Vec<String>>(text) {
        return list;
    }
    let elements: Vec<String> = text
        .split("<suggest>")
        .skip(1)
        .filter_map(|part| part.split_once("</suggest>").map(|(inner, _)| inner.to_owned()))
        .collect();
    if elements.is_empty() { vec![text.to_owned()] } else { elements }
}

/// The form: a text, or a choice with room for another answer.
fn form(suggestions: &[String]) -> Value {
    if suggestions.is_empty() {
        return object_schema(&[("answer", json!({"type": "string", "title": "Answer"}))], &[]);
    }
    let members = [
        ("suggestion", json!({"type": "string", "title": "Suggested answers", "enum": suggestions})),
        ("answer", json!({"type": "string", "title": "Another answer"})),
    ];
    object_schema(&members, &["suggestion", "answer"])
}

/// What the user said.
fn answer(response: &Map<String, Value>) -> Result<String, String> {
    match response.get("action").and_then(Value::as_str) {
        Some("accept") => {
            let content = response.get("content").and_then(Value::as_object);
            let filled = |name: &str| {
                let text = content?.get(name)?.as_str()?.trim();
                (!text.is_empty()).then(|| text.to_owned())
            };
            Ok(filled("answer")
                .or_else(|| filled("suggestion"))
                .unwrap_or_else(|| "(No response)".to_owned()))
        }
        Some("decline") => Err("the user does not want to answer the question".to_owned()),
        Some("cancel") => Err("the user left the question without an answer".to_owned()),
        _ => Err("the answer has no `action` that is known".to_owned()),
    }
}

/// What a request says about its caller.
struct Caller {
    can_be_asked: bool,
    response: Option<Map<String, Value>>,
}

impl Caller {
    fn read(params: Option<&RawJson>) -> Result<Self, RpcError> {
        let invalid = |text: &str| RpcError::new(code::INVALID_PARAMS, text);
        let Some(params) = params else { return Ok(Self { can_be_asked: false, response: None }) };
        let members = RawObject::parse(params).map_err(|error| invalid(&error.to_string()))?;
        let parsed =
            |name: &str| members.get(name).and_then(|value| serde_json::from_str::<Value>(value.get()).ok());
        let meta = parsed("_meta").unwrap_or_default();
        let can_be_asked = match meta.get(meta::CLIENT_CAPABILITIES).and_then(|can| can.get("elicitation")) {
            // An empty object is from before there was anything but forms.
            Some(Value::Object(modes)) => modes.is_empty() || modes.contains_key("form"),
            _ => false,
        };
        let response = match parsed("inputResponses") {
            None | Some(Value::Null) => None,
            Some(Value::Object(mut responses)) => match responses.remove(KEY) {
                None => None,
                Some(Value::Object(response)) => Some(response),
                Some(_) => return Err(invalid("`inputResponses` must be an object of objects")),
            },
            Some(_) => return Err(invalid("`inputResponses` must be an object of objects")),
        };
        Ok(Self { can_be_asked, response })
    }
}
