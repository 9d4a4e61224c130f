//! The embedded dialects and the file format.

use gateway_dialects::Dialects;
use gateway_dialects::dialect::NullStyle;

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
    "gemini-legacy",
    "gemini-bare",
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
    "openai-legacy",
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

/// What becomes of a file that extends `extends`, whose fifth line is the first of `schema`.
fn add(extends: &str, schema: &str) -> Result<String, String> {
    let file = format!("name = \"own\"\ntitle = \"Own\"\nextends = \"{extends}\"\n[schema]\n{schema}\n");
    Dialects::builtin().add("own.toml", &file).map_err(|error| error.to_string())
}

#[track_caller]
fn check_refused(extends: &str, schema: &str, cause: &str) {
    assert_eq!(add(extends, schema), Err(format!("dialect file `own.toml`: {cause}")), "{extends}: {schema}");
}

#[test]
fn a_key_that_the_mechanism_cannot_honour_is_an_error() {
    for (extends, schema, cause) in [
        (
            "openai-compatible",
            "null = \"nullable\"",
            "line 5: `schema.null` has no effect with `lowering = \"edit\"`: only `rebuild` honours it; remove it, or write `lowering = \"rebuild\"`",
        ),
        (
            "openai-compatible",
            "text = \"json\"\nrefs = \"inline\"",
            "line 6: `schema.refs` has no effect with `lowering = \"edit\"`: only `rebuild` honours it; remove it, or write `lowering = \"rebuild\"`",
        ),
        (
            "gemini",
            "pattern-alone = true",
            "line 5: `schema.pattern-alone` has no effect with `lowering = \"rebuild\"`: only `edit` honours it; remove it, or write `lowering = \"edit\"`",
        ),
        (
            "gemini",
            "refs = \"keep\"",
            "line 5: `schema.refs = \"keep\"` has no effect with `lowering = \"rebuild\"`: write \"defs\" or \"inline\"",
        ),
        (
            "mcp",
            "whole-bounds = true",
            "line 5: `schema.whole-bounds` has no effect with `lowering = \"none\"`: only `edit` honours it; remove it, or write `lowering = \"edit\"`",
        ),
    ] {
        check_refused(extends, schema, cause);
    }
    for (extends, schema) in [
        ("openai-compatible", "lowering = \"rebuild\"\nnull = \"nullable\""),
        // What a parent set is not held against the file.
        ("gemini", "lowering = \"edit\"\npattern-alone = true"),
        ("gemini", "lowering = \"none\""),
    ] {
        assert_eq!(add(extends, schema), Ok("own".to_owned()), "{extends}: {schema}");
    }
}

#[test]
fn a_verdict_that_the_mechanism_ignores_is_an_error() {
    for (extends, rule, mechanism, instead) in [
        (
            "gemini",
            "anyOf = \"describe\"",
            "rebuild",
            "write \"keep\" or remove it; `schema.any-of` decides it",
        ),
        (
            "ollama",
            "anyOf = \"keep\"",
            "rebuild",
            "write \"describe\" or remove it; `schema.any-of` decides it",
        ),
        ("gemini", "type = \"drop\"", "rebuild", "write \"keep\" or remove it"),
        ("gemini", "not = \"keep\"", "rebuild", "write \"describe\" or remove it"),
        ("gemini", "minLength = \"drop\"", "rebuild", "write \"describe\" or remove it"),
        ("gemini", "title = \"describe\"", "rebuild", "write \"drop\" or remove it"),
        ("gemini", "unknown = \"keep\"", "rebuild", "write \"describe\" or remove it"),
        (
            "gemini",
            "additionalProperties = \"keep\"",
            "rebuild",
            "write \"describe\" or remove it; `schema.additional` decides it",
        ),
        (
            "ollama",
            "default = \"keep\"",
            "rebuild",
            "write \"describe\" or remove it; `schema.defaults` decides it",
        ),
        ("openai-compatible", "not = \"hint\"", "edit", "write \"keep\" or remove it"),
        ("mcp", "format = \"describe\"", "none", "write \"keep\" or remove it"),
    ] {
        let cause = format!(
            "line 7: `schema.keywords.{rule}` has no effect with `lowering = \"{mechanism}\"`: {instead}"
        );
        check_refused(extends, &format!("text = \"json\"\n[schema.keywords]\n{rule}"), &cause);
    }
    for (extends, rules) in [
        (
            "gemini",
            "anyOf = \"keep\"\nnot = \"describe\"\nminLength = \"describe\"\nformat = \"hint\"\ntitle = \"drop\"",
        ),
        ("openai-compatible", "anyOf = \"describe\"\nminLength = \"drop\"\nformat = \"hint\""),
    ] {
        let schema = format!("[schema.keywords]\n{rules}");
        assert_eq!(add(extends, &schema), Ok("own".to_owned()), "{extends}: {schema}");
    }
}

