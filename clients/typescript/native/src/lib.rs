//! The addon behind `mcp-tool-gateway/engine`: the engine over JSON text.
//!
//! Values cross as text. Node reads and writes JSON faster than an addon can ask it for one member after another.

#![expect(clippy::needless_pass_by_value, reason = "an addon's functions own what Node hands over")]

use gateway_bindings::{Converter, EngineError, Operation, Settings, StreamAssembler};
use napi::Error;
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use serde_json::{Value, json};

// Values are many small pieces, which are made and dropped in a fifth less time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The version of the engine.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    gateway_bindings::VERSION
}

/// What a conversion gives.
#[napi(object)]
pub struct Converted {
    /// The tools, as JSON.
    pub json: String,
    /// What was left out, as JSON: a list of `{tool, reason}`; absent if nothing was.
    pub left_out: Option<String>,
}

/// Tools → the value of the provider's request field.
#[napi(catch_unwind)]
pub fn convert(tools: String, options: String) -> napi::Result<Converted> {
    let converter = Converter::new(settings(&options)?).map_err(thrown)?;
    let (json, left_out) = converter.convert_text(&tools).map_err(thrown)?;
    let left_out = if left_out.is_empty() { None } else { Some(json!(left_out).to_string()) };
    Ok(Converted { json, left_out })
}

/// Any other operation, by name.
#[napi(catch_unwind)]
pub fn run(operation: String, input: String, options: String) -> napi::Result<String> {
    let operation = Operation::named(&operation).map_err(thrown)?;
    gateway_bindings::run_text(operation, &input, settings(&options)?).map_err(thrown)
}

/// One streamed reply.
#[napi]
pub struct Stream(StreamAssembler);

#[napi]
impl Stream {
    /// Takes the options of `parse_calls`.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: String) -> napi::Result<Self> {
        StreamAssembler::new(settings(&options)?).map(Self).map_err(thrown)
    }

    /// Takes the next bytes; gives events.
    #[napi(catch_unwind)]
    pub fn push(&mut self, bytes: Uint8Array) -> napi::Result<String> {
        written(self.0.push(&bytes))
    }

    /// Takes a parsed chunk; gives events.
    #[napi(catch_unwind)]
    pub fn push_chunk(&mut self, chunk: String) -> napi::Result<String> {
        let chunk = gateway_bindings::from_slice(chunk.as_bytes());
        let chunk = chunk.map_err(|error| thrown(EngineError::no_json("the chunk", &error)))?;
        written(self.0.push_chunk(&chunk))
    }

    /// Ends the reply; gives events.
    #[napi(catch_unwind)]
    pub fn finish(&mut self) -> napi::Result<String> {
        written(self.0.finish())
    }
}

fn written(events: Result<Vec<Value>, EngineError>) -> napi::Result<String> {
    events.map(|events| Value::from(events).to_string()).map_err(thrown)
}

fn settings(options: &str) -> napi::Result<Settings> {
    match gateway_bindings::from_slice(options.as_bytes()) {
        Ok(Value::Object(options)) => Ok(Settings::new(options)),
        Ok(_) => Err(thrown(EngineError::invalid("the options must be an object"))),
        Err(error) => Err(thrown(EngineError::no_json("the options", &error))),
    }
}

/// An error whose message is the code and the words, which the TypeScript side takes apart.
fn thrown(error: EngineError) -> Error {
    Error::from_reason(json!({"code": error.code, "message": error.message}).to_string())
}
