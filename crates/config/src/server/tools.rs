//! Which tools of a server are offered, and how.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fields::{Fields, Setting as _, any_of};
use crate::spec::ToolRules;

/// Reads `tools` and the fields of other clients that say the same.
pub(super) fn tool_rules(at: &mut Fields<'_>) -> ToolRules {
    let mut rules = ToolRules::default();
    let about = "Which tools are offered, and how.";
    let own = |at: &mut Fields<'_>| own_rules(&mut rules, at);
    // A list is what the coding agent of GitHub Copilot has: the tools that are allowed.
    if let Some(item) = at.object_or("tools", about, Some(Vec::<String>::schema()), own) {
        let allowed: Option<Vec<String>> =
            if item.value.is_array() { item.read() } else { item.expected("an object") };
        rules.allow = allowed.unwrap_or_default();
    }
    at.set("includeTools", "The same as `tools.allow`.", &mut rules.allow);
    at.set("enabledTools", "The same as `tools.allow`.", &mut rules.allow);
    at.set("enabled_tools", "The same as `tools.allow`.", &mut rules.allow);
    at.set("available_tools", "The same as `tools.allow`.", &mut rules.allow);
    at.set("disabled_tools", "The same as `tools.deny`.", &mut rules.deny);
    at.set("disabledTools", "The same as `tools.deny`.", &mut rules.deny);
    at.set("excludeTools", "The same as `tools.deny`.", &mut rules.deny);
    at.set("alwaysAllow", "Patterns of tools that need no approval.", &mut rules.always_allow);
    let schema = || any_of(&[Vec::<String>::schema(), bool::schema()]);
    if let Some(item) = at.item("autoApprove", "The same as `alwaysAllow`.", schema) {
        match item.value.as_bool() {
            Some(all) => rules.always_allow.extend(all.then(|| "*".to_owned())),
            None => rules.always_allow.extend(item.read::<Vec<String>>().unwrap_or_default()),
        }
    }
    let mut hidden = Vec::new();
    at.set("hiddenParams", "Parameters of all its tools that the model never sees.", &mut hidden);
    if !hidden.is_empty() {
        rules.hidden.entry("*".to_owned()).or_default().extend(hidden);
    }
    let mut injected = Map::new();
    at.set("injectParams", "Parameters of all its tools that the gateway fills in.", &mut injected);
    if !injected.is_empty() {
        rules.injected.entry("*".to_owned()).or_default().extend(injected);
    }
    rules
}

fn own_rules(rules: &mut ToolRules, at: &mut Fields<'_>) {
    at.set("allow", "Patterns (`*`, `?`) of tools that are offered; all if absent.", &mut rules.allow);
    at.set("deny", "Patterns of tools that are not offered.", &mut rules.deny);
    let about = "Patterns of tools that may run again after an unclear failure.";
    at.set("idempotent", about, &mut rules.idempotent);
    at.set("alwaysAllow", "Patterns of tools that need no approval.", &mut rules.always_allow);
    let about = "By tool pattern: whether calls run, somebody is asked first, or they are refused.";
    at.set("approval", about, &mut rules.approval);
    at.set("injected", "By tool pattern: parameters that the gateway fills in.", &mut rules.injected);
    let about = "By tool pattern, or for all tools: parameters that the model never sees.";
    let schema = || any_of(&[BTreeMap::<String, Vec<String>>::schema(), Vec::<String>::schema()]);
    if let Some(item) = at.item("hidden", about, schema) {
        rules.hidden = match item.value {
            Value::Array(_) => [("*".to_owned(), item.read().unwrap_or_default())].into(),
            _ => item.read().unwrap_or_default(),
        };
    }
    at.set("categories", "By tool pattern: the category.", &mut rules.categories);
    at.set("importance", "By tool pattern: `high`, `normal` or `low`.", &mut rules.importance);
    let about = "Patterns of tools that come first where a provider does not take all of them.";
    at.set("pin", about, &mut rules.pin);
    at.set("tags", "By tool pattern: tags.", &mut rules.tags);
    let about = "By tool name: title, description or annotations instead of the server's.";
    if let Some(item) = at.item("overrides", about, BTreeMap::<String, Map<String, Value>>::schema) {
        for (tool, item) in item.present_members() {
            for (member, inner) in item.members() {
                if !matches!(member.as_str(), "title" | "description" | "annotations") {
                    inner.error(
                        "cannot be overridden; only \"title\", \"description\" and \"annotations\" can",
                    );
                }
            }
            rules.overrides.extend(item.value.as_object().map(|members| (tool.clone(), members.clone())));
        }
    }
    let about =
        "What happens when a tool's definition changes: a warning, or no calls until somebody accepts it.";
    at.set("onDefinitionChange", about, &mut rules.on_definition_change);
}
