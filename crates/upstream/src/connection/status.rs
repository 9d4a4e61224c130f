//! What is known about a connection from outside its task: whether it lives, its last words, its noise.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gateway_process::Secrets;
use tokio::sync::watch;

use crate::last_words::with_last_words;

/// How much of one line of noise is kept.
const NOISE_BYTES: usize = 400;

/// Shared by a connection's handle and its tasks.
#[derive(Debug)]
pub(super) struct Status {
    ended: watch::Sender<Option<Arc<str>>>,
    stderr: Mutex<Ring>,
    /// Whether the standard error is read to its end.
    stderr_over: watch::Sender<bool>,
    noise: AtomicU64,
    pub(super) process: Option<u32>,
    secrets: Secrets,
}

impl Status {
    pub(super) fn new(stderr_bytes: usize, process: Option<u32>) -> Self {
        Self {
            ended: watch::Sender::new(None),
            stderr: Mutex::new(Ring { bytes: VecDeque::new(), limit: stderr_bytes, cut: false }),
            stderr_over: watch::Sender::new(process.is_none()),
            noise: AtomicU64::new(0),
            process,
            secrets: Secrets::default(),
        }
    }

    /// Keeps these values out of what is reported of the server's output.
    pub(super) fn hiding<'a>(mut self, values: impl Iterator<Item = &'a str>) -> Self {
        self.secrets = Secrets::of(values);
        self
    }

    /// Why it ended, if it has.
    pub(super) fn reason(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Ends it. The first reason stays.
    pub(super) fn end(&self, reason: &str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            if first {
                *ended = Some(reason.into());
            }
            first
        });
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) -> Arc<str> {
        let mut changes = self.ended.subscribe();
        let reason = changes.wait_for(Option::is_some).await;
        // The sender lives in `self`, so the wait cannot end otherwise.
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_else(|| "the connection is gone".into())
    }

    pub(super) fn push_stderr(&self, bytes: &[u8]) {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }

    pub(super) fn end_stderr(&self) {
        self.stderr_over.send_replace(true);
    }

    /// Waits until the standard error has ended.
    pub(super) async fn stderr_over(&self) {
        let _ = self.stderr_over.subscribe().wait_for(|over| *over).await;
    }

    /// Something on the standard output that is no message. Servers print all kinds of things there.
    pub(super) fn note_noise(&self, text: &[u8]) {
        self.noise.fetch_add(1, Ordering::Relaxed);
        // Before it is cut, because half a secret is not found any more.
        let text = self.secrets.hide_bytes(text);
        let text = text.get(..NOISE_BYTES).unwrap_or(&text);
        let mut line = b"[stdout] ".to_vec();
        line.extend_from_slice(text);
        line.push(b'\n');
        self.push_stderr(&line);
    }

    pub(super) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    /// The last lines of the standard error.
    pub(super) fn stderr(&self) -> String {
        let (text, cut) = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).text();
        self.secrets.hide(text, cut)
    }

    /// `what`, with the last words of the server.
    pub(super) fn with_last_words(&self, what: &str) -> String {
        with_last_words(what, &self.stderr())
    }
}

/// The last bytes of a stream.
#[derive(Debug)]
struct Ring {
    bytes: VecDeque<u8>,
    limit: usize,
    /// Whether something was thrown away.
    cut: bool,
}

impl Ring {
    fn push(&mut self, bytes: &[u8]) {
        let kept = bytes.get(bytes.len().saturating_sub(self.limit)..).unwrap_or_default();
        let excess = (self.bytes.len() + kept.len()).saturating_sub(self.limit);
        self.cut |= excess > 0 || kept.len() < bytes.len();
        self.bytes.drain(..excess.min(self.bytes.len()));
        self.bytes.extend(kept);
    }

    /// Whole lines where something was thrown away; what is no UTF-8 is replaced. Also gives whether the first line lacks
    /// its beginning nevertheless.
    fn text(&self) -> (String, bool) {
        let (front, back) = self.bytes.as_slices();
        let bytes = [front, back].concat();
        let start = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) if self.cut && end + 1 < bytes.len() => end + 1,
            _ => 0,
        };
        let text = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned();
        (text, self.cut && start == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_last_whole_lines() {
        let status = Status::new(12, None);
        status.push_stderr(b"first\nsecond\n");
        assert_eq!(status.stderr(), "second\n");
        status.push_stderr(&[b'x'; 40]);
        assert_eq!(status.stderr(), "x".repeat(12));
    }

    #[test]
    fn what_is_no_utf8_is_replaced() {
        let status = Status::new(100, None);
        status.push_stderr(b"a\xffb\n");
        assert_eq!(status.stderr(), "a\u{fffd}b\n");
    }

    #[test]
    fn secrets_are_hidden() {
        let values = ["s3cr3t-token", "s3cr3t", "short", "first line\nsecond line"];
        let hiding = |bytes| Status::new(bytes, None).hiding(values.into_iter());
        let status = hiding(10_000);
        // In two pieces, as it may come.
        status.push_stderr(b"bad s3cr3t-");
        status.push_stderr(b"token, s3cr3t, short\nsecond line\n");
        assert_eq!(status.stderr(), "bad ***, ***, short\n***\n");
        assert_eq!(status.with_last_words("gone"), "gone; its last words: bad ***, ***, short\n***");
        assert!(!format!("{:?}", status.secrets).contains("s3cr3t"));
        let status = hiding(10_000);
        status.note_noise(format!("{}s3cr3t-token", "x".repeat(NOISE_BYTES - 6)).as_bytes());
        assert_eq!(status.stderr(), format!("[stdout] {}***\n", "x".repeat(NOISE_BYTES - 6)));
        let status = hiding(8);
        status.push_stderr(b"s3cr3t-token ok");
        assert_eq!(status.stderr(), "*** ok", "the rest of one is hidden too");
    }

    #[test]
    fn the_first_reason_stays() {
        let status = Status::new(0, None);
        status.end("one");
        status.end("two");
        assert_eq!(status.reason().as_deref(), Some("one"));
    }
}
