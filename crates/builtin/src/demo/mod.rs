//! The built-in demo server: five small tools, in process, so that the first command works without any server.
//!
//! It answers in both eras. It has no clock, no I/O and no task; its only state is a small store of texts with bounds.

mod store;
mod tools;

use gateway_protocol::{Implementation, RawJson, RpcError, method};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::server::{Params, ServerProfile, unknown_tool};
use store::Store;

const PROFILE: ServerProfile = ServerProfile {
    name: "demo",
    title: "Built-in demo",
    instructions: "Small tools for trying things out: arithmetic, a made-up weather report, and a store of texts that \
                   lasts as long as the process.",
    changes: false,
};

/// An MCP server with `add`, `multiply`, `get_weather`, `store_value` and `get_value`.
#[derive(Debug, Default)]
pub struct DemoServer {
    store: Store,
}

impl DemoServer {
    /// A server with nothing stored.
    pub fn new() -> Self {
        Self::default()
    }

    /// Who it is.
    pub fn implementation() -> Implementation {
        PROFILE.implementation()
    }

    /// Answers one request. Notifications need no answer and are not for this function.
    pub fn handle(&self, method: &str, params: Option<&RawJson>) -> Result<RawJson, RpcError> {
        let mut params = Params::read(params)?;
        let result = match method {
            method::CALL_TOOL => self.call(&mut params)?,
            other => PROFILE.answer(other, &params, tools::definitions)?,
        };
        params.written(result)
    }

    fn call(&self, params: &mut Params) -> Result<Value, RpcError> {
        let (name, arguments) = params.call()?;
        let outcome =
            tools::call(name, Arguments(&arguments), &self.store).ok_or_else(|| unknown_tool(name))?;
        Ok(match outcome {
            Ok(answer) => json!({
                "content": [{"type": "text", "text": answer.to_string()}],
                "structuredContent": answer,
            }),
            Err(text) => json!({"content": [{"type": "text", "text": text}], "isError": true}),
        })
    }
}
