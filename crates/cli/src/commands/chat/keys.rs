//! Keys, out of the bytes that a terminal sends.

/// What was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A character.
    Char(char),
    /// Several at once, from the clipboard.
    Paste(String),
    Enter,
    /// Enter with Alt: a line end in the message.
    Newline,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    Home,
    End,
    /// Ctrl-U: what stands before the cursor goes.
    CutBefore,
    /// Ctrl-K: what stands behind the cursor goes.
    CutBehind,
    /// Ctrl-W: the word before the cursor goes.
    CutWord,
    /// Ctrl-L.
    Clear,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    Leave,
    /// Ctrl-Z.
    Suspend,
    Escape,
}

/// Reads keys. What is not complete waits for the next bytes.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    pending: Vec<u8>,
    /// What came of a paste so far.
    paste: Option<Vec<u8>>,
}

/// What terminals put around a paste.
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Bytes of one paste; the rest is dropped.
const LONGEST_PASTE: usize = 1 << 20;

/// No key is longer.
const LONGEST_KEY: usize = 32;

impl KeyReader {
    /// The keys in these bytes, in order.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = self.next() {
            self.pending.drain(..length);
            keys.extend(key);
        }
        keys
    }

    /// The first key and its bytes; `None` if it is not complete.
    fn next(&mut self) -> Option<(Option<Key>, usize)> {
        if let Some(paste) = &mut self.paste {
            let Some(end) = find(&self.pending, PASTE_ENDS) else {
                // The end may be cut in two.
                let sure = self.pending.len().saturating_sub(PASTE_ENDS.len());
                let room = LONGEST_PASTE.saturating_sub(paste.len());
                paste.extend(self.pending.iter().take(sure.min(room)));
                self.pending.drain(..sure);
                return None;
            };
            let room = LONGEST_PASTE.saturating_sub(paste.len());
            paste.extend(self.pending.iter().take(end.min(room)));
            let text = pasted(&String::from_utf8_lossy(paste));
            self.paste = None;
            return Some((Some(Key::Paste(text)), end + PASTE_ENDS.len()));
        }
        let first = *self.pending.first()?;
        if first == 0x1b {
            return self.escape();
        }
        if first < 0x80 {
            return Some((control(first), 1));
        }
        let length = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return Some((None, 1)),
        };
        let bytes = self.pending.get(..length)?;
        let letter = std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next());
        match letter {
            Some(letter) => Some((Some(Key::Char(letter)).filter(|_| !letter.is_control()), length)),
            None => Some((None, 1)),
        }
    }

    fn escape(&mut self) -> Option<(Option<Key>, usize)> {
        if self.pending.starts_with(PASTE_BEGINS) {
            self.paste = Some(Vec::new());
            return Some((None, PASTE_BEGINS.len()));
        }
        match self.pending.get(1) {
            // A key that begins like this sends all its bytes at once.
            None => Some((Some(Key::Escape), 1)),
            Some(b'\r' | b'\n') => Some((Some(Key::Newline), 2)),
            Some(b'b') => Some((Some(Key::WordLeft), 2)),
            Some(b'f') => Some((Some(Key::WordRight), 2)),
            Some(0x7f) => Some((Some(Key::CutWord), 2)),
            Some(b'[' | b'O') => {
                let is_last = |byte: &u8| (0x40..=0x7e).contains(byte);
                let end = self.pending.iter().skip(2).position(is_last);
                match end {
                    Some(end) => Some((sequence(self.pending.get(2..=end + 2)?), end + 3)),
                    None if self.pending.len() > LONGEST_KEY => Some((None, self.pending.len())),
                    None => None,
                }
            }
            Some(_) => Some((None, 2)),
        }
    }
}

/// The key of a sequence without its beginning.
fn sequence(bytes: &[u8]) -> Option<Key> {
    match bytes {
        b"A" => Some(Key::Up),
        b"B" => Some(Key::Down),
        b"C" => Some(Key::Right),
        b"D" => Some(Key::Left),
        b"H" | b"1~" | b"7~" => Some(Key::Home),
        b"F" | b"4~" | b"8~" => Some(Key::End),
        b"3~" => Some(Key::Delete),
        b"1;5D" | b"1;3D" => Some(Key::WordLeft),
        b"1;5C" | b"1;3C" => Some(Key::WordRight),
        _ => None,
    }
}

fn control(byte: u8) -> Option<Key> {
    match byte {
        0x01 => Some(Key::Home),
        0x02 => Some(Key::Left),
        0x03 => Some(Key::Interrupt),
        0x04 => Some(Key::Leave),
        0x05 => Some(Key::End),
        0x06 => Some(Key::Right),
        0x08 | 0x7f => Some(Key::Backspace),
        // What was typed before the terminal gave us single keys has the other line end.
        b'\n' | b'\r' => Some(Key::Enter),
        0x0b => Some(Key::CutBehind),
        0x0c => Some(Key::Clear),
        0x0e => Some(Key::Down),
        0x10 => Some(Key::Up),
        0x15 => Some(Key::CutBefore),
        0x17 => Some(Key::CutWord),
        0x1a => Some(Key::Suspend),
        b'\t' => Some(Key::Char('\t')),
        b' '..=b'~' => Some(Key::Char(char::from(byte))),
        _ => None,
    }
}

/// A paste with the line ends of texts, and without what would act on the terminal.
fn pasted(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect()
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole, and in two pieces cut anywhere but behind an escape, which is a key by itself.
    #[track_caller]
    fn check(bytes: &str, keys: &[Key]) {
        let bytes = bytes.as_bytes();
        assert_eq!(KeyReader::default().read(bytes), keys, "whole");
        for cut in (1..bytes.len()).filter(|cut| bytes[cut - 1] != 0x1b) {
            let mut reader = KeyReader::default();
            let mut read = reader.read(&bytes[..cut]);
            read.extend(reader.read(&bytes[cut..]));
            assert_eq!(read, keys, "cut at {cut}");
        }
    }

    #[test]
    fn letters_and_controls_are_keys() {
        check("aö\r", &[Key::Char('a'), Key::Char('ö'), Key::Enter]);
        check("\u{3}\u{4}\u{7f}\u{15}", &[Key::Interrupt, Key::Leave, Key::Backspace, Key::CutBefore]);
        check("漢🙂", &[Key::Char('漢'), Key::Char('🙂')]);
    }

    #[test]
    fn sequences_are_keys_and_unknown_ones_are_nothing() {
        check("\u{1b}[A\u{1b}[B\u{1b}OC\u{1b}[D", &[Key::Up, Key::Down, Key::Right, Key::Left]);
        check("\u{1b}[1;5D\u{1b}[3~\u{1b}\r", &[Key::WordLeft, Key::Delete, Key::Newline]);
        check("\u{1b}[99;99~x", &[Key::Char('x')]);
        assert_eq!(KeyReader::default().read(b"\x1b"), [Key::Escape]);
    }

    #[test]
    fn a_paste_is_one_key_without_what_acts_on_terminals() {
        check(
            "\u{1b}[200~one\rtwo\r\nthree\u{7}\u{1b}[31m\u{1b}[201~\r",
            &[Key::Paste("one\ntwo\nthree[31m".to_owned()), Key::Enter],
        );
    }

    #[test]
    fn broken_characters_do_not_stop_what_follows() {
        assert_eq!(KeyReader::default().read(b"\xc3(a"), [Key::Char('('), Key::Char('a')]);
    }
}
