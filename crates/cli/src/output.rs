//! Writing for programs and for people.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use gateway_notation::spelling::nearest_names;
use gateway_protocol::printable;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::terminal::{self, Form, output};

/// A message in the shape of the service's log lines.
pub(crate) fn log_line(level: &str, message: &str, context: &Value) -> Value {
    let timestamp = format!("{:.3}", Timestamp::now());
    json!({"timestamp": timestamp, "level": level, "message": message, "context": context})
}

/// Writes `value`, keeping I/O errors recognisable.
pub(crate) fn write_json(writer: &mut impl Write, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *writer, value).map_err(recognisable)
}

/// Writes `value` on a line.
pub(crate) fn write_json_line(writer: &mut impl Write, value: &impl Serialize) -> Result<()> {
    write_json(writer, value)?;
    writeln!(writer)?;
    Ok(())
}

/// Writes `value` to standard output, on a line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let mut stdout = output(Form::Json);
    write_json_line(&mut stdout, value)?;
    stdout.flush()?;
    Ok(())
}

/// Writes `value` into a file, indented.
pub(crate) fn write_report(path: &Path, value: &impl Serialize) -> Result<()> {
    let write = || -> Result<()> {
        let mut writer = BufWriter::new(File::create(path)?);
        write_pretty_json(&mut writer, value)?;
        writer.flush()?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", path.display()))
}

/// Writes `value` indented, with a line end.
pub(crate) fn write_pretty_json(writer: &mut impl Write, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *writer, value).map_err(recognisable)?;
    writeln!(writer)?;
    Ok(())
}

fn recognisable(error: serde_json::Error) -> anyhow::Error {
    if error.is_io() { anyhow::Error::new(std::io::Error::from(error)) } else { anyhow::Error::new(error) }
}

/// The meaning of a text, shown as a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Heading,
    Good,
    Caution,
    Bad,
    Faint,
}

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Colour,
    Plain,
}

impl Paint {
    /// Colour if standard output is a terminal, unless `NO_COLOR` is set or the terminal is dumb.
    pub(crate) fn for_stdout() -> Self {
        Self::for_stream(&std::io::stdout())
    }

    /// The same for standard error.
    #[cfg(feature = "agent")]
    pub(crate) fn for_stderr() -> Self {
        Self::for_stream(&std::io::stderr())
    }

    fn for_stream(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if !refused && stream.is_terminal() { Self::Colour } else { Self::Plain }
    }

    /// `text` in the colour of `tone`.
    pub(crate) fn tone(self, tone: Tone, text: &str) -> String {
        if self == Self::Plain || text.is_empty() {
            return text.to_owned();
        }
        terminal::coloured(tone.code(), text)
    }
}

impl Tone {
    /// The terminal's number for its colour.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Heading => "1",
            Self::Good => "32",
            Self::Caution => "33",
            Self::Bad => "31",
            Self::Faint => "2",
        }
    }
}

/// The question whether one of the known names was meant; `None` if none is near.
pub(crate) fn did_you_mean<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let nearest = nearest_names(name, known);
    (!nearest.is_empty()).then(|| format!("did you mean `{}`?", nearest.join("`, `")))
}

/// `count` and its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Wraps `text` between words at `width`.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if length > 0 && length + 1 + letters > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += letters;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Rows of cells, aligned; the last column is wrapped.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    tone: Option<Tone>,
    cells: Vec<String>,
}

/// The width to which the last column of a table is wrapped.
const TABLE_WIDTH: usize = 110;
/// The last column is never made narrower than this.
const LAST_COLUMN: usize = 30;

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self { rows: vec![Row { tone: Some(Tone::Faint), cells: header.map(str::to_owned).to_vec() }] }
    }

    pub(crate) fn row<const N: usize>(&mut self, tone: Option<Tone>, cells: [String; N]) {
        // Cells contain foreign text, and each is one line.
        let cells = cells.map(|cell| printable(&cell).into_owned());
        self.rows.push(Row { tone, cells: cells.into() });
    }

    /// Writes the table, each line after `indent`. Numbers are right-aligned.
    pub(crate) fn write(&self, writer: &mut impl Write, paint: Paint, indent: &str) -> std::io::Result<()> {
        let columns = self.rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum::<usize>() + indent.len();
        let room = TABLE_WIDTH.saturating_sub(before).max(LAST_COLUMN);
        for row in &self.rows {
            let mut line = String::from(indent);
            let Some((last, cells)) = row.cells.split_last() else { continue };
            for (cell, width) in cells.iter().zip(&widths) {
                let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
                if is_figure(cell) {
                    line.extend([fill.as_str(), cell, "  "]);
                } else {
                    line.extend([cell, fill.as_str(), "  "]);
                }
            }
            let mut parts = wrapped(last, room).into_iter();
            if is_figure(last) {
                let width = widths.last().copied().unwrap_or(0);
                line.push_str(&" ".repeat(width.saturating_sub(last.chars().count())));
            }
            line.push_str(&parts.next().unwrap_or_default());
            let line = line.trim_end();
            writeln!(writer, "{}", row.tone.map_or_else(|| line.to_owned(), |tone| paint.tone(tone, line)))?;
            for part in parts {
                writeln!(writer, "{}{part}", " ".repeat(before))?;
            }
        }
        Ok(())
    }
}

fn is_figure(cell: &str) -> bool {
    cell.starts_with(|char: char| char.is_ascii_digit() || char == '-' || char == '+')
        && cell.chars().all(|char| char.is_ascii_digit() || matches!(char, '-' | '+' | '%' | '.' | ','))
}
