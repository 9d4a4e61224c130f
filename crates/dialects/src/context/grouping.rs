//! Groups of tools.

use serde_json::Value;

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
