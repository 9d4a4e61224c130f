//! Properties that only an alternative, a condition or a pattern speaks of: what is declared or invited gets through by default.

use serde_json::{Value, json};

use crate::counterexamples::check_expressible_by;
use crate::properties::{ALL, DECLARED};

/// Dialects of every kind: objects closed, only declared properties, open, edited.
const KINDS: &[&str] = &[
    "openai-chat-strict",
    "deepseek-strict",
    "anthropic-strict",
    "gemini",
    "vertex",
    "gemini-json",
    "ollama",
    "anthropic",
    "bedrock",
    "mistral",
    "cohere",
];

/// `valid` arguments get through for `schema`, and as the value of a property that has it.
#[track_caller]
pub(crate) fn check(schema: &Value, valid: &[Value]) {
    let inner = json!({"type": "object", "properties": {"v": schema}, "$defs": schema["$defs"]});
    let inner = if schema.get("$defs").is_some() { inner } else { without_definitions(inner) };
    for dialect in KINDS {
        for arguments in valid {
            for translators in [&DECLARED, &ALL] {
                check_expressible_by(translators, dialect, schema, arguments);
                check_expressible_by(translators, dialect, &inner, &json!({ "v": arguments }));
            }
        }
    }
}

fn without_definitions(mut schema: Value) -> Value {
    if let Value::Object(map) = &mut schema {
        map.remove("$defs");
    }
    schema
}

pub(crate) fn text() -> Value {
    json!({"type": "string"})
}

pub(crate) fn number() -> Value {
    json!({"type": "integer"})
}

/// An object with one property that is a number.
pub(crate) fn with(key: &str) -> Value {
    json!({"type": "object", "properties": {key: number()}})
}

#[test]
fn an_alternative_that_is_a_map_invites_what_another_declares() {
    for more in [text(), json!(true), json!({"type": ["string", "null"]})] {
        let schema = json!({
            "type": "object",
            "properties": {"a": text()},
            "anyOf": [{"properties": {"b": number()}, "required": ["b"]}, {"additionalProperties": more}]
        });
        check(&schema, &[json!({"b": 1}), json!({"c": "z"})]);
        // Room for any key makes nothing of what is said about this one.
        if more.is_object() {
            check(&schema, &[json!({"a": "x", "b": "y"})]);
        }
    }
    let patterns = json!({
        "type": "object",
        "properties": {"a": text()},
        "anyOf": [{"properties": {"b": number()}, "required": ["b"]}, {"patternProperties": {"^b": text()}}]
    });
    check(&patterns, &[json!({"b": 1}), json!({"b": "y"}), json!({"bb": "z"})]);
}

#[test]
fn an_open_object_invites_what_its_conditions_declare() {
    let condition = json!({"properties": {"b": number()}});
    for (more, value) in [(json!(true), json!(2)), (json!({"type": ["string", "integer"]}), json!("x"))] {
        for rule in [
            json!({"if": {"required": ["a"]}, "then": condition}),
            json!({"if": {"required": ["c"]}, "then": {}, "else": condition}),
            json!({"dependentSchemas": {"a": condition}}),
            json!({"then": condition}),
            json!({"else": condition}),
        ] {
            let mut schema = json!({"type": "object", "properties": {"a": text(), "c": text()}});
            schema["additionalProperties"] = more.clone();
            for (keyword, value) in rule.as_object().into_iter().flatten() {
                schema[keyword] = value.clone();
            }
            let unmet = if rule.get("else").is_some() { "c" } else { "d" };
            let unmet = json!({unmet: "y", "b": value});
            check(&schema, &[json!({"a": "x", "b": 1}), unmet]);
        }
    }
}

#[test]
fn what_says_nothing_declares_nothing() {
    let schema = json!({
        "type": "object",
        "properties": {"v": {"type": "object", "then": {"properties": {"b": number()}}}}
    });
    for dialect in KINDS {
        check_expressible_by(&DECLARED, dialect, &schema, &json!({"v": {"b": "x", "c": 1}}));
    }
}

#[test]
fn conditions_invite_properties_without_naming_them() {
    for invitation in [
        json!({"additionalProperties": text()}),
        json!({"additionalProperties": true}),
        json!({"patternProperties": {"^x": text()}}),
    ] {
        for rule in [
            json!({"if": {"required": ["a"]}, "then": invitation}),
            json!({"if": {"required": ["z"]}, "else": invitation}),
            json!({"dependentSchemas": {"a": invitation}}),
            json!({"anyOf": [invitation, {"properties": {"a": number()}}]}),
        ] {
            let mut schema = json!({"type": "object", "properties": {"a": text()}});
            for (keyword, value) in rule.as_object().into_iter().flatten() {
                schema[keyword] = value.clone();
            }
            check(&schema, &[json!({"a": "x", "xx": "y"})]);
        }
    }
}

