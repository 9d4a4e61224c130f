//! Getting a changed definition accepted.

use anyhow::Result;
use serde_json::json;

use crate::hostile::arena::{Arena, Gateway, Hostile};
use crate::hostile::caller::Caller;

const GOOD: &str = r#"{"name":"t","description":"good","inputSchema":{"type":"object"}}"#;
const EVIL: &str = r#"{"name":"t","description":"EVIL","inputSchema":{"type":"object"}}"#;
const RELIST: &str = r#"{"name":"relist","inputSchema":{"type":"object"}}"#;
const MARKER: &str = r#"{"name":"marker","inputSchema":{"type":"object"}}"#;

/// A gateway with keys whose server has changed a definition, which is blocked.
fn changed(arena: &Arena) -> Result<(Hostile, Gateway)> {
    let server = arena.server("e", &format!("[{GOOD},{RELIST}]"))?;
    let block = json!({"tools": {"onDefinitionChange": "block"}});
    let gateway = arena.serve(&json!({
        "mcpServers": {"e": server.entry_with(&block)},
        "apiKeys": {"ann": "ann-key-0123456789"}, "adminKeys": {"root": "root-key-0123456789"}}))?;
    let ann = gateway.with_key("ann-key-0123456789");
    ann.lists("relist");
    server.write("tools", &format!("[{EVIL},{RELIST},{MARKER}]"))?;
    ann.call_on("e", "relist", "{}")?;
    ann.lists("marker");
    Ok((server, gateway))
}

fn check(caller: &Caller, arena: &Arena, what: &str) -> Result<()> {
    let shown = caller.get("/tools")?.text().contains("EVIL");
    arena.breach_if(shown, || format!("the changed definition was taken {what}"));
    Ok(())
}

/// A caller with an API key accepts.
pub(super) fn accept_without_admin(arena: &Arena) -> Result<String> {
    let (_server, gateway) = changed(arena)?;
    let ann = gateway.with_key("ann-key-0123456789");
    check(&ann, arena, "before anybody accepted it")?;
    let answer = ann.post("/servers/e/accept", "{}")?;
    arena.breach_if(answer.status < 400, || format!("an API key accepted: {}", answer.status));
    check(&ann, arena, "by an API key")?;
    Ok("refused, and still blocked".to_owned())
}

/// An admin accepts something other than the blocked definition.
pub(super) fn accept_other_fingerprint(arena: &Arena) -> Result<String> {
    let (_server, gateway) = changed(arena)?;
    let root = gateway.with_key("root-key-0123456789");
    for body in ["{}", r#"{"fingerprint":"0123456789abcdef"}"#, ""] {
        let answer = root.post("/servers/e/accept", body)?;
        arena.breach_if(answer.status < 400, || format!("accepted with {body:?}: {}", answer.status));
    }
    check(&root, arena, "without its fingerprint")?;
    Ok("refused, and still blocked".to_owned())
}

/// The file with the accepted definitions is truncated, and the server has changed meanwhile.
pub(super) fn truncated_memory(arena: &Arena) -> Result<String> {
    let server = arena.server("e", &format!("[{GOOD}]"))?;
    let block = json!({"tools": {"onDefinitionChange": "block"}});
    let config = json!({"mcpServers": {"e": server.entry_with(&block)}});
    let mut gateway = arena.serve(&config)?;
    gateway.lists("good");
    gateway.stop()?;
    let memory = arena.path("data/servers.json");
    let text = std::fs::read(&memory)?;
    std::fs::write(&memory, text.get(..text.len() / 2).unwrap_or_default())?;
    server.write("tools", &format!("[{EVIL},{MARKER}]"))?;
    let gateway = arena.serve(&config)?;
    gateway.lists("marker");
    check(&gateway, arena, "after the memory was truncated")?;
    Ok("still blocked".to_owned())
}
