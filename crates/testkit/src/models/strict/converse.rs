//! Converse of Amazon Bedrock: the shapes of its service model, the rules of its front end, and those of the model behind it.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

use super::json_schema::{Draft, check_metaschema, check_references};
use super::{Checked, list, refuse, text};
use crate::models::record::RecordedRequest;

/// The input of the operation as JSON Schema. `conformance/models/converse_shapes.py` writes it from the service model that
/// AWS publishes with its SDK.
static SHAPES: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let schema = serde_json::from_str(include_str!("converse.schema.json")).ok()?;
    jsonschema::validator_for(&schema).ok()
});

/// The access key of the signature, if there is one.
pub(crate) fn access_key(request: &RecordedRequest) -> Option<&str> {
    credential(request)?.split('/').next()
}

fn credential(request: &RecordedRequest) -> Option<&str> {
    let signature = request.header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let part = |name: &str| {
        let mut parts = signature.split(',').filter_map(|part| part.trim().split_once('='));
        parts.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    part("SignedHeaders").filter(|names| names.split(';').any(|name| name == "host"))?;
    part("Signature").filter(|digits| digits.len() == 64)?;
    part("Credential")
}

/// Whether a request has a signature for this service and its date, or a key of Bedrock's own. The secret is not checked.
pub(crate) fn is_signed(request: &RecordedRequest) -> bool {
    let bearer = request.header("authorization").is_some_and(|value| value.starts_with("Bearer "));
    let scope: Option<Vec<&str>> = credential(request).map(|credential| credential.split('/').collect());
    let fits = matches!(scope.as_deref(), Some([_, _, _, "bedrock", "aws4_request"]));
    bearer || (fits && request.header("x-amz-date").is_some())
}

pub(super) fn check_parameters(body: &Value) -> Checked {
    check_shapes(body)?;
    let tools = body.get("toolConfig").map_or(&[][..], |config| list(config, "tools"));
    let mut names = Vec::new();
    for (index, spec) in
        tools.iter().enumerate().filter_map(|(index, tool)| Some((index, tool.get("toolSpec")?)))
    {
        let name = text(spec, "name").unwrap_or_default();
        if names.contains(&name) {
            return refuse(format!("The toolConfig.tools contains the tool {name} more than once."));
        }
        names.push(name);
        check_schema(index, spec)?;
    }
    Ok(())
}

fn check_shapes(body: &Value) -> Checked {
    let Some(shapes) = SHAPES.as_ref() else { return refuse("the shapes of Converse cannot be read") };
    match shapes.validate(body) {
        Ok(()) => Ok(()),
        Err(error) => refuse(format!(
            "1 validation error detected: Value at '{}' failed to satisfy constraint: {error}",
            member_path(&error.instance_path().to_string())
        )),
    }
}

/// A place in the request, as AWS names it: entries of lists are members, counted from 1.
fn member_path(pointer: &str) -> String {
    let names = pointer.split('/').filter(|name| !name.is_empty());
    let parts = names.map(|name| match name.parse::<u64>() {
        Ok(index) => format!("{}.member", index.saturating_add(1)),
        Err(_) => name.to_owned(),
    });
    parts.collect::<Vec<_>>().join(".")
}

fn check_schema(index: usize, spec: &Value) -> Checked {
    let schema = spec.get("inputSchema").and_then(|schema| schema.get("json")).unwrap_or(&Value::Null);
    if text(schema, "type") != Some("object") {
        return refuse(format!(
            "The value at toolConfig.tools.{index}.toolSpec.inputSchema.json.type must be one of the following: object."
        ));
    }
    let from_model = |problem: &str| {
        refuse(format!(
            "The model returned the following errors: tools.{index}.custom.input_schema: {problem}"
        ))
    };
    if ["oneOf", "allOf", "anyOf"].iter().any(|key| schema.get(*key).is_some()) {
        return from_model("input_schema does not support oneOf, allOf, or anyOf at the top level");
    }
    match check_metaschema(schema, Draft::TwentyTwenty).and_then(|()| check_references(schema)) {
        Ok(()) => Ok(()),
        Err(_) => from_model(
            "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).",
        ),
    }
}

pub(super) fn check_history(body: &Value) -> Checked {
    let messages = list(body, "messages");
    if messages.is_empty() {
        return refuse(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        );
    }
    let mut previous = "";
    let mut open: Vec<&str> = Vec::new();
    let mut has_tools = false;
    for (index, message) in messages.iter().enumerate() {
        let role = text(message, "role").unwrap_or_default();
        if index == 0 && role != "user" {
            return refuse(
                "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
            );
        }
        if role == previous {
            return refuse(
                "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
            );
        }
        previous = role;
        let blocks = list(message, "content");
        if blocks.is_empty() {
            return refuse(format!(
                "The content field in the Message object at messages.{index} is empty. Add a ContentBlock object to the content field and try again."
            ));
        }
        for (position, block) in blocks.iter().enumerate() {
            has_tools |= block.get("toolUse").is_some() || block.get("toolResult").is_some();
            check_block(&format!("messages.{index}.content.{position}"), block)?;
        }
        check_results(index, blocks, &open)?;
        open = check_calls(index, role, blocks)?;
    }
    check_results(messages.len(), &[], &open)?;
    if has_tools && body.get("toolConfig").is_none() {
        return refuse(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        );
    }
    Ok(())
}

fn check_block(at: &str, block: &Value) -> Checked {
    if text(block, "text").is_some_and(|words| words.trim().is_empty()) {
        return refuse(format!(
            "The text field in the ContentBlock object at {at} is blank. Add text to the text field, and try again."
        ));
    }
    let no_object = |field: String| {
        refuse(format!(
            "The format of the value at {field} is invalid. Provide a json object for the field and try again."
        ))
    };
    if block.get("toolUse").is_some_and(|call| !call.get("input").is_some_and(Value::is_object)) {
        return no_object(format!("{at}.toolUse.input"));
    }
    let Some(result) = block.get("toolResult") else { return Ok(()) };
    let content = list(result, "content");
    if content.is_empty() && text(result, "status") == Some("error") {
        return refuse(format!(
            "The content field at {at}.toolResult cannot be empty when status value is error."
        ));
    }
    for (index, part) in content.iter().enumerate() {
        if part.get("json").is_some_and(|json| !json.is_object()) {
            return no_object(format!("{at}.toolResult.content.{index}.json"));
        }
        if text(part, "text") == Some("") {
            return refuse(
                "The model returned the following errors: messages: text content blocks must be non-empty",
            );
        }
    }
    Ok(())
}

/// A message answers all calls of the message before, and no others.
fn check_results(index: usize, blocks: &[Value], open: &[&str]) -> Checked {
    let results: Vec<&str> =
        blocks.iter().filter_map(|block| text(block.get("toolResult")?, "toolUseId")).collect();
    let missing: Vec<&str> = open.iter().copied().filter(|id| !results.contains(id)).collect();
    if !missing.is_empty() {
        return refuse(format!(
            "Expected toolResult blocks at messages.{index}.content for the following Ids: {}",
            missing.join(", ")
        ));
    }
    if results.len() > open.len() {
        return refuse(format!(
            "The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn."
        ));
    }
    Ok(())
}

fn check_calls<'a>(index: usize, role: &str, blocks: &'a [Value]) -> Result<Vec<&'a str>, super::Violation> {
    let calls = blocks.iter().filter_map(|block| text(block.get("toolUse")?, "toolUseId"));
    let ids: Vec<&str> = calls.collect();
    if !ids.is_empty() && role != "assistant" {
        let text =
            format!("The toolUse blocks at messages.{index}.content can only be in assistant messages.");
        return Err(super::Violation::new(text));
    }
    let repeated =
        ids.iter().enumerate().find(|(position, id)| ids.iter().take(*position).any(|known| known == *id));
    match repeated {
        Some((_, id)) => Err(super::Violation::new(format!(
            "The toolUse blocks at messages.{index}.content contain duplicate Ids: {id}"
        ))),
        None => Ok(ids),
    }
}
