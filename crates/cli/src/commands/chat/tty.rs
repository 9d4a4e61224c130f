//! The terminal that somebody sits at: single keys instead of lines, and its size.

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Read as _, Write as _, stderr, stdin};

use anyhow::{Context as _, Result};
use rustix::process::{Signal as Kill, getpid, kill_process};
use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::editor::{Edited, Editor, Prompts};
use super::keys::{Key, KeyReader};
use super::question::Manner;
use crate::output::{Paint, Tone};
use crate::terminal::errors;

/// The columns and rows of a terminal that does not say how many it has.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Pieces of input that wait to be read.
const WAITING: usize = 64;

/// Messages that can be called back.
const REMEMBERED: usize = 1_000;

/// Keys that wait for the next prompt.
const AHEAD: usize = 1 << 16;

/// Whether somebody sits at a terminal that can show a prompt and be asked.
pub(super) fn is_there() -> bool {
    stdin().is_terminal() && stderr().is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|value| value == "dumb" || value.is_empty())
}

/// The columns and rows of standard error.
pub(super) fn size() -> (usize, usize) {
    match tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        Ok(_) | Err(_) => USUAL_SIZE,
    }
}

/// Reads standard input on a thread of its own, which nobody waits for: it may be in the middle of a read when the program ends.
pub(super) fn read_input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 14];
        loop {
            match stdin().read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    let piece = buffer.get(..count).unwrap_or_default().to_vec();
                    if sender.blocking_send(piece).is_err() {
                        return;
                    }
                }
            }
        }
    });
    receiver
}

/// Somebody at a terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    mode: KeyMode,
    bytes: mpsc::Receiver<Vec<u8>>,
    reader: KeyReader,
    /// Keys that were pressed before anybody asked for them.
    ahead: VecDeque<Key>,
    history: Vec<String>,
    resized: Signal,
    prompts: Prompts,
}

/// What somebody did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Message(String),
    /// Ctrl-C with nothing typed.
    Interrupted,
    /// Ctrl-D with nothing typed.
    Left,
}

impl Terminal {
    pub(super) fn open(paint: Paint) -> Result<Self> {
        let prompts = Prompts {
            first: paint_code(paint, Tone::Good, "> "),
            further: paint_code(paint, Tone::Faint, "… "),
        };
        Ok(Self {
            mode: KeyMode::enter().context("reading single keys of the terminal")?,
            bytes: read_input(),
            reader: KeyReader::default(),
            ahead: VecDeque::new(),
            history: Vec::new(),
            resized: signal(SignalKind::window_change()).context("listening for signals")?,
            prompts,
        })
    }

    /// Shows the prompt and reads a message.
    pub(super) async fn read_message(&mut self) -> Result<Typed> {
        let mut editor = Editor::new(&self.history);
        write(&editor.draw(&self.prompts, size()));
        let typed = loop {
            let key = tokio::select! {
                key = next_key(&mut self.ahead, &mut self.bytes, &mut self.reader) => key,
                _ = self.resized.recv() => {
                    write(&editor.draw(&self.prompts, size()));
                    continue;
                }
            };
            let Some(key) = key else { break Typed::Left };
            match editor.press(key, &self.history) {
                // What was pasted or typed ahead is drawn once.
                Edited::Changed if self.ahead.is_empty() => write(&editor.draw(&self.prompts, size())),
                Edited::Changed | Edited::Nothing => {}
                Edited::Cleared => {
                    editor.forget_drawn();
                    write("\u{1b}[2J\u{1b}[H");
                    write(&editor.draw(&self.prompts, size()));
                }
                Edited::Suspended => {
                    write(&editor.leave());
                    self.mode.suspend()?;
                    write(&editor.draw(&self.prompts, size()));
                }
                Edited::Done(message) => {
                    write(&editor.draw(&self.prompts, size()));
                    break Typed::Message(message);
                }
                Edited::Interrupted => break Typed::Interrupted,
                Edited::Left => break Typed::Left,
            }
        };
        write(&editor.leave());
        if let Typed::Message(message) = &typed {
            self.remember(message);
        }
        Ok(typed)
    }

