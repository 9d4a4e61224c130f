//! Names and arguments as a dialect's models know them.

use std::collections::HashMap;

use serde_json::Value;

use crate::plan::Plan;
use crate::translate::Translation;

/// Names and arguments as a translation of their tools made them. Tools that are not among them stay as they are; the default knows
/// none.
#[derive(Clone, Debug, Default)]
pub struct TranslatedTools {
    tools: HashMap<String, (String, Plan)>,
    names: HashMap<String, String>,
}

impl TranslatedTools {
    /// The tools of `translation`, without those that were quarantined.
    pub fn new(translation: &Translation<'_>) -> Self {
        let mut codec = Self::default();
        for tool in translation.tools.iter().filter(|tool| tool.quarantine.is_none()) {
            codec.names.insert(tool.wire_name.clone(), tool.name.to_owned());
            codec.tools.insert(tool.name.to_owned(), (tool.wire_name.clone(), tool.plan.clone()));
        }
        codec
    }

    /// Tools by the name that the model knows, the name in MCP, and how arguments travel.
    pub fn of<'t>(tools: impl IntoIterator<Item = (&'t str, &'t str, &'t Plan)>) -> Self {
        let mut codec = Self::default();
        for (wire_name, name, plan) in tools {
            codec.names.insert(wire_name.to_owned(), name.to_owned());
            codec.tools.insert(name.to_owned(), (wire_name.to_owned(), plan.clone()));
        }
        codec
    }

    /// The same where some tools gave way to `others`: what the model knew as the second of `renamed` it knows as the first, and messages
    /// call it so, too.
    #[must_use]
    pub fn giving_way<'t>(
        &self,
        renamed: impl IntoIterator<Item = (&'t str, &'t str)>,
        others: impl IntoIterator<Item = (&'t str, &'t str, &'t Plan)>,
    ) -> Self {
        let mut codec = self.clone();
        for (new, old) in renamed {
            let name = codec.names.remove(old).unwrap_or_else(|| old.to_owned());
            if let Some((_, plan)) = codec.tools.remove(&name) {
                codec.names.insert(new.to_owned(), new.to_owned());
                codec.tools.insert(new.to_owned(), (new.to_owned(), plan));
            }
        }
        let others = Self::of(others);
        codec.names.extend(others.names);
        codec.tools.extend(others.tools);
        codec
    }

    /// The name by which the model knows the tool that MCP calls `mcp_name`.
    pub(super) fn wire_name(&self, mcp_name: &str) -> String {
        self.tools.get(mcp_name).map_or_else(|| mcp_name.to_owned(), |(name, _)| name.clone())
    }

    /// The name in MCP of the tool that the model knows as `wire_name`.
    pub(super) fn mcp_name(&self, wire_name: &str) -> String {
        self.names.get(wire_name).cloned().unwrap_or_else(|| wire_name.to_owned())
    }

    /// Arguments for MCP as the model would write them.
    // A conversation may hold calls that were refused: their arguments are shown as they were.
    pub(super) fn encode(&self, mcp_name: &str, arguments: &Value) -> Value {
        let plan = self.tools.get(mcp_name).map(|(_, plan)| plan);
        plan.and_then(|plan| plan.encode(arguments).ok()).unwrap_or_else(|| arguments.clone())
    }

    /// Arguments of the model as MCP wants them.
    pub(super) fn decode(&self, mcp_name: &str, arguments: &Value) -> Value {
        let plan = self.tools.get(mcp_name).map(|(_, plan)| plan);
        plan.and_then(|plan| plan.decode(arguments).ok()).unwrap_or_else(|| arguments.clone())
    }
}
