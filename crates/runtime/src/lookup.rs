//! Names that lead to no tool: what is reported about them, for all ways that a call can come.

use std::borrow::Cow;
use std::sync::Arc;

use gateway_notation::spelling::did_you_mean;
use gateway_upstream::{CallError, Catalogue, CatalogueTool, LookupError, UpstreamId};

use crate::Runtime;
use crate::failure::Failure;
use crate::scope::{Scope, named_server, unknown_server, with_named_server};

/// A name that led to no tool.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// The server, where one was named.
    pub server: Option<&'a str>,
    /// The name of the tool.
    pub name: &'a str,
    /// The server that is meant where the name says none.
    pub implied: Option<&'a str>,
}

/// A server that never listed its tools, and why.
pub type Missing = (UpstreamId, CallError);

/// The names of servers, for people.
pub fn names(missing: &[Missing]) -> String {
    missing.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ")
}

impl Runtime {
    /// Why a name leads to no tool, in the words of `text`. Where the server that is meant never listed its tools, the fault is
    /// the server's: nobody knows that it has no such tool.
    pub fn not_found(&self, sought: Sought<'_>, error: &LookupError, text: String) -> Failure {
        if let LookupError::Ambiguous { candidates, .. } = error {
            return Failure::Ambiguous {
                message: text,
                candidates: candidates.iter().map(ToString::to_string).collect(),
            };
        }
        let Sought { server, name, implied } = sought;
        match self.fleet().unlisted_for(server, name, implied) {
            Some(error) => Failure::Call(error),
            None => Failure::UnknownTool(text),
        }
    }

    /// The servers of a scope that never listed their tools, with what is the matter. Where only one is asked for and there is
    /// nothing to list, that is an error: an empty list would say that it has no tools.
    pub fn missing(&self, scope: &Scope) -> Result<Vec<Missing>, CallError> {
        let fleet = self.fleet();
        let is_on = |id: &UpstreamId| fleet.spec(id.as_str()).is_some_and(|spec| !spec.disabled);
        let ids: Vec<UpstreamId> = match scope {
            Scope::Server(id) => vec![id.clone()],
            Scope::All => fleet.ids().into_iter().filter(is_on).collect(),
        };
        let unlisted = |id: &UpstreamId| Some((id.clone(), fleet.unlisted(id.as_str())?));
        let mut missing: Vec<Missing> = ids.iter().filter_map(unlisted).collect();
        if let ([id], [_]) = (ids.as_slice(), missing.as_slice())
            && fleet.catalogue().tools_of(id.as_str()).next().is_none()
            && let Some((_, error)) = missing.pop()
        {
            return Err(error);
        }
        Ok(missing)
    }

    /// The servers of a scope whose tools are those of an earlier run.
    pub fn stale(&self, scope: &Scope) -> Vec<UpstreamId> {
        let mut stale = self.fleet().stale();
        stale.retain(|id| scope.covers(id));
        stale
    }

    /// A text about a tool that no server has, with the servers of which nobody knows what they have.
    pub fn unknown_among_all(&self, text: &str) -> String {
        match self.missing(&Scope::All) {
            Ok(missing) if !missing.is_empty() => {
                format!("{text}; the tools of these servers are not known: {}", names(&missing))
            }
            Ok(_) | Err(_) => text.to_owned(),
        }
    }

    /// The tools; a server that is still starting is waited for only where the tool is not known yet.
    pub async fn catalogue_for(&self, server: Option<&str>, name: &str) -> Result<Arc<Catalogue>, Failure> {
        let fleet = self.fleet();
        let catalogue = fleet.catalogue();
        let name = &*self.canonical(server, name);
        let named = match server {
            Some(server) => Some(
                named_server(fleet, self.default_server(), server)
                    .ok_or_else(|| unknown_server(fleet, server))?,
            ),
            None => None,
        };
        let server = named.as_ref().map(|spec| spec.id.as_str());
        if catalogue.resolve(server, name).is_ok() {
            return Ok(catalogue);
        }
        let mut ids: Vec<UpstreamId> = if let Some(server) = server {
            vec![UpstreamId::new(server)]
        } else {
            let is_server = |server: &str| fleet.spec(server).is_some();
            gateway_upstream::canonical_splits(name, is_server)
                .map(|(server, _)| UpstreamId::new(server))
                .collect()
        };
        if ids.is_empty() && name.starts_with("mcp__") {
            return Ok(catalogue);
        }
        if ids.is_empty() {
            ids = fleet.with_prefix_of(name);
        }
        // First those who never listed anything: what others listed in an earlier run is known.
        fleet.listed_or_stale(&ids, self.config().list_wait).await;
        if fleet.catalogue().resolve(server, name).is_err() {
            fleet.listed(&ids, self.config().list_wait).await;
        }
        Ok(fleet.catalogue())
    }

