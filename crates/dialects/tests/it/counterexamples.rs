//! What the properties found, each as a case of its own.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::Translator;
use gateway_dialects::arguments::Validator;
use serde_json::{Value, json};

use crate::properties::{ALL, DECLARED, schema_in, tool_of};

/// Valid `arguments` travel in a form that the lowered schema accepts, and come back.
#[track_caller]
pub(crate) fn check_expressible(dialect: &str, schema: &Value, arguments: &Value) {
    check_expressible_by(&ALL, dialect, schema, arguments);
}

#[track_caller]
pub(crate) fn check_expressible_by(
    translators: &[Translator],
    dialect: &str,
    schema: &Value,
    arguments: &Value,
) {
    assert!(Validator::new(schema).is_valid(arguments), "the case itself is wrong");
    let translator = translators.iter().find(|translator| translator.dialect().name == dialect).unwrap();
    let tool = tool_of(schema);
    let translated = translator.translate_one(&tool);
    let lowered = schema_in(&translated.definition.unwrap().to_value()).unwrap();
    let encoded = translated.plan.encode(arguments).unwrap();
    assert!(Validator::new(&lowered).is_valid(&encoded), "{encoded} is refused by {lowered}");
    assert_eq!(&translated.plan.decode(&encoded).unwrap(), arguments);
}

#[test]
fn required_names_that_no_property_has_can_still_be_sent() {
    let schema = json!({"type": "object", "properties": {}, "required": ["ключ"]});
    for dialect in ["anthropic", "bedrock", "anthropic-strict", "openai-chat", "openai-chat-strict"] {
        check_expressible(dialect, &schema, &json!({"ключ": "a"}));
    }
}

#[test]
fn branches_of_a_map_are_chosen_through_references() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "object", "patternProperties": {"^a": {"$ref": "#/$defs/A"}}}},
        "$defs": {"A": {"type": "string"}}
    });
    for dialect in ["anthropic-strict", "openai-chat-strict"] {
        check_expressible(dialect, &schema, &json!({"a": {"type": 1, "ab": "x"}}));
    }
}

#[track_caller]
fn check_settled(dialect: &str, schema: &Value) {
    let translator = DECLARED.iter().find(|translator| translator.dialect().name == dialect).unwrap();
    let tool = tool_of(schema);
    let first = translator.translate_one(&tool).definition.unwrap().to_value();
    let again = tool_of(&schema_in(&first).unwrap());
    assert_eq!(translator.translate_one(&again).definition.unwrap().to_value(), first, "{dialect}");
}

#[test]
fn a_repaired_format_is_judged_like_any_other() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "format": false}}});
    for dialect in ["openai-compatible", "openai-chat", "llamacpp"] {
        check_settled(dialect, &schema);
    }
}

#[test]
fn a_folded_root_follows_the_layer_too() {
    let schema = json!({
        "type": "object",
        "allOf": [{"properties": {"b": {"type": "number"}}, "additionalProperties": false}]
    });
    for layer in ["anthropic-compat", "openai-reasoning", "google-compat", "universal"] {
        check_settled(layer, &schema);
    }
}

#[test]
fn an_alternative_is_taken_only_where_its_lowered_form_takes_the_value() {
    let through_a_reference = json!({
        "type": "object",
        "properties": {"x.y": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "object", "properties": {}}]}},
        "$defs": {"B": {"type": "object", "properties": {"": true}, "required": [""]}}
    });
    check_expressible("gemini-json", &through_a_reference, &json!({"x.y": {"1st": 0.5}}));
    let member_behind_a_reference = json!({
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/C"}}}, {}]}},
        "$defs": {"C": {"type": "string"}}
    });
    for dialect in ["anthropic-strict", "openai-chat-strict", "moonshot"] {
        check_expressible(dialect, &member_behind_a_reference, &json!({"a": {"a": 1}}));
        check_expressible(dialect, &member_behind_a_reference, &json!({"a": [1, "b"]}));
    }
}

