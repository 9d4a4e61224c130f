//! The file that a session is recorded into.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gateway_cassette::{Draft, Recorder, Redacted};
use gateway_protocol::{Incoming, parse_message};
use gateway_store::{Redaction, Redactor};
use serde_json::value::RawValue;

use crate::output::counted;
use crate::terminal::errors;

/// How often what is new is saved: a client may kill its server without a warning.
const SAVE: Duration = Duration::from_secs(1);
/// A long file takes long to write, and then this share of the time goes into it.
const SHARE: u32 = 4;

/// A recorder and its file. Clones share both.
#[derive(Clone, Debug)]
pub(super) struct Tape(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    transport: &'static str,
    session: Mutex<Session>,
    /// Never locked by whoever passes messages on: saving takes as long as the disk does.
    file: Mutex<File>,
}

#[derive(Debug)]
struct Session {
    recorder: Recorder,
    /// What passed without being recorded.
    unread: usize,
}

#[derive(Debug)]
struct File {
    draft: Draft,
    /// Whether the file is the draft.
    is_saved: bool,
}

impl Tape {
    /// An empty cassette, which is written at once: a file that cannot be written is no surprise at the end.
    pub(super) fn create(
        path: &Path,
        transport: &'static str,
        keys: &[String],
        secrets: &[String],
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
        let session = Mutex::new(Session { recorder, unread: 0 });
        let file = Mutex::new(File { draft: Draft::default(), is_saved: false });
        let tape = Self(Arc::new(Shared { path: path.to_owned(), transport, session, file }));
        tape.0.save()?;
        Ok(tape)
    }

    /// Gives the recorder each message of a text: one, or a list of them. What is no message is counted.
    pub(super) fn messages(
        &self,
        text: &[u8],
        mut take: impl FnMut(&mut Recorder, &Incoming),
    ) -> Vec<Incoming> {
        let texts: Vec<Vec<u8>> = match serde_json::from_slice::<Vec<Box<RawValue>>>(text) {
            Ok(batch) => batch.into_iter().map(|one| one.get().as_bytes().to_vec()).collect(),
            Err(_) => vec![text.to_vec()],
        };
        let mut messages = Vec::new();
        for text in texts {
            match parse_message(text.into()) {
                Ok(message) => messages.push(message),
                Err(error) => self.pass_over(&error.to_string()),
            }
        }
        let mut session = self.session();
        for message in &messages {
            take(&mut session.recorder, message);
        }
        messages
    }

    /// Something passed that cannot be recorded. The first is reported at once, and how many there were at the end.
    pub(super) fn pass_over(&self, reason: &str) {
        let is_first = {
            let mut session = self.session();
            session.unread += 1;
            session.unread == 1
        };
        if is_first {
            // A closed standard error is fine.
            let _ = writeln!(errors(), "a message passes without being recorded: {reason}");
        }
    }

    /// Gives the recorder something that is no message.
    pub(super) fn note(&self, take: impl FnOnce(&mut Recorder)) {
        take(&mut self.session().recorder);
    }

    /// Writes the file if there is something new, while messages go on.
    pub(super) async fn save(&self) -> Result<()> {
        let shared = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || shared.save()).await.context("writing the cassette")?
    }

    /// Saves again and again. What could not be saved is reported and tried again.
    pub(super) async fn keep_saving(&self) -> std::convert::Infallible {
        let mut was_saved = true;
        let mut pause = SAVE;
        loop {
            tokio::time::sleep(pause).await;
            let begun = Instant::now();
            let saved = self.save().await;
            pause = SAVE.max(begun.elapsed() * SHARE);
            if let Err(error) = &saved
                && was_saved
            {
                let _ = writeln!(errors(), "{error:#}; it is tried again");
            }
            was_saved = saved.is_ok();
        }
    }

    /// Saves, and says what there is.
    pub(super) async fn finish(&self) -> Result<()> {
        self.save().await?;
        let (count, unread) = {
            let session = self.session();
            (session.recorder.len(), session.unread)
        };
        if unread > 0 {
            let _ = writeln!(errors(), "{} passed without being recorded", counted(unread, "message"));
        }
        let path = self.0.path.display();
        let _ = writeln!(errors(), "recorded {} into {path}", counted(count, "message"));
        Ok(())
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        lock(&self.0.session)
    }
}

impl Shared {
    /// Writes the file, if there is something new. A reader never sees half of it.
    fn save(&self) -> Result<()> {
        let mut file = lock(&self.file);
        let changes = lock(&self.session).recorder.changes();
        if !changes.is_empty() {
            file.is_saved = false;
            file.draft.update(changes);
        }
        if file.is_saved {
            return Ok(());
        }
        let by = concat!("mcp-tool-gateway ", env!("CARGO_PKG_VERSION"));
        let text = file.draft.cassette(by, self.transport).to_text()?;
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let new = self.path.with_file_name(name);
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            // Half a cassette is of no use.
            let _ = fs::remove_file(&new);
        }
        written.with_context(|| format!("writing the cassette {}", self.path.display()))?;
        file.is_saved = true;
        Ok(())
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of another task leaves a recorder that can still be saved.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(tape: &Tape, id: u32) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
        tape.messages(text.as_bytes(), |recorder, message| recorder.client(0, message));
    }

    fn entries(path: &Path) -> usize {
        gateway_cassette::Cassette::parse(&fs::read_to_string(path).unwrap()).unwrap().entries.len()
    }

    #[tokio::test]
    async fn what_could_not_be_saved_is_saved_later() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("gone");
        fs::create_dir(&folder).unwrap();
        let path = folder.join("x.json");
        let tape = Tape::create(&path, "stdio", &[], &[]).unwrap();
        note(&tape, 1);
        fs::remove_dir_all(&folder).unwrap();
        for _ in 0..2 {
            let error = format!("{:#}", tape.save().await.unwrap_err());
            assert!(error.starts_with(&format!("writing the cassette {}: ", path.display())), "{error}");
        }
        tape.finish().await.unwrap_err();
        fs::create_dir(&folder).unwrap();
        tape.finish().await.unwrap();
        assert_eq!(entries(&path), 1);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_slow_disk_holds_no_message_up() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.json");
        let tape = Tape::create(&path, "stdio", &[], &[]).unwrap();
        // A pipe takes nothing until somebody reads it.
        let new = home.path().join(format!("x.json.{}.new", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&new).status().unwrap().success());
        note(&tape, 1);
        let mut saving = std::pin::pin!(tape.save());
        // Begins to save.
        tokio::select! {
            biased;
            saved = &mut saving => saved.unwrap(),
            () = std::future::ready(()) => {}
        }
        while tape.0.file.try_lock().is_ok() {
            tokio::task::yield_now().await;
        }
        note(&tape, 2);
        let read = tokio::task::spawn_blocking(move || fs::read_to_string(new).unwrap());
        saving.await.unwrap();
        let first = gateway_cassette::Cassette::parse(&read.await.unwrap()).unwrap();
        // What came meanwhile may have been in time for it.
        assert!((1..=2).contains(&first.entries.len()));
        fs::remove_file(&path).unwrap();
        tape.save().await.unwrap();
        assert!(first.entries.len() == 2 || entries(&path) == 2);
    }
}
