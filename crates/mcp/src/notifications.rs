//! Notifies callers of what happens to the upstreams, as far as it concerns them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::future::join_all;
use gateway_protocol::{Notification, RawJson, method};
use gateway_upstream::{FleetEvent, InFlight, UpstreamId, UpstreamState};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use crate::endpoint::Endpoint;
use crate::log_level::LogLevel;
use crate::outbound::written;
use crate::params::member;
use crate::subscriptions::Change;
use crate::view::View;

/// How often sessions and calls that nobody came back for are looked for.
const SWEEP: Duration = Duration::from_secs(5);

const LISTS: [&str; 3] = [method::TOOLS_CHANGED, method::RESOURCES_CHANGED, method::PROMPTS_CHANGED];

impl Endpoint {
    /// Begins to notify callers of what happens.
    pub fn start(&self) {
        self.state().tasks.spawn(run(self.clone()));
    }
}

/// Listens to the fleet until the gateway ends.
async fn run(endpoint: Endpoint) {
    let stopping = endpoint.state().stopping.clone();
    let mut events = endpoint.fleet().events();
    let mut sweep = tokio::time::interval(SWEEP);
    let mut known = Known::default();
    loop {
        tokio::select! {
            () = stopping.cancelled() => return,
            _ = sweep.tick() => {
                endpoint.state().sessions.sweep();
                endpoint.parked().sweep();
            }
            event = events.recv() => match event {
                Ok(event) => take(&endpoint, event, &mut known),
                // What was missed may have been anything.
                Err(RecvError::Lagged(_)) => {
                    for list in LISTS {
                        publish(&endpoint, &Change::List { server: None, method: list });
                    }
                }
                Err(RecvError::Closed) => return,
            },
        }
    }
}

/// What callers were notified of already.
#[derive(Debug, Default)]
struct Known {
    /// The fingerprint of the tools of each server.
    tools: HashMap<UpstreamId, u64>,
    /// Servers that were there before.
    met: HashSet<UpstreamId>,
}

fn take(endpoint: &Endpoint, event: FleetEvent, known: &mut Known) {
    match event {
        FleetEvent::Listed { upstream, .. } => {
            // Lists are read again and again; only another list is a change.
            let now = fingerprint(endpoint, &upstream);
            match known.tools.insert(upstream.clone(), now) {
                None => {
                    publish(endpoint, &Change::Appeared { server: upstream, method: method::TOOLS_CHANGED });
                }
                Some(before) if before != now => {
                    publish(
                        endpoint,
                        &Change::List { server: Some(upstream), method: method::TOOLS_CHANGED },
                    );
                }
                Some(_) => {}
            }
        }
        FleetEvent::Reloaded => {
            *known = Known::default();
            for list in LISTS {
                publish(endpoint, &Change::List { server: None, method: list });
            }
        }
        FleetEvent::State { upstream, state: UpstreamState::Connected, .. } => {
            let is_new = known.met.insert(upstream.clone());
            let owned = endpoint.clone();
            // A server that does not answer must not hold up the events of others.
            endpoint.state().tasks.spawn(async move {
                let greeting = tokio::time::timeout(GREETING, greet(&owned, &upstream, is_new));
                let _ = owned.state().stopping.run_until_cancelled(greeting).await;
            });
        }
        FleetEvent::Notification { upstream, notification, in_flight } => {
            notify(endpoint, upstream, &notification, &in_flight);
        }
        _ => {}
    }
}

/// How long a server that has just come may take to hear what callers want of it.
const GREETING: Duration = Duration::from_secs(5);

/// Notifies callers of what a server has that came late, and sets the level of its log messages.
async fn greet(endpoint: &Endpoint, server: &UpstreamId, is_new: bool) {
    if is_new && let Some(can) = endpoint.fleet().capabilities(server.as_str(), GREETING).await {
        let lists = [(can.resources, method::RESOURCES_CHANGED), (can.prompts, method::PROMPTS_CHANGED)];
        for (_, list) in lists.into_iter().filter(|(has, _)| *has) {
            publish(endpoint, &Change::Appeared { server: server.clone(), method: list });
        }
    }
    set_log_level_at(endpoint, server).await;
}

