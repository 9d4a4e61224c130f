//! Servers that send too much.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::MEMORY;
use crate::hostile::arena::{Arena, Gateway, Hostile, PATIENCE};
use crate::process::eventually_blocking;

const T: &str = r#"[{"name":"t","inputSchema":{"type":"object"}}]"#;

/// Watches the memory while a server's listing never ends.
fn listing(arena: &Arena, kind: &str) -> Result<String> {
    let evil = arena.server("evil", "[]")?;
    evil.write("listing", kind)?;
    let good = arena.server("good", T)?;
    let gateway = arena.serve(&json!({"mcpServers": {"good": good.entry(), "evil": evil.entry()}}))?;
    gateway.lists("\"t\"");
    // Enough for the gateway to read all pages, or to refuse them.
    let watched = Duration::from_secs(20);
    let refused = || gateway.get("/servers").is_ok_and(|answer| answer.text().contains("\"error\":"));
    let over = || gateway.peak() > MEMORY;
    let _ = eventually_blocking(watched, "a refusal", || over() || refused());
    if !over() {
        gateway.get("/tools")?;
    }
    arena.breach_refusal(&gateway.call_on("good", "t", "{}")?);
    Ok(arena.breach_memory(gateway.peak(), MEMORY))
}

pub(super) fn cursors(arena: &Arena) -> Result<String> {
    listing(arena, "cursors")
}

pub(super) fn pages(arena: &Arena) -> Result<String> {
    listing(arena, "pages")
}

/// Refused requests fill the gateway's own log.
pub(super) fn refused_requests(arena: &Arena) -> Result<String> {
    let tools = r#"[{"name":"flood_requests","inputSchema":{"type":"object"}}]"#;
    let (_server, gateway) = arena.serve_one(tools, &json!({}), "flood_requests")?;
    let answer = gateway.call_on("e", "flood_requests", r#"{"count":5000}"#)?;
    let written = gateway.running.stderr.bytes().len();
    arena.breach_if(answer.status != 200, || format!("the flood was answered with {}", answer.status));
    arena.breach_if(written > 100_000, || format!("5,000 refused requests wrote {written} bytes"));
    Ok(format!("5,000 refused requests wrote {written} bytes"))
}

/// An answer that is not UTF-8 fails its call at once.
pub(super) fn garbled_answer(arena: &Arena) -> Result<String> {
    let tools = r#"[{"name":"garbled","inputSchema":{"type":"object"}}]"#;
    let (_server, gateway) = arena.serve_one(tools, &json!({"callTimeout": "8s"}), "garbled")?;
    let begin = Instant::now();
    let answer = gateway.call_on("e", "garbled", "{}")?;
    let took = begin.elapsed();
    let waited = took >= Duration::from_secs(8);
    arena.breach_if(waited, || format!("the call cost its whole time of 8 s ({})", answer.status));
    Ok(format!("answered with {} after {took:.1?}", answer.status))
}

/// Metrics of a server with many tools.
pub(super) fn many_metrics(arena: &Arena) -> Result<String> {
    let tools: Vec<_> = (0..3_000)
        .map(|index| json!({"name": format!("tool_{index}"), "inputSchema": {"type": "object"}}))
        .collect();
    let server = arena.server("e", &json!(tools).to_string())?;
    let gateway = arena.serve(&json!({"mcpServers": {"e": server.entry()}, "validate": false}))?;
    gateway.lists("tool_2999");
    for index in 0..3_000 {
        gateway.call_on("e", &format!("tool_{index}"), "{}")?;
    }
    let mut sizes = Vec::new();
    for path in ["/metrics", "/metrics/prometheus"] {
        let size = gateway.get(path)?.body.len();
        arena.breach_if(size > 1_500_000, || format!("{path} has {size} bytes"));
        sizes.push(format!("{path} has {size} bytes"));
    }
    Ok(sizes.join(", "))
}

/// A gateway with a server of large results, and a good one beside it.
fn beside_big_results(arena: &Arena) -> Result<(Hostile, Gateway)> {
    let evil = arena.server("evil", r#"[{"name":"big","inputSchema":{"type":"object"}}]"#)?;
    let good = arena.server("good", T)?;
    let gateway = arena.serve(&json!({"mcpServers": {"good": good.entry(), "evil": evil.entry()}}))?;
    gateway.lists("\"t\"");
    gateway.lists("big");
    Ok((evil, gateway))
}

/// Large results of one server, while another is called.
pub(super) fn big_results(arena: &Arena) -> Result<String> {
    let (_, gateway) = beside_big_results(arena)?;
    let (mut calls, mut failed) = (0, Vec::new());
    std::thread::scope(|scope| {
        let flooding: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..3 {
                        // Whether these succeed does not matter.
                        let _ = gateway.call_on("evil", "big", r#"{"bytes":30000000}"#);
                    }
                })
            })
            .collect();
        while flooding.iter().any(|thread| !thread.is_finished()) {
            calls += 1;
            match gateway.call_on("good", "t", "{}") {
                Ok(answer) if answer.status == 200 => {}
                Ok(answer) => failed.push(answer.status.to_string()),
                Err(problem) => failed.push(problem.to_string()),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    arena.breach_if(!failed.is_empty(), || {
        format!("{} of {calls} other calls failed: {failed:?}", failed.len())
    });
    let peak = arena.breach_memory(gateway.peak(), MEMORY);
    Ok(format!("{calls} other calls succeeded, {peak}"))
}

/// Callers that request large results and do not read them.
pub(super) fn unread_results(arena: &Arena) -> Result<String> {
    let (evil, gateway) = beside_big_results(arena)?;
    let body = json!({"server": "evil", "tool": "big", "arguments": {"bytes": 30_000_000}}).to_string();
    let mut open = Vec::new();
    for _ in 0..24 {
        open.push(gateway.send("POST", "/call_tool", &[("content-type", "application/json")], &body)?);
    }
    let all = || gateway.peak() > MEMORY || evil.calls_of("big") == 24;
    let _ = eventually_blocking(Duration::from_secs(15), "all results", all);
    let _ = eventually_blocking(Duration::from_secs(5), "too much memory", || gateway.peak() > MEMORY);
    let peak = arena.breach_memory(gateway.peak(), MEMORY);
    arena.breach_refusal(&gateway.call_on("good", "t", "{}")?);
    drop(open);
    let quiet = || gateway.get("/livez").is_ok_and(|answer| answer.status == 200);
    arena
        .breach_if(eventually_blocking(PATIENCE, "life", quiet).is_err(), || "it does not answer".to_owned());
    Ok(format!("{peak}, another server's call succeeded"))
}
