//! What a model answers, as it arrives.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use gateway_dialects::calls::ToolCall;
use gateway_dialects::calls::text::RefusedCall;
use gateway_dialects::stream::{StreamEvent, StreamedCall};
use gateway_privacy::{Counts, MaskedPiece, Mode, StreamMask};

use super::texts::masked_text;
use super::{Part, Screen, search};
use crate::error::ModelError;
use crate::model::ReplyEvents;

impl Screen {
    /// The events of a reply with personal data marked, masked or cut off. Text is held back only while it could be the beginning of
    /// a finding; calls and all else come behind it, as nothing is done with them before the reply has ended.
    pub(crate) fn answers(self: &Arc<Self>, events: ReplyEvents) -> ReplyEvents {
        let Some(mode) = self.mode(Part::Answers) else { return events };
        let side = || Side { mask: StreamMask::new(self.detector.clone()), taken: 0 };
        let reply = ScreenedReply {
            screen: Arc::clone(self),
            mode,
            text: side(),
            reasoning: side(),
            later: Vec::new(),
            counts: Counts::default(),
            in_calls: Counts::default(),
        };
        let state = (Some(events), reply, VecDeque::new());
        Box::pin(stream::unfold(state, |(mut events, mut reply, mut ready)| async move {
            loop {
                if let Some(event) = ready.pop_front() {
                    return Some((event, (events, reply, ready)));
                }
                match events.as_mut()?.next().await {
                    Some(Ok(event)) => {
                        if reply.take(event, &mut ready).await == Next::Nothing {
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
    /// What is neither text nor reasoning, until both have ended.
    later: Vec<StreamEvent>,
    counts: Counts,
    /// What was found in arguments of calls, which are never changed.
    in_calls: Counts,
}

/// Text or reasoning.
struct Side {
    mask: StreamMask,
    /// Bytes that were given in.
    taken: usize,
}

/// Bytes that are searched at a time.
const PIECE: usize = 16 << 10;

/// Why an answer breaks off, in the word that Chat Completions has for it.
const FILTERED: &str = "content_filter";

impl ScreenedReply {
    async fn take(&mut self, event: StreamEvent, ready: &mut Ready) -> Next {
        match event {
            StreamEvent::Text(text) => self.push_all(Sort::Text, text, ready).await,
            StreamEvent::Reasoning(text) => self.push_all(Sort::Reasoning, text, ready).await,
            // The reply is of no use any more.
            error @ (StreamEvent::Error(_) | StreamEvent::TooManyCalls(_)) => {
                ready.push_back(Ok(error));
                Next::More
            }
            other => {
                match &other {
                    StreamEvent::Call(StreamedCall { call, .. })
                    | StreamEvent::Refused(RefusedCall { call, .. }) => self.count_arguments(call).await,
                    _ => {}
                }
                self.later.push(other);
                Next::More
            }
        }
    }

    async fn count_arguments(&mut self, call: &ToolCall) {
        let (detector, arguments) = (self.screen.detector.clone(), call.arguments.to_text().into_owned());
        let counted = search(arguments.len(), move || {
            let mut counts = Counts::default();
            masked_text(&detector, &arguments, &mut counts);
            counts
        });
        self.in_calls.merge(counted.await.unwrap_or_default());
    }

    /// Gives out what is held back, and all that comes behind it.
    fn finish(&mut self, ready: &mut Ready) {
        for sort in [Sort::Reasoning, Sort::Text] {
            if self.flush(sort, ready) == Next::Nothing {
                return;
            }
        }
        ready.extend(self.later.drain(..).map(Ok));
    }

    /// A reply that is not streamed comes as one text: the others get their turn between its pieces.
    async fn push_all(&mut self, sort: Sort, text: String, ready: &mut Ready) -> Next {
        if text.len() <= PIECE {
            return self.push(sort, text, ready);
        }
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
            if self.push(sort, piece.to_owned(), ready) == Next::Nothing {
                return Next::Nothing;
            }
            rest = after;
            tokio::task::yield_now().await;
        }
        Next::More
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
        self.screen.report(Part::Answers, Mode::Mark, self.in_calls);
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
