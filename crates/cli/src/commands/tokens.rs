//! `tokens`: what text takes of a context window.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::Outcome;
use crate::input::{read_json, read_text};
use crate::output::print_json;

/// Count the tokens of texts: content blocks, messages, results, tools, or plain text.
#[derive(Debug, Args)]
pub(crate) struct CountTokens {
    /// Count with OpenAI's o200k vocabulary instead of estimating four bytes a token
    #[arg(long)]
    exact: bool,
    /// The input is plain text, not JSON
    #[arg(long)]
    text: bool,
    /// Text, content blocks, messages, a tool result or MCP tools; - for standard input
    file: Option<PathBuf>,
}

impl CountTokens {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let (name, input) = read_text(self.file.as_deref())?;
        let mut texts = Vec::new();
        if self.text {
            texts.push(input);
        } else {
            let document =
                read_json(&name, &input).map_err(|error| anyhow!("{error:#}; --text counts plain text"))?;
            collect(&document, &mut texts);
            if texts.is_empty() {
                bail!("{name} holds no text blocks and no tools; --text counts the input itself");
            }
        }
        let tokens = if self.exact {
            exact_count(&texts)?
        } else {
            texts.iter().map(|text| text.len().div_ceil(4)).sum()
        };
        let row = json!({
            "encoding": if self.exact { "o200k_base" } else { "estimate" },
            "texts": texts.len(),
            "tokens": tokens,
            "budget": budget(tokens),
        });
        print_json(&row)?;
        Ok(Outcome::Good)
    }
}

/// The texts that a model reads: text blocks, plain contents, and tools as JSON. Other blocks are left out.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => {
            if is_tool(members) {
                texts.push(value.to_string());
            } else if let Some(Value::String(text)) = members.get("text") {
                texts.push(text.clone());
            } else if let Some(inner) =
                ["content", "tools", "result", "functionDeclarations", "function_declarations"]
                    .iter()
                    .find_map(|key| members.get(*key))
            {
                collect(inner, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether an object is a tool, in MCP's form or a provider's.
fn is_tool(members: &Map<String, Value>) -> bool {
    ["inputSchema", "parameters", "input_schema", "paramSchema", "function", "toolSpec"]
        .iter()
        .any(|key| members.get(*key).is_some_and(Value::is_object))
}

/// Half as much again, rounded up: vocabularies differ, and a budget must hold for all of them.
const fn budget(tokens: usize) -> usize {
    tokens.saturating_mul(3).div_ceil(2)
}

#[cfg(feature = "exact-tokens")]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as without the vocabulary")]
fn exact_count(texts: &[String]) -> Result<usize> {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    Ok(texts.iter().map(|text| vocabulary.encode_ordinary(text).len()).sum())
}

#[cfg(not(feature = "exact-tokens"))]
fn exact_count(_: &[String]) -> Result<usize> {
    bail!(
        "--exact needs the vocabulary, which this binary does not have: build one with `cargo build --release \
         --features exact-tokens`, or leave --exact out for an estimate"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_collected() {
        let message = json!({"role": "user", "content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "text", "text": "two"},
        ]});
        let mut texts = Vec::new();
        collect(&json!([message, {"content": "three"}]), &mut texts);
        assert_eq!(texts, ["one", "two", "three"]);
    }

    #[test]
    fn tools_count_whole_in_every_form() {
        let schema = json!({"type": "object"});
        let tools = [
            json!({"name": "t", "inputSchema": schema}),
            json!({"name": "t", "input_schema": schema}),
            json!({"type": "function", "function": {"name": "t", "parameters": schema}}),
        ];
        for tool in tools {
            let mut texts = Vec::new();
            collect(&json!({"tools": [tool]}), &mut texts);
            assert_eq!(texts, [tool.to_string()]);
        }
        let mut texts = Vec::new();
        collect(
            &json!({"tools": [{"functionDeclarations": [{"name": "t", "parameters": schema}]}]}),
            &mut texts,
        );
        assert_eq!(texts, [r#"{"name":"t","parameters":{"type":"object"}}"#]);
    }

    #[test]
    fn budgets_are_rounded_up() {
        assert_eq!([0, 1, 2, 3].map(budget), [0, 2, 3, 5]);
    }

    #[cfg(feature = "exact-tokens")]
    #[test]
    fn known_strings_have_known_counts() {
        let count = |text: &str| exact_count(&[text.to_owned()]).unwrap();
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("Hello, world!"), 4);
        assert_eq!(count("antidisestablishmentarianism"), 6);
        assert_eq!(count("日本語のテキスト"), 6);
    }
}
