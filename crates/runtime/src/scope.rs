//! Which servers a request is about.

use std::borrow::Cow;
use std::sync::Arc;

use gateway_notation::spelling::did_you_mean;
use gateway_upstream::{CatalogueTool, Fleet, UpstreamId, UpstreamSpec, canonical_name, canonical_splits};

use crate::failure::Failure;

/// Which servers a request is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One server; its tools have the names that it gave them.
    Server(UpstreamId),
    /// All servers; tools have the names of the catalogue.
    All,
}

impl Scope {
    /// The scope that a request names: a server, `*` for all, or nothing, which means the default server if there is one.
    pub fn parse(fleet: &Fleet, default: &str, server: Option<&str>) -> Result<Self, Failure> {
        match server {
            Some("*") => Ok(Self::All),
            Some(name) => {
                let known = named_server(fleet, default, name).ok_or_else(|| unknown_server(fleet, name))?;
                Ok(Self::Server(known.id.clone()))
            }
            None => Ok(fleet.spec(default).map_or(Self::All, |spec| Self::Server(spec.id.clone()))),
        }
    }

    /// The servers whose tools have to be known.
    pub fn ids(&self) -> &[UpstreamId] {
        match self {
            Self::Server(id) => std::slice::from_ref(id),
            Self::All => &[],
        }
    }

    /// Whether a server is one of them.
    pub fn covers(&self, server: &UpstreamId) -> bool {
        match self {
            Self::Server(id) => id == server,
            Self::All => true,
        }
    }

    /// What a tool is called in it.
    pub fn name_of<'t>(&self, tool: &'t CatalogueTool) -> &'t str {
        match self {
            Self::Server(_) => &tool.name,
            Self::All => &tool.public_name,
        }
    }
}

/// The server that a request names. Where none is called `default`, that word means the default server, else the only one.
pub fn named_server(fleet: &Fleet, default: &str, name: &str) -> Option<Arc<UpstreamSpec>> {
    let meant = || match fleet.ids().as_slice() {
        _ if name != "default" => None,
        [only] => fleet.spec(default).or_else(|| fleet.spec(only.as_str())),
        _ => fleet.spec(default),
    };
    fleet.spec(name).or_else(meant)
}

/// `name` with the server's own name, where it is canonical and names the server by the word `default`.
pub fn with_named_server<'n>(fleet: &Fleet, default: &str, name: &'n str) -> Cow<'n, str> {
    let tool = name.strip_prefix("mcp__default__").filter(|tool| !tool.is_empty());
    // A server may be called `default__x`, and its names are its own.
    let tool =
        tool.filter(|_| canonical_splits(name, |server| fleet.spec(server).is_some()).next().is_none());
    let server = tool.and_then(|_| named_server(fleet, default, "default"));
    match (tool, server) {
        (Some(tool), Some(server)) if server.id.as_str() != "default" => {
            Cow::Owned(canonical_name(server.id.as_str(), tool))
        }
        _ => Cow::Borrowed(name),
    }
}

/// The answer for a server that is not configured.
pub fn unknown_server(fleet: &Fleet, name: &str) -> Failure {
    let ids = fleet.ids();
    let known = if ids.is_empty() {
        "none".to_owned()
    } else {
        ids.iter().map(UpstreamId::as_str).collect::<Vec<_>>().join(", ")
    };
    let mut message = format!("Unknown server: {name}. Available servers: {known}");
    if let Some(question) = did_you_mean(name, ids.iter().map(UpstreamId::as_str)) {
        message = format!("{message}; {question}");
    }
    Failure::UnknownServer(message)
}
