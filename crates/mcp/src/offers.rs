//! Resources and prompts of several servers under one roof.
//!
//! Names. A prompt keeps its own name, and a resource its own URI, as long as no other server of the same endpoint has
//! it. Those that more than one server has stand under `<server>__<name>` and `gateway:<server>:<uri>`, each of them, so
//! that a name never leads to another server than before; those names hold always. A server that is away counts with what it
//! had last. URIs that are in no list go to the server whose template fits,
//! or to the only server that has resources at all.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gateway_config::template_values;
use gateway_protocol::{ListKind, RawJson, RawObject};
use gateway_upstream::{CallError, UpstreamId};

use crate::endpoint::Endpoint;
use crate::view::View;
use gateway_runtime::lists::renamed;

/// How long servers are waited for that have not said yet what they offer. Whoever is late is left out until it
/// comes.
pub(crate) const SOON: Duration = Duration::from_secs(3);

/// One entry of one server's list.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) server: UpstreamId,
    /// Its name, URI or template at the server.
    pub(crate) own: String,
    /// Its name, URI or template here.
    pub(crate) public: String,
    definition: RawJson,
}

impl Offer {
    /// The definition as it is shown.
    pub(crate) fn shown(&self, kind: ListKind) -> RawJson {
        if self.own == self.public {
            return self.definition.clone();
        }
        renamed(&self.definition, member(kind), &self.public).unwrap_or_else(|| self.definition.clone())
    }
}

/// The member that an entry is known by.
fn member(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::ResourceTemplates => "uriTemplate",
    }
}

/// What the servers of a view offer, in the order of the servers. A server that cannot be listed is left out: it must not
/// take the others with it.
pub(crate) async fn offers(endpoint: &Endpoint, view: &View, kind: ListKind) -> Vec<Offer> {
    let servers = view.servers(endpoint.fleet());
    let patience = endpoint.config().list_wait.min(SOON);
    let reading = servers.iter().map(|server| endpoint.fleet().entries(server.as_str(), kind, patience));
    let lists = join_all(reading).await;
    let mut found = Vec::new();
    for (server, list) in servers.into_iter().zip(lists) {
        match list {
            Ok(entries) => take(&server, kind, &entries, &mut found),
            // Why a server cannot be reached is logged where it is noticed, and once.
            Err(error @ CallError::Unreachable { .. }) => {
                tracing::debug!(upstream = %server, %error, "Its {} are left out.", kind.member());
            }
            Err(error) => tracing::warn!(upstream = %server, %error, "Its {} are left out.", kind.member()),
        }
    }
    give_names(kind, &mut found);
    found
}

fn take(server: &UpstreamId, kind: ListKind, entries: &Arc<[RawJson]>, found: &mut Vec<Offer>) {
    let member = member(kind);
    for definition in entries.iter() {
        let Ok(object) = RawObject::parse(definition) else { continue };
        let name = object.get(member).and_then(|name| serde_json::from_str::<Cow<'_, str>>(name.get()).ok());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let own = name.into_owned();
            found.push(Offer {
                server: server.clone(),
                public: own.clone(),
                own,
                definition: definition.clone(),
            });
        }
    }
}

fn give_names(kind: ListKind, found: &mut [Offer]) {
    let mut owners: HashMap<String, Option<UpstreamId>> = HashMap::new();
    for offer in found.iter() {
        let owner = owners.entry(offer.own.clone()).or_insert_with(|| Some(offer.server.clone()));
        if owner.as_ref() != Some(&offer.server) {
            *owner = None;
        }
    }
    // A name that begins with another server's leads to that one, as with tools.
    let servers: HashSet<UpstreamId> = found.iter().map(|offer| offer.server.clone()).collect();
    let is_taken = |offer: &Offer| {
        kind == ListKind::Prompts
            && servers.iter().filter(|server| **server != offer.server).any(|server| {
                let name = offer.own.strip_prefix("mcp__").unwrap_or(&offer.own);
                name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"))
            })
    };
    for offer in found.iter_mut().filter(|offer| owners.get(&offer.own) == Some(&None) || is_taken(offer)) {
        offer.public = match kind {
            ListKind::Tools | ListKind::Prompts => whole_name(&offer.server, &offer.own),
            ListKind::Resources | ListKind::ResourceTemplates => prefixed(&offer.server, &offer.own),
        };
    }
}

