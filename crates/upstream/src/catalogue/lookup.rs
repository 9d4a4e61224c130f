//! From a name to a tool.

use std::cmp::Ordering;
use std::fmt;

use gateway_config::UpstreamId;

use super::{Catalogue, CatalogueTool};

/// Why a name leads to no tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No upstream has this name.
    #[error("no server is called `{name}`; there are: {}", .known.join(", "))]
    UnknownServer {
        /// The name.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// No tool has this name.
    #[error("{}", unknown_tool(.server.as_deref(), .tool, .reason.as_deref()))]
    UnknownTool {
        /// The upstream, if one was named.
        server: Option<String>,
        /// The name.
        tool: String,
        /// Why the upstream's tool of this name is not offered, if it has one.
        reason: Option<String>,
    },
    /// More than one upstream has a tool of this name.
    #[error("tool `{tool}` is offered by several servers; name the server or use one of: {}", joined(.candidates))]
    Ambiguous {
        /// The name.
        tool: String,
        /// The tools that it leads to.
        candidates: Vec<ToolCandidate>,
    },
}

/// One of several tools that a name leads to. It is shown by its name, else by its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCandidate {
    /// Whose it is.
    pub server: UpstreamId,
    /// Its name at the upstream.
    pub own_name: String,
    /// Its name in the list that the caller was given, which is the one over all upstreams unless another is known; its canonical
    /// name if it is in none. `None` if that is not its alone.
    pub name: Option<String>,
}

impl fmt::Display for ToolCandidate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "`{}` of server `{}`", self.own_name, self.server),
        }
    }
}

fn joined(candidates: &[ToolCandidate]) -> String {
    candidates.iter().map(ToolCandidate::to_string).collect::<Vec<_>>().join(", ")
}

fn unknown_tool(server: Option<&str>, tool: &str, reason: Option<&str>) -> String {
    let whose = server.map_or_else(|| "no server".to_owned(), |server| format!("server `{server}`"));
    match (reason, server) {
        (Some(reason), _) => format!("{whose} does not offer tool `{tool}`: {reason}"),
        (None, Some(_)) => format!("{whose} has no tool `{tool}`"),
        (None, None) => format!("{whose} has a tool `{tool}`"),
    }
}

fn reserved_name(owner: &UpstreamId, name: &str) -> LookupError {
    LookupError::UnknownTool {
        server: Some(owner.to_string()),
        tool: name.to_owned(),
        reason: Some("names that begin so are reserved for its own tools".to_owned()),
    }
}

fn ambiguous(name: &str, tools: &[&CatalogueTool]) -> LookupError {
    let candidate = |tool: &&CatalogueTool| {
        let shown = if tool.listed { tool.public_name.clone() } else { tool.canonical_name() };
        ToolCandidate {
            server: tool.server.clone(),
            own_name: tool.name.clone(),
            // Two tools can have one canonical name; then only the server distinguishes them.
            name: Some(shown).filter(|shown| shown != name),
        }
    };
    LookupError::Ambiguous { tool: name.to_owned(), candidates: tools.iter().map(candidate).collect() }
}

/// `mcp__<server>__<tool>`.
pub fn canonical_name(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}

/// The ways to read `mcp__<server>__<tool>`, for servers that exist; the shortest server name first.
///
/// Both names may hold `__` themselves, so that more than one way can make sense.
pub fn canonical_splits<'a>(
    name: &'a str,
    is_server: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let rest = name.strip_prefix("mcp__").unwrap_or_default();
    // Three underscores in a row can be split in two ways.
    (1..rest.len()).filter_map(move |index| {
        let (server, tool) = (rest.get(..index)?, rest.get(index..)?.strip_prefix("__")?);
        (!tool.is_empty() && is_server(server)).then_some((server, tool))
    })
}

impl Catalogue {
    /// The tools of one upstream, in the order of its listing.
    pub fn tools_of<'a>(&'a self, server: &'a str) -> impl Iterator<Item = &'a CatalogueTool> {
        let start = self.tools.partition_point(|tool| tool.server.as_str() < server);
        self.tools.iter().skip(start).take_while(move |tool| tool.server.as_str() == server)
    }

    /// The tool that an upstream calls `name`.
    pub fn get(&self, server: &str, name: &str) -> Option<&CatalogueTool> {
        self.find(&self.by_name, |tool| (tool.name.as_str(), tool.server.as_str()).cmp(&(name, server)))
    }