    /// The tool that a caller means who saw no list, or why there is none.
    pub fn find<'c>(
        &self,
        catalogue: &'c Catalogue,
        server: Option<&str>,
        name: &str,
    ) -> Result<&'c CatalogueTool, Failure> {
        let name = &*self.canonical(server, name);
        let is_plain = server.is_none() && !name.starts_with("mcp__");
        let default = self.default_server();
        let named = server.and_then(|server| named_server(self.fleet(), default, server));
        let server = named.as_ref().map(|spec| spec.id.as_str()).or(server);
        let is_default =
            is_plain && catalogue.get(default, name).is_some_and(|tool| tool.reserved_for.is_none());
        let error = match catalogue.resolve(server.or(is_default.then_some(default)), name) {
            Ok(tool) => return Ok(tool),
            Err(error) => error,
        };
        let text = match &error {
            LookupError::UnknownTool { server: None, .. } | LookupError::Ambiguous { .. } if is_plain => {
                format!("server is required when tool is not canonical: {error}")
            }
            _ => error.to_string(),
        };
        let text = match near(catalogue, &error, name) {
            Some(question) => format!("{text}; {question}"),
            None => text,
        };
        let text = match &error {
            LookupError::UnknownTool { server: None, .. } => self.unknown_among_all(&text),
            _ => text,
        };
        let implied = Some(default).filter(|server| self.fleet().spec(server).is_some());
        Err(self.not_found(Sought { server, name, implied }, &error, text))
    }

    /// The name of a tool, with its server's own name where it is canonical and says `default`. Where a server is named, names
    /// are that server's own.
    pub(crate) fn canonical<'n>(&self, server: Option<&str>, name: &'n str) -> Cow<'n, str> {
        match server {
            Some(_) => Cow::Borrowed(name),
            None => with_named_server(self.fleet(), self.default_server(), name),
        }
    }

    /// A server's own name, where `default` may stand for it.
    pub fn server_name(&self, name: String) -> String {
        named_server(self.fleet(), self.default_server(), &name).map_or(name, |spec| spec.id.to_string())
    }

    /// The scope that a request names.
    pub fn scope(&self, server: Option<&str>) -> Result<Scope, Failure> {
        Scope::parse(self.fleet(), self.default_server(), server)
    }
}

/// Which of the names that the caller could have seen was meant: those of lists, in the form in which the caller names one.
fn near(catalogue: &Catalogue, error: &LookupError, name: &str) -> Option<String> {
    let shown = |tool: &&CatalogueTool| tool.unaccepted.is_none();
    match error {
        LookupError::UnknownServer { name, known } => did_you_mean(name, known.iter().map(String::as_str)),
        // The name is right; the reason says why it leads nowhere.
        LookupError::UnknownTool { reason: Some(_), .. } | LookupError::Ambiguous { .. } => None,
        LookupError::UnknownTool { server: Some(server), .. } if name.starts_with("mcp__") => {
            let names: Vec<String> =
                catalogue.tools_of(server).filter(shown).map(|tool| tool.canonical_name()).collect();
            did_you_mean(name, names.iter().map(String::as_str))
        }
        LookupError::UnknownTool { server: Some(server), .. } => {
            did_you_mean(name, catalogue.tools_of(server).filter(shown).map(|tool| tool.name.as_str()))
        }
        LookupError::UnknownTool { server: None, .. } => {
            let shown = catalogue.listed().map(|tool| tool.public_name.as_str());
            did_you_mean(name, shown).or_else(|| {
                let prefixed = catalogue.listed().map(|tool| format!("{}__{}", tool.server, tool.name));
                let prefixed: Vec<String> = prefixed.collect();
                did_you_mean(name, prefixed.iter().map(String::as_str))
            })
        }
        _ => None,
    }
}