fn prefixed(server: &UpstreamId, uri: &str) -> String {
    format!("gateway:{server}:{uri}")
}

/// The prompt that a caller means.
pub(crate) async fn prompt(endpoint: &Endpoint, view: &View, name: &str) -> Option<(UpstreamId, String)> {
    if let View::Server(server) = view {
        return Some((server.clone(), name.to_owned()));
    }
    let offers = offers(endpoint, view, ListKind::Prompts).await;
    let is_meant = |offer: &&Offer| whole_name(&offer.server, &offer.own) == name;
    let found = offers.iter().find(|offer| offer.public == name).or_else(|| offers.iter().find(is_meant))?;
    Some((found.server.clone(), found.own.clone()))
}

/// The name of a prompt that holds whatever other servers have.
fn whole_name(server: &UpstreamId, own: &str) -> String {
    format!("{server}__{own}")
}

/// Whose resource a URI is, and what the server calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Of(UpstreamId, String),
    Nobodys,
    /// More than one server may have it; their names for it.
    Several(Vec<String>),
}

/// The resource that a caller means.
pub(crate) async fn resource(endpoint: &Endpoint, view: &View, uri: &str) -> Whose {
    if let View::Server(server) = view {
        return Whose::Of(server.clone(), uri.to_owned());
    }
    for server in view.servers(endpoint.fleet()) {
        let own = uri.strip_prefix("gateway:").and_then(|rest| rest.strip_prefix(server.as_str()));
        if let Some(own) = own.and_then(|rest| rest.strip_prefix(':')) {
            return Whose::Of(server, own.to_owned());
        }
    }
    let listed = offers(endpoint, view, ListKind::Resources).await;
    let mut owners: Vec<UpstreamId> =
        listed.into_iter().filter(|offer| offer.own == uri).map(|offer| offer.server).collect();
    if owners.is_empty() {
        let templates = offers(endpoint, view, ListKind::ResourceTemplates).await;
        owners = templates
            .into_iter()
            .filter(|offer| template_values(&offer.own, uri).is_some())
            .map(|offer| offer.server)
            .collect();
    }
    if owners.is_empty() {
        owners = servers_with_resources(endpoint, view).await;
        if owners.len() > 1 {
            return Whose::Nobodys;
        }
    }
    owners.dedup();
    match owners.as_slice() {
        [] => Whose::Nobodys,
        [server] => Whose::Of(server.clone(), uri.to_owned()),
        several => Whose::Several(several.iter().map(|server| prefixed(server, uri)).collect()),
    }
}

async fn servers_with_resources(endpoint: &Endpoint, view: &View) -> Vec<UpstreamId> {
    let servers = view.servers(endpoint.fleet());
    let asking = servers.iter().map(|server| endpoint.fleet().capabilities(server.as_str(), SOON));
    let known = join_all(asking).await;
    let with = servers.iter().zip(known).filter(|(_, can)| can.as_ref().is_some_and(|can| can.resources));
    with.map(|(server, _)| server.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(server: &str, own: &str) -> Offer {
        Offer {
            server: UpstreamId::new(server),
            own: own.to_owned(),
            public: own.to_owned(),
            definition: RawJson::parse(format!(r#"{{"uri":"{own}","x":1}}"#)).unwrap(),
        }
    }

    #[test]
    fn a_prompt_does_not_take_the_name_of_another_servers() {
        let mut found = vec![
            offer("evil", "p"),
            offer("evil", "files__p"),
            offer("evil", "mcp__files__p"),
            offer("files", "p"),
            offer("files", "files__own"),
        ];
        give_names(ListKind::Prompts, &mut found);
        let names: Vec<&str> = found.iter().map(|offer| offer.public.as_str()).collect();
        assert_eq!(names, ["evil__p", "evil__files__p", "evil__mcp__files__p", "files__p", "files__own"]);
    }

    #[test]
    fn what_two_servers_have_gets_their_names() {
        let mut found = vec![offer("a", "x://1"), offer("b", "x://1"), offer("b", "x://2")];
        give_names(ListKind::Resources, &mut found);
        let names: Vec<&str> = found.iter().map(|offer| offer.public.as_str()).collect();
        assert_eq!(names, ["gateway:a:x://1", "gateway:b:x://1", "x://2"]);
        assert_eq!(found[0].shown(ListKind::Resources).as_str(), r#"{"uri":"gateway:a:x://1","x":1}"#);
    }
}
