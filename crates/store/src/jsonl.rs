//! Logs that MCP servers write themselves: one JSON object per line.
//!
//! Files are read backwards from their end and only as far as needed, so their size does not matter.

use std::{
    fs::File,
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use bytes::Bytes;
use gateway_notation::pattern::matches;
use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::record::write_string;

/// Which lines to read from the end of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tail {
    /// Only entries of this time or later.
    pub since: Option<Timestamp>,
    /// Only entries of this tool; `*` matches any text.
    pub tool: Option<String>,
    /// The most entries; the newest are kept (default: 100).
    pub limit: usize,
    /// The most bytes to read (default: 64 MiB).
    pub max_bytes: u64,
}

impl Default for Tail {
    fn default() -> Self {
        Self { since: None, tool: None, limit: 100, max_bytes: 64 << 20 }
    }
}

impl Tail {
    fn wants_tool(&self, entry: &Entry) -> bool {
        match (&self.tool, &entry.tool) {
            (None, _) => true,
            (Some(pattern), Some(tool)) => matches(pattern, tool),
            (Some(_), None) => false,
        }
    }

    /// Whether the entry has a time before the requested one.
    fn is_too_old(&self, entry: &Entry) -> bool {
        matches!((self.since, entry.timestamp), (Some(since), Some(time)) if time < since)
    }
}

/// Entries read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lines {
    /// Each a JSON object, oldest first: the line with `arguments` renamed to `input`, or `{"parse_error": line}`.
    pub entries: Vec<Bytes>,
    /// The offset to continue from with [`read_from`].
    pub offset: u64,
    /// Whether reading stopped at the byte limit with more to read.
    pub cut: bool,
}

/// The newest matching entries, oldest first. A missing file has none.
pub fn read_tail(path: &Path, tail: &Tail) -> io::Result<Lines> {
    let mut lines = Lines { entries: Vec::new(), offset: 0, cut: false };
    let Some(file) = open(path)? else { return Ok(lines) };
    let mut backwards = ReverseLines::new(file)?;
    lines.offset = backwards.position;
    let stop_at = backwards.position.saturating_sub(tail.max_bytes);
    let mut older = 0;
    while lines.entries.len() < tail.limit {
        let Some(line) = backwards.next_line(stop_at)? else {
            lines.cut = backwards.position > 0;
            break;
        };
        match Entry::read(&line) {
            None => {}
            Some(entry) if tail.is_too_old(&entry) => {
                older += 1;
                if older >= OLDER_LINES {
                    break;
                }
            }
            Some(entry) => {
                // A line without a time belongs to its neighbours.
                if tail.wants_tool(&entry) && (entry.timestamp.is_some() || older == 0) {
                    lines.entries.push(entry.json);
                }
                if entry.timestamp.is_some() {
                    older = 0;
                }
            }
        }
    }
    lines.entries.reverse();
    Ok(lines)
}

/// The matching entries of whole lines from `offset` on, for following a file. It reads at most about
/// [`Tail::max_bytes`] and ignores [`Tail::limit`]. A file that became shorter was replaced and is read from its start; a
/// missing one has no lines.
pub fn read_from(path: &Path, offset: u64, tail: &Tail) -> io::Result<Lines> {
    let mut lines = Lines { entries: Vec::new(), offset, cut: false };
    let Some(mut file) = open(path)? else { return Ok(Lines { offset: 0, ..lines }) };
    let length = file.metadata()?.len();
    if length < offset {
        lines.offset = 0;
    }
    file.seek(SeekFrom::Start(lines.offset))?;
    let room = usize::try_from(tail.max_bytes).unwrap_or(usize::MAX).max(LONGEST_LINE);
    let mut bytes = Vec::new();
    file.take(u64::try_from(room).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    let full = bytes.len() == room;
    let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        // A line without an end in sight is skipped in pieces, each unreadable.
        None if full => bytes.len(),
        None => 0,
    };
    bytes.truncate(whole);
    let mut after_older = false;
    for entry in bytes.split(|byte| *byte == b'\n').filter_map(Entry::read) {
        // A line without a time belongs to the one before it.
        if entry.timestamp.is_some() {
            after_older = tail.is_too_old(&entry);
        }
        if !after_older && tail.wants_tool(&entry) {
            lines.entries.push(entry.json);
        }
    }
    lines.offset += u64::try_from(whole).unwrap_or(0);
    lines.cut = full;
    Ok(lines)
}

