//! Keys that travel under other names, and the rules that speak of keys.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::arguments::Validator;
use serde_json::{Map, Value, json};

use crate::counterexamples::check_expressible;
use crate::properties::{DECLARED, schema_in, tool_of};

/// Dialects that rename keys: two that edit schemas, four that rebuild them.
const RENAMING: &[&str] = &["anthropic", "bedrock", "anthropic-strict", "gemini", "gemini-json", "vertex"];

const EDITED: &[&str] = &["anthropic", "bedrock"];

#[track_caller]
fn check(dialects: &[&str], schema: &Value, valid: &[Value]) {
    for dialect in dialects {
        for arguments in valid {
            check_expressible(dialect, schema, arguments);
        }
    }
}

/// What `dialect` makes of `schema`, for keywords that must still bite.
fn lowered(dialect: &str, schema: &Value) -> Value {
    let translator = DECLARED.iter().find(|translator| translator.dialect().name == dialect).unwrap();
    let tool = tool_of(schema);
    schema_in(&translator.translate_one(&tool).definition.unwrap().to_value()).unwrap()
}

#[test]
fn a_declared_key_is_never_taken_for_an_undeclared_one() {
    let text = json!({"type": "string"});
    let longer = json!({"type": "object", "properties": {"a b": text, "a_b_": text}, "required": ["a_b_"]});
    check(RENAMING, &longer, &[json!({"a b": "x", "a_b_": "y"}), json!({"a_b_": "y"})]);
    let both = json!({"type": "object", "properties": {"a b": text, "a_b": text, "a_b__": text}});
    check(RENAMING, &both, &[json!({"a b": "x", "a_b": "y", "a_b__": "z"})]);
    let renamed = json!({"type": "object", "properties": {"a b": text, "a b_": text, "a:b__": text}});
    check(RENAMING, &renamed, &[json!({"a b": "x", "a b_": "y", "a:b__": "z"})]);
    let far = json!({
        "type": "object",
        "properties": {"a b": text, "o": {"type": "object", "properties": {"a b": text, "a_b__": text}}}
    });
    check(RENAMING, &far, &[json!({"a b": "x", "o": {"a b": "y", "a_b__": "z"}})]);
    let many: Map<String, Value> =
        (0..12).flat_map(|n| [(format!("k {n}"), text.clone()), (format!("k_{n}_"), text.clone())]).collect();
    let values: Map<String, Value> = many.keys().map(|key| (key.clone(), json!(key))).collect();
    check(RENAMING, &json!({"type": "object", "properties": many}), &[Value::Object(values)]);
}

#[test]
fn undeclared_keys_that_look_like_renamed_ones_come_back() {
    let schema =
        json!({"type": "object", "properties": {"a b": {"type": "string"}, "é": {"type": "string"}}});
    let arguments = json!({"a b": "x", "a_b": 1, "a_b_": 2, "a_b__": 3, "é": "y", "_": 4, "__": 5, "": 6});
    check(RENAMING, &schema, &[arguments]);
}

#[test]
fn rules_about_the_look_of_keys_do_not_judge_their_other_names() {
    let text = json!({"type": "string"});
    let properties = json!({"a b": text});
    for (keyword, rule, arguments) in [
        ("propertyNames", json!({"enum": ["a b"]}), json!({"a b": "x"})),
        ("propertyNames", json!({"pattern": " "}), json!({"a b": "x"})),
        ("propertyNames", json!({"maxLength": 3}), json!({"a b": "x", "a_b": 1})),
        ("patternProperties", json!({"_": {"type": "integer"}}), json!({"a b": "x"})),
        (
            "patternProperties",
            json!({"^a_b_": {"type": "integer"}}),
            json!({"a b": "x", "a_b": "y", "a_b_": 1}),
        ),
    ] {
        let mut beside = json!({"type": "object", "properties": properties});
        beside[keyword] = rule.clone();
        let mut apart = json!({"properties": {"v": {"allOf": [{"$ref": "#/$defs/A"}, {}]}}});
        apart["properties"]["v"]["allOf"][1][keyword] = rule.clone();
        apart["type"] = json!("object");
        apart["$defs"] = json!({"A": {"type": "object", "properties": properties}});
        let inner = json!({ "v": arguments });
        check(EDITED, &beside, &[arguments]);
        check(EDITED, &apart, &[inner]);
        let told = lowered("anthropic", &beside)["description"].as_str().unwrap().to_owned();
        assert!(told.contains(&rule.to_string()) || told.contains("a b") || told.contains('3'), "{told}");
    }
    let closed = json!({
        "type": "object",
        "required": ["a b"],
        "patternProperties": {"^a b$": text},
        "additionalProperties": false
    });
    check(EDITED, &closed, &[json!({"a b": "x"})]);
    // Elsewhere they stay what they are.
    let other = json!({
        "type": "object",
        "properties": {"a b": text, "m": {"type": "object", "patternProperties": {"^x": text}, "propertyNames": {"maxLength": 3}}}
    });
    let kept = lowered("anthropic", &other);
    assert_eq!(kept["properties"]["m"], other["properties"]["m"]);
}

