//! What somebody writes who has the crates from a registry.

use gateway_dialects::calls::{ReadOptions, parse_reply};
use gateway_dialects::{Dialects, Options, Translator};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = [json!({"name": "users.find", "inputSchema": {
        "type": "object", "properties": {"limit": {"type": "integer"}},
    }})];
    let translator = Translator::new(&Dialects::builtin(), "openai-chat-strict", Options::default())?;
    let translation = translator.translate(&tools);
    let reply = json!({"tool_calls": [{"id": "call_1", "type": "function", "function": {
        "name": "users_find", "arguments": "{\"limit\": null}",
    }}]});
    let reply = parse_reply(&reply, &ReadOptions::default())?;
    let tool = translation.by_wire_name(&reply.calls[0].name).ok_or("no such tool")?;
    let arguments = tool.plan.decode(&json!({"limit": null}))?;
    assert_eq!(arguments, json!({}));
    assert!(gateway_notation::pattern::matches("users.*", tool.name));
    assert!(gateway_regex::Expression::read("(?=a)a").is_some_and(|read| read.backtracks()));
    println!("{} dialects, {} takes {arguments}", Dialects::builtin().names().count(), tool.name);
    Ok(())
}
