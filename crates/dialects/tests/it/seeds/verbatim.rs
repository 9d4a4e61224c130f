//! Seed 000: every keyword stays (S000-5), tools stay untouched (S000-6), and the options that its origin shows.

use gateway_dialects::{Defaults, Dialects, LoneSchema, Options, ToolTranslation, Translator};
use serde_json::{Value, json};

use super::{VERBATIM, build_model, list_with, one_with, schema, tool, translator, verbatim};

// S000-5.

/// One property schema for every keyword; references point at `$defs/Target`.
fn every_keyword() -> Vec<(&'static str, Value)> {
    vec![
        ("type", json!({"type": ["string", "null"]})),
        ("description", json!({"description": "said"})),
        ("properties", json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        ("required", json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})),
        ("items", json!({"type": "array", "items": {"type": "string"}})),
        ("enum", json!({"enum": ["a", 1, null]})),
        ("const", json!({"const": "a"})),
        ("title", json!({"type": "string", "title": "T"})),
        ("format", json!({"type": "string", "format": "x-odd"})),
        ("pattern", json!({"type": "string", "pattern": "^(?=a)\\w+$"})),
        ("minLength", json!({"type": "string", "minLength": 0})),
        ("maxLength", json!({"type": "string", "maxLength": 9})),
        ("minimum", json!({"type": "number", "minimum": 0})),
        ("maximum", json!({"type": "number", "maximum": 1.5})),
        ("exclusiveMinimum", json!({"type": "number", "exclusiveMinimum": 0})),
        ("exclusiveMaximum", json!({"type": "number", "exclusiveMaximum": 1})),
        ("multipleOf", json!({"type": "number", "multipleOf": 0.5})),
        ("minItems", json!({"type": "array", "items": {}, "minItems": 1})),
        ("maxItems", json!({"type": "array", "items": {}, "maxItems": 2})),
        ("uniqueItems", json!({"type": "array", "items": {}, "uniqueItems": true})),
        ("prefixItems", json!({"type": "array", "prefixItems": [{"type": "string"}, true], "items": false})),
        ("additionalItems", json!({"type": "array", "items": {}, "additionalItems": false})),
        (
            "contains",
            json!({"type": "array", "items": {}, "contains": {"const": 1}, "minContains": 1, "maxContains": 2}),
        ),
        ("unevaluatedItems", json!({"type": "array", "prefixItems": [{}], "unevaluatedItems": false})),
        ("additionalProperties", json!({"type": "object", "additionalProperties": {"type": "integer"}})),
        ("patternProperties", json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}})),
        ("propertyNames", json!({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}})),
        ("minProperties", json!({"type": "object", "minProperties": 1, "maxProperties": 3})),
        ("dependentRequired", json!({"type": "object", "dependentRequired": {"a": ["b"]}})),
        ("dependentSchemas", json!({"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}})),
        ("dependencies", json!({"type": "object", "dependencies": {"a": ["b"]}})),
        ("unevaluatedProperties", json!({"type": "object", "unevaluatedProperties": false})),
        ("anyOf", json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
        ("oneOf", json!({"oneOf": [{"type": "string"}, {"type": "integer"}]})),
        ("allOf", json!({"allOf": [{"type": "string"}, {"minLength": 1}]})),
        ("not", json!({"not": {"const": 3}})),
        ("if", json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 2}})),
        ("nullable", json!({"type": "string", "nullable": true})),
        ("$ref", json!({"$ref": "#/$defs/Target", "description": "beside"})),
        ("$dynamicRef", json!({"$dynamicRef": "#node"})),
        ("$recursiveRef", json!({"$recursiveRef": "#"})),
        ("$anchor", json!({"$anchor": "here", "type": "string"})),
        ("$comment", json!({"$comment": "for authors", "type": "string"})),
        ("deprecated", json!({"type": "string", "deprecated": true, "readOnly": true, "writeOnly": false})),
        ("examples", json!({"type": "string", "examples": ["a"], "example": "b"})),
        (
            "contentEncoding",
            json!({"type": "string", "contentEncoding": "base64", "contentMediaType": "application/json", "contentSchema": {"type": "object"}}),
        ),
        ("propertyOrdering", json!({"type": "object", "propertyOrdering": ["a"]})),
        ("discriminator", json!({"type": "object", "discriminator": {"propertyName": "kind"}})),
        ("x-unknown", json!({"type": "string", "x-unknown": {"default": 1}})),
    ]
}

