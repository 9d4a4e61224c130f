//! Lines of bounded length.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::scan::IdScanner;

/// How much of an over-long line is kept at each end, to find its id.
const KEPT: usize = 4 * 1024;

/// Initial capacity of a buffer that is read into.
const ROOM: usize = 16 * 1024;

/// Buffers of longer lines are not reused.
const LONG: usize = 64 * 1024;

/// One line, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line within the bound.
    Whole(Bytes),
    /// A line beyond the bound has begun; the rest of it is being skipped.
    TooLongBegins {
        /// Its beginning.
        head: Bytes,
    },
    /// The over-long line has ended.
    TooLongEnds {
        /// Its beginning.
        head: Bytes,
        /// Its end.
        tail: Bytes,
        /// How long it was.
        bytes: u64,
        /// The scanner that has read all of it.
        scanner: IdScanner,
    },
}

/// Splits a stream of bytes into lines and never holds more than its bound.
#[derive(Debug)]
pub struct LineSplitter {
    limit: usize,
    buffer: BytesMut,
    /// The prefix of the buffer without a line end.
    searched: usize,
    skipping: Option<Skipping>,
}

#[derive(Debug)]
struct Skipping {
    head: Bytes,
    bytes: u64,
    /// The last bytes that were skipped.
    tail: BytesMut,
    scanner: IdScanner,
}

impl LineSplitter {
    /// Lines may have up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, buffer: BytesMut::new(), searched: 0, skipping: None }
    }

    /// The buffer to read into.
    pub fn buffer(&mut self) -> &mut BytesMut {
        self.buffer.reserve(if self.buffer.capacity() == 0 { ROOM } else { 8 * 1024 });
        &mut self.buffer
    }

    /// Takes a piece that was read elsewhere. It gets as much room as it needs: there may be thousands of idle streams.
    pub fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// How many bytes of an incomplete line are buffered.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    /// Gives up the incomplete line: it is skipped like one beyond the bound.
    pub fn give_up(&mut self) -> Option<Line> {
        self.give_up_after(IdScanner::default())
    }

    /// The same for a line whose message began earlier: `scanner` has read that part.
    pub fn give_up_after(&mut self, scanner: IdScanner) -> Option<Line> {
        if self.skipping.is_some() || self.buffer.is_empty() {
            return None;
        }
        Some(self.begin_skipping(scanner))
    }

    /// How many bytes of an over-long line have been skipped so far.
    pub fn skipped(&self) -> u64 {
        self.skipping.as_ref().map_or(0, |skipping| skipping.bytes)
    }

    /// The next complete line, if there is one.
    pub fn next_line(&mut self) -> Option<Line> {
        if self.skipping.is_some() {
            return self.skip();
        }
        let start = self.searched;
        let found = self.buffer.get(start..).and_then(find_line_end).map(|end| start + end);
        match found {
            Some(end) if end <= self.limit => {
                let line = self.buffer.split_to(end).freeze();
                self.buffer.advance(1);
                self.searched = 0;
                if end > LONG {
                    // The next lines must not keep the memory of a long one.
                    self.buffer = fresh(&self.buffer);
                }
                let line = if line.last() == Some(&b'\r') { line.slice(..line.len() - 1) } else { line };
                Some(Line::Whole(line))
            }
            _ if self.buffer.len() > self.limit => Some(self.begin_skipping(IdScanner::default())),
            _ => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    fn begin_skipping(&mut self, scanner: IdScanner) -> Line {
        let head = Bytes::copy_from_slice(self.buffer.get(..KEPT.min(self.buffer.len())).unwrap_or_default());
        self.skipping = Some(Skipping { head: head.clone(), bytes: 0, tail: BytesMut::new(), scanner });
        self.searched = 0;
        Line::TooLongBegins { head }
    }

    fn skip(&mut self) -> Option<Line> {
        let end = find_line_end(&self.buffer);
        let skipping = self.skipping.as_mut()?;
        let gone = self.buffer.split_to(end.unwrap_or(self.buffer.len()));
        skipping.bytes += gone.len() as u64;
        skipping.scanner.feed(&gone);
        // The id may be the last member of the envelope, so the end is kept as well.
        skipping.tail.extend_from_slice(gone.get(gone.len().saturating_sub(KEPT)..).unwrap_or_default());
        let excess = skipping.tail.len().saturating_sub(KEPT);
        skipping.tail.advance(excess);
        if gone.len() > LONG {
            self.buffer = fresh(&self.buffer);
        }
        drop(gone);
        end?;
        self.buffer.advance(1);
        self.searched = 0;
        let Skipping { head, bytes, tail, scanner } = self.skipping.take()?;
        Some(Line::TooLongEnds { head, tail: tail.freeze(), bytes, scanner })
    }
}

/// The same bytes in a new buffer.
fn fresh(rest: &[u8]) -> BytesMut {
    let mut buffer = BytesMut::with_capacity(rest.len().max(ROOM));
    buffer.extend_from_slice(rest);
    buffer
}

fn find_line_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', bytes)
}
