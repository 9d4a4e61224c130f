//! Conversations to and from every dialect.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests, which read best with literal values"
)]

use gateway_dialects::history::{
    Block, Content, Conversation, HistoryOptions, Message, Role, TransferMode, TranslatedTools, Warning,
    from_dialect, to_dialect, transfer,
};
use gateway_dialects::results::IdMap;
use gateway_dialects::{Dialects, Options, Protocol, Translator};
use serde_json::{Value, json};

const PNG: &str = "iVBORw0KGgo=";

pub(crate) fn neutral(messages: Value) -> Vec<Message> {
    serde_json::from_value(messages).unwrap()
}

fn write(name: &str, messages: &Value) -> (Conversation, Vec<Warning>, IdMap) {
    let dialect = Dialects::builtin().get(name).unwrap();
    let mut ids = IdMap::new(&dialect);
    let (conversation, warnings) = to_dialect(
        &neutral(messages.clone()),
        &dialect,
        &TranslatedTools::default(),
        &mut ids,
        &HistoryOptions::default(),
    );
    (conversation, warnings, ids)
}

fn read(protocol: Protocol, messages: Value) -> (Value, Vec<Warning>) {
    let conversation = Conversation { system: None, messages: serde_json::from_value(messages).unwrap() };
    let ids = IdMap::new(&Dialects::builtin().get("mcp").unwrap());
    let (messages, warnings) = from_dialect(&conversation, protocol, &TranslatedTools::default(), &ids);
    (serde_json::to_value(messages).unwrap(), warnings)
}

#[track_caller]
fn check_write(name: &str, messages: &Value, expected: Value) {
    assert_eq!(Value::Array(write(name, messages).0.messages), expected, "{name}");
}

/// One entry per block, so that it does not matter how blocks are spread over messages.
pub(crate) fn flat(messages: &[Message]) -> Vec<(Role, Block)> {
    messages
        .iter()
        .flat_map(|message| message.content.blocks().into_iter().map(|block| (message.role.clone(), block)))
        .collect()
}

fn warning(message: usize, text: &str) -> Warning {
    Warning { message, text: text.to_owned() }
}

/// A conversation with a text and two calls of a tool with hyphens, answered in one message.
fn weather() -> Value {
    json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Looking."}, {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "a", "name": "get-weather-now", "input": {"city": "Rome"}},
            {"type": "tool_use", "id": "b", "name": "get-weather-now", "input": {}}]},
        {"role": "tool", "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": "rain"},
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "no"}], "status": "error"}]},
    ])
}

#[test]
fn chat() {
    let call = |id: &str, arguments: &str| {
        json!({"id": id, "type": "function",
        "function": {"name": "get-weather-now", "arguments": arguments}})
    };
    check_write(
        "openai-chat",
        &weather(),
        json!([
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "Looking.\n\nOne moment.",
                "tool_calls": [call("a", "{\"city\":\"Rome\"}"), call("b", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": "Error: no"},
            {"role": "tool", "tool_call_id": "b", "content": "rain"},
        ]),
    );
}

#[test]
fn cohere_tells_its_plan_and_ollama_sends_objects() {
    let (cohere, ..) = write("cohere", &weather());
    assert_eq!(cohere.messages[1]["tool_plan"], "Looking.\n\nOne moment.");
    assert_eq!(cohere.messages[1].get("content"), None);
    let (ollama, ..) = write("ollama", &weather());
    assert_eq!(
        ollama.messages[1],
        json!({"role": "assistant", "content": "Looking.\n\nOne moment.", "tool_calls": [
            {"id": "a", "function": {"name": "get-weather-now", "arguments": {"city": "Rome"}}},
            {"id": "b", "function": {"name": "get-weather-now", "arguments": {}}}]})
    );
}

#[test]
fn functions_call_one_at_a_time() {
    check_write(
        "openai-functions",
        &weather(),
        json!([
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "Looking.\n\nOne moment.",
                "function_call": {"name": "get-weather-now", "arguments": "{\"city\":\"Rome\"}"}},
            {"role": "function", "name": "get-weather-now", "content": "Error: no"},
            {"role": "assistant", "content": null, "function_call": {"name": "get-weather-now", "arguments": "{}"}},
            {"role": "function", "name": "get-weather-now", "content": "rain"},
        ]),
    );
}

#[test]
fn functions_are_read_with_ids_of_ours() {
    let (conversation, ..) = write("openai-functions", &weather());
    let (messages, warnings) = read(Protocol::Functions, Value::Array(conversation.messages));
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Looking.\n\nOne moment."},
                {"type": "tool_use", "id": "call_1", "name": "get-weather-now", "input": {"city": "Rome"}}]},
            {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "Error: no"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_2", "name": "get-weather-now", "input": {}}]},
            {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "call_2", "content": "rain"}]},
        ])
    );
    assert_eq!(warnings, []);
}