fn fingerprint(endpoint: &Endpoint, server: &UpstreamId) -> u64 {
    use std::hash::{Hash as _, Hasher as _};
    let catalogue = endpoint.fleet().catalogue();
    let mut hasher = std::hash::DefaultHasher::new();
    for tool in catalogue.tools_of(server.as_str()).filter(|tool| tool.unaccepted.is_none()) {
        tool.shown().as_bytes().hash(&mut hasher);
    }
    hasher.finish()
}

fn notify(endpoint: &Endpoint, server: UpstreamId, notification: &Notification, in_flight: &InFlight) {
    match notification.method.as_str() {
        // Of tools the fleet reads the new list first.
        changed @ (method::RESOURCES_CHANGED | method::PROMPTS_CHANGED) => {
            if let Some(method) = LISTS.into_iter().find(|list| *list == changed) {
                publish(endpoint, &Change::List { server: Some(server), method });
            }
        }
        method::RESOURCE_UPDATED => {
            if let Some(uri) = member(notification.params.as_ref(), "uri") {
                publish(endpoint, &Change::Resource { server, uri });
            }
        }
        method::LOG_MESSAGE => log_message(endpoint, &server, notification.params.as_ref(), in_flight),
        _ => {}
    }
}

/// Log messages of a shared connection go to the session whose calls are at work, or to all where none is. With calls of
/// several sessions at work nobody knows whose business it is, so nobody hears it.
fn log_message(endpoint: &Endpoint, server: &UpstreamId, params: Option<&RawJson>, in_flight: &InFlight) {
    let sessions = &endpoint.state().sessions;
    let concerned = match in_flight {
        InFlight::Of(owner) => sessions.named(owner).into_iter().collect(),
        InFlight::Nothing => sessions.all(),
        InFlight::Several => Vec::new(),
    };
    let level = LogLevel::of_message(params);
    for session in concerned {
        if session.level().is_some_and(|least| level >= least) && session.shows(endpoint.fleet(), server) {
            session.sink.offer(written(method::LOG_MESSAGE, params));
        }
    }
}

/// Notifies sessions and listeners.
fn publish(endpoint: &Endpoint, change: &Change) {
    let fleet = endpoint.fleet();
    endpoint.state().listeners.notify(fleet, change);
    for session in endpoint.state().sessions.all() {
        match change {
            Change::List { server, method } => {
                let is_shown = |server| *method == method::TOOLS_CHANGED || session.shows(fleet, server);
                if server.as_ref().is_none_or(is_shown)
                    && session.handshake.get().is_some()
                    && session.has_view(fleet)
                {
                    session.sink.offer(written(method, None));
                }
            }
            // Servers become ready while callers come. Whoever has not looked yet sees them anyway, and a caller that came
            // for one request may be gone when it hears of them: some do not survive that.
            Change::Appeared { server, method } => {
                let is_behind = match *method {
                    method::TOOLS_CHANGED => session.peer.is_behind(fleet.catalogue().version()),
                    _ => session.peer.has_looked(method) && session.shows(fleet, server),
                };
                if is_behind {
                    session.sink.offer(written(method, None));
                }
            }
            Change::Resource { server, uri } => {
                if let Some(uri) = session.subscribed(server, uri) {
                    let params = RawJson::of(&json!({"uri": uri})).ok();
                    session.sink.offer(written(method::RESOURCE_UPDATED, params.as_ref()));
                }
            }
        }
    }
}

