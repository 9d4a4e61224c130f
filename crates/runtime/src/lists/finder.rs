//! Search instead of a list: three tools that stand for all others.
//!
//! A finder belongs to one list of tools at one version of the catalogue. It finds and describes nothing but these, so
//! that a caller learns of no tool that its own list does not show.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use gateway_dialects::arguments::unknown_tool_text;
use gateway_notation::spelling::nearest_names;
use gateway_protocol::{RawJson, RawObject};
use gateway_search::{
    Beside, MetaTool, MetaTools, SearchArguments, TokenCost, ToolEntry, ToolIndex, describe_result,
    search_result, server_result, servers_result,
};
use gateway_upstream::{Catalogue, CatalogueTool, UpstreamId};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::failure::error_result;

/// A member of `_meta` of the answer: how many tools there are, and what they would have cost.
const SEARCH_META: &str = "mcp-tool-gateway/search";

/// The tools of one list, and the three that stand for them.
#[derive(Debug)]
pub struct Finder {
    tools: Vec<Listed>,
    by_name: HashMap<Box<str>, usize>,
    meta: MetaTools,
    /// The three definitions, for a translation.
    pub definitions: [Value; 3],
    /// The three definitions, for a list.
    pub shown: Arc<[RawJson]>,
    /// What the list costs, and the three.
    pub cost: TokenCost,
    /// Built when somebody searches for the first time.
    index: OnceCell<Arc<ToolIndex>>,
}

/// A tool of the list.
#[derive(Debug)]
pub struct Listed {
    /// Its name in the list.
    pub name: Box<str>,
    /// Whose it is.
    pub server: UpstreamId,
    /// Its name at the server.
    pub own: Box<str>,
    definition: RawJson,
}

impl Finder {
    /// A finder over tools, each with its name in the list.
    pub fn new<'c>(tools: impl Iterator<Item = (&'c str, &'c CatalogueTool)>, beside: Beside) -> Self {
        let tools: Vec<Listed> = tools
            .map(|(name, tool)| Listed {
                name: name.into(),
                server: tool.server.clone(),
                own: tool.name.as_str().into(),
                definition: tool.without_hidden().clone(),
            })
            .collect();
        let by_name: HashMap<Box<str>, usize> =
            tools.iter().enumerate().map(|(index, tool)| (tool.name.clone(), index)).collect();
        let meta = meta_tools(|| tools.iter().map(|tool| (&*tool.name, &*tool.own)));
        let servers: BTreeSet<&str> = tools.iter().map(|tool| tool.server.as_str()).collect();
        let servers: Vec<&str> = servers.into_iter().collect();
        let definitions = meta.definitions(tools.len(), &servers, beside);
        let shown: Arc<[RawJson]> =
            definitions.iter().filter_map(|definition| RawJson::of(definition).ok()).collect();
        let cost = TokenCost::of(tools.iter().map(|tool| &tool.definition), shown.iter());
        Self { tools, by_name, meta, definitions, shown, cost, index: OnceCell::new() }
    }

    /// How many tools there are.
    pub fn tool_count(&self) -> usize {
        self.tools.len()
    }

    /// What one of the tools of search is called.
    pub fn name(&self, tool: MetaTool) -> String {
        self.meta.name(tool)
    }

    /// The tool of search that has this name.
    pub fn meta_tool(&self, name: &str) -> Option<MetaTool> {
        self.meta.named(name)
    }

    /// The tool of the list that is meant: by its name there, else by any other that leads to it.
    pub fn find(&self, catalogue: &Catalogue, server: Option<&str>, name: &str) -> Option<&Listed> {
        if let Some(index) = self.by_name.get(name) {
            return self.tools.get(*index);
        }
        let tool = catalogue.resolve(server, name).ok()?;
        self.tools.iter().find(|listed| listed.server == tool.server && *listed.own == *tool.name)
    }

    /// What is reported about a name that leads to no tool of the list.
    pub fn unknown(&self, name: &str) -> String {
        let nearest = nearest_names(name, self.tools.iter().map(|tool| &*tool.name));
        format!(
            "{}. {} finds tools by what they do.",
            unknown_tool_text(name, &nearest),
            self.meta.name(MetaTool::Search)
        )
    }

    /// The result of a search.
    pub async fn search(self: &Arc<Self>, arguments: &Value) -> RawJson {
        let read: SearchArguments = match SearchArguments::deserialize(arguments) {
            Ok(read) => read,
            Err(error) => return error_result(&format!("The arguments do not fit: {error}")),
        };
        if let Some(directory) = self.directory(read.query.trim()) {
            return RawJson::of(&directory).unwrap_or_else(|error| error_result(&error.to_string()));
        }
        let index = self
            .index
            .get_or_init(|| async {
                let finder = Arc::clone(self);
                // Thousands of definitions take a while, and other requests must not wait for it.
                tokio::task::spawn_blocking(move || Arc::new(finder.indexed())).await.unwrap_or_default()
            })
            .await;
        let answer = index.search(&read.query, read.limit());
        let found = answer.hits.iter().filter_map(|hit| self.tools.get(hit.position));
        let found: Vec<ToolEntry<'_>> = found.map(Listed::entry).collect();
        RawJson::of(&search_result(&read.query, &found, answer.fit_well))
            .unwrap_or_else(|error| error_result(&error.to_string()))
    }

    /// The servers where a query has no words, and the tools of a server where it is its name: whatever words a tool is described
    /// by, it can be found by looking.
    fn directory(&self, query: &str) -> Option<Value> {
        if query.is_empty() {
            let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
            for tool in &self.tools {
                *servers.entry(tool.server.as_str()).or_default() += 1;
            }
            return Some(servers_result(&servers));
        }
        let own = self.tools.iter().filter(|tool| tool.server.as_str() == query);
        let names: Vec<&str> = own.map(|tool| &*tool.name).collect();
        (!names.is_empty()).then(|| server_result(query, &names))
    }

    fn indexed(&self) -> ToolIndex {
        let entries: Vec<ToolEntry<'_>> = self.tools.iter().map(Listed::entry).collect();
        ToolIndex::build(&entries)
    }

    /// What the answer to `tools/list` says beside the three.
    pub fn note(&self) -> Value {
        let tokens = json!({"all": self.cost.all, "listed": self.cost.listed, "saved": self.cost.saved()});
        json!({SEARCH_META: {"tools": self.tools.len(), "tokens": tokens}})
    }
}