#[test]
fn responses() {
    check_write(
        "openai-responses",
        &weather(),
        json!([
            {"type": "message", "role": "user", "content": "Weather?"},
            {"type": "message", "role": "assistant", "content": "Looking."},
            {"type": "message", "role": "assistant", "content": "One moment."},
            {"type": "function_call", "call_id": "a", "name": "get-weather-now", "arguments": "{\"city\":\"Rome\"}"},
            {"type": "function_call", "call_id": "b", "name": "get-weather-now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "Error: no"},
            {"type": "function_call_output", "call_id": "b", "output": "rain"},
        ]),
    );
}

#[test]
fn blocks() {
    check_write(
        "anthropic",
        &weather(),
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Looking."}, {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "a", "name": "get-weather-now", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "b", "name": "get-weather-now", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true},
                {"type": "tool_result", "tool_use_id": "b", "content": "rain"}]},
        ]),
    );
    check_write(
        "bedrock",
        &weather(),
        json!([
            {"role": "user", "content": [{"text": "Weather?"}]},
            {"role": "assistant", "content": [
                {"text": "Looking."}, {"text": "One moment."},
                {"toolUse": {"toolUseId": "a", "name": "get-weather-now", "input": {"city": "Rome"}}},
                {"toolUse": {"toolUseId": "b", "name": "get-weather-now", "input": {}}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"text": "no"}], "status": "error"}},
                {"toolResult": {"toolUseId": "b", "content": [{"text": "rain"}]}}]},
        ]),
    );
}

#[test]
fn gemini_names_come_from_the_call_and_foreign_calls_get_a_signature() {
    let name = "get-weather-now";
    check_write(
        "gemini",
        &weather(),
        json!([
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {"role": "model", "parts": [
                {"text": "Looking."}, {"text": "One moment."},
                {"functionCall": {"id": "a", "name": name, "args": {"city": "Rome"}},
                    "thoughtSignature": "skip_thought_signature_validator"},
                {"functionCall": {"id": "b", "name": name, "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "a", "name": name, "response": {"error": "no"}}},
                {"functionResponse": {"id": "b", "name": name, "response": {"output": "rain"}}}]},
        ]),
    );
    let (vertex, ..) = write("vertex", &weather());
    assert_eq!(
        vertex.messages[2]["parts"][1],
        json!({"functionResponse": {"name": name, "response": {"output": "rain"}}})
    );
}

#[test]
fn mistral_ids_have_nine_characters_and_come_back() {
    let (conversation, _, ids) = write("mistral", &weather());
    let wire = conversation.messages[1]["tool_calls"][0]["id"].as_str().unwrap().to_owned();
    assert!(wire.len() == 9 && wire.chars().all(|c| c.is_ascii_alphanumeric()), "{wire}");
    assert_eq!(conversation.messages[2]["tool_call_id"], json!(wire));
    let (back, _) = from_dialect(&conversation, Protocol::Chat, &TranslatedTools::default(), &ids);
    let Content::Blocks(blocks) = &back[1].content else { panic!("no blocks") };
    let Block::ToolUse(call) = &blocks[1] else { panic!("no call in {blocks:?}") };
    assert_eq!(call.id, "a");
}

#[test]
fn systems_stand_where_the_api_keeps_them() {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Be kind."},
    ]);
    let late = [warning(2, "a system message in mid-conversation is moved to the front")];
    for (name, system, warnings) in [
        ("openai-chat", None, &[][..]),
        ("anthropic", Some(json!("Be brief.\n\nBe kind.")), &late[..]),
        ("bedrock", Some(json!([{"text": "Be brief.\n\nBe kind."}])), &late[..]),
        ("gemini", Some(json!({"parts": [{"text": "Be brief.\n\nBe kind."}]})), &late[..]),
    ] {
        let (conversation, given, _) = write(name, &messages);
        assert_eq!((conversation.system, given.as_slice()), (system, warnings), "{name}");
    }
}