    /// The listed tool that is published as `name`.
    pub fn by_public_name(&self, name: &str) -> Option<&CatalogueTool> {
        self.find(&self.by_public_name, |tool| tool.public_name.as_str().cmp(name))
    }

    /// The tool that a caller means.
    ///
    /// With a server: its own name for the tool, then its public name, then its canonical name. Without: the canonical
    /// name, the public name, the bare name if only one server has it, then the name with its server's prefix. What reads
    /// as the canonical name of a server's tool never leads to another server.
    pub fn resolve(&self, server: Option<&str>, name: &str) -> Result<&CatalogueTool, LookupError> {
        let Some(server) = server else { return self.resolve_anywhere(name) };
        if !self.has_server(server) {
            return Err(self.unknown_server(server));
        }
        let mine = |tool: &&CatalogueTool| tool.server.as_str() == server;
        let canonical =
            || canonical_splits(name, |found| found == server).find_map(|(_, tool)| self.get(server, tool));
        self.get(server, name)
            .or_else(|| self.by_public_name(name).filter(mine))
            .or_else(canonical)
            .ok_or_else(|| self.unknown_tool(Some(server), name))
    }

    fn resolve_anywhere(&self, name: &str) -> Result<&CatalogueTool, LookupError> {
        let canonical: Vec<(&str, &str)> = canonical_splits(name, |server| self.has_server(server)).collect();
        let mut found: Vec<&CatalogueTool> =
            canonical.iter().filter_map(|(server, tool)| self.get(server, tool)).collect();
        if found.is_empty() {
            if let Some(tool) = self.by_public_name(name) {
                return Ok(tool);
            }
            if canonical.is_empty() {
                found = self.named(name);
                // The name of another server's tool leads there or nowhere.
                let owner = found.iter().find_map(|tool| self.reserved.other_owner(name, &tool.server));
                found.retain(|tool| self.reserved.other_owner(name, &tool.server).is_none());
                // Whether or not others have a tool of the same name, a prefix leads to its server.
                if found.is_empty() {
                    let prefixed = self.reserved.prefixed(name);
                    let prefixed =
                        prefixed.filter(|(server, _)| self.reserved.other_owner(name, server).is_none());
                    found.extend(prefixed.filter_map(|(server, tool)| self.get(server.as_str(), tool)));
                }
                if let (Some(owner), true) = (owner, found.is_empty()) {
                    return Err(reserved_name(owner, name));
                }
            }
        }
        match (found.as_slice(), canonical.first()) {
            ([tool], _) => Ok(tool),
            ([], Some((server, tool))) => Err(self.unknown_tool(Some(server), tool)),
            ([], None) => Err(self.unknown_tool(None, name)),
            (several, _) => Err(ambiguous(name, several)),
        }
    }

    /// All tools that their upstreams call `name`.
    pub fn named(&self, name: &str) -> Vec<&CatalogueTool> {
        let start = self
            .by_name
            .partition_point(|index| self.at(*index).is_some_and(|tool| tool.name.as_str() < name));
        self.by_name
            .iter()
            .skip(start)
            .map_while(|index| self.at(*index).filter(|tool| tool.name == name))
            .collect()
    }

    /// Whether an upstream of this name is configured.
    pub fn has_server(&self, name: &str) -> bool {
        self.servers.binary_search_by(|server| server.as_str().cmp(name)).is_ok()
    }

    fn at(&self, index: u32) -> Option<&CatalogueTool> {
        self.tools.get(usize::try_from(index).ok()?)
    }

    fn find(&self, indexes: &[u32], compare: impl Fn(&CatalogueTool) -> Ordering) -> Option<&CatalogueTool> {
        let found =
            indexes.binary_search_by(|index| self.at(*index).map_or(Ordering::Less, &compare)).ok()?;
        self.at(*indexes.get(found)?)
    }

    fn unknown_server(&self, name: &str) -> LookupError {
        let known = self.servers.iter().map(UpstreamId::to_string).collect();
        LookupError::UnknownServer { name: name.to_owned(), known }
    }

    fn unknown_tool(&self, server: Option<&str>, name: &str) -> LookupError {
        let mut refused = self.left_out.iter().filter(|left| {
            left.name.as_deref() == Some(name) && server.is_none_or(|server| left.server.as_str() == server)
        });
        let first = refused.next();
        LookupError::UnknownTool {
            server: server.map(str::to_owned).or_else(|| first.map(|left| left.server.to_string())),
            tool: name.to_owned(),
            reason: first.map(|left| left.reason.to_string()),
        }
    }
}
