//! Schemas that make checking arguments exponential where every reference is followed each time.
//!
//! Nothing is timed: without a bound these tests do not end.

use gateway_dialects::arguments::{Issue, Omission, OmissionKind, Validator};
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

/// Whether all that is known of a value is that it could not be checked, which is reported.
fn is_unchecked(issues: &[Issue]) -> bool {
    let is_unchecked = |issue: &Issue| issue.message.starts_with("could not be checked within the budget");
    assert!(issues.len() == 1 || !issues.iter().any(is_unchecked), "{issues:?}");
    issues.first().is_some_and(is_unchecked)
}

/// The wrong value is refused with reasons, all of which lead into the value.
#[track_caller]
fn check_wrong(name: &str, validator: &Validator, wrong: &Value) -> Vec<Issue> {
    assert!(!validator.is_valid(wrong), "{name}");
    let issues = validator.validate(wrong);
    assert!(!issues.is_empty() && issues.len() <= 100, "{name}: {} issues", issues.len());
    for issue in &issues {
        // A parameter that is missing is in one that is there.
        let there = wrong.pointer(&issue.path).or_else(|| wrong.pointer(issue.path.rsplit_once('/')?.0));
        assert!(there.is_some(), "{name}: {issue:?}");
    }
    let _ = validator.coerce(wrong);
    issues
}

/// Whether the budget suffices for a verdict on the right value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Valid,
    Unchecked,
}
use Outcome::{Unchecked, Valid};

impl Outcome {
    #[track_caller]
    fn of(name: &str, issues: &[Issue]) -> Self {
        assert!(issues.is_empty() || is_unchecked(issues), "{name}: {issues:?}");
        if issues.is_empty() { Valid } else { Unchecked }
    }
}

/// Neither value gets a wrong verdict: if the budget does not suffice for the right one, that is reported.
#[track_caller]
fn check_bounded(
    name: &str,
    schema: &Value,
    (right, outcome): (&Value, Outcome),
    wrong: &Value,
) -> Vec<Issue> {
    let validator = Validator::new(schema);
    assert_eq!(validator.omissions(), [], "{name}");
    let issues = validator.validate(right);
    assert_eq!(Outcome::of(name, &issues), outcome, "{name}");
    assert_eq!(validator.is_valid(right), issues.is_empty(), "{name}");
    let _ = validator.coerce(right);
    check_wrong(name, &validator, wrong)
}

/// Both values get their verdict.
#[track_caller]
fn check(name: &str, schema: &Value, right: &Value, wrong: &Value) -> Vec<Issue> {
    let issues = check_bounded(name, schema, (right, Valid), wrong);
    assert!(!is_unchecked(&issues), "{name}: {issues:?}");
    issues
}

#[test]
fn chains_that_refer_twice_to_the_next_part() {
    let integer = || json!({"type": "integer"});
    let parts: [(&str, Outcome, Part); 9] = [
        ("allOf", Unchecked, |next| json!({"allOf": [next, next]})),
        ("anyOf", Valid, |next| json!({"anyOf": [next, next]})),
        ("oneOf", Unchecked, |next| json!({"oneOf": [next, {"allOf": [next, {"type": "string"}]}]})),
        ("if", Unchecked, |next| json!({"if": next, "then": next, "else": next})),
        ("not", Unchecked, |next| json!({"not": {"not": next}, "allOf": [next]})),
        ("anyOf and allOf", Unchecked, |next| json!({"anyOf": [next, {"not": next}], "allOf": [next]})),
        (
            "dependentSchemas",
            Valid,
            |next| json!({"dependentSchemas": {"a": next, "b": next}, "anyOf": [next, next]}),
        ),
        ("dependencies", Valid, |next| json!({"dependencies": {"a": next}, "anyOf": [next, next]})),
        ("three", Unchecked, |next| json!({"allOf": [next, next, next]})),
    ];
    for (name, outcome, part) in parts {
        for count in [24, 60] {
            let schema = chain(count, integer(), part);
            let issues = check_bounded(name, &schema, (&json!(1), outcome), &json!("x"));
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
                let issues = check_bounded(name, &object, (&json!({"p": 1, "q": "s"}), outcome), &wrong);
                // What is wrong besides is found.
                assert!(issues.iter().any(|issue| issue.path == "/q"), "{name}: {issues:?}");
            }
        }
    }
}

