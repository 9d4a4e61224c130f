//! Reads JSON and Python literals byte by byte, so that what is neither is known where it stops being one.

/// Brackets inside brackets, below what the JSON reader takes.
const MAX_DEPTH: usize = 96;
/// Bytes of a number or a word.
const MAX_WORD: u16 = 512;

/// Whose literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    /// Quotes of both kinds, tuples and commas at the end as well.
    Python,
}

/// What one more byte made of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    More,
    /// A key of an object has ended with this byte; it began at this position, behind its quote.
    Key(usize),
    /// The literal ends with this byte.
    Done,
    /// The literal ended before this byte.
    Before,
    Dead,
}

/// One literal as it arrives. Escapes, numbers and words are left to whoever parses it when it is whole.
#[derive(Clone, Debug)]
pub(super) struct LiteralReader {
    syntax: Syntax,
    /// The closing brackets that are due.
    due: Vec<u8>,
    expect: Expect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value, or the end of the list.
    ValueOrEnd,
    Key,
    /// A key, or the end of the object.
    KeyOrEnd,
    Colon,
    /// A comma, or the end of what is open.
    Comma,
    Text {
        quote: u8,
        escaped: bool,
        key: Option<usize>,
    },
    Word(u16),
}

impl LiteralReader {
    pub(super) fn new(syntax: Syntax) -> Self {
        Self { syntax, due: Vec::new(), expect: Expect::Value }
    }

    /// How many brackets are open.
    pub(super) fn depth(&self) -> usize {
        self.due.len()
    }

    /// Whether the next byte that is not white space begins a value, or ends an empty list.
    pub(super) fn expects_value(&self) -> bool {
        matches!(self.expect, Expect::Value | Expect::ValueOrEnd)
    }

    pub(super) fn feed(&mut self, byte: u8, at: usize) -> Fed {
        match self.expect {
            Expect::Text { quote, escaped, key } => self.feed_text(byte, quote, escaped, key),
            Expect::Word(length) if is_word(byte) => {
                self.expect = Expect::Word(length + 1);
                if length < MAX_WORD { Fed::More } else { Fed::Dead }
            }
            Expect::Word(_) if self.due.is_empty() => Fed::Before,
            Expect::Word(_) => {
                self.expect = Expect::Comma;
                self.feed(byte, at)
            }
            _ if byte.is_ascii_whitespace() => Fed::More,
            Expect::ValueOrEnd if self.due.last() == Some(&byte) => self.close(),
            Expect::Value | Expect::ValueOrEnd => self.begin(byte),
            Expect::KeyOrEnd if byte == b'}' => self.close(),
            Expect::Key | Expect::KeyOrEnd if self.is_quote(byte) => {
                self.expect = Expect::Text { quote: byte, escaped: false, key: Some(at + 1) };
                Fed::More
            }
            Expect::Colon if byte == b':' => self.then(Expect::Value),
            Expect::Comma if byte == b',' => {
                let python = self.syntax == Syntax::Python;
                self.then(match self.due.last() {
                    Some(b'}') if python => Expect::KeyOrEnd,
                    Some(b'}') => Expect::Key,
                    _ if python => Expect::ValueOrEnd,
                    _ => Expect::Value,
                })
            }
            Expect::Comma if self.due.last() == Some(&byte) => self.close(),
            Expect::Key | Expect::KeyOrEnd | Expect::Colon | Expect::Comma => Fed::Dead,
        }
    }

    fn feed_text(&mut self, byte: u8, quote: u8, escaped: bool, key: Option<usize>) -> Fed {
        match byte {
            0..0x20 => return Fed::Dead,
            _ if escaped => self.expect = Expect::Text { quote, escaped: false, key },
            b'\\' => self.expect = Expect::Text { quote, escaped: true, key },
            _ if byte != quote => {}
            _ => {
                return match key {
                    Some(start) => {
                        self.expect = Expect::Colon;
                        Fed::Key(start)
                    }
                    None => self.after_value(),
                };
            }
        }
        Fed::More
    }

    fn begin(&mut self, byte: u8) -> Fed {
        let python = self.syntax == Syntax::Python;
        match byte {
            b'{' => self.open(b'}', Expect::KeyOrEnd),
            b'[' => self.open(b']', Expect::ValueOrEnd),
            b'(' if python => self.open(b')', Expect::ValueOrEnd),
            _ if self.is_quote(byte) => self.then(Expect::Text { quote: byte, escaped: false, key: None }),
            b'0'..=b'9' | b'-' | b't' | b'f' | b'n' => self.then(Expect::Word(1)),
            b'T' | b'F' | b'N' | b'+' | b'.' if python => self.then(Expect::Word(1)),
            _ => Fed::Dead,
        }
    }

    fn open(&mut self, close: u8, expect: Expect) -> Fed {
        if self.due.len() >= MAX_DEPTH {
            return Fed::Dead;
        }
        self.due.push(close);
        self.then(expect)
    }

    fn close(&mut self) -> Fed {
        self.due.pop();
        self.after_value()
    }

    fn after_value(&mut self) -> Fed {
        self.expect = Expect::Comma;
        if self.due.is_empty() { Fed::Done } else { Fed::More }
    }

    fn then(&mut self, expect: Expect) -> Fed {
        self.expect = expect;
        Fed::More
    }

    fn is_quote(&self, byte: u8) -> bool {
        byte == b'"' || (byte == b'\'' && self.syntax == Syntax::Python)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}
