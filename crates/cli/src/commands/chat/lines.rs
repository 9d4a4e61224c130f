//! Messages through a pipe: each line is one, unless it goes on in the next.

use anyhow::{Result, bail};
use tokio::sync::mpsc;

use super::message::{continued, finished, is_complete};
use super::tty::read_input;

/// Bytes of one message.
const LONGEST: usize = 16 << 20;

/// The messages on standard input.
#[derive(Debug)]
pub(super) struct Lines {
    bytes: mpsc::Receiver<Vec<u8>>,
    /// What was read and not used yet.
    pending: Vec<u8>,
    has_ended: bool,
}

impl Lines {
    pub(super) fn open() -> Self {
        Self::of(read_input())
    }

    fn of(bytes: mpsc::Receiver<Vec<u8>>) -> Self {
        Self { bytes, pending: Vec::new(), has_ended: false }
    }

    /// The next message; `None` at the end.
    pub(super) async fn next_message(&mut self) -> Result<Option<String>> {
        let mut text = String::new();
        loop {
            let Some(line) = self.next_line().await? else { return Ok(finished(&text)) };
            text.push_str(&line);
            if text.len() > LONGEST {
                bail!("a message on standard input is longer than {LONGEST} bytes");
            }
            if !is_complete(&text) {
                text = continued(&text);
            } else if let Some(message) = finished(&text) {
                return Ok(Some(message));
            } else {
                text.clear();
            }
        }
    }

    /// All of standard input as one message.
    pub(super) async fn whole(&mut self) -> Result<Option<String>> {
        let mut text = String::new();
        while let Some(line) = self.next_line().await? {
            text.push_str(&line);
            text.push('\n');
            if text.len() > LONGEST {
                bail!("the message on standard input is longer than {LONGEST} bytes");
            }
        }
        let text = text.trim();
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    async fn next_line(&mut self) -> Result<Option<String>> {
        let mut searched = 0;
        loop {
            let end = self.pending.iter().skip(searched).position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let rest = self.pending.split_off(searched + end + 1);
                let line = std::mem::replace(&mut self.pending, rest);
                return Ok(Some(text_of(&line)));
            }
            searched = self.pending.len();
            if searched > LONGEST {
                bail!("a line on standard input is longer than {LONGEST} bytes");
            }
            let piece = if self.has_ended { None } else { self.bytes.recv().await };
            let Some(piece) = piece else {
                self.has_ended = true;
                let line = std::mem::take(&mut self.pending);
                return Ok((!line.is_empty()).then(|| text_of(&line)));
            };
            self.pending.extend_from_slice(&piece);
        }
    }
}

fn text_of(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end_matches(['\n', '\r']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In pieces of every length.
    async fn check(input: &str, messages: &[&str]) {
        for length in 1..=input.len() {
            let (sender, receiver) = mpsc::channel(input.len());
            for piece in input.as_bytes().chunks(length) {
                sender.send(piece.to_vec()).await.unwrap();
            }
            drop(sender);
            let mut lines = Lines::of(receiver);
            let mut read = Vec::new();
            while let Some(message) = lines.next_message().await.unwrap() {
                read.push(message);
            }
            assert_eq!(read, messages, "{input:?} in pieces of {length}");
        }
    }

    #[tokio::test]
    async fn each_line_is_a_message_unless_it_goes_on() {
        check("one\ntwo\n", &["one", "two"]).await;
        check("one\r\n\n  \ntwo", &["one", "two"]).await;
        check("one\\\ntwo\nthree", &["one\ntwo", "three"]).await;
        check("\"\"\"\none\n\ntwo\n\"\"\"\nthree", &["one\n\ntwo", "three"]).await;
        check("\"\"\"\nnever closed\n", &["never closed"]).await;
        check("größe\n", &["größe"]).await;
    }

    #[tokio::test]
    async fn the_whole_input_can_be_one_message() {
        let (sender, receiver) = mpsc::channel(4);
        for piece in ["one\n/re", "set\n\n", "two\n"] {
            sender.send(piece.as_bytes().to_vec()).await.unwrap();
        }
        drop(sender);
        assert_eq!(Lines::of(receiver).whole().await.unwrap(), Some("one\n/reset\n\ntwo".to_owned()));
    }
}
