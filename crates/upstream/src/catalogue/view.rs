//! What is read of a definition. Odd types are passed over: a definition is never refused for them.

use std::sync::Arc;

use gateway_protocol::{RawJson, RawObject};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use gateway_config::Importance;

/// The hints and labels in a definition.
#[derive(Debug, Default)]
pub(super) struct Labels {
    pub(super) title: Option<Box<str>>,
    pub(super) read_only: Option<bool>,
    pub(super) destructive: Option<bool>,
    pub(super) idempotent: Option<bool>,
    pub(super) category: Option<Arc<str>>,
    pub(super) importance: Option<Importance>,
    pub(super) tags: Vec<Arc<str>>,
}

impl Labels {
    pub(super) fn of(definition: &Members<'_>) -> Self {
        let none = Value::Null;
        let annotations = definition.get("annotations").unwrap_or(&none);
        let meta = definition.get("_meta").unwrap_or(&none);
        // FastMCP writes the tags of a tool under its own name.
        let fastmcp = meta.get("_fastmcp").or_else(|| meta.get("fastmcp")).unwrap_or(&none);
        let hint = |name: &str| annotations.get(name).and_then(Value::as_bool);
        let label = |name: &str| text(meta.get(name)).or_else(|| text(annotations.get(name)));
        let tags = [meta.get("tags"), annotations.get("tags"), fastmcp.get("tags")];
        Self {
            title: text(definition.get("title")).or_else(|| text(annotations.get("title"))).map(Into::into),
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            category: label("category").map(Into::into),
            importance: label("importance").and_then(|importance| Importance::parse(&importance)),
            tags: tags
                .into_iter()
                .filter_map(|tags| Vec::<Arc<str>>::deserialize(tags?).ok())
                .flatten()
                .collect(),
        }
    }
}

/// The members of a definition.
#[derive(Debug)]
pub(super) struct Members<'a> {
    read: Map<String, Value>,
    /// All members as they came, where some of them cannot be read: they are too deep, or hold half a character.
    raw: Option<RawObject<'a>>,
}

impl<'a> Members<'a> {
    /// Reads a definition; `None` if it is not an object.
    pub(super) fn read(definition: &'a RawJson) -> Option<Self> {
        match definition.read() {
            Ok(Value::Object(read)) => Some(Self { read, raw: None }),
            Ok(_) => None,
            Err(_) => {
                let raw = RawObject::parse(definition).ok()?;
                let members = raw.members().iter();
                let read = members.filter_map(|(name, value)| {
                    Some((name.clone().into_owned(), serde_json::from_str(value.get()).ok()?))
                });
                Some(Self { read: read.collect(), raw: Some(raw) })
            }
        }
    }

    /// A member that can be read.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.read.get(name)
    }

    /// The text of a member that cannot be read.
    pub(super) fn unread(&self, name: &str) -> Option<&str> {
        self.raw.as_ref()?.get(name).map(RawValue::get)
    }

    /// The definition, if all of it can be read.
    pub(super) fn whole(self) -> Option<Value> {
        self.raw.is_none().then_some(Value::Object(self.read))
    }
}

/// A member as text, if it is one and not empty.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn read<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

fn object(value: Option<&RawValue>) -> RawObject<'_> {
    read(value).unwrap_or_default()
}

/// The definition with some members replaced. Annotations are put over the tool's own, one by one.
pub(super) fn overridden(
    definition: &RawJson,
    overrides: &Map<String, Value>,
) -> Result<RawJson, serde_json::Error> {
    let mut changed = RawObject::parse(definition)?;
    for (name, value) in overrides {
        match (name.as_str(), value) {
            // The name is how the upstream is asked; it cannot be another.
            ("name", _) => {}
            ("annotations", Value::Object(annotations)) => {
                let own = changed.get("annotations").map(ToOwned::to_owned);
                let mut merged = object(own.as_deref());
                for (name, value) in annotations {
                    merged.set(name, &RawJson::of(value)?)?;
                }
                let merged = merged.to_raw()?;
                changed.set("annotations", &merged)?;
            }
            (name, value) => changed.set(name, &RawJson::of(value)?)?,
        }
    }
    changed.to_raw()
}

/// The definition without some of its parameters; `None` if it has no parameters.
pub(super) fn without_parameters(definition: &RawJson, is_hidden: impl Fn(&str) -> bool) -> Option<RawJson> {
    let mut changed = RawObject::parse(definition).ok()?;
    let own = changed.get("inputSchema")?.to_owned();
    let mut schema: RawObject<'_> = read(Some(&own))?;
    if let Some(properties) = schema.get("properties").map(ToOwned::to_owned) {
        let mut properties = object(Some(&properties));
        properties.retain(|name| !is_hidden(name));
        schema.set("properties", &properties.to_raw().ok()?).ok()?;
    }
    if let Some(mut required) = read::<Vec<Value>>(schema.get("required")) {
        required.retain(|name| !name.as_str().is_some_and(&is_hidden));
        schema.set("required", &RawJson::of(&required).ok()?).ok()?;
    }
    let schema = schema.to_raw().ok()?;
    changed.set("inputSchema", &schema).ok()?;
    changed.to_raw().ok()
}
