//! Names and arguments as a dialect's models know them.

use std::collections::HashMap;

use serde_json::Value;

use crate::plan::Plan;
use crate::translate::Translation;

/// Translates tool names and arguments between MCP and a dialect.
pub trait ArgumentCodec {
    /// The name by which the model knows the tool that MCP calls `mcp_name`.
    fn wire_name(&self, mcp_name: &str) -> String;
    /// The name in MCP of the tool that the model knows as `wire_name`.
    fn mcp_name(&self, wire_name: &str) -> String;
    /// Arguments for MCP as the model would write them.
    fn encode(&self, mcp_name: &str, arguments: &Value) -> Value;
    /// Arguments of the model as MCP wants them.
    fn decode(&self, mcp_name: &str, arguments: &Value) -> Value;
}

/// Names and arguments are the same on both sides.
#[derive(Clone, Copy, Debug, Default)]
pub struct SameArguments;

impl ArgumentCodec for SameArguments {
    fn wire_name(&self, mcp_name: &str) -> String {
        mcp_name.to_owned()
    }

    fn mcp_name(&self, wire_name: &str) -> String {
        wire_name.to_owned()
    }

    fn encode(&self, _mcp_name: &str, arguments: &Value) -> Value {
        arguments.clone()
    }

    fn decode(&self, _mcp_name: &str, arguments: &Value) -> Value {
        arguments.clone()
    }
}

/// Names and arguments as a translation of their tools made them. Tools that are not among them stay as they are.
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
}

impl ArgumentCodec for TranslatedTools {
    fn wire_name(&self, mcp_name: &str) -> String {
        self.tools.get(mcp_name).map_or_else(|| mcp_name.to_owned(), |(name, _)| name.clone())
    }

    fn mcp_name(&self, wire_name: &str) -> String {
        self.names.get(wire_name).cloned().unwrap_or_else(|| wire_name.to_owned())
    }

    // A conversation may hold calls that were refused: their arguments are shown as they were.
    fn encode(&self, mcp_name: &str, arguments: &Value) -> Value {
        let plan = self.tools.get(mcp_name).map(|(_, plan)| plan);
        plan.and_then(|plan| plan.encode(arguments).ok()).unwrap_or_else(|| arguments.clone())
    }

    fn decode(&self, mcp_name: &str, arguments: &Value) -> Value {
        let plan = self.tools.get(mcp_name).map(|(_, plan)| plan);
        plan.and_then(|plan| plan.decode(arguments).ok()).unwrap_or_else(|| arguments.clone())
    }
}