#[test]
fn tags_of_alternatives_inside_alternatives_are_not_confused() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"anyOf": [
            {"type": "array"},
            {"type": "array", "items": {"type": "string"}},
            {"anyOf": [{"$ref": "#/$defs/B"}, {"$ref": "#/$defs/C"}]}
        ]}},
        "$defs": {"B": {"$ref": "#/$defs/C"}, "C": {"anyOf": [{"type": "string"}, true]}}
    });
    for arguments in [json!({"a": {}}), json!({"a": [{}]}), json!({"a": "x"}), json!({"a": {"option_1": {}}})]
    {
        check_expressible("anthropic-strict", &schema, &arguments);
    }
}

#[test]
fn items_that_the_dialect_wants_leave_none_unevaluated() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"$ref": "#/$defs/C"}]}},
        "$defs": {"C": {"type": "array", "unevaluatedItems": {"type": "number"}}}
    });
    for dialect in ["anthropic-compat", "openai-chat", "anthropic"] {
        check_expressible(dialect, &schema, &json!({"a": ["a", "a"]}));
    }
}

#[test]
fn bounds_tell_alternatives_apart() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"anyOf": [
            {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}, "minItems": 1},
            {"type": "array", "items": {"type": "string", "pattern": "^a"}},
        ]}}
    });
    for dialect in ["openai-chat-strict", "anthropic-strict", "gemini-json"] {
        for arguments in [json!({"a": []}), json!({"a": ["ab"]}), json!({"a": [{"x": 1}]})] {
            check_expressible(dialect, &schema, &arguments);
        }
    }
}

#[test]
fn null_keeps_its_way_beside_a_definition() {
    let tagged = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/C"}},
        "$defs": {"C": {"anyOf": [{"type": "object", "enum": [{}]}, {"type": ["string", "null"]}]}}
    });
    check_expressible("openai-chat-strict", &tagged, &json!({"a": null}));
    check_expressible("openai-chat-strict", &tagged, &json!({}));
    let labels = json!({
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}},
        "required": ["a"],
        "$defs": {"B": {"anyOf": [{"type": "object", "additionalProperties": true}, {"enum": [1, "1"]}]}}
    });
    for arguments in [json!({"a": null}), json!({"a": 1}), json!({"a": "1"}), json!({"a": {"x": 1}})] {
        check_expressible("openai-chat-strict", &labels, &arguments);
    }
}

#[test]
fn what_is_loosened_behind_a_reference_makes_no_choice_tighter() {
    let schema = json!({
        "type": "object",
        "properties": {"b": {"oneOf": [{}, {"$ref": "#/$defs/C"}]}},
        "$defs": {"C": {"type": "array", "items": {"exclusiveMinimum": 0.5}}}
    });
    for dialect in ["google-compat", "llamacpp", "vllm", "openai-chat"] {
        check_expressible(dialect, &schema, &json!({"b": [1, 0.5]}));
    }
}

#[test]
fn unions_inside_folded_alternatives_stay_alternatives() {
    let schema = json!({
        "type": "object",
        "properties": {},
        "anyOf": [{"anyOf": [
            {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false},
            {"type": "object", "properties": {"b": {"type": "number"}, "c": {"type": "string"}}}
        ]}]
    });
    for dialect in ["anthropic", "openai-chat", "gemini-json", "openai-chat-strict"] {
        check_expressible(dialect, &schema, &json!({"b": 0.5, "c": "x"}));
        check_expressible(dialect, &schema, &json!({"b": "x"}));
    }
}

#[test]
fn listed_values_with_renamed_keys_can_be_sent() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"ключ": true}, "enum": [{"ключ": null}]}}
    });
    check_expressible("anthropic", &schema, &json!({"a": {"ключ": null}}));
}