#[test]
fn refused_schemas_do_not_judge_other_names_either() {
    let schema = json!({
        "type": "object",
        "properties": {"a b": {"type": "string"}},
        "not": {"patternProperties": {"^a_b$": false}, "minProperties": 2}
    });
    check(EDITED, &schema, &[json!({"a b": "x"})]);
    let schema = json!({
        "type": "object",
        "properties": {"v": {"type": "object", "properties": {"a b": true}, "not": {"propertyNames": {"pattern": "_"}}}}
    });
    check(EDITED, &schema, &[json!({"v": {"a b": "x"}})]);
}

#[test]
fn schemas_refused_inside_refused_ones_do_not_judge_other_names_either() {
    let rule = json!({"propertyNames": {"pattern": "^[a-z ]+$"}});
    for refused in [
        json!({ "not": rule }),
        json!({"anyOf": [{ "not": rule }]}),
        json!({"not": {"allOf": [{"$ref": "#/$defs/P"}]}}),
        json!({"not": {"not": { "not": rule }}}),
    ] {
        let schema = json!({
            "type": "object",
            "properties": {"a b": {"type": "string"}},
            "not": refused,
            "$defs": {"P": {"patternProperties": {"_": false}}}
        });
        check(EDITED, &schema, &[json!({"a b": "x"}), json!({"a b": "x", "z": 1})]);
    }
    let below = json!({
        "type": "object",
        "properties": {"v": {"type": "object", "properties": {"a b": {"type": "string"}}}},
        "not": {"not": {"properties": {"v": rule}}}
    });
    check(EDITED, &below, &[json!({"v": {"a b": "x"}})]);
}

#[test]
fn declared_keys_do_not_travel_like_the_others() {
    let other = json!({"type": "object", "properties": {"x y": {"type": "integer"}}});
    for keyword in ["additionalProperties", "unevaluatedProperties"] {
        let mut schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "propertyNames": {"pattern": " "}},
            "b": {"type": "object", "patternProperties": {" ": {"type": "integer"}}, "additionalProperties": false}
        }});
        schema[keyword] = other.clone();
        check(
            EDITED,
            &schema,
            &[json!({"a": {"x y": 1}}), json!({"b": {"x y": 1}}), json!({"c": {"x y": 1}, "a": {}})],
        );
    }
}

#[test]
fn declared_keys_follow_every_rule_that_speaks_of_them() {
    let other = json!({"type": "object", "properties": {"x y": {"type": "integer"}}, "required": ["x y"]});
    let own = json!({"type": "object", "properties": {"q q": true}});
    let valid = [json!({"v": {"ab": {"x y": 1}}}), json!({"v": {"ab": {"x y": 1, "q q": 2}}})];
    for rule in [
        json!({"type": "object", "properties": {"ab": own}, "patternProperties": {"^a": other}}),
        json!({"allOf": [{"type": "object", "properties": {"ab": own}}, {"type": "object", "additionalProperties": other}]}),
        json!({"anyOf": [{"type": "object", "properties": {"ab": own}, "required": ["z"]}, {"type": "object", "additionalProperties": other}]}),
        json!({"allOf": [{"type": "object", "properties": {"ab": own}}], "unevaluatedProperties": false, "patternProperties": {"b$": other}}),
    ] {
        let schema = json!({"type": "object", "properties": { "v": rule }});
        check(EDITED, &schema, &valid);
    }
    let items = json!({"type": "object", "properties": {"v": {"type": "array", "unevaluatedItems": other}}});
    check(EDITED, &items, &[json!({"v": [{"x y": 1}]})]);
}

#[test]
fn keys_are_renamed_in_however_many_alternatives() {
    let one = |n: usize| {
        let key = format!("k {n}");
        json!({"type": "object", "properties": {&key: {"type": "string"}}, "required": [&key], "additionalProperties": false})
    };
    let any =
        json!({"type": "object", "properties": {"v": {"anyOf": (0..300).map(one).collect::<Vec<_>>()}}});
    check(EDITED, &any, &[json!({"v": {"k 1": "x"}}), json!({"v": {"k 299": "x"}})]);
    let mut definitions = Map::new();
    for n in 0..600 {
        definitions.insert(
            format!("d{n}"),
            json!({"properties": {format!("k {n}"): {"type": "string"}}, "$ref": format!("#/$defs/d{}", n + 1)}),
        );
    }
    definitions.insert(
        "d600".to_owned(),
        json!({"properties": {"k 600": {"type": "string"}}, "required": ["k 600"]}),
    );
    let chain = json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    check(EDITED, &chain, &[json!({"v": {"k 0": "x", "k 600": "y"}})]);
}

