//! Connects to MCP servers, keeps them alive and lists their tools.
