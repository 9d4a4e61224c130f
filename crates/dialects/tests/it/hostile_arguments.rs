//! Schemas that make checking arguments exponential where every reference is followed each time.
//!
//! Nothing is timed: without a bound these tests do not end.

use gateway_dialects::arguments::{Issue, Validator};
use serde_json::{Map, Value, json};

use crate::hostile::isolated;

/// Makes a definition of a reference to the next one.
type Part = fn(Value) -> Value;

fn reference(index: usize) -> Value {
    json!({"$ref": format!("#/$defs/d{index}")})
}

/// `count` definitions, each made of the next one, and `last` behind them.
fn chain(count: usize, last: Value, part: impl Fn(Value) -> Value) -> Value {
    let parts = (0..count).map(|index| (format!("d{index}"), part(reference(index + 1))));
    let definitions: Map<String, Value> = parts.chain([(format!("d{count}"), last)]).collect();
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

/// `depth` levels of `level` around `last`.
fn deep(depth: usize, last: Value, level: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(last, |inner, _| level(inner))
}

fn in_a(inner: Value) -> Value {
    Value::Object(Map::from_iter([("a".to_owned(), inner)]))
}

fn in_list(inner: Value) -> Value {
    Value::Array(vec![inner])
}

/// The right value is taken; the wrong one is refused with reasons, all of which lead into the value.
#[track_caller]
fn check(name: &str, schema: &Value, right: &Value, wrong: &Value) -> Vec<Issue> {
    let validator = Validator::new(schema);
    assert_eq!(validator.omissions(), [], "{name}");
    assert_eq!(validator.validate(right), [], "{name}");
    assert!(validator.is_valid(right), "{name}");
    assert!(!validator.is_valid(wrong), "{name}");
    let issues = validator.validate(wrong);
    assert!(!issues.is_empty() && issues.len() <= 100, "{name}: {} issues", issues.len());
    for issue in &issues {
        assert!(!issue.message.contains("budget"), "{name}: {issue:?}");
        // A parameter that is missing stands in one that is there.
        let there = wrong.pointer(&issue.path).or_else(|| wrong.pointer(issue.path.rsplit_once('/')?.0));
        assert!(there.is_some(), "{name}: {issue:?}");
    }
    assert_eq!(validator.coerce(right), (right.clone(), Vec::new()), "{name}");
    let _ = validator.coerce(wrong);
    issues
}

#[test]
fn chains_that_refer_twice_to_the_next_part() {
    let integer = || json!({"type": "integer"});
    let parts: [(&str, Part); 9] = [
        ("allOf", |next| json!({"allOf": [next, next]})),
        ("anyOf", |next| json!({"anyOf": [next, next]})),
        ("oneOf", |next| json!({"oneOf": [next, {"allOf": [next, {"type": "string"}]}]})),
        ("if", |next| json!({"if": next, "then": next, "else": next})),
        ("not", |next| json!({"not": {"not": next}, "allOf": [next]})),
        ("anyOf and allOf", |next| json!({"anyOf": [next, {"not": next}], "allOf": [next]})),
        (
            "dependentSchemas",
            |next| json!({"dependentSchemas": {"a": next, "b": next}, "anyOf": [next, next]}),
        ),
        ("dependencies", |next| json!({"dependencies": {"a": next}, "anyOf": [next, next]})),
        ("three", |next| json!({"allOf": [next, next, next]})),
    ];
    for (name, part) in parts {
        for count in [24, 60] {
            let schema = chain(count, integer(), part);
            let issues = check(name, &schema, &json!(1), &json!("x"));
            assert!(issues.iter().all(|issue| issue.path.is_empty()), "{name}: {issues:?}");
            // As the type of a parameter, by draft-07 too, and beside a member that nobody knows.
            let object = json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/d0"}, "q": {"type": "string"}},
                "required": ["p", "q"],
                "additionalProperties": false,
                "$defs": schema["$defs"],
            });
            if !name.starts_with("dependentSchemas") {
                let wrong = json!({"p": "x", "r": 1});
                let issues = check(name, &object, &json!({"p": 1, "q": "s"}), &wrong);
                let mut paths: Vec<&str> = issues.iter().map(|issue| issue.path.as_str()).collect();
                paths.sort_unstable();
                paths.dedup();
                assert_eq!(paths, ["/p", "/q", "/r"], "{name}");
            }
        }
    }
}

