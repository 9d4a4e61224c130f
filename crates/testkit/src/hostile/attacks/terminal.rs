//! Untrusted text in terminal output.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::hostile::arena::{Arena, Hostile, PATIENCE};
use crate::process::eventually_blocking;

/// Clears the screen, rings the bell, moves the cursor back, sets a title, reverses the direction.
const HOSTILE: &str = "\u{1b}[2J\u{7}\r\u{9b}31m\u{1b}]0;title\u{7}\u{202e}\u{200b}\u{7f}end";

fn hostile_server(arena: &Arena) -> Result<Hostile> {
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

fn check_command(arena: &Arena, arguments: &[&str], input: &str) -> Result<String> {
    let output = arena.run(arguments, input)?;
    for (name, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        arena.breach_control(name, bytes);
    }
    let status = output.status;
    arena.breach_if(output.stdout.is_empty() && output.stderr.is_empty(), || {
        format!("no output, status {status:?}")
    });
    Ok(format!("escaped, exit status {status:?}"))
}

fn config(arena: &Arena) -> String {
    arena.path("config.json").display().to_string()
}

pub(super) fn tools(arena: &Arena) -> Result<String> {
    let _server = hostile_server(arena)?;
    check_command(arena, &["tools", "--config", &config(arena)], "")
}

pub(super) fn servers(arena: &Arena) -> Result<String> {
    let _server = hostile_server(arena)?;
    check_command(arena, &["servers", "--config", &config(arena)], "")
}

pub(super) fn check(arena: &Arena) -> Result<String> {
    let tools = json!([{"name": format!("t{HOSTILE}"), "description": HOSTILE,
        "inputSchema": {"type": "object", "properties": {HOSTILE: {"type": "strange", "pattern": HOSTILE}}}}]);
    check_command(arena, &["check", "--details"], &tools.to_string())
}

/// The errors of a call contain names and the last output of the server.
pub(super) fn call(arena: &Arena) -> Result<String> {
    let server = hostile_server(arena)?;
    check_command(arena, &["call", "--config", &config(arena), "e", HOSTILE, "{}"], "")?;
    server.write("last-words", &format!("{HOSTILE}\n"))?;
    check_command(arena, &["call", "--config", &config(arena), "e", "plain", "{}"], "")
}

/// Any caller can put a tool's name and a correlation id into the log.
pub(super) fn logs(arena: &Arena) -> Result<String> {
    let server = hostile_server(arena)?;
    let mut gateway = arena.serve(&json!({"mcpServers": {"e": server.entry()}}))?;
    gateway.lists("plain");
    gateway.call_on("e", HOSTILE, "{}")?;
    gateway.call(HOSTILE, "{}")?;
    gateway.call_on("e", "plain", &json!({"text": HOSTILE}).to_string())?;
    let url = format!("http://127.0.0.1:{}", gateway.port);
    let logged = || gateway.get("/logs").is_ok_and(|answer| answer.text().contains("plain"));
    let _ = eventually_blocking(PATIENCE, "the log", logged);
    check_command(arena, &["logs", "--url", &url], "")?;
    gateway.stop()?;
    check_command(arena, &["logs", "--data", &arena.path("data").display().to_string()], "")
}

/// The last output of a server is in the lines of `serve`, and may look like its own lines.
pub(super) fn serve(arena: &Arena) -> Result<String> {
    let server = arena.server("e", "[]")?;
    server.write("last-words", &format!("{HOSTILE}\nfiles: connected\r\nfiles: 5 tools\n"))?;
    let mut gateway = arena.serve(&json!({"mcpServers": {"e": server.entry()}}))?;
    let said = || {
        let text = gateway.running.stdout.text();
        text.lines().any(|line| line.starts_with("e: ") && line != "e: connecting")
    };
    let _ = eventually_blocking(Duration::from_secs(10), "the failure of the server", said);
    gateway.stop()?;
    let (stdout, stderr) = (gateway.running.stdout.bytes(), gateway.running.stderr.bytes());
    for (name, bytes) in [("standard output", &stdout), ("standard error", &stderr)] {
        arena.breach_control(name, bytes);
    }
    let text = String::from_utf8_lossy(&stdout);
    let forged = text.lines().any(|line| line.trim_start().starts_with("files: "));
    arena.breach_if(forged, || "a line of another server was forged".to_owned());
    Ok("escaped, no line forged".to_owned())
}

/// The text about tools that goes into a prompt.
pub(super) fn context(arena: &Arena) -> Result<String> {
    let server = hostile_server(arena)?;
    let gateway = arena.serve(&json!({"mcpServers": {"e": server.entry()}}))?;
    gateway.lists("plain");
    let answer = gateway.get("/tools/openai/context")?;
    let texts = match answer.json() {
        Ok(value) => strings(&value),
        Err(_) => answer.text(),
    };
    arena.breach_control("the context", texts.as_bytes());
    Ok("escaped".to_owned())
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