/// A tool's schema with every keyword, and `extra` on every property that is an object.
fn schema_with_every_keyword(extra: Option<(&str, Value)>) -> Value {
    let mut properties = json!({});
    for (name, mut property) in every_keyword() {
        if let Some((key, value)) = &extra {
            property[key] = value.clone();
        }
        properties[name] = property;
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.test/tool",
        "$comment": "root",
        "title": "Everything",
        "description": "All there is",
        "type": "object",
        "properties": properties,
        "required": ["type"],
        "minProperties": 1,
        "additionalProperties": false,
        "examples": [{"type": "a"}],
        "x-root": [1],
        "$defs": {"Target": {"$dynamicAnchor": "node", "type": "string"}}
    })
}

/// Every property that `dialect` does not give back as it stands, with what it became.
fn differences(dialect: &str, input: &Value, expected: &Value) -> Vec<String> {
    let lowered = schema(dialect, input.clone());
    let mut found = Vec::new();
    for (name, expected) in expected["properties"].as_object().unwrap() {
        if &lowered["properties"][name] != expected {
            found.push(format!("{name}: {} for {expected}", lowered["properties"][name]));
        }
    }
    for (name, expected) in expected.as_object().unwrap() {
        if name != "properties" && lowered.get(name) != Some(expected) {
            found.push(format!("root {name}: {:?} for {expected}", lowered.get(name)));
        }
    }
    for name in lowered.as_object().unwrap().keys() {
        if expected.get(name).is_none() {
            found.push(format!("root {name} is new"));
        }
    }
    found
}

#[test]
fn argo_changes_nothing_but_defaults() {
    let with = schema_with_every_keyword(Some(("default", json!("x"))));
    let without = schema_with_every_keyword(None);
    assert_eq!(differences("argo", &with, &without), Vec::<String>::new());
}

#[test]
fn dial_and_functions_are_verbatim() {
    let full = schema_with_every_keyword(Some(("default", json!("x"))));
    for dialect in ["dial", "openai-functions"] {
        assert_eq!(differences(dialect, &full, &full), Vec::<String>::new(), "{dialect}");
    }
}

