//! What a model said → the calls in it.

use std::sync::Arc;

use gateway_dialects::calls::text::AnyTool;
use gateway_dialects::calls::{ReadOptions, Reply, TextScan, ToolCall, parse_reply};
use gateway_dialects::stream::parse_chunks;
use gateway_dialects::{Dialect, Translator};
use serde_json::{Map, Value, json};

use crate::engine::{dialect_of, dialects, translator};
use crate::error::EngineError;
use crate::settings::{Choice, Settings};
use crate::toolset::{CallOptions, Toolset, parsed};

/// How the calls of one reply, whole or streamed, are read.
#[derive(Debug)]
pub(crate) struct CallReader {
    choice: Choice,
    pub(crate) dialect: Option<Dialect>,
    options: CallOptions,
    tools: Option<Vec<gateway_dialects::GivenTool>>,
    toolset: Option<Toolset>,
}

impl CallReader {
    pub(crate) fn new(settings: &mut Settings) -> Result<Self, EngineError> {
        let choice = settings.choice()?;
        let (options, tools) = (CallOptions::take(settings)?, settings.tools()?);
        let dialect = if choice.is_empty() {
            None
        } else {
            Some(dialects().choose(choice.name.as_deref(), choice.model.as_deref(), &choice.compat())?)
        };
        Ok(Self { choice, dialect, options, tools, toolset: None })
    }

    /// A call in the neutral format. Without a named dialect, `protocol` is that of the reply.
    pub(crate) fn neutral(
        &mut self,
        call: &ToolCall,
        protocol: Option<gateway_dialects::Protocol>,
    ) -> Result<Value, EngineError> {
        let Some(tools) = &self.tools else {
            let mut facts = Map::new();
            let mut row = call.to_neutral(parsed(call, self.options.bad, &mut facts));
            if let Value::Object(row) = &mut row {
                row.extend(facts);
            }
            return Ok(row);
        };
        if self.toolset.is_none() {
            self.toolset = Some(Toolset::new(tools, &*self.translator(protocol)?));
        }
        let options = self.options;
        Ok(self.toolset.as_ref().map(|tools| tools.neutral(call, options)).unwrap_or_default())
    }

    fn translator(
        &self,
        protocol: Option<gateway_dialects::Protocol>,
    ) -> Result<Arc<Translator>, EngineError> {
        if !self.choice.is_empty() {
            return translator(&self.choice);
        }
        let detected = protocol.and_then(dialect_of).ok_or_else(|| {
            EngineError::invalid("the reply says not whose dialect it is: name the provider or the model that was given the tools")
        })?;
        translator(&Choice { name: Some(detected.name), ..self.choice.clone() })
    }
}

/// Reads a reply: `{"calls", "text"?, "reasoning"?, "usage"?, "stop"?}`.
pub(crate) fn parse_calls(reply: &Value, mut settings: Settings) -> Result<Value, EngineError> {
    let mut reader = CallReader::new(&mut settings)?;
    settings.end()?;
    let reply = read(reply, reader.dialect.as_ref())?;
    let protocol = reply.protocol;
    let calls = reply.calls.iter().map(|call| reader.neutral(call, protocol));
    let mut answer = json!({"calls": calls.collect::<Result<Vec<_>, _>>()?});
    for (name, text) in [("text", &reply.text), ("reasoning", &reply.reasoning)] {
        if !text.is_empty() {
            answer[name] = text.as_str().into();
        }
    }
    if let Some(usage) = reply.usage {
        answer["usage"] = json!(usage);
    }
    if let Some(stop) = reply.stop {
        answer["stop"] = stop.into();
    }
    Ok(answer)
}

fn read(reply: &Value, dialect: Option<&Dialect>) -> Result<Reply, EngineError> {
    let options = ReadOptions {
        protocol: dialect.map(|dialect| dialect.messages.protocol),
        label: dialect.map_or("", |dialect| &dialect.label),
        // A text is read as `/execute` reads it: one that is nothing but tool use is tool use.
        text: if reply.is_string() { TextScan::Whole(Arc::new(AnyTool)) } else { TextScan::Off },
        ids_after: 0,
    };
    parse_reply(reply, &options).map_err(|error| EngineError::invalid(error.to_string()))
}

/// A reply that came as text: JSON, server-sent events, or a chunk a line.
pub(crate) fn reply_of(text: &str) -> Result<Value, EngineError> {
    match gateway_dialects::from_slice(text.as_bytes()) {
        Ok(value) => Ok(value),
        Err(json) => match parse_chunks(text) {
            Ok(chunks) => Ok(chunks.into()),
            // Neither JSON nor a stream: what the model said.
            Err(_) if !text.trim_start().starts_with(['{', '[']) => Ok(Value::String(text.to_owned())),
            Err(stream) => Err(EngineError::invalid(format!("the reply is no JSON ({json}), and {stream}"))),
        },
    }
}
