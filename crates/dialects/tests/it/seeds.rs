//! The seeds' own documents as known answers: seed 000 (`argo`), 001 (`dial`), 002 (`openai-functions`), 004 (Gemini,
//! OpenAI, xAI), and the wrappers of the other APIs.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::needless_pass_by_value, reason = "cases read better by value")]

use gateway_dialects::{Defaults, Dialects, Options, ToolTranslation, Translator};
use serde_json::{Value, json};

fn translator(dialect: &str, options: Options) -> Translator {
    Translator::new(&Dialects::builtin(), dialect, options).unwrap()
}

/// The request field for `tools`.
fn list_with(dialect: &str, tools: &[Value], options: Options) -> Value {
    translator(dialect, options).translate(tools).request_field().to_value()
}

fn list(dialect: &str, tools: &[Value]) -> Value {
    list_with(dialect, tools, Options::default())
}

#[track_caller]
fn one(dialect: &str, tool: &Value) -> Value {
    let translator = translator(dialect, Options::default());
    let translated = translator.translate_one(tool);
    assert_eq!(translated.quarantine, None);
    translated.definition.unwrap().to_value()
}

/// The one place that compares a whole definition.
#[track_caller]
fn check(dialect: &str, tool: Value, expected: Value) {
    let expected: Value = expected;
    assert_eq!(one(dialect, &tool), expected, "{dialect}: {tool}");
    assert_eq!(list(dialect, std::slice::from_ref(&tool)), json!([expected]), "{dialect}, as a list");
}

fn tool(schema: Value) -> Value {
    json!({"name": "t", "description": "d", "inputSchema": schema})
}

/// The schema of the definition, under whatever key the dialect has for it.
#[track_caller]
fn schema(dialect: &str, input: Value) -> Value {
    let definition = one(dialect, &tool(input));
    let function = definition.get("function").unwrap_or(&definition);
    ["parameters", "input_schema", "parametersJsonSchema"]
        .iter()
        .find_map(|key| function.get(*key))
        .cloned()
        .unwrap_or_else(|| panic!("no schema in {definition}"))
}

#[track_caller]
fn check_property(dialect: &str, property: Value, expected: Value) {
    let lowered = schema(dialect, json!({"type": "object", "properties": {"p": property}}));
    assert_eq!(lowered, json!({"type": "object", "properties": {"p": expected}}), "{dialect}: {property}");
}

/// Under `argo`, `with` comes out exactly as `without` stands here.
#[track_caller]
fn check_clean(with: Value, without: Value) {
    assert_eq!(schema("argo", with.clone()), without, "{with}");
}

fn build_model() -> Value {
    json!({
        "name": "build_model",
        "description": "Build a metabolic model from genome annotation",
        "inputSchema": {
            "type": "object",
            "properties": {
                "model_id": {"type": "string", "description": "Unique identifier with .gf suffix"},
                "template": {"type": "string", "description": "Template name", "default": "auto"}
            },
            "required": ["model_id"]
        }
    })
}

// Seed 000.

#[test]
fn seed_000_schema_comparison() {
    check(
        "argo",
        build_model(),
        json!({
            "type": "function",
            "function": {
                "name": "build_model",
                "description": "Build a metabolic model from genome annotation",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "model_id": {"type": "string", "description": "Unique identifier with .gf suffix"},
                        "template": {"type": "string", "description": "Template name"}
                    },
                    "required": ["model_id"]
                }
            }
        }),
    );
}

#[test]
fn seed_000_members_come_in_the_seed_s_order() {
    let text = serde_json::to_string(&one("argo", &build_model())).unwrap();
    let expected = concat!(
        r#"{"type":"function","function":{"name":"build_model","#,
        r#""description":"Build a metabolic model from genome annotation","parameters":{"type":"object","#,
        r#""properties":{"model_id":{"type":"string","description":"Unique identifier with .gf suffix"},"#,
        r#""template":{"type":"string","description":"Template name"}},"required":["model_id"]}}}"#
    );
    assert_eq!(text, expected);
}