impl Listed {
    fn entry(&self) -> ToolEntry<'_> {
        ToolEntry { name: &self.name, server: self.server.as_str(), definition: &self.definition }
    }

    /// Its definition, under its name in the list.
    pub fn described(&self) -> RawJson {
        let definition = if self.name == self.own {
            Some(self.definition.clone())
        } else {
            renamed(&self.definition, "name", &self.name)
        };
        let result = definition.and_then(|definition| describe_result(&definition));
        result.unwrap_or_else(|| error_result("the definition of this tool cannot be read"))
    }
}

/// The three tools under the names that they have beside tools, each given by its name in the list and its name at its server: a
/// bare name may lead to a tool that is listed under another one.
pub(super) fn meta_tools<'t, N: Iterator<Item = (&'t str, &'t str)>>(tools: impl Fn() -> N) -> MetaTools {
    MetaTools::beside(|name| tools().any(|(listed, own)| listed == name || own == name))
}

/// Which tool is to be described or called, and with what.
#[derive(Debug, Deserialize)]
pub struct Named {
    /// The name of the tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Option<RawJson>,
}

impl Named {
    /// The arguments as they came: reading and writing would change big numbers.
    pub fn arguments(&self) -> Result<RawJson, serde_json::Error> {
        match &self.arguments {
            // Some models write JSON into a text where an object is asked for.
            Some(raw) if raw.as_str().starts_with('"') => RawJson::parse(raw.read::<String>()?),
            Some(raw) if raw.as_str() != "null" => Ok(raw.clone()),
            Some(_) | None => Ok(RawJson::empty_object()),
        }
    }
}

/// Whether a name may be one of the three, with whatever suffix.
pub fn may_be_meant(name: &str) -> bool {
    ["search_tools", "describe_tool", "call_tool"].iter().any(|base| name.starts_with(base))
}

/// A definition in which one member that names it is another.
pub fn renamed(definition: &RawJson, member: &str, name: &str) -> Option<RawJson> {
    let mut members = RawObject::parse(definition).ok()?;
    members.set(member, &RawJson::of(name).ok()?).ok()?;
    members.to_raw().ok()
}
