//! Defaults for what a model left out.

use gateway_notation::pointer;
use serde_json::Value;

use super::kinds::{Kinds, accepted_kinds, resolve};
use super::validate::Validator;

/// Schemas inside one another that are looked into.
const DEEPEST: usize = 32;

/// Schemas that are looked into: references can make a short schema endless.
const MOST_VISITS: usize = 10_000;

/// Most defaults of one call. Where more are missing, none is filled in: arguments that are filled in up to some item would be
/// worse than those that came.
const MOST: usize = 256;

/// What is found, and how much more may be looked at.
struct Search<'s> {
    missing: Vec<Missing<'s>>,
    visits: usize,
    /// Whether there was more than may be looked at.
    is_cut: bool,
}

/// A default that is missing: where it belongs, as a JSON Pointer to the object around it and a name in that.
struct Missing<'s> {
    object: String,
    name: &'s str,
    value: &'s Value,
}

impl Validator {
    /// Valid `arguments` with the defaults of properties that they leave out, and where those stand, as JSON Pointers. A default that the
    /// schema itself refuses is left out, and so is one for a property that is null. Invalid arguments stay as they are.
    pub fn with_defaults(&self, arguments: &Value) -> (Value, Vec<String>) {
        let mut search = Search { missing: Vec::new(), visits: MOST_VISITS, is_cut: false };
        self.find_missing(self.schema(), arguments, "", DEEPEST, &mut search);
        let missing = search.missing;
        if missing.is_empty() || search.is_cut {
            return (arguments.clone(), Vec::new());
        }
        let mut all = arguments.clone();
        let paths: Vec<String> = missing.iter().filter_map(|default| default.fill(&mut all)).collect();
        if self.is_valid(&all) {
            return (all, paths);
        }
        // One of them does not fit, so that each is tried by itself.
        let (mut filled, mut paths) = (arguments.clone(), Vec::new());
        for default in &missing {
            let mut more = filled.clone();
            if let Some(path) = default.fill(&mut more)
                && self.is_valid(&more)
            {
                filled = more;
                paths.push(path);
            }
        }
        (filled, paths)
    }

    fn find_missing<'s>(
        &'s self,
        schema: &'s Value,
        value: &Value,
        path: &str,
        levels: usize,
        search: &mut Search<'s>,
    ) {
        let root = self.schema();
        let schema = resolve(root, schema);
        let (Some(levels), Some(visits)) = (levels.checked_sub(1), search.visits.checked_sub(1)) else {
            search.is_cut = true;
            return;
        };
        search.visits = visits;
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.find_missing(part, value, path, levels, search);
        }
        for union in ["anyOf", "oneOf"].iter().filter_map(|name| schema.get(name)?.as_array()) {
            // Where several alternatives could be meant, their defaults are nobody's.
            let mut meant = union.iter().filter(|one| accepted_kinds(root, one).has(Kinds::of(value)));
            if let (Some(only), None) = (meant.next(), meant.next()) {
                self.find_missing(only, value, path, levels, search);
            }
        }
        if search.is_cut {
            return;
        }
        match value {
            Value::Object(members) => {
                let properties = schema.get("properties").and_then(Value::as_object);
                for (name, property) in properties.into_iter().flatten() {
                    if let Some(value) = members.get(name) {
                        self.find_missing(property, value, &pointer::join(path, name), levels, search);
                        continue;
                    }
                    let own = property.get("default");
                    let default = own.or_else(|| resolve(root, property).get("default"));
                    let known = |known: &Missing<'_>| known.object == path && known.name == name;
                    let new = default.filter(|_| !search.missing.iter().any(known));
                    let new = new.map(|value| Missing { object: path.to_owned(), name, value });
                    search.missing.extend(new);
                    search.is_cut |= search.missing.len() > MOST;
                }
            }
            Value::Array(items) => {
                let Some(item) = schema.get("items").filter(|item| item.is_object()) else { return };
                for (index, value) in items.iter().enumerate() {
                    let path = pointer::join(path, &index.to_string());
                    self.find_missing(item, value, &path, levels, search);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

impl Missing<'_> {
    /// Writes it into `arguments`, and gives the JSON Pointer to it.
    fn fill(&self, arguments: &mut Value) -> Option<String> {
        let object = arguments.pointer_mut(&self.object)?.as_object_mut()?;
        object.insert(self.name.to_owned(), self.value.clone());
        Some(pointer::join(&self.object, self.name))
    }
}
