//! The gateway from its first line to its last.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use gateway_service::{Gateway, ServeError};
use gateway_upstream::{Fleet, FleetEvent};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::announce::Voice;
use super::reload::{Changed, Watches, keep, take_over};
use crate::Outcome;
use crate::runtime::{EndSignals, Interrupted};
use crate::setup::{Problems, Setup};

/// Serves until a signal comes.
pub(super) async fn run(
    mut setup: Setup,
    load: &dyn Fn() -> Result<Setup, Problems>,
    voice: Voice,
) -> Result<Outcome> {
    // From the first moment on: a signal during the start must leave no child either.
    let mut ends = EndSignals::listen()?;
    let mut hang_up = signal(SignalKind::hangup()).context("listening for signals")?;
    probe(setup.service.listen)?;
    let fleet = Fleet::start(Vec::new(), setup.remembering_fleet());
    let log = setup.open_log()?;
    let gateway = Gateway::new(setup.service.clone(), fleet.clone(), setup.dialects()?, log);
    let events = fleet.events();
    // Before the servers start: what changes while they do counts too.
    let mut watches = Watches::new(&setup);
    // Before the first request can come: no caller may be told that a server is unknown.
    fleet.apply(setup.specs.clone());
    let running = match gateway_service::serve(gateway).await {
        Ok(running) => running,
        Err(error) => {
            fleet.shutdown(Duration::ZERO).await;
            return Err(error.into());
        }
    };
    voice.listening(&format!("http://{}", running.address()), setup.demo_only);
    voice.refused(&setup.registry.refused);
    for spec in &setup.specs {
        voice.resting(spec);
    }
    let mut tasks = JoinSet::new();
    tasks.spawn(tell_events(events, voice.clone()));
    let signal = loop {
        let changed = tokio::select! {
            signal = ends.next() => break signal,
            _ = hang_up.recv() => Changed::Configuration,
            changed = watches.changed() => changed,
        };
        // Restarts that are over.
        while tasks.try_join_next().is_some() {}
        match changed {
            Changed::Configuration => match load().and_then(|new| setup.successor(new)) {
                Ok(new) => {
                    take_over(&mut setup, new, running.gateway(), &voice);
                    watches.follow(&setup);
                }
                Err(problems) => keep(&problems, &voice),
            },
            Changed::WatchPath(id) => {
                let value = json!({"event": "watch-path", "server": id.as_str()});
                voice.say(&format!("{id}: a file that it depends on changed, restarting it"), &value);
                let fleet = fleet.clone();
                // How it ends is told by the fleet's events.
                tasks.spawn(async move { drop(fleet.restart(id.as_str()).await) });
            }
        }
    };
    let drain = setup.service.drain;
    let plain = format!("{}: stopping, calls in flight have {} s", signal.name(), drain.as_secs());
    voice.say(&plain, &json!({"event": "stopping", "signal": signal.name()}));
    tokio::select! {
        is_clean = running.shutdown() => {
            tasks.shutdown().await;
            let plain = if is_clean { "stopped" } else { "stopped; some calls were broken off" };
            voice.say(plain, &json!({"event": "stopped", "clean": is_clean}));
            Ok(Outcome::Good)
        }
        second = ends.next() => {
            voice.say("stopped at once", &json!({"event": "stopped", "signal": second.name()}));
            Err(Interrupted(second).into())
        }
    }
}

/// Where the address is taken, that is noticed before any server has been started.
fn probe(address: SocketAddr) -> Result<(), ServeError> {
    // Other reasons are for the service to tell.
    match std::net::TcpListener::bind(address) {
        Err(cause) if cause.kind() == ErrorKind::AddrInUse => Err(ServeError::Bind { address, cause }),
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn tell_events(mut events: Receiver<FleetEvent>, voice: Voice) {
    loop {
        match events.recv().await {
            Ok(event) => voice.event(&event),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
