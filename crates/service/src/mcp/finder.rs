//! Search instead of a list: three tools that stand for all those of an endpoint.
//!
//! A finder belongs to one list of tools at one version of the catalogue. It finds and describes nothing but these, so
//! that a caller learns of no tool that its own list does not show.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use gateway_config::SearchMode;
use gateway_dialects::arguments::unknown_tool_text;
use gateway_notation::spelling::nearest_names;
use gateway_protocol::{RawJson, RawObject, RpcError, method};
use gateway_upstream::{Catalogue, CatalogueTool, UpstreamId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::caller::Caller;
use super::core::{invalid, not_found};
use super::face::Face;
use super::offers::renamed;
use crate::runtime::failure::error_result;
use crate::runtime::gateway::Gateway;
use gateway_search::{
    FoundTool, MetaTool, MetaTools, SearchArguments, TokenCost, ToolEntry, ToolIndex, describe_result,
    search_result,
};

/// A member of `_meta` of `tools/list`: `all` gives every definition, whatever is configured.
const LIST_META: &str = "mcp-tool-gateway/list";
/// A member of `_meta` of the answer: how many tools there are, and what they would have cost.
const SEARCH_META: &str = "mcp-tool-gateway/search";

/// The tools of one list, and the three that stand for them.
#[derive(Debug)]
pub(crate) struct Finder {
    tools: Vec<Listed>,
    by_name: HashMap<Box<str>, usize>,
    meta: MetaTools,
    definitions: [Value; 3],
    shown: Arc<[RawJson]>,
    cost: TokenCost,
    /// Built when somebody searches for the first time.
    index: OnceCell<Arc<ToolIndex>>,
}

/// A tool of the list.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Its name in the list.
    pub(crate) name: Box<str>,
    pub(crate) server: UpstreamId,
    /// Its name at the server.
    pub(crate) own: Box<str>,
    definition: RawJson,
}

impl Finder {
    /// A finder over tools, each with its name in the list.
    pub(crate) fn new<'c>(tools: impl Iterator<Item = (&'c str, &'c CatalogueTool)>) -> Self {
        let tools: Vec<Listed> = tools
            .map(|(name, tool)| Listed {
                name: name.into(),
                server: tool.server.clone(),
                own: tool.name.as_str().into(),
                definition: tool.without_hidden().clone(),
            })
            .collect();
        let by_name: HashMap<Box<str>, usize> =
            tools.iter().enumerate().map(|(place, tool)| (tool.name.clone(), place)).collect();
        // A bare name may lead to a tool that is listed under another one.
        let meta = MetaTools::beside(|name| {
            by_name.contains_key(name) || tools.iter().any(|tool| &*tool.own == name)
        });
        let servers: BTreeSet<&str> = tools.iter().map(|tool| tool.server.as_str()).collect();
        let servers: Vec<&str> = servers.into_iter().collect();
        let definitions = meta.definitions(tools.len(), &servers);
        let shown: Arc<[RawJson]> =
            definitions.iter().filter_map(|definition| RawJson::of(definition).ok()).collect();
        let cost = TokenCost::of(tools.iter().map(|tool| &tool.definition), shown.iter());
        Self { tools, by_name, meta, definitions, shown, cost, index: OnceCell::new() }
    }

    /// The three definitions, for a translation.
    pub(crate) fn definitions(&self) -> &[Value; 3] {
        &self.definitions
    }

    /// What the list costs, and the three.
    pub(crate) fn cost(&self) -> TokenCost {
        self.cost
    }

    /// The tool of the list that is meant: by its name there, else by any other that leads to it.
    pub(crate) fn find(&self, catalogue: &Catalogue, server: Option<&str>, name: &str) -> Option<&Listed> {
        if let Some(place) = self.by_name.get(name) {
            return self.tools.get(*place);
        }
        let tool = catalogue.resolve(server, name).ok()?;
        self.tools.iter().find(|listed| listed.server == tool.server && *listed.own == *tool.name)
    }

    /// What is told about a name that leads to no tool of the list.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let nearest = nearest_names(name, self.tools.iter().map(|tool| &*tool.name));
        format!(
            "{}. {} finds tools by what they do.",
            unknown_tool_text(name, &nearest),
            self.meta.name(MetaTool::Search)
        )
    }

    /// The result of a search.
    pub(crate) async fn search(self: &Arc<Self>, arguments: &Value) -> RawJson {
        let read: SearchArguments = match SearchArguments::deserialize(arguments) {
            Ok(read) => read,
            Err(error) => return error_result(&format!("The arguments do not fit: {error}")),
        };
        let index = self
            .index
            .get_or_init(|| async {
                let finder = Arc::clone(self);
                // Thousands of definitions take a while, and other requests must not wait for it.
                tokio::task::spawn_blocking(move || Arc::new(finder.indexed())).await.unwrap_or_default()
            })
            .await;
        let hits = index.search(&read.query, read.limit());
        let found: Vec<FoundTool<'_>> = hits
            .iter()
            .filter_map(|hit| self.tools.get(hit.place))
            .map(|tool| FoundTool {
                name: &tool.name,
                server: tool.server.as_str(),
                definition: &tool.definition,
            })
            .collect();
        RawJson::of(&search_result(&read.query, &found))
            .unwrap_or_else(|error| error_result(&error.to_string()))
    }

    fn indexed(&self) -> ToolIndex {
        let entries: Vec<ToolEntry<'_>> = self
            .tools
            .iter()
            .map(|tool| ToolEntry {
                name: &tool.name,
                server: tool.server.as_str(),
                definition: &tool.definition,
            })
            .collect();
        ToolIndex::build(&entries)
    }

    /// What the answer to `tools/list` says beside the three.
    fn note(&self) -> Value {
        let tokens = json!({"all": self.cost.all, "listed": self.cost.listed, "saved": self.cost.saved()});
        json!({SEARCH_META: {"tools": self.tools.len(), "tokens": tokens}})
    }
}

