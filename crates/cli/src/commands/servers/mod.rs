//! `servers`: show the configured servers, check their configuration, restart one, accept changed definitions.

mod accept;
mod check;
mod restart;

use std::collections::HashMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, Subcommand};
use gateway_upstream::{Fleet, FleetEvent, UpstreamHealth, UpstreamId, UpstreamState};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

pub(crate) use self::check::Check;
use crate::Outcome;
use crate::fleet::{chosen, listed, reason, with_fleet};
use crate::output::{Paint, Table, Tone, print_json};
use crate::runtime::block_on;
use crate::seconds::seconds;
use crate::setup::ConfigFlags;
use crate::terminal::{Form, output};

/// Start the configured servers and show their state; check their configuration; restart one.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Servers {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    show: Show,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the changed tool definitions of a server that wait, or accept them
    Accept(accept::Accept),
    /// Check the configuration without starting anything
    Check(check::Check),
    /// Ask a running gateway to restart a server
    Restart(restart::Restart),
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    config: ConfigFlags,
    /// Only this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// How long to wait for servers that are starting, in seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    timeout: Duration,
}

impl Servers {
    pub(crate) fn run(&self) -> Result<Outcome> {
        match &self.action {
            Some(Action::Accept(accept)) => accept.run(),
            Some(Action::Check(check)) => check.run(),
            Some(Action::Restart(restart)) => restart.run(),
            None => self.show.run(),
        }
    }
}

impl Show {
    fn run(&self) -> Result<Outcome> {
        let setup = self.config.load()?;
        let specs = chosen(setup.specs, self.server.as_deref())?;
        block_on(with_fleet(setup.fleet, async |fleet: Fleet| {
            let mut stopwatch = Stopwatch::new(fleet.events());
            tokio::select! {
                () = listed(&fleet, specs, self.timeout) => {}
                () = stopwatch.run() => {}
            }
            let times = stopwatch.times();
            let health = fleet.health();
            if self.json {
                let rows: Vec<Value> = health.iter().map(|one| row(one, times.get(&one.id))).collect();
                print_json(&json!({ "servers": rows }))?;
            } else {
                write_table(&health, &times)?;
            }
            Ok(if health.iter().any(is_failed) { Outcome::Findings } else { Outcome::Good })
        }))
    }
}

fn is_failed(health: &UpstreamHealth) -> bool {
    health.state != UpstreamState::Disabled && health.tools.is_none()
}

/// Measures how long each server takes from its first attempt until it is connected.
struct Stopwatch {
    events: Receiver<FleetEvent>,
    began: HashMap<UpstreamId, Instant>,
    times: HashMap<UpstreamId, Duration>,
}

impl Stopwatch {
    fn new(events: Receiver<FleetEvent>) -> Self {
        Self { events, began: HashMap::new(), times: HashMap::new() }
    }

    /// Never returns; it can be dropped at any time.
    async fn run(&mut self) {
        loop {
            match self.events.recv().await {
                Ok(event) => self.take(event),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }

    fn take(&mut self, event: FleetEvent) {
        let FleetEvent::State { upstream, state, .. } = event else { return };
        if state == UpstreamState::Connecting {
            self.began.entry(upstream).or_insert_with(Instant::now);
        } else if state == UpstreamState::Connected
            && let Some(began) = self.began.get(&upstream)
        {
            self.times.entry(upstream).or_insert_with(|| began.elapsed());
        }
    }

    fn times(mut self) -> HashMap<UpstreamId, Duration> {
        while let Ok(event) = self.events.try_recv() {
            self.take(event);
        }
        self.times
    }
}

fn row(health: &UpstreamHealth, time: Option<&Duration>) -> Value {
    let (name, version) = health.server.clone().unzip();
    json!({
        "name": health.id.as_str(),
        "state": health.state.name(),
        "ok": health.ok,
        "transport": health.transport,
        "era": health.era.as_ref().map(gateway_protocol::Era::name),
        "protocolVersion": health.era.as_ref().map(gateway_protocol::Era::version),
        "serverName": name,
        "version": version,
        "tools": health.tools,
        "connectMs": time.map(|time| milliseconds(*time)),
        "reason": is_failed(health).then(|| reason(health)),
    })
}

fn write_table(health: &[UpstreamHealth], times: &HashMap<UpstreamId, Duration>) -> Result<()> {
    let mut table =
        Table::new(["name", "state", "transport", "era", "tools", "ms", "server, or what is wrong"]);
    for one in health {
        let tone = if one.state == UpstreamState::Disabled {
            Some(Tone::Faint)
        } else {
            is_failed(one).then_some(Tone::Bad)
        };
        let about = match &one.server {
            _ if is_failed(one) => reason(one),
            Some((name, version)) => format!("{name} {version}"),
            None => String::new(),
        };
        let cells = [
            one.id.to_string(),
            one.state.name().to_owned(),
            one.transport.to_owned(),
            one.era.as_ref().map_or_else(String::new, |era| format!("{} {}", era.name(), era.version())),
            one.tools.map_or_else(|| "-".to_owned(), |tools| tools.to_string()),
            times.get(&one.id).map_or_else(|| "-".to_owned(), |time| milliseconds(*time).to_string()),
            about,
        ];
        table.row(tone, cells);
    }
    let mut stdout = output(Form::Text);
    if health.is_empty() {
        writeln!(stdout, "no servers are configured")?;
    } else {
        table.write(&mut stdout, Paint::for_stdout(), "")?;
    }
    stdout.flush()?;
    Ok(())
}

/// Whole milliseconds, at least one.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
