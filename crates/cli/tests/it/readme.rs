//! What the README shows of the library and of the engine on the command line.

use gateway_dialects::{Dialects, Options, Translator};
use serde_json::json;

#[test]
fn the_library_example_holds() -> Result<(), Box<dyn std::error::Error>> {
    let tools = [json!({"name": "add", "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "note": {"type": "string"}},
        "required": ["a"],
    }})];
    let translator = Translator::new(&Dialects::builtin(), "openai-chat-strict", Options::default())?;
    let translation = translator.translate(&tools);
    let request_tools = serde_json::to_string(&translation.request_field())?;
    assert!(request_tools.starts_with(r#"[{"type":"function","function":{"name":"add""#));

    let tool = translation.by_wire_name("add").ok_or("no such tool")?;
    let arguments = tool.plan.decode(&json!({"a": 1, "note": null}))?;
    assert_eq!(arguments, json!({"a": 1}));
    Ok(())
}

#[test]
fn the_examples_of_calls_can_be_pasted() {
    let sandbox = crate::sandbox::Sandbox::new();
    let decode = |dialect: &str, file: &str| {
        let path = format!("{}/../../docs/examples/{file}", env!("CARGO_MANIFEST_DIR"));
        sandbox.run(&["arguments", "decode", "--to", dialect, "--jsonl", &path]).stdout
    };
    let good = decode("openai-chat-strict", "strict-call.jsonl");
    assert_eq!(good, "{\"arguments\":{\"place\":\"Oslo\",\"extras\":{\"wind\":true}}}\n");
    let bad = decode("gemini", "bad-call.jsonl");
    let report =
        "- `place`: required but missing, expected string\\n- `days`: expected at most 14, got integer 30";
    assert!(bad.contains(report), "{bad}");
}
