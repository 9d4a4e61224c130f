//! Tools as their servers listed them. A definition is read once, when it arrives; every catalogue, list and index shares
//! what was read.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use gateway_config::{Approval, Endpoint, Importance, UpstreamId, UpstreamSpec};
use gateway_notation::pattern::{any_matches, matching};
use gateway_protocol::{HeaderParameter, InvalidHeaderParameter, RawJson, RawObject, header_parameters};
use serde_json::{Map, Value};

use super::conform::{Conformed, conform, without_output_schema};
use super::view::{self, Labels, Members};
use super::{Fingerprint, LeftOut, LeftOutReason, canonical_name};
use crate::long_work;

/// Bytes of definitions whose trees are kept, over all upstreams. Those of longer definitions are read again when somebody
/// needs them: of 1,000 tools with 0.9 MB of text all trees take 7 MB more, which is a third of an idle gateway, while reading
/// them again takes 5 ms of a list that is rendered once and kept.
pub(crate) const TREE_BYTES: usize = 256 << 10;

/// A tool of one upstream: what its definition says, and what its upstream's configuration says about it.
#[derive(PartialEq)]
#[non_exhaustive]
pub struct ListedTool {
    /// Whose it is.
    pub server: UpstreamId,
    /// Its name at the upstream.
    pub name: String,
    /// Its definition as it came.
    pub definition: RawJson,
    /// Its definition with the configured overrides, if there are any.
    pub effective: Option<RawJson>,
    /// Its definition without hidden and injected parameters, if there are any.
    visible: Option<RawJson>,
    /// How clients of MCP may see it.
    conformed: Conformed,
    /// What models see of it, while there is room for trees.
    tree: Option<Value>,
    /// Its name for people.
    pub title: Option<Box<str>>,
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// It may run twice: by configuration, or because its author says that it is idempotent or changes nothing.
    pub idempotent: bool,
    /// It needs no approval, by configuration.
    pub always_allow: bool,
    /// Whether its calls run, where its server's entry says so.
    pub approval: Option<Approval>,
    /// Its category, from the configuration or the definition.
    pub category: Option<Arc<str>>,
    /// Its importance, from the configuration or the definition.
    pub importance: Importance,
    /// Whether a list that cannot hold all tools holds it first, by configuration.
    pub pinned: bool,
    /// Its tags, from the configuration and the definition, sorted.
    pub tags: Vec<Arc<str>>,
    /// What its definition is known by.
    pub fingerprint: Fingerprint,
    /// Parameters that the model never sees.
    pub hidden: Vec<String>,
    /// Parameters that the model never sees and the gateway fills in.
    pub injected: Map<String, Value>,
    /// Parameters that are mirrored into headers.
    pub header_parameters: Vec<HeaderParameter>,
}

