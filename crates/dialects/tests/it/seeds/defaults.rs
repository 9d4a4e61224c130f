//! Seed 000: defaults, the ten positions in which its own code leaves one (S000-3), and what only looks like one (S000-4).

use serde_json::{Value, json};

use super::{check_property, one_with, schema, tool, verbatim};

/// Under `argo`, `with` comes out exactly as `without` stands here.
#[track_caller]
fn check_clean(with: Value, without: Value) {
    assert_eq!(schema("argo", with.clone()), without, "{with}");
    let definition = one_with("argo", &tool(with.clone()), verbatim());
    assert_eq!(definition["function"]["parameters"], without, "verbatim: {with}");
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
    // The list form is repaired, and clean all the same.
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

#[test]
fn the_default_of_an_alternative_is_no_rule_in_words() {
    let words = |given: Value| schema("argo", given)["description"].as_str().map(str::to_owned);
    assert_eq!(words(json!({"type": "object", "anyOf": [{"default": {}}, {}]})), None);
    let empty = json!({"type": "object", "anyOf": [{"default": {}}, {"required": ["a"]}]});
    assert_eq!(words(empty), None, "one alternative asks for nothing");
    let inner = json!({"default": {"b": 1}, "anyOf": [{"required": ["b"], "default": {}}]});
    let alternatives = json!({"type": "object", "oneOf": [{"required": ["a"], "default": {"a": 1}}, inner]});
    let words = words(alternatives).unwrap();
    assert!(words.contains("required: a | ") && !words.contains("default"), "{words}");
}