#[test]
fn a_layer_may_say_what_only_some_dialects_follow() {
    let mut dialects = Dialects::builtin();
    let layer = "name = \"own\"\ntitle = \"Own\"\nextends = \"openai-chat\"\nlayer = true\n\
                 [schema]\nnull = \"branch\"\n[schema.keywords]\nanyOf = \"describe\"\n";
    assert_eq!(dialects.add("own.toml", layer).map_err(|error| error.to_string()), Ok("own".to_owned()));
    let null = |name: &str| {
        let dialect = dialects.layered(name, "own").unwrap();
        dialect.schema.rebuild().map(|rules| rules.null)
    };
    assert_eq!(null("openai-chat"), None);
    assert_eq!(null("gemini"), Some(NullStyle::Branch));
    let typo = layer.replace("null =", "nul =");
    let refused = dialects.add("own.toml", &typo).unwrap_err().to_string();
    assert!(
        refused.starts_with(
            "dialect file `own.toml`: line 6: unknown field `nul` in `[schema]`; known: lowering, "
        ),
        "{refused}"
    );
}

#[test]
fn only_layers_go_on_top_of_a_dialect() {
    let dialects = Dialects::builtin();
    for name in ["gemini", "nobody"] {
        let refused = dialects.layered("openai-chat", name).unwrap_err().to_string();
        let layers =
            "anthropic-compat, google-compat, openai-compat, openai-legacy, openai-reasoning, universal";
        assert_eq!(refused, format!("`{name}` is not a layer; layers: {layers}"));
    }
}

#[test]
fn a_dialect_is_written_with_the_words_of_its_file() {
    let dialects = Dialects::builtin();
    let json = serde_json::to_value(dialects.get("gemini").unwrap()).unwrap();
    assert_eq!(json["tool"]["shape"], "declaration");
    assert_eq!(json["schema"]["lowering"], "rebuild");
    assert_eq!(json["schema"]["null"], "nullable");
    assert_eq!(json["schema"]["min-items-up-to"], serde_json::Value::Null);
    assert_eq!(json["schema"]["keywords"]["anyOf"], "keep");
    assert_eq!(json["schema"]["keywords"]["unknown"], "describe");
    assert_eq!(json["messages"]["protocol"], "generate-content");
    let json = serde_json::to_value(dialects.get("openai-compatible").unwrap()).unwrap();
    assert_eq!(json["schema"]["lowering"], "edit");
    assert_eq!(json["schema"]["pattern-alone"], true);
    assert_eq!(json["schema"].get("null"), None);
}

#[test]
fn a_file_that_is_refused_leaves_nothing_behind() {
    let mut dialects = Dialects::builtin();
    let file =
        "name = \"own\"\ntitle = \"Own\"\naliases = [\"mine\"]\nextends = \"gemini\"\n[schema]\nnul = 1\n";
    assert!(dialects.add("own.toml", file).is_err());
    assert!(dialects.get("own").is_err());
    assert!(dialects.get("mine").is_err());
}