/// Values that are filled in may be secrets, so only their names are shown.
impl fmt::Debug for ListedTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ListedTool")
            .field("server", &self.server)
            .field("name", &self.name)
            .field("definition", self.shown())
            .field("hidden", &self.hidden)
            .field("injected", &self.injected.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl ListedTool {
    /// The definition to show: with overrides where some are configured, else as it came.
    pub fn shown(&self) -> &RawJson {
        self.effective.as_ref().unwrap_or(&self.definition)
    }

    /// The definition to show to those who take it as it is: without the hidden and injected parameters.
    pub fn without_hidden(&self) -> &RawJson {
        self.visible.as_ref().unwrap_or_else(|| self.shown())
    }

    /// The definition to show to clients of MCP, who drop a whole list for one definition that is not as MCP has it; `None` if
    /// they cannot be shown any.
    pub fn for_clients(&self, is_modern: bool) -> Option<Cow<'_, RawJson>> {
        if self.conformed.is_withheld {
            return None;
        }
        let shown = self.conformed.repaired.as_ref().unwrap_or_else(|| self.without_hidden());
        if self.conformed.has_modern_output && !is_modern {
            return without_output_schema(shown).map(Cow::Owned);
        }
        Some(Cow::Borrowed(shown))
    }

    /// What MCP does not allow in its definition.
    pub fn faults(&self) -> &[String] {
        &self.conformed.faults
    }

    /// [The definition that models see](Self::without_hidden) as a value; `null` if it is too deep to be read.
    pub fn value(&self) -> Cow<'_, Value> {
        match &self.tree {
            Some(tree) => Cow::Borrowed(tree),
            None => Cow::Owned(self.without_hidden().read().unwrap_or_default()),
        }
    }

    /// The hidden parameter that `arguments` hold, if they hold one: no caller may choose its value. Those that are filled in
    /// are replaced on the way to the server, so they do no harm.
    pub fn hidden_parameter(&self, arguments: &RawJson) -> Option<&str> {
        if self.hidden.is_empty() {
            return None;
        }
        let given = RawObject::parse(arguments).ok()?;
        let mut hidden = self.hidden.iter().filter(|name| !self.injected.contains_key(name.as_str()));
        hidden.find(|name| given.get(name).is_some()).map(String::as_str)
    }

    /// `mcp__<upstream>__<tool>`.
    pub fn canonical_name(&self) -> String {
        canonical_name(self.server.as_str(), &self.name)
    }

    fn read(spec: &UpstreamSpec, definition: &RawJson, seen: &mut HashSet<String>) -> Result<Self, NotTaken> {
        let members = Members::read(definition).ok_or((None, LeftOutReason::NotAnObject))?;
        let name = view::text(members.get("name")).ok_or((None, LeftOutReason::NoName))?;
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
        let header_parameters = match mirrored(definition, &members) {
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
                Members::read(effective).map(|members| Labels::of(&members)).unwrap_or_default()
            }
            None => Labels::of(&members),
        };
        let (hidden, injected) = (hidden(&rules.hidden, &name), injected(&rules.injected, &name));
        let is_hidden =
            |name: &str| hidden.iter().any(|hidden| hidden == name) || injected.contains_key(name);
        let hides = !hidden.is_empty() || !injected.is_empty();
        let visible = hides
            .then(|| view::without_parameters(effective.as_ref().unwrap_or(definition), is_hidden))
            .flatten();
        let fingerprint = Fingerprint::of(&name, &members);
        let conformed = conform(visible.as_ref().or(effective.as_ref()).unwrap_or(definition));
        let tree = match visible.as_ref().or(effective.as_ref()) {
            Some(seen_by_models) => seen_by_models.read().ok(),
            None => members.whole(),
        };
        let read_only = labels.read_only.unwrap_or(false);
        Ok(Self {
            server: spec.id.clone(),
            definition: definition.clone(),
            effective,
            visible,
            conformed,
            tree,
            read_only,
            destructive: !read_only && labels.destructive.unwrap_or(true),
            // `idempotentHint` only means something where `readOnlyHint` is false: what changes nothing may run twice.
            idempotent: read_only
                || labels.idempotent.unwrap_or(false)
                || any_matches(&rules.idempotent, &name),
            always_allow: any_matches(&rules.always_allow, &name),
            approval: first(&rules.approval, &name).copied(),
            category: first(&rules.categories, &name)
                .map(|category| Arc::from(category.as_str()))
                .or(labels.category),
            importance: first(&rules.importance, &name).copied().or(labels.importance).unwrap_or_default(),
            pinned: any_matches(&rules.pin, &name),
            tags: all_tags(&rules.tags, &name, labels.tags),
            fingerprint,
            hidden,
            injected,
            title: labels.title,
            header_parameters,
            name,
        })
    }
}

/// The name of a tool that is left out, if it has one, and why it is.
type NotTaken = (Option<String>, LeftOutReason);

/// What one upstream lists.
#[derive(Debug, Default)]
pub(crate) struct ToolListing {
    /// All definitions as they came.
    pub(crate) definitions: Arc<[RawJson]>,
    /// The tools that it offers, in order.
    pub(crate) tools: Vec<Arc<ListedTool>>,
    /// The definitions that are not offered.
    pub(super) left_out: Vec<LeftOut>,
    /// Bytes of the definitions whose trees are kept.
    pub(crate) tree_bytes: usize,
}

