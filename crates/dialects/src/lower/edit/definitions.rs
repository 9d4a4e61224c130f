//! The tables of definitions of a folded root.

use super::{Edit, Entries};
use crate::json::Json;
use crate::report::PathId;
use crate::schema::Members;
use crate::schema::refs::percent_decoded;
use gateway_notation::pointer::escape;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// Definitions by their pointers, and which of them are referred to.
struct Used {
    known: HashMap<String, usize>,
    /// Those that are still to be looked at.
    ahead: BTreeSet<usize>,
    /// Whether all of them are taken for used.
    all: bool,
}

impl<'a> Edit<'a, '_> {
    /// Adds the definitions that `out` refers to. Others were used only where their parts are now written out.
    pub(super) fn edit_tables(&mut self, out: &mut Entries<'a>) {
        let mut definitions: Vec<(&'static str, &'a str, &'a Value)> = Vec::new();
        for table in ["$defs", "definitions"] {
            let entries = self.root.member(table).and_then(Value::as_object).into_iter().flatten();
            definitions.extend(entries.map(|(name, schema)| (table, name.as_str(), schema)));
        }
        let known = definitions.iter().enumerate();
        let mut used = Used {
            known: known.map(|(index, (table, name, _))| (pointer(table, name), index)).collect(),
            ahead: BTreeSet::new(),
            all: false,
        };
        for (_, json) in &*out {
            used.note(json);
        }
        if self.resolver.has_resources() || !self.known.gone.is_empty() {
            used.take_all();
        }
        let mut written: Vec<Option<Json<'a>>> = definitions.iter().map(|_| None).collect();
        loop {
            // What waits is edited later, and may refer to any of them.
            if !self.definitions.is_empty() {
                used.take_all();
            }
            let Some(index) = used.ahead.pop_first() else { break };
            let Some((table, name, schema)) = definitions.get(index).copied() else { continue };
            let Some(slot) = written.get_mut(index).filter(|slot| slot.is_none()) else { continue };
            let root = self.root_source();
            let list = self.inside(root, table, schema);
            let source = self.inside(list, name, schema);
            let edited = self.edit(source);
            used.note(&edited.json);
            *slot = Some(edited.json);
        }
        for table in ["$defs", "definitions"] {
            let own = definitions.iter().zip(&mut written).filter(|((known, ..), _)| *known == table);
            let kept: Entries<'a> =
                own.filter_map(|((_, name, _), json)| Some((Cow::Borrowed(*name), json.take()?))).collect();
            let original = self.root.member(table).filter(|given| given.is_object());
            let count = original.and_then(Value::as_object).map_or(0, serde_json::Map::len);
            if kept.len() < count {
                self.rewritten(PathId::ROOT, table, original, "what nothing refers to is left out");
            }
            if !kept.is_empty() {
                out.push((Cow::Borrowed(table), Json::Object(kept)));
            }
        }
    }
}

impl Used {
    fn note(&mut self, json: &Json<'_>) {
        each_reference(json, &mut |keyword, target| {
            let fragment = target.strip_prefix('#').filter(|_| keyword == "$ref").map(percent_decoded);
            match fragment {
                Some(fragment) if fragment.is_empty() => {}
                Some(fragment) if fragment.starts_with('/') => {
                    let end = fragment.match_indices('/').nth(2).map_or(fragment.len(), |(at, _)| at);
                    let definition = fragment.get(..end).and_then(|pointer| self.known.get(pointer));
                    self.ahead.extend(definition);
                }
                // Where it leads is not known.
                _ => self.take_all(),
            }
        });
    }

    fn take_all(&mut self) {
        if !std::mem::replace(&mut self.all, true) {
            self.ahead.extend(0..self.known.len());
        }
    }
}

fn pointer(table: &str, name: &str) -> String {
    format!("/{table}/{}", escape(name))
}

/// Shows every reference with its keyword.
pub(super) fn each_reference(json: &Json<'_>, visit: &mut dyn FnMut(&str, &str)) {
    json.each_member(&mut |name, value| {
        if let ("$ref" | "$dynamicRef" | "$recursiveRef", Some(target)) = (name, value.as_str()) {
            visit(name, target);
        }
        each_reference(value, visit);
    });
    json.each_item(&mut |item| each_reference(item, visit));
}
