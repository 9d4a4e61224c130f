//! Putting listings together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use gateway_config::{CatalogueRules, ClashPolicy, Endpoint, UpstreamId, UpstreamSpec};

use super::listed::ToolListing;
use super::reserved::Reserved;
use super::{Catalogue, CatalogueTool, Clash, ClashOutcome};

/// What is special about the listings of some upstreams.
#[derive(Debug, Default)]
pub(crate) struct ListingOverrides {
    /// Upstreams that list the tools of another one, with its configuration.
    pub(crate) fallbacks: BTreeMap<UpstreamId, Arc<UpstreamSpec>>,
    /// Tools that are in no list, by upstream, each with the reason.
    pub(crate) unaccepted: BTreeMap<UpstreamId, BTreeMap<String, String>>,
    /// Upstreams that are not there yet, and whose names nobody else may take.
    pub(crate) reserved: Vec<UpstreamId>,
}

/// One upstream's configuration and listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) spec: &'a UpstreamSpec,
    /// `None` while its tools are not known.
    pub(crate) listing: Option<&'a ToolListing>,
}

/// Puts listings together that were read.
pub(crate) fn build(
    version: u64,
    parts: &[Part<'_>],
    rules: &CatalogueRules,
    overrides: &ListingOverrides,
) -> Catalogue {
    let mut tools = Vec::with_capacity(parts.iter().filter_map(|part| Some(part.listing?.tools.len())).sum());
    let mut left_out = Vec::new();
    let mut sorted: Vec<&Part<'_>> = parts.iter().collect();
    sorted.sort_by(|one, other| one.spec.id.cmp(&other.spec.id));
    for part in sorted {
        let Some(listing) = part.listing else { continue };
        left_out.extend_from_slice(&listing.left_out);
        let (fallback, unaccepted) =
            (overrides.fallbacks.get(&part.spec.id), overrides.unaccepted.get(&part.spec.id));
        tools.extend(listing.tools.iter().map(|tool| {
            CatalogueTool {
                public_name: tool.name.clone(),
                listed: true,
                registered: fallback.map_or(&part.spec.endpoint, |fallback| &fallback.endpoint)
                    == &Endpoint::Registry,
                unaccepted: unaccepted
                    .and_then(|unaccepted| unaccepted.get(&tool.name))
                    .map(|reason| reason.as_str().into()),
                fallback_server: fallback.map(|fallback| fallback.id.clone()),
                reserved_for: None,
                tool: Arc::clone(tool),
            }
        }));
    }
    let configured = Configured::of(parts, &rules.order);
    let reserved = Reserved::of(parts.iter().map(|part| part.spec), overrides.reserved.iter());
    for tool in &mut tools {
        tool.reserved_for = reserved.other_owner(&tool.name, &tool.server).cloned();
    }
    let clashes = give_names(&configured, &reserved, rules.clash, &mut tools);
    let mut servers: Vec<UpstreamId> = parts.iter().map(|part| part.spec.id.clone()).collect();
    servers.sort_unstable();
    let (by_name, by_public_name) = indexes(&tools);
    Catalogue {
        version,
        servers,
        by_name,
        by_public_name,
        groups: rules.groups.clone(),
        clashes,
        left_out,
        reserved,
        tools,
    }
}

/// What the configuration says about the upstreams of a catalogue.
struct Configured<'a> {
    specs: HashMap<&'a UpstreamId, (usize, &'a UpstreamSpec)>,
}

