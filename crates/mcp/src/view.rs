//! What one endpoint shows: everything, a group, or one server.

use std::sync::{Arc, Mutex};

use gateway_runtime::least_recently_used::LeastRecentlyUsed;
use gateway_runtime::lock::locked;
use gateway_upstream::{Catalogue, CatalogueTool, Fleet, LookupError, UpstreamId};

/// What one endpoint shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// All servers, under the names of the catalogue.
    All,
    /// A configured group, under the names of the catalogue.
    Group(Arc<str>),
    /// One server, under its own names.
    Server(UpstreamId),
}

impl View {
    /// The view of `/mcp` or `/mcp/{name}`: a group of that name, else a server. A group that is one server and nothing
    /// else passes through: tools, prompts and resources are called as the server calls them.
    pub(crate) fn named(fleet: &Fleet, name: Option<&str>) -> Option<Self> {
        let Some(name) = name else { return Some(Self::All) };
        match fleet.catalogue().group_servers(name) {
            Some((servers, true)) if servers.len() == 1 => {
                servers.first().map(|server| Self::Server((*server).clone()))
            }
            Some(_) => Some(Self::Group(name.into())),
            None => fleet.spec(name).map(|spec| Self::Server(spec.id.clone())),
        }
    }

    /// The names of all views but the one of everything, for people.
    pub(crate) fn names(fleet: &Fleet) -> String {
        let (catalogue, ids) = (fleet.catalogue(), fleet.ids());
        let known: Vec<&str> = catalogue.groups().chain(ids.iter().map(UpstreamId::as_str)).collect();
        known.join(", ")
    }

    /// The server, if it is one.
    pub(crate) fn server(&self) -> Option<&UpstreamId> {
        match self {
            Self::Server(id) => Some(id),
            Self::All | Self::Group(_) => None,
        }
    }

    /// A word that no other view has.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::All => "*".to_owned(),
            Self::Group(name) => format!("group {name}"),
            Self::Server(id) => format!("server {id}"),
        }
    }

    /// The servers whose tools must be known; none means all.
    pub(crate) fn awaited(&self) -> &[UpstreamId] {
        match self {
            Self::Server(id) => std::slice::from_ref(id),
            Self::All | Self::Group(_) => &[],
        }
    }

    /// The servers whose resources and prompts are shown, in order. A group shows those of the servers that it names.
    pub(crate) fn servers(&self, fleet: &Fleet) -> Vec<UpstreamId> {
        let servers = match self {
            Self::All => fleet.ids(),
            Self::Server(id) => vec![id.clone()],
            Self::Group(name) => {
                let catalogue = fleet.catalogue();
                let servers = catalogue.group_servers(name).map(|(servers, _)| servers).unwrap_or_default();
                servers.into_iter().cloned().collect()
            }
        };
        let is_on = |id: &UpstreamId| fleet.spec(id.as_str()).is_some_and(|spec| !spec.is_off());
        servers.into_iter().filter(is_on).collect()
    }

    /// Whether what happens to a server is of interest here.
    pub(crate) fn shows(&self, fleet: &Fleet, server: &UpstreamId) -> bool {
        match self {
            Self::All | Self::Group(_) => self.servers(fleet).contains(server),
            Self::Server(id) => id == server,
        }
    }

    /// The tools, in the order of the catalogue.
    pub(crate) fn tools<'c>(&'c self, catalogue: &'c Catalogue) -> Vec<&'c CatalogueTool> {
        match self {
            Self::All => catalogue.listed().collect(),
            Self::Group(name) => catalogue.group(name).unwrap_or_default(),
            Self::Server(id) => {
                catalogue.tools_of(id.as_str()).filter(|tool| tool.unaccepted.is_none()).collect()
            }
        }
    }

    /// The tool that a caller means.
    pub(crate) fn tool<'c>(
        &self,
        catalogue: &'c Catalogue,
        name: &str,
    ) -> Result<&'c CatalogueTool, LookupError> {
        match self {
            Self::All => catalogue.resolve(None, name),
            Self::Server(id) => catalogue.resolve(Some(id.as_str()), name),
            Self::Group(group) => {
                let tool = catalogue.resolve(None, name)?;
                if catalogue.is_in_group(group, tool) {
                    return Ok(tool);
                }
                Err(LookupError::UnknownTool { server: None, tool: name.to_owned(), reason: None })
            }
        }
    }

    /// What a tool is called here.
    pub(crate) fn name_of<'t>(&self, tool: &'t CatalogueTool) -> &'t str {
        match self {
            Self::Server(_) => &tool.name,
            Self::All | Self::Group(_) => &tool.public_name,
        }
    }
}

/// Views are configured; more than these cannot be meant.
const VIEWS: usize = 256;

/// A value for each view, with the version of the catalogue that it was made from.
#[derive(Debug)]
pub(crate) struct PerView<T>(Mutex<LeastRecentlyUsed<View, (u64, T)>>);

impl<T> Default for PerView<T> {
    fn default() -> Self {
        Self(Mutex::new(LeastRecentlyUsed::new(VIEWS, usize::MAX)))
    }
}

impl<T: Clone> PerView<T> {
    /// The value of this version. Two that ask at once may both make it.
    pub(crate) fn get(&self, view: &View, version: u64, make: impl FnOnce() -> T) -> T {
        let lock = || locked(&self.0);
        if let Some((_, known)) = lock().get(view).filter(|(known, _)| *known == version) {
            return known.clone();
        }
        let value = make();
        lock().insert(view.clone(), (version, value.clone()), 0);
        value
    }
}
