//! MCP messages of both eras over raw JSON.