impl Listed {
    /// Its definition, under its name in the list.
    pub(crate) fn described(&self) -> RawJson {
        let definition = if self.name == self.own {
            Some(self.definition.clone())
        } else {
            renamed(&self.definition, "name", &self.name)
        };
        let result = definition.and_then(|definition| describe_result(&definition));
        result.unwrap_or_else(|| error_result("the definition of this tool cannot be read"))
    }
}

/// Which tool is to be described or called, and with what.
#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Option<RawJson>,
}

impl Named {
    /// The arguments as they came: reading and writing would change big numbers.
    fn arguments(&self) -> Result<RawJson, serde_json::Error> {
        match &self.arguments {
            // Some models write JSON into a text where an object is asked for.
            Some(raw) if raw.as_str().starts_with('"') => RawJson::parse(raw.read::<String>()?),
            Some(raw) if raw.as_str() != "null" => Ok(raw.clone()),
            Some(_) | None => Ok(RawJson::empty_object()),
        }
    }
}

/// Whether a name may be one of the three, with whatever suffix.
pub(crate) fn may_be_meant(name: &str) -> bool {
    ["search_tools", "describe_tool", "call_tool"].iter().any(|base| name.starts_with(base))
}

/// The finders of the endpoints, for one version of the catalogue each.
#[derive(Debug, Default)]
pub(super) struct Finders(Mutex<Known>);

type Known = HashMap<Face, (u64, Arc<Finder>)>;

