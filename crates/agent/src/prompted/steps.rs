//! What the two steps ask for, and how their answers are read.

use gateway_dialects::arguments::{Arguments, BadArguments, Parsed, Repair, parse_arguments};
use serde_json::{Map, Value, json};

use super::tools::Tools;

/// The question of the first step.
pub(super) const WHICH: &str = "Which tool is needed next for this request? If no tool fits, or the results already say everything that was asked for, \
     set noToolAvailable to true. Answer with JSON only: \
     {\"serverName\": \"…\", \"toolName\": \"…\", \"noToolAvailable\": false, \"reasoning\": \"one short sentence\"}";

/// The question before the answer in words.
pub(super) const ANSWER: &str = "Now answer the request in plain words, from these results. Write no JSON.";

/// The question of the second step.
pub(super) fn with_what(tools: &Tools, name: &str) -> String {
    let (description, schema) = (tools.description(name), tools.schema(name));
    format!(
        "The tool `{name}` is run next. {description}\nWrite its arguments for this request. Their JSON Schema: {schema}\n\
         Answer with JSON only: {{\"toolArguments\": {{…}}}}"
    )
}

/// What is said after an answer that cannot be used.
pub(super) fn feedback(problem: &str) -> String {
    format!("This cannot be used: {problem}\nAnswer again, with JSON only.")
}

/// What the first step found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// This tool.
    Tool { name: String, reasoning: String },
    /// None is needed, or none fits.
    None,
}

/// The schema of the first step's answer. What decides comes first, so that an answer that is cut off still says it.
pub(super) fn choice_schema(tools: &Tools) -> Value {
    // Neither has a value where no tool is needed.
    let one_of = |names: &mut dyn Iterator<Item = &str>| {
        let mut names: Vec<&str> = names.collect();
        names.push("");
        json!({"type": "string", "enum": names})
    };
    json!({
        "type": "object",
        "properties": {
            "serverName": one_of(&mut tools.servers()),
            "toolName": one_of(&mut tools.names()),
            "noToolAvailable": {"type": "boolean"},
            "reasoning": {"type": "string"},
        },
        "required": ["serverName", "toolName", "noToolAvailable", "reasoning"],
        "additionalProperties": false,
    })
}

/// Reads the answer of the first step. The error says to the model what is wrong.
///
/// The names of tools are unique over all servers, so the tool's name decides; but a server that is not connected is none of its.
pub(super) fn read_choice(text: &str, tools: &Tools, must_call: bool) -> Result<Chosen, String> {
    let Parsed { object, .. } = read_object(text)?;
    let word = |key: &str| object.get(key).and_then(Value::as_str).map(str::trim).unwrap_or_default();
    let name = word("toolName");
    let is_none = object.get("noToolAvailable") == Some(&Value::Bool(true));
    if (is_none || name.is_empty()) && !must_call {
        if !is_none && !object.contains_key("toolName") {
            return Err("`toolName` is missing.".to_owned());
        }
        return Ok(Chosen::None);
    }
    tools.find_server(word("serverName"))?;
    tools.find(name)?;
    Ok(Chosen::Tool { name: name.to_owned(), reasoning: word("reasoning").to_owned() })
}

/// The schema of the second step's answer.
pub(super) fn arguments_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let mut whole = json!({
        "type": "object",
        "properties": {},
        "required": ["toolArguments"],
        "additionalProperties": false,
    });
    if let Some(members) = schema.as_object_mut() {
        // References lead to them from the root of the document.
        for definitions in ["$defs", "definitions"] {
            if let Some(held) = members.remove(definitions) {
                whole[definitions] = held;
            }
        }
    }
    whole["properties"]["toolArguments"] =
        if schema.is_object() { schema } else { json!({"type": "object"}) };
    whole
}

/// Reads the answer of the second step. The error says to the model what is wrong.
pub(super) fn read_arguments(text: &str, tools: &Tools, name: &str) -> Result<Map<String, Value>, String> {
    let Parsed { mut object, repairs, .. } = read_object(text)?;
    // What is cut off may mean something else.
    if repairs.contains(&Repair::TruncatedTail) {
        return Err("the JSON is cut off.".to_owned());
    }
    let arguments = match object.remove("toolArguments") {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) => read_object(&text)?.object,
        Some(_) => return Err("`toolArguments` must be an object.".to_owned()),
        // Small models leave the wrapping out.
        None => object,
    };
    tools.check(name, &arguments)?;
    Ok(arguments)
}

/// The object in a text, with fences, prose and small faults around and in it.
fn read_object(text: &str) -> Result<Parsed, String> {
    if text.trim().is_empty() {
        return Err("the answer is empty.".to_owned());
    }
    let parsed = parse_arguments(&Arguments::Text(text.to_owned()), BadArguments::Repair);
    parsed.map_err(|_| "it is no JSON object.".to_owned())
}