#[test]
fn objects_whose_members_are_reached_in_two_ways() {
    let object = || json!({"type": "object"});
    let parts: [(&str, Part); 7] = [
        ("properties", |next| json!({"allOf": [{"properties": {"a": next}}, {"properties": {"a": next}}]})),
        (
            "properties and patterns",
            |next| json!({"properties": {"a": next}, "patternProperties": {"^a": next}}),
        ),
        ("patterns", |next| json!({"patternProperties": {"^a": next, "a$": next}})),
        ("additional", |next| {
            json!({"anyOf": [
            {"additionalProperties": next, "required": ["b"]}, {"additionalProperties": next}]})
        }),
        ("one", |next| {
            json!({"oneOf": [
            {"properties": {"a": next}, "required": ["b"]}, {"properties": {"a": next}}]})
        }),
        ("condition", |next| {
            let member = json!({"properties": {"a": next}});
            json!({"if": member, "then": member, "else": member})
        }),
        ("dependent", |next| {
            let member = json!({"properties": {"a": next}});
            json!({"properties": {"a": next}, "dependentSchemas": {"a": member}})
        }),
    ];
    for (name, part) in parts {
        let schema = chain(40, object(), part);
        check(name, &schema, &deep(40, json!({}), in_a), &deep(40, json!(1), in_a));
        // The same for one schema that refers to itself, as deep as JSON is read.
        let schema =
            json!({"$ref": "#/$defs/d0", "$defs": {"d0": {"allOf": [object(), part(reference(0))]}}});
        let issues = check(name, &schema, &deep(120, json!({}), in_a), &deep(120, json!(1), in_a));
        assert!(issues.iter().any(|issue| issue.path == "/a".repeat(120)), "{name}: {issues:?}");
    }
}

#[test]
fn lists_whose_items_are_reached_in_two_ways() {
    let parts: [(&str, Part); 4] = [
        ("items", |next| json!({"allOf": [{"items": next}, {"items": next}]})),
        ("prefix", |next| json!({"allOf": [{"prefixItems": [next]}, {"items": next}]})),
        ("contains", |next| json!({"contains": next, "items": next})),
        (
            "unevaluated",
            |next| json!({"anyOf": [{"unevaluatedItems": next}, {"unevaluatedItems": next, "minItems": 9}]}),
        ),
    ];
    for (name, part) in parts {
        let schema = chain(40, json!({"type": "integer"}), part);
        check(name, &schema, &deep(40, json!(1), in_list), &deep(40, json!("x"), in_list));
        let own = json!({"$ref": "#/$defs/d0", "$defs": {"d0": {
            "anyOf": [{"type": "integer"}, {"allOf": [{"type": "array"}, part(reference(0))]}]
        }}});
        check(name, &own, &deep(120, json!(1), in_list), &deep(120, json!("x"), in_list));
    }
}

#[test]
fn keys_that_are_checked_by_a_chain() {
    let names = chain(40, json!({"maxLength": 3}), |next| json!({"anyOf": [next, next]}));
    let schema = json!({"propertyNames": {"$ref": "#/$defs/d0"}, "$defs": names["$defs"]});
    check("propertyNames", &schema, &json!({"abc": 1}), &json!({"abcd": 1}));
}

