//! What is done about personal data, where.

use gateway_privacy::{Kind, Mode};
use serde_json::{Value, json};

use crate::fields::{Fields, Item, Setting as _, Words, any_of};

/// What is done about personal data. Nothing, unless it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrivacyConfig {
    /// Which kinds are looked for.
    pub kinds: Vec<Kind>,
    /// In requests of `/v1`.
    pub completions: ScreenModes,
    /// In requests of `/conversations`.
    pub conversations: ScreenModes,
    /// In the terminal chat.
    pub chat: ScreenModes,
    /// In the call log, which only marks or masks; `None`: it is not looked for.
    pub log: Option<Mode>,
}

/// What is done about personal data in what is sent to a model and comes from it; `None`: it is not looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScreenModes {
    /// In messages, before the model gets them.
    pub messages: Option<Mode>,
    /// In results of tools, before the model gets them.
    pub results: Option<Mode>,
    /// In what the model answers.
    pub answers: Option<Mode>,
}

impl ScreenModes {
    /// The same for everything.
    pub const fn all(mode: Option<Mode>) -> Self {
        Self { messages: mode, results: mode, answers: mode }
    }
}

impl Default for PrivacyConfig {
    fn default() -> Self {
        let off = ScreenModes::default();
        Self { kinds: Kind::ALL.to_vec(), completions: off, conversations: off, chat: off, log: None }
    }
}

impl Words for Option<Mode> {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", None),
        ("mark", Some(Mode::Mark)),
        ("mask", Some(Mode::Mask)),
        ("block", Some(Mode::Block)),
    ];
}

impl Words for Kind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("card", Self::Card),
        ("iban", Self::Iban),
        ("ssn", Self::Ssn),
        ("phone", Self::Phone),
        ("email", Self::Email),
    ];
}

/// Reads `privacy`.
pub(crate) fn read_privacy(config: &mut PrivacyConfig, at: &mut Fields<'_>) {
    let mut everywhere: Option<Mode> = None;
    at.set("mode", "What is done everywhere, unless a face has its own.", &mut everywhere);
    let schema = || any_of(&[json!({"type": "array", "items": Kind::schema()}), Kind::schema()]);
    if let Some(item) = at.item("kinds", "Which kinds are looked for; all if absent.", schema) {
        config.kinds = kinds(&item);
    }
    for (name, about, modes) in [
        ("completions", "Requests of `/v1`.", &mut config.completions),
        ("conversations", "Requests of `/conversations`.", &mut config.conversations),
        ("chat", "The command `chat`.", &mut config.chat),
    ] {
        *modes = ScreenModes::all(everywhere);
        let fields = |at: &mut Fields<'_>| {
            at.set("messages", "In messages, before the model gets them.", &mut modes.messages);
            at.set("results", "In results of tools, before the model gets them.", &mut modes.results);
            at.set("answers", "In what the model answers.", &mut modes.answers);
        };
        if let Some(item) = at.object_or(name, about, Some(Option::<Mode>::schema()), fields) {
            *modes = ScreenModes::all(item.read().unwrap_or(everywhere));
        }
    }
    // An entry of the log is never left out: what may not be in it is masked.
    config.log = everywhere.map(|mode| if mode == Mode::Block { Mode::Mask } else { mode });
    let about = "The call log: `off`, `mark` or `mask`.";
    if let Some(item) = at.item("log", about, || json!({"enum": ["off", "mark", "mask"]})) {
        match item.read::<Option<Mode>>() {
            Some(Some(Mode::Block)) => item.error("must be one of \"off\", \"mark\", \"mask\""),
            Some(mode) => config.log = mode,
            None => {}
        }
    }
}

/// Kinds, or one alone.
fn kinds(item: &Item<'_>) -> Vec<Kind> {
    match item.value {
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.filter_map(|(index, kind)| item.inner(&index.to_string(), kind).read()).collect()
        }
        _ => item.read().into_iter().collect(),
    }
}
