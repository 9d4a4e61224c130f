//! What values of alternatives look like: in the dialect, and as MCP values.

use serde_json::Value;

use super::Rebuild;
use super::node::{Node, Rest};
use super::reader::view::{ArrayPart, ObjectPart, View};
use crate::dialect::Additional;
use crate::json::Json;
use crate::plan::{Guard, Verdicts, Watch};
use crate::schema::{Keyword, Members, Source, TypeSet};

/// Steps that comparing the alternatives of one schema may take.
pub(crate) const MOST_COMPARISONS: usize = 200_000;

/// What MCP values of an alternative look like at first sight; a guard only where one is needed.
#[derive(Clone, Debug)]
pub(crate) struct Outline<'a> {
    pub(crate) types: TypeSet,
    values: Option<Vec<&'a Value>>,
    objects: Vec<ObjectPart<'a>>,
    arrays: Vec<ArrayPart<'a>>,
}

impl<'a> Outline<'a> {
    pub(crate) fn anything() -> Self {
        Self { types: TypeSet::ALL, values: None, objects: Vec::new(), arrays: Vec::new() }
    }

    pub(crate) fn of_view(view: &View<'a>) -> Self {
        Self {
            types: view.types,
            values: view.values.clone(),
            objects: view.objects.clone(),
            arrays: view.arrays.clone(),
        }
    }

    /// Whether null is all that it takes.
    pub(crate) fn is_null(&self) -> bool {
        match &self.values {
            None => self.types == TypeSet::NULL,
            Some(values) => self.types.contains(TypeSet::NULL) && values.iter().all(|value| value.is_null()),
        }
    }

    pub(crate) fn guard(&self) -> Guard {
        let mut guard = Guard::of_types(self.types);
        if let Some(values) = &self.values {
            guard.values = Some(values.iter().map(|value| (*value).clone()).collect());
        }
        for part in &self.objects {
            guard.required.extend(part.required.iter().map(|name| Box::from(*name)));
            let Some(properties) = part.properties else { continue };
            guard.closed |= part.additional == Some(&Value::Bool(false)) && part.patterns.is_none();
            for (key, schema) in properties {
                let member = surface(schema).unwrap_or_else(Guard::anything);
                guard.members.push((Box::from(key.as_str()), member));
            }
        }
        if let [part] = self.arrays.as_slice()
            && part.prefix.is_none()
            && let Some((_, items)) = part.items
        {
            guard.items = surface(items).map(Box::new);
        }
        guard
    }
}

/// What a schema says about itself at first sight.
fn surface(schema: &Value) -> Option<Guard> {
    let types = match schema.member("type") {
        Some(Value::String(name)) => TypeSet::named(name)?,
        _ => TypeSet::ALL,
    };
    let values = listed_values(schema);
    if (values.is_none() && types == TypeSet::ALL) || schema.has("nullable") || schema.has("$ref") {
        return None;
    }
    let values = values.map(|values| values.into_iter().cloned().collect());
    Some(Guard { values, ..Guard::of_types(types) })
}

/// The values that `const` or `enum` lists.
fn listed_values(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.member("const"), schema.member("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) if !values.is_empty() => Some(values.iter().collect()),
        _ => None,
    }
}

impl<'a> Rebuild<'a, '_> {
    /// The outline of a schema that stays a reference.
    pub(crate) fn outline(&mut self, source: Source<'a>) -> Outline<'a> {
        let mut source = source;
        for _ in 0..8 {
            let Some(Value::String(reference)) = source.schema.member("$ref") else { break };
            let Some(target) = self.resolve(reference, source.resource) else {
                return Outline::anything();
            };
            source = target;
        }
        let Value::Object(map) = source.schema else { return Outline::anything() };
        if ["anyOf", "oneOf", "$ref", "nullable"].iter().any(|keyword| map.has(keyword)) {
            return Outline::anything();
        }
        let types = match map.member("type") {
            Some(Value::String(name)) => TypeSet::named(name).unwrap_or(TypeSet::ALL),
            _ => TypeSet::ALL,
        };
        let values = listed_values(source.schema);
        let object = ObjectPart {
            properties: map.member("properties").and_then(Value::as_object),
            required: map.list("required").iter().filter_map(Value::as_str).collect(),
            additional: map.member("additionalProperties"),
            patterns: map.member("patternProperties").and_then(Value::as_object),
            ..ObjectPart::new(source)
        };
        Outline { types, values, objects: vec![object], arrays: Vec::new() }
    }

    /// Types of the values of `node`, also behind references.
    pub(crate) fn types_of(&self, node: &Node<'a>, levels: usize) -> TypeSet {
        if node.free || levels == 0 {
            return TypeSet::ALL;
        }
        let behind = node.reference.map_or(TypeSet::NONE, |index| {
            match self.definitions.get(index).and_then(|definition| definition.node.as_ref()) {
                Some(target) => self.types_of(target, levels - 1),
                // Not finished yet: it may be anything.
                None => TypeSet::ALL,
            }
        });
        let branches = node.branches.iter().map(|branch| self.types_of(branch, levels - 1));
        branches.fold(node.types.or(behind), TypeSet::or)
    }

    /// What values of `node` look like.
    pub(crate) fn guard(&self, node: &Node<'a>) -> Guard {
        if node.free {
            return Guard::anything();
        }
        let mut guard = Guard::of_types(node.types);
        guard.reference = node.reference;
        guard.either = node.branches.iter().map(|branch| self.guard(branch)).collect();
        if let Some(values) = &node.values {
            let mut values: Vec<Value> = values.iter().map(Json::to_value).collect();
            if node.types.contains(TypeSet::NULL) {
                values.push(Value::Null);
            }
            guard.values = Some(values);
        }
        for (name, value) in &node.keywords {
            if let Some(keyword) = Keyword::parse(name).filter(|keyword| keyword.is_bound()) {
                guard.bounds.push((keyword, value.to_value()));
            }
        }
        if let Some(array) = &node.array {
            guard.prefix = array.prefix.iter().map(|position| self.guard(position)).collect();
            guard.items = array.items.as_ref().map(|items| Box::new(self.guard(items)));
        }
        if let Some(object) = &node.object {
            guard.required = object.required.iter().map(|name| Box::from(name.as_ref())).collect();
            guard.closed = matches!(self.choices.additional, Additional::Closed | Additional::Declared)
                || matches!(object.additional, Rest::Closed);
            guard.members = object
                .properties
                .iter()
                .map(|(name, node)| (Box::from(name.as_ref()), self.guard(node)))
                .collect();
            if let Rest::Each(each) = &object.additional {
                guard.others = Some(Box::new(self.guard(each)));
            }
        }
        guard
    }

    /// Makes the guards of all finished definitions, each once.
    pub(crate) fn guard_definitions(&self) {
        for definition in &self.definitions {
            if let Some(node) = &definition.node {
                definition.guard.get_or_init(|| Box::new(self.guard(node)));
            }
        }
    }

    /// Compares guards whose definitions have been made.
    pub(crate) fn compare<R>(&self, work: impl FnOnce(&Watch<'_>) -> R) -> R {
        let definition =
            |index: usize| self.definitions.get(index).and_then(|known| known.guard.get()).map(Box::as_ref);
        work(&Watch { definition: &definition, steps: &self.comparisons, verdicts: Verdicts::default() })
    }
}
