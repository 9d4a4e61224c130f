//! Putting listings together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use gateway_config::pattern::{any_matches, matching};
use gateway_config::{CatalogueRules, ClashPolicy, Endpoint, Importance, UpstreamId, UpstreamSpec};
use gateway_protocol::{HeaderParameter, InvalidHeaderParameter, RawJson, RawObject, header_parameters};
use serde_json::{Map, Value};

use super::reserved::Reserved;
use super::view::{self, Labels};
use super::{
    Catalogue, CatalogueTool, Clash, ClashOutcome, Fingerprint, LeftOut, LeftOutReason, UpstreamTools,
};

/// What is special about the listings of some upstreams.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Upstreams that list the tools of another one, with its configuration.
    pub(crate) lent: BTreeMap<UpstreamId, Arc<UpstreamSpec>>,
    /// Tools that are in no list, by upstream, each with the reason.
    pub(crate) withheld: BTreeMap<UpstreamId, BTreeMap<String, String>>,
    /// Upstreams that are not there yet, and whose names nobody else may take.
    pub(crate) reserved: Vec<UpstreamId>,
}

pub(super) fn build(
    version: u64,
    parts: &[UpstreamTools<'_>],
    rules: &CatalogueRules,
    standing: &Standing,
) -> Catalogue {
    let mut tools = Vec::with_capacity(parts.iter().map(|part| part.tools.len()).sum());
    let mut left_out = Vec::new();
    let mut sorted: Vec<&UpstreamTools<'_>> = parts.iter().collect();
    sorted.sort_by(|one, other| one.spec.id.cmp(&other.spec.id));
    for part in sorted {
        take_listing(part, standing, &mut tools, &mut left_out);
    }
    let configured = Configured::of(parts, &rules.order);
    let reserved = Reserved::of(parts.iter().map(|part| part.spec), standing.reserved.iter());
    for tool in &mut tools {
        tool.reserved_for = reserved.other_owner(&tool.name, &tool.server).cloned();
    }
    let clashes = give_names(&configured, &reserved, rules.clash, &mut tools);
    let mut servers: Vec<UpstreamId> = parts.iter().map(|part| part.spec.id.clone()).collect();
    servers.sort_unstable();
    let (by_server, by_name, by_public_name) = indexes(&tools);
    Catalogue {
        version,
        servers,
        by_server,
        by_name,
        by_public_name,
        groups: rules.groups.clone(),
        clashes,
        left_out,
        reserved,
        tools,
    }
}

fn take_listing(
    part: &UpstreamTools<'_>,
    standing: &Standing,
    tools: &mut Vec<CatalogueTool>,
    left_out: &mut Vec<LeftOut>,
) {
    let (lender, withheld) = (standing.lent.get(&part.spec.id), standing.withheld.get(&part.spec.id));
    let (mut seen, mut lent) = (HashSet::new(), HashSet::new());
    for (place, definition) in part.tools.iter().enumerate() {
        // Nobody lends what it does not offer itself.
        if lender.is_some_and(|lender| read_tool(lender, definition, &mut lent).is_err()) {
            continue;
        }
        match read_tool(part.spec, definition, &mut seen) {
            Ok(mut tool) => {
                if let Some(lender) = lender {
                    tool.lent_by = Some(lender.id.clone());
                    tool.registered = lender.endpoint == Endpoint::Registry;
                }
                let reason = withheld.and_then(|withheld| withheld.get(&tool.name));
                tool.withheld = reason.map(|reason| reason.as_str().into());
                tools.push(tool);
            }
            Err((name, reason)) => {
                left_out.push(LeftOut { server: part.spec.id.clone(), name, place, reason });
            }
        }
    }
}

/// The tools of a listing with their fingerprints and definitions, one after the other, before they are put together with
/// others.
pub(crate) fn fingerprinted_tools<'a>(
    spec: &UpstreamSpec,
    entries: &'a [RawJson],
) -> impl Iterator<Item = (String, Fingerprint, &'a RawJson)> {
    let mut seen = HashSet::new();
    entries.iter().filter_map(move |definition| {
        let tool = read_tool(spec, definition, &mut seen).ok()?;
        Some((tool.name, tool.fingerprint, definition))
    })
}

/// The name of a tool, as the catalogue has it.
pub(crate) fn tool_name(definition: &RawJson) -> Option<String> {
    name_of(&RawObject::parse(definition).ok()?)
}

