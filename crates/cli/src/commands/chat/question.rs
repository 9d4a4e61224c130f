//! Hearing the answer to a question. Somebody may be typing the next message when it comes up, and no letter of that may approve a call.

use std::time::{Duration, Instant};

use super::approver::Answer;
use super::keys::Key;

/// So long nothing is typed before an answer, and behind one that is a single key. Nobody reads a question faster.
const QUIET: Duration = Duration::from_millis(300);

/// The same for somebody who is in the middle of a message.
const QUIET_AMID_TYPING: Duration = Duration::from_secs(1);

/// What can be answered; the first letter does too.
const WORDS: [(&str, Answer); 3] = [("yes", Answer::Yes), ("no", Answer::No), ("always", Answer::Always)];

/// Listens for the answer to one question.
#[derive(Debug)]
pub(super) struct Listener {
    /// When a key was pressed last, or the question came up.
    last_key: Instant,
    /// What may become an answer.
    line: Vec<Key>,
    manner: Manner,
}

/// How an answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// By a key alone.
    OneKey,
    /// By a line: somebody is in the middle of a message.
    Line,
}

/// What was heard.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Answer(Answer),
    /// Ctrl-C.
    Interrupt,
    /// Keys that were meant for the next message.
    Ahead(Vec<Key>),
    /// Nothing, or not enough yet.
    Nothing,
}

impl Answer {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        WORDS.iter().find(|(_, answer)| *answer == self).map_or("", |(word, _)| word)
    }
}

impl Listener {
    pub(super) fn new(manner: Manner, now: Instant) -> Self {
        Self { last_key: now, line: Vec::new(), manner }
    }

    pub(super) fn manner(&self) -> Manner {
        self.manner
    }

    /// Takes keys that were pressed together.
    pub(super) fn press(&mut self, keys: Vec<Key>, now: Instant) -> Heard {
        // Whoever stops the turn wants nothing of it to run.
        if keys.contains(&Key::Interrupt) {
            return Heard::Interrupt;
        }
        // It is in no message.
        if keys.contains(&Key::Escape) {
            return Heard::Answer(Answer::No);
        }
        let is_first = self.is_quiet(now);
        self.last_key = now;
        if self.line.is_empty() && !is_first {
            return self.ahead(keys);
        }
        self.line.extend(keys);
        match self.read_line() {
            Line::Answer(answer) => Heard::Answer(answer),
            Line::Beginning => Heard::Nothing,
            Line::Other => {
                let line = self.take_line();
                self.ahead(line)
            }
        }
    }

    /// Time passes: a key is an answer once nothing has followed it.
    pub(super) fn tick(&mut self, now: Instant) -> Heard {
        if self.manner == Manner::Line || !self.is_quiet(now) {
            return Heard::Nothing;
        }
        match self.line.as_slice() {
            [Key::Char(letter)] => answer_of(&letter.to_string()).map_or(Heard::Nothing, Heard::Answer),
            _ => Heard::Nothing,
        }
    }