#[test]
fn unevaluated_inside_unevaluated() {
    let known = || json!({"properties": {"a": true}});
    let (right, wrong) = (json!({"a": 1}), json!({"a": 1, "b": 2}));
    let inline = deep(60, known(), |inner| json!({"allOf": [inner], "unevaluatedProperties": false}));
    check("inline", &inline, &right, &wrong);
    let once = chain(60, known(), |next| json!({"allOf": [next], "unevaluatedProperties": false}));
    check("once", &once, &right, &wrong);
    let twice = chain(60, known(), |next| json!({"anyOf": [next, next], "unevaluatedProperties": false}));
    let issues = check("twice", &twice, &right, &wrong);
    assert!(issues.iter().any(|issue| issue.path == "/b" && issue.message.contains("no such parameter")));
    // The compiler itself would not end here.
    let mut outer = chain(60, known(), |next| json!({"allOf": [next, next]}));
    outer["unevaluatedProperties"] = json!(false);
    check("compiler", &outer, &right, &wrong);
    let mut items = chain(60, json!({"prefixItems": [true]}), |next| json!({"allOf": [next, next]}));
    items["unevaluatedItems"] = json!({"type": "integer"});
    check("items", &items, &json!(["x", 1]), &json!(["x", "y"]));
    // A part that is broken is left out, and said so; what it looked at is known all the same.
    outer["$defs"]["d60"]["pattern"] = json!("(");
    let validator = Validator::new(&outer);
    let paths: Vec<&str> = validator.omissions().iter().map(|omission| omission.path.as_str()).collect();
    assert_eq!(paths, ["/$defs/d60/pattern"]);
    assert!(validator.is_valid(&right) && !validator.is_valid(&wrong));
}

#[test]
fn dynamic_references_and_documents_inside() {
    let tree = json!({
        "$id": "http://example.com/tree",
        "$dynamicAnchor": "node",
        "anyOf": [
            {"type": "integer"},
            {"type": "object", "allOf": [
                {"additionalProperties": {"$dynamicRef": "#node"}},
                {"properties": {"a": {"$dynamicRef": "#node"}}}
            ]}
        ],
    });
    check("dynamic", &tree, &deep(120, json!(1), in_a), &deep(120, json!("x"), in_a));
    // Each of many documents refers to all of them: the order in which they are entered is looked at.
    let documents = (0..12).map(|index| {
        let all: Vec<Value> = (0..12).map(|other| json!({"$ref": format!("r{other}")})).collect();
        (
            format!("r{index}"),
            json!({"$id": format!("r{index}"), "type": "object", "properties": {"a": {"allOf": all}}}),
        )
    });
    let schema = json!({
        "$id": "http://example.com/", "$ref": "r0", "$defs": documents.collect::<Map<String, Value>>(),
    });
    check("documents", &schema, &deep(8, json!({}), in_a), &deep(8, json!(1), in_a));
}

#[test]
fn definitions_that_all_refer_to_each_other() {
    let count = 25;
    let definitions = |part: &dyn Fn(Vec<Value>) -> Value| {
        let all = (0..count).map(|index| {
            let others = (0..count).filter(|other| *other != index).map(reference);
            (format!("d{index}"), part(others.collect()))
        });
        json!({"$ref": "#/$defs/d0", "$defs": all.collect::<Map<String, Value>>()})
    };
    let members = definitions(&|others| {
        let mut branches: Vec<Value> = others
            .into_iter()
            .map(|other| json!({"type": "object", "properties": {"a": other}, "required": ["a"]}))
            .collect();
        branches.push(json!({"type": "integer"}));
        json!({"anyOf": branches})
    });
    check("members", &members, &deep(40, json!(1), in_a), &deep(40, json!("x"), in_a));
    // These ask about themselves without a way down; such a question counts as answered with yes.
    let beside = definitions(&|others| json!({"type": "integer", "allOf": others}));
    check("beside", &beside, &json!(1), &json!("x"));
}

#[test]
fn what_is_beyond_the_budget_is_refused() {
    // A chain that is longer than the stack may grow.
    let schema = chain(5000, json!({"type": "integer"}), |next| json!({"allOf": [next]}));
    let validator = Validator::new(&schema);
    assert!(!validator.is_valid(&json!(1)));
    let issues = validator.validate(&json!(1));
    assert_eq!(issues.len(), 1);
    assert!(issues[0].message.contains("could not be checked within the budget"), "{issues:?}");
}

