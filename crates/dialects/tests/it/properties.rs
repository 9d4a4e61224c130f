//! What holds for any schema, any arguments and any names, in every dialect.
//!
//! `PROPERTY_FACTOR=20 cargo test properties` runs twenty times the usual number of cases.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use gateway_dialects::arguments::Validator;
use gateway_dialects::dialect::{Lowering, NullStyle};
use gateway_dialects::{Dialects, Open, Options, Translator};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::hostile::isolated;

/// `default` cases, more where the environment asks for them.
pub(crate) fn cases(default: u32) -> u32 {
    let factor = std::env::var("PROPERTY_FACTOR").ok().and_then(|text| text.parse().ok()).unwrap_or(1_u32);
    default.saturating_mul(factor.max(1))
}

pub(crate) fn config(default: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases(default),
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..ProptestConfig::default()
    }
}

/// Whether null is said as JSON Schema says it, so that a validator can read what is lowered.
pub(crate) fn writes_null(translator: &Translator) -> bool {
    translator
        .dialect()
        .schema
        .rebuild()
        .is_none_or(|rules| !matches!(rules.null, NullStyle::Nullable | NullStyle::Spelled))
}

fn translators(open: Open) -> Vec<Translator> {
    let dialects = Dialects::builtin();
    dialects
        .names()
        .map(|name| {
            let mut options = Options::default();
            options.open = open;
            Translator::new(&dialects, name, options).unwrap()
        })
        .collect()
}

/// Translators that take deeper schemas than usual.
static WIDE: LazyLock<Vec<Translator>> = LazyLock::new(|| {
    let dialects = Dialects::builtin();
    let mut options = Options::default();
    options.budget.depth = 256;
    dialects.names().map(|name| Translator::new(&dialects, name, options.clone()).unwrap()).collect()
});
pub(crate) static DECLARED: LazyLock<Vec<Translator>> = LazyLock::new(|| translators(Open::Declared));
pub(crate) static ALL: LazyLock<Vec<Translator>> = LazyLock::new(|| translators(Open::All));

// Schemas.

const KEYS: &[&str] = &["a", "b", "c", "default", "type", "a b", "x.y", "x_y", "ключ", "$ref", "1st", ""];
const PATTERNS: &[&str] = &["^a", "b$", "^[a-c]*$", "(?=a)", "\\d+", "[", "(a+)+", "^(?!b)"];
const FORMATS: &[&str] = &["email", "uri", "date-time", "int32", "float", "x-own"];
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "null", "array", "object"];
const REFERENCES: &[&str] =
    &["#/$defs/A", "#/$defs/B", "#/$defs/C", "#", "#/properties/a", "#/$defs/none", "#node", "#/%24defs/A"];

pub(crate) fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(texts)
}

/// Any JSON, small.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        Just(json!(1.0)),
        Just(json!(0.5)),
        Just(json!(-0.0)),
        Just(json!(1e300)),
        Just(json!(u64::MAX)),
        "[a-c]{0,3}".prop_map(Value::from),
        Just(json!("")),
        Just(json!("null")),
        Just(json!("{\"a\":1}")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((one_of(KEYS), inner), 0..3)
                .prop_map(|entries| object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)))),
        ]
    })
}

fn object(entries: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(entries.into_iter().collect())
}