#[test]
fn images_are_data_urls_and_back() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}});
    let far = json!({"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}});
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "see"}, image, far]}]);
    let chat = json!([{"role": "user", "content": [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}},
        {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}]}]);
    check_write("openai-chat", &messages, chat.clone());
    assert_eq!(read(Protocol::Chat, chat), (messages.clone(), Vec::new()));
    let (bedrock, warnings, _) = write("bedrock", &messages);
    assert_eq!(
        bedrock.messages[0]["content"][2],
        json!({"text": "[image: unknown type, at https://e.org/a.png]"})
    );
    assert_eq!(warnings, [warning(0, "an address is not taken for image: a note stands for it")]);
}

#[test]
fn calls_and_results_without_partner_are_repaired() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let messages = json!([
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]},
        {"role": "user", "content": "go on"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "zz", "content": "late"}]},
    ]);
    let (conversation, warnings, _) = write("anthropic", &messages);
    assert_eq!(
        conversation.messages[1],
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "No result of this call was recorded.", "is_error": true},
            {"type": "text", "text": "go on"},
            {"type": "text", "text": "Result of an earlier tool call:"},
            {"type": "text", "text": "late"}]})
    );
    assert_eq!(
        warnings,
        [
            warning(1, "call `b` has no result"),
            warning(3, "result `zz` answers no open call and is sent as text")
        ]
    );
}

#[test]
fn reasoning_returns_only_to_where_it_came_from() {
    let item = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"});
    let messages = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "thinking", "thinking": "", "origin": "responses", "payload": item},
            {"type": "thinking", "thinking": "g", "signature": "gs", "origin": "generate-content"},
            {"type": "thinking", "thinking": "d", "origin": "chat"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}, "signature": "cs"}]},
    ]);
    let thoughts = |name: &str| write(name, &messages).0.messages;
    assert_eq!(
        thoughts("anthropic")[1]["content"],
        json!([{"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}}])
    );
    assert_eq!(
        thoughts("bedrock")[1]["content"][0],
        json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}})
    );
    assert_eq!(
        thoughts("gemini")[1]["parts"],
        json!([{"text": "g", "thought": true, "thoughtSignature": "gs"},
            {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "cs"}])
    );
    assert_eq!(thoughts("openai-responses")[1], item);
    assert_eq!(thoughts("deepseek")[1]["reasoning_content"], "hm\n\ng\n\nd");
    assert_eq!(thoughts("openai-chat")[1].get("reasoning_content"), None);
}

#[test]
fn reasoning_items_go_with_the_item_that_follows_or_not_at_all() {
    let thought = json!({"type": "thinking", "thinking": "", "origin": "responses", "payload": {"type": "reasoning", "id": "rs", "summary": []}});
    let messages = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, thought]},
    ]);
    let (conversation, warnings, _) = write("openai-responses", &messages);
    assert_eq!(conversation.messages.len(), 2);
    assert_eq!(warnings, [warning(1, "reasoning without the item that follows it is left out")]);
}

#[test]
fn deepseek_gets_reasoning_of_the_running_loop_only() {
    let turn = |id: &str| {
        json!([
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": id, "origin": "chat"},
                {"type": "tool_use", "id": id, "name": "f", "input": {}}]},
            {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": id, "content": "1"}]},
        ])
    };
    let mut messages = turn("a").as_array().unwrap().clone();
    messages.extend(turn("b").as_array().unwrap().clone());
    let (conversation, ..) = write("deepseek", &Value::Array(messages));
    assert_eq!(conversation.messages[1].get("reasoning_content"), None);
    assert_eq!(conversation.messages[4]["reasoning_content"], "b");
}

