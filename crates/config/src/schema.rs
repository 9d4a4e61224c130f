//! The JSON Schema of the configuration file, for editors.

use serde_json::{Value, json};

use crate::fields::describe;
use crate::file::Parts;
use crate::models::model_schema;
use crate::registry::tool_schema;
use crate::server::server_schema;
use crate::servers::SERVER_BLOCKS;
use crate::variables::describe_variables;

/// The schema, made by the functions that read the file.
pub fn json_schema() -> Value {
    let mut top = describe(|at| Parts::default().read_fields(at));
    describe_variables(&mut top);
    let needed = SERVER_BLOCKS.iter().chain(&["mcp", "tools", "resources", "models"]);
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Configuration of MCP Tool Gateway",
        "type": "object",
        "allowTrailingCommas": true,
        "properties": top["properties"].take(),
        "anyOf": needed.map(|name| json!({"required": [name]})).collect::<Vec<_>>(),
        "$defs": {"model": model_schema(), "server": server_schema(), "tool": tool_schema()},
    })
}
