//! Calls that models write as text, where somebody asks for them.

use std::sync::Arc;

use gateway_dialects::calls::text::{Notation, SkippedCall, TextCalls, ToolSchemas};
use gateway_dialects::calls::{Arguments, ReadOptions, TextScan, parse_reply};
use gateway_dialects::results::{Outcome, ResultOptions, render_written_results};
use gateway_dialects::stream::{StreamEvent, StreamOptions};
use gateway_dialects::{Dialects, Protocol};
use serde_json::{Value, json};

use crate::prose::{JSON_CALL, PROTOCOLS, XML_CALL, content, prose, run, streamed, streamed_content, whole};

fn add() -> TextScan {
    asking(TextCalls::Auto)
}

fn asking(notation: TextCalls) -> TextScan {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}, "required": ["a"]});
    TextScan::Offered(notation, Arc::new(ToolSchemas::default().with("add", schema)))
}

fn options(text: TextScan) -> StreamOptions {
    let mut options = StreamOptions::default();
    options.text = text;
    options
}

#[test]
fn asked_for_calls_are_taken_from_text_without_native_calls() {
    for protocol in PROTOCOLS {
        for text in prose() {
            let rest = text.replace(JSON_CALL, "").replace(XML_CALL, "");
            let written = if text.contains(JSON_CALL) { Notation::Json } else { Notation::Xml };
            let read = ReadOptions { text: add(), ..ReadOptions::default() };
            let reply = parse_reply(&whole(protocol, &text, false), &read).unwrap();
            assert_eq!(content(&reply), (vec!["add"], rest.as_str()), "{protocol:?}");
            assert_eq!(reply.calls[0].written, Some(written));
            assert_eq!(reply.calls[0].arguments, Arguments::Json(json!({"a": 1})));
            let reply = parse_reply(&whole(protocol, &text, true), &read).unwrap();
            assert_eq!(content(&reply), (vec!["now"], text.as_str()), "{protocol:?} beside a native call");
            assert_eq!(reply.calls[0].written, None);

            let events = run(protocol, options(add()), &streamed(protocol, &text, false));
            assert_eq!(streamed_content(&events), (vec!["add"], rest), "{protocol:?} streamed");
            let events = run(protocol, options(add()), &streamed(protocol, &text, true));
            assert_eq!(
                streamed_content(&events),
                (vec!["now"], text.clone()),
                "{protocol:?} streamed beside a native call"
            );
        }
    }
}

#[test]
fn a_streamed_text_call_waits_for_the_end_of_the_reply() {
    let chunks = streamed(Protocol::Chat, &format!("See {JSON_CALL} there"), false);
    let mut assembler = gateway_dialects::stream::Assembler::new(Protocol::Chat, options(add()));
    let before: Vec<StreamEvent> = chunks.iter().flat_map(|chunk| assembler.push(chunk)).collect();
    assert_eq!(before, [StreamEvent::Text("See ".into()), StreamEvent::Stop("stop".into())]);
    assert_eq!(streamed_content(&assembler.finish()), (vec!["add"], " there".to_owned()));
}

#[test]
fn text_behind_a_streamed_text_call_is_bounded() {
    let mut small = options(add());
    small.argument_limit = 64;
    let text = format!("{JSON_CALL} {}", "x".repeat(64 * 16));
    let events = run(Protocol::Chat, small, &streamed(Protocol::Chat, &text, false));
    assert_eq!(streamed_content(&events), (vec![], text));
}

