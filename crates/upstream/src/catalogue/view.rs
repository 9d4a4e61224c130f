//! What is read of a definition. Odd types are passed over: a definition is never refused for them.

use std::sync::Arc;

use gateway_protocol::{RawJson, RawObject};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Importance;

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
    pub(super) fn of(definition: &RawObject<'_>) -> Self {
        let annotations = object(definition.get("annotations"));
        let meta = object(definition.get("_meta"));
        // FastMCP writes the tags of a tool under its own name.
        let fastmcp = object(meta.get("_fastmcp").or_else(|| meta.get("fastmcp")));
        let label = |name: &str| text(meta.get(name)).or_else(|| text(annotations.get(name)));
        let tags = [meta.get("tags"), annotations.get("tags"), fastmcp.get("tags")];
        Self {
            title: text(definition.get("title")).or_else(|| text(annotations.get("title"))),
            read_only: read(annotations.get("readOnlyHint")),
            destructive: read(annotations.get("destructiveHint")),
            idempotent: read(annotations.get("idempotentHint")),
            category: label("category").map(Into::into),
            importance: label("importance").and_then(|importance| Importance::parse(&importance)),
            tags: tags
                .into_iter()
                .filter_map(read::<Vec<String>>)
                .flatten()
                .map(|tag| Arc::from(tag.as_str()))
                .collect(),
        }
    }
}

/// A member as text, if it is one and not empty.
pub(super) fn text(value: Option<&RawValue>) -> Option<Box<str>> {
    read::<Box<str>>(value).filter(|text| !text.is_empty())
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

/// The definition without some of its parameters; nothing if it has no such parameters.
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