#[test]
fn objects_whose_members_are_reached_in_two_ways() {
    let object = || json!({"type": "object"});
    let parts: [(&str, Outcome, Part); 7] = [
        (
            "properties",
            Unchecked,
            |next| json!({"allOf": [{"properties": {"a": next}}, {"properties": {"a": next}}]}),
        ),
        (
            "properties and patterns",
            Unchecked,
            |next| json!({"properties": {"a": next}, "patternProperties": {"^a": next}}),
        ),
        ("patterns", Unchecked, |next| json!({"patternProperties": {"^a": next, "a$": next}})),
        ("additional", Valid, |next| {
            json!({"anyOf": [
            {"additionalProperties": next, "required": ["b"]}, {"additionalProperties": next}]})
        }),
        ("one", Valid, |next| {
            json!({"oneOf": [
            {"properties": {"a": next}, "required": ["b"]}, {"properties": {"a": next}}]})
        }),
        ("condition", Unchecked, |next| {
            let member = json!({"properties": {"a": next}});
            json!({"if": member, "then": member, "else": member})
        }),
        ("dependent", Unchecked, |next| {
            let member = json!({"properties": {"a": next}});
            json!({"properties": {"a": next}, "dependentSchemas": {"a": member}})
        }),
    ];
    for (name, outcome, part) in parts {
        let schema = chain(40, object(), part);
        check_bounded(name, &schema, (&deep(40, json!({}), in_a), outcome), &deep(40, json!(1), in_a));
        // The same for one schema that refers to itself, as deep as JSON is read.
        let schema =
            json!({"$ref": "#/$defs/d0", "$defs": {"d0": {"allOf": [object(), part(reference(0))]}}});
        let issues =
            check_bounded(name, &schema, (&deep(120, json!({}), in_a), Valid), &deep(120, json!(1), in_a));
        let is_found = issues.iter().any(|issue| issue.path == "/a".repeat(120));
        assert!(is_found || is_unchecked(&issues), "{name}: {issues:?}");
    }
}

#[test]
fn lists_whose_items_are_reached_in_two_ways() {
    let parts: [(&str, Part); 3] = [
        ("items", |next| json!({"allOf": [{"items": next}, {"items": next}]})),
        ("prefix", |next| json!({"allOf": [{"prefixItems": [next]}, {"items": next}]})),
        ("contains", |next| json!({"contains": next, "items": next})),
    ];
    for (name, part) in parts {
        let schema = chain(40, json!({"type": "integer"}), part);
        check_bounded(
            name,
            &schema,
            (&deep(40, json!(1), in_list), Unchecked),
            &deep(40, json!("x"), in_list),
        );
        let own = json!({"$ref": "#/$defs/d0", "$defs": {"d0": {
            "anyOf": [{"type": "integer"}, {"allOf": [{"type": "array"}, part(reference(0))]}]
        }}});
        check_bounded(name, &own, (&deep(120, json!(1), in_list), Valid), &deep(120, json!("x"), in_list));
    }
}

#[test]
fn keys_that_are_checked_by_a_chain() {
    let names = chain(40, json!({"maxLength": 3}), |next| json!({"anyOf": [next, next]}));
    let schema = json!({"propertyNames": {"$ref": "#/$defs/d0"}, "$defs": names["$defs"]});
    check_bounded("propertyNames", &schema, (&json!({"abc": 1}), Valid), &json!({"abcd": 1}));
}