/// Sets the level of log messages at the servers of a view.
pub(crate) async fn set_log_level(endpoint: &Endpoint, view: &View) {
    let servers = view.servers(endpoint.fleet());
    let setting = servers.iter().map(|server| {
        // Whoever is slow hears it later, or not at all; the caller need not wait for it.
        tokio::time::timeout(GREETING, set_log_level_at(endpoint, server))
    });
    join_all(setting).await;
}

/// Sets the lowest level that a session wants at a server of the legacy era; each session hears only from its own level on.
async fn set_log_level_at(endpoint: &Endpoint, server: &UpstreamId) {
    let sessions = endpoint.state().sessions.all();
    // Where nobody asked, the server knows best.
    if sessions.iter().all(|session| session.asked_level().is_none()) {
        return;
    }
    let Some(lowest) = sessions.iter().filter_map(|session| session.level()).min() else { return };
    let fleet = endpoint.fleet();
    // Servers that are not there hear it when they come.
    let Some(health) =
        fleet.health_of(server.as_str()).filter(|health| health.state == UpstreamState::Connected)
    else {
        return;
    };
    let is_modern = health.era.is_some_and(|era| era.is_modern());
    if is_modern || !fleet.capabilities(server.as_str(), GREETING).await.is_some_and(|can| can.logging) {
        return;
    }
    let Ok(level) = RawJson::of(&lowest) else { return };
    let params = [("level", level.as_bytes())];
    let options = gateway_upstream::CallOptions::default();
    if let Err(error) = fleet.request(server.as_str(), method::SET_LEVEL, None, &params, &options).await {
        tracing::debug!(upstream = %server, %error, "The level of log messages was not taken.");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gateway_protocol::{LATEST_LEGACY, parse_strict_message};
    use gateway_runtime::capabilities::Capabilities;
    use gateway_runtime::context::RequestContext;
    use gateway_runtime::system::{SystemParts, ToolSystem};
    use gateway_upstream::{CatalogueRules, ToolGroup, UpstreamSpec};
    use tokio::sync::mpsc;

    use super::*;
    use crate::legacy;
    use crate::outbound::Sink;
    use crate::sessions::Handshake;

    #[tokio::test]
    async fn a_session_of_a_group_that_is_gone_hears_nothing_and_gets_an_error() {
        let servers = vec![UpstreamSpec::new("demo", gateway_upstream::Endpoint::Demo)];
        let mut parts = SystemParts::default();
        parts.servers.clone_from(&servers);
        let group = ToolGroup { servers: vec!["demo".to_owned()], ..ToolGroup::default() };
        parts.fleet.catalogue.groups.insert("g".to_owned(), group);
        let endpoint = Endpoint::new(ToolSystem::new(parts).initialize().await.unwrap());
        let open = |view: Option<&str>| {
            let (sender, heard) = mpsc::channel(8);
            let can = Capabilities::of(RawJson::empty_object());
            let handshake = Some(Handshake { version: LATEST_LEGACY, can });
            let sink = Some(Sink::Channel(sender.clone()));
            let session = endpoint.state().sessions.open(None, view.map(Arc::from), handshake, sink);
            (session.unwrap(), sender, heard)
        };
        let (of_group, sender, mut heard_by_group) = open(Some("g"));
        let (_of_all, _, mut heard_by_all) = open(None);
        endpoint.start();
        // The task that listens to the fleet has begun.
        tokio::task::yield_now().await;
        endpoint.fleet().reload(servers, CatalogueRules::default());
        for _ in LISTS {
            heard_by_all.recv().await.unwrap();
        }
        assert!(heard_by_group.try_recv().is_err(), "nothing of its view can have changed");
        let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let request = parse_strict_message(request.as_slice().into()).unwrap();
        legacy::take(&endpoint, &of_group, RequestContext::new(None), request, &sender).await;
        let answer = String::from_utf8(heard_by_group.recv().await.unwrap().into()).unwrap();
        assert!(answer.contains("this group is not configured any more"), "{answer}");
        endpoint.stop();
    }
}
