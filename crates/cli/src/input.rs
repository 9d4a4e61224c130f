//! Reading tools from files and standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The longest line of a JSON-lines input.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// Opens `file`, or standard input for `-` and for none.
pub(crate) fn open(file: Option<&Path>) -> Result<Box<dyn BufRead>> {
    match file {
        Some(path) if path != Path::new("-") => {
            let opened = File::open(path).with_context(|| format!("reading {}", path.display()))?;
            Ok(Box::new(BufReader::with_capacity(1 << 16, opened)))
        }
        _ => Ok(Box::new(BufReader::with_capacity(1 << 16, std::io::stdin().lock()))),
    }
}

/// The tools in `file`: an array, `{"tools": […]}`, or a `tools/list` reply.
pub(crate) fn read_tools(file: Option<&PathBuf>) -> Result<Vec<Value>> {
    let name = file.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let mut text = Vec::new();
    open(file.map(PathBuf::as_path))?.read_to_end(&mut text).with_context(|| format!("reading {name}"))?;
    let document: Value = serde_json::from_slice(&text).with_context(|| format!("reading {name} as JSON"))?;
    let list = match document {
        Value::Array(tools) => return Ok(tools),
        Value::Object(mut members) => match members.remove("tools") {
            Some(tools) => tools,
            None => members
                .get_mut("result")
                .and_then(|result| result.get_mut("tools"))
                .map(Value::take)
                .unwrap_or_default(),
        },
        _ => Value::Null,
    };
    match list {
        Value::Array(tools) => Ok(tools),
        _ => bail!("{name} holds no tools: expected an array, {{\"tools\": […]}} or a tools/list reply"),
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
