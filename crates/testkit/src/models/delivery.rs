//! How a reply goes over the wire: in which pieces, and with which habits of real servers.

use super::words::words;

words! {
    /// How the bytes of a body are cut into writes.
    Pieces, "way to cut":
    /// Each event or line by itself.
    Usual = "usual";
    /// Each byte by itself, so that characters and lines are cut anywhere.
    SingleBytes = "single-bytes";
    /// All at once.
    OneChunk = "one-chunk";
}

words! {
    /// A habit of real servers.
    Quirk, "quirk":
    /// Fragments of the arguments of several calls alternate.
    Interleaved = "interleaved";
    /// The first fragment of a call has its name and no `arguments` at all.
    NameOnlyInFirst = "name-only-in-first";
    /// Every fragment of a call has its name.
    NameRepeated = "name-repeated";
    /// Every fragment of a call has its id.
    IdRepeated = "id-repeated";
    /// Fragments of calls have no index.
    NoIndex = "no-index";
    /// Calls have no ids.
    NoCallIds = "no-call-ids";
    /// Arguments come in one piece, with the name.
    WholeArguments = "whole-arguments";
    /// Arguments are an object where the wire has text.
    ArgumentsAsObject = "arguments-as-object";
    /// Arguments without members are an empty text.
    EmptyArguments = "empty-arguments";
    /// The turn ends with the word for a plain end although there are calls.
    FinishStop = "finish-stop";
    /// Content is `null` where there is no text.
    ContentNull = "content-null";
    /// Content is absent where there is no text.
    ContentAbsent = "content-absent";
    /// Thoughts are in `reasoning_content`, as usual for Chat Completions.
    ReasoningContent = "reasoning-content";
    /// Thoughts are in `reasoning`.
    Reasoning = "reasoning";
    /// Thoughts are in the text, between `<think>` and `</think>`.
    ThinkTags = "think-tags";
    /// Lines end with carriage return and line feed.
    Crlf = "crlf";
    /// A comment before every event.
    Comments = "comments";
    /// Data of an event on several lines.
    MultilineData = "multiline-data";
    /// Every event has a line `event:`, also where the provider has none.
    EventLines = "event-lines";
    /// The terminal `[DONE]` is missing.
    NoDone = "no-done";
    /// Usage comes although nobody asked for it.
    UsageUnasked = "usage-unasked";
    /// Usage comes with the finish reason, not in a chunk of its own.
    UsageWithFinish = "usage-with-finish";
    /// No usage at all.
    NoUsage = "no-usage";
    /// Whole answers in Argo's envelope, with the calls in the shape of the model's vendor.
    ArgoEnvelope = "argo-envelope";
}

/// How a reply goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// How bytes are cut.
    pub pieces: Pieces,
    /// Habits.
    pub quirks: Vec<Quirk>,
}

impl Default for Delivery {
    fn default() -> Self {
        Self { pieces: Pieces::Usual, quirks: Vec::new() }
    }
}

impl Delivery {
    /// As the provider does it.
    pub fn usual() -> Self {
        Self::default()
    }

    /// Each byte by itself.
    pub fn single_bytes() -> Self {
        Self { pieces: Pieces::SingleBytes, ..Self::default() }
    }

    /// All at once.
    pub fn one_chunk() -> Self {
        Self { pieces: Pieces::OneChunk, ..Self::default() }
    }

    /// With this habit too.
    #[must_use]
    pub fn with(mut self, quirk: Quirk) -> Self {
        self.quirks.push(quirk);
        self
    }

    pub(crate) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}
