//! Names and arguments as a dialect's models know them.

use serde_json::Value;

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