/// A constraint that fits its keyword.
fn constraint() -> impl Strategy<Value = (&'static str, Value)> {
    let small = (0_u64..4).prop_map(Value::from);
    let number = prop_oneof![(-3_i64..4).prop_map(Value::from), Just(json!(0.5)), Just(json!(2.0))];
    prop_oneof![
        (
            one_of(&["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]),
            small
        ),
        (one_of(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number),
        (Just("multipleOf"), prop_oneof![Just(json!(2)), Just(json!(0.5))]),
        (Just("uniqueItems"), any::<bool>().prop_map(Value::from)),
        (Just("pattern"), one_of(PATTERNS).prop_map(Value::from)),
        (Just("format"), one_of(FORMATS).prop_map(Value::from)),
        (one_of(&["default", "const", "example"]), json_value()),
        (one_of(&["enum", "examples"]), proptest::collection::vec(json_value(), 1..4).prop_map(Value::from)),
        (Just("description"), "[a-z ]{0,12}".prop_map(Value::from)),
        (one_of(&["title", "$comment", "x-own"]), "[a-z]{0,4}".prop_map(Value::from)),
        (Just("nullable"), any::<bool>().prop_map(Value::from)),
    ]
}

/// A keyword with anything as its value.
fn misuse() -> impl Strategy<Value = (&'static str, Value)> {
    let keywords = &[
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "$ref",
        "$defs",
        "additionalProperties",
        "minimum",
        "exclusiveMinimum",
        "minLength",
        "pattern",
        "format",
        "description",
        "const",
        "prefixItems",
        "patternProperties",
        "dependentRequired",
        "if",
        "contains",
        "$schema",
        "$id",
    ];
    (one_of(keywords), json_value())
}

fn types() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => one_of(TYPES).prop_map(Value::from),
        2 => proptest::sample::subsequence(TYPES, 1..4).prop_map(|types| json!(types)),
    ]
}

/// Keywords put together; later ones win.
pub(crate) fn node(parts: Vec<(&'static str, Value)>) -> Value {
    object(parts.into_iter().map(|(name, value)| (name.to_owned(), value)))
}

fn leaf(odd: u32) -> impl Strategy<Value = Value> {
    let typed = (types(), proptest::collection::vec(constraint(), 0..3)).prop_map(|(types, mut parts)| {
        parts.insert(0, ("type", types));
        node(parts)
    });
    let loose = proptest::collection::vec(constraint(), 0..3).prop_map(node);
    let reference = (one_of(REFERENCES), proptest::option::of(constraint())).prop_map(|(target, beside)| {
        node([Some(("$ref", json!(target))), beside].into_iter().flatten().collect())
    });
    prop_oneof![
        12 => typed,
        2 => loose,
        4 => reference,
        1 => any::<bool>().prop_map(Value::from),
        odd => misuse().prop_map(|part| node(vec![part])),
        odd => json_value(),
    ]
}

/// A schema; `odd` is the weight of what is no proper schema.
fn schema(odd: u32) -> impl Strategy<Value = Value> {
    leaf(odd).prop_recursive(4, 24, 4, move |inner| {
        let table = |inner: BoxedStrategy<Value>| {
            proptest::collection::vec((one_of(KEYS), inner), 0..4)
                .prop_map(|entries| object(entries.into_iter().map(|(key, value)| (key.to_owned(), value))))
        };
        let inner = inner.boxed();
        let required = proptest::sample::subsequence(KEYS, 0..3).prop_map(|keys| json!(keys));
        let rest = prop_oneof![
            3 => Just(None),
            1 => any::<bool>().prop_map(|flag| Some(json!(flag))),
            1 => inner.clone().prop_map(Some),
        ];
        let properties = (
            table(inner.clone()),
            proptest::option::of(required),
            rest.clone(),
            proptest::option::of(constraint()),
        )
            .prop_map(|(properties, required, rest, extra)| {
                let mut parts = vec![("type", json!("object")), ("properties", properties)];
                parts.extend(required.map(|names| ("required", names)));
                parts.extend(rest.map(|rest| ("additionalProperties", rest)));
                parts.extend(extra);
                node(parts)
            });
        let list = (inner.clone(), proptest::option::of(constraint())).prop_map(|(items, extra)| {
            node(
                [Some(("type", json!("array"))), Some(("items", items)), extra]
                    .into_iter()
                    .flatten()
                    .collect(),
            )
        });
        let tuple =
            (proptest::collection::vec(inner.clone(), 1..3), rest.clone()).prop_map(|(positions, rest)| {
                let mut parts = vec![("type", json!("array")), ("prefixItems", json!(positions))];
                parts.extend(rest.map(|rest| ("items", rest)));
                node(parts)
            });
        let union = (
            one_of(&["anyOf", "oneOf", "allOf"]),
            proptest::collection::vec(inner.clone(), 1..4),
            proptest::option::of(constraint()),
        )
            .prop_map(|(name, members, extra)| {
                node([Some((name, json!(members))), extra].into_iter().flatten().collect())
            });
        let wrapped = (
            one_of(&[
                "not",
                "contains",
                "if",
                "then",
                "propertyNames",
                "unevaluatedProperties",
                "unevaluatedItems",
            ]),
            inner.clone(),
            types(),
        )
            .prop_map(|(name, inner, types)| node(vec![("type", types), (name, inner)]));
        let tables = prop_oneof![
            (Just("patternProperties"), one_of(PATTERNS), inner.clone()),
            (Just("dependentSchemas"), one_of(KEYS), inner.clone()),
        ]
        .prop_map(|(name, key, inner)| (name, json!({key: inner})));
        let tables = (tables, proptest::option::of(table(inner.clone()))).prop_map(|(rule, properties)| {
            let mut parts = vec![("type", json!("object")), rule];
            parts.extend(properties.map(|properties| ("properties", properties)));
            node(parts)
        });
        let conditional = (
            table(inner.clone()),
            one_of(KEYS),
            inner.clone(),
            proptest::option::of(inner.clone()),
            rest.clone(),
        )
            .prop_map(|(properties, key, then, other, rest)| {
                let mut parts = vec![("type", json!("object")), ("properties", properties)];
                parts.extend([("if", json!({"required": [key]})), ("then", then)]);
                parts.extend(other.map(|other| ("else", other)));
                parts.extend(rest.map(|rest| ("additionalProperties", rest)));
                node(parts)
            });
        prop_oneof![
            5 => properties,
            3 => list,
            1 => tuple,
            4 => union,
            1 => wrapped,
            2 => tables,
            1 => conditional,
            odd => (inner, misuse()).prop_map(|(mut schema, (name, value))| {
                if let Value::Object(map) = &mut schema {
                    map.insert(name.to_owned(), value);
                }
                schema
            }),
        ]
    })
}

/// An input schema: an object with definitions.
fn input_schema(odd: u32) -> impl Strategy<Value = Value> {
    let properties = proptest::collection::vec((one_of(KEYS), schema(odd)), 0..4);
    let definitions = (schema(odd), schema(odd), schema(odd));
    let required = proptest::option::of(proptest::sample::subsequence(KEYS, 0..3));
    let root = proptest::option::weighted(
        0.2,
        (one_of(&["anyOf", "oneOf", "allOf"]), proptest::collection::vec(schema(odd), 1..3)),
    );
    let extra = proptest::option::weighted(0.2, constraint());
    (properties, definitions, required, root, extra).prop_map(
        |(properties, (a, b, mut c), required, root, extra)| {
            if let Value::Object(map) = &mut c {
                map.insert("$anchor".to_owned(), json!("node"));
            }
            let mut parts = vec![
                ("type", json!("object")),
                ("properties", object(properties.into_iter().map(|(key, value)| (key.to_owned(), value)))),
                ("$defs", json!({"A": a, "B": b, "C": c})),
            ];
            parts.extend(required.map(|names| ("required", json!(names))));
            parts.extend(root.map(|(name, members)| (name, json!(members))));
            parts.extend(extra.filter(|(name, _)| !matches!(*name, "const" | "enum" | "nullable")));
            node(parts)
        },
    )
}

pub(crate) fn tool_of(schema: &Value) -> Value {
    // Read only where the process dies: a case that overflows the stack cannot be shrunk.
    eprintln!("{schema}");
    json!({"name": "t", "description": "d", "inputSchema": schema})
}

// Instances.

/// Small numbers from a seed, for walks that a strategy cannot make.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides.max(1)
    }
}

