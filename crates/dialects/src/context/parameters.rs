//! The parameters of a tool, as lines of text.

use serde_json::Value;

use super::Detail;
use crate::arguments::kind_name;
use crate::schema::Members as _;

/// Levels below which nested parameters are left out.
const DEEPEST: usize = 8;

/// Lines of one tool after which nested parameters are left out: references can multiply without end.
const MOST_LINES: usize = 1000;

/// References and alternatives that are followed to find a type.
const MOST_STEPS: usize = 4;

/// Unions that are looked into to find the types of one parameter, and alternatives of each.
const MOST_TYPES: usize = 16;

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
            (name.as_str(), schema, if is_required { "*" } else { "" })
        })
    }

    /// A line for each: all levels with constraints if `detail` asks for it, else the top level only.
    pub(super) fn describe(&self, lines: &mut Vec<String>, level: usize, detail: Detail) {
        if level > DEEPEST || lines.len() > MOST_LINES {
            return;
        }
        let indent = "  ".repeat(level);
        for (name, schema, star) in self.each() {
            let text = self.description(schema);
            let text = if text.is_empty() { String::new() } else { format!(" - {text}") };
            if detail != Detail::Detailed {
                lines.push(format!("{indent}- {name}{star}: {}{text}", self.type_name(schema)));
                continue;
            }
            let facts = facts(self.meant(schema), schema);
            let facts = if facts.is_empty() { String::new() } else { format!(" [{}]", facts.join("; ")) };
            lines.push(format!("{indent}- {name}{star}: {}{text}{facts}", self.full_type(schema)));
            self.describe_below(self.meant(schema), lines, level + 1);
        }
    }

    /// The parameters of an object, of a list's items, and of alternatives.
    fn describe_below(&self, schema: &'s Value, lines: &mut Vec<String>, level: usize) {
        let alternatives =
            ["anyOf", "oneOf", "allOf"].iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        let inside = schema.get("items").into_iter().chain(alternatives.flatten());
        for schema in std::iter::once(schema).chain(inside.map(|schema| self.meant(schema))) {
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

    /// The schema that values are meant to fit: behind references, and without the alternative of null.
    fn meant(&self, schema: &'s Value) -> &'s Value {
        let mut current = self.resolved(schema);
        for _ in 0..MOST_STEPS {
            let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| current.get(keyword)?.as_array());
            let mut others = alternatives.into_iter().flatten().filter(|one| !is_null(one));
            match (others.next(), others.next()) {
                (Some(only), None) if current.get("type").is_none() => current = self.resolved(only),
                _ => break,
            }
        }
        current
    }

    /// The nearest description: the parameter's own, else that of what it refers to.
    fn description(&self, schema: &'s Value) -> &'s str {
        let mut all = [schema, self.resolved(schema), self.meant(schema)].into_iter();
        all.find_map(|schema| schema.text("description").filter(|text| !text.is_empty())).unwrap_or_default()
    }

    /// The type, and for a list that of its items.
    fn full_type(&self, schema: &'s Value) -> String {
        let name = self.type_name(schema);
        match self.meant(schema).get("items") {
            Some(items) if name == "array" => format!("array of {}", self.type_name(items)),
            Some(_) | None => name,
        }
    }

    /// The types of the values that are meant, as a model would choose among them: null only where there is nothing else.
    fn type_name(&self, schema: &'s Value) -> String {
        let mut names = Vec::new();
        self.collect_types(schema, &mut names, &mut { MOST_TYPES });
        if names.len() > 1 {
            names.retain(|name| *name != "null");
        }
        if names.is_empty() || names.contains(&"any") { "any".to_owned() } else { names.join(" | ") }
    }

    fn collect_types(&self, schema: &'s Value, names: &mut Vec<&'s str>, left: &mut usize) {
        let schema = self.meant(schema);
        let mut add = |name: &'s str| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        match schema.get("type") {
            Some(Value::String(name)) => return add(name),
            Some(Value::Array(list)) => return list.iter().filter_map(Value::as_str).for_each(&mut add),
            Some(_) | None => {}
        }
        let values = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
        if let Some(values) = values.or_else(|| schema.get("const").map(std::slice::from_ref)) {
            return values.iter().for_each(|value| add(kind_name(value)));
        }
        let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(keyword)?.as_array());
        match (alternatives, left.checked_sub(1)) {
            (Some(alternatives), Some(rest)) => {
                *left = rest;
                for schema in alternatives.iter().take(MOST_TYPES) {
                    self.collect_types(schema, names, left);
                }
            }
            _ if schema.get("properties").is_some() => add("object"),
            _ if schema.get("items").is_some() => add("array"),
            _ => add("any"),
        }
    }
}

/// Whether a schema allows nothing but null.
fn is_null(schema: &Value) -> bool {
    schema.text("type") == Some("null") || schema.get("const").is_some_and(Value::is_null)
}

/// What restricts a value; the default is the parameter's own.
fn facts(schema: &Value, outer: &Value) -> Vec<String> {
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
    if let Some(default) = outer.get("default").or_else(|| schema.get("default")) {
        facts.push(format!("default {default}"));
    }
    facts
}