#[test]
fn references_into_a_folded_root_still_lead_somewhere() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/allOf/0/properties/c"}, "d": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"items": {"$ref": "#/properties/a"}}, "a": {"type": "null"}},
        "allOf": [{"properties": {"b": true, "c": {"type": "integer"}, "d": true}, "additionalProperties": false}]
    });
    let translator = DECLARED.iter().find(|translator| translator.dialect().name == "anthropic").unwrap();
    let tool = tool_of(&schema);
    let lowered = schema_in(&translator.translate_one(&tool).definition.unwrap().to_value()).unwrap();
    assert_eq!(Validator::new(&lowered).omissions(), []);
    let reader = Validator::new(&lowered);
    assert!(reader.is_valid(&json!({"b": 1, "d": ["x"]})), "{lowered}");
    assert!(!reader.is_valid(&json!({"b": "x"})) && !reader.is_valid(&json!({"d": [1]})), "{lowered}");
    check_settled("anthropic", &schema);
}

#[test]
fn what_is_written_late_settles_at_once() {
    let single = json!({"type": "object", "properties": {"a": {"type": "boolean", "enum": 0}}});
    let rounded =
        json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 0.5, "maximum": 0.5}}});
    let twice = json!({
        "type": "object",
        "properties": {"a": {"type": "array", "prefixItems": [{"$ref": "#/$defs/C"}], "items": [null]}},
        "$defs": {"C": {"type": "string"}}
    });
    let abandoned = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "unevaluatedProperties": {"$ref": "#/$defs/A", "type": false}}},
        "$defs": {"A": {"type": "string"}}
    });
    for dialect in ["llamacpp", "vllm", "openai-chat", "anthropic"] {
        for schema in [&single, &rounded, &twice, &abandoned] {
            check_settled(dialect, schema);
        }
    }
}

#[test]
fn positions_with_different_definitions_stay_apart() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "array", "prefixItems": [
            {"type": "array", "items": {}},
            {"type": "array", "items": {"$ref": "#/$defs/A"}},
        ]}},
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}}
    });
    check_expressible("openai-chat-strict", &schema, &json!({"a": [[1], [{"a": "x"}, {}]]}));
}

#[test]
fn a_value_that_breaks_a_rule_inside_is_still_read_as_what_it_looks_like() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"anyOf": [
            {"type": "object", "properties": {"kind": {"const": "m"}, "map": {"type": "object", "additionalProperties": {"type": "integer"}}}, "required": ["kind", "map"]},
            {"type": "object", "properties": {"kind": {"const": "n"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
        ]}}
    });
    let translator =
        DECLARED.iter().find(|translator| translator.dialect().name == "openai-chat-strict").unwrap();
    let tool = tool_of(&schema);
    let plan = translator.translate_one(&tool).plan;
    let sent = json!({"a": {"kind": "m", "map": [{"key": "x", "value": "not a number"}]}});
    assert_eq!(plan.decode(&sent).unwrap(), json!({"a": {"kind": "m", "map": {"x": "not a number"}}}));
}

/// Expressions of `operators` kinds; a word tells them apart, or what they must have, or nothing does.
fn expressions(operators: usize, kind: impl Fn(usize) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    let mut branches = vec![json!({"$ref": "#/$defs/literal"})];
    for index in 0..operators {
        branches.push(json!({"$ref": format!("#/$defs/operator{index}")}));
        definitions.insert(format!("operator{index}"), kind(index));
    }
    definitions.insert(
        "literal".to_owned(),
        json!({"type": "object", "properties": {"value": {"type": "integer"}, "note": {"type": ["string", "null"]}}, "required": ["value"], "additionalProperties": false}),
    );
    definitions.insert("expression".to_owned(), json!({ "oneOf": branches }));
    json!({"type": "object", "properties": {"e": {"$ref": "#/$defs/expression"}}, "$defs": definitions})
}

