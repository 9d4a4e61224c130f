//! Reading tools from files and standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use gateway_protocol::find_repeated;
use serde_json::Value;

/// The longest line of a JSON-lines input.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// Opens `file`, or standard input for `-` or `None`.
pub(crate) fn open(file: Option<&Path>) -> Result<Box<dyn BufRead>> {
    match file {
        Some(path) if path != Path::new("-") => {
            let opened = File::open(path).with_context(|| format!("reading {}", path.display()))?;
            Ok(Box::new(BufReader::with_capacity(1 << 16, opened)))
        }
        _ => Ok(Box::new(BufReader::with_capacity(1 << 16, std::io::stdin().lock()))),
    }
}

/// A server's tools, read from a file.
#[derive(Debug)]
pub(crate) struct ToolList {
    /// The tools.
    pub(crate) tools: Vec<Value>,
    /// The text that they were read from.
    pub(crate) text: String,
    /// The name of the text in messages: a file's path.
    pub(crate) name: String,
    /// JSON Pointer to the list in the text.
    pub(crate) pointer: &'static str,
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

/// The tools in `file`: an array, `{"tools": […]}`, or a `tools/list` reply.
pub(crate) fn read_tools(file: Option<&Path>) -> Result<ToolList> {
    let (name, text) = read_text(file)?;
    let mut document = read_json(&name, &text)?;
    for pointer in ["", "/tools", "/result/tools"] {
        if let Some(Value::Array(tools)) = document.pointer_mut(pointer) {
            let tools = std::mem::take(tools);
            return Ok(ToolList { tools, text, name, pointer });
        }
    }
    bail!("{name} holds no tools: expected an array, {{\"tools\": […]}} or a tools/list reply")
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
