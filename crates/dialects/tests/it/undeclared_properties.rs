//! What is declared or invited gets through by default: for any rules about properties beside each other, in every dialect.
//!
//! The arguments of `properties` hold keys that nobody speaks of, so that only `open = all` promises to carry them. Here each key is
//! one that some rule which holds speaks of.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::HashSet;

use gateway_dialects::arguments::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::hostile::isolated;
use crate::properties::{
    DECLARED, Dice, anything, config, is_endless, node, one_of, same, schema_in, tool_of, writes_null,
};

const KEYS: &[&str] = &["a", "b", "ab", "a b", "x"];
const PATTERNS: &[&str] = &["^a", "b$", "x"];

/// Ways to satisfy the unions of one object that are looked at.
const MOST_WAYS: usize = 64;

fn fits(pattern: &str, key: &str) -> bool {
    match pattern {
        "^a" => key.starts_with('a'),
        "b$" => key.ends_with('b'),
        _ => key.contains('x'),
    }
}

// Schemas.

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => one_of(&["string", "integer", "boolean", "object"]).prop_map(|name| json!({ "type": name })),
        1 => Just(json!({"type": ["string", "null"]})),
        1 => Just(json!({"enum": ["a", 1]})),
        1 => Just(json!(true)),
        2 => one_of(&["#/$defs/A", "#/$defs/B"]).prop_map(|target| json!({ "$ref": target })),
    ]
}

/// Rules about properties; `typed` where they ask for an object.
fn rules(
    inner: &BoxedStrategy<Value>,
    typed: bool,
) -> impl Strategy<Value = Vec<(&'static str, Value)>> + use<> {
    let table = |keys, inner: &BoxedStrategy<Value>, most: usize| {
        proptest::collection::vec((one_of(keys), inner.clone()), 0..most).prop_map(|entries| {
            Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        })
    };
    let rest = prop_oneof![
        5 => Just(None),
        1 => any::<bool>().prop_map(|flag| Some(json!(flag))),
        2 => inner.clone().prop_map(Some),
    ];
    let patterns = proptest::option::weighted(0.25, table(PATTERNS, inner, 3));
    let required = proptest::option::weighted(0.3, one_of(KEYS));
    let indirect = proptest::option::weighted(0.2, indirect());
    (table(KEYS, inner, 4), required, rest, patterns, indirect).prop_map(
        move |(properties, required, rest, patterns, indirect)| {
            let mut parts = vec![("properties", properties)];
            parts.extend(typed.then(|| ("type", json!("object"))));
            parts.extend(required.map(|name| ("required", json!([name]))));
            parts.extend(rest.map(|rest| ("additionalProperties", rest)));
            parts.extend(patterns.map(|patterns| ("patternProperties", patterns)));
            parts.extend(indirect);
            parts
        },
    )
}

/// A rule that speaks of keys without describing their values.
fn indirect() -> impl Strategy<Value = (&'static str, Value)> {
    let names = || proptest::sample::subsequence(KEYS, 1..4);
    prop_oneof![
        2 => (one_of(KEYS), names()).prop_map(|(key, names)| ("dependentRequired", json!({ key: names }))),
        2 => one_of(&["1", "2", "3", "6"]).prop_map(|count| ("minProperties", count.parse::<Value>().unwrap())),
        1 => names().prop_map(|names| ("propertyNames", json!({ "enum": names }))),
        1 => (names(), one_of(KEYS))
            .prop_map(|(names, name)| ("propertyNames", json!({"anyOf": [{ "enum": names }, { "const": name }]}))),
    ]
}