#[test]
fn recursive_unions_of_references_are_told_apart() {
    let e = || json!({"$ref": "#/$defs/expression"});
    let note = || json!({"type": ["string", "null"]});
    let deep = |step: &dyn Fn(Value) -> Value| {
        let mut value = json!({"value": 1});
        for _ in 0..25 {
            value = step(value);
        }
        json!({ "e": value })
    };
    let by_word = expressions(
        10,
        |index| json!({"type": "object", "properties": {"left": e(), "right": e(), "note": note(), "kind": {"const": format!("op{index}")}}, "required": ["kind", "left"], "additionalProperties": false}),
    );
    let words = deep(&|inner| json!({"kind": "op9", "left": inner, "right": {"value": 2}}));
    let by_name = expressions(10, |index| {
        let key = format!("op{index}");
        json!({"type": "object", "properties": {&key: {"type": "array", "items": e()}, "note": note()}, "required": [&key], "additionalProperties": false})
    });
    let names = deep(&|inner| json!({"op9": [inner, {"value": 2}]}));
    let alike = json!({
        "type": "object",
        "properties": {"e": {"$ref": "#/$defs/expression"}},
        "$defs": {"expression": {"anyOf": [
            {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, {"$ref": "#/$defs/c"}, {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}
        ]},
        "a": {"type": "object", "properties": {"left": e(), "note": note(), "last": {"type": "string"}}},
        "b": {"type": "object", "properties": {"left": e(), "note": note(), "last": {"type": "integer"}}},
        "c": {"type": "object", "properties": {"left": e(), "note": note(), "last": {"type": "array", "items": {"type": "boolean"}}}}}
    });
    let lists = deep(&|inner| json!({"left": inner, "last": [true]}));
    for dialect in ["openai-chat-strict", "moonshot", "gemini-json", "deepseek-strict", "gemini"] {
        for (schema, arguments) in [(&by_word, &words), (&by_name, &names), (&alike, &lists)] {
            check_comes_back(dialect, schema, arguments);
        }
    }
}

/// Valid `arguments` travel and come back. The validator takes too long over many alternatives inside each other.
#[track_caller]
fn check_comes_back(dialect: &str, schema: &Value, arguments: &Value) {
    for translators in [&ALL, &DECLARED] {
        let translator = translators.iter().find(|translator| translator.dialect().name == dialect).unwrap();
        let tool = tool_of(schema);
        let plan = translator.translate_one(&tool).plan;
        let encoded = plan.encode(arguments).unwrap();
        assert_eq!(&plan.decode(&encoded).unwrap(), arguments, "{dialect}");
    }
}

#[test]
fn the_word_for_null_can_be_a_listed_value() {
    let all = [json!({"v": "(null)"}), json!({"v": null}), json!({})];
    for of_v in [
        json!({"enum": [null, "(null)"]}),
        json!({"type": ["string", "null"], "enum": ["(null)", "a", null]}),
        json!({"anyOf": [{"const": "(null)"}, {"type": "null"}, {"type": "integer"}]}),
        json!({"enum": [1, "(null)", null]}),
        json!({"type": ["string", "null"], "maxLength": 6}),
        json!({"type": ["string", "null"], "pattern": "^\\(null\\)$"}),
        json!({"$ref": "#/$defs/N"}),
    ] {
        let schema = json!({
            "type": "object",
            "properties": {"v": of_v},
            "$defs": {"N": {"type": ["string", "null"], "enum": ["(null)", null]}}
        });
        for dialect in ["openai-chat-strict", "deepseek-strict"] {
            for arguments in &all {
                check_expressible(dialect, &schema, arguments);
            }
        }
    }
    let twice = json!({"type": "object", "properties": {"v": {"enum": [null, "(null)", "\\(null)", "\\\\\\(null)"]}}});
    for text in ["(null)", "\\(null)", "\\\\\\(null)"] {
        check_expressible("openai-chat-strict", &twice, &json!({ "v": text }));
    }
}

#[test]
fn unions_inside_unions_are_folded_only_so_far() {
    let mut definitions = serde_json::Map::new();
    for level in 0..6 {
        let next = json!({"$ref": format!("#/$defs/f{}", level + 1)});
        definitions.insert(format!("f{level}"), json!({"anyOf": vec![next; 40]}));
    }
    definitions.insert("f6".to_owned(), json!({"required": ["a"]}));
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "anyOf": vec![json!({"$ref": "#/$defs/f0"}); 40],
        "$defs": definitions
    });
    for dialect in ["gemini", "anthropic", "openai-chat-strict"] {
        check_expressible(dialect, &schema, &json!({"a": "x"}));
    }
}

