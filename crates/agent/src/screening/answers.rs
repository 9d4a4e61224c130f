//! What a model answers, as it arrives.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use gateway_dialects::stream::StreamEvent;
use gateway_privacy::{Counts, MaskedPiece, Mode, StreamMask};

use super::{Part, Screen};
use crate::error::ModelError;
use crate::model::ReplyEvents;

impl Screen {
    /// The events of a reply with personal data marked, masked or cut off. Text is held back only while it could be the beginning of
    /// a finding.
    pub(crate) fn answers(self: &Arc<Self>, events: ReplyEvents) -> ReplyEvents {
        let Some(mode) = self.mode(Part::Answers) else { return events };
        let side = || Side { mask: StreamMask::new(self.detector.clone()), taken: 0 };
        let (text, reasoning) = (side(), side());
        let reply =
            ScreenedReply { screen: Arc::clone(self), mode, text, reasoning, counts: Counts::default() };
        let state = (Some(events), reply, VecDeque::new());
        Box::pin(stream::unfold(state, |(mut events, mut reply, mut ready)| async move {
            loop {
                if let Some(event) = ready.pop_front() {
                    return Some((event, (events, reply, ready)));
                }
                match events.as_mut()?.next().await {
                    Some(Ok(event)) => {
                        if reply.take(event, &mut ready) == Next::Nothing {
                            // Dropping them ends the request to the model.
                            events = None;
                        }
                    }
                    // What is held back is lost with the rest: another model may be asked.
                    Some(Err(error)) => ready.push_back(Err(error)),
                    None => {
                        reply.finish(&mut ready);
                        events = None;
                    }
                }
            }
        }))
    }
}

type Ready = VecDeque<Result<StreamEvent, ModelError>>;

/// Whether more of a reply is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Nothing,
}

/// One reply on its way.
struct ScreenedReply {
    screen: Arc<Screen>,
    mode: Mode,
    text: Side,
    reasoning: Side,
    counts: Counts,
}

/// Text or reasoning.
struct Side {
    mask: StreamMask,
    /// Bytes that were given in.
    taken: usize,
}

/// Why an answer breaks off, in the word that Chat Completions has for it.
const FILTERED: &str = "content_filter";

impl ScreenedReply {
    fn take(&mut self, event: StreamEvent, ready: &mut Ready) -> Next {
        match event {
            StreamEvent::Text(text) => {
                if self.flush(Sort::Reasoning, ready) == Next::Nothing {
                    return Next::Nothing;
                }
                self.push(Sort::Text, text, ready)
            }
            StreamEvent::Reasoning(text) => {
                if self.flush(Sort::Text, ready) == Next::Nothing {
                    return Next::Nothing;
                }
                self.push(Sort::Reasoning, text, ready)
            }
            other => {
                if self.finish(ready) == Next::Nothing {
                    return Next::Nothing;
                }
                ready.push_back(Ok(other));
                Next::More
            }
        }
    }

    /// Gives out what is held back.
    fn finish(&mut self, ready: &mut Ready) -> Next {
        match self.flush(Sort::Reasoning, ready) {
            Next::More => self.flush(Sort::Text, ready),
            Next::Nothing => Next::Nothing,
        }
    }

    fn push(&mut self, sort: Sort, text: String, ready: &mut Ready) -> Next {
        let side = self.side(sort);
        let start = side.taken - side.mask.held();
        side.taken += text.len();
        let piece = side.mask.push(&text);
        self.give(sort, start, piece, Some(text), ready)
    }

    fn flush(&mut self, sort: Sort, ready: &mut Ready) -> Next {
        let fresh = StreamMask::new(self.screen.detector.clone());
        let side = self.side(sort);
        let start = side.taken - side.mask.held();
        if side.mask.held() == 0 {
            return Next::More;
        }
        side.taken = 0;
        let piece = std::mem::replace(&mut side.mask, fresh).finish();
        self.give(sort, start, piece, None, ready)
    }

    /// Hands on a piece that begins at `start` of its stream; `original` is what came in, which mode `mark` hands on at once.
    fn give(
        &mut self,
        sort: Sort,
        start: usize,
        piece: MaskedPiece,
        original: Option<String>,
        ready: &mut Ready,
    ) -> Next {
        self.counts.add_all(&piece.findings);
        let mut push = |text: String| {
            if !text.is_empty() {
                ready.push_back(Ok(sort.event(text)));
            }
        };
        match (self.mode, piece.findings.first()) {
            (Mode::Mark, _) => push(original.unwrap_or_default()),
            (Mode::Mask, _) | (Mode::Block, None) => push(piece.text),
            (Mode::Block, Some(first)) => {
                let before = piece.text.get(..first.range.start.saturating_sub(start)).unwrap_or_default();
                push(before.to_owned());
                let mut kinds = Counts::default();
                kinds.add(first.kind);
                let note =
                    format!("[The rest of the answer was withheld: it contains personal data ({kinds}).]");
                ready.push_back(Ok(StreamEvent::Text(note)));
                ready.push_back(Ok(StreamEvent::Stop(FILTERED.to_owned())));
                return Next::Nothing;
            }
        }
        Next::More
    }

    fn side(&mut self, sort: Sort) -> &mut Side {
        match sort {
            Sort::Text => &mut self.text,
            Sort::Reasoning => &mut self.reasoning,
        }
    }
}

/// Reported once for each reply, also if its caller goes away.
impl Drop for ScreenedReply {
    fn drop(&mut self) {
        self.screen.report(Part::Answers, self.mode, self.counts);
    }
}

#[derive(Clone, Copy)]
enum Sort {
    Text,
    Reasoning,
}

impl Sort {
    fn event(self, text: String) -> StreamEvent {
        match self {
            Self::Text => StreamEvent::Text(text),
            Self::Reasoning => StreamEvent::Reasoning(text),
        }
    }
}