#[test]
fn bad_arguments_and_odd_roles_are_read() {
    let chat = json!([
        {"role": "oracle", "content": "hm"},
        {"role": "assistant", "content": null, "reasoning_content": "why", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{oops"}},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": ""},
                "extra_content": {"google": {"thought_signature": "s"}}},
            {"type": "function", "function": {"name": "h", "arguments": {"k": 1}}}]},
        {"role": "tool", "tool_name": "h", "content": "3"},
    ]);
    assert_eq!(
        read(Protocol::Chat, chat),
        (
            json!([
                {"role": "user", "content": "hm"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "why", "origin": "chat"},
                    {"type": "tool_use", "id": "a", "name": "f", "input": {"raw": "{oops"}},
                    {"type": "tool_use", "id": "b", "name": "g", "input": {}, "signature": "s"},
                    {"type": "tool_use", "id": "call_1", "name": "h", "input": {"k": 1}}]},
                {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "3"}]},
            ]),
            vec![
                warning(0, "unknown role `oracle` is read as the user's"),
                warning(1, "arguments of `f` are no JSON object"),
            ]
        )
    );
}

#[test]
fn gemini_without_ids_pairs_by_name_and_order() {
    let call = |city: &str| json!({"functionCall": {"name": "get-weather", "args": {"city": city}}});
    let answer =
        |text: &str| json!({"functionResponse": {"name": "get-weather", "response": {"output": text}}});
    let (messages, warnings) = read(
        Protocol::GenerateContent,
        json!([
            {"role": "model", "parts": [
                {"text": "t", "thought": true, "thoughtSignature": "s"}, call("Rome"), call("Oslo"),
                {"text": "", "thoughtSignature": "late"}]},
            {"role": "user", "parts": [answer("1"), answer("2"),
                {"functionResponse": {"name": "other", "response": {"a": 1, "b": 2}}}]},
        ]),
    );
    assert_eq!(
        messages,
        json!([
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s", "origin": "generate-content",
                    "payload": {"text": "t", "thought": true, "thoughtSignature": "s"}},
                {"type": "tool_use", "id": "call_1", "name": "get-weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "call_2", "name": "get-weather", "input": {"city": "Oslo"}},
                {"type": "thinking", "thinking": "", "signature": "late", "origin": "generate-content",
                    "payload": {"text": "", "thoughtSignature": "late"}}]},
            {"role": "tool", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "1"},
                {"type": "tool_result", "tool_use_id": "call_2", "content": "2"},
                {"type": "tool_result", "tool_use_id": "call_3", "content": "", "structuredContent": {"a": 1, "b": 2}}]},
        ])
    );
    assert_eq!(warnings, [warning(1, "a result answers no call")]);
}

#[test]
fn what_only_one_api_knows_goes_back_unchanged() {
    for (protocol, name, messages) in [
        (
            Protocol::Messages,
            "anthropic",
            json!([
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            {"role": "assistant", "content": [
                {"type": "redacted_thinking", "data": "abc"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]}]),
        ),
        (
            Protocol::Responses,
            "openai-responses",
            json!([
            {"type": "message", "role": "user", "content": "x"},
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "id": "msg", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "a", "annotations": []}]},
            {"type": "web_search_call", "id": "ws", "status": "completed"},
            {"type": "reasoning", "id": "rs2", "summary": []},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": "fc"},
            {"type": "function_call_output", "call_id": "c", "output": "1"}]),
        ),
        (
            Protocol::Converse,
            "bedrock",
            json!([
            {"role": "user", "content": [{"text": "x"}]},
            {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": "abc"}}, {"text": "y"}]}]),
        ),
        (
            Protocol::GenerateContent,
            "gemini",
            json!([
            {"role": "user", "parts": [{"text": "x"}]},
            {"role": "model", "parts": [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"text": "y", "thoughtSignature": "s"}]}]),
        ),
    ] {
        let (read, warnings) = read(protocol, messages.clone());
        assert_eq!(warnings, []);
        check_write(name, &read, messages);
    }
}

