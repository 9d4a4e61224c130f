//! The file that a session is recorded into.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gateway_cassette::{Recorder, Redacted};
use gateway_protocol::{Incoming, parse_message};
use gateway_store::{Redaction, Redactor};
use serde_json::value::RawValue;

use crate::output::counted;
use crate::terminal::errors;

/// How often what is new is saved: a client may kill its server without a warning.
const SAVE: Duration = Duration::from_secs(1);

/// A recorder and its file. Clones share both.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    path: PathBuf,
    transport: &'static str,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    recorder: Recorder,
    /// Whether something is not saved yet.
    is_new: bool,
}

impl Tape {
    /// An empty cassette, which is written at once: a file that cannot be written is no surprise at the end.
    pub(super) fn create(
        path: &Path,
        transport: &'static str,
        keys: &[String],
        secrets: &[&str],
    ) -> Result<Self> {
        let mut redaction = Redaction::default();
        redaction.keys = keys.to_vec();
        let redactor = Redactor::new(&redaction)?;
        let redact = move |text: &str| {
            let found = redactor.redact(text)?;
            Some(Redacted { text: found.text, removed: found.removed })
        };
        let mut recorder = Recorder::new(Box::new(redact));
        for secret in secrets {
            recorder.hide(secret);
        }
        if path.is_dir() {
            bail!("{} is a directory; name a file for the cassette", path.display());
        }
        let state = Arc::new(Mutex::new(State { recorder, is_new: true }));
        let tape = Self { path: path.to_owned(), transport, state };
        tape.save()?;
        Ok(tape)
    }

    /// Gives the recorder each message of a text: one, or a list of them. What is no message is not recorded.
    pub(super) fn messages(
        &self,
        text: &[u8],
        mut take: impl FnMut(&mut Recorder, &Incoming),
    ) -> Vec<Incoming> {
        let texts: Vec<Vec<u8>> = match serde_json::from_slice::<Vec<Box<RawValue>>>(text) {
            Ok(batch) => batch.into_iter().map(|one| one.get().as_bytes().to_vec()).collect(),
            Err(_) => vec![text.to_vec()],
        };
        let read = |text: Vec<u8>| parse_message(text.into()).ok();
        let messages: Vec<Incoming> = texts.into_iter().filter_map(read).collect();
        let mut state = self.state();
        for message in &messages {
            take(&mut state.recorder, message);
            state.is_new = true;
        }
        messages
    }

    /// Gives the recorder something that is no message.
    pub(super) fn note(&self, take: impl FnOnce(&mut Recorder)) {
        let mut state = self.state();
        take(&mut state.recorder);
        state.is_new = true;
    }

    /// Writes the file, if there is something new. A reader never sees half of it.
    pub(super) fn save(&self) -> Result<()> {
        let cassette = {
            let mut state = self.state();
            if !std::mem::take(&mut state.is_new) {
                return Ok(());
            }
            state.recorder.cassette(concat!("mcp-tool-gateway ", env!("CARGO_PKG_VERSION")), self.transport)
        };
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let new = self.path.with_file_name(name);
        let write = || -> Result<()> {
            fs::write(&new, cassette.to_text()?)?;
            Ok(fs::rename(&new, &self.path)?)
        };
        write().with_context(|| format!("writing the cassette {}", self.path.display()))
    }

    /// Saves again and again.
    pub(super) async fn keep_saving(&self) -> Result<std::convert::Infallible> {
        let mut moments = tokio::time::interval(SAVE);
        loop {
            moments.tick().await;
            self.save()?;
        }
    }

    /// Saves, and says what there is.
    pub(super) fn finish(&self) -> Result<()> {
        use std::io::Write as _;
        self.save()?;
        let count = self.state().recorder.len();
        // A closed standard error is fine.
        let _ = writeln!(errors(), "recorded {} into {}", counted(count, "message"), self.path.display());
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of another task leaves a recorder that can still be saved.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
