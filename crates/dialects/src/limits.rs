//! What a provider refuses to go beyond, in one lowered schema.

use std::borrow::Cow;

use serde_json::Value;

use crate::dialect::Limits;
use crate::json::Json;
use crate::report::{Changes, PathId};
use crate::schema::Holds;
use crate::tokens::json_bytes;

/// Why the provider would refuse `schema`.
pub(crate) fn over_limit(schema: &Json<'_>, limits: &Limits) -> Option<String> {
    let Limits { properties: most, schema_bytes: longest, .. } = *limits;
    if most > 0 {
        let count = properties(schema);
        if count > most {
            return Some(format!("the schema has {count} properties, and the provider takes {most}"));
        }
    }
    // Counting is rough, writing is exact: it is done only near the limit.
    if longest > 0 && json_bytes(schema).saturating_mul(2) > longest {
        let bytes = serde_json::to_string(schema).map_or(0, |text| text.len());
        if bytes > longest {
            return Some(format!("the schema has {bytes} bytes, and the provider takes {longest}"));
        }
    }
    None
}

/// What a provider counts over all strict tools of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StrictCost {
    pub(crate) tools: usize,
    /// Properties that are not required.
    pub(crate) optional: usize,
    /// Schemas with several types or branches.
    pub(crate) unions: usize,
}

impl StrictCost {
    /// What every strict tool costs.
    pub(crate) const ANY: Self = Self { tools: 1, optional: 0, unions: 0 };

    /// More than any request takes.
    pub(crate) const ALL: Self = Self { tools: usize::MAX, optional: usize::MAX, unions: usize::MAX };
}

impl std::ops::Add for StrictCost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tools: self.tools.saturating_add(other.tools),
            optional: self.optional.saturating_add(other.optional),
            unions: self.unions.saturating_add(other.unions),
        }
    }
}

/// What the schema of one strict tool counts, wherever it stands in it.
pub(crate) fn strict_cost(schema: &Json<'_>) -> StrictCost {
    let mut cost = StrictCost::ANY;
    count_strict(schema, &mut cost);
    cost
}

fn count_strict(schema: &Json<'_>, cost: &mut StrictCost) {
    let (mut declared, mut required) = (Vec::new(), Vec::new());
    let mut is_union = false;
    schema.each_member(&mut |name, value| {
        match name {
            "properties" => value.each_member(&mut |key, _| declared.push(key.to_owned())),
            "required" => value.each_item(&mut |key| required.extend(key.as_str().map(str::to_owned))),
            "anyOf" => is_union = true,
            "type" => is_union |= value.is_array(),
            _ => {}
        }
        show_schemas(name, value, &mut |child| count_strict(child, cost));
    });
    cost.optional += declared.iter().filter(|key| !required.contains(key)).count();
    cost.unions += usize::from(is_union);
}

/// Cuts descriptions that are longer than the provider takes: the server's own words first, constraints last.
pub(crate) fn cut_descriptions<'a>(schema: Json<'a>, limits: &Limits, changes: &mut Changes<'a>) -> Json<'a> {
    let limit = limits.parameter_description;
    if limit == 0 || !has_long_description(&schema, limit) {
        return schema;
    }
    cut_node(schema, limit, PathId::ROOT, changes)
}

/// `text` in at most `limit` characters; what stands behind the server's own words stays as long as it can.
pub(crate) fn cut_text(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let rules = ["\n\nConstraints: ", "\n\nIMPORTANT: "].iter().filter_map(|mark| text.rfind(mark)).min();
    let (own, rules) = text.split_at(rules.unwrap_or(text.len()));
    let room = limit.saturating_sub(rules.chars().count() + 1);
    if room == 0 {
        let rest = if rules.is_empty() { own } else { rules.trim_start() };
        return rest.chars().take(limit).collect();
    }
    let cut: String = own.chars().take(room).collect();
    format!("{}…{rules}", cut.trim_end())
}