/// An object whose rules stand beside alternatives and conditions.
fn object(inner: &BoxedStrategy<Value>) -> impl Strategy<Value = Value> + use<> {
    let part = || rules(inner, false).prop_map(node).boxed();
    let beside = prop_oneof![
        3 => Just(Vec::new()),
        2 => (one_of(&["anyOf", "oneOf", "allOf"]), part(), part())
            .prop_map(|(name, left, right)| vec![(name, json!([left, right]))]),
        2 => (one_of(KEYS), part(), proptest::option::of(part()), any::<bool>()).prop_map(|(key, then, other, said)| {
            let mut parts = vec![("then", then)];
            parts.extend(other.map(|other| ("else", other)));
            parts.extend(said.then(|| ("if", json!({"required": [key]}))));
            parts
        }),
        1 => (part(), part(), one_of(&["then", "else"]))
            .prop_map(|(condition, outcome, name)| vec![("if", condition), (name, outcome)]),
        1 => part().prop_map(|part| vec![("not", json!({ "not": part }))]),
        1 => (one_of(KEYS), part()).prop_map(|(key, part)| vec![("dependentSchemas", json!({ key: part }))]),
    ];
    (rules(inner, true), beside).prop_map(|(mut parts, beside)| {
        parts.extend(beside);
        node(parts)
    })
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            6 => object(&inner),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => (object(&inner), object(&inner))
                .prop_map(|(items, some)| json!({"type": "array", "items": items, "contains": some})),
            1 => (inner.clone(), inner).prop_map(|(left, right)| json!({"anyOf": [left, right]})),
        ]
    })
}

fn input_schema() -> impl Strategy<Value = Value> {
    (object(&schema().boxed()), schema(), schema()).prop_map(|(mut root, a, b)| {
        root["$defs"] = json!({"A": a, "B": b});
        root
    })
}

// Arguments.

/// A schema and its definitions, to be asked about parts of it.
struct Whole<'a> {
    root: &'a Value,
}

