//! Conversations of one dialect → the same conversations in another.

use gateway_dialects::history::{Conversation, HistoryOptions, TransferMode, TranslatedTools, transfer};
use gateway_dialects::{Dialect, Options};
use serde_json::{Value, json};

use crate::engine::{dialects, translator};
use crate::error::EngineError;
use crate::settings::{Choice, Settings};

/// The members of a request under which APIs keep a conversation.
const MESSAGES: [&str; 3] = ["messages", "contents", "input"];
/// The members under which they keep instructions.
const SYSTEM: [&str; 3] = ["system", "systemInstruction", "system_instruction"];

/// What `POST /history` answers. The conversation is a list of messages, or a request that holds one.
pub(crate) fn convert_history(conversation: Value, mut settings: Settings) -> Result<Value, EngineError> {
    let (from, to) = (side(&mut settings, "from")?, side(&mut settings, "to")?);
    let tools = settings.tools()?.unwrap_or_default();
    let mode = settings.word("mode", &TransferMode::WORDS)?.unwrap_or_default();
    let (model, system) = (settings.text("model")?, settings.take("system"));
    settings.end()?;
    let mut held = read(conversation)?;
    if system.is_some() {
        held.system = system;
    }
    let codec = |dialect: &Dialect| -> Result<TranslatedTools, EngineError> {
        if tools.is_empty() {
            return Ok(TranslatedTools::default());
        }
        let choice =
            Choice { name: Some(dialect.name.clone()), options: Options::default(), ..Choice::default() };
        Ok(TranslatedTools::new(&translator(&choice)?.translate(&tools)))
    };
    let (from_tools, to_tools) = (codec(&from)?, codec(&to)?);
    let mut options = HistoryOptions::default();
    if let Some(model) = &model {
        options.results = options.results.for_model(model);
    }
    let (moved, warnings) = transfer(&held, (&from, &from_tools), (&to, &to_tools), mode, &options);
    let mut answer = json!({"messages": moved.messages});
    if let Some(system) = moved.system {
        answer["system"] = system;
    }
    let warnings =
        warnings.into_iter().map(|warning| json!({"message": warning.message, "text": warning.text}));
    answer["warnings"] = warnings.collect();
    Ok(answer)
}

fn read(conversation: Value) -> Result<Conversation, EngineError> {
    let mut request = match conversation {
        Value::Array(messages) => return Ok(Conversation { system: None, messages }),
        Value::Object(request) => request,
        _ => {
            let message = "the conversation is neither a list of messages nor a request that holds one";
            return Err(EngineError::invalid(message));
        }
    };
    let messages = MESSAGES.iter().find_map(|key| request.remove(*key));
    let Some(Value::Array(messages)) = messages else {
        return Err(EngineError::invalid(format!("the request holds no list under {}", MESSAGES.join(", "))));
    };
    let system = SYSTEM.iter().find_map(|key| request.remove(*key)).filter(|system| !system.is_null());
    Ok(Conversation { system, messages })
}

/// The dialect that stands under `key`.
fn side(settings: &mut Settings, key: &str) -> Result<Dialect, EngineError> {
    let name = settings.text(key)?.ok_or_else(|| {
        EngineError::invalid(format!("`{key}` is missing: name a dialect, such as \"openai\" or \"neutral\""))
    })?;
    Ok(dialects().get(&name)?)
}
