//! `history`: a conversation of one dialect → the same conversation in another.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use gateway_dialects::history::{Conversation, HistoryOptions, TransferMode, TranslatedTools, transfer};
use gateway_dialects::{Dialect, Dialects, Options, Translator};
use serde_json::{Value, json};

use crate::Outcome;
use crate::input::{check_unrepeated, open, read_tools};
use crate::options::{DialectFiles, explained};
use crate::output::write_json;
use crate::terminal::{Form, output};

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
    #[arg(long, value_enum, default_value = "native")]
    mode: Mode,
    /// The MCP tools of the calls, so that names and arguments are translated too
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    #[command(flatten)]
    files: DialectFiles,
    /// The messages, or a request that holds them; - for standard input
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// Written as the dialect has them
    Native,
    /// Written as text
    Text,
    /// Left out, with a warning
    TextOnly,
}

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
        let mode = match self.mode {
            Mode::Native => TransferMode::Native,
            Mode::Text => TransferMode::Text,
            Mode::TextOnly => TransferMode::TextOnly,
        };
        let sides = ((&from, &from_tools), (&to, &to_tools));
        let (moved, warnings) = transfer(&held, sides.0, sides.1, mode, &HistoryOptions::default());
        let mut answer = json!({"messages": moved.messages});
        if let Some(system) = moved.system {
            answer["system"] = system;
        }
        let warnings =
            warnings.into_iter().map(|warning| json!({"message": warning.message, "text": warning.text}));
        answer["warnings"] = warnings.collect();
        let mut stdout = output(Form::Json);
        write_json(&mut stdout, &answer)?;
        writeln!(stdout)?;
        stdout.flush()?;
        Ok(Outcome::Good)
    }

    /// A list of messages, or a request with one.
    fn conversation(&self) -> Result<Conversation> {
        let mut text = String::new();
        open(self.file.as_deref())?.read_to_string(&mut text).context("reading the conversation")?;
        check_unrepeated("the conversation", &text)?;
        let given: Value = serde_json::from_str(&text).context("reading the conversation as JSON")?;
        let mut request = match given {
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

fn codec(dialects: &Dialects, dialect: &Dialect, tools: &[Value]) -> Result<TranslatedTools> {
    let translator = Translator::with(dialects, dialect.clone(), Options::default()).map_err(explained)?;
    Ok(TranslatedTools::new(&translator.translate(tools)))
}
