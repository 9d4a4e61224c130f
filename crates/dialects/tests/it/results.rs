//! Tool results in every dialect.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "helpers of tests, which read best with literal values"
)]

use gateway_dialects::results::{
    IdMap, Outcome, ResultChange, ResultFate, ResultMode, ResultOptions, escape_xml, neutral_result,
    render_mode, render_results, render_xml_result,
};
use gateway_dialects::{Dialect, Dialects};
use proptest::prelude::*;
use serde_json::{Value, json};

const PNG: &str = "iVBORw0KGgo=";
const PDF: &str = "JVBERi0xLjQ=";

fn dialect(name: &str) -> Dialect {
    Dialects::builtin().get(name).unwrap()
}

fn render(name: &str, result: &Value, options: &ResultOptions) -> Vec<Value> {
    let outcome = Outcome { call_id: Some("call_1"), wire_name: "shot", result, kept: None };
    render_results(&dialect(name), &[outcome], options).messages
}

/// Checks the messages for a result of one call `call_1` of the tool `shot`.
#[track_caller]
fn check(name: &str, result: Value, expected: Value) {
    assert_eq!(Value::Array(render(name, &result, &ResultOptions::default())), expected, "{name}: {result}");
}

/// The same for dialects whose answer differs only in how it is wrapped.
#[track_caller]
fn check_content(result: Value, contents: &[(&str, Value)]) {
    for (name, content) in contents {
        let expected = match *name {
            "openai-chat" | "cohere" => {
                json!([{"role": "tool", "tool_call_id": "call_1", "content": content}])
            }
            "mistral" => {
                json!([{"role": "tool", "tool_call_id": "call_1", "name": "shot", "content": content}])
            }
            "ollama" => {
                json!([{"role": "tool", "tool_call_id": "call_1", "tool_name": "shot", "content": content}])
            }
            "openai-functions" => json!([{"role": "function", "name": "shot", "content": content}]),
            "openai-responses" => {
                json!([{"type": "function_call_output", "call_id": "call_1", "output": content}])
            }
            "anthropic" => {
                json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": content}]}])
            }
            "bedrock" => {
                json!([{"role": "user", "content": [{"toolResult": {"toolUseId": "call_1", "content": content}}]}])
            }
            "gemini" => json!([{"role": "user", "parts": [
                {"functionResponse": {"id": "call_1", "name": "shot", "response": content}}]}]),
            other => panic!("no wrapper for {other}"),
        };
        check(name, result.clone(), expected);
    }
}

#[test]
fn text_is_sent_as_it_is() {
    let text = json!("a\nb");
    check_content(
        json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        &[
            ("openai-chat", text.clone()),
            ("openai-functions", text.clone()),
            ("openai-responses", text.clone()),
            ("mistral", text.clone()),
            ("cohere", text.clone()),
            ("ollama", text.clone()),
            ("anthropic", json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])),
            ("bedrock", json!([{"text": "a"}, {"text": "b"}])),
            ("gemini", json!({"output": "a\nb"})),
        ],
    );
}