    /// What was typed of an answer so far.
    pub(super) fn take_line(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.line)
    }

    fn ahead(&mut self, keys: Vec<Key>) -> Heard {
        self.manner = Manner::Line;
        Heard::Ahead(keys)
    }

    fn is_quiet(&self, now: Instant) -> bool {
        let quiet = match self.manner {
            Manner::OneKey => QUIET,
            Manner::Line => QUIET_AMID_TYPING,
        };
        now.saturating_duration_since(self.last_key) >= quiet
    }

    fn read_line(&self) -> Line {
        let (last, before) = match self.line.split_last() {
            Some((Key::Enter, before)) => (Some(Key::Enter), before),
            Some(_) | None => (None, self.line.as_slice()),
        };
        let letters: Option<String> = before
            .iter()
            .map(|key| match key {
                Key::Char(letter) => Some(letter.to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        let Some(letters) = letters.filter(|letters| !letters.is_empty()) else { return Line::Other };
        match last {
            Some(_) => answer_of(&letters).map_or(Line::Other, Line::Answer),
            None if WORDS.iter().any(|(word, _)| word.starts_with(&letters)) => Line::Beginning,
            None => Line::Other,
        }
    }
}

/// What a line is.
enum Line {
    Answer(Answer),
    /// It may become one.
    Beginning,
    Other,
}

fn answer_of(text: &str) -> Option<Answer> {
    let text = text.to_ascii_lowercase();
    let is_meant = |word: &str| word == text || (text.len() == 1 && word.starts_with(&text));
    WORDS.iter().find(|(word, _)| is_meant(word)).map(|(_, answer)| *answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<Key> {
        let key = |letter| match letter {
            '\n' => Key::Enter,
            '^' => Key::Interrupt,
            letter => Key::Char(letter),
        };
        text.chars().map(key).collect()
    }

    /// Types each text so many milliseconds after the one before, and ticks all the time. What was heard in the end, and what waits for the
    /// next message.
    fn listen(manner: Manner, typed: &[(u64, &str)]) -> (Option<Heard>, String) {
        const TICK: u64 = 50;
        let start = Instant::now();
        let mut listener = Listener::new(manner, start);
        let (mut at, mut ahead) = (0, Vec::new());
        let end = [(5_000, "")];
        for (pause, text) in typed.iter().chain(&end) {
            let due = at + pause;
            while at < due {
                at = (at + TICK).min(due);
                if at < due
                    && let heard @ Heard::Answer(_) = listener.tick(start + Duration::from_millis(at))
                {
                    return (Some(heard), written(&ahead));
                }
            }
            if text.is_empty() {
                continue;
            }
            match listener.press(keys(text), start + Duration::from_millis(at)) {
                Heard::Nothing => {}
                Heard::Ahead(keys) => ahead.extend(keys),
                heard => return (Some(heard), written(&ahead)),
            }
        }
        ahead.extend(listener.take_line());
        (None, written(&ahead))
    }

    fn written(keys: &[Key]) -> String {
        let letter = |key: &Key| match key {
            Key::Char(letter) => *letter,
            _ => '\n',
        };
        keys.iter().map(letter).collect()
    }

    fn each(text: &str, pause: u64) -> Vec<(u64, String)> {
        text.chars().map(|letter| (pause, letter.to_string())).collect()
    }

    #[test]
    fn a_key_that_stands_alone_is_an_answer() {
        for (typed, answer) in [
            ("y", Answer::Yes),
            ("N", Answer::No),
            ("a", Answer::Always),
            ("y\n", Answer::Yes),
            ("always\n", Answer::Always),
        ] {
            let heard = listen(Manner::OneKey, &[(500, typed)]);
            assert_eq!(heard, (Some(Heard::Answer(answer)), String::new()), "{typed}");
        }
        let escape = Listener::new(Manner::OneKey, Instant::now()).press(vec![Key::Escape], Instant::now());
        assert_eq!(escape, Heard::Answer(Answer::No));
    }

    #[test]
    fn nothing_of_a_message_is_an_answer_at_any_speed() {
        for message in ["what a day", "yes, and now", "a nice day\n", "any of them\n", "nay", "say y"] {
            for first in [10, 250, 400, 2_000] {
                for pause in [20, 120, 250, 600] {
                    let typed = each(message, pause);
                    let mut typed: Vec<(u64, &str)> =
                        typed.iter().map(|(pause, text)| (*pause, text.as_str())).collect();
                    typed[0].0 = first;
                    let heard = listen(Manner::Line, &typed);
                    assert_eq!(heard, (None, message.to_owned()), "{message}, {first}, {pause}");
                    // A first letter that stands alone for so long is an answer.
                    if pause < 300 || first < 300 {
                        let heard = listen(Manner::OneKey, &typed);
                        assert_eq!(heard, (None, message.to_owned()), "{message}, {first}, {pause}");
                    }
                }
            }
        }
    }

    #[test]
    fn keys_that_come_together_are_a_message_and_ctrl_c_comes_first() {
        assert_eq!(listen(Manner::OneKey, &[(500, "yx")]), (None, "yx".to_owned()));
        assert_eq!(listen(Manner::OneKey, &[(500, "y^")]), (Some(Heard::Interrupt), String::new()));
        assert_eq!(listen(Manner::OneKey, &[(10, "a^")]), (Some(Heard::Interrupt), String::new()));
    }

    #[test]
    fn amid_typing_an_answer_is_a_line_after_a_pause() {
        let yes = Some(Heard::Answer(Answer::Yes));
        assert_eq!(listen(Manner::Line, &[(500, "y\n")]), (None, "y\n".to_owned()));
        assert_eq!(listen(Manner::Line, &[(1_500, "y")]), (None, "y".to_owned()));
        assert_eq!(listen(Manner::Line, &[(1_500, "y"), (3_000, "\n")]), (yes, String::new()));
        let heard = listen(Manner::OneKey, &[(100, "what a"), (1_200, "n"), (200, "\n")]);
        assert_eq!(heard, (Some(Heard::Answer(Answer::No)), "what a".to_owned()));
    }
}