/// A value that has a fair chance of being valid.
fn instance(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let Value::Object(map) = schema else { return anything(dice) };
    if depth == 0 {
        return anything(dice);
    }
    if let Some(Value::String(reference)) = map.get("$ref") {
        let target =
            reference.strip_prefix('#').and_then(|pointer| root.pointer(&pointer.replace("%24", "$")));
        return instance(target.unwrap_or(&Value::Null), root, dice, depth - 1);
    }
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    if let Some(Value::Array(values)) = map.get("enum")
        && !values.is_empty()
    {
        return values[dice.roll(values.len())].clone();
    }
    for name in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(members)) = map.get(name)
            && !members.is_empty()
            && (!map.contains_key("properties") || dice.roll(2) == 0)
        {
            return instance(&members[dice.roll(members.len())], root, dice, depth - 1);
        }
    }
    let types: Vec<&str> = match map.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ if map.contains_key("properties") => vec!["object"],
        _ => Vec::new(),
    };
    if types.is_empty() {
        return anything(dice);
    }
    match types[dice.roll(types.len())] {
        "string" => json!(["", "a", "ab", "bb", "null", "{}", "abc"][dice.roll(7)]),
        "number" => json!([0.0, 0.5, -1.0, 2.0, 3.0][dice.roll(5)]),
        "integer" => json!([0, 1, 2, -2, 4][dice.roll(5)]),
        "boolean" => json!(dice.roll(2) == 0),
        "null" => Value::Null,
        "array" => {
            let positions = map.get("prefixItems").and_then(Value::as_array);
            let count = dice.roll(4);
            (0..count)
                .map(|index| {
                    let items = positions.and_then(|positions| positions.get(index)).or(map.get("items"));
                    instance(items.unwrap_or(&Value::Null), root, dice, depth - 1)
                })
                .collect()
        }
        "object" => {
            let mut made = Map::new();
            let required: Vec<&str> = map
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            if let Some(Value::Object(properties)) = map.get("properties") {
                for (key, schema) in properties {
                    if required.contains(&key.as_str()) || dice.roll(3) > 0 {
                        made.insert(key.clone(), instance(schema, root, dice, depth - 1));
                    }
                }
            }
            for key in required {
                if !made.contains_key(key) {
                    made.insert(key.to_owned(), anything(dice));
                }
            }
            if dice.roll(3) == 0 {
                let key = KEYS[dice.roll(KEYS.len())];
                let value = match map.get("additionalProperties") {
                    Some(schema @ Value::Object(_)) => instance(schema, root, dice, depth - 1),
                    _ => anything(dice),
                };
                made.entry(key).or_insert(value);
            }
            Value::Object(made)
        }
        _ => anything(dice),
    }
}

