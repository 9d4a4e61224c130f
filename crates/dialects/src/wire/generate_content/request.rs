//! Requests of `generateContent`. The address says which model is asked, and whether it streams.

use serde_json::{Map, Value, json};

use crate::wire::request::{AnswerFormat, ModelRequest, RequestBody, ToolChoice};

/// Settings and what the API calls them.
const NAMES: [(&str, &str); 9] = [
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("seed", "seed"),
    ("n", "candidateCount"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
    ("logprobs", "responseLogprobs"),
    ("top_logprobs", "logprobs"),
];

pub(super) fn write(request: &ModelRequest<'_>, body: &mut RequestBody<'_>) {
    if let Some(tools) = request.tools {
        body.set_tools("tools", tools, ("[{\"functionDeclarations\":", "}]"));
        let calling = match request.tool_choice {
            ToolChoice::Auto | ToolChoice::Other(_) => None,
            ToolChoice::None => Some(json!({"mode": "NONE"})),
            ToolChoice::Required => Some(json!({"mode": "ANY"})),
            ToolChoice::Named(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
        };
        body.set_some("toolConfig", calling.map(|calling| json!({"functionCallingConfig": calling})));
    }
    body.settings.take("parallel_tool_calls");
    body.set_some("systemInstruction", request.conversation.system.clone());
    body.set("contents", request.conversation.messages.clone());
    let mut config = match body.settings.take("generationConfig") {
        Some(Value::Object(config)) => config.clone(),
        Some(_) | None => Map::new(),
    };
    for (name, own) in NAMES {
        config.extend(body.settings.take(name).map(|value| (own.to_owned(), value.clone())));
    }
    let most = body.settings.take_first(&["max_completion_tokens", "max_tokens"]);
    config.extend(most.map(|most| ("maxOutputTokens".to_owned(), most.clone())));
    config.extend(body.settings.take_stops().map(|stops| ("stopSequences".to_owned(), stops)));
    if let Some(format) = body.settings.take_answer_format() {
        config.insert("responseMimeType".to_owned(), "application/json".into());
        if let AnswerFormat::Schema(format) = format {
            config
                .extend(format.get("schema").map(|schema| ("responseJsonSchema".to_owned(), schema.clone())));
        }
    }
    body.set_object("generationConfig", config);
    body.settings.take("stream_options");
    body.copy(&["safetySettings", "cachedContent"]);
}
