//! Entries of the log for programs and for people.

use std::io::Write as _;

use anyhow::{Context, Result};
use gateway_protocol::printable;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::{Paint, Table, Tone};
use crate::terminal::{Form, output};

/// Writes entries: as JSON for programs, as a table for people.
pub(super) struct Rows {
    form: RowForm,
    paint: Paint,
    has_header: bool,
}

/// The columns.
const HEADER: [&str; 7] = ["time", "server", "tool", "provider", "ms", "status", "input, or what is wrong"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowForm {
    JsonLines,
    /// All entries are known before the first is written, so columns can fit their cells.
    Table,
    /// Entries arrive one by one.
    Lines,
}

/// The shown part of an entry.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(default)]
    timestamp: String,
    server: Option<String>,
    tool: Option<String>,
    provider: Option<String>,
    duration_ms: Option<f64>,
    error: Option<String>,
    code: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// The most characters of input or error that people are shown.
const SHOWN: usize = 120;

impl Rows {
    pub(super) fn new(json: bool, follow: bool) -> Self {
        let form = match (json, follow) {
            (true, _) => RowForm::JsonLines,
            (false, false) => RowForm::Table,
            (false, true) => RowForm::Lines,
        };
        Self { form, paint: Paint::for_stdout(), has_header: false }
    }

    /// Writes entries, each a JSON object.
    pub(super) fn write<E: AsRef<[u8]>>(&mut self, entries: &[E]) -> Result<()> {
        let mut stdout = output(Form::json_if(self.form == RowForm::JsonLines));
        let mut table = Table::new(HEADER);
        if self.form == RowForm::Lines && !self.has_header {
            self.has_header = true;
            writeln!(stdout, "{}", self.paint.tone(Tone::Faint, &line(HEADER.map(str::to_owned))))?;
        }
        for entry in entries {
            let text = entry.as_ref();
            if self.form == RowForm::JsonLines {
                stdout.write_all(text)?;
                stdout.write_all(b"\n")?;
                continue;
            }
            let entry: Entry<'_> = serde_json::from_slice(text).context("reading an entry of the log")?;
            let (tone, cells) = entry.cells();
            if self.form == RowForm::Table {
                table.row(tone, cells);
                continue;
            }
            let line = line(cells);
            writeln!(stdout, "{}", tone.map_or_else(|| line.clone(), |tone| self.paint.tone(tone, &line)))?;
        }
        if self.form == RowForm::Table {
            if entries.is_empty() {
                writeln!(stdout, "no calls")?;
            } else {
                table.write(&mut stdout, self.paint, "")?;
            }
        }
        stdout.flush()?;
        Ok(())
    }
}

/// Cells in columns of fixed width, because later entries are not known.
fn line(cells: [String; 7]) -> String {
    let [time, server, tool, provider, duration, status, about] = cells;
    let line =
        format!("{time:<24}  {server:<12}  {tool:<20}  {provider:<12}  {duration:>8}  {status:<6}  {about}");
    line.trim_end().to_owned()
}

impl Entry<'_> {
    fn cells(self) -> (Option<Tone>, [String; 7]) {
        let failed = self.error.is_some();
        let about =
            self.error.unwrap_or_else(|| self.input.map_or_else(String::new, |input| input.get().to_owned()));
        let status = if failed { self.code.unwrap_or_else(|| "error".to_owned()) } else { "ok".to_owned() };
        let cells = [
            self.timestamp,
            self.server.unwrap_or_default(),
            self.tool.unwrap_or_default(),
            self.provider.unwrap_or_else(|| "-".to_owned()),
            self.duration_ms.map_or_else(String::new, |took| took.to_string()),
            status,
            shortened(&about),
        ]
        .map(|cell| printable(&cell).into_owned());
        (failed.then_some(Tone::Bad), cells)
    }
}

/// One line, not too long.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