impl Finders {
    fn get(&self, gateway: &Gateway, face: &Face) -> Arc<Finder> {
        /// Faces are configured; more than these cannot be meant.
        const FACES: usize = 256;
        let catalogue = gateway.fleet().catalogue();
        let known = self.lock().get(face).filter(|(version, _)| *version == catalogue.version()).cloned();
        if let Some((_, finder)) = known {
            return finder;
        }
        let tools = face.tools(&catalogue);
        let finder = Arc::new(Finder::new(tools.into_iter().map(|tool| (face.name_of(tool), tool))));
        if is_on(gateway, &finder) {
            let TokenCost { all, listed } = finder.cost;
            tracing::info!(
                face = %face.word(), tools = finder.tools.len(), tokens = all, listed, saved = finder.cost.saved(),
                "Tools are offered through search."
            );
        }
        let mut finders = self.lock();
        if finders.len() >= FACES {
            finders.clear();
        }
        finders.insert(face.clone(), (catalogue.version(), Arc::clone(&finder)));
        finder
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_on(gateway: &Gateway, finder: &Finder) -> bool {
    match gateway.config().mcp.search {
        SearchMode::Off => false,
        SearchMode::Above(tools) => finder.tools.len() > tools,
        SearchMode::On => true,
    }
}

/// What `tools/list` shows instead of all tools, and what it says about it; nothing where all are to be shown.
pub(super) fn offered(
    gateway: &Gateway,
    caller: &Caller,
    params: Option<&RawJson>,
) -> Option<(Arc<[RawJson]>, Value)> {
    if gateway.config().mcp.search == SearchMode::Off || params.is_some_and(wants_all) {
        return None;
    }
    let finder = gateway.mcp().finders.get(gateway, &caller.face);
    is_on(gateway, &finder).then(|| (Arc::clone(&finder.shown), finder.note()))
}

fn wants_all(params: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct WithMeta<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<HashMap<Cow<'a, str>, Value>>,
    }
    let read: Option<WithMeta<'_>> = params.read().ok();
    read.and_then(|read| read.meta).is_some_and(|meta| meta.get(LIST_META).is_some_and(|word| word == "all"))
}

/// What a request for a tool means.
pub(super) enum Meant {
    /// What it says.
    Itself,
    /// One of the three, and this is what it gives.
    Answered(RawJson),
    /// Another tool: the request as if the caller had named it.
    Other(RawJson),
}

/// Looks whether a request asks for one of the three.
pub(super) async fn meant(
    gateway: &Gateway,
    caller: &Caller,
    asked: &str,
    params: &RawJson,
) -> Result<Meant, RpcError> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        arguments: Option<&'a RawValue>,
    }
    if asked != method::CALL_TOOL || gateway.config().mcp.search == SearchMode::Off {
        return Ok(Meant::Itself);
    }
    let Ok(Params { name: Some(name), arguments }) = params.read::<Params<'_>>() else {
        return Ok(Meant::Itself);
    };
    if !may_be_meant(&name) {
        return Ok(Meant::Itself);
    }
    gateway.fleet().listed(caller.face.awaited(), gateway.config().list_wait).await;
    let finder = gateway.mcp().finders.get(gateway, &caller.face);
    let Some(tool) = finder.meta.named(&name) else { return Ok(Meant::Itself) };
    let arguments = arguments.map_or_else(RawJson::empty_object, |arguments| params.part(arguments));
    let fault = |error: serde_json::Error| invalid(format!("reading `params.arguments`: {error}"));
    if tool == MetaTool::Search {
        return Ok(Meant::Answered(finder.search(&arguments.read().map_err(fault)?).await));
    }
    let named: Named = match arguments.read() {
        Ok(named) => named,
        Err(error) => {
            return Ok(Meant::Answered(error_result(&format!("The arguments do not fit: {error}"))));
        }
    };
    let catalogue = gateway.fleet().catalogue();
    let unknown = || Meant::Answered(error_result(&finder.unknown(&named.name)));
    let found = match caller.face.tool(&catalogue, &named.name) {
        Ok(found) => found,
        Err(error) => {
            let failure = not_found(gateway, caller, &named.name, &error, finder.unknown(&named.name));
            return Ok(Meant::Answered(error_result(&failure.message())));
        }
    };
    if tool == MetaTool::Describe {
        let listed = finder.find(&catalogue, Some(found.server.as_str()), &found.name);
        return Ok(listed.map_or_else(unknown, |listed| Meant::Answered(listed.described())));
    }
    unwrapped(params, &named).map(Meant::Other).map_err(fault)
}

/// A request for the tool that `call_tool` names: everything else in it stays.
fn unwrapped(params: &RawJson, named: &Named) -> Result<RawJson, serde_json::Error> {
    let name = RawJson::of(&named.name)?;
    let arguments = named.arguments()?;
    let mut members = RawObject::parse(params)?;
    members.set("name", &name)?;
    members.set("arguments", &arguments)?;
    members.to_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[track_caller]
    fn check_unwrapped(arguments: &str, expected: &str) {
        let params = format!(
            r#"{{"name":"call_tool","arguments":{arguments},"_meta":{{"progressToken":1}},"requestState":"s"}}"#
        );
        let outer = raw(arguments);
        let named: Named = outer.read().unwrap();
        let inner = unwrapped(&raw(&params), &named).unwrap();
        let expected = format!(
            r#"{{"name":"x","arguments":{expected},"_meta":{{"progressToken":1}},"requestState":"s"}}"#
        );
        assert_eq!(inner.as_str(), expected);
    }

    #[test]
    fn a_wrapped_call_becomes_the_call_itself() {
        check_unwrapped(
            r#"{"name":"x","arguments":{"n":1e400,"a":123456789012345678901234567890}}"#,
            r#"{"n":1e400,"a":123456789012345678901234567890}"#,
        );
        check_unwrapped(r#"{"name":"x"}"#, "{}");
        check_unwrapped(r#"{"name":"x","arguments":null}"#, "{}");
        check_unwrapped(r#"{"name":"x","arguments":"{\"a\":1}"}"#, r#"{"a":1}"#);
    }

    #[test]
    fn everything_is_listed_for_those_who_ask() {
        assert!(wants_all(&raw(r#"{"_meta":{"mcp-tool-gateway/list":"all"}}"#)));
        for params in ["{}", r#"{"_meta":null}"#, r#"{"_meta":{"mcp-tool-gateway/list":"some"}}"#, "[]"] {
            assert!(!wants_all(&raw(params)), "{params}");
        }
    }
}
