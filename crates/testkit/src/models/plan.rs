//! What goes over the wire for one request, down to the bytes, before anything is written.

use std::time::Duration;

/// What happens to a connection for one request.
#[derive(Debug)]
pub(crate) enum Plan {
    /// An answer, right or wrong.
    Answer(Answer),
    /// It is closed without a byte.
    Close,
    /// Nothing happens.
    Hang,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) length: Length,
    /// Events, lines, or the one body.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// How many bytes of a line without an end follow.
    pub(crate) filler: usize,
    pub(crate) end: End,
    /// How long every byte takes.
    pub(crate) pace: Option<Duration>,
}

/// How the length of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// What it is.
    Known,
    /// Chunk by chunk.
    Chunked,
    /// More bytes than that come.
    TooShort(usize),
    /// Fewer bytes than that come.
    TooLong(usize),
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As HTTP has it.
    Proper,
    /// By closing the connection after the last chunk.
    Close,
    /// By closing the connection in the middle of the last chunk.
    CutChunk,
    /// Not at all.
    Hang,
}

impl Answer {
    /// One body.
    pub(crate) fn whole(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let chunks = vec![body.into()];
        Self { length: Length::Known, ..Self::stream(status, content_type, chunks) }
    }

    /// A body of several chunks.
    pub(crate) fn stream(status: u16, content_type: &str, chunks: Vec<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            length: Length::Chunked,
            chunks,
            filler: 0,
            end: End::Proper,
            pace: None,
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Puts a value in the place of a header.
    pub(crate) fn set_content_type(&mut self, value: &str) {
        for (name, old) in &mut self.headers {
            if name == "content-type" {
                value.clone_into(old);
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }
}
