//! The `mcp-tool-gateway` binary.

fn main() {}