pub(crate) fn anything(dice: &mut Dice) -> Value {
    match dice.roll(9) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(1),
        3 => json!(0.5),
        4 => json!("a"),
        5 => json!([1, "b"]),
        6 => json!({"a": null, "x y": [{}]}),
        7 => json!({}),
        _ => json!(""),
    }
}

/// What `reference` names.
fn target<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    if reference == "#node" {
        return root.pointer("/$defs/C");
    }
    reference.strip_prefix('#').and_then(|pointer| root.pointer(&pointer.replace("%24", "$")))
}

/// Whether some schema holds itself against the same value: what that means is left open by JSON Schema.
pub(crate) fn is_endless(schema: &Value, root: &Value) -> bool {
    fn comes_back<'a>(schema: &'a Value, root: &'a Value, active: &mut Vec<&'a Value>) -> bool {
        if active.iter().any(|known| std::ptr::eq(*known, schema)) {
            return true;
        }
        active.push(schema);
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|name| target(name, root));
        let lists =
            ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
        let single = ["not", "if", "then", "else"].iter().filter_map(|name| schema.get(*name));
        let tables =
            schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let found = reference
            .into_iter()
            .chain(lists)
            .chain(single)
            .chain(tables)
            .any(|next| comes_back(next, root, active));
        active.pop();
        found
    }
    comes_back(schema, root, &mut Vec::new())
        || match schema {
            Value::Object(map) => map.values().any(|inner| is_endless(inner, root)),
            Value::Array(items) => items.iter().any(|inner| is_endless(inner, root)),
            _ => false,
        }
}

/// Objects that `validator` accepts.
fn accepted(schema: &Value, validator: &Validator, seed: u64) -> Vec<Value> {
    if is_endless(schema, schema) {
        return Vec::new();
    }
    let mut dice = Dice(seed);
    (0..12)
        .map(|_| instance(schema, schema, &mut dice, 5))
        .filter(|value| value.is_object() && validator.is_valid(value))
        .collect()
}

/// Equality as JSON Schema has it: 1 and 1.0 are one number.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// The input schema in a definition of any shape; absent where the dialect leaves an empty one out.
pub(crate) fn schema_in(definition: &Value) -> Option<Value> {
    let inner = definition.get("function").or(definition.get("toolSpec")).unwrap_or(definition);
    let found = ["parameters", "input_schema", "parametersJsonSchema", "inputSchema"]
        .iter()
        .find_map(|key| inner.get(*key))?;
    Some(if definition.get("toolSpec").is_some() { found["json"].clone() } else { found.clone() })
}

