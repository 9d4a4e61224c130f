//! What was said, and the file that keeps it.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_agent::{Journal, from_chat, to_chat};
use gateway_config::read_regular_file;
use gateway_dialects::history::Message;
use gateway_runtime::lock::locked;
use serde_json::{Value, json};

use crate::input::read_json;
use crate::output::write_pretty_json;

/// What a turn has added so far, so that it is there when the turn is interrupted.
#[derive(Debug, Default)]
pub(super) struct Said(Mutex<Vec<Message>>);

impl Said {
    /// Takes it.
    pub(super) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *locked(&self.0))
    }
}

impl Journal for Said {
    fn write<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        async move {
            locked(&self.0).push(message.clone());
            Ok(())
        }
        .boxed()
    }
}

/// Writes a conversation as messages of Chat Completions. The file is replaced as a whole, and only its owner can read it.
pub(super) fn save(path: &Path, model: &str, messages: &[Message]) -> Result<()> {
    let value = json!({"model": model, "messages": to_chat(messages)});
    let mut draft = path.as_os_str().to_owned();
    draft.push(".tmp");
    let write = || -> Result<()> {
        let file: File =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        let mut writer = BufWriter::new(file);
        write_pretty_json(&mut writer, &value)?;
        writer.flush()?;
        std::fs::rename(&draft, path)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", path.display()))
}

/// Reads what [`save`] wrote: an object with `messages`, or the messages alone. Only a file, and no endless one: nobody could stop it.
pub(super) fn load(path: &Path) -> Result<Vec<Message>> {
    let name = path.display().to_string();
    let text = read_regular_file(path).with_context(|| format!("reading {name}"))?;
    let messages = match read_json(&name, &text)? {
        Value::Array(messages) => messages,
        Value::Object(mut members) => match members.remove("messages") {
            Some(Value::Array(messages)) => messages,
            Some(_) | None => bail!("{name} holds no conversation: expected `messages`, a list"),
        },
        _ => bail!("{name} holds no conversation: expected a list of messages"),
    };
    if let Some(other) =
        messages.iter().find(|message| message.get("role").is_none_or(|role| !role.is_string()))
    {
        bail!("{name} holds no conversation: a message has no role: {other}");
    }
    Ok(from_chat(messages))
}
