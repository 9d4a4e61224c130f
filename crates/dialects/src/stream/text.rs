//! Text deltas: reasoning and tool use in plain text.

use super::{Outcome, StreamEvent, StreamOptions, open::OpenCall};
use crate::calls::{
    Ids, TextScan,
    text::{Found, Scanner, Tags},
};

/// A streamed reply that is nothing but text.
#[derive(Clone, Debug)]
pub struct TextStream {
    options: StreamOptions,
    reader: TextReader,
    ids: Ids,
}

impl TextStream {
    /// A new reply.
    pub fn new(options: StreamOptions) -> Self {
        Self { reader: TextReader::plain(&options), ids: Ids::after(options.ids_after), options }
    }

    /// Takes the next piece.
    pub fn push(&mut self, text: &str) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        let found = self.reader.push(text);
        self.give(found, &mut out);
        out
    }

    /// Ends the reply. Tool use that was not over is text.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        let found = self.reader.finish();
        self.give(found, &mut out);
        out
    }

    /// Forgets everything, ready for the next reply. Generated ids count on.
    pub fn reset(&mut self) {
        self.reader = TextReader::plain(&self.options);
    }

    fn give(&mut self, found: Vec<Found>, out: &mut Vec<StreamEvent>) {
        for piece in found {
            match piece {
                Found::Text(text) => out.push(StreamEvent::Text(text)),
                Found::Reasoning(text) => out.push(StreamEvent::Reasoning(text)),
                Found::Call(call, _) => {
                    let mut open = OpenCall::from_call(*call, self.options.argument_limit);
                    out.extend(open.give(Outcome::Complete, &mut self.ids));
                }
            }
        }
    }
}

/// Scans the text of a reply, as far as the options want it.
#[derive(Clone, Debug)]
pub(super) struct TextReader {
    scanner: Scanner,
}

impl TextReader {
    /// For a reply that is plain text.
    fn plain(options: &StreamOptions) -> Self {
        let tags = match &options.text {
            TextScan::Off => Tags::None,
            TextScan::Any => Tags::Any,
            TextScan::Known(tools) => Tags::Known(tools.clone()),
        };
        Self::with(tags, options)
    }

    /// For the text beside native calls, where not every tag is a tool.
    pub(super) fn native(options: &StreamOptions) -> Self {
        let tags = match &options.text {
            TextScan::Known(tools) => Tags::Known(tools.clone()),
            TextScan::Off | TextScan::Any => Tags::None,
        };
        Self::with(tags, options)
    }

    fn with(tags: Tags, options: &StreamOptions) -> Self {
        let calls = options.text != TextScan::Off;
        Self { scanner: Scanner::new(tags, calls).with_limit(options.argument_limit) }
    }

    pub(super) fn push(&mut self, text: &str) -> Vec<Found> {
        self.scanner.push(text)
    }

    pub(super) fn finish(&mut self) -> Vec<Found> {
        self.scanner.finish()
    }
}
