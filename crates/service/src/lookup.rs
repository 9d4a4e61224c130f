//! Names that lead to no tool: what is told about them, in one place for all ways that a call can come.

use gateway_upstream::LookupError;

use crate::gateway::Gateway;
use crate::run::Failure;

/// What a caller named, and found nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought<'a> {
    /// The server, where one was named.
    pub(crate) server: Option<&'a str>,
    /// The name of the tool.
    pub(crate) name: &'a str,
    /// The server that is meant where the name tells of none.
    pub(crate) implied: Option<&'a str>,
}

impl Gateway {
    /// Why a name leads to no tool, in the words of `text`. Where the server that is meant never told its tools, the fault is
    /// the server's: nobody knows that it has no such tool.
    pub(crate) fn not_found(&self, sought: Sought<'_>, error: &LookupError, text: String) -> Failure {
        if let LookupError::Ambiguous { candidates, .. } = error {
            return Failure::Ambiguous { message: text, candidates: candidates.clone() };
        }
        let Sought { server, name, implied } = sought;
        match self.fleet().unlisted_for(server, name, implied) {
            Some(error) => Failure::Call(error),
            None => Failure::UnknownTool(text),
        }
    }

    /// A text about a tool that no server has, with the servers of which nobody knows what they have.
    pub(crate) fn unknown_among_all(&self, text: &str) -> String {
        let fleet = self.fleet();
        let is_on = |id: &str| fleet.spec(id).is_some_and(|spec| !spec.disabled);
        let ids = fleet.ids();
        let unknown = ids.iter().map(gateway_upstream::UpstreamId::as_str);
        let unknown: Vec<&str> = unknown.filter(|id| is_on(id) && fleet.unlisted(id).is_some()).collect();
        if unknown.is_empty() {
            return text.to_owned();
        }
        format!("{text}; the tools of these servers are not known: {}", unknown.join(", "))
    }
}
