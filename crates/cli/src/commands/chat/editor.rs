//! The line editor: a message that is typed, and how it is drawn.

use std::fmt::Write as _;

use gateway_protocol::printable;

use super::keys::Key;
use super::message::{continued, finished, is_complete};

/// A message that is typed.
#[derive(Debug, Default)]
pub(super) struct Editor {
    text: Vec<char>,
    /// How many characters stand before the cursor.
    cursor: usize,
    /// Where in the history we are; behind its end while a new message is typed.
    recalled: usize,
    /// The new message while an older one is shown.
    draft: Vec<char>,
    /// What is on the screen.
    drawn: Drawn,
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// The message is another one now, or the cursor is elsewhere.
    Changed,
    /// The message is complete.
    Done(String),
    /// Ctrl-C with nothing typed.
    Interrupted,
    /// Ctrl-D with nothing typed.
    Left,
    /// Ctrl-L.
    Cleared,
    /// Ctrl-Z.
    Suspended,
    Nothing,
}

/// Characters of a message.
const LONGEST: usize = 1 << 20;

impl Editor {
    /// For a conversation with this history.
    pub(super) fn new(history: &[String]) -> Self {
        Self { recalled: history.len(), ..Self::default() }
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: Key, history: &[String]) -> Edited {
        match key {
            Key::Char(letter) => self.insert([letter]),
            Key::Paste(text) => self.insert(text.chars()),
            Key::Newline => self.insert(['\n']),
            Key::Enter => return self.enter(),
            Key::Interrupt if self.text.is_empty() => return Edited::Interrupted,
            Key::Interrupt => self.set(Vec::new()),
            Key::Leave if self.text.is_empty() => return Edited::Left,
            Key::Leave | Key::Delete => self.cut(self.cursor, self.cursor + 1),
            Key::Backspace => self.cut(self.cursor.saturating_sub(1), self.cursor),
            Key::CutBefore => self.cut(self.line_start(), self.cursor),
            Key::CutBehind => self.cut(self.cursor, self.line_end()),
            Key::CutWord => self.cut(self.word_left(), self.cursor),
            Key::Left => self.cursor = self.cursor.saturating_sub(1),
            Key::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::Up => self.recall(self.recalled.checked_sub(1), history),
            Key::Down => self.recall(Some(self.recalled + 1), history),
            Key::Clear => return Edited::Cleared,
            Key::Suspend => return Edited::Suspended,
            Key::Escape => return Edited::Nothing,
        }
        Edited::Changed
    }

    fn enter(&mut self) -> Edited {
        let text: String = self.text.iter().collect();
        if is_complete(&text) {
            return match finished(&text) {
                Some(message) => Edited::Done(message),
                None => Edited::Nothing,
            };
        }
        self.set(continued(&text).chars().collect());
        Edited::Changed
    }

    fn insert(&mut self, letters: impl IntoIterator<Item = char>) {
        let room = LONGEST.saturating_sub(self.text.len());
        let letters: Vec<char> = letters.into_iter().take(room).collect();
        let count = letters.len();
        self.text.splice(self.cursor..self.cursor, letters);
        self.cursor += count;
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.drain(from..to.min(self.text.len()));
        self.cursor = from;
    }

    fn set(&mut self, text: Vec<char>) {
        self.cursor = text.len();
        self.text = text;
    }

    fn recall(&mut self, index: Option<usize>, history: &[String]) {
        let Some(index) = index.filter(|index| *index <= history.len()) else { return };
        if self.recalled == history.len() {
            self.draft.clone_from(&self.text);
        }
        self.recalled = index;
        let text = history.get(index).map_or_else(|| self.draft.clone(), |text| text.chars().collect());
        self.set(text);
    }