#[test]
fn images_go_where_the_table_says() {
    let result = json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]});
    let note = "[image: image/png, 8 bytes]";
    let moved = "[image: image/png, 8 bytes, in the user message after the tool results]";
    let heading = "Media from the tool results above, in order: `shot`";
    let url = format!("data:image/png;base64,{PNG}");
    check(
        "openai-chat",
        result.clone(),
        json!([
            {"role": "tool", "tool_call_id": "call_1", "content": moved},
            {"role": "user", "content": [
                {"type": "text", "text": heading}, {"type": "image_url", "image_url": {"url": url}}]},
        ]),
    );
    check(
        "ollama",
        result.clone(),
        json!([
            {"role": "tool", "tool_call_id": "call_1", "tool_name": "shot", "content": moved},
            {"role": "user", "content": heading, "images": [PNG]},
        ]),
    );
    check(
        "gemini",
        result.clone(),
        json!([{"role": "user", "parts": [
            {"functionResponse": {"id": "call_1", "name": "shot", "response": {"output": moved}}},
            {"inlineData": {"mimeType": "image/png", "data": PNG}}]}]),
    );
    check_content(
        result.clone(),
        &[
            ("openai-responses", json!([{"type": "input_image", "image_url": url, "detail": "auto"}])),
            (
                "anthropic",
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]),
            ),
            ("bedrock", json!([{"image": {"format": "png", "source": {"bytes": PNG}}}])),
            ("mistral", json!(note)),
            ("cohere", json!(note)),
        ],
    );
    assert_eq!(
        render("gemini", &result, &ResultOptions::default().for_model("google/Gemini-3-pro-preview")),
        [json!({"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "shot",
            "response": {"output": ""}, "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]}}]})]
    );
    assert_eq!(
        render("gemini", &result, &ResultOptions::default().for_model("gemini-2.5-pro")),
        render("gemini", &result, &ResultOptions::default())
    );
}

#[test]
fn an_image_of_a_type_that_is_not_taken_becomes_a_note() {
    let result = json!({"content": [{"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"}]});
    for name in ["openai-chat", "anthropic", "bedrock", "gemini", "openai-responses"] {
        let text = serde_json::to_string(&render(name, &result, &ResultOptions::default())).unwrap();
        assert!(
            text.contains("[image: image/svg+xml, 5 bytes]") && !text.contains("PHN2Zz4="),
            "{name}: {text}"
        );
    }
}

#[test]
fn images_of_several_chat_results_follow_all_of_them() {
    let image = json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]});
    let text = json!({"content": [{"type": "text", "text": "x"}]});
    let outcome = |id, result| Outcome { call_id: Some(id), wire_name: "shot", result, kept: None };
    let outcomes = [outcome("1", &image), outcome("2", &text), outcome("3", &image)];
    let rendered = render_results(&dialect("openai-chat"), &outcomes, &ResultOptions::default());
    let url = format!("data:image/png;base64,{PNG}");
    assert_eq!(rendered.messages.len(), 4);
    assert_eq!(
        rendered.messages[3],
        json!({"role": "user", "content": [
            {"type": "text", "text": "Media from the tool results above, in order: `shot`, `shot`"},
            {"type": "image_url", "image_url": {"url": url}}, {"type": "image_url", "image_url": {"url": url}}]})
    );
    let moved = |result| ResultChange {
        result,
        path: "/content/0".into(),
        fate: ResultFate::Moved,
        reason: "results take no media; they follow in user content".into(),
    };
    assert_eq!(rendered.changes, [moved(0), moved(2)]);
    for name in ["anthropic", "bedrock", "gemini"] {
        assert_eq!(
            render_results(&dialect(name), &outcomes, &ResultOptions::default()).messages.len(),
            1,
            "{name}"
        );
    }
}

#[test]
fn audio_is_a_note_everywhere_but_on_newer_gemini() {
    let result = json!({"content": [{"type": "audio", "data": "UklGRgA=", "mimeType": "audio/wav"}]});
    let note = "[audio: audio/wav, 5 bytes]";
    check_content(
        result.clone(),
        &[
            ("openai-chat", json!(note)),
            ("openai-responses", json!(note)),
            ("anthropic", json!(note)),
            ("bedrock", json!([{"text": note}])),
            ("cohere", json!(note)),
            ("mistral", json!(note)),
            ("ollama", json!(note)),
            ("gemini", json!({"output": note})),
        ],
    );
    assert_eq!(
        render("gemini", &result, &ResultOptions::default().for_model("gemini-3-flash")),
        [json!({"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "shot",
            "response": {"output": ""}, "parts": [{"inlineData": {"mimeType": "audio/wav", "data": "UklGRgA="}}]}}]})]
    );
}