/// A tool that is not as MCP has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MalformedTool {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its index in the listing.
    pub index: usize,
    /// What is wrong with it.
    pub reason: String,
    /// Who is not shown it for that.
    pub withheld: Withheld,
}

impl fmt::Display for MalformedTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(formatter, "tool `{name}`: {}", self.reason),
            None => write!(formatter, "the tool at index {}: {}", self.index, self.reason),
        }
    }
}

/// Who is not shown a tool that is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// Everybody is shown it, repaired where need be.
    FromNobody,
    /// Clients of MCP. What providers are shown is up to their dialects.
    FromClients,
    /// Nobody is shown it.
    FromAll,
}

/// Most tools of one server that are reported as malformed.
const MALFORMED: usize = 100;

impl ToolListing {
    /// Reads the definitions that `known`, an earlier listing under the same configuration, does not hold. Trees are kept while
    /// their texts have no more bytes than `room`.
    pub(crate) fn read(
        spec: &UpstreamSpec,
        definitions: impl Into<Arc<[RawJson]>>,
        known: Option<&Self>,
        room: usize,
    ) -> Self {
        let definitions = definitions.into();
        let known: HashMap<&[u8], &Arc<ListedTool>> = known
            .iter()
            .flat_map(|known| &known.tools)
            .map(|tool| (tool.definition.as_bytes(), tool))
            .collect();
        let mut listing = Self { definitions: Arc::clone(&definitions), ..Self::default() };
        let mut seen = HashSet::new();
        let mut take = |(index, definition): (usize, &RawJson)| {
            let known = known.get(definition.as_bytes()).filter(|tool| !seen.contains(&tool.name));
            let read = match known {
                Some(tool) => {
                    seen.insert(tool.name.clone());
                    Ok(Arc::clone(tool))
                }
                None => ListedTool::read(spec, definition, &mut seen).map(|mut tool| {
                    if listing.tree_bytes + definition.len() > room {
                        tool.tree = None;
                    }
                    Arc::new(tool)
                }),
            };
            match read {
                Ok(tool) => {
                    listing.tree_bytes += tool.tree.as_ref().map_or(0, |_| definition.len());
                    listing.tools.push(tool);
                }
                Err((name, reason)) => {
                    listing.left_out.push(LeftOut { server: spec.id.clone(), name, index, reason });
                }
            }
        };
        let bytes = definitions.iter().map(RawJson::len).sum();
        long_work::reading(bytes, || definitions.iter().enumerate().for_each(&mut take));
        listing.tools.shrink_to_fit();
        listing
    }

    /// The definitions as they came, without those of tools of which `is_unaccepted` says so.
    pub(crate) fn accepted_definitions(&self, is_unaccepted: impl Fn(&str) -> bool) -> Vec<RawJson> {
        let refused: HashSet<&[u8]> = self
            .tools
            .iter()
            .filter(|tool| is_unaccepted(&tool.name))
            .map(|tool| tool.definition.as_bytes())
            .collect();
        let definitions = self.definitions.iter();
        definitions.filter(|definition| !refused.contains(definition.as_bytes())).cloned().collect()
    }

    /// The tools that are not as MCP has them, in the order of the listing; the first hundred where there are many.
    pub(crate) fn malformed(&self) -> Vec<MalformedTool> {
        let is_wanted =
            |left: &&LeftOut| !matches!(left.reason, LeftOutReason::NotAllowed | LeftOutReason::Denied);
        let left_out = self.left_out.iter().filter(is_wanted).map(|left| MalformedTool {
            name: left.name.clone(),
            index: left.index,
            reason: left.reason.to_string(),
            withheld: Withheld::FromAll,
        });
        let faulty = self.tools.iter().filter(|tool| !tool.faults().is_empty()).map(|tool| {
            let index = self.definitions.iter().position(|definition| *definition == tool.definition);
            let withheld =
                if tool.conformed.is_withheld { Withheld::FromClients } else { Withheld::FromNobody };
            let (name, reason) = (Some(tool.name.clone()), tool.faults().join("; "));
            MalformedTool { name, index: index.unwrap_or_default(), reason, withheld }
        });
        let mut malformed: Vec<MalformedTool> =
            left_out.take(MALFORMED).chain(faulty.take(MALFORMED)).collect();
        malformed.sort_by_key(|tool| tool.index);
        malformed.truncate(MALFORMED);
        malformed
    }
}

