//! Long runs and crashes: memory, errors, and the completeness of the log.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::client::{Connection, Request, drive_all, drive_once};
use super::gateway_call;
use super::process::{Gateway, HttpFixture, two_config};

/// Calls through two servers, 64 at once, and whether every one of them is in the log.
pub(super) async fn soak(program: &Path, fixture: &Path, calls: usize) -> Result<String> {
    let http = HttpFixture::start(fixture, &[]).await?;
    let gateway = Gateway::start(program, &two_config(fixture, &http.url())).await?;
    let requests = [gateway_call(gateway.port, "one"), gateway_call(gateway.port, "two")];
    let mut table =
        String::from("| calls | calls/s | p99 µs | resident kB |\n| ---: | ---: | ---: | ---: |\n");
    let parts = 10;
    for part in 1..=parts {
        let figures = drive_all(&requests, 64, calls / parts).await?;
        writeln!(
            table,
            "| {} | {:.0} | {:.0} | {} |",
            calls / parts * part,
            figures.rate,
            figures.p99,
            gateway.memory_kb()?
        )?;
    }
    let wanted = u64::try_from(calls / parts * parts)?;
    let written = written(&gateway, wanted).await?;
    writeln!(table, "\n{written} of {wanted} calls are in the log, no call failed.")?;
    gateway.stop().await?;
    if written != wanted {
        bail!("{table}\nthe log has missing calls");
    }
    Ok(table)
}

/// How many entries the log has, once it has at least `wanted` or stops growing.
async fn written(gateway: &Gateway, wanted: u64) -> Result<u64> {
    let begin = Instant::now();
    loop {
        let answer = drive_once(&Request::get(gateway.port, "/health", &[])).await?;
        let health: Value = serde_json::from_slice(&answer.body)?;
        let written = health
            .pointer("/log/written")
            .and_then(Value::as_u64)
            .context("/health reports no written calls")?;
        if written >= wanted || begin.elapsed() > Duration::from_secs(10) {
            return Ok(written);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Kills the gateway under load, starts it again, and counts calls that were answered but are not in the log.
pub(super) async fn kill(program: &Path, fixture: &Path, rounds: usize) -> Result<String> {
    let http = HttpFixture::start(fixture, &[]).await?;
    let mut gateway = Gateway::start(program, &two_config(fixture, &http.url())).await?;
    let mut table = String::from(
        "| round | answered | in the log | missing, older than 100 ms | missing, last 100 ms |\n| ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut missing = 0;
    let mut last = 0;
    for round in 0..rounds {
        // Rounds of different lengths, so that the kill hits different points of a batch.
        let length = Duration::from_millis(300 + 37 * u64::try_from(round)?);
        let (answered, ended) = answered_until_killed(&mut gateway, round, length).await?;
        gateway = gateway.start_again().await?;
        let kept = kept_since(&gateway, &mut last).await?;
        let (mut old, mut young) = (0, 0);
        for (_, at) in answered.iter().filter(|(id, _)| !kept.contains(id)) {
            if ended.duration_since(*at) > Duration::from_millis(100) {
                old += 1;
            } else {
                young += 1;
            }
        }
        let found = answered.len() - old - young;
        missing += old;
        writeln!(table, "| {} | {} | {found} | {old} | {young} |", round + 1, answered.len())?;
    }
    gateway.stop().await?;
    if missing > 0 {
        bail!("{table}\n{missing} answered calls are missing although they were older than 100 ms");
    }
    Ok(table)
}

/// The correlation ids of all entries after `last`, which is set to the newest.
async fn kept_since(gateway: &Gateway, last: &mut i64) -> Result<HashSet<String>> {
    let mut kept = HashSet::new();
    loop {
        let path = format!("/logs?after={last}&limit=10000");
        let answer = drive_once(&Request::get(gateway.port, &path, &[])).await?;
        let entries: Vec<Value> = serde_json::from_slice(&answer.body)
            .with_context(|| format!("reading {path}: {}", String::from_utf8_lossy(&answer.body)))?;
        if entries.is_empty() {
            return Ok(kept);
        }
        for entry in entries {
            *last = entry.get("id").and_then(Value::as_i64).context("an entry has no id")?;
            kept.extend(entry.get("correlation_id").and_then(Value::as_str).map(str::to_owned));
        }
    }
}

/// Calls until the gateway is killed: which calls were answered and when, and when it was killed.
async fn answered_until_killed(
    gateway: &mut Gateway,
    round: usize,
    length: Duration,
) -> Result<(Vec<(String, Instant)>, Instant)> {
    let port = gateway.port;
    let worker = |number: usize| async move {
        let mut answered = Vec::new();
        let Ok(mut connection) = Connection::open(port).await else { return answered };
        for count in 0.. {
            let id = format!("kill-{round}-{number}-{count}");
            let body = r#"{"server":"one","tool":"add","arguments":{"a":1,"b":2}}"#;
            let request = Request::post(port, "/call_tool", &[("x-correlation-id", &id)], body);
            match connection.send(&request).await {
                Ok(answer) if answer.status == 200 => answered.push((id, Instant::now())),
                Ok(_) | Err(_) => break,
            }
        }
        answered
    };
    let workers = tokio::task::LocalSet::new();
    let handles: Vec<_> = (0..16).map(|number| workers.spawn_local(worker(number))).collect();
    let mut ended = Instant::now();
    let mut all = Vec::new();
    workers
        .run_until(async {
            tokio::time::sleep(length).await;
            ended = Instant::now();
            gateway.kill().await?;
            for handle in handles {
                all.extend(handle.await.context("a caller broke off")?);
            }
            Ok::<_, anyhow::Error>(())
        })
        .await?;
    if all.is_empty() {
        bail!("no call was answered before the end");
    }
    Ok((all, ended))
}