    fn remember(&mut self, message: &str) {
        if self.history.last().is_none_or(|last| last != message) {
            if self.history.len() >= REMEMBERED {
                self.history.remove(0);
            }
            self.history.push(message.to_owned());
        }
    }

    /// Waits for Ctrl-C. All other keys wait for the next prompt.
    pub(super) async fn interrupted(&mut self) {
        loop {
            if self.ahead.contains(&Key::Interrupt) {
                self.ahead.clear();
                return;
            }
            match self.bytes.recv().await {
                Some(bytes) => {
                    let keys = self.reader.read(&bytes);
                    self.set_aside(keys);
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Sets aside what was typed before a question: it is no answer to it. How it is to be answered then.
    pub(super) fn begin_question(&mut self) -> Manner {
        while let Ok(bytes) = self.bytes.try_recv() {
            let keys = self.reader.read(&bytes);
            self.set_aside(keys);
        }
        let is_text = |key: &Key| matches!(key, Key::Char(_) | Key::Paste(_));
        if self.ahead.iter().any(is_text) { Manner::Line } else { Manner::OneKey }
    }

    /// Keeps keys for the next prompt.
    pub(super) fn set_aside(&mut self, keys: Vec<Key>) {
        self.ahead.extend(keys);
        self.ahead.truncate(AHEAD);
    }

    /// The next keys that are pressed; `None` if the terminal is gone.
    pub(super) async fn fresh_keys(&mut self) -> Option<Vec<Key>> {
        let bytes = self.bytes.recv().await?;
        Some(self.reader.read(&bytes))
    }
}

/// The next key; `None` if the terminal is gone.
async fn next_key(
    ahead: &mut VecDeque<Key>,
    bytes: &mut mpsc::Receiver<Vec<u8>>,
    reader: &mut KeyReader,
) -> Option<Key> {
    loop {
        if let Some(key) = ahead.pop_front() {
            return Some(key);
        }
        ahead.extend(reader.read(&bytes.recv().await?));
    }
}

/// Our own text in a colour, for [`write`], which escapes nothing.
fn paint_code(paint: Paint, tone: Tone, text: &str) -> String {
    match paint {
        Paint::Plain => text.to_owned(),
        Paint::Colour => format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()),
    }
}

/// Writes what the editor draws. It has escaped what somebody typed.
fn write(text: &str) {
    let mut stderr = stderr().lock();
    // A closed standard error is fine.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// The terminal gives single keys, does not show them, and marks what is pasted. Ends when it is dropped.
#[derive(Debug)]
struct KeyMode {
    before: Termios,
}

/// Pasted text is marked from now on, and no longer.
const MARK_PASTES: &str = "\u{1b}[?2004h";
const PLAIN_PASTES: &str = "\u{1b}[?2004l";

impl KeyMode {
    fn enter() -> rustix::io::Result<Self> {
        let mode = Self { before: tcgetattr(stdin())? };
        mode.apply()?;
        Ok(mode)
    }

    fn apply(&self) -> rustix::io::Result<()> {
        let mut keys = self.before.clone();
        // Output is processed as before: a line feed begins a new line at its start.
        keys.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        keys.input_modes.remove(InputModes::ICRNL | InputModes::IXON);
        tcsetattr(stdin(), OptionalActions::Drain, &keys)?;
        write(MARK_PASTES);
        Ok(())
    }

    fn leave(&self) {
        write(PLAIN_PASTES);
        if let Err(error) = tcsetattr(stdin(), OptionalActions::Drain, &self.before) {
            let _ = writeln!(
                errors(),
                "warning: the terminal could not be restored ({error}); `stty sane` does it"
            );
        }
    }

    /// Lets the shell have the terminal until it continues us.
    fn suspend(&self) -> Result<()> {
        self.leave();
        kill_process(getpid(), Kill::TSTP).context("stopping at Ctrl-Z")?;
        self.apply().context("reading single keys of the terminal")
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        self.leave();
    }
}