/// Shows every schema in the value of a keyword.
fn show_schemas<'a>(name: &str, value: &Json<'a>, visit: &mut dyn FnMut(&Json<'a>)) {
    // Most members are texts, for which no keyword needs to be looked up.
    if value.as_str().is_some() {
        return;
    }
    match Holds::of(name) {
        Holds::Table => value.each_member(&mut |_, schema| visit(schema)),
        Holds::List | Holds::SchemaOrList if value.is_array() => value.each_item(visit),
        Holds::Schema | Holds::List | Holds::SchemaOrList => visit(value),
        Holds::Nothing | Holds::Values => {}
    }
}

fn properties(json: &Json<'_>) -> usize {
    let mut count = 0;
    json.each_member(&mut |name, value| {
        if name == "properties" {
            count += match value {
                Json::Object(entries) => entries.len(),
                Json::Same(Value::Object(map)) => map.len(),
                _ => 0,
            };
        }
        show_schemas(name, value, &mut |child| count += properties(child));
    });
    count
}

fn has_long_description(json: &Json<'_>, limit: usize) -> bool {
    let mut long = false;
    json.each_member(&mut |name, value| {
        long |= name == "description" && value.as_str().is_some_and(|text| text.chars().count() > limit);
        show_schemas(name, value, &mut |child| long = long || has_long_description(child, limit));
    });
    long
}

fn cut_node<'a>(json: Json<'a>, limit: usize, path: PathId, changes: &mut Changes<'a>) -> Json<'a> {
    if !has_long_description(&json, limit) {
        return json;
    }
    let entries = match json.into_entries() {
        Ok(entries) => entries,
        Err(other) => return other,
    };
    let mut cut = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let value = match Holds::of(&name) {
            Holds::Nothing if name == "description" => cut_description(value, limit, path, changes),
            Holds::Nothing | Holds::Values => value,
            Holds::Table => {
                let path = step(changes, path, &name);
                cut_table(value, limit, path, changes)
            }
            Holds::Schema | Holds::List | Holds::SchemaOrList => {
                let path = step(changes, path, &name);
                cut_schemas(value, limit, path, changes)
            }
        };
        cut.push((name, value));
    }
    Json::Object(cut)
}

fn cut_description<'a>(json: Json<'a>, limit: usize, path: PathId, changes: &mut Changes<'a>) -> Json<'a> {
    let Some(text) = json.as_str().filter(|text| text.chars().count() > limit) else { return json };
    let cut = cut_text(text, limit);
    let original = if let Json::Same(original) = json { Some(original) } else { None };
    changes.cut(path, original, "cut to the length that the provider takes");
    Json::from(cut)
}

fn cut_table<'a>(json: Json<'a>, limit: usize, path: PathId, changes: &mut Changes<'a>) -> Json<'a> {
    let entries = match json.into_entries() {
        Ok(entries) => entries,
        Err(other) => return other,
    };
    let cut = entries.into_iter().map(|(key, schema)| {
        let path = step(changes, path, &key);
        (key, cut_node(schema, limit, path, changes))
    });
    Json::Object(cut.collect())
}

fn cut_schemas<'a>(json: Json<'a>, limit: usize, path: PathId, changes: &mut Changes<'a>) -> Json<'a> {
    let items = match json.into_items() {
        Ok(items) => items,
        Err(other) => return cut_node(other, limit, path, changes),
    };
    let cut = items.into_iter().enumerate().map(|(index, item)| {
        let path = changes.paths.index(path, index);
        cut_node(item, limit, path, changes)
    });
    Json::Array(cut.collect())
}

/// One step below `path`, if the name lives as long as the report.
#[expect(clippy::ptr_arg, reason = "only a borrowed name lives as long as the report")]
fn step<'a>(changes: &mut Changes<'a>, path: PathId, name: &Cow<'a, str>) -> PathId {
    match name {
        Cow::Borrowed(name) => changes.paths.name(path, name),
        Cow::Owned(_) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::cut_text;

    #[test]
    fn constraints_go_last() {
        let text = "Ä long description of what this is\n\nConstraints: number must be >= 1";
        assert_eq!(cut_text(text, 50), "Ä long descript…\n\nConstraints: number must be >= 1");
        assert_eq!(cut_text(text, 20), "Constraints: number ");
        assert_eq!(cut_text("äöüäöü", 4), "äöü…");
        assert_eq!(cut_text("short", 5), "short");
    }
}
