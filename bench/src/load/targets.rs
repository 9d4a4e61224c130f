//! The figures that the gateway has to stay under, whatever machine it runs on.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::check;
use super::client::{Connection, Request, drive, drive_once};
use super::process::{self, Gateway};

const AT_ONCE: usize = 100;
const REGISTRATIONS: usize = 1_000;
const ITEMS: usize = 5_000;

const ADMIN: &str = "an-admin-key-for-the-benchmark-only";

/// Runs each scenario `rounds` times against one gateway, and shows the slowest round.
pub(super) async fn targets(program: &Path, fixture: &Path, rounds: usize) -> Result<String> {
    let mut config = process::stdio_config(fixture, &[]);
    if let Some(members) = config.as_object_mut() {
        members.insert("adminKeys".to_owned(), json!({"bench": ADMIN}));
        members.insert("registry".to_owned(), json!({"allowPrivate": true}));
    }
    let gateway = Gateway::start(program, &config).await?;
    let call = |tool: &str, arguments: &str| {
        let body = format!(r#"{{"server":"one","tool":"{tool}","arguments":{arguments}}}"#);
        Request::post(gateway.port, "/call_tool", &[], &body)
    };
    let (add, slow) = (call("add", r#"{"a":15,"b":27}"#), call("slow", r#"{"ms":100}"#));
    check(&drive_once(&add).await?, "42")?;
    check(&drive_once(&slow).await?, "100")?;
    let before = gateway.memory_kb()?;
    let mut most = before;
    let mut slowest = [Duration::ZERO; 5];
    for _ in 0..rounds {
        let times = [
            at_once(&add).await?,
            at_once(&slow).await?,
            register(gateway.port).await?,
            many_items(gateway.port, "/call_tool").await?,
            many_items(gateway.port, "/execute").await?,
        ];
        for (slowest, time) in slowest.iter_mut().zip(times) {
            *slowest = time.max(*slowest);
        }
        most = most.max(gateway.memory_kb()?);
    }
    gateway.stop().await?;
    let names = [
        (format!("{AT_ONCE} calls at once"), "5 s"),
        (format!("{AT_ONCE} calls at once, each of which takes 100 ms"), "5 s"),
        (format!("{REGISTRATIONS} tools registered and unregistered, one after the other"), "1 s"),
        (format!("a result of {ITEMS} items, `/call_tool`"), "1 s"),
        (format!("a result of {ITEMS} items, `/execute` for OpenAI"), "1 s"),
    ];
    let mut table = String::from("| scenario | slowest round ms | at most |\n| --- | ---: | ---: |\n");
    for ((name, bound), time) in names.iter().zip(slowest) {
        writeln!(table, "| {name} | {:.1} | {bound} |", time.as_secs_f64() * 1e3)?;
    }
    let growth = most.saturating_sub(before);
    writeln!(
        table,
        "\nResident memory: {before} kB before, at most {most} kB, so {growth} kB more (at most 50 MB)."
    )?;
    Ok(table)
}

/// All calls are sent before the first answer is there.
async fn at_once(call: &Request) -> Result<Duration> {
    let begin = Instant::now();
    drive(call, AT_ONCE, AT_ONCE).await?;
    Ok(begin.elapsed())
}

async fn register(port: u16) -> Result<Duration> {
    let authorization = format!("Bearer {ADMIN}");
    let headers = [("authorization", authorization.as_str())];
    let tool = json!({
        "description": "Look up an order",
        "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        "handler": {"url": "http://127.0.0.1:9/order"},
    });
    let mut connection = Connection::open(port).await?;
    let begin = Instant::now();
    for number in 0..REGISTRATIONS {
        let path = format!("/registry/order_{number}");
        let put = connection.send(&Request::new(port, "PUT", &path, &headers, &tool.to_string())).await?;
        let delete = connection.send(&Request::new(port, "DELETE", &path, &headers, "")).await?;
        if (put.status, delete.status) != (201, 204) {
            bail!("PUT and DELETE {path} answered {} and {}", put.status, delete.status);
        }
    }
    Ok(begin.elapsed())
}

/// A result with a list of that many objects, as text and as `structuredContent`, which the server echoes.
async fn many_items(port: u16, path: &str) -> Result<Duration> {
    let items: Vec<_> =
        (0..ITEMS).map(|id| json!({"id": id, "name": format!("item {id}"), "tags": ["a", "b"]})).collect();
    let arguments = json!({"message": "items", "items": items});
    let body = match path {
        "/execute" => json!({"provider": "openai-chat", "call": {"id": "call_1", "type": "function",
            "function": {"name": "echo", "arguments": arguments.to_string()}}}),
        _ => json!({"server": "one", "tool": "echo", "arguments": arguments}),
    };
    let request = Request::post(port, path, &[], &body.to_string());
    let begin = Instant::now();
    let answer = drive_once(&request).await?;
    let taken = begin.elapsed();
    let last = ITEMS.checked_sub(1).context("no items")?;
    check(&answer, &format!("item {last}"))?;
    Ok(taken)
}
