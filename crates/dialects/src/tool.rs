//! Where a tool keeps its schema.

use serde_json::{Value, json};

/// Where a tool may carry its schema; the first that is there counts.
const SCHEMA_POINTERS: [&str; 3] = ["/inputSchema", "/parameters", "/schema"];

/// JSON Pointer to the schema of a tool's arguments.
pub fn schema_pointer(tool: &Value) -> &'static str {
    let present = |pointer: &&&str| tool.pointer(pointer).is_some();
    SCHEMA_POINTERS.iter().find(present).copied().unwrap_or("/inputSchema")
}

/// The schema of a tool's arguments; one without parameters where the tool has none.
pub fn input_schema(tool: &Value) -> Value {
    match tool.pointer(schema_pointer(tool)) {
        None | Some(Value::Null | Value::Bool(true)) => json!({"type": "object", "properties": {}}),
        Some(schema) => schema.clone(),
    }
}
