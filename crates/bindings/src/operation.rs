//! Operations by name, over values and over texts.

use gateway_dialects::{GivenTool, ToolDocument};
use serde_json::Value;

use crate::calls::{parse_calls, reply_of};
use crate::convert::{Converter, check_tools, transform};
use crate::engine::dialects;
use crate::error::EngineError;
use crate::history::convert_history;
use crate::read::{check_unrepeated, read_tools};
use crate::results::{render, render_text};
use crate::settings::Settings;
use crate::shield::shielded;

/// What the engine can do in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Tools into a provider's form.
    Convert,
    /// What is wrong with tools.
    Check,
    /// One schema into a provider's form.
    Transform,
    /// The calls of a reply.
    ParseCalls,
    /// Results as messages.
    RenderResults,
    /// A conversation into another dialect's form.
    ConvertHistory,
    /// What a model id says about a model.
    DetectModel,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 7] = [
        Self::Convert,
        Self::Check,
        Self::Transform,
        Self::ParseCalls,
        Self::RenderResults,
        Self::ConvertHistory,
        Self::DetectModel,
    ];

    /// The name by which other languages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Convert => "convert",
            Self::Check => "check",
            Self::Transform => "transform",
            Self::ParseCalls => "parse_calls",
            Self::RenderResults => "render_results",
            Self::ConvertHistory => "convert_history",
            Self::DetectModel => "detect_model",
        }
    }

    /// The operation that is called `name`.
    pub fn named(name: &str) -> Result<Self, EngineError> {
        let found = Self::ALL.into_iter().find(|operation| operation.name() == name);
        found.ok_or_else(|| EngineError::internal(format!("no operation is called `{name}`")))
    }
}

/// Runs an operation on a value.
pub fn run(operation: Operation, input: Value, settings: Settings) -> Result<Value, EngineError> {
    shielded(|| match operation {
        Operation::Convert => {
            let converter = Converter::new(settings)?;
            let tools = ToolDocument::of_value(input)?.tools;
            let translation = converter.translate(&tools)?;
            Ok(if converter.reports() {
                converter.answer(&translation)
            } else {
                translation.request_field().to_value()
            })
        }
        Operation::Check => check_tools(&ToolDocument::of_value(input)?.tools, settings),
        Operation::Transform => transform(input, settings),
        Operation::ParseCalls => parse_calls(&input, settings),
        Operation::RenderResults => render(input, settings),
        Operation::ConvertHistory => convert_history(input, settings),
        Operation::DetectModel => detect_model(&input, settings),
    })
}

/// Checks tools that were read one by one.
pub fn check(tools: &[GivenTool], settings: Settings) -> Result<Value, EngineError> {
    shielded(|| check_tools(tools, settings))
}

/// Runs an operation on JSON text, and answers in JSON text.
pub fn run_text(operation: Operation, text: &str, settings: Settings) -> Result<String, EngineError> {
    shielded(|| {
        let answer = match operation {
            Operation::Convert => return Ok(Converter::new(settings)?.convert_text(text)?.0),
            Operation::Check => check_tools(&read_tools(text)?, settings)?,
            Operation::ParseCalls => parse_calls(&reply_of(text)?, settings)?,
            Operation::RenderResults => render_text(text, settings)?,
            Operation::Transform | Operation::ConvertHistory | Operation::DetectModel => {
                check_unrepeated(text)?;
                let input = gateway_dialects::from_slice(text.as_bytes());
                run(operation, input.map_err(|error| EngineError::no_json("the input", &error))?, settings)?
            }
        };
        Ok(answer.to_string())
    })
}

/// What is known about a model by its id, or by its id and who serves it.
fn detect_model(input: &Value, mut settings: Settings) -> Result<Value, EngineError> {
    let provider = settings.text("provider")?;
    settings.end()?;
    let id = input.as_str().ok_or_else(|| EngineError::invalid("the model's id must be a string"))?;
    serde_json::to_value(dialects().detect(id, provider.as_deref()))
        .map_err(|error| EngineError::internal(format!("writing what is known of the model: {error}")))
}