#[test]
fn seed_000_test_convert_basic_tool() {
    check(
        "argo",
        json!({
            "name": "test_tool",
            "description": "A test tool",
            "inputSchema": {"type": "object", "properties": {"param1": {"type": "string"}}}
        }),
        json!({
            "type": "function",
            "function": {
                "name": "test_tool",
                "description": "A test tool",
                "parameters": {"type": "object", "properties": {"param1": {"type": "string"}}}
            }
        }),
    );
}

#[test]
fn seed_000_test_removes_default_values() {
    check(
        "argo",
        json!({
            "name": "test_tool",
            "description": "Test",
            "inputSchema": {
                "type": "object",
                "properties": {"param1": {"type": "string", "default": "value"}}
            }
        }),
        json!({
            "type": "function",
            "function": {
                "name": "test_tool",
                "description": "Test",
                "parameters": {"type": "object", "properties": {"param1": {"type": "string"}}}
            }
        }),
    );
}

#[test]
fn seed_000_test_preserves_enum() {
    check_property(
        "argo",
        json!({"type": "string", "enum": ["a", "b", "c"]}),
        json!({"type": "string", "enum": ["a", "b", "c"]}),
    );
}

#[test]
fn seed_000_test_deep_copy() {
    let tool = json!({
        "name": "test_tool",
        "description": "Test",
        "inputSchema": {"type": "object", "properties": {"param1": {"type": "string", "default": "value"}}}
    });
    let before = tool.clone();
    let definition = one("argo", &tool);
    assert_eq!(tool, before);
    assert_eq!(definition["function"]["parameters"]["properties"]["param1"], json!({"type": "string"}));
}

#[test]
fn seed_000_test_convert_all_tools() {
    let tools = [
        json!({"name": "tool1", "description": "First tool", "inputSchema": {"type": "object", "properties": {}}}),
        json!({"name": "tool2", "description": "Second tool", "inputSchema": {"type": "object", "properties": {}}}),
    ];
    let expected = json!([
        {"type": "function", "function": {"name": "tool1", "description": "First tool", "parameters": {"type": "object", "properties": {}}}},
        {"type": "function", "function": {"name": "tool2", "description": "Second tool", "parameters": {"type": "object", "properties": {}}}}
    ]);
    assert_eq!(list("argo", &tools), expected);
}

#[test]
fn seed_000_test_nested_objects() {
    check_property(
        "argo",
        json!({
            "type": "object",
            "properties": {"nested_param": {"type": "string", "default": "nested_value"}}
        }),
        json!({"type": "object", "properties": {"nested_param": {"type": "string"}}}),
    );
}

#[test]
fn seed_000_rule_2_default_value_removal() {
    check_property(
        "argo",
        json!({"type": "string", "description": "A parameter", "default": "default_value"}),
        json!({"type": "string", "description": "A parameter"}),
    );
}

#[test]
fn seed_000_edge_case_empty_tools_list() {
    assert_eq!(list("argo", &[]), json!([]));
}

#[test]
fn seed_000_edge_case_tool_with_no_parameters() {
    check(
        "argo",
        json!({
            "name": "list_models",
            "description": "List all models",
            "inputSchema": {"type": "object", "properties": {}}
        }),
        json!({
            "type": "function",
            "function": {
                "name": "list_models",
                "description": "List all models",
                "parameters": {"type": "object", "properties": {}}
            }
        }),
    );
}

#[test]
fn missing_and_null_schemas_are_empty_objects() {
    let expected = json!({
        "type": "function",
        "function": {"name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}}
    });
    check("argo", json!({"name": "t", "description": "d"}), expected.clone());
    check("argo", json!({"name": "t", "description": "d", "inputSchema": null}), expected);
}

#[test]
fn seed_000_edge_case_tool_with_enum() {
    let source = json!({
        "type": "string",
        "enum": ["rast_id", "fasta_file", "annotation_dict"],
        "description": "Source type"
    });
    check_property("argo", source.clone(), source);
}

#[test]
fn seed_000_edge_case_nested_objects_with_defaults() {
    check_property(
        "argo",
        json!({"type": "object", "properties": {"timeout": {"type": "number", "default": 30}}}),
        json!({"type": "object", "properties": {"timeout": {"type": "number"}}}),
    );
}

#[test]
fn non_string_enums_are_kept() {
    let values = json!({"enum": [1, null, true, {"a": 1}, [2]]});
    check_property("argo", values.clone(), values);
}

// The ten positions of S000-3 in which the seed's own code leaves a default.

#[test]
fn default_at_the_root() {
    check_clean(
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"a": "x"}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
    );
}