/// What the usual forms repair, fold or leave out.
fn unusual() -> Vec<Value> {
    let tuple = json!({"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false});
    let branch =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        json!({"type": "object", "properties": {"pair": tuple, "open": {"type": "array"}}}),
        json!({"type": "object", "oneOf": [branch("a"), branch("b")]}),
        json!({"type": "object", "anyOf": [branch("a"), {"$ref": "#/$defs/b"}], "$defs": {"b": branch("b")}}),
        json!({"allOf": [branch("a"), branch("b")], "if": {"required": ["a"]}, "then": branch("c")}),
        json!({"$ref": "#/definitions/all", "definitions": {"all": branch("a")}}),
        json!({"type": "object", "not": branch("a"), "enum": [{"b": 1}], "const": {"b": 1}}),
        json!({"type": ["object", "null"], "properties": {"a": {"type": "int", "required": true}, "b": {"pattern": "(?<n>a)[[:alpha:]"}}}),
        json!({"$recursiveAnchor": true, "properties": {"a": {"$id": "inner", "minLength": "5", "enum": "x"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/datos"}}, "datos": {"type": "string", "title": "t"}}),
        json!({"type": "object", "properties": {"required": ["a"], "a b": {"description": 7}}}),
    ]
}

/// `schema` with a default in each of its properties, and in what is named outside of them.
fn with_defaults(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(named) = schema.get_mut("datos") {
        named["default"] = json!("x");
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.insert("default".to_owned(), json!({"default": 1}));
        }
    }
    schema
}

#[track_caller]
fn check_verbatim(dialect: &str, input: &Value, expected: &Value) {
    let tool = tool(input.clone());
    let definition = one_with(dialect, &tool, verbatim());
    let function = definition.get("function").unwrap_or(&definition);
    // As text: the order of members stays, too.
    assert_eq!(function["parameters"].to_string(), expected.to_string(), "{dialect}");
    let lone = LoneSchema::new(input.clone());
    let transformed = translator(dialect, verbatim()).transform(&lone).schema.unwrap();
    assert_eq!(transformed.to_string(), expected.to_string(), "{dialect}, as a schema");
}

#[test]
fn verbatim_leaves_every_keyword_alone_but_defaults_of_argo() {
    let full = || schema_with_every_keyword(Some(("default", json!("x"))));
    let mut unusual_first = unusual();
    unusual_first.push(schema_with_every_keyword(None));
    for schema in unusual_first {
        for dialect in VERBATIM {
            check_verbatim(dialect, &schema, &schema);
        }
        let with = with_defaults(&schema);
        check_verbatim("argo", &with, &schema);
        check_verbatim("dial", &with, &with);
    }
    check_verbatim("argo", &full(), &schema_with_every_keyword(None));
    for dialect in ["dial", "openai-functions"] {
        check_verbatim(dialect, &full(), &full());
    }
}

#[test]
fn verbatim_still_hides_parameters_and_describes_defaults_if_asked_to() {
    let branch = |names: &[&str]| json!({"properties": {"db": {}, "q": {"default": 1}}, "required": names});
    let tool = tool(
        json!({"type": "object", "properties": {"db": {}, "q": {}}, "oneOf": [branch(&["db", "q"]), {"anyOf": [branch(&["db"])]}]}),
    );
    let mut options = verbatim();
    options.hidden = vec!["db".to_owned()];
    options.defaults = Some(Defaults::Describe);
    let shown =
        |names: &[&str]| json!({"properties": {"q": {"description": "(default: 1)"}}, "required": names});
    let expected =
        json!({"type": "object", "properties": {"q": {}}, "oneOf": [shown(&["q"]), {"anyOf": [shown(&[])]}]});
    assert_eq!(one_with("argo", &tool, options)["function"]["parameters"], expected);
}

#[test]
fn dialects_without_a_verbatim_form_say_so() {
    let dialects = Dialects::builtin();
    for dialect in dialects.names().filter(|name| !VERBATIM.contains(name)) {
        let error = Translator::new(&dialects, dialect, verbatim()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("dialect `{dialect}` has no verbatim form; argo, dial, openai-functions have one")
        );
    }
    assert!(verbatim().warning().is_some_and(|warning| warning.contains("union at the root")));
    assert_eq!(Options::default().warning(), None);
}

// S000-6.

#[test]
fn concurrent_translations_of_one_tool_are_equal_and_leave_it_alone() {
    let tool = tool(schema_with_every_keyword(Some(("default", json!("x")))));
    let before = tool.to_string();
    for dialect in ["argo", "gemini", "openai-chat-strict"] {
        let translator = translator(dialect, Options::default());
        let texts: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let translated = translator.translate_one(&tool);
                        serde_json::to_string(translated.definition.as_ref().unwrap()).unwrap()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{dialect}");
    }
    assert_eq!(tool.to_string(), before);
}

// Options that seed 000's origin shows: S000-3 `describe`, 11, 12, 13, and S001-4.

#[test]
fn defaults_can_be_described() {
    let mut options = Options::default();
    options.defaults = Some(Defaults::Describe);
    let listed = list_with("argo", &[build_model()], options);
    assert_eq!(
        listed[0]["function"]["parameters"]["properties"]["template"],
        json!({"type": "string", "description": "Template name (default: auto)"})
    );
}

#[test]
fn hidden_parameters_leave_properties_and_required() {
    let tool = tool(json!({
        "type": "object",
        "properties": {"db_index": {"type": "integer"}, "templates": {"type": "object"}, "query": {"type": "string"}},
        "required": ["db_index", "query"]
    }));
    for dialect in Dialects::builtin().names() {
        if dialect == "mcp" {
            continue;
        }
        let mut options = Options::default();
        options.hidden = vec!["db_index".to_owned(), "templates".to_owned()];
        let text = list_with(dialect, std::slice::from_ref(&tool), options).to_string();
        assert!(!text.contains("db_index") && !text.contains("templates"), "{dialect}: {text}");
        assert!(text.contains("\"query\""), "{dialect}: {text}");
    }
    let mut options = Options::default();
    options.hidden = vec!["db_index".to_owned(), "templates".to_owned()];
    assert_eq!(
        list_with("argo", &[tool], options)[0]["function"]["parameters"],
        json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]})
    );
}

#[test]
fn injected_parameters_are_hidden_and_come_back() {
    let tool = tool(json!({
        "type": "object",
        "properties": {"db_index": {"type": "integer"}, "query": {"type": "string"}},
        "required": ["db_index", "query"]
    }));
    for dialect in ["argo", "gemini", "openai-chat-strict", "anthropic-strict"] {
        let mut options = Options::default();
        options.injected = [("db_index".to_owned(), json!(3))].into();
        let translator = translator(dialect, options);
        let translated = translator.translate_one(&tool);
        assert!(!translated.definition.as_ref().unwrap().to_value().to_string().contains("db_index"));
        let full = json!({"db_index": 3, "query": "q"});
        let encoded = translated.plan.encode(&full).unwrap();
        assert_eq!(encoded, json!({"query": "q"}), "{dialect}");
        assert_eq!(translated.plan.decode(&encoded).unwrap(), full, "{dialect}");
    }
}

#[test]
fn one_broken_tool_does_not_spoil_the_list() {
    let tools = [
        json!({"name": "good", "description": "d", "inputSchema": {"type": "object", "properties": {}}}),
        json!({"name": "broken", "description": "d", "inputSchema": {"type": "string"}}),
        json!({"description": "nameless", "inputSchema": {"type": "object", "properties": {}}}),
        json!({"name": "fine", "description": "d", "inputSchema": {"type": "object", "properties": {}}}),
        json!("not a tool"),
    ];
    for dialect in Dialects::builtin().names() {
        if dialect == "mcp" {
            continue;
        }
        let translator = translator(dialect, Options::default());
        let translation = translator.translate(&tools);
        let kept: Vec<&str> =
            translation.tools.iter().filter(|tool| tool.definition.is_some()).map(|tool| tool.name).collect();
        assert_eq!(kept, ["good", "fine"], "{dialect}");
        for tool in &translation.tools {
            assert_eq!(tool.quarantine.is_some(), tool.definition.is_none(), "{dialect}: {}", tool.name);
        }
        assert_eq!(translation.request_field().to_value().as_array().unwrap().len(), 2);
    }
}

fn description_of(translated: &ToolTranslation<'_>) -> Option<String> {
    let definition = translated.definition.as_ref().unwrap().to_value();
    let inner = definition.get("function").or(definition.get("toolSpec")).unwrap_or(&definition);
    inner.get("description").and_then(Value::as_str).map(str::to_owned)
}

#[track_caller]
fn check_description(dialect: &str, tool: Value, fallback: Option<&str>, expected: Option<&str>) {
    let mut options = Options::default();
    options.description_fallback = fallback.map(str::to_owned);
    let translator = translator(dialect, options);
    assert_eq!(description_of(&translator.translate_one(&tool)).as_deref(), expected, "{dialect}: {tool}");
}

#[test]
fn description_fallbacks() {
    let bare =
        json!({"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}});
    let mut empty = bare.clone();
    empty["description"] = json!("");
    let mut titled = bare.clone();
    titled["title"] = json!("A title");
    let mut annotated = bare.clone();
    annotated["annotations"] = json!({"title": "Noted"});

    for dialect in ["openai", "xai", "gemini", "dial", "anthropic"] {
        check_description(dialect, bare.clone(), None, Some("MCP tool: t"));
        check_description(dialect, bare.clone(), Some("Execute {name}"), Some("Execute t"));
        check_description(dialect, empty.clone(), None, Some(""));
        check_description(dialect, titled.clone(), None, Some("A title"));
        check_description(dialect, annotated.clone(), None, Some("Noted"));
    }
    check_description("openai-functions", bare.clone(), None, Some(""));
    check_description("openai-functions", empty.clone(), None, Some(""));
    // Bedrock refuses an empty description.
    check_description("bedrock", empty, None, Some("MCP tool: t"));
}
