//! Tools of the configuration file itself, and the settings of the registry that holds them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::command::{CommandHandler, CommandInput};
use crate::definition::{DefinitionError, tool_definition};
use crate::endpoint::{EndpointHandler, Trust};
use crate::environment::Environment;
use crate::fields::{self, warn_of_unknown};
use crate::reader::Reader;
use crate::resource::ResourceSpec;
use crate::server::{headers, variables};
use crate::tool::{LONGEST_TOOL_TIMEOUT, RegistryConfig, TOOL_TIMEOUT, ToolHandler, ToolSpec};

/// Reads the block `registry`.
pub(crate) fn read_settings(reader: &Reader<'_>, config: &mut RegistryConfig) {
    warn_of_unknown(reader, fields::REGISTRY, &[]);
    let count =
        |name: &str, most: u64| reader.whole(name, 1, most).and_then(|count| usize::try_from(count).ok());
    if let Some(name) = reader.filled_text("name") {
        config.name = name;
    }
    config.max_tools = count("maxTools", 100_000).unwrap_or(config.max_tools);
    config.max_definition_bytes = reader.bytes("maxDefinitionBytes").unwrap_or(config.max_definition_bytes);
    config.allow_private = reader.flag("allowPrivate").unwrap_or(config.allow_private);
}

/// Reads one entry of `tools`. Nothing, if it is wrong; the reason is noted then.
pub(crate) fn read_tool(name: &str, reader: &Reader<'_>, environment: &Environment<'_>) -> Option<ToolSpec> {
    warn_of_unknown(reader, fields::TOOL, &["$schema", "comment", "_comment"]);
    let timeout = reader.duration("timeout");
    if timeout.is_some_and(|timeout| timeout > LONGEST_TOOL_TIMEOUT) {
        reader.error("timeout", "must be an hour at most");
    }
    let Some(inner) = reader.object("handler") else {
        if !reader.has("handler") {
            reader.error("", &format!("Tool \"{name}\": needs a \"handler\" with \"url\" or \"command\""));
        }
        return None;
    };
    let handler = handler(name, &inner, environment);
    if let Some(ToolHandler::Command(command)) = &handler {
        check_placeholders(reader, &inner, command);
    }
    // Also without a handler, so that all errors are reported.
    match tool_definition(name, reader.members) {
        Ok(definition) => {
            let timeout = timeout.unwrap_or(TOOL_TIMEOUT).min(LONGEST_TOOL_TIMEOUT);
            Some(ToolSpec { name: name.to_owned(), definition, handler: handler?, timeout })
        }
        Err(DefinitionError::Field { field, message }) => {
            reader.error(&field, &message);
            None
        }
        Err(other @ DefinitionError::Name { .. }) => {
            reader.error("", &format!("Tool \"{name}\": {other}"));
            None
        }
    }
}

/// Reads the list `resources`.
pub(crate) fn read_resources(top: &Reader<'_>, most_bytes: usize) -> Vec<ResourceSpec> {
    let Some(value) = top.get("resources") else { return Vec::new() };
    let Some(entries) = value.as_array() else {
        top.error("resources", "must be a list of resources");
        return Vec::new();
    };
    let mut found: Vec<ResourceSpec> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let wrong = |field: &str, message: &str| {
            let step = if field.is_empty() { String::new() } else { format!("/{field}") };
            top.notes.error(&format!("/resources/{place}{step}"), message);
        };
        let Value::Object(members) = entry else {
            wrong("", "must be an object");
            continue;
        };
        match ResourceSpec::read(members) {
            Ok(resource) if found.iter().any(|known| known.definition.uri == resource.definition.uri) => {
                wrong("", &format!("`{}` stands here twice", resource.definition.uri));
            }
            Ok(resource) if resource.bytes() > most_bytes => {
                wrong(
                    "",
                    &format!("has more than {most_bytes} bytes; \"registry.maxDefinitionBytes\" allows more"),
                );
            }
            Ok(resource) => found.push(resource),
            Err(DefinitionError::Field { field, message }) => wrong(&field, &format!("`{field}` {message}")),
            Err(other @ DefinitionError::Name { .. }) => wrong("", &other.to_string()),
        }
    }
    found
}

