//! How an upstream is.

use std::fmt;

use gateway_config::UpstreamId;
use gateway_protocol::Era;

use super::memory::{fingerprint_of_all, shown_fingerprint};
use super::tool_key::tool_key;
use crate::catalogue::{DefinitionChange, MalformedTool};

/// Where an upstream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamState {
    /// Configured, but switched off.
    Disabled,
    /// Configured, but its entry is invalid, so that it is left out.
    Invalid,
    /// Not started yet, or stopped because nobody called it; the next use starts it.
    Idle,
    /// Starting.
    Connecting,
    /// A call would work.
    Connected,
    /// It failed and is tried again after a pause.
    Waiting,
    /// It failed many times in a row; it is tried again now and then, or when somebody restarts it.
    Crashing,
    /// Ended for good.
    Closed,
}

impl UpstreamState {
    /// The word for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Invalid => "invalid",
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Waiting => "disconnected",
            Self::Crashing => "crashing",
            Self::Closed => "closed",
        }
    }

    /// Whether waiting for it is pointless right now.
    pub(super) fn is_down(self) -> bool {
        matches!(self, Self::Disabled | Self::Invalid | Self::Waiting | Self::Crashing | Self::Closed)
    }
}

impl fmt::Display for UpstreamState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How an upstream is, at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamHealth {
    /// Its name.
    pub id: UpstreamId,
    /// `stdio`, `http`, `sse` or `builtin`; `none` if its entry is invalid.
    pub transport: &'static str,
    /// Where it stands.
    pub state: UpstreamState,
    /// Whether a call would work: connected and listed, or idle after it worked.
    pub ok: bool,
    /// Why not.
    pub reason: Option<String>,
    /// What is wrong with its entry in the configuration. If it is connected all the same, then under an earlier entry.
    pub config_problems: Vec<String>,
    /// Whether the gateway is not ready without it.
    pub required: bool,
    /// How it is spoken to.
    pub era: Option<Era>,
    /// Who it says that it is.
    pub server: Option<(String, String)>,
    /// How many tools it last listed; `None` if no listing succeeded yet.
    pub tools: Option<usize>,
    /// Whether these are the tools of an earlier run: it was not asked yet in this one.
    pub stale: bool,
    /// How often it was started again.
    pub restarts: u64,
    /// Failures in a row.
    pub failures: u32,
    /// Milliseconds until the next attempt.
    pub next_attempt_ms: Option<u64>,
    /// Calls in flight.
    pub in_flight: usize,
    /// Its process, where it is one.
    pub process: Option<u32>,
    /// The end of its standard error.
    pub stderr: String,
    /// Tools that are not as MCP has them.
    pub malformed_tools: Vec<MalformedTool>,
    /// Definitions that are others than they were.
    pub changed_definitions: Vec<DefinitionNotice>,
    /// Requests of the server that were refused, since the gateway runs.
    pub refused_requests: u64,
}

/// A definition that is another than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionNotice {
    /// What changed.
    pub change: DefinitionChange,
    /// Whether calls are refused until somebody accepts it.
    pub blocked: bool,
    /// What the definition is known by now.
    pub fingerprint: String,
}

impl DefinitionNotice {
    /// The fingerprint as it is shown to people and sent back by them.
    pub fn shown_fingerprint(&self) -> &str {
        shown_fingerprint(&self.fingerprint)
    }
}

impl UpstreamHealth {
    /// One fingerprint for all definitions that changed; `None` if none did.
    pub fn changes_fingerprint(&self) -> Option<String> {
        let notices = self.changed_definitions.iter();
        let tools = notices.map(|notice| (tool_key(&notice.change.tool), notice.fingerprint.as_str()));
        (!self.changed_definitions.is_empty()).then(|| fingerprint_of_all(tools))
    }
}