impl<'a> Configured<'a> {
    fn of(parts: &[Part<'a>], order: &[UpstreamId]) -> Self {
        let rank =
            |id: &UpstreamId| order.iter().position(|configured| configured == id).unwrap_or(order.len());
        let mut sorted: Vec<&Part<'_>> = parts.iter().collect();
        sorted.sort_by_key(|part| rank(&part.spec.id));
        let specs =
            sorted.into_iter().enumerate().map(|(rank, part)| (&part.spec.id, (rank, part.spec))).collect();
        Self { specs }
    }

    fn rank(&self, tool: &CatalogueTool) -> usize {
        self.specs.get(&tool.server).map_or(usize::MAX, |(rank, _)| *rank)
    }

    /// Whether the tools of its upstream carry the prefix always.
    fn is_always_prefixed(&self, tool: &CatalogueTool) -> bool {
        self.specs
            .get(&tool.server)
            .and_then(|(_, spec)| spec.prefix.as_deref())
            .is_some_and(|prefix| !prefix.is_empty())
    }

    /// `<prefix>__<tool>`. The prefix has only characters that MCP allows in the name of a tool.
    fn prefixed(&self, tool: &CatalogueTool) -> String {
        let configured = self.specs.get(&tool.server).and_then(|(_, spec)| spec.prefix.as_deref());
        let prefix = configured.filter(|prefix| !prefix.is_empty()).unwrap_or(tool.server.as_str());
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let prefix: String =
            prefix.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect();
        format!("{prefix}__{}", tool.name)
    }
}

/// Gives every tool its public name.
fn give_names(
    configured: &Configured<'_>,
    reserved: &Reserved,
    policy: ClashPolicy,
    tools: &mut [CatalogueTool],
) -> Vec<Clash> {
    let needs_prefix =
        |tool: &&mut CatalogueTool| configured.is_always_prefixed(tool) || tool.reserved_for.is_some();
    for tool in tools.iter_mut().filter(needs_prefix) {
        tool.public_name = configured.prefixed(tool);
    }
    unlist_reserved(reserved, tools);
    step_back(configured, policy, tools);
    let mut clashes = Vec::new();
    for (name, indexes) in wanted_twice(tools, configured) {
        let outcome = match policy {
            ClashPolicy::Error => ClashOutcome::NotListed,
            ClashPolicy::First => ClashOutcome::FirstWins,
            ClashPolicy::Prefix => ClashOutcome::Prefixed,
        };
        clashes.push(clash(&name, &indexes, tools, outcome));
        for (order, index) in indexes.into_iter().enumerate() {
            let Some(tool) = tools.get_mut(index) else { continue };
            match outcome {
                ClashOutcome::Prefixed => tool.public_name = configured.prefixed(tool),
                ClashOutcome::FirstWins if order == 0 => {}
                ClashOutcome::FirstWins | ClashOutcome::NotListed => unlist(tool),
            }
        }
    }
    unlist_reserved(reserved, tools);
    // A name with a prefix can meet another tool's own name. Prefixing again would not end, so nobody has it.
    for (name, indexes) in wanted_twice(tools, configured) {
        clashes.push(clash(&name, &indexes, tools, ClashOutcome::NotListed));
        for index in indexes {
            if let Some(tool) = tools.get_mut(index) {
                unlist(tool);
            }
        }
    }
    clashes
}

/// With its prefix in front, a name can still begin as those of a server with a longer name do.
fn unlist_reserved(reserved: &Reserved, tools: &mut [CatalogueTool]) {
    for tool in tools.iter_mut().filter(|tool| tool.listed) {
        if let Some(owner) = reserved.other_owner(&tool.public_name, &tool.server) {
            tool.reserved_for = Some(owner.clone());
            unlist(tool);
        }
    }
}

/// Lets tools of fallbacks make room for tools that are there: whoever cannot be reached changes no name of another.
fn step_back(configured: &Configured<'_>, policy: ClashPolicy, tools: &mut [CatalogueTool]) {
    if tools.iter().all(|tool| tool.fallback_server.is_none()) {
        return;
    }
    let own = tools.iter().filter(|tool| tool.fallback_server.is_none());
    let taken: HashSet<String> = own.map(|tool| tool.public_name.clone()).collect();
    let of_fallbacks =
        tools.iter_mut().filter(|tool| tool.fallback_server.is_some() && taken.contains(&tool.public_name));
    for tool in of_fallbacks {
        match policy {
            ClashPolicy::Prefix => tool.public_name = configured.prefixed(tool),
            ClashPolicy::Error | ClashPolicy::First => unlist(tool),
        }
    }
}

fn unlist(tool: &mut CatalogueTool) {
    tool.listed = false;
    tool.public_name.clone_from(&tool.tool.name);
}

/// Public names that several listed tools have, with the indexes of these in the order of the configuration.
fn wanted_twice(tools: &[CatalogueTool], configured: &Configured<'_>) -> BTreeMap<String, Vec<usize>> {
    let mut wanted: HashMap<&str, Vec<usize>> = HashMap::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate().filter(|(_, tool)| tool.listed) {
        wanted.entry(&tool.public_name).or_default().push(index);
    }
    let rank = |index: &usize| tools.get(*index).map_or(usize::MAX, |tool| configured.rank(tool));
    wanted
        .into_iter()
        .filter(|(_, indexes)| indexes.len() > 1)
        .map(|(name, mut indexes)| {
            indexes.sort_by_key(rank);
            (name.to_owned(), indexes)
        })
        .collect()
}

fn clash(name: &str, indexes: &[usize], tools: &[CatalogueTool], outcome: ClashOutcome) -> Clash {
    let servers = indexes.iter().filter_map(|index| Some(tools.get(*index)?.server.clone())).collect();
    Clash { name: name.to_owned(), servers, outcome }
}

fn indexes(tools: &[CatalogueTool]) -> (Vec<u32>, Vec<u32>) {
    let indexes = || tools.iter().zip(0_u32..);
    let sorted = |mut indexes: Vec<(&CatalogueTool, u32)>, key: fn(&CatalogueTool) -> (&str, &str)| {
        indexes.sort_by_key(|(tool, _)| key(tool));
        indexes.into_iter().map(|(_, index)| index).collect()
    };
    (
        sorted(indexes().collect(), |tool| (&tool.name, tool.server.as_str())),
        sorted(indexes().filter(|(tool, _)| tool.listed).collect(), |tool| (&tool.public_name, "")),
    )
}
