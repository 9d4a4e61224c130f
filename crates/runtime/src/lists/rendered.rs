//! One list, as it was rendered from one snapshot of the catalogue.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use gateway_dialects::{Dialect, Plan};
use gateway_search::MetaTool;
use gateway_upstream::{Catalogue, CatalogueTool};
use serde_json::{Value, json};

use super::Finder;

/// The tools of a list by the name that the model sees: the index in the catalogue, or among the three of search, and the plan.
/// A turn looks each of its calls up twice, and servers, which choose the names, learn nothing of their order: a fast hash does.
pub(super) type Tools = HashMap<Box<str>, (usize, Plan), foldhash::fast::RandomState>;

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
    /// What the three tools of search look through, where the list is made of them.
    pub finder: Option<Arc<Finder>>,
}

impl Rendered {
    /// The list without its wrapper.
    pub fn list(&self) -> Bytes {
        self.body.slice(self.list.clone())
    }

    /// The tool that the model calls `wire_name`, and how its arguments travel.
    pub fn tool(&self, wire_name: &str) -> Option<(&CatalogueTool, &Plan)> {
        let (index, plan) = self.tools.get(wire_name).filter(|_| self.finder.is_none())?;
        Some((self.catalogue.tools().get(*index)?, plan))
    }

    /// The tool of search that the model calls `wire_name`, what it looks through, and how its arguments travel.
    pub fn meta_tool(&self, wire_name: &str) -> Option<(MetaTool, &Arc<Finder>, &Plan)> {
        let (index, plan) = self.tools.get(wire_name)?;
        Some((*MetaTool::ALL.get(*index)?, self.finder.as_ref()?, plan))
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
        let listed = self.tools.values().map(|(index, _)| index);
        let indexes = listed.chain(self.quarantined.iter().map(|(index, _)| index));
        let tools =
            indexes.filter(|_| self.finder.is_none()).filter_map(|index| self.catalogue.tools().get(*index));
        let mut servers: Vec<&str> = tools.map(|tool| tool.server.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// The name that the model sees, and how arguments travel, by the index of a tool in the catalogue.
    pub(super) fn by_index(&self) -> HashMap<usize, (&str, &Plan)> {
        self.tools.iter().map(|(name, (index, plan))| (*index, (name.as_ref(), plan))).collect()
    }

    /// The names that the model sees.
    pub fn wire_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(AsRef::as_ref)
    }

    /// Bytes that it takes, about.
    pub(super) fn size(&self) -> usize {
        /// What a tool takes beside its bytes in the list: its plan, its name, its entry.
        const TOOL: usize = 512;
        self.body.len() + self.report.as_ref().map_or(0, Bytes::len) + self.tools.len() * TOOL
    }
}
