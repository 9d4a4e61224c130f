//! What is shown: answers on standard output, everything else on standard error.

use std::io::{BufWriter, IsTerminal as _, Stdout, Write as _, stderr, stdout};
use std::time::{Duration, Instant};

use anyhow::Result;
use gateway_agent::CallReport;
use gateway_protocol::printable;

use super::editor::columns_of;
use super::tty;
use crate::output::{Paint, Tone};
use crate::terminal::{Escaping, Form, errors, output};

/// Characters of a call or a result that a file or a pipe is shown.
const SHOWN: usize = 400;

/// Shorter waits show nothing.
const DELAY: Duration = Duration::from_millis(400);

/// How often the sign of life is drawn.
pub(super) const FRAME: Duration = Duration::from_millis(100);

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Where a conversation is shown.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) paint: Paint,
    answers: BufWriter<Escaping<Stdout>>,
    /// Whether answers go to a terminal. A program gets the original text, and nothing else.
    answers_to_terminal: bool,
    /// Whether all else goes to a terminal.
    notices_to_terminal: bool,
    /// What has not ended with its line.
    open: Open,
    /// Whether the answer has begun.
    has_answer: bool,
    /// Whether text of the answer was written since the last call or thought.
    has_text: bool,
    /// Whether the last line is of a call.
    is_behind_call: bool,
    /// What is waited for, and since when.
    waiting: Option<(String, Instant)>,
    is_spinning: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Answer,
    Thought,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            paint: Paint::for_stderr(),
            answers: output(Form::Text),
            answers_to_terminal: stdout().is_terminal(),
            notices_to_terminal: stderr().is_terminal(),
            open: Open::Nothing,
            has_answer: false,
            has_text: false,
            is_behind_call: false,
            waiting: None,
            is_spinning: false,
        }
    }

    /// More of the answer.
    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        self.clear_spinner();
        self.waiting = None;
        if !self.answers_to_terminal {
            stdout().lock().write_all(text.as_bytes())?;
            stdout().lock().flush()?;
            self.has_answer = true;
            return Ok(());
        }
        // Where calls and thoughts stand between two texts, there are line ends already.
        let text = if self.has_text { text } else { text.trim_start_matches('\n') };
        if text.is_empty() {
            return Ok(());
        }
        if self.open == Open::Thought {
            self.notice_line("\n");
        } else if std::mem::take(&mut self.is_behind_call) {
            self.notice_line("");
        }
        self.answers.write_all(text.as_bytes())?;
        self.answers.flush()?;
        self.open = if text.ends_with('\n') { Open::Nothing } else { Open::Answer };
        self.has_answer = true;
        self.has_text = true;
        Ok(())
    }

    /// More of the model's thoughts, for people only.
    pub(super) fn thought(&mut self, text: &str) -> Result<()> {
        if !self.notices_to_terminal {
            return Ok(());
        }
        self.clear_spinner();
        self.waiting = None;
        if self.open == Open::Answer {
            self.end_line()?;
        }
        let text = if self.open == Open::Nothing { text.trim_start() } else { text };
        if text.is_empty() {
            return Ok(());
        }
        let painted = self.paint.tone(Tone::Faint, text);
        let mut stderr = errors();
        let _ = stderr.write_all(painted.as_bytes()).and_then(|()| stderr.flush());
        self.open = Open::Thought;
        self.has_text = false;
        Ok(())
    }

    /// A call is about to run.
    pub(super) fn call_begins(&mut self, name: &str, arguments: &str) -> Result<()> {
        self.end_line()?;
        let arguments = self.cut(&printable(arguments), name.chars().count() + 4);
        let line = format!("→ {} {}", self.paint.tone(Tone::Heading, &printable(name)), arguments);
        self.notice_line(&line);
        self.wait_for(&format!("running {name}"));
        self.has_text = false;
        Ok(())
    }

    /// A call is over.
    pub(super) fn call_ends(&mut self, report: &CallReport) -> Result<()> {
        self.end_line()?;
        let (mark, tone) = if report.code.is_none() { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        let mut facts = Vec::new();
        facts.extend(report.server.clone());
        facts.push(duration(report.duration));
        facts.extend(report.code.map(str::to_owned));
        let facts = facts.join(", ");
        let result = printable(report.result.trim()).into_owned();
        let result = self.cut(&result, report.name.chars().count() + facts.chars().count() + 7);
        let line = format!(
            "{} {} {}",
            self.paint.tone(tone, mark),
            self.paint.tone(Tone::Heading, &printable(&report.name)),
            self.paint.tone(Tone::Faint, &printable(&format!("({facts}) {result}"))),
        );
        self.notice_line(&line);
        self.is_behind_call = true;
        self.has_text = false;
        Ok(())
    }

    /// Something that people should know, in lines of its own.
    pub(super) fn notice(&mut self, tone: Tone, text: &str) -> Result<()> {
        self.end_line()?;
        for line in text.lines() {
            let line = self.paint.tone(tone, line);
            self.notice_line(&line);
        }
        Ok(())
    }

    /// Asks something that is answered on the same line.
    pub(super) fn ask(&mut self, question: &str) -> Result<()> {
        self.end_line()?;
        self.waiting = None;
        let painted = self.paint.tone(Tone::Caution, question);
        let mut stderr = errors();
        let _ = stderr.write_all(painted.as_bytes()).and_then(|()| stderr.flush());
        Ok(())
    }

    /// The answer to it.
    pub(super) fn answered(&mut self, answer: &str) {
        self.notice_line(&format!(" {answer}"));
    }

    /// Says what is waited for, once it takes a while.
    pub(super) fn wait_for(&mut self, what: &str) {
        self.waiting = Some((what.to_owned(), Instant::now()));
    }

    /// A sign of life, while nothing else is written.
    pub(super) fn tick(&mut self) {
        let Some((what, since)) = &self.waiting else { return };
        let waited = since.elapsed();
        if !self.notices_to_terminal || self.open != Open::Nothing || waited < DELAY {
            return;
        }
        let frame = usize::try_from(waited.as_millis() / FRAME.as_millis()).unwrap_or_default();
        let frame = FRAMES.get(frame % FRAMES.len()).copied().unwrap_or_default();
        let line = format!("{frame} {} ({} s)", printable(what), waited.as_secs());
        let line: String = line.chars().take(tty::size().0.saturating_sub(1)).collect();
        let mut stderr = stderr().lock();
        let _ = write!(stderr, "\r\u{1b}[K{line}").and_then(|()| stderr.flush());
        self.is_spinning = true;
    }

    /// Ends the answer's line, before something is said about it.
    pub(super) fn end_answer(&mut self) -> Result<()> {
        self.end_line()?;
        if !self.answers_to_terminal && std::mem::take(&mut self.has_answer) {
            stdout().lock().write_all(b"\n")?;
            stdout().lock().flush()?;
        }
        Ok(())
    }

    /// Ends a turn: the answer has its line end, and on a terminal an empty line behind it.
    pub(super) fn end_turn(&mut self) -> Result<()> {
        self.end_answer()?;
        self.waiting = None;
        self.has_answer = false;
        self.has_text = false;
        self.is_behind_call = false;
        if self.notices_to_terminal {
            self.notice_line("");
        }
        Ok(())
    }

    /// Ends the line of whoever has not ended it.
    fn end_line(&mut self) -> Result<()> {
        self.clear_spinner();
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Answer => {
                self.answers.write_all(b"\n")?;
                self.answers.flush()?;
            }
            Open::Thought => self.notice_line(""),
        }
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "only who holds the screen writes to it")]
    fn notice_line(&mut self, line: &str) {
        // A closed standard error is fine.
        let _ = writeln!(errors(), "{line}");
    }

    fn clear_spinner(&mut self) {
        if std::mem::take(&mut self.is_spinning) {
            let mut stderr = stderr().lock();
            let _ = write!(stderr, "\r\u{1b}[K").and_then(|()| stderr.flush());
        }
    }

    /// As much of a text as has room on a line beside `used` columns.
    fn cut(&self, text: &str, used: usize) -> String {
        let room =
            if self.notices_to_terminal { tty::size().0.saturating_sub(used + 1).max(20) } else { SHOWN };
        let mut width = 0;
        let mut cut = String::new();
        for letter in text.chars() {
            width += columns_of(letter);
            if width > room.saturating_sub(1) {
                cut.push('…');
                break;
            }
            cut.push(letter);
        }
        cut
    }
}

/// A time, as short as people read it.
fn duration(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
