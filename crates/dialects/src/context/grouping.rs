//! Groups of tools.

use serde_json::Value;

/// The heading of tools that have no such text.
const OTHERS: &str = "Other";

/// Groups tools by a text of their metadata, such as `category` or `server`, in the order of first appearance. Tools
/// without one form a last group under a heading of its own, or without one if there is no other group.
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
        let title = if groups.is_empty() { "" } else { OTHERS };
        groups.push((title.to_owned(), rest));
    }
    groups
}

/// A text of the tool's `_meta`, with or without a prefix, or of its annotations.
fn metadata<'t>(tool: &'t Value, key: &str) -> Option<&'t str> {
    let meta = tool.get("_meta").and_then(Value::as_object);
    let own = meta.and_then(|meta| meta.get(key));
    let is_prefixed = |name: &str| name.rsplit_once('/').is_some_and(|(_, last)| last == key);
    let prefixed = || meta?.iter().find(|(name, _)| is_prefixed(name)).map(|(_, value)| value);
    let annotated = || tool.get("annotations").and_then(|annotations| annotations.get(key));
    own.or_else(prefixed).or_else(annotated).and_then(Value::as_str)
}