/// What `text` becomes: names of calls, the text that is left, and what was skipped.
#[track_caller]
fn check(scan: TextScan, text: &str, calls: &[&str], rest: &str, skipped: &[(&str, Notation, &str)]) {
    let message = json!({"role": "assistant", "content": text});
    let options_of_reply = ReadOptions { text: scan.clone(), ..ReadOptions::default() };
    let Ok(reply) = parse_reply(&message, &options_of_reply) else { unreachable!("a message can be read") };
    let expected: Vec<SkippedCall> = skipped
        .iter()
        .map(|(name, notation, reason)| SkippedCall {
            name: (*name).to_owned(),
            notation: *notation,
            reason: (*reason).to_owned(),
        })
        .collect();
    assert_eq!((content(&reply), &reply.skipped), ((calls.to_vec(), rest), &expected), "{text}");
    let events = run(Protocol::Chat, options(scan), &streamed(Protocol::Chat, text, false));
    assert_eq!(streamed_content(&events), (calls.to_vec(), rest.to_owned()), "{text} streamed");
    let streamed: Vec<SkippedCall> = events
        .into_iter()
        .filter_map(|event| match event {
            StreamEvent::Skipped(skipped) => Some(skipped),
            _ => None,
        })
        .collect();
    assert_eq!(streamed, expected, "{text} streamed");
}

#[test]
fn only_whole_calls_of_offered_tools_that_validate_are_taken() {
    let unknown = r#"I call {"type":"tool_use","name":"drop","input":{}}"#;
    check(add(), unknown, &[], unknown, &[("drop", Notation::Json, "no tool of this name was offered")]);
    check(add(), "<drop><a>1</a></drop>", &[], "<drop><a>1</a></drop>", &[]);
    let wrong = r#"{"type":"tool_use","name":"add","input":{"a":"x"}}"#;
    let issue = "The arguments do not fit the tool's parameters. Correct this and call it again:\n- `/a`: expected integer, got string \"x\"";
    check(add(), wrong, &[], wrong, &[("add", Notation::Json, issue)]);
    check(add(), "<add><a>x</a></add>", &[], "<add><a>x</a></add>", &[("add", Notation::Xml, issue)]);
    let list = r#"{"type":"tool_use","name":"add","input":[1]}"#;
    check(
        add(),
        list,
        &[],
        list,
        &[("add", Notation::Json, "arguments field must be a JSON object, got array")],
    );
    // Malformed, unfinished, or no call at all.
    for text in [
        "<add><a>1</add>",
        "<add><a>1</a>",
        "Say <add>one</add> please",
        r#"{"type":"tool_use","name":"add","input":{"a":1}"#,
        r#"{"type":"tool_use","name":"add","input":{"a":1,}}"#,
    ] {
        check(add(), text, &[], text, &[]);
    }
    // One good call beside others.
    check(
        add(),
        &format!("{wrong} {XML_CALL}"),
        &["add"],
        &format!("{wrong} "),
        &[("add", Notation::Json, issue)],
    );
}

#[test]
fn a_notation_that_was_not_asked_for_is_text() {
    check(asking(TextCalls::Xml), JSON_CALL, &[], JSON_CALL, &[]);
    check(asking(TextCalls::Json), XML_CALL, &[], XML_CALL, &[]);
    check(asking(TextCalls::Off), XML_CALL, &[], XML_CALL, &[]);
    check(asking(TextCalls::Xml), XML_CALL, &["add"], "", &[]);
    check(asking(TextCalls::Json), JSON_CALL, &["add"], "", &[]);
}

