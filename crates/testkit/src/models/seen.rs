//! What a request says, read from each wire's shape: its model, its tools, the last result.

use serde_json::Value;

use super::record::RecordedRequest;
use super::wire::Form;

/// A tool of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenTool {
    /// Its name.
    pub name: String,
    /// Its schema; null if it has none.
    pub schema: Value,
}

impl RecordedRequest {
    fn form(&self) -> Form {
        match self.wire.route(&self.method, &self.path) {
            super::wire::Route::Turn { form, .. } => form,
            super::wire::Route::Models | super::wire::Route::Unknown => Form::Chat,
        }
    }

    /// The model that is asked for, from the body or the path.
    pub fn model(&self) -> Option<String> {
        if let Some(model) = self.body.get("model").and_then(Value::as_str) {
            return Some(model.to_owned());
        }
        let after = |mark: &str| self.path.split_once(mark).map(|(_, rest)| rest);
        let name = if let Some(rest) = after("/openai/deployments/") {
            rest.split('/').next()
        } else if let Some(rest) = after("/model/") {
            // Ids of Bedrock have colons, and ARNs have slashes, so that clients encode them.
            return rest.split('/').next().map(decode);
        } else {
            after("/models/").and_then(|rest| rest.split(':').next())
        };
        name.map(ToOwned::to_owned)
    }

    /// The tools that the model can call.
    pub fn tools(&self) -> Vec<SeenTool> {
        tools_of(self.form(), &self.body)
            .into_iter()
            .map(|(name, schema)| SeenTool {
                name: name.to_owned(),
                schema: schema.cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// The text of the last result of a tool, if the conversation ends with results.
    pub fn last_result(&self) -> Option<String> {
        let body = &self.body;
        let list = |key: &str| body.get(key).and_then(Value::as_array).and_then(|list| list.last());
        match self.form() {
            Form::Chat | Form::Functions | Form::Ollama | Form::Mistral | Form::Cohere => {
                let message = list("messages")?;
                let role = message.get("role")?.as_str()?;
                matches!(role, "tool" | "function").then(|| content_text(message.get("content")))
            }
            Form::Responses => {
                let item = list("input")?;
                (item.get("type")? == "function_call_output").then(|| content_text(item.get("output")))
            }
            Form::Messages => {
                let blocks = list("messages")?.get("content")?.as_array()?;
                let mut results =
                    blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind == "tool_result"));
                results.next_back().map(|block| content_text(block.get("content")))
            }
            Form::Converse => {
                let blocks = list("messages")?.get("content")?.as_array()?;
                let result = blocks.iter().filter_map(|block| block.get("toolResult")).next_back()?;
                Some(content_text(result.get("content")))
            }
            Form::GenerateContent => {
                let parts = list("contents")?.get("parts")?.as_array()?;
                let mut results = parts.iter().filter_map(|part| {
                    part.get("functionResponse").or_else(|| part.get("function_response"))
                });
                let response = results.next_back()?.get("response")?;
                Some(
                    response
                        .get("output")
                        .or_else(|| response.get("error"))
                        .map_or_else(|| response.to_string(), plain),
                )
            }
        }
    }
}

/// The tools of a body: names and schemas.
pub(crate) fn tools_of(form: Form, body: &Value) -> Vec<(&str, Option<&Value>)> {
    let list = |key: &str| body.get(key).and_then(Value::as_array).into_iter().flatten();
    let named = |tool: &'_ Value| tool.get("name").and_then(Value::as_str).is_some();
    match form {
        Form::Chat | Form::Ollama | Form::Mistral | Form::Cohere => list("tools")
            .filter_map(|tool| {
                let function = tool.get("function")?;
                Some((function.get("name")?.as_str()?, function.get("parameters")))
            })
            .collect(),
        Form::Functions => list("functions")
            .filter_map(|function| Some((function.get("name")?.as_str()?, function.get("parameters"))))
            .collect(),
        Form::Responses => list("tools")
            .filter(|tool| named(tool))
            .filter_map(|tool| Some((tool.get("name")?.as_str()?, tool.get("parameters"))))
            .collect(),
        Form::Messages => list("tools")
            .filter_map(|tool| Some((tool.get("name")?.as_str()?, tool.get("input_schema"))))
            .collect(),
        Form::Converse => {
            let tools = body.get("toolConfig").and_then(|config| config.get("tools"));
            let specs = tools.and_then(Value::as_array).into_iter().flatten();
            specs
                .filter_map(|tool| {
                    let spec = tool.get("toolSpec")?;
                    let schema = spec.get("inputSchema").and_then(|schema| schema.get("json"));
                    Some((spec.get("name")?.as_str()?, schema))
                })
                .collect()
        }
        Form::GenerateContent => list("tools")
            .filter_map(|tool| {
                tool.get("functionDeclarations").or_else(|| tool.get("function_declarations"))?.as_array()
            })
            .flatten()
            .filter_map(|tool| {
                let schema = tool.get("parameters").or_else(|| tool.get("parametersJsonSchema"));
                Some((tool.get("name")?.as_str()?, schema))
            })
            .collect(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Text, or the texts of parts.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(part_text).collect(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// The text of a part; JSON of Converse and documents of Cohere as text.
fn part_text(part: &Value) -> String {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return text.to_owned();
    }
    let document = part.get("document").and_then(|document| document.get("data"));
    part.get("json").or(document).map(plain).unwrap_or_default()
}

/// A part of a path without its percent signs.
pub(crate) fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits =
            others.get(..2).filter(|_| *first == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = others.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
