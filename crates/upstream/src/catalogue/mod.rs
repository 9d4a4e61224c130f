//! The tools of all upstreams in one list, with one name each.
//!
//! Names. A tool is published under its own name as long as no other upstream has a tool of that name: people who
//! configure one server see the names they know. What happens otherwise is the [`ClashPolicy`](gateway_config::ClashPolicy).
//! An upstream with a configured prefix carries it always, so its names do not depend on who else is configured. Three more ways lead to
//! every tool, whatever its public name: its upstream and its name, `mcp__<upstream>__<tool>`, and its bare name where
//! that is unique. Names that begin as those of another upstream do are reserved for that one: a tool with such a name
//! gets its own upstream's prefix, so that it takes nobody's calls.
//!
//! Order. Tools are sorted by the upstream's id, then stand as the upstream listed them, so that the same tools give the
//! same bytes on every start.
//!
//! Memory. Definitions share the bytes of the listing they came with. Each is read once, and its tree is kept while all of
//! them together are short.

mod build;
mod changes;
mod conform;
mod filter;
mod fingerprint;
mod listed;
mod lookup;
mod reserved;
mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gateway_config::{CatalogueRules, ToolGroup, UpstreamId, UpstreamSpec};
use gateway_protocol::{InvalidHeaderParameter, RawJson};

pub(crate) use build::{ListingOverrides, Part, build};
pub(crate) use changes::changed_parts;
pub use changes::{DefinitionChange, DefinitionChangeKind, DefinitionPart};
pub(crate) use conform::{Rule, is_icons, is_object, is_text};
pub use filter::ToolFilter;
pub use fingerprint::Fingerprint;
pub use listed::{ListedTool, MalformedTool, Withheld};
pub(crate) use listed::{TREE_BYTES, ToolListing};
pub use lookup::{LookupError, ToolCandidate, canonical_name, canonical_splits};

/// The listing of one upstream.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamTools<'a> {
    /// Its configuration.
    pub spec: &'a UpstreamSpec,
    /// Its tools as they came; empty where they are not known yet.
    pub tools: &'a [RawJson],
}

/// All tools of all upstreams at one moment.
#[derive(Debug, Default)]
pub struct Catalogue {
    version: u64,
    servers: Vec<UpstreamId>,
    tools: Vec<CatalogueTool>,
    /// Indexes into `tools`, sorted by name and upstream.
    by_name: Vec<u32>,
    /// Indexes of listed tools in `tools`, sorted by public name.
    by_public_name: Vec<u32>,
    groups: BTreeMap<String, ToolGroup>,
    clashes: Vec<Clash>,
    left_out: Vec<LeftOut>,
    reserved: reserved::Reserved,
}

impl Catalogue {
    /// Reads listings, one for each upstream, and puts them together.
    pub fn build(version: u64, parts: &[UpstreamTools<'_>], rules: &CatalogueRules) -> Self {
        let read = |part: &UpstreamTools<'_>| ToolListing::read(part.spec, part.tools, None, TREE_BYTES);
        let listings: Vec<ToolListing> = parts.iter().map(read).collect();
        let read = parts.iter().zip(&listings);
        let parts: Vec<Part<'_>> =
            read.map(|(part, listing)| Part { spec: part.spec, listing: Some(listing) }).collect();
        build(version, &parts, rules, &ListingOverrides::default())
    }

    /// Which state of affairs it shows; grows with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The upstreams that it was made from, sorted.
    pub fn servers(&self) -> &[UpstreamId] {
        &self.servers
    }

    /// Every tool that has a name, also those that are only reached by naming their upstream, and those that are unaccepted.
    pub fn tools(&self) -> &[CatalogueTool] {
        &self.tools
    }

    /// The list over all upstreams: every public name once, without what is unaccepted.
    pub fn listed(&self) -> impl Iterator<Item = &CatalogueTool> {
        self.tools.iter().filter(|tool| tool.listed && tool.unaccepted.is_none())
    }

    /// Names that more than one upstream has.
    pub fn clashes(&self) -> &[Clash] {
        &self.clashes
    }

    /// Tools whose own names are reserved for another upstream, so that they are published under another one, or not at all.
    pub fn renamed(&self) -> impl Iterator<Item = &CatalogueTool> {
        self.tools.iter().filter(|tool| tool.reserved_for.is_some())
    }

    /// What was not taken, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The names of the configured groups, sorted.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }
}

/// A tool in the list of all upstreams: what its own upstream says of it, and what it is called here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CatalogueTool {
    tool: Arc<ListedTool>,
    /// The name under which it is published.
    pub public_name: String,
    /// Whether it stands in the list over all upstreams. Otherwise it is only reached by naming its upstream.
    pub listed: bool,
    /// Whether it stands in the registry, so that nobody but us checks its arguments.
    pub registered: bool,
    /// Why it is in no list: its definition changed, and nobody has accepted it. Calls are refused with it.
    pub unaccepted: Option<Box<str>>,
    /// Whose definition it is, where its own upstream was never reached: that one takes its calls over.
    pub fallback_server: Option<UpstreamId>,
    /// The other upstream that its name is reserved for. It has its prefix then, and its own name does not lead to it
    /// unless its upstream is named.
    pub reserved_for: Option<UpstreamId>,
}

impl CatalogueTool {
    /// What the tool is at its upstream. It is the same in the next catalogue if its definition and its configuration are.
    pub fn shared(&self) -> &Arc<ListedTool> {
        &self.tool
    }
}

/// What the tool is at its upstream.
impl std::ops::Deref for CatalogueTool {
    type Target = ListedTool;

    fn deref(&self) -> &ListedTool {
        &self.tool
    }
}

/// A name that more than one tool wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clash {
    /// The name.
    pub name: String,
    /// The upstreams that have it, in the order of the configuration.
    pub servers: Vec<UpstreamId>,
    /// What was done.
    pub outcome: ClashOutcome,
}

impl fmt::Display for Clash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<&str> = self.servers.iter().map(UpstreamId::as_str).collect();
        write!(formatter, "tool `{}` is offered by {}: ", self.name, servers.join(", "))?;
        formatter.write_str(match self.outcome {
            ClashOutcome::Prefixed => "each has its server's name in front now",
            ClashOutcome::FirstWins => "the first one has the name",
            ClashOutcome::NotListed => "none of them is listed",
        })
    }
}

/// What was done about a clash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClashOutcome {
    /// Each tool has its upstream's prefix.
    Prefixed,
    /// The first upstream has the name; the others are not listed.
    FirstWins,
    /// None of them is listed.
    NotListed,
}

/// Something in a listing that is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Whose listing.
    pub server: UpstreamId,
    /// The tool's name, if it has one.
    pub name: Option<String>,
    /// Its index in the listing.
    pub index: usize,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why something in a listing is not offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// It is not a JSON object.
    #[error("the entry is not an object")]
    NotAnObject,
    /// It has no name.
    #[error("the tool has no name")]
    NoName,
    /// An earlier tool of the same upstream has this name.
    #[error("the server has another tool of this name")]
    Duplicate,
    /// `tools.allow` does not name it.
    #[error("the configuration does not allow it (`tools.allow`)")]
    NotAllowed,
    /// `tools.deny` names it.
    #[error("the configuration denies it (`tools.deny`)")]
    Denied,
    /// A client over HTTP must not offer it (MCP 2026-07-28, SEP-2243).
    #[error(transparent)]
    Header(#[from] InvalidHeaderParameter),
}
