//! Tools and resources of the configuration file itself, and the settings of the registry that holds them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::command::{CommandHandler, CommandInput};
use crate::definition::{DefinitionError, SCHEMA_SYNONYMS, declared_schema, tool_definition};
use crate::endpoint::{ANSWER_BYTES, EndpointHandler, Trust};
use crate::fields::{ANY_SIZE, Fields, Item, Setting as _, describe};
use crate::program::Surroundings;
use crate::resource::ResourceSpec;
use crate::server::check_headers;
use crate::tool::{LONGEST_TOOL_TIMEOUT, RegistryConfig, TOOL_TIMEOUT, ToolHandler, ToolSpec};

/// Reads the block `registry`.
pub(crate) fn read_settings(config: &mut RegistryConfig, at: &mut Fields<'_>) {
    let mut name: Option<String> = None;
    at.set("name", "The server that registered tools are offered as.", &mut name);
    config.name = name.unwrap_or_else(|| config.name.clone());
    at.count("maxTools", "Most registered tools.", 1..=100_000, &mut config.max_tools);
    let about = "Most bytes of one definition.";
    at.bytes("maxDefinitionBytes", about, ANY_SIZE, &mut config.max_definition_bytes);
    let about = "Whether endpoints that are registered over HTTP may be private addresses.";
    at.set("allowPrivate", about, &mut config.allow_private);
}

/// Reads one entry of `tools`. `None` if it is wrong, after reporting why.
pub(crate) fn read_tool(name: &str, at: &mut Fields<'_>) -> Option<ToolSpec> {
    at.ignore(&["$schema", "comment", "_comment"]);
    let (text, object) = (String::schema, || json!({"type": "object"}));
    at.item("title", "Its name for people.", text);
    at.item("description", "What it does, for the model.", text);
    at.item("inputSchema", "The JSON Schema of its arguments; any object if absent.", object);
    for synonym in SCHEMA_SYNONYMS {
        at.item(synonym, "The same as `inputSchema`.", object);
    }
    at.item("outputSchema", "The JSON Schema of its structured content.", object);
    at.item("annotations", "Hints such as `readOnlyHint`.", object);
    at.item("icons", "Pictures for people.", || json!({"type": "array"}));
    at.item("_meta", "Passed on as it is.", object);
    let mut timeout = TOOL_TIMEOUT;
    at.set("timeout", "How long a call may take; an hour at most.", &mut timeout);
    if timeout > LONGEST_TOOL_TIMEOUT {
        at.error("timeout", "must be an hour at most");
    }
    let about = "What does the work: an HTTP endpoint or a command.";
    let declared = declared_schema(at.members).and_then(|schema| schema.get("properties"));
    let mut handler = None;
    at.object("handler", about, |at| handler = read_handler(name, declared, at));
    if !at.has("handler") {
        at.error("", &format!("Tool \"{name}\": needs a \"handler\" with \"url\" or \"command\""));
    }
    // Also without a handler, so that all errors are reported.
    match tool_definition(name, at.members) {
        Ok(definition) => Some(ToolSpec { name: name.to_owned(), definition, handler: handler?, timeout }),
        Err(DefinitionError::Field { field, message }) => {
            at.error(&field, &message);
            None
        }
        Err(other @ DefinitionError::Name { .. }) => {
            at.error("", &format!("Tool \"{name}\": {other}"));
            None
        }
    }
}

/// The schema of one entry of `tools`.
pub(crate) fn tool_schema() -> Value {
    let mut schema = describe(|at| read_tool("", at));
    schema["required"] = json!(["handler"]);
    schema["properties"]["handler"]["anyOf"] = json!([{"required": ["url"]}, {"required": ["command"]}]);
    schema
}

/// Reads the list `resources`.
pub(crate) fn read_resources(item: &Item<'_>, most_bytes: usize) -> Vec<ResourceSpec> {
    let mut found: Vec<ResourceSpec> = Vec::new();
    let Some(entries) = item.value.as_array() else {
        item.error("must be a list of resources");
        return found;
    };
    for (index, entry) in entries.iter().enumerate() {
        let entry = item.inner(&index.to_string(), entry);
        let Some(members) = entry.object() else { continue };
        match ResourceSpec::read(members) {
            Ok(resource) if found.iter().any(|known| known.definition.uri == resource.definition.uri) => {
                entry.error(&format!("`{}` stands here twice", resource.definition.uri));
            }
            Ok(resource) if resource.bytes() > most_bytes => {
                let text =
                    format!("has more than {most_bytes} bytes; \"registry.maxDefinitionBytes\" allows more");
                entry.error(&text);
            }
            Ok(resource) => found.push(resource),
            Err(DefinitionError::Field { field, message }) => {
                entry.inner(&field, entry.value).error(&format!("`{field}` {message}"));
            }
            Err(other @ DefinitionError::Name { .. }) => entry.error(&other.to_string()),
        }
    }
    found
}

