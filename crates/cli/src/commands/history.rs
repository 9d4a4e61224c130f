//! `history`: a conversation of one dialect → the same conversation in another.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use gateway_dialects::history::{Conversation, HistoryOptions, TransferMode, TranslatedTools, transfer};
use gateway_dialects::{Dialect, Dialects, GivenTool, Options, Translator};
use serde_json::{Value, json};

use crate::Outcome;
use crate::input::{read_json, read_text, read_tools};
use crate::options::{DialectFiles, Words, explained, words};
use crate::output::print_json;

/// The members of a request under which APIs keep a conversation.
const MESSAGES: [&str; 3] = ["messages", "contents", "input"];
/// The members under which they keep instructions.
const SYSTEM: [&str; 3] = ["system", "systemInstruction", "system_instruction"];

/// Write a conversation of one dialect as one of another.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// The dialect of the conversation; neutral for the gateway's own format
    #[arg(long, value_name = "DIALECT")]
    from: String,
    /// The dialect to write
    #[arg(long, value_name = "DIALECT")]
    to: String,
    /// What becomes of calls and results
    #[arg(long, value_parser = words(MODES), default_value = "native")]
    mode: TransferMode,
    /// The MCP tools of the calls, so that names and arguments are translated too
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    #[command(flatten)]
    files: DialectFiles,
    /// The messages, or a request that holds them; - for standard input
    file: Option<PathBuf>,
}

const MODES: Words<TransferMode> = &[
    ("native", "Written as the dialect has them", TransferMode::Native),
    ("text", "Written as text", TransferMode::Text),
    ("text-only", "Left out, with a warning", TransferMode::TextOnly),
];

impl History {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let dialects = self.files.dialects()?;
        let from = dialects.get(&self.from).map_err(explained)?;
        let to = dialects.get(&self.to).map_err(explained)?;
        let tools = match &self.tools {
            Some(path) => read_tools(Some(path))?.tools,
            None => Vec::new(),
        };
        let held = self.conversation()?;
        let from_tools = codec(&dialects, &from, &tools)?;
        let to_tools = codec(&dialects, &to, &tools)?;
        let sides = ((&from, &from_tools), (&to, &to_tools));
        let (moved, warnings) = transfer(&held, sides.0, sides.1, self.mode, &HistoryOptions::default());
        let mut answer = json!({"messages": moved.messages});
        if let Some(system) = moved.system {
            answer["system"] = system;
        }
        let warnings =
            warnings.into_iter().map(|warning| json!({"message": warning.message, "text": warning.text}));
        answer["warnings"] = warnings.collect();
        print_json(&answer)?;
        Ok(Outcome::Good)
    }

    /// A list of messages, or a request with one.
    fn conversation(&self) -> Result<Conversation> {
        let (name, text) = read_text(self.file.as_deref())?;
        let mut request = match read_json(&name, &text)? {
            Value::Array(messages) => return Ok(Conversation { system: None, messages }),
            Value::Object(request) => request,
            _ => bail!("the conversation is neither a list of messages nor a request that holds one"),
        };
        let messages = MESSAGES.iter().find_map(|key| request.remove(*key));
        let Some(Value::Array(messages)) = messages else {
            bail!("the request holds no list under {}", MESSAGES.join(", "));
        };
        let system = SYSTEM.iter().find_map(|key| request.remove(*key)).filter(|system| !system.is_null());
        Ok(Conversation { system, messages })
    }
}

fn codec(dialects: &Dialects, dialect: &Dialect, tools: &[GivenTool]) -> Result<TranslatedTools> {
    let translator = Translator::with(dialects, dialect.clone(), Options::default()).map_err(explained)?;
    Ok(TranslatedTools::new(&translator.translate(tools)))
}