#[test]
fn resources_are_text_documents_or_notes() {
    let text = "Resource (file:///n.md):\n# Hi";
    check_content(
        json!({"content": [{"type": "resource", "resource": {"uri": "file:///n.md", "text": "# Hi"}}]}),
        &[
            ("openai-chat", json!(text)),
            ("openai-responses", json!(text)),
            ("anthropic", json!(text)),
            ("bedrock", json!([{"text": text}])),
            (
                "cohere",
                json!([{"type": "document", "document": {"data": {"uri": "file:///n.md", "text": "# Hi"}}}]),
            ),
            ("mistral", json!(text)),
            ("ollama", json!(text)),
            ("gemini", json!({"output": text})),
        ],
    );
    let note = "[file file:///q_1!.pdf: application/pdf, 8 bytes]";
    check_content(
        json!({"content": [{"type": "resource", "resource": {
            "uri": "file:///q_1!.pdf", "mimeType": "application/pdf", "blob": PDF}}]}),
        &[
            ("openai-chat", json!(note)),
            (
                "openai-responses",
                json!([{"type": "input_file", "filename": "q_1!.pdf",
                "file_data": format!("data:application/pdf;base64,{PDF}")}]),
            ),
            (
                "anthropic",
                json!([{"type": "document", "source": {
                "type": "base64", "media_type": "application/pdf", "data": PDF}, "title": "file:///q_1!.pdf"}]),
            ),
            ("bedrock", json!([{"document": {"format": "pdf", "name": "q 1", "source": {"bytes": PDF}}}])),
            ("cohere", json!(note)),
            ("mistral", json!(note)),
            ("ollama", json!(note)),
            ("gemini", json!({"output": note})),
        ],
    );
    let zip = "[file z: application/zip, 4 bytes]";
    check_content(
        json!({"content": [{"type": "resource", "resource": {
            "uri": "z", "mimeType": "application/zip", "blob": "UEsDBA=="}}]}),
        &[("openai-responses", json!(zip)), ("anthropic", json!(zip)), ("bedrock", json!([{"text": zip}]))],
    );
    let link = "Resource link: b (file:///b.txt), text/plain, 12 bytes: The other";
    check_content(
        json!({"content": [{"type": "resource_link", "uri": "file:///b.txt", "name": "b",
            "mimeType": "text/plain", "size": 12, "description": "The other"}]}),
        &[("openai-chat", json!(link)), ("anthropic", json!(link)), ("gemini", json!({"output": link}))],
    );
}

#[test]
fn structured_content_is_sent_once() {
    let data = json!({"sum": 42, "ok": true});
    let plain = json!("{\"sum\":42,\"ok\":true}");
    let only = [
        ("openai-chat", plain.clone()),
        ("openai-responses", plain.clone()),
        ("anthropic", plain.clone()),
        ("mistral", plain.clone()),
        ("ollama", plain.clone()),
        ("gemini", data.clone()),
        ("bedrock", json!([{"json": data}])),
        ("cohere", json!([{"type": "document", "document": {"data": data}}])),
    ];
    check_content(json!({"content": [], "structuredContent": data}), &only);
    // The text says the same in another spelling: text dialects get it as it came, the others the value.
    let spelled = "{ \"ok\": true, \"sum\": 42.0 }";
    check_content(
        json!({"content": [{"type": "text", "text": spelled}], "structuredContent": data}),
        &[
            ("openai-chat", json!(spelled)),
            ("anthropic", json!(spelled)),
            ("gemini", data.clone()),
            ("bedrock", json!([{"json": data}])),
        ],
    );
    check_content(
        json!({"content": [{"type": "text", "text": "The sum is 42"}], "structuredContent": data}),
        &[
            ("openai-chat", json!("The sum is 42\n{\"sum\":42,\"ok\":true}")),
            ("gemini", json!({"output": "The sum is 42", "structuredContent": data})),
            ("bedrock", json!([{"text": "The sum is 42"}, {"json": data}])),
        ],
    );
    check_content(
        json!({"content": [], "structuredContent": [1, 2]}),
        &[("bedrock", json!([{"text": "[1,2]"}])), ("gemini", json!({"output": "[1,2]"}))],
    );
}

#[test]
fn failures_are_marked_as_the_dialect_does() {
    let result = json!({"content": [{"type": "text", "text": "disk full"}], "isError": true});
    check_content(
        result.clone(),
        &[
            ("openai-chat", json!("Error: disk full")),
            ("openai-responses", json!("Error: disk full")),
            ("mistral", json!("Error: disk full")),
            ("cohere", json!("Error: disk full")),
            ("ollama", json!("Error: disk full")),
            ("gemini", json!({"error": "disk full"})),
        ],
    );
    check(
        "anthropic",
        result.clone(),
        json!([{"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "disk full", "is_error": true}]}]),
    );
    check(
        "bedrock",
        result,
        json!([{"role": "user", "content": [
            {"toolResult": {"toolUseId": "call_1", "content": [{"text": "disk full"}], "status": "error"}}]}]),
    );
    check_content(
        json!({"content": [{"type": "text", "text": "ERROR 5: no"}], "isError": true}),
        &[("openai-chat", json!("ERROR 5: no"))],
    );
    check(
        "anthropic",
        json!({"content": [], "isError": true}),
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1",
            "content": "the tool failed and gave no message", "is_error": true}]}]),
    );
    check_content(
        json!({"content": [], "structuredContent": {"code": 5}, "isError": true}),
        &[("gemini", json!({"error": {"code": 5}}))],
    );
}

