//! Processes that outlive their server.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::hostile::arena::{Arena, Gateway, Hostile};
use crate::process::{eventually_blocking, is_alive};

fn with_stray(arena: &Arena) -> Result<(Hostile, Gateway)> {
    let server = arena.server("e", r#"[{"name":"stray","inputSchema":{"type":"object"}}]"#)?;
    // The server continues after the end of its input.
    server.write("stay", "")?;
    let gateway =
        arena.serve(&json!({"mcpServers": {"e": server.entry_with(&json!({"closeTimeout": "1s"}))}}))?;
    gateway.lists("stray");
    gateway.call_on("e", "stray", "{}")?;
    Ok((server, gateway))
}

fn judge(arena: &Arena, server: &Hostile) -> String {
    let pids = server.pids();
    let left = || pids.iter().filter(|pid| is_alive(**pid)).count();
    let _ = eventually_blocking(Duration::from_secs(5), "their end", || left() == 0);
    arena.breach_if(pids.len() < 2, || "the stray was not started".to_owned());
    arena.breach_if(left() > 0, || format!("{} of {} processes are left", left(), pids.len()));
    "no process is left".to_owned()
}

/// A process in its own session and without an environment, when the gateway stops.
pub(super) fn after_end(arena: &Arena) -> Result<String> {
    let (server, mut gateway) = with_stray(arena)?;
    gateway.stop()?;
    Ok(judge(arena, &server))
}

/// The same, and the server itself, when the gateway is killed.
pub(super) fn after_kill(arena: &Arena) -> Result<String> {
    let (server, mut gateway) = with_stray(arena)?;
    gateway.kill()?;
    Ok(judge(arena, &server))
}
