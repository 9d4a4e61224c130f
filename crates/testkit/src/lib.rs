//! Fixture MCP servers, well- and ill-behaved, for tests.