#[test]
fn emptiness_is_said_as_the_dialect_does() {
    for result in [json!({"content": []}), json!({}), json!({"content": [{"type": "text", "text": " \n"}]})] {
        check_content(
            result.clone(),
            &[
                ("openai-chat", json!("(No response)")),
                ("openai-responses", json!("(No response)")),
                ("mistral", json!("(No response)")),
                ("cohere", json!("(No response)")),
                ("ollama", json!("(No response)")),
                ("bedrock", json!([{"text": "(No response)"}])),
                ("gemini", json!({"output": ""})),
            ],
        );
        check(
            "anthropic",
            result,
            json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1"}]}]),
        );
    }
}

#[test]
fn unknown_blocks_keep_all_but_their_bytes() {
    check_content(
        json!({"content": [{"type": "hologram", "data": PNG, "depth": 3}]}),
        &[("openai-chat", json!("{\"type\":\"hologram\",\"data\":\"[8 bytes]\",\"depth\":3}"))],
    );
}

#[test]
fn a_long_result_keeps_head_and_tail() {
    let result = json!({"content": [{"type": "text", "text": "x".repeat(300)}]});
    let outcome = Outcome { call_id: Some("call_1"), wire_name: "shot", result: &result, kept: None };
    let rendered =
        render_results(&dialect("openai-chat"), &[outcome], &ResultOptions::default().limited_to(84));
    let text = format!("{}[… 240 characters cut …]{}", "x".repeat(40), "x".repeat(20));
    assert_eq!(rendered.messages, [json!({"role": "tool", "tool_call_id": "call_1", "content": text})]);
    assert_eq!(
        rendered.changes,
        [ResultChange {
            result: 0,
            path: "/content".into(),
            fate: ResultFate::Cut,
            reason: "240 characters over the limit of 84".into(),
        }]
    );
}

#[test]
fn faults_have_the_format_of_the_call() {
    let text = "Error routing tool use: no such tool";
    let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    for (name, expected) in [
        ("openai-chat", json!({"role": "tool", "tool_call_id": "error", "content": text})),
        (
            "anthropic",
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "error", "content": text, "is_error": true}]}),
        ),
    ] {
        let outcome = Outcome { call_id: Some("error"), wire_name: "", result: &result, kept: None };
        assert_eq!(
            render_results(&dialect(name), &[outcome], &ResultOptions::default()).messages,
            [expected],
            "{name}"
        );
    }
}

#[test]
fn modes_of_a_result() {
    let add = json!({"content": [{"type": "text", "text": "{\"result\":42}"}]});
    let mixed = json!({"content": [
        {"type": "text", "text": "Seen"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///n", "text": "hi"}},
        {"type": "resource", "resource": {"uri": "file:///z", "blob": "UEsDBA=="}}]});
    let image_first = json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]});
    let rich = json!({
        "text": "Seen\n\nResource (file:///n):\nhi\n\nResource (file:///z): [Binary data]",
        "attachments": [{"contentType": "image/png", "url": format!("data:image/png;base64,{PNG}"), "source": "cam/shot"}],
        "isError": false});
    let joined = "Seen\n[image: image/png, 8 bytes]\nResource (file:///n):\nhi\n[file file:///z: application/octet-stream, 4 bytes]";
    for (mode, result, expected) in [
        ("raw", &add, add.clone()),
        ("parsed", &add, json!({"result": 42})),
        ("parsed", &mixed, json!("Seen")),
        ("first-text", &add, json!("{\"result\":42}")),
        ("first-text", &image_first, image_first["content"].clone()),
        ("first-text", &json!({"content": []}), json!([])),
        ("joined", &mixed, json!(joined)),
        ("rich", &mixed, rich),
        ("rich", &json!({"result": 1}), json!({"error": "Invalid tool result: missing content array"})),
        ("provider", &add, json!({"role": "tool", "tool_call_id": "call_1", "content": "{\"result\":42}"})),
    ] {
        let outcome = Outcome { call_id: Some("call_1"), wire_name: "shot", result, kept: None };
        let mode: ResultMode = mode.parse().unwrap();
        let given =
            render_mode(mode, &dialect("openai-chat"), &outcome, "cam/shot", &ResultOptions::default());
        assert_eq!(given, expected, "{mode:?} of {result}");
    }
    assert!("loud".parse::<ResultMode>().is_err());
}

