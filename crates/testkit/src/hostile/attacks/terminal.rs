//! Untrusted text in terminal output.

use std::time::Duration;

use serde_json::{Value, json};

use super::Breaches;
use crate::hostile::arena::{Arena, Hostile, PATIENCE};
use crate::hostile::{Problem, Verdict};
use crate::process::eventually_blocking;

/// Clears the screen, rings the bell, moves the cursor back, sets a title, reverses the direction.
const HOSTILE: &str = "\u{1b}[2J\u{7}\r\u{9b}31m\u{1b}]0;title\u{7}\u{202e}\u{200b}\u{7f}end";

fn hostile_server(arena: &Arena) -> Result<Hostile, Problem> {
    let tools = json!([
        {"name": format!("t{HOSTILE}"), "description": format!("d{HOSTILE}"),
         "inputSchema": {"type": "object", "properties": {HOSTILE: {"type": "strange", "description": HOSTILE}}}},
        {"name": "plain", "description": HOSTILE, "inputSchema": {"type": "object"}},
    ]);
    let server = arena.server("e", &tools.to_string())?;
    server.write("info", &json!({"name": HOSTILE, "title": HOSTILE, "version": HOSTILE}).to_string())?;
    std::fs::write(arena.path("config.json"), json!({"mcpServers": {"e": server.entry()}}).to_string())?;
    Ok(server)
}

fn check_command(arena: &Arena, arguments: &[&str], input: &str) -> Result<Verdict, Problem> {
    let output = arena.run(arguments, input)?;
    let mut breaches = Breaches::default();
    for (name, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        breaches.add_control(name, bytes);
    }
    let status = output.status;
    breaches.add_if(output.stdout.is_empty() && output.stderr.is_empty(), || {
        format!("no output, status {status:?}")
    });
    Ok(breaches.verdict(format!("escaped, exit status {status:?}")))
}

fn config(arena: &Arena) -> String {
    arena.path("config.json").display().to_string()
}

pub(super) fn tools(arena: &Arena) -> Result<Verdict, Problem> {
    let _server = hostile_server(arena)?;
    check_command(arena, &["tools", "--config", &config(arena)], "")
}

pub(super) fn servers(arena: &Arena) -> Result<Verdict, Problem> {
    let _server = hostile_server(arena)?;
    check_command(arena, &["servers", "--config", &config(arena)], "")
}

pub(super) fn check(arena: &Arena) -> Result<Verdict, Problem> {
    let tools = json!([{"name": format!("t{HOSTILE}"), "description": HOSTILE,
        "inputSchema": {"type": "object", "properties": {HOSTILE: {"type": "strange", "pattern": HOSTILE}}}}]);
    check_command(arena, &["check", "--details"], &tools.to_string())
}

/// The errors of a call contain names and the last output of the server.
pub(super) fn call(arena: &Arena) -> Result<Verdict, Problem> {
    let server = hostile_server(arena)?;
    let unknown = check_command(arena, &["call", "--config", &config(arena), "e", HOSTILE, "{}"], "")?;
    if !unknown.held {
        return Ok(unknown);
    }
    server.write("last-words", &format!("{HOSTILE}\n"))?;
    check_command(arena, &["call", "--config", &config(arena), "e", "plain", "{}"], "")
}

/// Any caller can put a tool's name and a correlation id into the log.
pub(super) fn logs(arena: &Arena) -> Result<Verdict, Problem> {
    let server = hostile_server(arena)?;
    let mut gateway = arena.serve(&json!({"mcpServers": {"e": server.entry()}}))?;
    let caller = gateway.caller();
    caller.lists("plain");
    caller.call_on("e", HOSTILE, "{}")?;
    caller.call(HOSTILE, "{}")?;
    caller.call_on("e", "plain", &json!({"text": HOSTILE}).to_string())?;
    let url = format!("http://127.0.0.1:{}", gateway.port);
    let logged = || caller.get("/logs").is_ok_and(|answer| answer.text().contains("plain"));
    let _ = eventually_blocking(PATIENCE, "the log", logged);
    let running = check_command(arena, &["logs", "--url", &url], "")?;
    gateway.stop()?;
    if !running.held {
        return Ok(running);
    }
    check_command(arena, &["logs", "--data", &arena.path("data").display().to_string()], "")
}

/// The last output of a server is in the lines of `serve`, and may look like its own lines.
pub(super) fn serve(arena: &Arena) -> Result<Verdict, Problem> {
    let server = arena.server("e", "[]")?;
    server.write("last-words", &format!("{HOSTILE}\nfiles: connected\r\nfiles: 5 tools\n"))?;
    let mut gateway = arena.serve(&json!({"mcpServers": {"e": server.entry()}}))?;
    let said = || {
        let text = gateway.running.stdout.text();
        text.lines().any(|line| line.starts_with("e: ") && line != "e: connecting")
    };
    let _ = eventually_blocking(Duration::from_secs(10), "the failure of the server", said);
    gateway.stop()?;
    let mut breaches = Breaches::default();
    let (stdout, stderr) = (gateway.running.stdout.so_far(), gateway.running.stderr.so_far());
    for (name, bytes) in [("standard output", &stdout), ("standard error", &stderr)] {
        breaches.add_control(name, bytes);
    }
    let text = String::from_utf8_lossy(&stdout);
    let forged = text.lines().any(|line| line.trim_start().starts_with("files: "));
    breaches.add_if(forged, || "a line of another server was forged".to_owned());
    Ok(breaches.verdict("escaped, no line forged"))
}

/// The text about tools that goes into a prompt.
pub(super) fn context(arena: &Arena) -> Result<Verdict, Problem> {
    let server = hostile_server(arena)?;
    let gateway = arena.serve(&json!({"mcpServers": {"e": server.entry()}}))?;
    let caller = gateway.caller();
    caller.lists("plain");
    let mut breaches = Breaches::default();
    let answer = caller.get("/tools/openai/context")?;
    let texts = match answer.json() {
        Ok(value) => strings(&value),
        Err(_) => answer.text(),
    };
    breaches.add_control("the context", texts.as_bytes());
    Ok(breaches.verdict("escaped"))
}

/// The texts in a value, each on a line.
fn strings(value: &Value) -> String {
    let mut all = Vec::new();
    collect_strings(value, &mut all);
    all.join("\n")
}

fn collect_strings<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, all)),
        Value::Object(members) => {
            for (name, member) in members {
                all.push(name);
                collect_strings(member, all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
