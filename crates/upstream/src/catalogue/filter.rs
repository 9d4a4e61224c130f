//! Choosing among tools.

use gateway_config::{Importance, ToolGroup, UpstreamId};
use gateway_notation::pattern::{any_matches, matches};

use super::{Catalogue, CatalogueTool};

/// Which tools are wanted. Every part that is given must hold; within one part, one entry is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolFilter {
    /// Patterns of upstreams. Where it is one name, tools that are only reached by naming their upstream are included.
    pub servers: Vec<String>,
    /// Patterns of public names, of names at the upstream, or of `upstream/tool`.
    pub names: Vec<String>,
    /// Patterns of categories.
    pub categories: Vec<String>,
    /// The least importance.
    pub importance: Option<Importance>,
    /// Tags.
    pub tags: Vec<String>,
    /// Names of groups.
    pub groups: Vec<String>,
}

impl ToolFilter {
    /// Whether nothing is asked for, so that every listed tool is wanted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn holds(&self, tool: &CatalogueTool, catalogue: &Catalogue) -> bool {
        let either = |wanted: &[String], found: &dyn Fn(&String) -> bool| {
            wanted.is_empty() || wanted.iter().any(found)
        };
        // With more than one upstream two tools could have one name.
        let is_named = matches!(self.servers.as_slice(), [server] if server == tool.server.as_str());
        tool.unaccepted.is_none()
            && (tool.listed || is_named)
            && either(&self.servers, &|pattern| matches(pattern, tool.server.as_str()))
            && either(&self.names, &|pattern| {
                let is_own = is_named || tool.reserved_for.is_none();
                matches(pattern, &tool.public_name)
                    || is_own && matches(pattern, &tool.name)
                    || pattern.contains('/') && names(pattern, tool, catalogue)
            })
            && either(&self.categories, &|pattern| {
                tool.category.as_deref().is_some_and(|category| matches(pattern, category))
            })
            && self.importance.is_none_or(|least| tool.importance >= least)
            && either(&self.tags, &|tag| tool.tags.iter().any(|found| **found == **tag))
            && either(&self.groups, &|name| {
                catalogue.groups.get(name).is_some_and(|group| holds(group, tool, catalogue))
            })
    }
}

/// Whether a group holds a tool.
fn holds(group: &ToolGroup, tool: &CatalogueTool, catalogue: &Catalogue) -> bool {
    any_matches(&group.servers, tool.server.as_str())
        || group.tools.iter().any(|pattern| names(pattern, tool, catalogue))
        || group.tags.iter().any(|tag| tool.tags.iter().any(|found| **found == **tag))
}

/// Whether a pattern of a group names a tool. Each pattern is compared with names of its own form only, so that no server can
/// call a tool like another server's.
fn names(pattern: &str, tool: &CatalogueTool, catalogue: &Catalogue) -> bool {
    let is_server = |server: &str| server.contains(['*', '?']) || catalogue.has_server(server);
    if pattern.split_once('/').is_some_and(|(server, _)| is_server(server)) {
        // As approval and cache name tools.
        return matches(pattern, &format!("{}/{}", tool.server, tool.name));
    }
    matches(pattern, &tool.public_name)
        // Who writes another server's name means that server.
        || tool.reserved_for.is_none() && matches(pattern, &tool.name)
        || pattern.starts_with("mcp__") && matches(pattern, &tool.canonical_name())
}

impl Catalogue {
    /// The tools that a filter wants, in the order of the catalogue.
    pub fn filter<'a>(&'a self, filter: &'a ToolFilter) -> impl Iterator<Item = &'a CatalogueTool> {
        self.tools.iter().filter(move |tool| self.is_wanted(filter, tool))
    }

    /// Whether a filter wants a tool of this catalogue.
    pub fn is_wanted(&self, filter: &ToolFilter, tool: &CatalogueTool) -> bool {
        filter.holds(tool, self)
    }

    /// Whether a tool belongs to a group.
    pub fn is_in_group(&self, group: &str, tool: &CatalogueTool) -> bool {
        self.groups.get(group).is_some_and(|group| holds(group, tool, self))
    }

    /// The upstreams whose tools all belong to a group, and whether it holds nothing else; `None` if no group has that
    /// name.
    pub fn group_servers(&self, name: &str) -> Option<(Vec<&UpstreamId>, bool)> {
        let group = self.groups.get(name)?;
        let servers = self.servers.iter().filter(|server| any_matches(&group.servers, server.as_str()));
        Some((servers.collect(), group.tools.is_empty() && group.tags.is_empty()))
    }

    /// The listed tools of a group; `None` if no group has that name.
    pub fn group(&self, name: &str) -> Option<Vec<&CatalogueTool>> {
        let group = self.groups.get(name)?;
        Some(self.listed().filter(|tool| holds(group, tool, self)).collect())
    }
}
