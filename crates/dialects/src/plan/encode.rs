//! MCP → dialect.

use std::cell::{Cell, RefCell};

use serde_json::{Map, Value, json};

use super::{
    Branch, Codec, Entries, Look, ObjectCodec, Pass, PlanError, Rest, Verdicts, Watch, each_item, equal, text,
};

impl Pass<'_> {
    pub(super) fn encode_with(&self, codec: &Codec, value: &Value) -> Result<Value, PlanError> {
        match (codec, value) {
            (Codec::Object(object), Value::Object(map)) => self.encode_object(object, map),
            (Codec::List(codec), Value::Array(items)) => {
                each_item(items, |_, item| self.encode_with(codec, item))
            }
            (Codec::Tuple(tuple), Value::Array(items)) => {
                each_item(items, |index, item| self.encode_with(tuple.at(index), item))
            }
            (Codec::Entries(entries), Value::Object(map)) => {
                let list = self.encode_entries(entries, map)?;
                Ok(if entries.wrapped { json!({ "entries": list }) } else { list })
            }
            // An array would be read as entries on the way back.
            (Codec::Entries(_), Value::Array(_)) => {
                Err(PlanError::new("an array cannot stand for an object here"))
            }
            (
                Codec::Same | Codec::Object(_) | Codec::List(_) | Codec::Tuple(_) | Codec::Entries(_),
                other,
            ) => Ok(other.clone()),
            (Codec::Labels(labels), value) => labels
                .iter()
                .find(|(_, known)| equal(known, value))
                .map(|(label, _)| Value::String(label.to_string()))
                .ok_or_else(|| PlanError::new(format!("{value} is not one of the allowed values"))),
            (Codec::Text, value) => Ok(Value::String(value.to_string())),
            (Codec::Containers, value) => Ok(text::encode_container(value)),
            (Codec::LooseText(others), value) => Ok(text::encode_loose(value, *others)),
            (Codec::Anything, value) => Ok(encode_anything(value)),
            (Codec::SpelledNull(_), Value::Null) => Ok(Value::String(text::NULL_TEXT.to_owned())),
            (Codec::SpelledNull(inner), value) => Ok(text::escape_null(self.encode_with(inner, value)?)),
            (Codec::Union(branches), value) => self.encode_union(branches, value),
            (Codec::Definition(index), value) => self.encode_definition(*index, value),
        }
    }

    fn encode_definition(&self, index: usize, value: &Value) -> Result<Value, PlanError> {
        let codec = self.plan.definition(index)?;
        if self.trials.get() == 0 || !(value.is_object() || value.is_array()) {
            return self.encode_with(codec, value);
        }
        let key = (index, std::ptr::from_ref(value));
        if let Some(known) = self.encoded.borrow().get(&key) {
            return known.clone();
        }
        let encoded = self.encode_with(codec, value);
        self.encoded.borrow_mut().insert(key, encoded.clone());
        encoded
    }

    fn encode_object(&self, codec: &ObjectCodec, map: &Map<String, Value>) -> Result<Value, PlanError> {
        let mut encoded = Map::with_capacity(codec.properties.len());
        let mut undeclared = Vec::new();
        for (key, value) in map {
            if let Some(property) = codec.properties.iter().find(|property| *property.mcp == **key) {
                let value = self.encode_with(&property.codec, value).map_err(|error| error.under(key))?;
                if value.is_null() && property.null_is_absent {
                    return Err(PlanError::new("null would be read as absent").under(key));
                }
                encoded.insert(property.wire.to_string(), value);
                continue;
            }
            match &codec.rest {
                Rest::Same => {
                    encoded.insert(codec.escaped(key), value.clone());
                }
                Rest::Each(each) => {
                    let value = self.encode_with(each, value).map_err(|error| error.under(key))?;
                    encoded.insert(codec.escaped(key), value);
                }
                Rest::Carrier { .. } => {
                    undeclared.push((key, value));
                }
            }
        }
        if let Rest::Carrier { wire, entries, null_is_absent } = &codec.rest {
            if !undeclared.is_empty() {
                encoded.insert(wire.to_string(), self.encode_entries(entries, undeclared)?);
            } else if *null_is_absent {
                encoded.insert(wire.to_string(), Value::Null);
            }
        }
        for property in &codec.properties {
            if property.null_is_absent && !encoded.contains_key(property.wire.as_ref()) {
                encoded.insert(property.wire.to_string(), Value::Null);
            }
        }
        Ok(Value::Object(encoded))
    }

    fn encode_entries<'v>(
        &self,
        entries: &Entries,
        members: impl IntoIterator<Item = (&'v String, &'v Value)>,
    ) -> Result<Value, PlanError> {
        let mut list = Vec::new();
        for (key, value) in members {
            let value = self.encode_with(&entries.value, value).map_err(|error| error.under(key))?;
            list.push(json!({ "key": key, "value": value }));
        }
        Ok(Value::Array(list))
    }

    /// By the first alternative whose form the dialect accepts and that comes back as it went; those that look
    /// like the value's own come first.
    fn encode_union(&self, branches: &[Branch], value: &Value) -> Result<Value, PlanError> {
        let mut reason = None;
        let (own, others): (Vec<&Branch>, Vec<&Branch>) =
            branches.iter().partition(|branch| self.watch.accepts(&branch.mcp, value, Look::EXACT));
        for branch in own.into_iter().chain(others) {
            if !self.watch.step() {
                return Err(PlanError::new("too many alternatives fit the value"));
            }
            self.trials.set(self.trials.get() + 1);
            let encoded = self.encode_with(&branch.codec, value);
            self.trials.set(self.trials.get() - 1);
            let encoded = match encoded {
                Ok(encoded) => encoded,
                Err(error) => {
                    reason.get_or_insert(error);
                    continue;
                }
            };
            let encoded = match &branch.tag {
                Some(tag) => json!({ tag.as_ref(): encoded }),
                None => encoded,
            };
            if self.reads_back(branches, branch, &encoded, value) {
                return Ok(encoded);
            }
        }
        Err(reason.unwrap_or_else(|| PlanError::new("the value fits none of the alternatives")))
    }

    /// Whether the dialect takes `encoded` for `branch`, and it comes back as `value`.
    fn reads_back(&self, branches: &[Branch], branch: &Branch, encoded: &Value, value: &Value) -> bool {
        // Verdicts hold for as long as `encoded` stays where it is.
        let watch = Watch { verdicts: Verdicts::default(), ..self.watch };
        let pass = Pass { plan: self.plan, watch, trials: Cell::new(0), encoded: RefCell::default() };
        pass.watch.accepts(&branch.wire, encoded, Look::EXACT)
            && pass.decode_union(branches, encoded).is_ok_and(|decoded| equal(&decoded, value))
    }
}

fn encode_anything(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries: Vec<_> = map
                .iter()
                .map(|(key, value)| json!({ "key": key, "value": encode_anything(value) }))
                .collect();
            json!({ "entries": entries })
        }
        Value::Array(items) => Value::Array(items.iter().map(encode_anything).collect()),
        scalar => scalar.clone(),
    }
}
