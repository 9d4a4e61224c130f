//! Reading texts.

use gateway_dialects::{GivenTool, ToolDocument};
use gateway_protocol::find_repeated;

use crate::error::EngineError;

/// The tools of a text. Repeated members are refused: nobody can say what was meant.
pub(crate) fn read_tools(text: &str) -> Result<Vec<GivenTool>, EngineError> {
    // Most texts hold nothing unusual and are read once. The others are read again, tool by tool.
    if let Ok(value) = gateway_dialects::from_slice(text.as_bytes())
        && let Ok(document) = ToolDocument::plain(value)
    {
        return Ok(document.tools);
    }
    check_unrepeated(text)?;
    Ok(ToolDocument::parse(text)?.tools)
}

pub(crate) fn check_unrepeated(text: &str) -> Result<(), EngineError> {
    match find_repeated(text.as_bytes()) {
        Some(repeated) => Err(EngineError::invalid(repeated.to_string())),
        None => Ok(()),
    }
}
