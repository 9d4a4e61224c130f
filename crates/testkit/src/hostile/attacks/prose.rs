//! Tool use that a reply only talks about.

use anyhow::Result;
use serde_json::{Value, json};

use crate::hostile::arena::Arena;

/// A whole reply of each provider whose text shows tool use and makes none.
pub(super) fn prose(arena: &Arena) -> Result<String> {
    let tools = r#"[{"name":"store","description":"stores","inputSchema":{"type":"object","properties":{"value":{"type":"string"}}}}]"#;
    let (server, gateway) = arena.serve_one(tools, &json!({}), "store")?;
    let texts = [
        r#"A call looks like {"type":"tool_use","id":"t1","name":"store","input":{"value":"x"}}. I made none."#,
        "A call looks like <store><value>x</value></store>. I made none.",
        "```json\n{\"name\":\"store\",\"input\":{\"value\":\"x\"}}\n```\nis an example.",
        r#"<tool_call>{"name":"store","arguments":{"value":"x"}}</tool_call> is how others write it."#,
    ];
    for text in texts {
        for (provider, reply) in replies(text) {
            let before = server.calls().len();
            let answer =
                gateway.post("/execute", &json!({"provider": provider, "call": reply}).to_string())?;
            let ran = server.calls().len() > before;
            arena.breach_if(ran, || format!("{provider} ran {text:?}"));
            arena.breach_if(answer.status >= 500, || format!("{provider} answered {}", answer.status));
        }
    }
    Ok("nothing ran".to_owned())
}

fn replies(text: &str) -> [(&'static str, Value); 5] {
    let message = json!({"role": "assistant", "content": text});
    [
        (
            "openai",
            json!({"id": "r1", "object": "chat.completion", "choices": [
            {"index": 0, "finish_reason": "stop", "message": message}]}),
        ),
        (
            "anthropic",
            json!({"id": "m1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}]}),
        ),
        ("gemini", json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]})),
        (
            "openai-responses",
            json!({"id": "r1", "object": "response", "output": [{"type": "message", "id": "m1",
            "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}]}),
        ),
        ("ollama", json!({"model": "m", "done": true, "message": message})),
    ]
}