/// Lines may be slightly out of order; after this many older ones in a row the rest is assumed to be older too.
const OLDER_LINES: usize = 1000;
/// Longer lines are not parsed as JSON.
const LONGEST_LINE: usize = 1 << 20;
/// How much of an unreadable line is shown.
const SHOWN_BYTES: usize = 1024;
const READ_BYTES: u64 = 64 << 10;

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads lines from the last to the first.
struct ReverseLines {
    file: File,
    /// Everything from this offset on has been read.
    position: u64,
    /// Read but not returned yet: whole lines and the end of one.
    buffer: Vec<u8>,
    /// The prefix of the buffer that has not been searched for line ends.
    unsearched: usize,
}

impl ReverseLines {
    fn new(mut file: File) -> io::Result<Self> {
        let position = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, position, buffer: Vec::new(), unsearched: 0 })
    }

    /// The next line towards the start; `None` once the start or `stop_at` is reached.
    fn next_line(&mut self, stop_at: u64) -> io::Result<Option<Vec<u8>>> {
        loop {
            let searched = self.buffer.get(..self.unsearched).unwrap_or_default();
            if let Some(end) = searched.iter().rposition(|byte| *byte == b'\n') {
                let line = self.buffer.split_off(end + 1);
                self.buffer.truncate(end);
                self.unsearched = end;
                return Ok(Some(line));
            }
            self.unsearched = 0;
            if self.position == 0 {
                let line = std::mem::take(&mut self.buffer);
                return Ok((!line.is_empty()).then_some(line));
            }
            if self.position <= stop_at {
                return Ok(None);
            }
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let size = self.position.min(READ_BYTES);
        self.position -= size;
        self.file.seek(SeekFrom::Start(self.position))?;
        let mut block = Vec::new();
        (&mut self.file).take(size).read_to_end(&mut block)?;
        self.unsearched = block.len();
        // An over-long line keeps its front, one byte more than allowed, which marks it as too long.
        self.buffer.truncate(LONGEST_LINE + 1);
        block.append(&mut self.buffer);
        self.buffer = block;
        Ok(())
    }
}

struct Entry {
    json: Bytes,
    timestamp: Option<Timestamp>,
    tool: Option<String>,
}

impl Entry {
    /// The entry of a line; `None` for a blank one.
    fn read(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let fields =
            if line.len() > LONGEST_LINE { None } else { serde_json::from_slice::<Fields<'_>>(line).ok() };
        Some(fields.map_or_else(|| Self::unreadable(line), |fields| Self::of_fields(&fields.0)))
    }

    fn of_fields(fields: &[(String, &RawValue)]) -> Self {
        let text = |name: &str| -> Option<String> {
            let (_, value) = fields.iter().find(|(key, _)| key == name)?;
            serde_json::from_str(value.get()).ok()
        };
        let has_input = fields.iter().any(|(key, _)| key == "input");
        let mut json = vec![b'{'];
        for (index, (key, value)) in fields.iter().enumerate() {
            if index > 0 {
                json.push(b',');
            }
            write_string(&mut json, if key == "arguments" && !has_input { "input" } else { key });
            json.push(b':');
            json.extend_from_slice(value.get().as_bytes());
        }
        json.push(b'}');
        let timestamp = text("timestamp").and_then(|text| text.parse().ok());
        Self { json: json.into(), timestamp, tool: text("tool") }
    }

    fn unreadable(line: &[u8]) -> Self {
        let shown = String::from_utf8_lossy(line.get(..SHOWN_BYTES).unwrap_or(line));
        let mut json = b"{\"parse_error\":".to_vec();
        write_string(
            &mut json,
            &if line.len() > SHOWN_BYTES { format!("{shown}…") } else { shown.into_owned() },
        );
        json.push(b'}');
        Self { json: json.into(), timestamp: None, tool: None }
    }
}

/// The members of an object in order, with raw values.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(member) = map.next_entry()? {
                    fields.push(member);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