proptest! {
    #![proptest_config(config(48))]

    fn check_the_same_bytes_every_time_and_the_input_untouched(schema in input_schema(2)) {
        let tool = tool_of(&schema);
        let before = tool.to_string();
        for translator in DECLARED.iter() {
            let bytes = |translator: &Translator| {
                let translated = translator.translate_one(&tool);
                (
                    serde_json::to_string(&translated.definition).unwrap(),
                    serde_json::to_string(&translated.changes).unwrap(),
                    translated.quarantine,
                )
            };
            let first = bytes(translator);
            prop_assert_eq!(&bytes(translator), &first);
            prop_assert_eq!(&bytes(&translator.clone()), &first);
        }
        prop_assert_eq!(tool.to_string(), before);
    }

    fn check_nothing_at_all_makes_it_panic(value in json_value(), schema in input_schema(6), member in misuse()) {
        let mut broken = tool_of(&schema);
        broken["inputSchema"][member.0] = member.1;
        for tool in [tool_of(&value), value.clone(), broken] {
            for translator in DECLARED.iter() {
                let translated = translator.translate_one(&tool);
                prop_assert!(translated.definition.is_some() != translated.quarantine.is_some());
                let _ = translated.plan.encode(&value);
                let _ = translated.plan.decode(&value);
            }
        }
    }

    fn check_a_second_pass_changes_nothing_where_schemas_are_edited(schema in input_schema(1)) {
        let tool = tool_of(&schema);
        for translator in DECLARED.iter().filter(|translator| matches!(translator.dialect().schema.lowering, Lowering::Edit(_))) {
            let Some(first) = translator.translate_one(&tool).definition else { continue };
            let first = first.to_value();
            let again = tool_of(&schema_in(&first).unwrap());
            let second = translator.translate_one(&again);
            prop_assert_eq!(second.quarantine, None);
            prop_assert_eq!(second.definition.unwrap().to_value(), first, "{}", translator.dialect().name);
        }
    }

    fn check_a_second_pass_carries_the_same_arguments(schema in input_schema(0), seed in any::<u64>()) {
        let validator = Validator::new(&schema);
        let accepted = accepted(&schema, &validator, seed);
        let tool = tool_of(&schema);
        for translator in DECLARED.iter().filter(|translator| writes_null(translator)) {
            let name = &translator.dialect().name;
            let first = translator.translate_one(&tool);
            let Some(lowered) = first.definition.as_ref().and_then(|definition| schema_in(&definition.to_value())) else { continue };
            let again = tool_of(&lowered);
            // Recursion that was written out may be deeper than what a server may send.
            let Some(wide) = WIDE.iter().find(|wide| wide.dialect().name == *name) else { continue };
            let second = wide.translate_one(&again);
            prop_assert_eq!(&second.quarantine, &None, "{}", name);
            let reader = Validator::new(&lowered);
            for arguments in &accepted {
                let Ok(encoded) = first.plan.encode(arguments) else { continue };
                if !reader.is_valid(&encoded) {
                    continue;
                }
                let twice = second.plan.encode(&encoded);
                prop_assert!(twice.is_ok(), "{}: {} -> {:?}\nlowered {}", name, encoded, twice, lowered);
                let back = second.plan.decode(&twice.unwrap()).unwrap();
                prop_assert!(same(&back, &encoded), "{}: {} came back as {}", name, encoded, back);
            }
        }
    }

    fn check_arguments_come_back_as_they_went(schema in input_schema(1), seed in any::<u64>()) {
        let validator = Validator::new(&schema);
        let accepted = accepted(&schema, &validator, seed);
        let tool = tool_of(&schema);
        for translator in DECLARED.iter().chain(ALL.iter()) {
            let translated = translator.translate_one(&tool);
            if translated.definition.is_none() {
                continue;
            }
            for arguments in &accepted {
                let Ok(encoded) = translated.plan.encode(arguments) else { continue };
                let decoded = translated.plan.decode(&encoded);
                prop_assert!(
                    decoded.as_ref().is_ok_and(|decoded| same(decoded, arguments)),
                    "{}: {} went as {} and came back as {:?}",
                    translator.dialect().name, arguments, encoded, decoded
                );
            }
        }
    }

    fn check_lowering_only_relaxes(schema in input_schema(0), seed in any::<u64>()) {
        let validator = Validator::new(&schema);
        prop_assume!(validator.omissions().is_empty());
        let accepted = accepted(&schema, &validator, seed);
        let tool = tool_of(&schema);
        for translator in ALL.iter() {
            let name = &translator.dialect().name;
            let translated = translator.translate_one(&tool);
            let Some(definition) = &translated.definition else { continue };
            let lowered = schema_in(&definition.to_value());
            let reader = lowered.as_ref().map(Validator::new);
            for arguments in &accepted {
                let encoded = translated.plan.encode(arguments);
                prop_assert!(encoded.is_ok(), "{}: {} cannot be said: {:?}", name, arguments, encoded);
                let encoded = encoded.unwrap();
                // `nullable` is not JSON Schema: the conformance suite reads those dialects with their own semantics.
                if let Some(reader) = reader.as_ref().filter(|_| writes_null(translator)) {
                    prop_assert!(
                        reader.is_valid(&encoded),
                        "{}: {} went as {}, which {} refuses",
                        name, arguments, encoded, lowered.as_ref().unwrap()
                    );
                }
            }
        }
    }

    fn check_wire_names_are_legal_distinct_and_independent_of_order(
        names in proptest::collection::hash_set(
            prop_oneof!["[a-z]{1,3}", "[a-c._/ -]{1,4}", "\\PC{1,5}", "[a-b.]{62,70}", "[0-9]{1,2}[a-b]?"], 1..12
        ),
        turn in 0_usize..12,
    ) {
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort();
        let tools = |names: &[String]| -> Vec<Value> {
            names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object", "properties": {}}})).collect()
        };
        let forward = tools(&names);
        let by = turn % names.len();
        names.rotate_left(by);
        names.reverse();
        let backward = tools(&names);
        for translator in DECLARED.iter() {
            let wires = |tools: &[Value]| -> HashMap<String, String> {
                let translation = translator.translate(tools);
                translation.tools.iter().map(|tool| (tool.name.to_owned(), tool.wire_name.clone())).collect()
            };
            let table = wires(&forward);
            let dialect = translator.dialect();
            prop_assert_eq!(&table, &wires(&backward), "{}", &dialect.name);
            let distinct: HashSet<&String> = table.values().collect();
            prop_assert_eq!(distinct.len(), table.len(), "{}: {:?}", &dialect.name, &table);
            for (name, wire) in &table {
                prop_assert!(dialect.names.allows(wire), "{}: {} became {}", dialect.name, name, wire);
                prop_assert!(!dialect.names.allows(name) || wire == name, "{}: {} became {}", dialect.name, name, wire);
            }
        }
    }
}