/// The schema of the list `resources`.
pub(crate) fn resources_schema() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let properties = json!({
        "uri": text("Its URI."),
        "uriTemplate": text("Instead of `uri`, for many resources; `{x}` is one segment of a path."),
        "name": text("Its name."),
        "title": text("Its name for people."),
        "description": text("What it is, for the model."),
        "mimeType": text("Its media type."),
        "text": text("What it holds; `{x}` is put in."),
        "blob": text("What it holds, as base64."),
    });
    json!({"type": "array", "items": {"type": "object", "properties": properties, "required": ["name"]}})
}

fn read_handler(name: &str, declared: Option<&Value>, at: &mut Fields<'_>) -> Option<ToolHandler> {
    let (has_url, has_command) = (at.has("url"), at.has("command"));
    let mut url: Option<String> = None;
    let about = "The address that takes `{\"tool\", \"arguments\"}` by POST and gives the result.";
    at.set("url", about, &mut url);
    let mut headers = BTreeMap::new();
    at.read_or_warn(has_url || !has_command, |at| {
        at.text_map("headers", "Headers of every request.", &mut headers);
    });
    let mut command: Option<String> = None;
    at.set("command", "The program to start for each call. No shell is involved.", &mut command);
    let mut surroundings = Surroundings::default();
    let (args, input) = at.read_or_warn(has_command || !has_url, |at| {
        let about = "Its arguments, with `{parameter}` for a value; a list inside the list is left out \
                     as a whole if a value is missing.";
        let args = at.item("args", about, || json!({"type": "array"}));
        surroundings.read(at);
        let about = "What it reads: nothing, or the arguments as JSON. JSON if `args` names no parameter.";
        let input = at.item("stdin", about, CommandInput::schema);
        (args, input.and_then(|item| item.read::<CommandInput>()))
    });
    let mut max_bytes = ANSWER_BYTES;
    at.bytes("maxBytes", "Most bytes of an answer or of an output.", ANY_SIZE, &mut max_bytes);
    match (has_url, has_command) {
        (true, true) => at.error("command", "has \"url\" beside it; keep one of them"),
        (false, false) => {
            at.error("", &format!("Tool \"{name}\": the handler needs \"url\" or \"command\""));
        }
        (true, false) => {
            check_headers(at, &headers);
            match EndpointHandler::trusted(&url.unwrap_or_default(), &headers, Trust::Operator) {
                Ok(mut handler) => {
                    handler.max_bytes = max_bytes;
                    return Some(ToolHandler::Endpoint(handler));
                }
                Err(wrong) => at.error(wrong.member, &wrong.message),
            }
        }
        (false, true) => {
            let command = at.context.source.environment.program(command?);
            let env = surroundings.variables(&format!("Tool \"{name}\""), at);
            let groups = args.map_or(Some(Vec::new()), |args| groups(&args))?;
            if command.contains(['{', '}']) {
                at.error("command", "must be the program itself; values go into \"args\"");
                return None;
            }
            match CommandHandler::new(&command, &groups) {
                Ok(mut handler) => {
                    (handler.env, handler.cwd, handler.max_bytes) = (env, surroundings.cwd, max_bytes);
                    handler.stdin = input.unwrap_or(handler.stdin);
                    check_placeholders(declared, at, &handler);
                    return Some(ToolHandler::Command(handler));
                }
                Err(message) => at.error("args", &message),
            }
        }
    }
    None
}

/// The arguments; those in a list inside the list are one group.
fn groups(args: &Item<'_>) -> Option<Vec<Vec<String>>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let group = |value: &Value| match value {
        Value::Array(items) => items.iter().map(text).collect(),
        single => Some(vec![text(single)?]),
    };
    let groups = args.value.as_array().and_then(|args| args.iter().map(group).collect());
    groups.or_else(|| args.expected("a list of texts, or of lists of texts that belong together"))
}

/// Every placeholder has to be a parameter, or it would never have a value.
fn check_placeholders(declared: Option<&Value>, at: &Fields<'_>, command: &CommandHandler) {
    if let Some(interpreter) = command.interpreter() {
        let text = format!(
            "`{interpreter}` may run what stands in its arguments as code, so that whoever calls could run anything; \
             with \"stdin\": \"json\" and no placeholders the values are data"
        );
        at.warn("args", &text);
    }
    for name in command.placeholders() {
        if declared.and_then(|declared| declared.get(name)).is_none() {
            at.error("args", &format!("`{{{name}}}` is no property of \"inputSchema\"; `{{{{` is a brace"));
        }
    }
}
