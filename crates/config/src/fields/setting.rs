//! How each type is read from the file and described in the schema.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::item::Item;
use super::units;

/// A type of settings.
pub(crate) trait Setting: Sized {
    /// The value, or `None` after reporting what is wrong.
    fn read(item: &Item<'_>) -> Option<Self>;

    /// The JSON Schema of what `read` takes.
    fn schema() -> Value;

    /// A default as the file would have it; `None` if there is nothing to show.
    fn shown(&self) -> Option<Value> {
        None
    }

    /// Puts the value where it belongs. Lists and maps add to what another name for the same gave.
    fn put(self, target: &mut Self) {
        *target = self;
    }
}

/// A type with a word for each of its values.
pub(crate) trait Words: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl<W: Words> Setting for W {
    fn read(item: &Item<'_>) -> Option<Self> {
        let found = item.value.as_str().and_then(|text| W::WORDS.iter().find(|(word, _)| *word == text));
        found.map(|(_, value)| *value).or_else(|| {
            let words: Vec<String> = W::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            item.expected(&format!("one of {}", words.join(", ")))
        })
    }

    fn schema() -> Value {
        json!({"enum": W::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>()})
    }

    fn shown(&self) -> Option<Value> {
        W::WORDS.iter().find(|(_, value)| value == self).map(|(word, _)| json!(word))
    }
}

impl Setting for bool {
    fn read(item: &Item<'_>) -> Option<Self> {
        item.value.as_bool().or_else(|| item.expected("true or false"))
    }

    fn schema() -> Value {
        json!({"type": "boolean"})
    }

    fn shown(&self) -> Option<Value> {
        Some(json!(self))
    }
}

impl Setting for String {
    fn read(item: &Item<'_>) -> Option<Self> {
        item.value.as_str().map(str::to_owned).or_else(|| item.expected("a text"))
    }

    fn schema() -> Value {
        json!({"type": "string"})
    }
}

/// Editors write empty texts for what is not set.
impl Setting for Option<String> {
    fn read(item: &Item<'_>) -> Option<Self> {
        String::read(item).map(|text| Some(text).filter(|text| !text.trim().is_empty()))
    }

    fn schema() -> Value {
        String::schema()
    }
}

/// A path whose leading `~` is the home directory.
impl Setting for Option<PathBuf> {
    fn read(item: &Item<'_>) -> Option<Self> {
        let text: Option<String> = item.read()?;
        Some(text.map(|text| item.context.source.environment.path(&text)))
    }

    fn schema() -> Value {
        String::schema()
    }
}

/// One text alone is a list too.
impl Setting for Vec<String> {
    fn read(item: &Item<'_>) -> Option<Self> {
        let texts = match item.value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(items) => items.iter().map(scalar_text).collect(),
            _ => None,
        };
        texts.or_else(|| item.expected("a list of texts"))
    }

    fn schema() -> Value {
        let items = json!({"type": ["string", "number", "boolean"]});
        json!({"anyOf": [{"type": "array", "items": items}, {"type": "string"}]})
    }

    fn put(self, target: &mut Self) {
        target.extend(self);
    }
}

impl<V: Setting> Setting for BTreeMap<String, V> {
    fn read(item: &Item<'_>) -> Option<Self> {
        item.object()?;
        Some(item.present_members().filter_map(|(name, item)| Some((name.clone(), item.read()?))).collect())
    }

    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": V::schema()})
    }

    fn put(self, target: &mut Self) {
        target.extend(self);
    }
}

/// An object that is taken as it is.
impl Setting for Map<String, Value> {
    fn read(item: &Item<'_>) -> Option<Self> {
        item.object().cloned()
    }

    fn schema() -> Value {
        json!({"type": "object"})
    }

    fn put(self, target: &mut Self) {
        target.extend(self);
    }
}

/// A time above zero, and a day at most.
impl Setting for Duration {
    fn read(item: &Item<'_>) -> Option<Self> {
        units::parse_time(item.value).or_else(|| {
            item.expected("a time: a number of seconds, or a text such as \"500ms\", \"30s\", \"5m\"")
        })
    }

    fn schema() -> Value {
        json!({
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": "^\\s*[0-9.]+\\s*(ms|s|m|min|h|d)?\\s*$"},
            ]
        })
    }

    fn shown(&self) -> Option<Value> {
        Some(json!(self.as_secs_f64()))
    }
}

/// A time, or `false` for never.
impl Setting for Option<Duration> {
    fn read(item: &Item<'_>) -> Option<Self> {
        if item.value == &Value::Bool(false) { Some(None) } else { item.read().map(Some) }
    }

    fn schema() -> Value {
        json!({"anyOf": [Duration::schema(), {"const": false}]})
    }

    fn shown(&self) -> Option<Value> {
        self.map_or(Some(json!(false)), |time| time.shown())
    }
}

pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
