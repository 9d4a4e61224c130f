//! Append-only files, so that tests can see what happened before a crash.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// A file to which whole lines are appended, each by one write.
#[derive(Debug)]
pub(crate) struct AppendFile(Option<File>);

impl AppendFile {
    /// The file; without a path, lines are discarded.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self(None)) };
        OpenOptions::new().create(true).append(true).open(path).map(|file| Self(Some(file)))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Appends `line` and a line end. Appending is atomic among processes because it is one write.
    pub(crate) fn append(&self, line: &str) {
        let Some(mut file) = self.0.as_ref() else { return };
        let written = file.write_all(format!("{line}\n").as_bytes());
        if let Err(error) = written {
            // A record that cannot be written must not look like "it did not happen".
            let _ = writeln!(io::stderr(), "gateway-testkit: appending to a log: {error}");
            std::process::exit(70);
        }
    }
}
