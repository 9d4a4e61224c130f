//! The gateway as an MCP server: the overhead of a call, and the memory of idle sessions.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::client::{Connection, Request, drive, drive_all, drive_once};
use super::messages::{call, initialize, message};
use super::process::{self, Gateway, HttpFixture};
use super::{check, median, micros};

/// This many requests with distinct ids: far more than are in flight, as a session refuses an id that is in use.
const IDS: usize = 2_048;

/// Calls over MCP through the gateway and directly, in turns.
pub(super) async fn calls(program: &Path, fixture: &Path, calls: usize, rounds: usize) -> Result<String> {
    let direct = HttpFixture::start(fixture, &[]).await?;
    let straight = direct.call(&direct.initialize().await?);
    let gateway = Gateway::start(program, &process::stdio_config(fixture, &[])).await?;
    let session = drive_once(&initialize(gateway.port)).await?.session.context("no session")?;
    let port = gateway.port;
    let legacy: Vec<Request> = (1..=IDS).map(|id| message(port, Some(&session), &call(id, None))).collect();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let modern: Vec<Request> = (1..=IDS).map(|id| message(port, None, &call(id, Some(&meta)))).collect();
    let mut table = String::from(
        "| caller | at once | calls/s | of direct | p50 µs | p99 µs | gateway CPU µs |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for at_once in [1, 16, 64] {
        for (name, requests) in [("legacy", &legacy), ("modern", &modern)] {
            check(&drive_once(requests.first().context("no request")?).await?, "42")?;
            drive_all(requests, at_once, calls / 10).await?;
            let mut rows = Vec::new();
            for _ in 0..rounds {
                let beside = drive(&straight, at_once, calls).await?;
                let before = gateway.cpu()?;
                let figures = drive_all(requests, at_once, calls).await?;
                let cpu = micros(gateway.cpu()?.saturating_sub(before), calls);
                rows.push([figures.rate, figures.rate / beside.rate, figures.p50, figures.p99, cpu]);
            }
            let pick = |index: usize| {
                median(rows.iter().map(|row| row.get(index).copied().unwrap_or_default()).collect())
            };
            writeln!(
                table,
                "| {name} | {at_once} | {:.0} | {:.2} | {:.0} | {:.0} | {:.1} |",
                pick(0),
                pick(1),
                pick(2),
                pick(3),
                pick(4)
            )?;
        }
    }
    gateway.stop().await?;
    Ok(table)
}

/// Opens idle sessions, and measures the memory.
pub(super) async fn sessions(program: &Path, fixture: &Path, sessions: usize) -> Result<String> {
    let gateway = Gateway::start(program, &process::stdio_config(fixture, &[])).await?;
    let before = gateway.memory_kb()?;
    let request = initialize(gateway.port);
    let mut connection = Connection::open(gateway.port).await?;
    for _ in 0..sessions {
        connection.send(&request).await?.session.context("no session")?;
    }
    let after = gateway.memory_kb()?;
    let table = format!(
        "{sessions} idle sessions: {before} kB before, {after} kB after, {} bytes each.\n",
        after.saturating_sub(before) * 1_024 / u64::try_from(sessions.max(1))?
    );
    gateway.stop().await?;
    Ok(table)
}
