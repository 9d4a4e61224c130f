//! Results that say one thing twice, as text and as `structuredContent`, are sent once. The results are those of `FastMCP` 4 and of
//! the Python SDK for functions that return what the name of the case says.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::needless_pass_by_value, reason = "cases read better by value")]

use gateway_dialects::Dialects;
use gateway_dialects::results::{
    Outcome, RenderedResults, ResultMode, ResultOptions, neutral_result, read_result, render_mode,
    render_results, render_xml_result,
};
use serde_json::{Value, json};

fn result(texts: &[&str], structured: &str) -> Value {
    let blocks: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let content = Value::from(blocks);
    read_result(&format!(r#"{{"content": {content}, "structuredContent": {structured}, "isError": false}}"#))
        .value
}

fn render(name: &str, result: &Value) -> RenderedResults {
    let dialect = Dialects::builtin().get(name).unwrap();
    let outcome = Outcome { call_id: Some("call_1"), wire_name: "get", result, kept: None };
    render_results(&dialect, &[outcome], &ResultOptions::default())
}

fn mode(mode: ResultMode, result: &Value) -> Value {
    let dialect = Dialects::builtin().get("mcp").unwrap();
    let outcome = Outcome { call_id: None, wire_name: "get", result, kept: None };
    render_mode(mode, &dialect, &outcome, "server/get", &ResultOptions::default())
}

/// Checks what a provider of texts, one of objects, a program and a reader of XML get.
#[track_caller]
fn check(texts: &[&str], structured: &str, text: &str, response: Value) {
    let result = result(texts, structured);
    let chat = json!([{"role": "tool", "tool_call_id": "call_1", "content": text}]);
    assert_eq!(Value::Array(render("openai-chat", &result).messages), chat, "{structured}");
    let part = json!({"functionResponse": {"id": "call_1", "name": "get", "response": response}});
    let gemini = json!([{"role": "user", "parts": [part]}]);
    assert_eq!(Value::Array(render("gemini", &result).messages), gemini, "{structured}");
    assert_eq!(mode(ResultMode::Joined, &result), text, "{structured}");
    let escaped = text.replace('"', "&quot;");
    let xml = format!("<tool_result tool_use_id=\"call_1\" status=\"success\">\n{escaped}\n</tool_result>");
    assert_eq!(render_xml_result(&neutral_result("call_1", &result)), xml, "{structured}");
}

#[test]
fn a_wrapped_value_that_a_text_says_is_sent_once() {
    check(&["3.0"], r#"{"result": 3.0}"#, "3.0", json!({"result": 3.0}));
    check(&["3"], r#"{"result": 3.0}"#, "3", json!({"result": 3.0}));
    check(&["3.0"], r#"{"result": 3}"#, "3.0", json!({"result": 3}));
    check(&["true"], r#"{"result": true}"#, "true", json!({"result": true}));
    check(&["null"], r#"{"result": null}"#, "null", json!({"result": null}));
    check(&["hello"], r#"{"result": "hello"}"#, "hello", json!({"result": "hello"}));
    check(&["42"], r#"{"result": "42"}"#, "42", json!({"result": "42"}));
    // As `server-filesystem` does.
    check(&["a\nb"], r#"{"content": "a\nb"}"#, "a\nb", json!({"content": "a\nb"}));
    check(
        &["ok"],
        r#"{"status": "ok"}"#,
        "ok\n{\"status\":\"ok\"}",
        json!({"output": "ok", "structuredContent": {"status": "ok"}}),
    );
    check(
        &["\"2024-01-02\""],
        r#"{"result": "2024-01-02"}"#,
        "\"2024-01-02\"",
        json!({"result": "2024-01-02"}),
    );
    // No double holds it, so it is a text in the tree.
    let big = "12345678901234567890123";
    check(&[big], &format!(r#"{{"result": {big}}}"#), big, json!({"result": big}));
}

#[test]
fn a_wrapped_list_that_texts_say_is_sent_once() {
    check(&["[1.0,2.5]"], r#"{"result": [1.0, 2.5]}"#, "[1.0,2.5]", json!({"result": [1.0, 2.5]}));
    check(&["1.0", "2.5"], r#"{"result": [1.0, 2.5]}"#, "1.0\n2.5", json!({"result": [1.0, 2.5]}));
    check(
        &["1", "x", "true"],
        r#"{"result": [1, "x", true]}"#,
        "1\nx\ntrue",
        json!({"result": [1, "x", true]}),
    );
    check(&["a"], r#"{"result": ["a"]}"#, "a", json!({"result": ["a"]}));
    check(
        &["{\n  \"a\": 1,\n  \"b\": [\n    1\n  ]\n}", "{\n  \"a\": 2.0,\n  \"b\": null\n}"],
        r#"{"result": [{"a": 1, "b": [1]}, {"a": 2.0, "b": null}]}"#,
        "{\n  \"a\": 1,\n  \"b\": [\n    1\n  ]\n}\n{\n  \"a\": 2.0,\n  \"b\": null\n}",
        json!({"result": [{"a": 1, "b": [1]}, {"a": 2.0, "b": null}]}),
    );
}

#[test]
fn where_only_the_structure_says_all_it_is_sent_alone() {
    for (texts, structured) in [
        (&["1", "2", "3"][..], r#"{"result":[[1,2],[3]]}"#),
        (&["1", "2"], r#"{"result":[1,null,2]}"#),
        (&["a", "b\nc"], r#"{"result":["a","b\nc"]}"#),
    ] {
        check(texts, structured, structured, serde_json::from_str(structured).unwrap());
    }
}

#[test]
fn values_that_nothing_wraps_are_compared_too() {
    check(&["{\n  \"a\": 1\n}"], r#"{"a": 1}"#, "{\n  \"a\": 1\n}", json!({"a": 1}));
    check(&["{\"id\":1e400}"], r#"{"id": 1e400}"#, "{\"id\":1e400}", json!({"id": "1e400"}));
    check(&["1", "2"], "[1, 2]", "1\n2", json!({"output": "1\n2"}));
    check(&["hi"], "\"hi\"", "hi", json!({"output": "hi"}));
}

#[test]
fn values_without_a_text_are_sent() {
    check(&[], r#"{"result":[]}"#, r#"{"result":[]}"#, json!({"result": []}));
    check(&[], r#"{"result":null}"#, r#"{"result":null}"#, json!({"result": null}));
}

#[test]
fn a_text_that_differs_is_never_dropped() {
    for (texts, structured) in [
        (&["4.0"][..], r#"{"result":3.0}"#),
        (&["about 3"], r#"{"result":3}"#),
        (&["hello "], r#"{"result":"hello"}"#),
        (&["1", "2"], r#"{"result":[2,1]}"#),
        (&["1", "2", "3"], r#"{"result":[1,2]}"#),
        (&["1"], r#"{"result":[1,2]}"#),
        (&["3"], r#"{"value":3}"#),
        (&["3"], r#"{"result":3,"unit":"m"}"#),
        (&["0.1000000000000000055511151231257827"], r#"{"result":0.1}"#),
        (&["{\"a\":2,\"a\":1}"], r#"{"a":1}"#),
    ] {
        let joined = texts.join("\n");
        let data: Value = serde_json::from_str(structured).unwrap();
        let response = json!({"output": joined, "structuredContent": data});
        check(texts, structured, &format!("{joined}\n{structured}"), response);
    }
}

#[test]
fn other_texts_stand_beside_the_one_that_repeats() {
    check(
        &["The sum is", "3"],
        r#"{"result": 3}"#,
        "The sum is\n3",
        json!({"output": "The sum is", "structuredContent": {"result": 3}}),
    );
}

#[test]
fn what_is_not_sent_twice_is_reported() {
    let both = result(&["1", "2"], r#"{"result": [1, 2]}"#);
    let paths = |rendered: RenderedResults| -> Vec<String> {
        rendered.changes.into_iter().map(|change| change.path).collect()
    };
    assert_eq!(paths(render("openai-chat", &both)), ["/structuredContent"]);
    assert_eq!(paths(render("bedrock", &both)), ["/content/0", "/content/1"]);
}

#[test]
fn a_program_that_asks_for_everything_gets_it() {
    let both = result(&["3.0"], r#"{"result": 3.0}"#);
    assert_eq!(mode(ResultMode::Raw, &both), both);
    assert_eq!(mode(ResultMode::Parsed, &both), json!(3.0));
    assert_eq!(mode(ResultMode::FirstText, &both), json!("3.0"));
    assert_eq!(
        mode(ResultMode::Rich, &both),
        json!({"text": "3.0", "attachments": [], "isError": false, "structuredContent": {"result": 3.0}})
    );
}
