//! Where the tokens go that a strict definition takes beyond the original.

use std::io::Write;

use anyhow::Result;
use gateway_dialects::Translator;
use gateway_dialects::dialect::StrictField;
use gateway_dialects::schema::Holds;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tiktoken_rs::CoreBPE;

use crate::corpus::Corpus;
use crate::growth::original;

/// Takes something out of one schema.
type Step = fn(&mut Map<String, Value>);

/// What is taken out of a definition, one after the other. What a step makes shorter is its part.
const STEPS: [(&str, Step); 5] = [
    ("additionalProperties", |schema| drop_members(schema, &["additionalProperties"])),
    ("required", |schema| drop_members(schema, &["required"])),
    ("null", drop_null),
    ("descriptions", |schema| drop_members(schema, &["description"])),
    ("titles, defaults and other hints", |schema| drop_members(schema, &["title", "default", "examples"])),
];

/// The parts of what the tools of the corpus take in one dialect.
#[derive(Debug, Serialize)]
pub(crate) struct Breakdown {
    dialect: String,
    /// Tokens of all tools as they came.
    before: usize,
    /// The parts, each with its tokens before and after.
    parts: Vec<(&'static str, usize, usize)>,
}

/// Measures the corpus in one dialect; `None` if it is not strict.
pub(crate) fn measure(corpus: &Corpus, translator: &Translator) -> Option<Breakdown> {
    if translator.dialect().tool.strict != StrictField::True {
        return None;
    }
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    let mut sums: Vec<(&'static str, usize, usize)> = Vec::new();
    let mut before = 0;
    for tool in corpus.parsed() {
        let translated = translator.translate_one(&tool);
        let Some(definition) = translated.definition.as_ref().map(gateway_dialects::Json::to_value) else {
            continue;
        };
        let original = original(&tool);
        let schema = translated.schema(translator.dialect()).unwrap_or_else(|| json!({}));
        let mut lowered = original.clone();
        if let Some(members) = lowered.as_object_mut() {
            members.insert("inputSchema".to_owned(), schema);
            if let Some(text) = definition.pointer("/function/description").or(definition.get("description"))
            {
                members.insert("description".to_owned(), text.clone());
            }
        }
        before += count(vocabulary, &original);
        let wrapper = count(vocabulary, &definition).saturating_sub(count(vocabulary, &lowered));
        let own = parts(vocabulary, original);
        let after = parts(vocabulary, lowered);
        let rows = own.into_iter().zip(after).map(|((name, own), (_, after))| (name, own, after));
        for (index, (name, own, after)) in std::iter::once(("wrapper", 0, wrapper)).chain(rows).enumerate() {
            match sums.get_mut(index) {
                Some((_, own_sum, after_sum)) => {
                    *own_sum += own;
                    *after_sum += after;
                }
                None => sums.push((name, own, after)),
            }
        }
    }
    Some(Breakdown { dialect: translator.dialect().name.clone(), before, parts: sums })
}

fn count(vocabulary: &CoreBPE, value: &Value) -> usize {
    vocabulary.encode_ordinary(&value.to_string()).len()
}

/// The tokens of each part of a tool, and of what is left.
fn parts(vocabulary: &CoreBPE, mut tool: Value) -> Vec<(&'static str, usize)> {
    let mut left = count(vocabulary, &tool);
    let mut parts = Vec::with_capacity(STEPS.len() + 1);
    for (name, step) in STEPS {
        if let Some(schema) = tool.get_mut("inputSchema") {
            each_schema(schema, step);
        }
        let less = count(vocabulary, &tool);
        parts.push((name, left.saturating_sub(less)));
        left = less;
    }
    parts.push(("types, names, values, structure", left));
    parts
}

/// Applies `step` to a schema and to all inside it.
fn each_schema(schema: &mut Value, step: Step) {
    let Value::Object(members) = schema else { return };
    step(members);
    for (name, value) in members {
        match (Holds::of(name), value) {
            (Holds::List | Holds::SchemaOrList, Value::Array(list)) => {
                for schema in list {
                    each_schema(schema, step);
                }
            }
            (Holds::Table, Value::Object(table)) => {
                for schema in table.values_mut() {
                    each_schema(schema, step);
                }
            }
            (Holds::Schema | Holds::SchemaOrList, schema) => each_schema(schema, step),
            (Holds::List | Holds::Table | Holds::Values | Holds::Nothing, _) => {}
        }
    }
}

fn drop_members(schema: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        schema.shift_remove(*name);
    }
}

/// Takes null out of lists of types and values and out of alternatives. What is left alone needs no list.
fn drop_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(branches)) = schema.get_mut("anyOf") else { return };
    branches.retain(|branch| branch.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = branches.as_slice() {
        let only = only.clone();
        schema.shift_remove("anyOf");
        schema.extend(only);
    }
}

/// A table for each strict dialect: tokens of each part, in hundredths of what the tools take as they came.
pub(crate) fn write_tables(rows: &[Breakdown], out: &mut impl Write) -> Result<()> {
    for row in rows {
        let part = |tokens: usize| percent(tokens, row.before);
        writeln!(out, "\n{}: {} tokens before\n", row.dialect, row.before)?;
        writeln!(out, "| part | before, % | after, % | growth, % |")?;
        writeln!(out, "| --- | ---: | ---: | ---: |")?;
        let all = row.parts.iter().fold((0, 0), |(own, after), part| (own + part.1, after + part.2));
        for (name, own, after) in row.parts.iter().chain([&("all", all.0, all.1)]) {
            let (own, after) = (part(*own), part(*after));
            writeln!(out, "| {name} | {own:.1} | {after:.1} | {:+.1} |", after - own)?;
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a share of a few million tokens")]
fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