#[test]
fn a_schema_with_too_many_ways_to_a_renamed_key_is_left_out() {
    let mut definitions = Map::new();
    for n in 0..2000 {
        let next = format!("#/$defs/d{}", n + 1);
        definitions
            .insert(format!("d{n}"), json!({"allOf": [{"$ref": next}], "properties": {"x": {"$ref": next}}}));
    }
    definitions.insert("d2000".to_owned(), json!({"properties": {"a b": {"type": "string"}}}));
    let schema = json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    let translator = DECLARED.iter().find(|translator| translator.dialect().name == "anthropic").unwrap();
    let reason = translator.translate_one(&tool_of(&schema)).quarantine.unwrap();
    assert!(reason.contains("MCP_TOOL_SCHEMA_UNBOUNDED"), "{reason}");
}

#[test]
fn dynamic_references_are_followed() {
    let named = json!({
        "type": "object",
        "properties": {"v": {"$dynamicRef": "#node"}},
        "$defs": {"n": {
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"a b": {"type": "string"}, "n": {"$dynamicRef": "#node"}},
            "required": ["a b"]
        }}
    });
    check(EDITED, &named, &[json!({"v": {"a b": "x", "n": {"a b": "y"}}})]);
    let recursive = json!({
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": true,
        "type": "object",
        "properties": {"a b": {"type": "string"}, "n": {"$recursiveRef": "#"}},
        "required": ["a b"]
    });
    check(EDITED, &recursive, &[json!({"a b": "x", "n": {"a b": "y"}})]);
}

#[test]
fn references_inside_a_part_with_an_id_are_followed() {
    let schema = json!({
        "type": "object",
        "properties": {"v": {"anyOf": [{
            "$id": "http://example.com/part",
            "$ref": "#/$defs/n",
            "$defs": {"n": {"type": "object", "properties": {"a b": {"type": "string"}}, "required": ["a b"]}}
        }]}}
    });
    check(EDITED, &schema, &[json!({"v": {"a b": "x"}})]);
}

#[test]
fn dependent_schemas_follow_the_key() {
    let schema = json!({
        "type": "object",
        "properties": {"a b": {"type": "string"}, "c": {"type": "string"}},
        "dependentSchemas": {"a b": {"required": ["c"]}, "d e": {"properties": {"c": {"maxLength": 1}}}}
    });
    check(EDITED, &schema, &[json!({"a b": "x", "c": "y"}), json!({"c": "yy"}), json!({"d e": 1, "c": "y"})]);
    for dialect in EDITED {
        let reader = Validator::new(&lowered(dialect, &schema));
        assert!(!reader.is_valid(&json!({"a_b": "x"})), "{dialect}: the rule is dead");
        assert!(!reader.is_valid(&json!({"d_e": 1, "c": "yy"})), "{dialect}: the rule is dead");
    }
    let referred = json!({
        "type": "object",
        "properties": {"v": {"$ref": "#/dependentSchemas/a%20b/properties/a%20b"}, "a b": true},
        "dependentSchemas": {"a b": {"properties": {"a b": {"type": "string"}}}}
    });
    assert_eq!(Validator::new(&lowered("anthropic", &referred)).omissions(), []);
    check(EDITED, &referred, &[json!({"v": "x", "a b": "y"})]);
}

#[test]
fn schemas_in_old_dependencies_are_edited() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"k": {"type": "string"}, "l": {"type": "string"}},
        "dependencies": {"k": {"properties": {"a b": {"type": "integer"}}, "required": ["a b"]}, "l": ["k"]}
    });
    check(EDITED, &schema, &[json!({"k": "x", "a b": 1}), json!({"a b": "y"})]);
    let reader = Validator::new(&lowered("anthropic", &schema));
    assert!(!reader.is_valid(&json!({"k": "x"})), "the rule is dead");
    assert!(!reader.is_valid(&json!({"l": "x"})), "the rule is dead");
    let rule = &lowered("anthropic", &schema)["dependencies"]["k"];
    assert_eq!(*rule, json!({"properties": {"a_b": {"type": "integer"}}, "required": ["a_b"]}));
}

#[test]
fn required_names_that_slipped_into_properties_are_renamed() {
    let schema =
        json!({"type": "object", "properties": {"a b": {"type": "string"}, "required": ["a b", "c d"]}});
    for dialect in EDITED {
        let lowered = lowered(dialect, &schema);
        assert_eq!(lowered["required"], json!(["a_b", "c_d"]));
        let translator = DECLARED.iter().find(|translator| translator.dialect().name == *dialect).unwrap();
        let plan = translator.translate_one(&tool_of(&schema)).plan;
        let arguments = json!({"a b": "x", "c d": 1});
        let encoded = plan.encode(&arguments).unwrap();
        assert_eq!(encoded, json!({"a_b": "x", "c_d": 1}));
        assert_eq!(plan.decode(&encoded).unwrap(), arguments);
    }
}