#[test]
fn default_of_items_themselves() {
    check_property(
        "argo",
        json!({"type": "array", "items": {"type": "string", "default": "x"}}),
        json!({"type": "array", "items": {"type": "string"}}),
    );
}

#[test]
fn default_in_an_array_of_arrays() {
    check_property(
        "argo",
        json!({"type": "array", "items": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}}),
        json!({"type": "array", "items": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}}),
    );
}

#[test]
fn default_in_an_untyped_object() {
    check_property(
        "argo",
        json!({"properties": {"a": {"type": "string", "default": "x"}}}),
        json!({"properties": {"a": {"type": "string"}}}),
    );
}

#[test]
fn default_in_an_object_or_null() {
    check_property(
        "argo",
        json!({"type": ["object", "null"], "properties": {"a": {"type": "string", "default": "x"}}}),
        json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}}),
    );
}

#[test]
fn default_of_additional_properties_themselves() {
    check_property(
        "argo",
        json!({"type": "object", "additionalProperties": {"type": "string", "default": "x"}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
    );
}

#[test]
fn default_of_a_union_member_itself() {
    for union in ["anyOf", "oneOf", "allOf"] {
        check_property(
            "argo",
            json!({union: [{"type": "string", "default": "x"}, {"minLength": 1}]}),
            json!({union: [{"type": "string"}, {"minLength": 1}]}),
        );
    }
}

#[test]
fn default_in_a_union_inside_a_property() {
    for union in ["anyOf", "oneOf", "allOf"] {
        check_property(
            "argo",
            json!({"type": "object", "properties": {"q": {union: [
                {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
                {"type": "object"}
            ]}}}),
            json!({"type": "object", "properties": {"q": {union: [
                {"type": "object", "properties": {"a": {"type": "string"}}},
                {"type": "object"}
            ]}}}),
        );
    }
}

#[test]
fn default_in_definitions() {
    for table in ["$defs", "definitions"] {
        let reference = format!("#/{table}/Mode");
        check_clean(
            json!({
                "type": "object",
                "properties": {"p": {"$ref": reference, "default": "x"}},
                table: {"Mode": {"type": "string", "default": "x"}}
            }),
            json!({
                "type": "object",
                "properties": {"p": {"$ref": reference}},
                table: {"Mode": {"type": "string"}}
            }),
        );
    }
}

#[test]
fn default_in_tuple_items() {
    check_property(
        "argo",
        json!({"type": "array", "prefixItems": [{"type": "string", "default": "x"}, {"type": "integer"}]}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
    );
    // The list form is mended, and clean all the same.
    let listed = schema(
        "argo",
        json!({"type": "object", "properties": {"p": {"type": "array", "items": [{"type": "string", "default": "x"}]}}}),
    );
    assert!(!listed.to_string().contains("default"), "{listed}");
}

#[test]
fn default_under_every_other_keyword_that_holds_a_schema() {
    let with = json!({"type": "string", "default": "x"});
    let without = json!({"type": "string"});
    for name in [
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
        "additionalItems",
        "contentSchema",
    ] {
        // `then` and `else` say nothing without a condition, and an array needs items.
        let mut before = json!({"if": {"type": "string"}, "type": "array", "items": {}});
        let mut after = before.clone();
        before[name] = with.clone();
        after[name] = without.clone();
        check_property("argo", before, after);
    }
    for name in ["patternProperties", "dependentSchemas"] {
        check_property(
            "argo",
            json!({"type": "object", name: {"a": with}}),
            json!({"type": "object", name: {"a": without}}),
        );
    }
}

// S000-4.

#[test]
fn a_property_named_default_stays() {
    for kept in [
        json!({"type": "object", "properties": {"default": {"type": "string"}}}),
        json!({"type": "object", "properties": {"default": {"type": "string"}}, "required": ["default"]}),
        json!({"type": "object", "properties": {"properties": {"type": "object", "properties": {"default": {"type": "integer"}}}}}),
        json!({"type": "object", "properties": {"p": {"type": "object", "patternProperties": {"default": {"type": "string"}}}}}),
        json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/default"}}, "$defs": {"default": {"type": "string"}}}),
    ] {
        check_clean(kept.clone(), kept);
    }
    check_clean(
        json!({"type": "object", "properties": {"default": {"type": "string", "default": "default"}}}),
        json!({"type": "object", "properties": {"default": {"type": "string"}}}),
    );
}

#[test]
fn data_is_never_walked() {
    for kept in [
        json!({"enum": [{"default": 1}]}),
        json!({"const": {"default": 1}}),
        json!({"type": "object", "examples": [{"default": 1}]}),
        json!({"type": "object", "example": {"properties": {"default": 1}}}),
        json!({"type": "string", "x-note": {"default": 1}}),
    ] {
        check_property("argo", kept.clone(), kept);
    }
}

#[test]
fn boolean_schemas_pass() {
    for kept in [json!(true), json!(false)] {
        check_property("argo", kept.clone(), kept.clone());
        let listed = json!({"type": "array", "items": kept});
        check_property("argo", listed.clone(), listed);
    }
}

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

// Seed 001.

#[test]
fn seed_001_search_users() {
    check(
        "dial",
        json!({
            "name": "search_users",
            "description": "Search for users by criteria",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}
        }),
        json!({
            "type": "function",
            "function": {
                "name": "search_users",
                "description": "Search for users by criteria",
                "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}
            }
        }),
    );
}

#[test]
fn seed_001_defaults_survive() {
    let property = json!({"type": "string", "default": "all"});
    check_property("dial", property.clone(), property);
}

// Seed 002.

#[test]
fn seed_002_converts_tool_definitions_to_function_definitions() {
    let schema = json!({
        "type": "object",
        "properties": {"param": {"type": "string", "description": "A test parameter"}},
        "required": ["param"]
    });
    check(
        "openai-functions",
        json!({"name": "test_tool", "description": "A test tool", "inputSchema": schema}),
        json!({"name": "test_tool", "description": "A test tool", "parameters": schema}),
    );
}

#[test]
fn seed_002_handles_tool_definitions_without_schemas() {
    check(
        "openai-functions",
        json!({"name": "simple_tool", "description": "A simple tool without schema"}),
        json!({
            "name": "simple_tool",
            "description": "A simple tool without schema",
            "parameters": {"type": "object", "properties": {}, "required": []}
        }),
    );
    assert_eq!(list("openai-functions", &[]), json!([]));
}

#[test]
fn seed_002_a_schema_that_is_there_gets_no_required() {
    check(
        "openai-functions",
        json!({"name": "t", "inputSchema": {"type": "object", "properties": {}}}),
        json!({"name": "t", "description": "", "parameters": {"type": "object", "properties": {}}}),
    );
}

#[test]
fn seed_002_common_tools() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path of the file to read (relative to the current workspace directory)"},
            "start_line": {"type": "integer", "description": "The starting line number to read from (1-based)"},
            "end_line": {"type": "integer", "description": "The ending line number to read to (1-based, inclusive)"}
        },
        "required": ["path"]
    });
    check(
        "openai-functions",
        json!({"name": "read_file", "description": "Request to read the contents of a file at the specified path", "inputSchema": schema}),
        json!({"name": "read_file", "description": "Request to read the contents of a file at the specified path", "parameters": schema}),
    );
}