#[test]
fn recursive_schemas_keep_the_words_of_the_library() {
    let tree = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "list": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["n"],
        "additionalProperties": false,
    });
    let wide: Vec<Value> = (0..20_000).map(|n| json!({"n": n})).collect();
    let validator = Validator::new(&tree);
    assert!(validator.is_valid(&json!({"n": 1, "list": wide})));
    let issues = validator.validate(&json!({"n": 1, "list": [{"m": 2}]}));
    let told: Vec<(&str, &str)> =
        issues.iter().map(|issue| (issue.path.as_str(), issue.message.as_str())).collect();
    assert_eq!(
        told,
        [
            ("/list/0/m", "no such parameter, leave it out"),
            ("/list/0/n", "required but missing, expected integer"),
        ]
    );
}

#[test]
fn many_wrong_values_in_a_union_are_cut() {
    let schema = json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]});
    let value = Value::Array((0..100_000).map(Value::from).collect());
    let validator = Validator::new(&schema);
    assert_eq!(validator.validate(&value).len(), 100);
    // A large value is not written out for each thing that is wrong with it.
    let long = json!({"text": "x".repeat(200_000)});
    let parts: Vec<Value> = (0..100).map(|index| json!({"minProperties": index + 2})).collect();
    let issues = Validator::new(&json!({"allOf": parts})).validate(&long);
    assert_eq!(issues.len(), 100);
    assert!(issues.iter().all(|issue| issue.got.chars().count() < 100), "{}", issues[0].got);
    let options: Vec<Value> = (0..20_000).map(Value::from).collect();
    let listed = Validator::new(&json!({"anyOf": [{"enum": options}, {"enum": options}]}));
    let allowed = listed.validate(&json!("x")).remove(0).allowed.unwrap();
    assert_eq!(allowed.len(), 20_000);
    // Nor is a large list for each value that is not in it.
    let options: Vec<Value> = (0..200).map(|n| json!([n, "x".repeat(10_000)])).collect();
    for schema in [
        json!({"items": {"enum": options}}),
        json!({"items": {"anyOf": [{"$ref": "#/$defs/d"}, {"$ref": "#/$defs/d"}]}, "$defs": {"d": {"enum": options}}}),
    ] {
        let issues = Validator::new(&schema).validate(&json!(vec![1; 50]));
        assert_eq!(issues.len(), 50);
        assert!(issues.iter().all(|issue| issue.allowed.is_none() && issue.message.len() < 300));
        assert!(issues[0].expected.starts_with("one of 200 values, such as [0,"), "{}", issues[0].expected);
    }
}

#[test]
fn long_lists_are_mended_in_bounded_time() {
    let kinds = chain(40, json!({"type": "integer"}), |next| json!({"anyOf": [next, next]}));
    let schema = json!({"type": "array", "items": {"$ref": "#/$defs/d0"}, "$defs": kinds["$defs"]});
    let list = |item: Value| Value::Array(vec![item; 20_000]);
    let (mended, done) = Validator::new(&schema).coerce(&list(json!(1)));
    assert_eq!((mended, done), (list(json!(1)), Vec::new()));
}

#[test]
fn many_wrong_items_of_a_wide_union_take_little_memory() {
    isolated("hostile_arguments::many_wrong_items_of_a_wide_union_take_little_memory", || {
        let union = vec![json!({"const": 1}); 1_500];
        let validator = Validator::new(&json!({"items": {"anyOf": union}}));
        let issues = validator.validate(&json!(vec![2; 9_000]));
        assert_eq!(issues.iter().map(|issue| issue.path.as_str()).collect::<Vec<_>>(), ["/0"]);
        assert!(validator.is_valid(&json!(vec![1; 9_000])));
    });
}
