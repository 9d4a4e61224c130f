//! Which tools of a server are offered, and how.

use serde_json::{Map, Value};

use crate::catalogue::Importance;
use crate::fields::{self, warn_of_unknown};
use crate::reader::Reader;
use crate::spec::{Approval, OnDefinitionChange, ToolRules};

/// Reads `tools` and the fields of other clients that say the same.
pub(crate) fn tool_rules(reader: &Reader<'_>) -> ToolRules {
    let mut rules = ToolRules::default();
    match reader.get("tools") {
        // A list is what the coding agent of GitHub Copilot has: the tools that are allowed.
        Some(Value::Array(_)) => rules.allow = reader.texts("tools").unwrap_or_default(),
        Some(_) => {
            if let Some(inner) = reader.object("tools") {
                own_rules(&inner, &mut rules);
            }
        }
        None => {}
    }
    let more = |names: &[&'static str], place: &mut Vec<String>| {
        for name in names {
            place.extend(reader.texts(name).unwrap_or_default());
        }
    };
    more(&["includeTools", "enabledTools"], &mut rules.allow);
    more(&["disabledTools", "excludeTools"], &mut rules.deny);
    more(&["alwaysAllow"], &mut rules.always_allow);
    match reader.get("autoApprove") {
        Some(Value::Bool(true)) => rules.always_allow.push("*".to_owned()),
        Some(Value::Bool(false)) => {}
        _ => more(&["autoApprove"], &mut rules.always_allow),
    }
    if let Some(hidden) = reader.texts("hiddenParams") {
        rules.hidden.entry("*".to_owned()).or_default().extend(hidden);
    }
    if let Some(inner) = reader.object("injectParams") {
        rules.injected.entry("*".to_owned()).or_default().extend(inner.members.clone());
    }
    rules
}

fn own_rules(reader: &Reader<'_>, rules: &mut ToolRules) {
    warn_of_unknown(reader, fields::TOOLS, &[]);
    rules.allow = reader.texts("allow").unwrap_or_default();
    rules.deny = reader.texts("deny").unwrap_or_default();
    rules.idempotent = reader.texts("idempotent").unwrap_or_default();
    rules.always_allow = reader.texts("alwaysAllow").unwrap_or_default();
    let approval = |reader: &Reader<'_>, name: &str| reader.choice(name, &Approval::WORDS);
    rules.approval = reader.map_of("approval", approval).unwrap_or_default();
    rules.injected = reader.map_of("injected", members).unwrap_or_default();
    rules.hidden = match reader.get("hidden") {
        Some(Value::Array(_)) => [("*".to_owned(), reader.texts("hidden").unwrap_or_default())].into(),
        _ => reader.map_of("hidden", Reader::texts).unwrap_or_default(),
    };
    rules.categories = reader.map_of("categories", Reader::text).unwrap_or_default();
    rules.importance = reader
        .map_of("importance", |reader, name| {
            let words = Importance::NAMES.map(|word| (word, word));
            reader.choice(name, &words).map(str::to_owned)
        })
        .unwrap_or_default();
    rules.tags = reader.map_of("tags", Reader::texts).unwrap_or_default();
    rules.overrides = reader.map_of("overrides", overrides).unwrap_or_default();
    let changes = [("warn", OnDefinitionChange::Warn), ("block", OnDefinitionChange::Block)];
    rules.on_definition_change = reader.choice("onDefinitionChange", &changes).unwrap_or_default();
}

fn members(reader: &Reader<'_>, name: &str) -> Option<Map<String, Value>> {
    Some(reader.object(name)?.members.clone())
}

fn overrides(reader: &Reader<'_>, name: &str) -> Option<Map<String, Value>> {
    let inner = reader.object(name)?;
    for member in inner.members.keys() {
        if !matches!(member.as_str(), "title" | "description" | "annotations") {
            inner.error(
                member,
                "cannot be overridden; only \"title\", \"description\" and \"annotations\" can",
            );
        }
    }
    Some(inner.members.clone())
}