fn mirrored(
    definition: &RawJson,
    members: &Members<'_>,
) -> Result<Vec<HeaderParameter>, InvalidHeaderParameter> {
    // Walking a schema costs much more than looking for the word.
    match members.get("inputSchema") {
        Some(schema) if definition.as_str().contains("x-mcp-header") => header_parameters(schema),
        Some(_) | None => Ok(Vec::new()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> UpstreamSpec {
        UpstreamSpec::new("up", Endpoint::Demo)
    }

    fn definitions(texts: &[&str]) -> Arc<[RawJson]> {
        texts.iter().map(|text| RawJson::parse((*text).to_owned()).unwrap()).collect()
    }

    #[test]
    fn a_definition_is_read_once_however_often_it_is_listed() {
        let (a, b) = (r#"{"name":"a"}"#, r#"{"name":"b"}"#);
        let first = ToolListing::read(&spec(), definitions(&[a, b]), None, TREE_BYTES);
        let changed = r#"{"name":"a","title":"A"}"#;
        let second = ToolListing::read(&spec(), definitions(&[b, changed, b, a]), Some(&first), TREE_BYTES);
        let names: Vec<&str> = second.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert!(Arc::ptr_eq(&second.tools[0], &first.tools[1]));
        assert_eq!(second.tools[1].title.as_deref(), Some("A"));
        let left_out = |index, name: &str| LeftOut {
            server: UpstreamId::new("up"),
            name: Some(name.to_owned()),
            index,
            reason: LeftOutReason::Duplicate,
        };
        assert_eq!(second.left_out, [left_out(2, "b"), left_out(3, "a")]);
        assert_eq!(second.tree_bytes, b.len() + changed.len());
    }

    #[test]
    fn trees_are_kept_while_there_is_room() {
        let (a, b) = (r#"{"name":"a"}"#, r#"{"name":"b"}"#);
        let listing = ToolListing::read(&spec(), definitions(&[a, b]), None, a.len());
        assert!(matches!(listing.tools[0].value(), Cow::Borrowed(_)));
        assert!(matches!(listing.tools[1].value(), Cow::Owned(_)));
        let values: Vec<Value> = listing.tools.iter().map(|tool| tool.value().into_owned()).collect();
        assert_eq!(Value::from(values), serde_json::json!([{"name": "a"}, {"name": "b"}]));
        assert_eq!(listing.tree_bytes, a.len());
    }

    #[test]
    fn what_cannot_be_read_hides_nothing_else() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let text = format!(
            r#"{{"name":"a","title":"A","inputSchema":{deep},"annotations":{{"readOnlyHint":true}},"description":"\ud800"}}"#
        );
        let other = text.replacen("[[", "[[[],", 1);
        let read = |text: &str| ToolListing::read(&spec(), definitions(&[text]), None, TREE_BYTES);
        let (listing, other) = (read(&text), read(&other));
        let tool = &listing.tools[0];
        assert_eq!((tool.title.as_deref(), tool.read_only, &*tool.value()), (Some("A"), true, &Value::Null));
        assert_ne!(tool.fingerprint, other.tools[0].fingerprint);
        // As ever: what is remembered of a server must not change with how it is read.
        assert_eq!(
            tool.fingerprint.hex(),
            "17e95b7e480e8c552ae15d0982c0f301ea6b4bab459a747e806baab95fef58d5"
        );
    }
}