#[test]
fn xml_results_escape_five_characters() {
    assert_eq!(escape_xml("a & b < c > d \" e ' f"), "a &amp; b &lt; c &gt; d &quot; e &apos; f");
    let block = json!({"type": "tool_result", "tool_use_id": "a<1>", "status": "error", "content": [
        {"type": "text", "text": "x < y & \"z\""},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "source": {"type": "url", "url": "https://e.org/?a=1&b=2"}},
        {"type": "tool_use", "name": "f", "input": {"a": "<"}},
        {"type": "tool_result", "tool_use_id": "n", "content": [{"type": "text", "text": "in"}]},
        {"type": "hologram"},
    ], "error": {"message": "it's bad", "details": {"code": 5}}});
    assert_eq!(
        render_xml_result(&block),
        "<tool_result tool_use_id=\"a&lt;1&gt;\" status=\"error\">\n\
         x &lt; y &amp; &quot;z&quot;\n\
         <image type=\"image/png\" data=\"iVBORw0KGgo=\" />\n\
         <image url=\"https://e.org/?a=1&amp;b=2\" />\n\
         <tool_use id=\"\" name=\"f\">{&quot;a&quot;:&quot;&lt;&quot;}</tool_use>\n\
         <tool_result tool_use_id=\"n\" status=\"success\">\nin\n</tool_result>\n\
         <unknown type=\"hologram\" />\n\
         <error message=\"it&apos;s bad\" details=\"{&quot;code&quot;:5}\" />\n\
         </tool_result>"
    );
}

#[test]
fn neutral_results_keep_blocks() {
    let link = json!({"type": "resource_link", "uri": "x", "name": "y"});
    let result = json!({"content": [
        {"type": "text", "text": "a"}, {"type": "image", "data": PNG, "mimeType": "image/png"}, link],
        "structuredContent": {"k": 1}, "isError": true});
    assert_eq!(
        neutral_result("c", &result),
        json!({"type": "tool_result", "tool_use_id": "c", "content": [
            {"type": "text", "text": "a"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, link],
            "status": "error", "error": {"message": "a"}, "structuredContent": {"k": 1}})
    );
    let unnamed = neutral_result("c", &json!({"content": [], "isError": true}));
    assert_eq!(
        (&unnamed["status"], &unnamed["error"]),
        (&json!("error"), &json!({"message": "Unknown error"}))
    );
    assert_eq!(neutral_result("c", &json!({"content": []})).get("error"), None);
}

#[test]
fn a_new_endpoint_chooses_by_data_alone() {
    let mut dialects = Dialects::builtin();
    let name = dialects
        .add(
            "test",
            r#"
            name = "house"
            title = "A server of our own"
            extends = "openai-chat"
            [messages]
            images = "result"
            errors = "flag"
            empty = "text"
            tool-name-field = "tool"
            call-signature-field = "extra_content.house.thought_signature"
            "#,
        )
        .unwrap();
    let house = dialects.get(&name).unwrap();
    let result =
        json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}], "isError": true});
    let outcome = Outcome { call_id: Some("a"), wire_name: "shot", result: &result, kept: None };
    assert_eq!(
        render_results(&house, &[outcome], &ResultOptions::default()).messages,
        [json!({"role": "tool", "tool_call_id": "a", "tool": "shot", "content": [
            {"type": "text", "text": "Error: the tool failed and gave no message"},
            {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}}]})]
    );
}

/// Any JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-zA-Z]{1,8}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Base64 that no other text of a test can contain by chance.
fn secret() -> impl Strategy<Value = String> {
    "[A-Za-z0-9+/]{12}".prop_map(|part| format!("c2VjcmV0{part}AAAA"))
}