// Seed 004.

#[test]
fn seed_004_gemini_declaration() {
    check(
        "gemini",
        json!({
            "name": "query_nodes",
            "description": "Query nodes",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words"},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "tags": {"type": "array", "items": {"type": "string"}}
                },
                "required": ["query"]
            }
        }),
        json!({
            "name": "query_nodes",
            "description": "Query nodes",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words"},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "tags": {"type": "array", "items": {"type": "string"}}
                },
                "required": ["query"]
            }
        }),
    );
}

#[test]
fn seed_004_gemini_optional_parameter_of_fastmcp() {
    let lowered = schema(
        "gemini",
        json!({
            "type": "object",
            "properties": {"query": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Query"}}
        }),
    );
    assert_eq!(
        lowered,
        json!({
            "type": "object",
            "properties": {"query": {"type": "string", "nullable": true, "title": "Query"}}
        })
    );
}

#[test]
fn seed_004_gemini_optional_parameter_with_null_as_default() {
    let lowered = schema(
        "gemini",
        json!({
            "type": "object",
            "properties": {
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null, "title": "Limit"}
            }
        }),
    );
    let limit = &lowered["properties"]["limit"];
    assert_eq!((&limit["type"], &limit["nullable"]), (&json!("integer"), &json!(true)), "{limit}");
    assert!(limit.get("anyOf").is_none(), "{limit}");
}

