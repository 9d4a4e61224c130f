//! How the tools of all servers become one list: clashes of names, groups.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fields::{Fields, Item, Setting, Words, any_of, describe};
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

impl Words for ClashPolicy {
    const WORDS: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("prefix", Self::Prefix), ("first", Self::First)];
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

impl ToolGroup {
    fn fields(&mut self, at: &mut Fields<'_>) {
        at.ignore(&["description"]);
        at.set("servers", "Patterns of servers whose tools are in the group.", &mut self.servers);
        at.set("tools", "Patterns of tools that are in the group.", &mut self.tools);
        at.set("tags", "Tags of tools that are in the group.", &mut self.tags);
    }
}

/// A list is one of tools.
impl Setting for ToolGroup {
    fn read(item: &Item<'_>) -> Option<Self> {
        let mut group = Self::default();
        if item.value.is_array() {
            group.tools = item.read()?;
        } else {
            Fields::read(item.context, &item.pointer, item.object()?, |at| group.fields(at));
        }
        Some(group)
    }

    fn schema() -> Value {
        any_of(&[describe(|at| Self::default().fields(at)), Vec::<String>::schema()])
    }
}
