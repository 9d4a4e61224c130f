//! Which tools are told, and in which groups.

use gateway_notation::pattern;
use serde_json::Value;

/// A choice among tools; an empty member lets every tool through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolFilter {
    /// Name patterns, `*` for any text; one must match.
    pub names: Vec<String>,
    /// Categories; one must be the tool's.
    pub categories: Vec<String>,
    /// Words for how important a tool is, such as `high`; one must be the tool's.
    pub importances: Vec<String>,
    /// Servers; one must be the tool's.
    pub servers: Vec<String>,
}

impl ToolFilter {
    /// A filter by name patterns.
    pub fn by_names(patterns: &[&str]) -> Self {
        Self { names: owned(patterns), ..Self::default() }
    }

    /// A filter by categories.
    pub fn by_categories(categories: &[&str]) -> Self {
        Self { categories: owned(categories), ..Self::default() }
    }

    /// A filter by importance.
    pub fn by_importances(importances: &[&str]) -> Self {
        Self { importances: owned(importances), ..Self::default() }
    }

    /// A filter by servers.
    pub fn by_servers(servers: &[&str]) -> Self {
        Self { servers: owned(servers), ..Self::default() }
    }

    /// Whether `tool` passes.
    pub fn admits(&self, tool: &Value) -> bool {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let among = |wanted: &[String], key| {
            wanted.is_empty()
                || metadata(tool, key).is_some_and(|given| wanted.iter().any(|one| one == given))
        };
        (self.names.is_empty() || self.names.iter().any(|wanted| pattern::matches(wanted, name)))
            && among(&self.categories, "category")
            && among(&self.importances, "importance")
            && among(&self.servers, "server")
    }

    /// The tools that pass, in order.
    pub fn apply<'t>(&self, tools: &[&'t Value]) -> Vec<&'t Value> {
        tools.iter().copied().filter(|tool| self.admits(tool)).collect()
    }
}

/// Groups tools by a text of their metadata, such as `category` or `server`, in the order of first appearance; tools
/// without one form a last group without a title.
pub fn group_by<'t>(tools: &[&'t Value], key: &str) -> Vec<(String, Vec<&'t Value>)> {
    let mut groups: Vec<(String, Vec<&Value>)> = Vec::new();
    let mut rest = Vec::new();
    for tool in tools.iter().copied() {
        let Some(title) = metadata(tool, key) else {
            rest.push(tool);
            continue;
        };
        match groups.iter_mut().find(|(given, _)| given == title) {
            Some((_, members)) => members.push(tool),
            None => groups.push((title.to_owned(), vec![tool])),
        }
    }
    if !rest.is_empty() {
        groups.push((String::new(), rest));
    }
    groups
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// A text of the tool's `_meta`, with or without a prefix, or of its annotations.
fn metadata<'t>(tool: &'t Value, key: &str) -> Option<&'t str> {
    let meta = tool.get("_meta").and_then(Value::as_object);
    let named = meta
        .into_iter()
        .flatten()
        .find(|(name, _)| name.as_str() == key || name.rsplit_once('/').is_some_and(|(_, last)| last == key));
    let annotated = || tool.get("annotations").and_then(|annotations| annotations.get(key));
    named.map(|(_, value)| value).or_else(annotated).and_then(Value::as_str)
}
