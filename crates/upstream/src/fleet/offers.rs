//! What an upstream offers beside tools: resources, their templates, and prompts. Read when somebody asks, kept until the
//! server says that it changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gateway_protocol::{ListKind, RawJson, RpcError, code, method};
use serde::Deserialize;
use tokio::time::Instant;

use super::Fleet;
use super::listing::list;
use super::upstream::Upstream;
use crate::error::CallError;

/// What a server said that it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct Capabilities {
    /// It has tools.
    #[serde(deserialize_with = "is_there")]
    pub tools: bool,
    /// It has prompts.
    #[serde(deserialize_with = "is_there")]
    pub prompts: bool,
    /// It has resources.
    #[serde(deserialize_with = "is_there")]
    pub resources: bool,
    /// It completes arguments.
    #[serde(deserialize_with = "is_there")]
    pub completions: bool,
    /// It sends log messages.
    #[serde(deserialize_with = "is_there")]
    pub logging: bool,
    /// Extensions that it knows, with their settings.
    pub extensions: serde_json::Map<String, serde_json::Value>,
    /// It tells when a resource changes.
    #[serde(skip)]
    pub subscribe: bool,
}

fn is_there<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(!Option::<serde_json::Value>::deserialize(deserializer)?.unwrap_or_default().is_null())
}

impl Capabilities {
    /// Reads what a server said.
    pub fn of(raw: &RawJson) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Resources {
            subscribe: bool,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Nested {
            resources: Option<Resources>,
        }
        let subscribe = raw
            .read::<Nested>()
            .ok()
            .and_then(|nested| nested.resources)
            .is_some_and(|found| found.subscribe);
        Self { subscribe, ..raw.read().unwrap_or_default() }
    }
}

/// The lists of one upstream that somebody asked for.
#[derive(Debug, Default)]
pub(super) struct Offers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Grows with every change, so that a list that was asked for before it is not kept.
    version: u64,
    lists: HashMap<ListKind, Kept>,
}

#[derive(Debug)]
struct Kept {
    entries: Arc<[RawJson]>,
    until: Option<Instant>,
}

impl Offers {
    /// Takes note of a notification.
    pub(super) fn note(&self, notification: &str) {
        match notification {
            method::RESOURCES_CHANGED => self.forget(&[ListKind::Resources, ListKind::ResourceTemplates]),
            method::PROMPTS_CHANGED => self.forget(&[ListKind::Prompts]),
            _ => {}
        }
    }

    /// A new connection may be to another version of the server.
    pub(super) fn renew(&self) {
        self.forget(&[ListKind::Resources, ListKind::ResourceTemplates, ListKind::Prompts]);
    }

    fn forget(&self, kinds: &[ListKind]) {
        let mut state = self.lock();
        state.version += 1;
        for kind in kinds {
            state.lists.remove(kind);
        }
    }

    fn kept(&self, kind: ListKind) -> (u64, Option<Arc<[RawJson]>>) {
        let state = self.lock();
        let kept =
            state.lists.get(&kind).filter(|kept| kept.until.is_none_or(|until| until > Instant::now()));
        (state.version, kept.map(|kept| Arc::clone(&kept.entries)))
    }

    fn keep(&self, version: u64, kind: ListKind, kept: Kept) {
        let mut state = self.lock();
        if state.version == version {
            state.lists.insert(kind, kept);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fleet {
    /// What an upstream can do; starts it if need be.
    pub async fn capabilities(&self, id: &str) -> Result<Capabilities, CallError> {
        Ok(Capabilities::of(self.upstream(id)?.connected().await?.capabilities()))
    }

    /// What the upstreams that are connected told the model.
    pub fn instructions(&self, id: &str) -> Option<String> {
        let upstream = self.upstream(id).ok()?;
        upstream.live()?.instructions().map(str::to_owned)
    }

    /// The resources, templates or prompts of an upstream, as they came. A server that does not declare them is not
    /// asked.
    pub async fn entries(&self, id: &str, kind: ListKind) -> Result<Arc<[RawJson]>, CallError> {
        let upstream = self.upstream(id)?;
        if kind == ListKind::Tools {
            return Ok(upstream.tools().unwrap_or_default());
        }
        entries_of(&upstream, kind).await
    }
}

async fn entries_of(upstream: &Upstream, kind: ListKind) -> Result<Arc<[RawJson]>, CallError> {
    let connection = upstream.connected().await?;
    let can = Capabilities::of(connection.capabilities());
    let declared = match kind {
        ListKind::Tools => can.tools,
        ListKind::Resources | ListKind::ResourceTemplates => can.resources,
        ListKind::Prompts => can.prompts,
    };
    if !declared {
        return Ok(Arc::default());
    }
    let (version, kept) = upstream.offers.kept(kind);
    if let Some(entries) = kept {
        return Ok(entries);
    }
    upstream.touch();
    let spec = &upstream.spec;
    let listing = list(&connection, kind, &spec.timeouts, &spec.limits).await.map_err(|error| {
        let error = RpcError::new(code::INTERNAL_ERROR, error.to_string());
        CallError::Refused { upstream: spec.id.clone(), error }
    })?;
    let entries: Arc<[RawJson]> = listing.entries.into();
    let until = listing.ttl.map(|ttl| Instant::now() + ttl);
    upstream.offers.keep(version, kind, Kept { entries: Arc::clone(&entries), until });
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_by_presence() {
        let raw = |text: &str| RawJson::parse(text.to_owned()).unwrap();
        let read =
            Capabilities::of(&raw(r#"{"tools":{},"resources":{"subscribe":true},"prompts":null,"x":1}"#));
        assert_eq!(
            read,
            Capabilities { tools: true, resources: true, subscribe: true, ..Capabilities::default() }
        );
        assert_eq!(Capabilities::of(&raw("[]")), Capabilities::default());
    }

    #[test]
    fn a_list_that_is_older_than_a_change_is_not_kept() {
        let offers = Offers::default();
        let kept = || Kept { entries: Arc::from([RawJson::null()]), until: None };
        let (version, none) = offers.kept(ListKind::Prompts);
        assert!(none.is_none());
        offers.note(method::PROMPTS_CHANGED);
        offers.keep(version, ListKind::Prompts, kept());
        let (version, none) = offers.kept(ListKind::Prompts);
        assert!(none.is_none());
        offers.keep(version, ListKind::Prompts, kept());
        offers.note(method::LOG_MESSAGE);
        assert_eq!(offers.kept(ListKind::Prompts).1.map(|entries| entries.len()), Some(1));
    }
}
