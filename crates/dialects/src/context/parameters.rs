//! The parameters of a tool, as lines of text.

use serde_json::Value;

use super::Detail;
use crate::schema::Members as _;

/// Levels below which nested parameters are left out.
const DEEPEST: usize = 8;

/// Lines of one tool after which nested parameters are left out: references can multiply without end.
const MOST_LINES: usize = 1000;

/// Schema keywords that restrict a value, and the words for each.
const CONSTRAINTS: &[(&str, &str)] = &[
    ("const", "always"),
    ("minimum", "at least"),
    ("exclusiveMinimum", "greater than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
    ("multipleOf", "multiple of"),
    ("minLength", "min length"),
    ("maxLength", "max length"),
    ("pattern", "pattern"),
    ("format", "format"),
    ("minItems", "min items"),
    ("maxItems", "max items"),
    ("minProperties", "min entries"),
    ("maxProperties", "max entries"),
];

/// The properties of an object schema.
pub(super) struct Parameters<'s> {
    root: &'s Value,
    schema: &'s Value,
}

impl<'s> Parameters<'s> {
    /// The parameters that `schema` declares.
    pub(super) fn of(schema: &'s Value) -> Self {
        Self { root: schema, schema }
    }

    /// `a*: number, b: string`
    pub(super) fn signature(&self) -> String {
        let parameters =
            self.each().map(|(name, schema, star)| format!("{name}{star}: {}", self.full_type(schema)));
        parameters.collect::<Vec<_>>().join(", ")
    }

    /// Names and schemas, with a star for what is required.
    fn each(&self) -> impl Iterator<Item = (&'s str, &'s Value, &'static str)> {
        let required = self.schema.get("required").and_then(Value::as_array);
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(move |(name, schema)| {
            let is_required = required.is_some_and(|names| names.iter().any(|given| given == name));
            (name.as_str(), self.resolved(schema), if is_required { "*" } else { "" })
        })
    }

    /// A line for each: all levels with constraints if `detail` asks for it, else the top level only.
    pub(super) fn describe(&self, lines: &mut Vec<String>, level: usize, detail: Detail) {
        if level > DEEPEST || lines.len() > MOST_LINES {
            return;
        }
        let indent = "  ".repeat(level);
        for (name, schema, star) in self.each() {
            let text = schema.text("description").unwrap_or_default();
            let text = if text.is_empty() { String::new() } else { format!(" - {text}") };
            if detail != Detail::Detailed {
                lines.push(format!("{indent}- {name}{star}: {}{text}", type_name(schema)));
                continue;
            }
            let facts = facts(schema);
            let facts = if facts.is_empty() { String::new() } else { format!(" [{}]", facts.join("; ")) };
            lines.push(format!("{indent}- {name}{star}: {}{text}{facts}", self.full_type(schema)));
            self.describe_below(schema, lines, level + 1);
        }
    }

    /// The parameters of an object, of a list's items, and of alternatives.
    fn describe_below(&self, schema: &'s Value, lines: &mut Vec<String>, level: usize) {
        let alternatives =
            ["anyOf", "oneOf", "allOf"].iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        let inside = schema.get("items").into_iter().chain(alternatives.flatten());
        for schema in std::iter::once(schema).chain(inside.map(|schema| self.resolved(schema))) {
            Self { root: self.root, schema }.describe(lines, level, Detail::Detailed);
        }
    }

    /// The schema that a local reference leads to, at most two steps away.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let mut current = schema;
        for _ in 0..2 {
            let pointer = current.text("$ref").and_then(|link| link.strip_prefix('#'));
            match pointer.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => current = target,
                None => break,
            }
        }
        current
    }

    /// The type, and for a list that of its items.
    fn full_type(&self, schema: &'s Value) -> String {
        let name = type_name(schema);
        match schema.get("items") {
            Some(items) if name == "array" => format!("array of {}", type_name(self.resolved(items))),
            Some(_) | None => name,
        }
    }
}

fn type_name(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        Some(_) | None => "any".to_owned(),
    }
}

fn facts(schema: &Value) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        facts.push(format!("one of {}", values.join(", ")));
    }
    for (keyword, words) in CONSTRAINTS {
        match schema.get(keyword) {
            Some(Value::String(text)) => facts.push(format!("{words} {text}")),
            Some(value) => facts.push(format!("{words} {value}")),
            None => {}
        }
    }
    if schema.get("uniqueItems").and_then(Value::as_bool) == Some(true) {
        facts.push("no item twice".to_owned());
    }
    if let Some(default) = schema.get("default") {
        facts.push(format!("default {default}"));
    }
    facts
}
