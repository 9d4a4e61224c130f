//! Gemini's `generateContent`.

use serde_json::Value;

use super::{Checked, google_schema, list, refuse, text};
use crate::models::seen::tools_of;
use crate::models::wire::Form;

/// The members of a request, in both spellings that the service takes; others are unknown to it.
const MEMBERS: [&str; 15] = [
    "contents",
    "tools",
    "toolConfig",
    "tool_config",
    "safetySettings",
    "safety_settings",
    "systemInstruction",
    "system_instruction",
    "generationConfig",
    "generation_config",
    "cachedContent",
    "cached_content",
    "labels",
    "model",
    "store",
];

/// What a part can be.
const DATA: [&str; 7] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

/// The members of a call.
const CALL_MEMBERS: [&str; 6] = ["id", "name", "args", "partialArgs", "partial_args", "willContinue"];

/// The members of a result.
const RESPONSE_MEMBERS: [&str; 8] =
    ["id", "name", "response", "parts", "willContinue", "will_continue", "scheduling", "isContinuation"];

pub(super) fn check_parameters(body: &Value) -> Checked {
    let members = body.as_object().into_iter().flatten();
    if let Some((key, _)) = members.into_iter().find(|(key, _)| !MEMBERS.contains(&key.as_str())) {
        return refuse(format!("Invalid JSON payload received. Unknown name \"{key}\": Cannot find field."));
    }
    let mut names = Vec::new();
    for (name, _) in tools_of(Form::GenerateContent, body) {
        if names.contains(&name) {
            return refuse(format!("Duplicate function declaration found: {name}"));
        }
        names.push(name);
    }
    for (index, tool) in list(body, "tools").iter().enumerate() {
        let declarations = match tool.get("functionDeclarations") {
            Some(_) => list(tool, "functionDeclarations"),
            None => list(tool, "function_declarations"),
        };
        for (position, declaration) in declarations.iter().enumerate() {
            google_schema::check_declaration(
                declaration,
                &format!("tools[{index}].function_declarations[{position}]"),
            )?;
        }
    }
    Ok(())
}

pub(super) fn check_history(model: &str, body: &Value) -> Checked {
    let contents = list(body, "contents");
    if contents.is_empty() {
        return refuse("* GenerateContentRequest.contents: contents is not specified\n");
    }
    // The calls of the turn before.
    let mut open: Option<Vec<&Value>> = None;
    let mut previous = "";
    for (index, content) in contents.iter().enumerate() {
        let role = text(content, "role").unwrap_or("user");
        if !["user", "model", "function"].contains(&role) {
            return refuse("Please use a valid role: user, model.");
        }
        check_parts(index, content)?;
        let calls = parts_with(content, "functionCall");
        let results = parts_with(content, "functionResponse");
        check_results(open.as_deref(), &results)?;
        if !calls.is_empty() && (role != "model" || previous == "model" || index == 0) {
            return refuse(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            );
        }
        open = (!calls.is_empty()).then_some(calls);
        previous = role;
    }
    check_results(open.as_deref(), &[])?;
    if model.contains("gemini-3") { check_signatures(contents) } else { Ok(()) }
}

fn check_parts(index: usize, content: &Value) -> Checked {
    let parts = list(content, "parts");
    if parts.is_empty() {
        return refuse(format!(
            "* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.\n"
        ));
    }
    for (position, part) in parts.iter().enumerate() {
        if !DATA.iter().any(|key| member(part, key).is_some()) {
            return refuse(format!(
                "* GenerateContentRequest.contents[{index}].parts[{position}].data: required oneof field 'data' must have one initialized field\n"
            ));
        }
        check_call_members(index, position, part)?;
        for (key, inner, name, field) in [
            ("functionCall", "args", "function_call", "function_call.args"),
            ("functionResponse", "response", "function_response", "function_response.response"),
        ] {
            let Some(data) = member(part, key) else { continue };
            if text(data, "name").is_none_or(str::is_empty) {
                return refuse(format!(
                    "* GenerateContentRequest.contents[{index}].parts[{position}].{name}.name: Name cannot be empty.\n"
                ));
            }
            // A call without arguments may have none.
            let value = data.get(inner).or((inner == "response").then_some(&Value::Null));
            if let Some(value) = value.filter(|value| !value.is_object()) {
                return refuse(format!(
                    "Invalid value at 'contents[{index}].parts[{position}].{field}' (type.googleapis.com/google.protobuf.Struct), {value}"
                ));
            }
        }
    }
    Ok(())
}

/// Calls and results have no other members, in either spelling.
fn check_call_members(index: usize, position: usize, part: &Value) -> Checked {
    for (key, name, known) in [
        ("functionCall", "function_call", &CALL_MEMBERS[..]),
        ("functionResponse", "function_response", &RESPONSE_MEMBERS[..]),
    ] {
        let mut keys = member(part, key).and_then(Value::as_object).into_iter().flatten();
        if let Some((unknown, _)) = keys.find(|(key, _)| !known.contains(&key.as_str())) {
            return refuse(format!(
                "Invalid JSON payload received. Unknown name \"{unknown}\" at 'contents[{index}].parts[{position}].{name}': Cannot find field."
            ));
        }
    }
    Ok(())
}

/// A member in either spelling.
fn member<'a>(part: &'a Value, key: &str) -> Option<&'a Value> {
    let snake: String = key.chars().fold(String::new(), |mut name, letter| {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
        name
    });
    part.get(key).or_else(|| part.get(snake))
}

fn parts_with<'a>(content: &'a Value, key: &str) -> Vec<&'a Value> {
    list(content, "parts").iter().filter_map(|part| member(part, key)).collect()
}

/// The turn after calls has a result for each, and no other turn has any.
fn check_results(open: Option<&[&Value]>, results: &[&Value]) -> Checked {
    let Some(open) = open else {
        return if results.is_empty() {
            Ok(())
        } else {
            refuse("Please ensure that function response turn comes immediately after a function call turn.")
        };
    };
    if open.len() != results.len() {
        return refuse(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
        );
    }
    let mut left = open.to_vec();
    for result in results {
        let fits = |call: &&Value| {
            let same = |key| text(call, key) == text(result, key);
            same("name") && (text(call, "id").is_none() || text(result, "id").is_none() || same("id"))
        };
        let Some(position) = left.iter().position(fits) else {
            let name = text(result, "name").unwrap_or_default();
            return refuse(format!(
                "the function response `{name}` answers no function call of the turn before it"
            ));
        };
        left.remove(position);
    }
    Ok(())
}

/// Gemini 3 wants the signatures of the turn under way: that of the first call of each step.
fn check_signatures(contents: &[Value]) -> Checked {
    let is_question = |content: &Value| {
        text(content, "role").unwrap_or("user") == "user"
            && parts_with(content, "functionResponse").is_empty()
    };
    let start = contents.iter().rposition(is_question).unwrap_or(0);
    for (index, content) in contents.iter().enumerate().skip(start) {
        let first = list(content, "parts").iter().find(|part| member(part, "functionCall").is_some());
        let Some(first) = first.filter(|part| member(part, "thoughtSignature").is_none()) else { continue };
        let name = member(first, "functionCall").and_then(|call| text(call, "name")).unwrap_or_default();
        let position = index + 1;
        return refuse(format!(
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
        ));
    }
    Ok(())
}
