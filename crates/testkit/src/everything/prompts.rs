//! The prompts, and the completion of their arguments.

use gateway_protocol::{RpcError, code};
use serde_json::{Value, json};

use super::{Answered, Asked, ask, is_there, read};
use crate::definitions::PNG;

const WORDS: &[&str] = &["paris", "park", "party", "test", "testing"];

pub(super) fn list(asked: Asked<'_>) -> Answered {
    let argument =
        |name: &str, description: &str| json!({"name": name, "description": description, "required": true});
    let mut prompts = vec![
        json!({"name": "test_simple_prompt", "description": "A simple prompt without arguments"}),
        json!({"name": "test_prompt_with_arguments", "description": "A prompt with required arguments", "arguments": [
            argument("arg1", "First test argument"), argument("arg2", "Second test argument")
        ]}),
        json!({
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt that includes an embedded resource",
            "arguments": [argument("resourceUri", "URI of the resource to embed")]
        }),
        json!({"name": "test_prompt_with_image", "description": "A prompt that includes an image"}),
        json!({"name": "test_input_required_result_prompt", "description": "A prompt that asks the user first"}),
    ];
    if is_there(&asked.everything.prompt_changes) {
        prompts.push(json!({"name": "test_dynamic_prompt", "description": "It comes and goes"}));
    }
    asked.page("prompts", prompts)
}

pub(super) fn get(asked: Asked<'_>) -> Answered {
    let name = asked.message.name().unwrap_or_default();
    let arguments = asked.arguments();
    let argument = |key: &str| {
        let missing = || RpcError::new(code::INVALID_PARAMS, format!("missing argument: {key}"));
        arguments[key].as_str().ok_or_else(missing)
    };
    let says = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
    let messages: Value = match name {
        "test_input_required_result_prompt" => return ask::drive(asked, name),
        "test_simple_prompt" => json!([says("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            json!([says(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))])
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": argument("resourceUri")?, "mimeType": "text/plain",
                "text": "Embedded resource content for testing."
            });
            json!([
                {"role": "user", "content": {"type": "resource", "resource": resource}},
                says("Please process the embedded resource above.")
            ])
        }
        "test_prompt_with_image" => json!([
            {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
            says("Please analyze the image above.")
        ]),
        "test_dynamic_prompt" if is_there(&asked.everything.prompt_changes) => json!([says("Still here")]),
        other => return Err(RpcError::new(code::INVALID_PARAMS, format!("unknown prompt: {other}"))),
    };
    Ok(asked.complete(json!({ "messages": messages })))
}

/// The words that begin like the argument.
pub(super) fn complete(asked: Asked<'_>) -> Answered {
    let argument = read(asked.message.params.as_ref().and_then(|params| params.argument));
    let Some(begun) = argument["value"].as_str() else {
        return Err(RpcError::new(code::INVALID_PARAMS, "the request has no argument to complete"));
    };
    let words: Vec<_> = WORDS.iter().filter(|word| word.starts_with(begun)).collect();
    Ok(asked.complete(json!({"completion": {"values": words, "total": words.len(), "hasMore": false}})))
}