#[test]
fn members_of_a_declared_property_may_come_from_elsewhere() {
    let v = json!({"v": {"p": 1, "q": 2}});
    let beside = |keyword: &str, value: Value| {
        let mut schema = json!({"type": "object", "properties": {"v": with("p")}});
        schema[keyword] = value;
        schema
    };
    let more = json!({"properties": {"v": with("q")}});
    check(&beside("patternProperties", json!({"^v": with("q")})), std::slice::from_ref(&v));
    check(&beside("anyOf", json!([more, {"required": ["w"]}])), std::slice::from_ref(&v));
    check(&beside("dependentSchemas", json!({"v": more})), std::slice::from_ref(&v));
    let mut conditional = beside("if", json!({"required": ["v"]}));
    conditional["then"] = more.clone();
    check(&conditional, std::slice::from_ref(&v));
    // Through a reference, and in the items of a list.
    let mut referred = beside("anyOf", json!([{"properties": {"v": {"$ref": "#/$defs/q"}}}]));
    referred["$defs"] = json!({"q": with("q")});
    check(&referred, &[v]);
    let items = json!({
        "type": "object",
        "properties": {"v": {"type": "array", "items": with("p")}},
        "dependentSchemas": {"v": {"properties": {"v": {"items": with("q")}}}}
    });
    check(&items, &[json!({"v": [{"p": 1, "q": 2}]})]);
    let tuple = json!({
        "type": "object",
        "properties": {"v": {"type": "array", "prefixItems": [with("p")], "items": with("r")}},
        "dependentSchemas": {"v": {"properties": {"v": {"prefixItems": [with("q")], "items": with("s")}}}}
    });
    check(&tuple, &[json!({"v": [{"p": 1, "q": 2}, {"r": 3, "s": 4}]})]);
}

#[test]
fn members_of_invited_properties_may_come_from_several_rules() {
    let maps = json!({
        "type": "object",
        "properties": {"a": text()},
        "allOf": [{"patternProperties": {"^x": with("p")}}, {"patternProperties": {"y$": with("q")}}],
        "additionalProperties": with("r")
    });
    check(&maps, &[json!({"xy": {"p": 1, "q": 2, "r": 3}})]);
    let two = json!({
        "type": "object",
        "patternProperties": {"^x": with("p"), "y$": with("q")},
        "additionalProperties": false
    });
    check(&two, &[json!({"xy": {"p": 1, "q": 2}}), json!({"xx": {"p": 1}})]);
}

#[test]
fn unions_beside_each_other_are_multiplied_for_one_key() {
    let schema = json!({
        "type": "object",
        "properties": {"a": text()},
        "allOf": [
            {"anyOf": [{"properties": {"b": text()}, "required": ["b"]}, {"required": ["a"]}]},
            {"anyOf": [{"properties": {"b": number()}, "required": ["b"]}, {"required": ["a"]}]}
        ]
    });
    check(&schema, &[json!({"a": "x", "b": 1}), json!({"a": "x", "b": "y"})]);
}

#[test]
fn names_that_only_an_alternative_requires_can_be_sent() {
    let schema = json!({
        "type": "object",
        "properties": {"a": text()},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}]
    });
    check(&schema, &[json!({"a": "x"}), json!({"b": {"c": [1]}})]);
}

#[test]
fn conditions_inside_conditions_lose_nothing() {
    let mut schema = number();
    let mut value = json!(3);
    for depth in 1..7 {
        schema = json!({
            "type": "object",
            "properties": {"a": number()},
            "if": {"required": ["a"]},
            "then": {"properties": {"b": schema}}
        });
        value = json!({"a": depth, "b": value});
        check(&schema, std::slice::from_ref(&value));
    }
}

#[test]
fn conditions_that_lead_back_to_themselves_lose_nothing() {
    let schema = json!({
        "type": "object",
        "properties": {"a": number()},
        "dependentSchemas": {"a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"properties": {"b": {
            "type": "object",
            "properties": {"a": number()},
            "if": {"required": ["a"]},
            "then": {"$ref": "#/$defs/n"}
        }}}}
    });
    let mut value = json!({"a": 0});
    for depth in 1..6 {
        value = json!({"a": depth, "b": value});
        check(&schema, std::slice::from_ref(&value));
    }
}