#[test]
fn arguments_are_decoded_before_they_are_checked() {
    let dialects = Dialects::builtin();
    let tool = json!({"name": "tag", "inputSchema": {"type": "object", "required": ["labels"],
        "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}}}});
    let translator = gateway_dialects::Translator::new(
        &dialects,
        "openai-chat-strict",
        gateway_dialects::Options::default(),
    )
    .unwrap();
    let translated = translator.translate(std::slice::from_ref(&tool));
    let plan = translated.tools[0].plan.clone();
    assert!(!plan.is_identity());
    let tools = ToolSchemas::default().with_plan("tag", tool["inputSchema"].clone(), plan.clone());
    let text = TextScan::Offered(TextCalls::Auto, Arc::new(tools));
    let call = |arguments: &Value| {
        let sent = plan.encode(arguments).unwrap();
        json!({"type": "tool_use", "name": "tag", "input": sent}).to_string()
    };
    let good = call(&json!({"labels": {"k": "v"}}));
    check(text.clone(), &good, &["tag"], "", &[]);
    let read = ReadOptions { text, ..ReadOptions::default() };
    let many = call(&json!({"labels": {"k": "v", "l": "w"}}));
    let reply = parse_reply(&json!({"role": "assistant", "content": many}), &read).unwrap();
    assert_eq!(content(&reply), (vec![], many.as_str()));
    assert_eq!(reply.skipped.len(), 1);
}

#[test]
fn a_whole_text_is_a_call_only_if_it_is_nothing_else() {
    let read = |text: &str| {
        let whole = TextScan::Whole(Arc::new(ToolSchemas::default()));
        let options = ReadOptions { text: whole, ..ReadOptions::default() };
        let reply = parse_reply(&Value::String(text.to_owned()), &options).unwrap();
        (reply.calls.into_iter().map(|call| call.name).collect::<Vec<_>>(), reply.text)
    };
    let two = format!(" {JSON_CALL}\n{JSON_CALL} ");
    for (text, names) in [
        (XML_CALL.to_owned(), vec!["add"]),
        (format!("\n {XML_CALL}\n<now></now> "), vec!["add", "now"]),
        (two, vec!["add", "add"]),
        (JSON_CALL.to_owned(), vec!["add"]),
    ] {
        assert_eq!(read(&text), (names.into_iter().map(str::to_owned).collect(), String::new()), "{text}");
    }
    for text in prose().into_iter().filter(|text| text != XML_CALL && text != JSON_CALL) {
        assert_eq!(read(&text), (vec![], text.clone()));
    }
    let inside = json!({"role": "assistant", "content": XML_CALL});
    let options =
        ReadOptions { text: TextScan::Whole(Arc::new(ToolSchemas::default())), ..ReadOptions::default() };
    assert_eq!(content(&parse_reply(&inside, &options).unwrap()), (vec![], XML_CALL));
}

#[test]
fn results_of_text_calls_are_text_of_the_user() {
    let result = json!({"content": [{"type": "text", "text": "2 < 3"}]});
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    let outcome = |call_id, result| Outcome { call_id, wire_name: "add", result, kept: None };
    let outcomes = [
        (Notation::Xml, outcome(None, &result)),
        (Notation::Json, outcome(Some("t1"), &result)),
        (Notation::Json, outcome(None, &failed)),
    ];
    let text = "<tool_result name=\"add\" status=\"success\">\n2 &lt; 3\n</tool_result>\n\
        {\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"name\":\"add\",\"status\":\"success\",\"content\":\"2 < 3\"}\n\
        {\"type\":\"tool_result\",\"name\":\"add\",\"status\":\"error\",\"content\":\"Error: no\"}";
    let dialects = Dialects::builtin();
    for name in dialects.names() {
        let dialect = dialects.get(name).unwrap();
        if dialect.layer {
            continue;
        }
        let expected = match dialect.messages.protocol {
            Protocol::Chat | Protocol::Functions | Protocol::CohereChat | Protocol::OllamaChat => {
                json!({"role": "user", "content": text})
            }
            Protocol::Messages => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
            Protocol::Converse => json!({"role": "user", "content": [{"text": text}]}),
            Protocol::GenerateContent => json!({"role": "user", "parts": [{"text": text}]}),
            Protocol::Responses => {
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
            }
            Protocol::Mcp => json!({"role": "user", "content": {"type": "text", "text": text}}),
        };
        let rendered = render_written_results(&dialect, &outcomes, &ResultOptions::default());
        assert_eq!(rendered.messages, [expected], "{name}");
        let none = render_written_results(&dialect, &[], &ResultOptions::default());
        assert_eq!(none.messages, Vec::<Value>::new(), "{name}");
    }
}