#[test]
fn long_lists_of_values_meet_quickly() {
    let numbers = |from: usize| (from..from + 3000).map(|n| json!(n)).collect::<Vec<_>>();
    let mut last = numbers(2999);
    last[0] = json!(2999.0);
    let schema =
        json!({"type": "object", "properties": {"v": {"allOf": [{"enum": numbers(0)}, {"enum": last}]}}});
    let translator = DECLARED.iter().find(|translator| translator.dialect().name == "moonshot").unwrap();
    let tool = tool_of(&schema);
    let lowered = schema_in(&translator.translate_one(&tool).definition.unwrap().to_value()).unwrap();
    assert_eq!(lowered["properties"]["v"]["enum"], json!([2999]));
}

#[test]
fn properties_of_alternatives_stay_known_where_no_choice_is_made() {
    let one =
        |key: String| json!({"type": "object", "properties": {&key: {"type": "string"}}, "required": [&key]});
    let many: Vec<Value> = (0..70).map(|n| one(format!("k{n}"))).collect();
    let nine = |letter: &str| (0..9).map(|n| one(format!("{letter}{n}"))).collect::<Vec<_>>();
    let nested = (0..8).fold(one("z".to_owned()), |inner, _| json!({ "anyOf": [inner] }));
    let typed = |name: &str| json!({"properties": {"z": {"type": name}}});
    let cases = [
        (json!({"type": "object", "anyOf": [{"anyOf": many}]}), json!({"k69": "x"})),
        (
            json!({"type": "object", "anyOf": [{"allOf": [{"anyOf": nine("a")}, {"anyOf": nine("b")}]}]}),
            json!({"a8": "x", "b8": "y"}),
        ),
        (json!({"type": "object", "anyOf": [nested]}), json!({"z": "x"})),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "if": {"required": ["a"]}, "then": nested}),
            json!({"a": "x", "z": "y"}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "then": {"anyOf": [typed("string"), typed("integer")]}, "if": true}),
            json!({"z": 1}),
        ),
        (
            json!({"type": "object", "anyOf": [{"properties": {"a": {"type": "string"}}, "if": {"required": ["a"]}, "then": typed("integer")}]}),
            json!({"a": "x", "z": 1}),
        ),
        (
            json!({"type": "object", "properties": {"v": {
                "type": "object", "properties": {"q": {"type": "string"}}, "anyOf": many, "minProperties": 1, "allOf": [{"anyOf": [{"$ref": "#/$defs/A"}]}]
            }}, "$defs": {"A": {"required": ["k69"]}}}),
            json!({"v": {"k69": "x"}}),
        ),
    ];
    for (schema, arguments) in &cases {
        for dialect in ["gemini", "openai-chat-strict", "anthropic-strict", "deepseek-strict", "anthropic"] {
            check_expressible_by(&DECLARED, dialect, schema, arguments);
            check_expressible_by(&ALL, dialect, schema, arguments);
        }
    }
}

#[test]
fn an_open_root_without_properties_is_said() {
    let schema = json!({"type": "object", "properties": {}});
    let translator = ALL.iter().find(|translator| translator.dialect().name == "gemini-json").unwrap();
    let tool = tool_of(&schema);
    let definition = translator.translate_one(&tool).definition.unwrap().to_value();
    assert_eq!(schema_in(&definition).unwrap(), json!({"type": "object", "properties": {}}));
}

#[test]
fn alternatives_inside_alternatives_of_a_folded_root_are_told() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [
        {"required": ["a"], "oneOf": [
            {"description": "by mail", "properties": {"to": {"type": "string"}}, "required": ["to"]},
            {"properties": {"kind": {"const": "post"}}, "minProperties": 3}
        ]},
        {"required": ["b"]}
    ]});
    for dialect in ["openai-chat", "gemini", "openai-chat-strict"] {
        let translator = ALL.iter().find(|translator| translator.dialect().name == dialect).unwrap();
        let definition = translator.translate_one(&tool_of(&schema)).definition.unwrap().to_value();
        let text = definition.to_string();
        let expected = "required: a, exactly one of [by mail (required: to) | kind = post, minProperties: 3] | required: b";
        assert!(text.contains(expected), "{dialect}: {text}");
    }
}