fn handler(name: &str, reader: &Reader<'_>, environment: &Environment<'_>) -> Option<ToolHandler> {
    let (url, command) = (reader.has("url"), reader.has("command"));
    match (url, command) {
        (true, true) => {
            reader.error("command", "has \"url\" beside it; keep one of them");
            None
        }
        (false, false) => {
            reader.error("", &format!("Tool \"{name}\": the handler needs \"url\" or \"command\""));
            None
        }
        (true, false) => endpoint(reader),
        (false, true) => program(name, reader, environment),
    }
}

fn endpoint(reader: &Reader<'_>) -> Option<ToolHandler> {
    warn_of_unknown(reader, fields::ENDPOINT_HANDLER, &[]);
    let headers = headers(reader);
    let url = reader.filled_text("url").unwrap_or_default();
    let handler = EndpointHandler::trusted(&url, &headers, Trust::Operator);
    match handler {
        Ok(handler) => {
            let bytes = reader.bytes("maxBytes");
            Some(ToolHandler::Endpoint(if let Some(bytes) = bytes {
                handler.with_max_bytes(bytes)
            } else {
                handler
            }))
        }
        Err(wrong) => {
            reader.error(wrong.member, &wrong.message);
            None
        }
    }
}

fn program(name: &str, reader: &Reader<'_>, environment: &Environment<'_>) -> Option<ToolHandler> {
    warn_of_unknown(reader, fields::COMMAND_HANDLER, &[]);
    let mut command = reader.filled_text("command")?;
    if command.starts_with("~/") {
        command = environment.path(&command).display().to_string();
    }
    if command.contains(['{', '}']) {
        reader.error("command", "must be the program itself; values go into \"args\"");
        return None;
    }
    let env = variables(&format!("Tool \"{name}\""), reader, environment, BTreeMap::new());
    let cwd = reader.filled_text("cwd").map(|text| environment.path(&text));
    let inputs = [("none", CommandInput::Nothing), ("json", CommandInput::Json)];
    let input = reader.choice("stdin", &inputs);
    let handler = CommandHandler::new(&command, &groups(reader)?);
    match handler {
        Ok(mut handler) => {
            handler = handler.in_environment(env, cwd);
            if let Some(input) = input {
                handler = handler.with_input(input);
            }
            if let Some(bytes) = reader.bytes("maxBytes") {
                handler = handler.with_max_bytes(bytes);
            }
            Some(ToolHandler::Command(handler))
        }
        Err(message) => {
            reader.error("args", &message);
            None
        }
    }
}

/// The arguments; those in a list inside the list are one group.
fn groups(reader: &Reader<'_>) -> Option<Vec<Vec<String>>> {
    let Some(args) = reader.get("args") else { return Some(Vec::new()) };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let group = |value: &Value| match value {
        Value::Array(items) => items.iter().map(text).collect(),
        single => Some(vec![text(single)?]),
    };
    let groups = args.as_array().and_then(|args| args.iter().map(group).collect());
    if groups.is_none() {
        reader.error("args", "must be a list of texts, or of lists of texts that belong together");
    }
    groups
}

/// Every placeholder has to be a parameter, or it would never have a value.
fn check_placeholders(reader: &Reader<'_>, handler: &Reader<'_>, command: &CommandHandler) {
    let declared = reader.get("inputSchema").and_then(|schema| schema.get("properties"));
    if let Some(interpreter) = command.interpreter() {
        handler.warn(
            "args",
            &format!(
                "`{interpreter}` may run what stands in its arguments as code, so that whoever calls could run anything; \
                 with \"stdin\": \"json\" and no placeholders the values are data"
            ),
        );
    }
    for name in command.placeholders() {
        if declared.and_then(|declared| declared.get(name)).is_none() {
            handler
                .error("args", &format!("`{{{name}}}` is no property of \"inputSchema\"; `{{{{` is a brace"));
        }
    }
}