fn any_result() -> impl Strategy<Value = Value> {
    let mime = prop_oneof![
        Just("image/png"),
        Just("image/tiff"),
        Just("audio/wav"),
        Just("application/pdf"),
        Just("text/csv"),
        Just("x")
    ];
    let block = prop_oneof![
        ".{0,40}".prop_map(|text| json!({"type": "text", "text": text})),
        (secret(), mime.clone())
            .prop_map(|(data, mime)| json!({"type": "image", "data": data, "mimeType": mime})),
        (secret(), mime.clone())
            .prop_map(|(data, mime)| json!({"type": "audio", "data": data, "mimeType": mime})),
        (secret(), mime).prop_map(|(blob, mime)| json!({"type": "resource", "resource": {
            "uri": "file:///a b/ü?.x", "mimeType": mime, "blob": blob}})),
        secret().prop_map(|data| json!({"type": "hologram", "data": data})),
        any_json(),
    ];
    let result = (prop::collection::vec(block, 0..5), any_json(), any::<bool>()).prop_map(
        |(content, structured, failed)| json!({"content": content, "structuredContent": structured, "isError": failed}),
    );
    prop_oneof![4 => result, 1 => any_json()]
}

/// Every text that a model reads as text: not data URLs, and not the members that hold bytes.
fn model_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("data" | "bytes", Value::String(_)) | ("images", _) => {}
                    ("url" | "image_url" | "file_data", Value::String(url)) if url.starts_with("data:") => {}
                    (_, value) => model_texts(value, texts),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| model_texts(item, texts)),
        Value::String(text) => texts.push(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_result_panics_or_puts_base64_into_text(result in any_result(), limit in prop::option::of(0_usize..120)) {
        let dialects = Dialects::builtin();
        for name in ["openai-chat", "openai-functions", "openai-responses", "anthropic", "gemini", "vertex", "bedrock",
            "cohere", "mistral", "ollama", "deepseek"] {
            let dialect = dialects.get(name).unwrap();
            let mut options = ResultOptions::default();
            options.max_characters = limit;
            let outcome = Outcome { call_id: None, wire_name: "t", result: &result, kept: None };
            let rendered = render_results(&dialect, &[outcome, outcome], &options);
            let mut texts = Vec::new();
            rendered.messages.iter().for_each(|message| model_texts(message, &mut texts));
            for text in texts {
                prop_assert!(!text.contains("c2VjcmV0"), "{}: {}", name, text);
            }
            prop_assert_eq!(&render_results(&dialect, &[outcome, outcome], &options), &rendered);
        }
    }

    #[test]
    fn ids_are_legal_distinct_and_come_back(ids in prop::collection::hash_set(".{0,70}|[a-zA-Z0-9]{9}|[a-zA-Z0-9_-]{1,64}", 1..40)) {
        for name in ["openai-chat", "anthropic", "bedrock", "mistral", "gemini", "openai-responses"] {
            let dialect = dialect(name);
            let mut map = IdMap::new(&dialect);
            map.reserve(ids.iter().map(String::as_str));
            let mut seen = std::collections::HashSet::new();
            for id in &ids {
                let wire = map.wire(id);
                prop_assert!(map.accepts(&wire));
                prop_assert!(!map.accepts(id) || wire == *id);
                prop_assert_eq!(map.original(&wire), id);
                prop_assert!(seen.insert(wire));
            }
        }
    }
}

#[test]
fn an_id_is_reported_as_ours_exactly_where_it_is_written() {
    let result = json!({"content": [{"type": "text", "text": "42"}]});
    let dialects = Dialects::builtin();
    for name in dialects.names() {
        let outcome = Outcome { call_id: None, wire_name: "add", result: &result, kept: None };
        let rendered = render_results(&dialect(name), &[outcome], &ResultOptions::default());
        let written = Value::Array(rendered.messages).to_string().contains("call_0");
        let reported = rendered.changes.iter().any(|change| change.reason.contains("call_0"));
        assert_eq!(reported, written, "{name}");
    }
}

#[test]
fn the_package_of_gemini_legacy_takes_snake_case_only() {
    let result = json!({"content": [
        {"type": "text", "text": "seen"}, {"type": "image", "mimeType": "image/png", "data": PNG}
    ], "structuredContent": {"mimeType": "kept"}});
    check(
        "gemini-legacy",
        result,
        json!([{"role": "user", "parts": [
            {"function_response": {"name": "shot", "response": {
                "output": "seen\n[image: image/png, 8 bytes, in the user message after the tool results]", "structuredContent": {"mimeType": "kept"}}}},
            {"inline_data": {"mime_type": "image/png", "data": PNG}},
        ]}]),
    );
}