#[test]
fn each_api_carries_back_all_that_it_can() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}});
    let audio =
        json!({"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": "UklGRgA="}});
    let pdf = |uri: &str| {
        json!({"type": "resource", "resource": {
        "uri": uri, "mimeType": "application/pdf", "blob": "JVBERi0="}})
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let thought =
        |origin: &str| json!({"type": "thinking", "thinking": "hm", "signature": "c2ln", "origin": origin});
    let talk = |user: Value, before: Value, result: Value, status: Option<&str>| {
        let mut answer = json!({"type": "tool_result", "tool_use_id": "a", "content": result});
        if let Some(status) = status {
            answer["status"] = json!(status);
        }
        let mut own = before.as_array().unwrap().clone();
        own.push(json!({"type": "tool_use", "id": "a", "name": "f", "input": {"k": [1, {"n": null}]}, "signature": "c2ln"}));
        neutral(json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": user},
            {"role": "assistant", "content": own},
            {"role": "tool", "content": [answer]},
            {"role": "assistant", "content": "done"},
        ]))
    };
    for (name, signed, messages) in [
        (
            "anthropic",
            false,
            talk(
                json!([text("x"), image, pdf("file:///a.pdf")]),
                json!([thought("messages"), text("y")]),
                json!([text("r"), image, pdf("file:///a.pdf")]),
                Some("error"),
            ),
        ),
        (
            "bedrock",
            false,
            talk(
                json!([text("x"), image, pdf("a")]),
                json!([thought("converse"), text("y")]),
                json!([text("r"), image, pdf("a")]),
                Some("error"),
            ),
        ),
        (
            "gemini",
            true,
            talk(
                json!([text("x"), image, audio]),
                json!([thought("generate-content"), text("y")]),
                json!([text("r")]),
                Some("error"),
            ),
        ),
        (
            "openai-responses",
            false,
            talk(
                json!([text("x"), image, pdf("a.pdf")]),
                json!([text("y"), text("z")]),
                json!([text("r"), image, pdf("a.pdf")]),
                None,
            ),
        ),
        (
            "openai-chat",
            false,
            talk(json!([text("x"), image, audio]), json!([text("y")]), json!([text("r")]), None),
        ),
        (
            "ollama",
            false,
            talk(
                json!([text("x"), image]),
                json!([{"type": "thinking", "thinking": "hm", "origin": "ollama-chat"}, text("y")]),
                json!([text("r")]),
                None,
            ),
        ),
        (
            "deepseek",
            false,
            talk(
                json!("x"),
                json!([{"type": "thinking", "thinking": "hm", "origin": "chat"}, text("y")]),
                json!([text("r")]),
                None,
            ),
        ),
    ] {
        let dialect = Dialects::builtin().get(name).unwrap();
        let mut ids = IdMap::new(&dialect);
        let (conversation, warnings) = to_dialect(
            &messages,
            &dialect,
            &TranslatedTools::default(),
            &mut ids,
            &HistoryOptions::default(),
        );
        assert_eq!(warnings, [], "{name}");
        let (back, warnings) =
            from_dialect(&conversation, dialect.messages.protocol, &TranslatedTools::default(), &ids);
        assert_eq!(warnings, [], "{name}");
        let mut expected = flat(&messages);
        let mut given = flat(&back);
        for (_, block) in expected.iter_mut().chain(&mut given) {
            match block {
                // A signature of another API goes nowhere.
                Block::ToolUse(call) if !signed => call.signature = None,
                // The part is kept beside what it says.
                Block::Thinking(thought) => thought.payload = None,
                Block::ToolResult(result) => result.content = Content::Blocks(result.content.blocks()),
                _ => {}
            }
        }
        assert_eq!(given, expected, "{name}");
    }
}

