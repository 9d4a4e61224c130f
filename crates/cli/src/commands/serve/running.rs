//! The life of a gateway, from start to shutdown.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use gateway_config::Problems;
use gateway_service::{Gateway, ServeError};
use gateway_upstream::{Fleet, FleetEvent};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::announce::Announcer;
use super::reload::{Changed, DialectFiles, Watches, keep, take_over};
use crate::Outcome;
use crate::runtime::{EndSignals, Interrupted};
use crate::setup::Setup;

/// Serves until a signal arrives.
pub(super) async fn run(
    mut setup: Setup,
    load: &dyn Fn() -> Result<Setup, Problems>,
    announcer: Announcer,
) -> Result<Outcome> {
    // First of all: a signal during startup must leave no child process behind.
    let mut ends = EndSignals::listen()?;
    let mut hang_up = signal(SignalKind::hangup()).context("listening for signals")?;
    probe(setup.service.listen)?;
    let fleet = Fleet::start(Vec::new(), setup.remembering_fleet());
    let log = setup.open_log()?;
    // Read before they are used: what changes meanwhile is another text.
    let mut dialect_files = DialectFiles::read(&setup);
    let gateway = Gateway::new(setup.service.clone(), fleet.clone(), setup.dialects()?, log);
    let events = fleet.events();
    // Before the servers start: changes during their startup count too.
    let mut watches = Watches::new(&setup);
    // Before the first request can arrive: no caller may get an error that a server is unknown.
    fleet.apply(setup.specs.clone());
    let running = match gateway_service::serve(gateway).await {
        Ok(running) => running,
        Err(error) => {
            fleet.shutdown(Duration::ZERO).await;
            return Err(error.into());
        }
    };
    announcer.listening(&format!("http://{}", running.address()), &setup);
    announcer.refused(&setup.registry.refused);
    for spec in &setup.specs {
        announcer.resting(spec);
    }
    let mut tasks = JoinSet::new();
    tasks.spawn(announce_events(events, announcer.clone()));
    let signal = loop {
        let changed = tokio::select! {
            signal = ends.next() => break signal,
            _ = hang_up.recv() => Changed::Configuration,
            changed = watches.changed() => changed,
        };
        // Finished restarts.
        while tasks.try_join_next().is_some() {}
        match changed {
            Changed::Configuration => match load().and_then(|new| {
                let new = setup.successor(new)?;
                let dialects = dialect_files.reread(&new)?;
                Ok((new, dialects))
            }) {
                Ok(new) => {
                    take_over(&mut setup, new, running.gateway(), &announcer);
                    watches.follow(&setup);
                }
                Err(problems) => keep(&problems, running.gateway(), &announcer),
            },
            Changed::WatchPath(id) => {
                let value = json!({"event": "watch-path", "server": id.as_str()});
                announcer
                    .announce(&format!("{id}: a file that it depends on changed, restarting it"), &value);
                let fleet = fleet.clone();
                // The fleet's events report the outcome.
                tasks.spawn(async move { drop(fleet.restart(id.as_str()).await) });
            }
        }
    };
    let drain = setup.service.drain;
    let plain = format!("{}: stopping, calls in flight have {} s", signal.name, drain.as_secs());
    announcer.announce(&plain, &json!({"event": "stopping", "signal": signal.name}));
    tokio::select! {
        is_clean = running.shutdown() => {
            tasks.shutdown().await;
            let plain = if is_clean { "stopped" } else { "stopped; some calls were aborted" };
            announcer.announce(plain, &json!({"event": "stopped", "clean": is_clean}));
            Ok(Outcome::Good)
        }
        second = ends.next() => {
            announcer.announce("stopped at once", &json!({"event": "stopped", "signal": second.name}));
            Err(Interrupted(second).into())
        }
    }
}

/// Detects an address that is in use before any server is started.
fn probe(address: SocketAddr) -> Result<(), ServeError> {
    // The service reports other errors.
    match std::net::TcpListener::bind(address) {
        Err(cause) if cause.kind() == ErrorKind::AddrInUse => Err(ServeError::Bind { address, cause }),
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn announce_events(mut events: Receiver<FleetEvent>, announcer: Announcer) {
    loop {
        match events.recv().await {
            Ok(event) => announcer.event(&event),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