#[test]
fn seed_004_gemini_leaves_an_empty_required_out() {
    let lowered =
        schema("gemini", json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": []}));
    assert_eq!(lowered, json!({"type": "object", "properties": {"a": {"type": "string"}}}));
}

#[test]
fn seed_004_gemini_loses_no_constraint_that_it_cannot_say() {
    let property = json!({"type": "object", "properties": {"n": {
        "type": "integer", "description": "N", "multipleOf": 5, "minimum": 1
    }}});
    assert_eq!(
        schema("gemini", property),
        json!({"type": "object", "properties": {"n": {
            "type": "integer",
            "description": "N\n\nConstraints: number must be a multiple of 5",
            "minimum": 1
        }}})
    );
}

#[test]
fn seed_004_openai_and_xai_keep_full_json_schema() {
    let full = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "d", "enum": ["a"], "format": "email", "nullable": true, "default": "a"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "code": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[A-Z]+$"},
            "list": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2, "uniqueItems": true},
            "inner": {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": false},
            "one": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/Step"}]},
            "step": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5, "title": "Step"}
        },
        "required": ["text"],
        "additionalProperties": false,
        "$defs": {"Step": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Step"}}}}
    });
    for dialect in ["openai", "openai-chat", "xai"] {
        check(
            dialect,
            json!({"name": "t", "description": "d", "inputSchema": full}),
            json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": full}}),
        );
    }
}

#[test]
fn seed_004_schema_source_fields() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let other = json!({"type": "object", "properties": {"b": {"type": "string"}}});
    let expected = |schema: &Value| json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": schema}});
    for key in ["inputSchema", "parameters", "schema"] {
        check("openai", json!({"name": "t", "description": "d", key: schema}), expected(&schema));
    }
    check(
        "openai",
        json!({"name": "t", "description": "d", "schema": other, "parameters": other, "inputSchema": schema}),
        expected(&schema),
    );
    check(
        "openai",
        json!({"name": "t", "description": "d"}),
        expected(&json!({"type": "object", "properties": {}})),
    );
    // A null is no schema: the next field is asked.
    check(
        "openai",
        json!({"name": "t", "description": "d", "inputSchema": null, "parameters": schema}),
        expected(&schema),
    );
}

// The other wrappers.

#[test]
fn wrappers_of_other_apis() {
    let input = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let tool = json!({"name": "t", "title": "T", "description": "d", "inputSchema": input, "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}, "_meta": {"x": 1}, "icons": []});
    let strict = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    check("anthropic", tool.clone(), json!({"name": "t", "description": "d", "input_schema": input}));
    check(
        "anthropic-strict",
        tool.clone(),
        json!({"name": "t", "description": "d", "input_schema": strict, "strict": true}),
    );
    check(
        "openai-responses",
        tool.clone(),
        json!({"type": "function", "name": "t", "description": "d", "parameters": input, "strict": false}),
    );
    check(
        "openai-responses-strict",
        tool.clone(),
        json!({"type": "function", "name": "t", "description": "d", "parameters": strict, "strict": true}),
    );
    check(
        "openai-chat-strict",
        tool.clone(),
        json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": strict, "strict": true}}),
    );
    check(
        "bedrock",
        tool.clone(),
        json!({"toolSpec": {"name": "t", "description": "d", "inputSchema": {"json": input}}}),
    );
    check("gemini", tool.clone(), json!({"name": "t", "description": "d", "parameters": input}));
    check(
        "gemini-json",
        tool.clone(),
        json!({"name": "t", "description": "d", "parametersJsonSchema": input}),
    );
    check("mcp", tool.clone(), tool.clone());
    for dialect in
        ["mistral", "cohere", "ollama", "ollama-openai", "groq", "deepseek", "moonshot", "azure-openai"]
    {
        check(
            dialect,
            tool.clone(),
            json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": input}}),
        );
    }
}
