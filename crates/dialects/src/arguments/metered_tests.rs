//! The metered check against the library's own verdicts.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::MeteredValidator;
use crate::arguments::patterns::Survey;

/// The verdict of the metered check, which names a reason for whatever it refuses.
#[track_caller]
fn metered(schema: &Value, value: &Value) -> bool {
    let validator = MeteredValidator::new(schema.clone(), None, Survey::of(schema));
    let prepared = validator.prepare(value).unwrap();
    let verdict = prepared.run(value, |compiled, node| compiled.is_valid(node)).unwrap();
    let errors = prepared.run(value, |compiled, node| compiled.iter_errors(node).count()).unwrap();
    assert_eq!(errors == 0, verdict, "{schema} {value}");
    verdict
}

fn small_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[abc]", inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A schema that refers to definitions behind `from`, and through children to any of them.
fn small_schema(from: usize, count: usize) -> BoxedStrategy<Value> {
    let beside = from..count;
    let reference = |index: usize| json!({"$ref": format!("#/$defs/d{index}")});
    let leaf = prop_oneof![
        3 => prop::sample::select(vec!["object", "array", "string", "integer", "null"])
            .prop_map(|kind| json!({"type": kind})),
        1 => any::<bool>().prop_map(Value::from),
        1 => small_value().prop_map(|value| json!({"const": value})),
        1 => (0_u64..3).prop_map(|least| json!({"minProperties": least, "minItems": least, "minLength": least})),
        1 => Just(json!({"required": ["a"]})),
        1 => Just(json!({"pattern": "a", "minimum": 2})),
        3 => (0..count).prop_map(move |index| json!({"properties": {"a": reference(index)}, "items": reference(index)})),
    ];
    let leaf = if beside.is_empty() {
        leaf.boxed()
    } else {
        prop_oneof![2 => leaf, 3 => beside.prop_map(reference)].boxed()
    };
    let recursive = leaf.prop_recursive(2, 10, 3, |inner| {
        let keyword = prop_oneof![
            prop::sample::select(vec!["allOf", "anyOf", "oneOf"]).prop_flat_map({
                let inner = inner.clone();
                move |word| {
                    prop::collection::vec(inner.clone(), 1..3).prop_map(move |parts| (word, json!(parts)))
                }
            }),
            prop::sample::select(vec![
                "not",
                "if",
                "then",
                "else",
                "additionalProperties",
                "items",
                "contains",
                "propertyNames",
                "unevaluatedProperties",
                "unevaluatedItems",
            ])
            .prop_flat_map({
                let inner = inner.clone();
                move |word| inner.clone().prop_map(move |part| (word, part))
            }),
            prop::sample::select(vec!["properties", "patternProperties", "dependentSchemas"]).prop_flat_map(
                {
                    let inner = inner.clone();
                    move |word| {
                        prop::collection::vec(("[abc]", inner.clone()), 1..3)
                            .prop_map(move |parts| (word, Value::Object(parts.into_iter().collect())))
                    }
                }
            ),
            inner.prop_map(|part| ("prefixItems", json!([part]))),
            (0_u64..3).prop_map(|count| ("minContains", json!(count))),
        ];
        prop::collection::vec(keyword, 1..4).prop_map(|words| {
            let map: Map<String, Value> =
                words.into_iter().map(|(word, part)| (word.to_owned(), part)).collect();
            Value::Object(map)
        })
    });
    recursive.boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn verdicts_are_those_of_the_library(
        root in small_schema(0, 3),
        parts in (small_schema(1, 3), small_schema(2, 3), small_schema(3, 3)),
        values in prop::collection::vec(small_value(), 4),
    ) {
        let schema = json!({"allOf": [root], "$defs": {"d0": parts.0, "d1": parts.1, "d2": parts.2}});
        let options = jsonschema::options().offline().should_validate_formats(false);
        let library = options.build(&schema).unwrap();
        for value in values {
            let expected = library.is_valid(&value);
            prop_assert_eq!(metered(&schema, &value), expected, "{} {}", schema, value);
        }
    }
}
