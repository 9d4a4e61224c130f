//! Reading tools from files and standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read, Write as _};
use std::path::Path;

use anyhow::{Context, Result, bail};
use gateway_dialects::{DocumentError, GivenTool, ToolDocument};
use gateway_protocol::find_repeated;
use serde_json::Value;

use crate::terminal::errors;

/// The longest line of a JSON-lines input.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// Opens `file`, or standard input for `-` or `None`.
pub(crate) fn open(file: Option<&Path>) -> Result<Box<dyn BufRead>> {
    match file {
        Some(path) if path != Path::new("-") => {
            let opened = File::open(path).with_context(|| format!("reading {}", path.display()))?;
            Ok(Box::new(BufReader::with_capacity(1 << 16, opened)))
        }
        _ => {
            announce_terminal();
            Ok(Box::new(BufReader::with_capacity(1 << 16, std::io::stdin().lock())))
        }
    }
}

/// Says on standard error that input is expected, where a person would else see nothing happen.
fn announce_terminal() {
    if std::io::stdin().is_terminal() {
        // A closed standard error is fine.
        let _ = writeln!(
            errors(),
            "reading standard input from the terminal; end it with Ctrl-D, or name a file"
        );
    }
}

/// A server's tools.
#[derive(Debug)]
pub(crate) struct ToolList {
    /// The tools.
    pub(crate) tools: Vec<GivenTool>,
    /// The text that they were read from; `None` if a server listed them.
    pub(crate) text: Option<String>,
    /// What they are called in messages: a file's path, or a server.
    pub(crate) name: String,
}

/// The whole text of `file`, and what to call it in messages.
pub(crate) fn read_text(file: Option<&Path>) -> Result<(String, String)> {
    let name = match file {
        Some(path) if path != Path::new("-") => path.display().to_string(),
        _ => "standard input".to_owned(),
    };
    let mut text = String::new();
    open(file)?.read_to_string(&mut text).with_context(|| format!("reading {name}"))?;
    Ok((name, text))
}

/// The JSON in `text`, which is called `name` in messages. Repeated members are an error: parsers disagree about which one
/// counts.
pub(crate) fn read_json(name: &str, text: &str) -> Result<Value> {
    check_unrepeated(name, text)?;
    serde_json::from_str(text).with_context(|| format!("reading {name} as JSON"))
}

/// The tools in `file`: a list, `{"tools": […]}`, a `tools/list` reply, a provider's request, or one tool.
pub(crate) fn read_tools(file: Option<&Path>) -> Result<ToolList> {
    let (name, text) = read_text(file)?;
    check_unrepeated(&name, &text)?;
    match ToolDocument::parse(&text) {
        Ok(document) => Ok(ToolList { tools: document.tools, text: Some(text), name }),
        Err(DocumentError::Json(error)) => {
            Err(anyhow::Error::new(error).context(format!("reading {name} as JSON")))
        }
        Err(error) => bail!("{name} holds no tools: {error}"),
    }
}

/// Rejects a text with a repeated member.
pub(crate) fn check_unrepeated(name: &str, text: &str) -> Result<()> {
    match find_repeated(text.as_bytes()) {
        Some(repeated) => Err(anyhow::Error::new(repeated).context(format!("reading {name}"))),
        None => Ok(()),
    }
}

/// The lines of `reader`, one buffer for all.
pub(crate) struct Lines {
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: usize,
}

impl Lines {
    pub(crate) fn new(reader: Box<dyn BufRead>) -> Self {
        Self { reader, line: Vec::new(), number: 0 }
    }

    /// The next line that is not blank, and its number.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, &[u8])>> {
        loop {
            self.line.clear();
            let read = (&mut self.reader)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut self.line)
                .context("reading a line")?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.line.len() as u64 == LONGEST_LINE && !self.line.ends_with(b"\n") {
                bail!("line {} is longer than {LONGEST_LINE} bytes", self.number);
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some((self.number, self.line.trim_ascii())))
    }
}
