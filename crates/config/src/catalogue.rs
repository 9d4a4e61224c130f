//! How the tools of all servers become one list: clashes of names, groups, importance.

use std::collections::BTreeMap;

use crate::spec::UpstreamId;

/// What happens when two upstreams have a tool of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClashPolicy {
    /// None of them is in the list over all upstreams; each still runs when its upstream is named.
    Error,
    /// Each of them is published as `<prefix>__<tool>`. The bare name then belongs to nobody: a call with it is refused
    /// with the candidates, and never reaches another server than before.
    #[default]
    Prefix,
    /// The upstream that stands first in the configuration has the name; the others run when their upstream is named.
    First,
}

/// How a catalogue is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CatalogueRules {
    /// What a clash of names means.
    pub clash: ClashPolicy,
    /// Named sets of tools.
    pub groups: BTreeMap<String, ToolGroup>,
    /// The upstreams in the order of the configuration, for [`ClashPolicy::First`]. Those that are missing here come
    /// last, in the order in which they are given.
    pub order: Vec<UpstreamId>,
}

/// A named set of tools: everything of these upstreams, these tools, and everything with these tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolGroup {
    /// Patterns of upstreams.
    pub servers: Vec<String>,
    /// Patterns of public names, names at the upstream, or `mcp__<upstream>__<tool>`.
    pub tools: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
}

/// How much a tool matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Importance {
    /// Can be spared.
    Low,
    /// As most tools.
    #[default]
    Normal,
    /// Should be offered first.
    High,
}

impl Importance {
    /// All words, least important first.
    pub const NAMES: [&str; 3] = ["low", "normal", "high"];

    /// Reads `low`, `normal` (or `medium`) or `high`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "low" => Some(Self::Low),
            "normal" | "medium" => Some(Self::Normal),
            "high" => Some(Self::High),
            _ => None,
        }
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}