/// What would take too long to be read is left out and reported; the right value is taken, or could not be checked.
#[track_caller]
fn check_left_out(
    name: &str,
    schema: &Value,
    (right, outcome): (&Value, Outcome),
    left_out: &[&str],
) -> Validator {
    let validator = Validator::new(schema);
    let omissions = validator.omissions();
    let is_too_large = |omission: &&Omission| omission.kind == OmissionKind::TooLarge;
    let paths: Vec<&str> =
        omissions.iter().filter(is_too_large).map(|omission| omission.path.as_str()).collect();
    assert_eq!(paths, left_out, "{name}");
    assert_eq!(Outcome::of(name, &validator.validate(right)), outcome, "{name}");
    validator
}

#[test]
fn unevaluated_inside_unevaluated() {
    let known = || json!({"properties": {"a": {"type": "integer"}}});
    let (right, wrong) = (json!({"a": 1}), json!({"a": "x"}));
    let inline = deep(60, known(), |inner| json!({"allOf": [inner], "unevaluatedProperties": false}));
    let paths: Vec<String> =
        (0..60).map(|depth| format!("{}/unevaluatedProperties", "/allOf/0".repeat(depth))).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let validator = check_left_out("inline", &inline, (&right, Valid), &paths);
    // The rest is checked.
    assert!(validator.is_valid(&right) && !validator.is_valid(&wrong));
    let paths: Vec<String> = (0..60).map(|index| format!("/$defs/d{index}/unevaluatedProperties")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let once = chain(60, known(), |next| json!({"allOf": [next], "unevaluatedProperties": false}));
    let validator = check_left_out("once", &once, (&right, Valid), &paths);
    assert!(validator.is_valid(&right) && !validator.is_valid(&wrong));
    let twice = chain(60, known(), |next| json!({"anyOf": [next, next], "unevaluatedProperties": false}));
    check_left_out("twice", &twice, (&right, Valid), &paths);
    // The compiler itself would not end here.
    let mut outer = chain(60, known(), |next| json!({"allOf": [next, next]}));
    outer["unevaluatedProperties"] = json!(false);
    let validator = check_left_out("compiler", &outer, (&right, Unchecked), &["/unevaluatedProperties"]);
    assert!(!validator.is_valid(&wrong));
    let mut items = chain(60, json!({"prefixItems": [true]}), |next| json!({"allOf": [next, next]}));
    items["unevaluatedItems"] = json!({"type": "integer"});
    check_left_out("items", &items, (&json!(["x", 1]), Unchecked), &["/unevaluatedItems"]);
    let rest =
        chain(40, json!({"type": "integer"}), |next| json!({"anyOf": [{"unevaluatedItems": next}, next]}));
    let paths: Vec<String> =
        (0..40).map(|index| format!("/$defs/d{index}/anyOf/0/unevaluatedItems")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    check_left_out("rest", &rest, (&json!([1]), Valid), &paths);
    // A part that is broken is left out as well, and said so.
    outer["$defs"]["d60"]["pattern"] = json!("(");
    let validator = check_left_out("broken", &outer, (&right, Unchecked), &["/unevaluatedProperties"]);
    let paths: Vec<&str> = validator.omissions().iter().map(|omission| omission.path.as_str()).collect();
    assert_eq!(paths, ["/unevaluatedProperties", "/$defs/d60/pattern"]);
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
    check_bounded("dynamic", &tree, (&deep(120, json!(1), in_a), Valid), &deep(120, json!("x"), in_a));
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
    check_left_out("documents", &schema, (&deep(8, json!({}), in_a), Valid), &[""]);
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
    check_bounded("members", &members, (&deep(40, json!(1), in_a), Valid), &deep(40, json!("x"), in_a));
    // These ask about themselves without a way down; such a question counts as answered with yes.
    let beside = definitions(&|others| json!({"type": "integer", "allOf": others}));
    check_bounded("beside", &beside, (&json!(1), Unchecked), &json!("x"));
}

#[test]
fn what_is_beyond_the_budget_is_refused() {
    let integer = || json!({"type": "integer"});
    let schema = chain(40, integer(), |next| json!({"allOf": [next, next]}));
    let validator = Validator::new(&schema);
    assert!(!validator.is_valid(&json!(1)));
    let issues = validator.validate(&json!(1));
    assert_eq!(issues.len(), 1);
    assert!(issues[0].message.contains("could not be checked within the budget"), "{issues:?}");
    // The first thing that is wrong is found all the same.
    assert_eq!(validator.validate(&json!("x"))[0].message, "expected integer, got string \"x\"");
    // Chains that are long, and longer than what is made of them could be dropped.
    let long = |count| chain(count, integer(), |next| json!({"allOf": [next]}));
    check_bounded("long", &long(4_000), (&json!(1), Valid), &json!("x"));
    check_left_out("longer", &long(6_000), (&json!(1), Valid), &[""]);
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
    let reported: Vec<(&str, &str)> =
        issues.iter().map(|issue| (issue.path.as_str(), issue.message.as_str())).collect();
    assert_eq!(
        reported,
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

#[test]
fn what_cannot_be_metered_is_left_out() {
    let doubling = |prefix: &str, last: Value| -> Map<String, Value> {
        let next = |index: usize| json!({"$ref": format!("{prefix}d{}", index + 1)});
        let parts = (0..60).map(|index| (format!("d{index}"), json!({"allOf": [next(index), next(index)]})));
        parts.chain([("d60".to_owned(), last)]).collect()
    };
    let value = json!({"a": 1});
    // Behind a keyword that holds no schemas.
    let behind = json!({
        "properties": {"a": {"$ref": "#/x/dependentRequired/d0"}},
        "x": {"dependentRequired": doubling("#/x/dependentRequired/", json!({}))},
    });
    check_left_out("behind", &behind, (&value, Valid), &[""]);
    // A map of names as a schema, where types beside references say nothing.
    let level = |index: usize| {
        let next = json!({"$ref": format!("#/l{}/definitions", index + 1)});
        (format!("l{index}"), json!({"definitions": {"if": next, "then": next}}))
    };
    let mut names: Map<String, Value> = (0..60).map(level).collect();
    names.insert("l60".to_owned(), json!({"definitions": {"if": true, "then": true}}));
    names.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    names.insert("properties".to_owned(), json!({"a": {"$ref": "#/l0/definitions"}}));
    check_left_out("names", &Value::Object(names), (&value, Valid), &[""]);
    // A dialect that has no types.
    let vocabularies = ["core", "applicator"]
        .map(|name| (format!("https://json-schema.org/draft/2020-12/vocab/{name}"), json!(true)));
    let dialect = json!({
        "$id": "http://example.com/root",
        "properties": {"a": {"$ref": "http://example.com/in"}},
        "$defs": {
            "meta": {
                "$id": "http://example.com/meta",
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$vocabulary": vocabularies.into_iter().collect::<Map<String, Value>>(),
            },
            "in": {
                "$id": "http://example.com/in",
                "$schema": "http://example.com/meta",
                "$ref": "#/$defs/d0",
                "$defs": doubling("#/$defs/", json!({})),
            },
        },
    });
    check_left_out("dialect", &dialect, (&value, Valid), &[""]);
    // References and nothing else, one after the other.
    let references = (0..4_900)
        .map(|index| (format!("d{index}"), json!({"$ref": format!("#/definitions/d{}", index + 1)})))
        .chain([("d4900".to_owned(), json!({"type": "integer"}))]);
    let long = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": {"$ref": "#/definitions/d0"},
        "definitions": references.collect::<Map<String, Value>>(),
    });
    check_left_out("references", &long, (&json!([1]), Valid), &[""]);
    // Documents whose names are written in another way where they are referred to.
    let all: Vec<Value> =
        (0..9).map(|index| json!({"$ref": format!("http://example.com/%72{index}")})).collect();
    let documents = (0..9).map(|index| {
        let id = format!("http://example.com/r{index}");
        (format!("r{index}"), json!({"$id": id, "properties": {"a": {"allOf": all}}}))
    });
    let orders = json!({
        "$id": "http://example.com/root",
        "$ref": "http://example.com/%720",
        "$defs": documents.collect::<Map<String, Value>>(),
    });
    check_left_out("orders", &orders, (&value, Valid), &[""]);
}

/// As [`chain`], with the last definition first.
fn backwards(count: usize, part: Part) -> Value {
    let parts = (0..count).rev().map(|index| (format!("d{index}"), part(reference(index + 1))));
    let last = (format!("d{count}"), json!({"type": "integer"}));
    let definitions: Map<String, Value> = [last].into_iter().chain(parts).collect();
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

#[test]
fn a_schema_that_the_library_panics_over_is_left_out() {
    let named_twice = json!({
        "$id": "http://example.com/",
        "$ref": "a#x",
        "$defs": {"p": {"$id": "a", "$defs": {"x": {"$anchor": "x"}}}, "q": {"$id": "a"}},
    });
    let validator = Validator::new(&named_twice);
    assert_eq!(validator.omissions().len(), 1, "{:?}", validator.omissions());
    assert!(validator.is_valid(&json!(1)));
}

#[test]
fn definitions_that_are_written_from_the_last_to_the_first() {
    isolated("hostile_arguments::definitions_that_are_written_from_the_last_to_the_first", || {
        // The value does not say how deep they are, so that a run may end with the stack.
        let deep = Validator::new(&backwards(4_900, |next| json!({"anyOf": [next]})));
        assert_eq!((deep.omissions(), deep.is_valid(&json!("x"))), (&[][..], false));
        assert!(!deep.validate(&json!("x")).is_empty());
        let mut beside = backwards(3_300, |next| json!({"allOf": [next]}));
        beside["unevaluatedProperties"] = json!(false);
        check_left_out("beside", &beside, (&json!(1), Valid), &["/unevaluatedProperties"]);
    });
}

#[test]
fn recursive_definitions_may_have_the_names_of_keywords() {
    for name in ["default", "const", "enum", "examples"] {
        let own = format!("#/$defs/{name}");
        let tree = json!({"type": "object", "properties": {"n": {"$ref": own}}});
        let schema = json!({"properties": {"n": {"$ref": own}}, "$defs": {(name): tree}});
        check(name, &schema, &json!({"n": {"n": {}}}), &json!({"n": {"n": 1}}));
        let own = json!({"$ref": format!("#/properties/{name}")});
        let schema = json!({"properties": {(name): {"type": "object", "properties": {"child": own}}}});
        check(name, &schema, &json!({(name): {"child": {}}}), &json!({(name): {"child": 1}}));
    }
}

#[test]
fn names_by_patterns_that_backtrack_keep_the_words() {
    let part = json!({
        "type": "object",
        "properties": {"k": {"type": "string"}},
        "required": ["k"],
        "additionalProperties": false,
        "not": {"required": ["q"]},
    });
    let schema = json!({"patternProperties": {"^(?!x)a": part}});
    let issues = Validator::new(&schema).validate(&json!({"ab": {"z": 1, "q": 2}, "xa": 1}));
    let mut messages: Vec<&str> = issues.iter().map(|issue| issue.message.as_str()).collect();
    messages.sort_unstable();
    messages.dedup();
    assert_eq!(
        messages,
        [
            "expected anything but {\"required\":[\"q\"]}, got object {\"z\":1,\"q\":2}",
            "no such parameter, leave it out",
            "required but missing, expected string",
        ]
    );
    assert!(issues.iter().any(|issue| issue.siblings == ["/ab/k"]), "{issues:?}");
    // Many names, of which one is another.
    let many = json!({"patternProperties": {"^(?!x-)[a-z_0-9]+$": {"type": "integer"}}, "additionalProperties": false});
    let mut names: Map<String, Value> = (0..20_000).map(|n| (format!("name_{n}"), json!(n))).collect();
    let right = Value::Object(names.clone());
    names.insert("x-1".to_owned(), json!(1));
    let issues = check("many", &many, &right, &Value::Object(names));
    assert_eq!(issues.iter().map(|issue| issue.path.as_str()).collect::<Vec<_>>(), ["/x-1"]);
}
