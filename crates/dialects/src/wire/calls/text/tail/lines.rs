//! Where text stands in its line, and whether in a code fence.

/// Bytes of a fence.
const FENCE: usize = 3;

/// What the text so far says of the next byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// The fence that is open: its character and its length.
    fence: Option<(u8, usize)>,
    line: Line,
    last: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    /// Nothing but white space so far.
    #[default]
    Start,
    /// A run of fence characters at the start.
    Run(u8, usize),
    /// What follows such a run: nothing but white space, or an info string.
    Info { fence: (u8, usize), is_blank: bool },
    /// Anything else.
    Text,
}

impl Lines {
    pub(super) fn feed(&mut self, byte: u8) {
        self.last = byte;
        if byte == b'\n' {
            self.end_line();
            return;
        }
        let is_space = byte.is_ascii_whitespace();
        self.line = match self.line {
            Line::Start if is_space => Line::Start,
            Line::Start if matches!(byte, b'`' | b'~') => Line::Run(byte, 1),
            Line::Run(fence, length) if byte == fence => Line::Run(fence, length + 1),
            Line::Run(fence, length) if length >= FENCE => {
                Line::Info { fence: (fence, length), is_blank: is_space }
            }
            // A fence of one line is code within the line.
            Line::Info { fence: (b'`', _), .. } if byte == b'`' => Line::Text,
            Line::Info { fence, is_blank } => Line::Info { fence, is_blank: is_blank && is_space },
            Line::Start | Line::Run(..) | Line::Text => Line::Text,
        };
    }

    fn end_line(&mut self) {
        let (marker, is_blank) = match self.line {
            Line::Run(fence, length) if length >= FENCE => (Some((fence, length)), true),
            Line::Info { fence, is_blank } => (Some(fence), is_blank),
            Line::Start | Line::Run(..) | Line::Text => (None, false),
        };
        self.fence = match (self.fence, marker) {
            (Some((open, length)), Some((byte, run))) if byte == open && run >= length && is_blank => None,
            (None, marker) => marker,
            (open, _) => open,
        };
        self.line = Line::Start;
    }

    /// Whether the next byte is code.
    pub(super) fn in_fence(&self) -> bool {
        self.fence.is_some()
    }

    /// Whether nothing but white space stands before the next byte in its line.
    pub(super) fn at_start(&self) -> bool {
        self.line == Line::Start
    }

    /// Whether a word ended, or none began, before the next byte.
    pub(super) fn between_words(&self) -> bool {
        !(self.last.is_ascii_alphanumeric() || self.last == b'_' || self.last >= 0x80)
    }
}