fn name_of(definition: &RawObject<'_>) -> Option<String> {
    view::text(definition.get("name")).map(String::from)
}

fn read_tool(
    spec: &UpstreamSpec,
    definition: &RawJson,
    seen: &mut HashSet<String>,
) -> Result<CatalogueTool, (Option<String>, LeftOutReason)> {
    let Ok(members) = RawObject::parse(definition) else { return Err((None, LeftOutReason::NotAnObject)) };
    let Some(name) = name_of(&members) else { return Err((None, LeftOutReason::NoName)) };
    let rules = &spec.tools;
    if any_matches(&rules.deny, &name) {
        return Err((Some(name), LeftOutReason::Denied));
    }
    if !rules.allow.is_empty() && !any_matches(&rules.allow, &name) {
        return Err((Some(name), LeftOutReason::NotAllowed));
    }
    if !seen.insert(name.clone()) {
        return Err((Some(name), LeftOutReason::Duplicate));
    }
    let header_parameters = match mirrored(&members) {
        Ok(parameters) => parameters,
        Err(invalid) if matches!(spec.endpoint, Endpoint::Http { .. }) => {
            return Err((Some(name), invalid.into()));
        }
        // Nothing is mirrored where there are no headers.
        Err(_) => Vec::new(),
    };
    let effective =
        rules.overrides.get(&name).and_then(|overrides| view::overridden(definition, overrides).ok());
    let labels = match &effective {
        Some(effective) => {
            RawObject::parse(effective).map(|members| Labels::of(&members)).unwrap_or_default()
        }
        None => Labels::of(&members),
    };
    let read_only = labels.read_only.unwrap_or(false);
    Ok(CatalogueTool {
        server: spec.id.clone(),
        listed: true,
        definition: definition.clone(),
        effective,
        read_only,
        destructive: !read_only && labels.destructive.unwrap_or(true),
        // `idempotentHint` only means something where `readOnlyHint` is false: what changes nothing may run twice.
        idempotent: read_only || labels.idempotent.unwrap_or(false) || any_matches(&rules.idempotent, &name),
        always_allow: any_matches(&rules.always_allow, &name),
        approval: first(&rules.approval, &name).copied(),
        registered: spec.endpoint == Endpoint::Registry,
        category: first(&rules.categories, &name)
            .map(|category| Arc::from(category.as_str()))
            .or(labels.category),
        importance: first(&rules.importance, &name)
            .and_then(|importance| Importance::parse(importance))
            .or(labels.importance)
            .unwrap_or_default(),
        tags: all_tags(&rules.tags, &name, labels.tags),
        fingerprint: Fingerprint::of(&name, &members),
        hidden: hidden(&rules.hidden, &name),
        injected: injected(&rules.injected, &name),
        title: labels.title,
        lent_by: None,
        reserved_for: None,
        withheld: None,
        header_parameters,
        public_name: name.clone(),
        name,
    })
}

fn mirrored(definition: &RawObject<'_>) -> Result<Vec<HeaderParameter>, InvalidHeaderParameter> {
    let Some(schema) = definition.get("inputSchema") else { return Ok(Vec::new()) };
    // Reading a schema costs much more than looking for the word.
    if !schema.get().contains("x-mcp-header") {
        return Ok(Vec::new());
    }
    serde_json::from_str::<Value>(schema.get())
        .map_or_else(|_| Ok(Vec::new()), |schema| header_parameters(&schema))
}

fn first<'a, T>(entries: &'a BTreeMap<String, T>, name: &str) -> Option<&'a T> {
    matching(entries, name).into_iter().next()
}

fn all_tags(entries: &BTreeMap<String, Vec<String>>, name: &str, mut tags: Vec<Arc<str>>) -> Vec<Arc<str>> {
    tags.extend(matching(entries, name).into_iter().flatten().map(|tag| Arc::from(tag.as_str())));
    tags.sort_unstable();
    tags.dedup();
    tags
}

fn hidden(entries: &BTreeMap<String, Vec<String>>, name: &str) -> Vec<String> {
    let mut hidden: Vec<String> = matching(entries, name).into_iter().flatten().cloned().collect();
    hidden.sort_unstable();
    hidden.dedup();
    hidden
}

fn injected(entries: &BTreeMap<String, Map<String, Value>>, name: &str) -> Map<String, Value> {
    let mut injected = Map::new();
    // The most specific pattern comes first and wins.
    for (parameter, value) in matching(entries, name).into_iter().flatten() {
        injected.entry(parameter).or_insert_with(|| value.clone());
    }
    injected
}

