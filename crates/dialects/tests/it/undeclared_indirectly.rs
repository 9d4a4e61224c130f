//! Properties that a schema is about without declaring them: closed objects must not keep them out.

use serde_json::{Value, json};

use crate::properties::DECLARED;
use crate::undeclared::{check, number, text, with};

/// An object with the property `a` and one more rule.
fn beside(keyword: &str, rule: Value) -> Value {
    let mut schema = json!({"type": "object", "properties": {"a": text()}});
    schema[keyword] = rule;
    schema
}

#[test]
fn what_one_item_must_have_can_be_sent() {
    let some = json!({"properties": {"b": {"const": 1}}, "required": ["b"]});
    let items = json!({"type": "object", "properties": {"a": text()}});
    let list = |keyword: &str, rule: Value| {
        json!({"type": "object", "properties": {
            "v": {"type": "array", "contains": some, keyword: rule}
        }})
    };
    let valid = json!({"v": [{"a": "x"}, {"a": "y", "b": 1}]});
    // Another item may have another value: nothing forbids it.
    let others = json!({"v": [{"a": "x", "b": "z"}, {"b": 1}]});
    check(&list("items", items.clone()), &[valid.clone(), others.clone()]);
    check(&list("prefixItems", json!([items, items])), &[valid.clone(), others]);
    let condition = json!({
        "type": "object",
        "properties": {"v": {"type": "array", "items": items}},
        "dependentSchemas": {"v": {"properties": {"v": {"contains": some}}}}
    });
    check(&condition, std::slice::from_ref(&valid));
    let referred = json!({
        "type": "object",
        "properties": {"v": {"type": "array", "items": items, "contains": {"$ref": "#/$defs/s"}}},
        "$defs": {"s": some}
    });
    check(&referred, &[valid]);
    let many = json!({"type": "object", "properties": {
        "v": {"type": "array", "items": items, "contains": {"minProperties": 2}}
    }});
    check(&many, &[json!({"v": [{"a": "x", "z": 1}]})]);
}

#[test]
fn names_that_go_together_can_be_sent() {
    for (keyword, rule) in [
        ("dependentRequired", json!({"a": ["b"], "c": ["d"]})),
        ("dependencies", json!({"a": ["b"], "c": ["d"]})),
        ("dependentSchemas", json!({"a": {"required": ["b"]}, "c": {"required": ["d"]}})),
        ("dependencies", json!({"a": {"required": ["b"]}, "c": {"dependentRequired": {"c": ["d"]}}})),
        ("anyOf", json!([{"dependentRequired": {"a": ["b"]}}, {"dependentRequired": {"c": ["d"]}}])),
        ("allOf", json!([{"dependentRequired": {"a": ["b"]}}, {"dependentRequired": {"c": ["d"]}}])),
    ] {
        check(&beside(keyword, rule), &[json!({"a": "x", "b": {"z": [1]}}), json!({"c": 1, "d": "y"})]);
    }
}

#[test]
fn names_that_go_together_below_a_condition_can_be_sent() {
    let inner = json!({"properties": {"v": {"required": ["b"]}}});
    let schema = json!({
        "type": "object",
        "properties": {"v": {"type": "object", "properties": {"a": text()}}, "w": text()},
        "dependentSchemas": {"w": inner}
    });
    check(&schema, &[json!({"w": "x", "v": {"a": "y", "b": 1}})]);
}

#[test]
fn more_properties_than_are_declared_can_be_sent() {
    for rule in [
        ("minProperties", json!(2)),
        ("allOf", json!([{"minProperties": 2}])),
        ("anyOf", json!([{"minProperties": 2}, {"required": ["a"]}])),
        ("dependentSchemas", json!({"a": {"minProperties": 2}})),
    ] {
        check(&beside(rule.0, rule.1), &[json!({"a": "x", "z": {"y": 1}})]);
    }
    let mut never = beside("minProperties", json!(2));
    never["properties"]["b"] = json!(false);
    check(&never, &[json!({"a": "x", "z": 1})]);
    let mut pairs = beside("minProperties", json!(2));
    pairs["dependentSchemas"] = json!({"a": {"properties": {"b": number()}}});
    check(&pairs, &[json!({"a": "x", "b": 1})]);
}

