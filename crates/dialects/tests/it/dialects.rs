//! The embedded dialects and the file format.

use gateway_dialects::Dialects;

/// The names that callers rely on.
const NAMES: &[&str] = &[
    "openai-chat",
    "openai",
    "openai-chat-strict",
    "openai-responses",
    "openai-responses-strict",
    "openai-functions",
    "gemini",
    "gemini-json",
    "vertex",
    "vertex-json",
    "anthropic",
    "anthropic-strict",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "ollama-openai",
    "xai",
    "groq",
    "deepseek",
    "deepseek-strict",
    "moonshot",
    "dial",
    "argo",
    "openai-compatible",
    "vllm",
    "llamacpp",
    "lmstudio",
    "azure-openai",
    "mcp",
    "openai-compat",
    "openai-reasoning",
    "google-compat",
    "anthropic-compat",
    "universal",
];

#[test]
fn every_promised_dialect_loads() {
    let dialects = Dialects::builtin();
    for name in NAMES {
        dialects.get(name).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(dialects.names().count(), NAMES.len() - 1, "an alias is not a dialect of its own");
}