#[test]
fn keys_that_no_object_may_have_are_not_declared() {
    let schema = |names: Value| {
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}},
            "propertyNames": names, "dependentRequired": {"b": ["c", "dd"]}}}})
    };
    let declared = |names: Value| {
        let schema = schema(names);
        let strict = ALL.iter().find(|translator| translator.dialect().name == "openai-chat-strict").unwrap();
        let tool = tool_of(&schema);
        let definition = strict.translate_one(&tool).definition.unwrap().to_value();
        let lowered = schema_in(&definition).unwrap();
        let text = lowered["properties"]["a"].to_string();
        ["b", "c", "dd"].map(|name| text.contains(&format!("\"{name}\":{{")))
    };
    assert_eq!(declared(json!(true)), [true, true, true]);
    assert_eq!(declared(json!({"enum": ["b", "c"]})), [true, true, false]);
    assert_eq!(declared(json!({"pattern": "^(b|dd)$"})), [true, false, true]);
    assert_eq!(declared(json!({"maxLength": 1})), [true, true, false]);
    assert_eq!(declared(json!({"anyOf": [{"maxLength": 1}, {"const": "dd"}]})), [true, true, true]);
}

#[test]
fn what_alternatives_inside_alternatives_say_is_told_only_so_far() {
    let branches: Vec<Value> = (0..60).map(|_| json!({"$ref": "#/$defs/said"})).collect();
    let schema = json!({
        "type": "object",
        "anyOf": [{"required": ["a"], "anyOf": branches}, {"required": ["b"]}],
        "$defs": {"said": {"description": "x".repeat(1_000), "required": ["c"]}}
    });
    let tool = tool_of(&schema);
    for dialect in ["openai-chat", "gemini"] {
        let translator = ALL.iter().find(|translator| translator.dialect().name == dialect).unwrap();
        let translated = translator.translate_one(&tool);
        let definition = translated.definition.unwrap().to_value();
        let text = schema_in(&definition).unwrap()["description"].to_string();
        assert!(text.contains("required: a | required: b"), "{dialect}: {text}");
        let changes = serde_json::to_string(&translated.changes).unwrap();
        assert!(changes.contains("some of their rules are too long to be written"), "{dialect}: {changes}");
    }
}

#[track_caller]
fn check_definitions(schema: &Value, expected: &[&str]) {
    let translator = ALL.iter().find(|translator| translator.dialect().name == "openai-chat").unwrap();
    let tool = tool_of(schema);
    let translated = translator.translate_one(&tool);
    let lowered = schema_in(&translated.definition.unwrap().to_value()).unwrap();
    let mut found: Vec<String> = Vec::new();
    for table in ["$defs", "definitions"] {
        let names = lowered.get(table).and_then(Value::as_object).into_iter().flatten();
        found.extend(names.map(|(name, _)| format!("{table}/{name}")));
    }
    assert_eq!(found, expected, "{lowered}");
    assert_eq!(translated.changes.count(gateway_dialects::Fate::Dropped), 0);
}

#[test]
fn definitions_that_nothing_refers_to_any_more_are_left_out() {
    let branch = |to: &str| json!({"type": "object", "properties": {"p": {"$ref": to}}, "required": ["p"]});
    let folded = |to: &str| {
        json!({"type": "object", "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/definitions/B"}],
            "$defs": {"A": branch(to), "C": {"type": "array", "items": {"$ref": "#/definitions/x~1y"}}, "D": {"type": "string"}},
            "definitions": {"B": branch(to), "x/y": {"type": "string", "$anchor": "here"}}})
    };
    check_definitions(&folded("#/$defs/D"), &["$defs/D"]);
    check_definitions(&folded("#/$defs/C"), &["$defs/C", "definitions/x/y"]);
    check_definitions(&folded("#/$defs/C/items"), &["$defs/C", "definitions/x/y"]);
    // Nothing was folded: nothing is left out.
    let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}, "$defs": {"A": {"type": "string"}}});
    check_definitions(&plain, &["$defs/A"]);
}