#[test]
fn enough_declared_properties_need_no_carrier() {
    let mut schema = beside("minProperties", json!(2));
    schema["properties"]["b"] = number();
    let strict = DECLARED.iter().find(|translator| translator.dialect().name == "anthropic-strict");
    let tool = json!({"name": "t", "inputSchema": schema});
    let lowered = strict.map(|strict| strict.translate_one(&tool).definition.map(|tool| tool.to_value()));
    let properties = lowered.flatten().map(|tool| tool["input_schema"]["properties"].clone());
    assert_eq!(properties, Some(json!({"a": text(), "b": number()})));
}

#[test]
fn names_that_only_a_question_has_can_be_sent() {
    let asked = json!({"properties": {"kind": {"const": "x"}}, "required": ["kind"]});
    for outcome in ["then", "else"] {
        let mut schema = beside("if", asked.clone());
        schema[outcome] = json!({"required": ["a"]});
        let valid = [json!({"a": "y", "kind": "x"}), json!({"a": "y", "kind": "y"}), json!({"a": "y"})];
        check(&schema, &valid);
        schema["if"] = json!({"$ref": "#/$defs/q"});
        schema["$defs"] = json!({"q": {"anyOf": [asked, {"required": ["other"]}]}});
        check(&schema, &valid);
        check(&schema, &[json!({"a": "y", "other": 1})]);
    }
    // Inside a property that is declared, whatever the answer is.
    let nested = json!({
        "type": "object",
        "properties": {"v": with("p"), "w": text()},
        "if": {"properties": {"v": {"properties": {"q": {"const": 1}}, "required": ["q"]}}},
        "then": {"required": ["w"]}
    });
    check(&nested, &[json!({"v": {"p": 1, "q": 1}, "w": "x"}), json!({"v": {"q": "z"}})]);
}

#[test]
fn a_question_without_an_outcome_declares_nothing() {
    let schema = beside("if", json!({"properties": {"b": number()}}));
    let strict = DECLARED.iter().find(|translator| translator.dialect().name == "anthropic-strict");
    let tool = json!({"name": "t", "inputSchema": schema});
    let lowered = strict.map(|strict| strict.translate_one(&tool).definition.map(|tool| tool.to_value()));
    let properties = lowered.flatten().map(|tool| tool["input_schema"]["properties"].clone());
    assert_eq!(properties, Some(json!({"a": text()})));
}

#[test]
fn what_is_denied_twice_holds() {
    let schema = beside("not", json!({"not": {"properties": {"b": number()}, "required": ["b"]}}));
    check(&schema, &[json!({"a": "x", "b": 1})]);
    let twice = beside("not", json!({"not": {"not": {"not": {"required": ["b"]}}}}));
    check(&twice, &[json!({"a": "x", "b": [1]})]);
}

#[test]
fn listed_names_can_be_sent() {
    for names in [
        json!({"enum": ["a", "b"]}),
        json!({"anyOf": [{"const": "a"}, {"const": "b"}]}),
        json!({"oneOf": [{"enum": ["a"]}, {"anyOf": [{"const": "b"}]}]}),
        json!({"allOf": [{"enum": ["b", "a"]}, {"type": "string"}]}),
    ] {
        check(&beside("propertyNames", names), &[json!({"a": "x", "b": {"z": 1}})]);
    }
    let many: Vec<String> = (0..80).map(|number| format!("k{number}")).chain(["a".to_owned()]).collect();
    check(&beside("propertyNames", json!({ "enum": many })), &[json!({"a": "x", "k7": 1, "k70": 2})]);
}

#[test]
fn objects_that_declare_nothing_still_take_every_key() {
    for (keyword, rule) in [
        ("dependentRequired", json!({"x": ["y"]})),
        ("minProperties", json!(1)),
        ("propertyNames", json!({"pattern": "^z"})),
    ] {
        let mut inner = json!({"type": "object"});
        inner[keyword] = rule;
        let schema = json!({"type": "object", "properties": {"v": inner}});
        check(&schema, &[json!({"v": {"z": 1}})]);
    }
    let question =
        json!({"type": "object", "if": {"properties": {"b": number()}}, "then": {"minProperties": 1}});
    let schema = json!({"type": "object", "properties": {"v": question}});
    check(&schema, &[json!({"v": {"z": 1, "b": 2}})]);
}