    fn line_start(&self) -> usize {
        let before = self.text.iter().take(self.cursor);
        before.collect::<Vec<_>>().iter().rposition(|letter| **letter == '\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let behind = self.text.iter().skip(self.cursor).position(|letter| *letter == '\n');
        behind.map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_left(&self) -> usize {
        let mut at = self.cursor;
        let is_word = |at: usize| self.text.get(at).is_some_and(|letter| letter.is_alphanumeric());
        while at > 0 && !is_word(at - 1) {
            at -= 1;
        }
        while at > 0 && is_word(at - 1) {
            at -= 1;
        }
        at
    }

    fn word_right(&self) -> usize {
        let mut at = self.cursor;
        let is_word = |at: usize| self.text.get(at).is_some_and(|letter| letter.is_alphanumeric());
        while at < self.text.len() && !is_word(at) {
            at += 1;
        }
        while is_word(at) {
            at += 1;
        }
        at
    }

    /// What to write so that the screen shows the message, on a terminal of this size.
    pub(super) fn draw(&mut self, prompts: &Prompts, (columns, rows): (usize, usize)) -> String {
        let mut out = self.drawn.clear(columns);
        let (lines, cursor) = self.lay_out(columns);
        // What does not fit cannot be reached by moving the cursor up, so only the part around the cursor is shown.
        let most = rows.saturating_sub(1).max(1);
        let first = (cursor.0 + 1).saturating_sub(most);
        let shown = lines.iter().enumerate().skip(first).take(most);
        let mut widths = Vec::new();
        for (index, line) in shown {
            if !widths.is_empty() {
                out.push('\n');
            }
            out.push_str(if index == 0 { &prompts.first } else { &prompts.further });
            out.push_str(&line.text);
            widths.push(PROMPT + line.width);
        }
        let row = cursor.0 - first;
        let up = widths.len() - 1 - row;
        // Writing to a `String` cannot fail.
        if up > 0 {
            let _ = write!(out, "\u{1b}[{up}A");
        }
        let _ = write!(out, "\r\u{1b}[{}C", PROMPT + cursor.1);
        self.drawn = Drawn { widths, row, column: PROMPT + cursor.1 };
        out
    }

    /// What to write to leave the message behind.
    pub(super) fn leave(&mut self) -> String {
        let down = self.drawn.widths.len().saturating_sub(1 + self.drawn.row);
        self.drawn = Drawn::default();
        if down > 0 { format!("\u{1b}[{down}B\r\n") } else { "\r\n".to_owned() }
    }

    /// Forgets what is on the screen: something else is there now.
    pub(super) fn forget_drawn(&mut self) {
        self.drawn = Drawn::default();
    }

    /// The lines of the screen, and the line and column of the cursor.
    fn lay_out(&self, columns: usize) -> (Vec<Line>, (usize, usize)) {
        // The last column stays free: terminals disagree about where the cursor is behind it.
        let room = columns.saturating_sub(PROMPT + 1).max(4);
        let mut lines = vec![Line::default()];
        let mut cursor = (0, 0);
        for (index, letter) in self.text.iter().enumerate() {
            let (text, width) = shown(*letter);
            if *letter != '\n' && lines.last().is_some_and(|line| line.width + width > room) {
                lines.push(Line::default());
            }
            let last = lines.len() - 1;
            if index == self.cursor {
                cursor = (last, lines.last().map_or(0, |line| line.width));
            }
            if *letter == '\n' {
                lines.push(Line::default());
            } else if let Some(line) = lines.last_mut() {
                line.text.push_str(&text);
                line.width += width;
            }
        }
        if self.cursor >= self.text.len() {
            cursor = (lines.len() - 1, lines.last().map_or(0, |line| line.width));
        }
        (lines, cursor)
    }
}

/// Columns in front of each line.
const PROMPT: usize = 2;

/// What stands in front of the first line and of all others, two columns each.
#[derive(Clone, Debug)]
pub(super) struct Prompts {
    pub(super) first: String,
    pub(super) further: String,
}

#[derive(Debug, Default)]
struct Line {
    text: String,
    width: usize,
}

/// What of a message is on the screen.
#[derive(Debug, Default)]
struct Drawn {
    /// The columns of each line.
    widths: Vec<usize>,
    /// The line and column of the cursor.
    row: usize,
    column: usize,
}

impl Drawn {
    /// What to write to clear it. A terminal that became narrower has wrapped lines.
    fn clear(&self, columns: usize) -> String {
        let rows = |width: usize| width.saturating_sub(1) / columns.max(1);
        let above: usize = self.widths.iter().take(self.row).map(|width| 1 + rows(*width)).sum();
        let up = above + self.column / columns.max(1);
        let up = if up > 0 { format!("\u{1b}[{up}A") } else { String::new() };
        format!("{up}\r\u{1b}[J")
    }
}

/// A character as it is drawn, and its columns.
fn shown(letter: char) -> (String, usize) {
    let mut buffer = [0; 4];
    let text: &str = letter.encode_utf8(&mut buffer);
    match letter {
        '\n' => (String::new(), 0),
        '\t' => ("    ".to_owned(), 4),
        // Invisible characters are seen, so that nobody sends what somebody has hidden in a clipboard.
        _ if printable(text) != text => ("\u{fffd}".to_owned(), 1),
        _ => (text.to_owned(), columns_of(letter)),
    }
}

/// Columns of a character, after the ranges of Unicode that are wide or have no width.
pub(super) fn columns_of(letter: char) -> usize {
    match u32::from(letter) {
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0x33ff
        | 0x3400..=0x4dbf
        | 0x4e00..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message after these keys, with `|` at the cursor.
    #[track_caller]
    fn check(keys: &[Key], expected: &str) {
        let mut editor = Editor::default();
        for key in keys {
            editor.press(key.clone(), &[]);
        }
        let mut text = editor.text.clone();
        text.insert(editor.cursor, '|');
        assert_eq!(text.iter().collect::<String>(), expected, "{keys:?}");
    }

    fn typed(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    fn with(text: &str, keys: &[Key]) -> Vec<Key> {
        [typed(text), keys.to_vec()].concat()
    }

    #[test]
    fn keys_edit_the_message() {
        check(&with("abc", &[Key::Left, Key::Char('x')]), "abx|c");
        check(&with("abc", &[Key::Home, Key::Delete, Key::End]), "bc|");
        check(&with("abc", &[Key::Backspace, Key::Left, Key::Left, Key::Left]), "|ab");
        check(&with("one two", &[Key::CutWord]), "one |");
        check(&with("one two", &[Key::WordLeft, Key::WordLeft, Key::WordRight]), "one| two");
        check(&with("one two", &[Key::WordLeft, Key::CutBehind, Key::Home, Key::Delete]), "|ne ");
        check(&with("a", &[Key::Newline, Key::Char('b'), Key::Home, Key::CutBefore]), "a\n|b");
        check(&with("abc", &[Key::Interrupt]), "|");
        check(&[Key::Paste("one\ntwo".to_owned())], "one\ntwo|");
        check(&with("one\\", &[Key::Enter, Key::Char('x')]), "one\nx|");
    }

    #[test]
    fn enter_ends_a_message_that_says_something() {
        let press = |keys: &[Key]| {
            let mut editor = Editor::default();
            let mut edited = Edited::Nothing;
            for key in keys {
                edited = editor.press(key.clone(), &[]);
            }
            edited
        };
        assert_eq!(press(&with("hi", &[Key::Enter])), Edited::Done("hi".to_owned()));
        assert_eq!(press(&with(" ", &[Key::Enter])), Edited::Nothing);
        assert_eq!(press(&[Key::Interrupt]), Edited::Interrupted);
        assert_eq!(press(&[Key::Leave]), Edited::Left);
        assert_eq!(press(&with("x", &[Key::Leave])), Edited::Changed);
        assert_eq!(press(&with("\"\"\"a", &[Key::Enter])), Edited::Changed);
    }

    #[test]
    fn older_messages_come_back_and_the_draft_too() {
        let history = ["one".to_owned(), "two".to_owned()];
        let mut editor = Editor::new(&history);
        let mut after = |key: Key| {
            editor.press(key, &history);
            editor.text.iter().collect::<String>()
        };
        assert_eq!(after(Key::Char('x')), "x");
        assert_eq!(after(Key::Up), "two");
        assert_eq!(after(Key::Up), "one");
        assert_eq!(after(Key::Up), "one");
        assert_eq!(after(Key::Down), "two");
        assert_eq!(after(Key::Down), "x");
        assert_eq!(after(Key::Down), "x");
    }

    #[test]
    fn a_message_is_drawn_in_lines_that_fit() {
        let prompts = Prompts { first: "> ".to_owned(), further: ". ".to_owned() };
        let mut editor = Editor::default();
        editor.press(Key::Paste("abcdefgh\n漢字漢字".to_owned()), &[]);
        assert_eq!(editor.draw(&prompts, (10, 20)), "\r\u{1b}[J> abcdefg\n. h\n. 漢字漢\n. 字\r\u{1b}[4C");
        // The same again clears what was there; in half of the columns it is twice as many lines.
        assert!(editor.draw(&prompts, (10, 20)).starts_with("\u{1b}[3A\r\u{1b}[J"));
        assert!(editor.draw(&prompts, (5, 20)).starts_with("\u{1b}[5A\r\u{1b}[J"));
        assert_eq!(editor.leave(), "\r\n");
    }

    #[test]
    fn a_message_that_is_taller_than_the_screen_shows_the_part_at_the_cursor() {
        let prompts = Prompts { first: "> ".to_owned(), further: ". ".to_owned() };
        let mut editor = Editor::default();
        editor.press(Key::Paste("1\n2\n3\n4".to_owned()), &[]);
        assert_eq!(editor.draw(&prompts, (10, 3)), "\r\u{1b}[J. 3\n. 4\r\u{1b}[3C");
    }
}
