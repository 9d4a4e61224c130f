//! Servers for the duration of one command.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, bail};
use gateway_upstream::{Fleet, FleetOptions, UpstreamHealth, UpstreamId, UpstreamSpec, UpstreamState};

use crate::output::did_you_mean;
use crate::progress::with_progress;
use crate::runtime::{EndSignals, Interrupted};

/// How long a server may take to stop after the command.
const END: Duration = Duration::from_secs(5);

/// Starts the servers, does the work and stops them again: no child process is left, however the work ends.
pub(crate) async fn with_fleet<T, W: Future<Output = Result<T>>>(
    options: FleetOptions,
    work: impl FnOnce(Fleet) -> W,
) -> Result<T> {
    let mut signals = EndSignals::listen()?;
    let fleet = Fleet::start(Vec::new(), options);
    let outcome = tokio::select! {
        outcome = work(fleet.clone()) => outcome,
        signal = signals.next() => Err(Interrupted(signal).into()),
    };
    tokio::select! {
        () = fleet.shutdown(Duration::ZERO) => {}
        // A second signal stops at once.
        _ = signals.next() => {}
        () = tokio::time::sleep(END) => {}
    }
    outcome
}

/// The servers that a command uses: one by name, or all.
pub(crate) fn chosen(specs: Vec<UpstreamSpec>, name: Option<&str>) -> Result<Vec<UpstreamSpec>> {
    let Some(name) = name else { return Ok(specs) };
    if let Some(spec) = specs.iter().find(|spec| spec.id.as_str() == name) {
        return Ok(vec![spec.clone()]);
    }
    let known: Vec<&str> = specs.iter().map(|spec| spec.id.as_str()).collect();
    let hint = match did_you_mean(name, known.iter().copied()) {
        Some(hint) => hint,
        None if known.is_empty() => "none is configured".to_owned(),
        None => format!("there are: {}", known.join(", ")),
    };
    bail!("no server is called `{name}`; {hint}")
}

/// Starts these servers and waits until each has listed its tools or failed to, at most `wait`.
pub(crate) async fn listed(fleet: &Fleet, specs: Vec<UpstreamSpec>, wait: Duration) {
    fleet.apply(specs);
    with_progress(fleet.listed(&[], wait), || waiting_text(fleet)).await;
}

fn waiting_text(fleet: &Fleet) -> String {
    let health = fleet.health();
    let late: Vec<&str> = health.iter().filter(|one| is_late(one)).map(|one| one.id.as_str()).collect();
    format!("waiting for {}", late.join(", "))
}

fn is_late(health: &UpstreamHealth) -> bool {
    health.tools.is_none() && matches!(health.state, UpstreamState::Connecting | UpstreamState::Connected)
}

/// The servers whose tools are not known, and why.
pub(crate) fn failures(fleet: &Fleet) -> Vec<(UpstreamId, String)> {
    let health = fleet.health().into_iter();
    health
        .filter(|one| one.tools.is_none() && one.state != UpstreamState::Disabled)
        .map(|one| (one.id.clone(), reason(&one)))
        .collect()
}

/// Why a server cannot be used.
pub(crate) fn reason(health: &UpstreamHealth) -> String {
    match (&health.reason, health.state) {
        (Some(reason), _) => reason.clone(),
        (None, UpstreamState::Connecting) => "it does not answer; --timeout lets it take longer".to_owned(),
        (None, UpstreamState::Connected) => {
            "it does not list its tools; --timeout lets it take longer".to_owned()
        }
        (None, state) => format!("it is {state}"),
    }
}