impl<'a> Whole<'a> {
    fn target(&self, schema: &Value) -> Option<&'a Value> {
        self.root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
    }

    fn holds(&self, schema: &Value, value: &Value) -> bool {
        let Value::Object(map) = schema else { return schema != &json!(false) };
        let mut map = map.clone();
        map.insert("$defs".to_owned(), self.root["$defs"].clone());
        Validator::new(&Value::Object(map)).is_valid(value)
    }

    /// Every list of schemas that speak of `value` together: one alternative of each union, and each condition that holds.
    fn ways(&self, schema: &'a Value, value: &Value) -> Vec<Vec<&'a Value>> {
        let mut ways = vec![vec![schema]];
        let mut also = |more: Vec<Vec<&'a Value>>| {
            let joined = ways.iter().flat_map(|way| more.iter().map(|more| [way.as_slice(), more].concat()));
            ways = joined.take(MOST_WAYS).collect();
        };
        if let Some(target) = self.target(schema) {
            also(self.ways(target, value));
        }
        for member in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            also(self.ways(member, value));
        }
        for name in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = schema.get(name) {
                let held = members.iter().filter(|member| self.holds(member, value));
                also(held.flat_map(|member| self.ways(member, value)).collect());
            }
        }
        if let Some(held) = schema.get("not").and_then(|denied| denied.get("not")) {
            also(self.ways(held, value));
        }
        if let Some(condition) = schema.get("if") {
            let held = self.holds(condition, value);
            if held && (schema.get("then").is_some() || schema.get("else").is_some()) {
                also(self.ways(condition, value));
            }
            let name = if held { "then" } else { "else" };
            if let Some(held) = schema.get(name) {
                also(self.ways(held, value));
            }
        }
        for (key, member) in schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten() {
            if value.get(key).is_some() {
                also(self.ways(member, value));
            }
        }
        ways
    }

    fn all_ways(&self, schemas: &[&'a Value], value: &Value) -> Vec<Vec<&'a Value>> {
        schemas.iter().fold(vec![Vec::new()], |ways, schema| {
            let more = self.ways(schema, value);
            ways.iter()
                .flat_map(|way| more.iter().map(move |more| [way.as_slice(), more].concat()))
                .take(MOST_WAYS)
                .collect()
        })
    }

    /// Whether every property in `value`, at any depth, is one that a rule which holds speaks of.
    fn invites(&self, schemas: &[&'a Value], value: &Value) -> bool {
        match value {
            Value::Object(map) => self.all_ways(schemas, value).iter().any(|way| {
                let least = way.iter().filter_map(|schema| schema["minProperties"].as_u64()).max();
                let too_few = least > u64::try_from(names_in(schemas).len()).ok();
                map.iter().all(|(key, inner)| {
                    let named = too_few || way.iter().any(|schema| names(schema, key));
                    match spoken(way, key).as_slice() {
                        [] => named,
                        sources => self.invites(sources, inner),
                    }
                })
            }),
            Value::Array(items) => self.all_ways(schemas, value).iter().any(|way| {
                let rules: Vec<&Value> = way.iter().filter_map(|schema| schema.get("items")).collect();
                let some: Vec<&Value> = way.iter().filter_map(|schema| schema.get("contains")).collect();
                rules.is_empty()
                    || items.iter().all(|item| {
                        let held = some.iter().copied().filter(|some| self.holds(some, item));
                        self.invites(&rules.iter().copied().chain(held).collect::<Vec<_>>(), item)
                    })
            }),
            _ => true,
        }
    }

    /// A value that has a fair chance of satisfying all of `schemas`, with keys that they speak of.
    fn instance(&self, schemas: &[&'a Value], dice: &mut Dice, depth: usize) -> Value {
        let mut way: Vec<&'a Value> = Vec::new();
        let mut ahead = schemas.to_vec();
        while let Some(schema) = ahead.pop() {
            way.push(schema);
            ahead.extend(self.target(schema));
            ahead.extend(schema.get("allOf").and_then(Value::as_array).into_iter().flatten());
            for name in ["anyOf", "oneOf"] {
                if let Some(Value::Array(members)) = schema.get(name) {
                    ahead.push(&members[dice.roll(members.len())]);
                }
            }
            ahead.extend(schema.get("not").and_then(|denied| denied.get("not")));
            if let Some(condition) = schema.get("if") {
                let held = dice.roll(2) == 0;
                ahead.extend(schema.get(if held { "then" } else { "else" }));
                ahead.extend(held.then_some(condition));
            }
            let dependent = schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten();
            ahead.extend(dependent.map(|(_, member)| member).filter(|_| dice.roll(2) == 0));
        }
        let types = way.iter().find_map(|schema| schema.get("type"));
        let about_objects = way.iter().any(|schema| schema.get("properties").is_some());
        match types.and_then(|types| types.as_str().or(types[0].as_str())) {
            _ if depth == 0 => json!("a"),
            None if !about_objects => match way.iter().find_map(|schema| schema["enum"].as_array()) {
                Some(values) => values[dice.roll(values.len())].clone(),
                None => anything(dice),
            },
            Some("string") => json!("a"),
            Some("integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => {
                let mut rules: Vec<&Value> = way.iter().filter_map(|schema| schema.get("items")).collect();
                rules.extend(way.iter().filter_map(|schema| schema.get("contains")));
                (0..dice.roll(3)).map(|_| self.instance(&rules, dice, depth - 1)).collect()
            }
            _ => {
                let mut made = Map::new();
                let many = way.iter().any(|schema| schema.get("minProperties").is_some());
                for key in KEYS.iter().chain(&["a1", "zb", "z"]) {
                    let sources = spoken(&way, key);
                    let required = way.iter().any(|schema| lists(&schema["required"], key));
                    let named = many || !sources.is_empty() || way.iter().any(|schema| names(schema, key));
                    if required || (named && dice.roll(5) < if many { 4 } else { 2 }) {
                        made.insert((*key).to_owned(), self.instance(&sources, dice, depth - 1));
                    }
                }
                Value::Object(made)
            }
        }
    }
}

fn lists(names: &Value, key: &str) -> bool {
    names.as_array().is_some_and(|names| names.contains(&json!(key)))
}

/// Whether a schema names a key without describing its values.
fn names(schema: &Value, key: &str) -> bool {
    let asked = schema.get("if").filter(|_| schema.get("then").is_some() || schema.get("else").is_some());
    let listed = |names: &Value| lists(&names["enum"], key) || names["const"] == key;
    let table = |name: &str| schema.get(name).and_then(Value::as_object).into_iter().flatten();
    lists(&schema["required"], key)
        || table("dependentRequired").any(|(name, others)| name == key || lists(others, key))
        || table("dependentSchemas").any(|(name, _)| name == key)
        || schema
            .get("propertyNames")
            .is_some_and(|names| listed(names) || names["anyOf"].as_array().into_iter().flatten().any(listed))
        || asked.is_some_and(|asked| lists(&asked["required"], key) || asked["properties"].get(key).is_some())
}

/// At least the names that `schemas` speak of; all of them where there are references.
fn names_in(schemas: &[&Value]) -> HashSet<&'static str> {
    let text = format!("{schemas:?}");
    let named = |key: &&str| text.contains("$ref") || text.contains(&format!("{key:?}"));
    KEYS.iter().copied().filter(named).collect()
}

/// The schemas by which `schemas` speak of a key.
fn spoken<'a>(schemas: &[&'a Value], key: &str) -> Vec<&'a Value> {
    let mut sources = Vec::new();
    for schema in schemas {
        let before = sources.len();
        sources.extend(schema.get("properties").and_then(|table| table.get(key)));
        let patterns = schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        sources.extend(patterns.filter(|(pattern, _)| fits(pattern, key)).map(|(_, schema)| schema));
        if sources.len() == before {
            sources.extend(schema.get("additionalProperties").filter(|more| *more != &json!(false)));
        }
    }
    sources
}