#[test]
fn names_and_arguments_are_translated_in_both_directions() {
    let dialects = Dialects::builtin();
    let dialect = dialects.get("openai-chat-strict").unwrap();
    let tools = [
        json!({"name": "f.g", "inputSchema": {"type": "object", "additionalProperties": {"type": "integer"},
        "properties": {"k": {"type": "integer"}}}}),
    ];
    let translator = Translator::new(&dialects, &dialect.name, Options::default()).unwrap();
    let known = TranslatedTools::new(&translator.translate(&tools));
    let mut ids = IdMap::new(&dialect);
    let messages = neutral(json!([{"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "f.g", "input": {"other": 1}}]}]));
    let (written, _) = to_dialect(&messages, &dialect, &known, &mut ids, &HistoryOptions::default());
    let call = &written.messages[0]["tool_calls"][0]["function"];
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    let carried = json!({"additional_properties": [{"key": "other", "value": 1}], "k": null});
    assert_eq!((&call["name"], arguments), (&json!("f_g"), carried));
    assert_eq!(from_dialect(&written, Protocol::Chat, &known, &ids).0, messages);
}

#[test]
fn plain_text() {
    let mut messages = weather().as_array().unwrap().clone();
    messages.push(json!({"role": "narrator", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}));
    let held = Conversation { system: None, messages };
    let mcp = Dialects::builtin().get("mcp").unwrap();
    let as_text = |mode| {
        let (tools, options) = (TranslatedTools::default(), HistoryOptions::default());
        let (written, warnings) = transfer(&held, (&mcp, &tools), (&mcp, &tools), mode, &options);
        (written.messages, warnings)
    };
    let (written, warnings) = as_text(TransferMode::TextOnly);
    assert_eq!(
        written,
        [
            json!({"role": "user", "content": "Weather?"}),
            json!({"role": "assistant", "content": "Looking.\n\nOne moment."}),
            json!({"role": "user", "content": ""}),
            json!({"role": "user", "content": "a\n\nb"}),
        ]
    );
    assert_eq!(warnings.len(), 5);
    let (written, warnings) = as_text(TransferMode::Text);
    assert_eq!(written[2], json!({"role": "user", "content": "Tool result (b): rain\n\nTool error (a): no"}));
    assert_eq!(warnings, [warning(3, "unknown role `narrator` is sent as the user's")]);
}

#[test]
fn the_format_keeps_what_it_does_not_know() {
    let messages = json!([
        {"role": "user", "content": "x", "ts": "2026-01-01", "metadata": {"a": 1}, "pinned": true},
        {"role": "oracle", "content": [
            {"type": "text", "text": "x", "cache": 1},
            {"type": "hologram", "depth": 3},
            {"type": "image", "source": {"type": "moon"}},
            {"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": "AAAA"}},
            {"type": "resource", "resource": {"uri": "u", "text": "t"}, "annotations": {}},
            {"type": "tool_use", "id": "a", "name": "f", "input": [1], "signature": "s", "x": 1},
            {"type": "tool_result", "tool_use_id": "a", "content": {"odd": 1}, "status": "error", "error": {"message": "m"}}]},
        {"role": "assistant", "content": null},
    ]);
    assert_eq!(serde_json::to_value(neutral(messages.clone())).unwrap(), messages);
}

#[test]
fn messages_need_a_role_and_content_and_keep_malformed_blocks() {
    assert!(serde_json::from_value::<Vec<Message>>(weather()).is_ok());
    for (messages, good) in [
        (json!([{"role": "user", "content": "x", "more": 1}]), true),
        (json!([{"role": "user", "content": [{"type": "hologram", "any": 1}]}]), true),
        (
            json!([{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}]),
            true,
        ),
        (json!([{"role": "user", "content": [{"type": "text"}]}]), true),
        (json!([{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}]), true),
        (json!([{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}]), true),
        (json!([{"role": "user"}]), false),
        (json!({"role": "user", "content": "x"}), false),
    ] {
        let read = serde_json::from_value::<Vec<Message>>(messages.clone());
        assert_eq!(read.is_ok(), good, "{messages}");
        assert!(read.is_err() || serde_json::to_value(read.unwrap()).unwrap() == messages, "{messages}");
    }
}
