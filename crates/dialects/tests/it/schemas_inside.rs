//! Schemas are found wherever a keyword holds one, and nowhere else.

use gateway_dialects::check::check;
use gateway_dialects::{Dialects, Options, Translator};
use serde_json::{Value, json};

fn tool(schema: &Value) -> Value {
    json!({"name": "t", "description": "d", "inputSchema": schema})
}

#[test]
fn a_check_looks_into_every_keyword_that_holds_schemas() {
    let translator = Translator::new(&Dialects::builtin(), "openai-chat", Options::default()).unwrap();
    let leaf = json!({"properties": {"b": {"type": "string"}}, "required": []});
    for (keyword, value, pointer) in [
        ("dependencies", json!({"a": leaf, "c": ["a"]}), "/dependencies/a"),
        ("dependentSchemas", json!({"a/b": leaf}), "/dependentSchemas/a~1b"),
        ("contentSchema", leaf.clone(), "/contentSchema"),
        ("prefixItems", json!([true, leaf]), "/prefixItems/1"),
        ("items", json!([leaf]), "/items/0"),
        ("items", leaf.clone(), "/items"),
    ] {
        let schema = json!({"type": "object", "properties": {"p": {"type": ["array", "object"], keyword: value, "description": "d"}}});
        let report = check("tools.json", &[tool(&schema)], std::slice::from_ref(&translator));
        let found: Vec<&str> = report
            .findings
            .iter()
            .filter(|finding| finding.rule.id == "parameter-undescribed")
            .map(|finding| finding.pointer.as_str())
            .collect();
        assert_eq!(found, [format!("/inputSchema/properties/p{pointer}/properties/b")], "{schema}");
    }
    for keyword in ["default", "const", "examples", "enum", "x-own"] {
        let schema = json!({"type": "object", "properties": {"p": {keyword: [leaf], "description": "d"}}});
        let report = check("tools.json", &[tool(&schema)], std::slice::from_ref(&translator));
        let mut rules = report.findings.iter().map(|finding| finding.rule.id);
        assert!(!rules.any(|id| id == "parameter-undescribed"), "{schema}");
    }
}

#[test]
fn long_descriptions_are_cut_in_every_schema() {
    let mut dialects = Dialects::builtin();
    let file = "name = \"short\"\ntitle = \"Short\"\nextends = \"openai-chat\"\n[limits]\nparameter-description = 6\n";
    dialects.add("short.toml", file).unwrap();
    let translator = Translator::new(&dialects, "short", Options::default()).unwrap();
    let schema = |text: &str| {
        let leaf = json!({"type": "string", "description": text});
        json!({"type": "object", "properties": {"p": {
            "dependencies": {"a": leaf, "b": ["a"]},
            "contentSchema": leaf,
            "default": {"description": "a long description"}
        }}})
    };
    let tool = tool(&schema("a long description"));
    let translated = translator.translate_one(&tool);
    let definition = translated.definition.unwrap().to_value();
    assert_eq!(definition["function"]["parameters"], schema("a lon…"));
}

#[test]
fn an_anchor_is_found_below_a_property_that_is_called_like_a_keyword() {
    let translator = Translator::new(&Dialects::builtin(), "gemini", Options::default()).unwrap();
    for name in ["default", "enum", "examples"] {
        let schema = json!({"type": "object", "properties": {
            name: {"$anchor": "here", "type": "integer"},
            "p": {"$ref": "#here"}
        }});
        let tool = tool(&schema);
        let translated = translator.translate_one(&tool);
        let definition = translated.definition.unwrap().to_value();
        assert_eq!(definition["parameters"]["properties"]["p"], json!({"type": "integer"}), "{name}");
    }
}