// Each in a process of its own: a stack overflow must not take the other tests down.

#[test]
fn the_same_bytes_every_time_and_the_input_untouched() {
    isolated(
        "properties::the_same_bytes_every_time_and_the_input_untouched",
        check_the_same_bytes_every_time_and_the_input_untouched,
    );
}

#[test]
fn nothing_at_all_makes_it_panic() {
    isolated("properties::nothing_at_all_makes_it_panic", check_nothing_at_all_makes_it_panic);
}

#[test]
fn a_second_pass_changes_nothing_where_schemas_are_edited() {
    isolated(
        "properties::a_second_pass_changes_nothing_where_schemas_are_edited",
        check_a_second_pass_changes_nothing_where_schemas_are_edited,
    );
}

#[test]
fn a_second_pass_carries_the_same_arguments() {
    isolated(
        "properties::a_second_pass_carries_the_same_arguments",
        check_a_second_pass_carries_the_same_arguments,
    );
}

#[test]
fn arguments_come_back_as_they_went() {
    isolated("properties::arguments_come_back_as_they_went", check_arguments_come_back_as_they_went);
}

#[test]
fn lowering_only_relaxes() {
    isolated("properties::lowering_only_relaxes", check_lowering_only_relaxes);
}

#[test]
fn wire_names_are_legal_distinct_and_independent_of_order() {
    isolated(
        "properties::wire_names_are_legal_distinct_and_independent_of_order",
        check_wire_names_are_legal_distinct_and_independent_of_order,
    );
}
