//! Personal data in what models are sent and in what they answer.
//!
//! A [`Screen`] belongs to one request. It looks for personal data where the configuration says so, and marks, masks or blocks it. What
//! it finds is reported by kind and number, to the log of the gateway, its metrics and the caller; never the data itself.

mod answers;
mod messages;
mod results;
mod texts;

use std::fmt;
use std::sync::{Arc, Mutex};

use gateway_config::{PrivacyConfig, ScreenModes};
use gateway_privacy::{Counts, Detector, Mode};
use gateway_runtime::Runtime;
use gateway_runtime::context::RequestContext;
use gateway_runtime::lock::locked;
use gateway_runtime::metrics::{AUDIT, CallMetrics, PersonalDataLabels};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use self::texts::masked_text;

/// Looks for personal data in what one request sends to a model and gets from it.
#[derive(Debug)]
pub struct Screen {
    detector: Detector,
    modes: ScreenModes,
    face: Face,
    correlation: Arc<str>,
    caller: Option<String>,
    metrics: Arc<CallMetrics>,
    found: Mutex<Vec<FoundData>>,
}

/// By which way a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// `/v1`.
    Completions,
    /// `/conversations`.
    Conversations,
    /// The terminal chat.
    Chat,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Messages to the model.
    Messages,
    /// Results of tools.
    Results,
    /// What the model says.
    Answers,
}

/// Personal data that was found, and what became of it. It says which kinds, never what.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundData {
    /// Where.
    pub part: Part,
    /// What became of it.
    pub mode: Mode,
    /// How many of each kind.
    pub counts: Counts,
}

impl Screen {
    /// The screen of one request; `None` if nothing is configured for its face.
    pub fn new(runtime: &Runtime, face: Face, context: &RequestContext) -> Option<Arc<Self>> {
        let config = &runtime.config().privacy;
        let modes = face.modes(config);
        if modes == ScreenModes::default() {
            return None;
        }
        Some(Arc::new(Self {
            detector: Detector::new(config.kinds.iter().copied()),
            modes,
            face,
            correlation: Arc::clone(&context.correlation),
            caller: context.caller.as_ref().map(ToString::to_string),
            metrics: Arc::clone(runtime.call_metrics()),
            found: Mutex::default(),
        }))
    }

    /// The same for what the gateway itself asks a model: there is nobody who could leave anything out, so what would be refused is
    /// masked.
    pub(crate) fn masking(runtime: &Runtime, face: Face, context: &RequestContext) -> Option<Arc<Self>> {
        let mut screen = Self::new(runtime, face, context)?;
        if let Some(Self { modes, .. }) = Arc::get_mut(&mut screen) {
            for mode in [&mut modes.messages, &mut modes.results, &mut modes.answers] {
                *mode = mode.map(|mode| if mode == Mode::Block { Mode::Mask } else { mode });
            }
        }
        Some(screen)
    }

    /// What was found so far, the same part and mode together.
    pub fn found(&self) -> Vec<FoundData> {
        locked(&self.found).clone()
    }

    /// What is done about personal data in a part; `None` if it is not looked for.
    pub(crate) fn mode(&self, part: Part) -> Option<Mode> {
        match part {
            Part::Messages => self.modes.messages,
            Part::Results => self.modes.results,
            Part::Answers => self.modes.answers,
        }
    }

    /// The arguments of a call as they are shown to whoever watches. The tool gets them as the model wrote them.
    pub(crate) async fn shown_arguments(&self, arguments: String) -> String {
        let Some(Mode::Mask | Mode::Block) = self.mode(Part::Answers) else { return arguments };
        let (detector, bytes) = (self.detector.clone(), arguments.len());
        let masked = move || masked_text(&detector, &arguments, &mut Counts::default()).unwrap_or(arguments);
        search(bytes, masked).await.unwrap_or_default()
    }

    /// Reports what was found, if anything was.
    fn report(&self, part: Part, mode: Mode, counts: Counts) {
        if counts.is_empty() {
            return;
        }
        let (face, part_name, mode_name) = (self.face.name(), part.name(), mode.name());
        for (kind, count) in counts.iter() {
            let kind = kind.name();
            let caller = self.caller.as_deref();
            tracing::warn!(
                target: AUDIT, face, part = part_name, mode = mode_name, kind, count, caller,
                correlation_id = &*self.correlation, "Personal data found."
            );
            let labels = PersonalDataLabels { face, part: part_name, kind, mode: mode_name };
            self.metrics.personal_data(labels, count);
        }
        let mut found = locked(&self.found);
        match found.iter_mut().find(|one| (one.part, one.mode) == (part, mode)) {
            Some(one) => one.counts.merge(counts),
            // At most nine: three parts in three modes.
            None => found.push(FoundData { part, mode, counts }),
        }
    }
}

impl Face {
    fn modes(self, config: &PrivacyConfig) -> ScreenModes {
        match self {
            Self::Completions => config.completions,
            Self::Conversations => config.conversations,
            Self::Chat => config.chat,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Conversations => "conversations",
            Self::Chat => "chat",
        }
    }
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Results => "results",
            Self::Answers => "answers",
        }
    }
}

/// For people: `personal data in messages: email, card (mask)`.
impl fmt::Display for FoundData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, mode, counts } = self;
        write!(formatter, "personal data in {}: {counts} ({})", part.name(), mode.name())
    }
}

impl FoundData {
    /// For callers: `{"part": "messages", "mode": "mask", "kinds": {"email": 1}}`.
    pub fn to_json(&self) -> Value {
        let kinds: Map<String, Value> =
            self.counts.iter().map(|(kind, count)| (kind.name().to_owned(), count.into())).collect();
        json!({"part": self.part.name(), "mode": self.mode.name(), "kinds": kinds})
    }
}

/// Searches of more bytes than this take milliseconds, for which other requests should not wait.
const SHORT: usize = 64 << 10;

/// How many long searches run at once.
static LONG_SEARCHES: Semaphore = Semaphore::const_new(2);

/// Runs a search through so many bytes, a long one on a thread for such work. `None` if it broke off.
async fn search<T: Send + 'static>(bytes: usize, search: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if bytes <= SHORT {
        return Some(search());
    }
    let permit = LONG_SEARCHES.acquire().await.ok()?;
    let search = move || {
        let found = search();
        drop(permit);
        found
    };
    tokio::task::spawn_blocking(search).await.ok()
}