/// Whether each key that is declared somewhere has a value that its declarations allow, if there is room for any key. That does not mean
/// such a key: it is shown as it is declared, and other values of it are not said.
fn is_as_declared(root: &Value, value: &Value) -> bool {
    fn declarations<'a>(schema: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
        match schema {
            Value::Object(map) => {
                for (name, member) in map {
                    if name == "properties"
                        && let Value::Object(table) = member
                    {
                        found.extend(table.iter().map(|(key, schema)| (key.as_str(), schema)));
                    }
                    declarations(member, found);
                }
            }
            Value::Array(members) => members.iter().for_each(|member| declarations(member, found)),
            _ => {}
        }
    }
    fn fits(root: &Value, declared: &[(&str, &Value)], value: &Value) -> bool {
        match value {
            Value::Object(map) => map.iter().all(|(key, value)| {
                let mut known = declared.iter().filter(|(name, _)| name == key);
                let allowed = |(_, schema): &(&str, &Value)| {
                    let alone = json!({"$defs": root.get("$defs"), "allOf": [schema]});
                    Validator::new(&alone).is_valid(value)
                };
                known.all(allowed) && fits(root, declared, value)
            }),
            Value::Array(values) => values.iter().all(|value| fits(root, declared, value)),
            _ => true,
        }
    }
    let text = root.to_string();
    let general = ["\"additionalProperties\":true", "minProperties", "dependent", "propertyNames", "\"if\""];
    if !general.iter().any(|words| text.contains(words)) {
        return true;
    }
    let mut declared = Vec::new();
    declarations(root, &mut declared);
    fits(root, &declared, value)
}

proptest! {
    #![proptest_config(config(96))]

    fn check_what_is_invited_gets_through(schema in input_schema(), seed in any::<u64>()) {
        prop_assume!(!is_endless(&schema, &schema));
        let whole = Whole { root: &schema };
        let validator = Validator::new(&schema);
        let mut dice = Dice(seed);
        let made = (0..16).map(|_| whole.instance(&[&schema], &mut dice, 5));
        let invited: Vec<Value> =
            made.filter(|value| validator.is_valid(value) && whole.invites(&[&schema], value))
                .filter(|value| is_as_declared(&schema, value))
                .collect();
        let tool = tool_of(&schema);
        for translator in DECLARED.iter().filter(|_| !invited.is_empty()) {
            let name = &translator.dialect().name;
            let translated = translator.translate_one(&tool);
            let Some(definition) = &translated.definition else { continue };
            let lowered = schema_in(&definition.to_value());
            let reader = lowered.as_ref().map(Validator::new);
            for arguments in &invited {
                let encoded = translated.plan.encode(arguments);
                prop_assert!(encoded.is_ok(), "{}: {} cannot be said: {:?}", name, arguments, encoded);
                let encoded = encoded.unwrap();
                let back = translated.plan.decode(&encoded).unwrap();
                prop_assert!(same(&back, arguments), "{}: {} came back as {}", name, arguments, back);
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
}

#[test]
fn what_is_invited_gets_through() {
    isolated("undeclared_properties::what_is_invited_gets_through", check_what_is_invited_gets_through);
}
