//! Dialect → MCP. What is not in the dialect's form is passed on as it is: validation against the original
//! schema judges it.

use serde_json::{Map, Value};

use super::{Branch, Codec, Entries, Look, ObjectCodec, Pass, PlanError, Rest, each_item, equal, text};

impl Pass<'_> {
    pub(super) fn decode_with(&self, codec: &Codec, value: &Value) -> Result<Value, PlanError> {
        match (codec, value) {
            (Codec::Object(object), Value::Object(map)) => self.decode_object(object, map),
            (Codec::List(codec), Value::Array(items)) => {
                each_item(items, |_, item| self.decode_with(codec, item))
            }
            (Codec::Tuple(tuple), Value::Array(items)) => {
                each_item(items, |index, item| self.decode_with(tuple.at(index), item))
            }
            (Codec::Text, Value::String(json)) => {
                Ok(crate::json::from_str(json).unwrap_or_else(|_| value.clone()))
            }
            (Codec::Same | Codec::Object(_) | Codec::List(_) | Codec::Tuple(_) | Codec::Text, other) => {
                Ok(other.clone())
            }
            (Codec::Entries(entries), value) => self.decode_entries(entries, value),
            (Codec::Labels(labels), value) => decode_label(labels, value),
            (Codec::Containers, value) => Ok(text::decode_container(value)),
            (Codec::LooseText(others), value) => Ok(text::decode_loose(value, *others)),
            (Codec::Anything, value) => Ok(decode_anything(value)),
            (Codec::SpelledNull(inner), Value::String(text)) => match text::unescape_null(text) {
                None => Ok(Value::Null),
                Some(text) => self.decode_with(inner, &Value::String(text)),
            },
            // What says null by a word is often written as a plain null all the same.
            (Codec::SpelledNull(_), Value::Null) => Ok(Value::Null),
            (Codec::SpelledNull(inner), other) => self.decode_with(inner, other),
            (Codec::Union(branches), value) => self.decode_union(branches, value),
            (Codec::Definition(index), value) => self.decode_with(self.plan.definition(*index)?, value),
        }
    }

    fn decode_object(&self, codec: &ObjectCodec, map: &Map<String, Value>) -> Result<Value, PlanError> {
        let mut decoded = Map::with_capacity(map.len());
        for (key, value) in map {
            if let Some(property) = codec.properties.iter().find(|property| *property.wire == **key) {
                if !(property.null_is_absent && value.is_null()) {
                    let value = self.decode_with(&property.codec, value).map_err(|error| error.under(key))?;
                    decoded.insert(property.mcp.to_string(), value);
                }
                continue;
            }
            match &codec.rest {
                Rest::Carrier { wire, entries, null_is_absent } if **wire == **key => {
                    if *null_is_absent && value.is_null() {
                        continue;
                    }
                    match self.decode_entries(entries, value).map_err(|error| error.under(key))? {
                        Value::Object(others) => decoded.extend(others),
                        other => {
                            decoded.insert(key.clone(), other);
                        }
                    }
                }
                Rest::Each(each) => {
                    let value = self.decode_with(each, value).map_err(|error| error.under(key))?;
                    decoded.insert(codec.unescaped(key), value);
                }
                Rest::Same => {
                    decoded.insert(codec.unescaped(key), value.clone());
                }
                Rest::Carrier { .. } => {
                    decoded.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(Value::Object(decoded))
    }

    /// Entries as an object; an object instead of the list is taken as it is meant.
    fn decode_entries(&self, entries: &Entries, value: &Value) -> Result<Value, PlanError> {
        let list = match value {
            Value::Object(map) if entries.wrapped && map.len() == 1 => map.get("entries").unwrap_or(value),
            other => other,
        };
        let mut decoded = Map::new();
        match list {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let Some(key) = item.get("key").and_then(Value::as_str) else {
                        return Ok(value.clone());
                    };
                    let inner = item.get("value").unwrap_or(&Value::Null);
                    let inner = self
                        .decode_with(&entries.value, inner)
                        .map_err(|error| error.under("value").under(&index.to_string()))?;
                    if decoded.insert(key.to_owned(), inner).is_some() {
                        let error = PlanError::new(format!("key `{key}` is given twice"));
                        return Err(error.under(&index.to_string()));
                    }
                }
            }
            Value::Object(map) => {
                for (key, inner) in map {
                    let inner = self.decode_with(&entries.value, inner).map_err(|error| error.under(key))?;
                    decoded.insert(key.clone(), inner);
                }
            }
            _ => return Ok(value.clone()),
        }
        Ok(Value::Object(decoded))
    }

    pub(super) fn decode_union(&self, branches: &[Branch], value: &Value) -> Result<Value, PlanError> {
        // A tag is unmistakable, so it is looked for first.
        if let Value::Object(map) = value
            && let Some((key, inner)) = map.iter().next().filter(|_| map.len() == 1)
            && let Some(branch) = branches.iter().find(|branch| branch.tag.as_deref() == Some(key))
        {
            return self.decode_with(&branch.codec, inner).map_err(|error| error.under(key));
        }
        // A value that breaks a rule somewhere inside is still meant for the alternative that it looks like.
        let found = [Look::EXACT, Look::MEMBERS, Look::SURFACE].into_iter().find_map(|look| {
            branches
                .iter()
                .find(|branch| branch.tag.is_none() && self.watch.accepts(&branch.wire, value, look))
        });
        match found {
            Some(branch) => self.decode_with(&branch.codec, value),
            None => Ok(value.clone()),
        }
    }
}

fn decode_label(labels: &[(Box<str>, Value)], value: &Value) -> Result<Value, PlanError> {
    let by_label = labels.iter().find(|(label, _)| value.as_str() == Some(label));
    let found = by_label.or_else(|| labels.iter().find(|(_, known)| equal(known, value)));
    found.map(|(_, known)| known.clone()).ok_or_else(|| {
        let allowed: Vec<_> = labels.iter().map(|(label, _)| label.as_ref()).collect();
        PlanError::new(format!("got {value}, expected one of: {}", allowed.join(", ")))
    })
}

fn decode_anything(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            if map.len() == 1
                && let Some(Value::Array(items)) = map.get("entries")
                && items.iter().all(|item| item.get("key").is_some_and(Value::is_string))
            {
                return Value::Object(
                    items
                        .iter()
                        .filter_map(|item| {
                            let key = item.get("key")?.as_str()?.to_owned();
                            Some((key, decode_anything(item.get("value").unwrap_or(&Value::Null))))
                        })
                        .collect(),
                );
            }
            Value::Object(map.iter().map(|(key, value)| (key.clone(), decode_anything(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(decode_anything).collect()),
        scalar => scalar.clone(),
    }
}
