//! A schema as it came, for callers who ask for it. Only what they or the dialect say about defaults and hidden parameters counts.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::LoweredSchema;
use super::edit::hide_parameters;
use super::reader::Reader;
use crate::dialect::Defaults;
use crate::json::{Entries, Json};
use crate::plan::Plan;
use crate::report::PathId;
use crate::schema::{Holds, Members as _, Source, children};
use crate::text::{Note, compose};

/// The schema that `reader` reads, left alone.
pub(super) fn leave<'a>(reader: Reader<'a, '_>) -> LoweredSchema<'a> {
    let root = reader.root_source();
    let mut left = Verbatim { reader, named: HashSet::new() };
    let mut schema = Json::Same(root.schema);
    if left.reader.defaults() != Defaults::Keep {
        left.find_named(root);
        schema = left.without_defaults(root);
    }
    let Verbatim { mut reader, .. } = left;
    if !reader.options.hidden.is_empty() || !reader.options.injected.is_empty() {
        let mut entries = schema.into_entries().unwrap_or_default();
        hide_in_branches(&mut entries, &reader);
        reader.rewritten(PathId::ROOT, "properties", None, "hidden parameters left out");
        schema = Json::Object(entries);
    }
    LoweredSchema {
        schema: Some(schema),
        plan: Plan::default(),
        changes: reader.changes,
        tool_notes: Vec::new(),
        excess: None,
    }
}

struct Verbatim<'a, 'r> {
    reader: Reader<'a, 'r>,
    /// Schemas that references name, also under words that are no keywords.
    named: HashSet<*const Value>,
}

impl<'a> Verbatim<'a, '_> {
    fn find_named(&mut self, root: Source<'a>) {
        let mut ahead = vec![root];
        while let Some(source) = ahead.pop() {
            let resource = self.reader.resolver.resource_of(source.schema, source.resource);
            let target = source.schema.text("$ref").and_then(|link| self.reader.resolve(link, resource));
            ahead.extend(target.filter(|target| self.named.insert(target.schema)));
            ahead.extend(children(source.schema).map(|child| Source {
                schema: child.schema,
                resource,
                ..source
            }));
        }
    }

    /// `source` without its own default and those inside it. Its depth is bounded by the budget.
    fn without_defaults(&mut self, source: Source<'a>) -> Json<'a> {
        let Value::Object(members) = source.schema else { return Json::Same(source.schema) };
        let mut written: Entries<'a> = Vec::with_capacity(members.len());
        let mut is_changed = false;
        let mut notes = Vec::new();
        for (name, value) in members {
            if name == "default" {
                is_changed = true;
                if self.reader.defaults() == Defaults::Describe {
                    notes.push(Note::Default(value));
                    self.reader.described(source.path, name, Some(value), "defaults are described");
                } else {
                    self.reader.dropped(source.path, name, Some(value), "defaults are stripped");
                }
                continue;
            }
            let json = match Holds::of(name) {
                Holds::Values => Json::Same(value),
                holds => {
                    let inside = self.reader.inside(source, name, value);
                    self.inside(inside, holds)
                }
            };
            is_changed |= !matches!(json, Json::Same(_));
            written.push((Cow::Borrowed(name), json));
        }
        if !notes.is_empty() {
            let own = members.text("description").map(Cow::Borrowed);
            let text = compose(self.reader.rules.text, own, &notes).map(Json::Text);
            written.retain(|(name, _)| name != "description");
            written.extend(text.map(|text| (Cow::Borrowed("description"), text)));
        }
        if is_changed { Json::Object(written) } else { Json::Same(source.schema) }
    }

    /// The value of a member that holds such a thing. What is no schema there may still hold some that references name.
    fn inside(&mut self, source: Source<'a>, holds: Holds) -> Json<'a> {
        let is_schema = matches!(holds, Holds::Schema | Holds::SchemaOrList) && source.schema.is_object();
        if is_schema || self.named.contains(&std::ptr::from_ref(source.schema)) {
            return self.without_defaults(source);
        }
        let inner = match holds {
            Holds::Table | Holds::List | Holds::SchemaOrList => Holds::Schema,
            Holds::Schema | Holds::Values | Holds::Nothing => Holds::Nothing,
        };
        let mut is_changed = false;
        let mut visit = |own: &mut Self, child: Source<'a>| {
            let json = own.inside(child, inner);
            is_changed |= !matches!(json, Json::Same(_));
            json
        };
        let json = match source.schema {
            Value::Object(table) => {
                let mut written: Entries<'a> = Vec::with_capacity(table.len());
                for (name, value) in table {
                    let child = self.reader.inside(source, name, value);
                    written.push((Cow::Borrowed(name), visit(self, child)));
                }
                Json::Object(written)
            }
            Value::Array(items) => {
                let mut written = Vec::with_capacity(items.len());
                for (index, value) in items.iter().enumerate() {
                    let child = self.reader.item(source, index, value);
                    written.push(visit(self, child));
                }
                Json::Array(written)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Json::Null,
        };
        if is_changed { json } else { Json::Same(source.schema) }
    }
}

/// Takes hidden parameters out of the root and of the alternatives that stand there.
fn hide_in_branches<'a>(entries: &mut Entries<'a>, reader: &Reader<'a, '_>) {
    hide_parameters(entries, reader.options);
    for (name, value) in entries {
        if matches!(name.as_ref(), "anyOf" | "oneOf" | "allOf") && value.is_array() {
            let branches = std::mem::replace(value, Json::Null).into_items().unwrap_or_default();
            let hidden = branches.into_iter().map(|branch| match branch.into_entries() {
                Ok(mut entries) => {
                    hide_in_branches(&mut entries, reader);
                    Json::Object(entries)
                }
                Err(other) => other,
            });
            *value = Json::Array(hidden.collect());
        }
    }
}
