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

#[test]
fn a_key_that_the_mechanism_cannot_honour_is_an_error() {
    let mut dialects = Dialects::builtin();
    let mut add = |extends: &str, schema: &str| {
        let file = format!("name = \"own\"\ntitle = \"Own\"\nextends = \"{extends}\"\n[schema]\n{schema}\n");
        dialects.add("own.toml", &file).map_err(|error| error.to_string())
    };
    assert_eq!(
        add("openai-compatible", "null = \"nullable\""),
        Err("dialect file `own.toml`: `schema.null` has no effect with `lowering = \"edit\"`: only `rebuild` honours it".to_owned())
    );
    assert_eq!(
        add("openai-compatible", "refs = \"inline\""),
        Err("dialect file `own.toml`: `schema.refs` has no effect with `lowering = \"edit\"`: only `rebuild` honours it".to_owned())
    );
    assert_eq!(
        add("gemini", "pattern-alone = true"),
        Err("dialect file `own.toml`: `schema.pattern-alone` has no effect with `lowering = \"rebuild\"`: only `edit` honours it".to_owned())
    );
    assert_eq!(add("openai-compatible", "lowering = \"rebuild\"\nnull = \"nullable\""), Ok("own".to_owned()));
}