/// What the configuration says about the upstreams of a catalogue.
struct Configured<'a> {
    specs: HashMap<&'a UpstreamId, (usize, &'a UpstreamSpec)>,
}

impl<'a> Configured<'a> {
    fn of(parts: &[UpstreamTools<'a>], order: &[UpstreamId]) -> Self {
        let rank =
            |id: &UpstreamId| order.iter().position(|configured| configured == id).unwrap_or(order.len());
        let mut sorted: Vec<&UpstreamTools<'_>> = parts.iter().collect();
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
    for (name, places) in wanted_twice(tools, configured) {
        let outcome = match policy {
            ClashPolicy::Error => ClashOutcome::NotListed,
            ClashPolicy::First => ClashOutcome::FirstWins,
            ClashPolicy::Prefix => ClashOutcome::Prefixed,
        };
        clashes.push(clash(&name, &places, tools, outcome));
        for (order, place) in places.into_iter().enumerate() {
            let Some(tool) = tools.get_mut(place) else { continue };
            match outcome {
                ClashOutcome::Prefixed => tool.public_name = configured.prefixed(tool),
                ClashOutcome::FirstWins if order == 0 => {}
                ClashOutcome::FirstWins | ClashOutcome::NotListed => unlist(tool),
            }
        }
    }
    unlist_reserved(reserved, tools);
    // A name with a prefix can meet another tool's own name. Prefixing again would not end, so nobody has it.
    for (name, places) in wanted_twice(tools, configured) {
        clashes.push(clash(&name, &places, tools, ClashOutcome::NotListed));
        for place in places {
            if let Some(tool) = tools.get_mut(place) {
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

/// Lets lent tools make room for tools that are there: whoever cannot be reached changes no name of another.
fn step_back(configured: &Configured<'_>, policy: ClashPolicy, tools: &mut [CatalogueTool]) {
    if tools.iter().all(|tool| tool.lent_by.is_none()) {
        return;
    }
    let own = tools.iter().filter(|tool| tool.lent_by.is_none());
    let taken: HashSet<String> = own.map(|tool| tool.public_name.clone()).collect();
    let lent = tools.iter_mut().filter(|tool| tool.lent_by.is_some() && taken.contains(&tool.public_name));
    for tool in lent {
        match policy {
            ClashPolicy::Prefix => tool.public_name = configured.prefixed(tool),
            ClashPolicy::Error | ClashPolicy::First => unlist(tool),
        }
    }
}

fn unlist(tool: &mut CatalogueTool) {
    tool.listed = false;
    tool.public_name.clone_from(&tool.name);
}

/// Public names that several listed tools have, with the places of these in the order of the configuration.
fn wanted_twice(tools: &[CatalogueTool], configured: &Configured<'_>) -> BTreeMap<String, Vec<usize>> {
    let mut wanted: HashMap<&str, Vec<usize>> = HashMap::with_capacity(tools.len());
    for (place, tool) in tools.iter().enumerate().filter(|(_, tool)| tool.listed) {
        wanted.entry(&tool.public_name).or_default().push(place);
    }
    let rank = |place: &usize| tools.get(*place).map_or(usize::MAX, |tool| configured.rank(tool));
    wanted
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, mut places)| {
            places.sort_by_key(rank);
            (name.to_owned(), places)
        })
        .collect()
}

fn clash(name: &str, places: &[usize], tools: &[CatalogueTool], outcome: ClashOutcome) -> Clash {
    let servers = places.iter().filter_map(|place| Some(tools.get(*place)?.server.clone())).collect();
    Clash { name: name.to_owned(), servers, outcome }
}

fn indexes(tools: &[CatalogueTool]) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let places = || tools.iter().zip(0_u32..);
    let sorted = |mut places: Vec<(&CatalogueTool, u32)>, key: fn(&CatalogueTool) -> (&str, &str)| {
        places.sort_by_key(|(tool, _)| key(tool));
        places.into_iter().map(|(_, place)| place).collect()
    };
    (
        sorted(places().collect(), |tool| (tool.server.as_str(), &tool.name)),
        sorted(places().collect(), |tool| (&tool.name, tool.server.as_str())),
        sorted(places().filter(|(tool, _)| tool.listed).collect(), |tool| (&tool.public_name, "")),
    )
}
