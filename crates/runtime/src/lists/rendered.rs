//! One list, as it was rendered from one snapshot of the catalogue.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use gateway_dialects::history::TranslatedTools;
use gateway_dialects::{Dialect, Plan};
use gateway_search::{MetaTool, ToolIndex};
use gateway_upstream::{Catalogue, CatalogueTool};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::selected::Piece;
use super::{Finder, Room};

/// The tools of a list by the name that the model sees. A turn looks each of its calls up twice, and servers, which choose the
/// names, learn nothing of their order: a fast hash does.
pub(super) type Tools = HashMap<Box<str>, Entry, foldhash::fast::RandomState>;

/// What a name leads to.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) target: Target,
    /// How arguments travel.
    pub(super) plan: Plan,
}

/// Which tool it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A tool that is in the list, by its index in the catalogue.
    Listed(usize),
    /// A tool that the list has no room for. Calls of it run as if it were there: a list with other limits may show it.
    Omitted(usize),
    /// One of the three tools of search.
    Search(MetaTool),
}

impl Target {
    /// Its index in the catalogue.
    pub(super) fn index(self) -> Option<usize> {
        match self {
            Self::Listed(index) | Self::Omitted(index) => Some(index),
            Self::Search(_) => None,
        }
    }
}

/// A list that is ready to be sent, and what it takes to run calls from it.
#[derive(Debug)]
pub struct Rendered {
    /// The whole body.
    pub body: Bytes,
    /// Where in the body the bare list is.
    pub(super) list: Range<usize>,
    /// The same bytes have the same tag.
    pub etag: Box<str>,
    /// What happened to every tool, as a JSON array, where the request asks for it.
    pub report: Option<Bytes>,
    /// The dialect, if it is in one.
    pub dialect: Option<Arc<Dialect>>,
    /// What the list was rendered from.
    pub catalogue: Arc<Catalogue>,
    pub(super) tools: Tools,
    /// Estimated tokens of all definitions.
    pub tokens: usize,
    /// The tools that the dialect cannot take, by their indexes, and why.
    pub quarantined: Vec<(usize, String)>,
    /// Why it is not handed out, where a server wants all of its tools in a list or none.
    pub(super) refused: Option<String>,
    /// How many tools it has no room for.
    pub omitted: usize,
    /// How many tools are not strict because the strict ones leave no room.
    pub not_strict: usize,
    /// How much it may hold.
    pub(super) room: Room,
    /// The dialects that its tools may be written in, where there are several.
    pub forms: Vec<Arc<Dialect>>,
    /// What the three tools of search look through, where they are in the list.
    pub finder: Option<Arc<Finder>>,
    /// Names and arguments as the model knows them; made when a conversation needs it.
    pub(super) codec: OnceLock<Arc<TranslatedTools>>,
    /// The definitions of its tools, in order.
    pub(super) pieces: Vec<Piece>,
    /// What finds them; built when somebody asks for the first time.
    pub(super) index: OnceCell<Arc<ToolIndex>>,
}

impl Rendered {
    /// The list without its wrapper.
    pub fn list(&self) -> Bytes {
        self.body.slice(self.list.clone())
    }

    /// The tool that the model calls `wire_name`, and how its arguments travel.
    pub fn tool(&self, wire_name: &str) -> Option<(&CatalogueTool, &Plan)> {
        let Entry { target, plan } = self.tools.get(wire_name)?;
        Some((self.catalogue.tools().get(target.index()?)?, plan))
    }

    /// Names and arguments as the model knows them, for conversations. Tools have the names of the catalogue there.
    pub fn codec(&self) -> &Arc<TranslatedTools> {
        self.codec.get_or_init(|| {
            let tools: Vec<(&str, &str, &Plan)> = self
                .tools
                .iter()
                .filter_map(|(wire_name, entry)| {
                    let tool = self.catalogue.tools().get(entry.target.index()?)?;
                    Some((&**wire_name, &*tool.public_name, &entry.plan))
                })
                .collect();
            Arc::new(TranslatedTools::of(tools))
        })
    }

    /// What the model calls a tool of a server.
    pub fn name_of(&self, server: &str, own_name: &str) -> Option<&str> {
        let is_same = |index: usize| {
            let tool = self.catalogue.tools().get(index);
            tool.is_some_and(|tool| tool.server.as_str() == server && tool.name == own_name)
        };
        let found = self.tools.iter().find(|(_, entry)| entry.target.index().is_some_and(is_same));
        found.map(|(name, _)| name.as_ref())
    }

    /// The tool of search that the model calls `wire_name`, what it looks through, and how its arguments travel.
    pub fn meta_tool(&self, wire_name: &str) -> Option<(MetaTool, &Arc<Finder>, &Plan)> {
        match self.tools.get(wire_name)? {
            Entry { target: Target::Search(tool), plan } => Some((*tool, self.finder.as_ref()?, plan)),
            Entry { target: Target::Listed(_) | Target::Omitted(_), .. } => None,
        }
    }

    /// Where each tool comes from, by the name that the model sees.
    pub fn origins(&self) -> Value {
        let mut names: Vec<&str> = self.wire_names().collect();
        names.sort_unstable();
        let origin = |name: &str| {
            let (tool, _) = self.tool(name)?;
            let about = json!({
                "server": tool.server.as_str(), "name": tool.name, "fingerprint": tool.fingerprint.hex(),
            });
            Some((name.to_owned(), about))
        };
        Value::Object(names.into_iter().filter_map(origin).collect())
    }

    /// The servers of these tools, sorted.
    pub fn servers(&self) -> Vec<&str> {
        let offered = self.tools.values().filter_map(|entry| entry.target.index());
        let indexes = offered.chain(self.quarantined.iter().map(|(index, _)| *index));
        let tools = indexes.filter_map(|index| self.catalogue.tools().get(index));
        let mut servers: Vec<&str> = tools.map(|tool| tool.server.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// The name that the model sees, and how arguments travel, by the index of a listed tool in the catalogue.
    pub(super) fn by_index(&self) -> HashMap<usize, (&str, &Plan)> {
        let listed = |(name, entry)| match entry {
            &Entry { target: Target::Listed(index), ref plan } => Some((index, (name, plan))),
            Entry { target: Target::Omitted(_) | Target::Search(_), .. } => None,
        };
        self.tools.iter().map(|(name, entry)| (name.as_ref(), entry)).filter_map(listed).collect()
    }

    /// The names that the model sees.
    pub fn wire_names(&self) -> impl Iterator<Item = &str> {
        let listed = self.tools.iter().filter(|(_, entry)| !matches!(entry.target, Target::Omitted(_)));
        listed.map(|(name, _)| name.as_ref())
    }

    /// Bytes that it takes, about.
    pub(super) fn size(&self) -> usize {
        /// What a tool takes beside its bytes in the list: its plan, its name, its entry.
        const TOOL: usize = 512;
        self.body.len() + self.report.as_ref().map_or(0, Bytes::len) + self.tools.len() * TOOL
    }
}
