//! What is special about single notations, and about replies with several calls.

use std::sync::Arc;

use gateway_dialects::Dialects;
use gateway_dialects::calls::text::{Notation, Notations, TextCalls};
use gateway_dialects::calls::{ReadOptions, Reply, TextScan, parse_reply};
use gateway_dialects::dialect::Compat;
use gateway_dialects::stream::{StreamEvent, TextStream};
use serde_json::{Value, json};

use super::{check_text, notation, options, read, scan, tools};

fn one(name: &str) -> TextScan {
    scan(notation(name).into())
}

#[track_caller]
fn check(name: &str, text: &str, calls: &[(&str, Value)]) {
    let outcome = read(&one(name), text);
    let expected: Vec<Value> = calls.iter().map(|(tool, arguments)| json!([name, tool, arguments])).collect();
    assert_eq!((outcome.calls, outcome.text.trim()), (expected, ""), "{text}");
}

const GOOD: &str = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
const BAD: &str = "<tool_call>{\"name\": \"search\", \"arguments\": {}}</tool_call>";

#[test]
fn good_and_refused_calls_keep_their_order() {
    let outcome = read(&one("hermes"), &format!("{GOOD}{BAD}{GOOD}"));
    let now = json!(["hermes", "now", {}]);
    assert_eq!(outcome.calls, [now.clone(), now]);
    let expected = "The arguments do not fit the tool's parameters. Correct this and call it again:\n- `/query`: required but missing, expected string";
    assert_eq!(outcome.refused, [(json!(["hermes", "search", {}]), 1, expected.to_owned())]);
    assert_eq!(outcome.source, format!("{GOOD}{BAD}{GOOD}"));
    // Behind prose, one that is wrong makes all of them text.
    let text = format!("Look: {GOOD}{BAD}");
    check_text(&one("hermes"), &text);
    assert_eq!(read(&one("hermes"), &text).skipped, ["search"]);
    // A tool that was not offered makes all of them text.
    let foreign = "<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>";
    check_text(&one("hermes"), &format!("{GOOD}{foreign}"));
    // What comes before such text does not count, what ends the reply does.
    let outcome = read(&one("hermes"), &format!("{foreign}{GOOD}"));
    assert_eq!((outcome.calls.len(), outcome.text.as_str()), (1, foreign));
    let outcome = read(&one("hermes"), &format!("{GOOD} was a call. {GOOD}"));
    assert_eq!((outcome.calls.len(), outcome.text), (1, format!("{GOOD} was a call. ")));
}

#[test]
fn a_recorded_stream_is_read_like_a_whole_reply() {
    for text in [format!("Well.\n{GOOD}"), format!("{BAD}{GOOD}"), format!("{GOOD}?")] {
        let chunks: Value = text
            .split_inclusive('>')
            .map(|piece| json!({"choices": [{"delta": {"content": piece}}]}))
            .collect();
        let options = ReadOptions { text: one("hermes"), ..ReadOptions::default() };
        let streamed = parse_reply(&chunks, &options).unwrap();
        let whole = parse_reply(&json!({"role": "assistant", "content": text}), &options).unwrap();
        assert_eq!(
            (&streamed.text, &streamed.source, streamed.written, streamed.calls.len()),
            (&whole.text, &whole.source, whole.written, whole.calls.len())
        );
        let refusals = |reply: &Reply| -> Vec<(usize, String)> {
            reply.refused.iter().map(|refused| (refused.position, refused.refusal.clone())).collect()
        };
        assert_eq!(refusals(&streamed), refusals(&whole));
    }
}

#[test]
fn ids_are_the_ones_that_the_model_wrote() {
    let ids = |name: &str, text: &str| {
        let options = ReadOptions { text: one(name), ..ReadOptions::default() };
        let reply = parse_reply(&json!({"role": "assistant", "content": text}), &options).unwrap();
        reply.calls.iter().map(|call| call.id.given().map(str::to_owned)).collect::<Vec<_>>()
    };
    let kimi = "<|tool_call_begin|>functions.now:3<|tool_call_argument_begin|>{}<|tool_call_end|>";
    assert_eq!(ids("kimi-k2", kimi), [Some("functions.now:3".to_owned())]);
    assert_eq!(
        ids("mistral-args", "[TOOL_CALLS]now[CALL_ID]VvvODy9mT[ARGS]{}"),
        [Some("VvvODy9mT".to_owned())]
    );
    let list = "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}, \"id\": \"D681PevKs\"}, {\"name\": \"now\", \"arguments\": {}}]";
    assert_eq!(ids("mistral", list), [Some("D681PevKs".to_owned()), None]);
}

#[test]
fn tagged_values_are_typed_by_the_schema() {
    let parameters = "<function=write_file>\n<parameter=path>\n007\n</parameter>\n<parameter=content>\n  if a < b:\n    x = {\"k\": 1}\n<b>\n\n</parameter>\n<parameter=append>true</parameter></function>";
    let content = "  if a < b:\n    x = {\"k\": 1}\n<b>\n";
    let expected = json!({"path": "007", "content": content, "append": true});
    check("qwen3-coder", parameters, &[("write_file", expected)]);
    let glm = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Graz, \"Süd\"</arg_value>\n<arg_key>hours</arg_key>\n<arg_value>[1, 2]</arg_value>\n<arg_key>options</arg_key><arg_value>{\"a\": null}</arg_value></tool_call>";
    check(
        "glm-4.5",
        glm,
        &[("get_weather", json!({"city": "Graz, \"Süd\"", "hours": [1, 2], "options": {"a": null}}))],
    );
    check("glm-4.5", "<tool_call>now</tool_call>", &[("now", json!({}))]);
    // The same parameter twice says nothing.
    check_text(
        &one("qwen3-coder"),
        "<function=search><parameter=query>a</parameter><parameter=query>b</parameter></function>",
    );
}

#[test]
fn python_literals_are_read() {
    let text = r#"[get_weather(city='L\'Aquila "\u00e9" \\ \d', days=1, hours=[1, 2,], options={'a': (1, -2.5, .5), "b": {"c": None, 'd': True}, 'e': 1_000,})]"#;
    let options = json!({"a": [1, -2.5, 0.5], "b": {"c": null, "d": true}, "e": 1000});
    let expected = json!({"city": "L'Aquila \"é\" \\ \\d", "days": 1, "hours": [1, 2], "options": options});
    check("pythonic", text, &[("get_weather", expected)]);
    check("pythonic", "[now()]", &[("now", json!({}))]);
    check("tool-code", "```tool_code\nprint( now( ) )\n```\n", &[("now", json!({}))]);
    check(
        "lfm2",
        "<|tool_call_start|>[search(query='<|tool_call_end|>')]<|tool_call_end|>",
        &[("search", json!({"query": "<|tool_call_end|>"}))],
    );
    for text in [
        "[search('x')]",
        "[search(query=x)]",
        "[search(query=f('x'))]",
        "[search(query='x', query='y')]",
        "[search(query='x' + 'y')]",
        "[search(query=0x1F)]",
        "[search]",
        "[]",
        "[now(), 3]",
        "[x.now()]",
        "[now() for _ in range(3)]",
        "[search(query='a\nb')]",
    ] {
        check_text(&one("pythonic"), text);
    }
    for text in [
        "```tool_code\nimport os\nnow()\n```",
        "```tool_code\nx = now()\n```",
        "```tool_code\nprint(now(), 1)\n```",
        "```tool_code\nprint('now()')\n```",
    ] {
        check_text(&one("tool-code"), text);
    }
}

#[test]
fn json_calls_have_no_other_members() {
    for text in [
        r#"{"name": "now"}"#,
        r#"{"name": "now", "arguments": {}, "description": "the time"}"#,
        r#"{"name": "now", "arguments": {}, "parameters": {}}"#,
        r#"{"name": "now", "arguments": {}, "name": "now"}"#,
        r#"{"name": "now", "arguments": {},}"#,
        r#"{"name": ["now"], "arguments": {}}"#,
        r"{'name': 'now', 'arguments': {}}",
        r#"[{"name": "now", "arguments": {}}, "now"]"#,
        r#"[[{"name": "now", "arguments": {}}]]"#,
        "[]",
        "{}",
        "[{}]",
    ] {
        check_text(&one("bare-json"), text);
    }
    check(
        "bare-json",
        "{\"name\":\"now\",\"arguments\":{}}{\"name\":\"now\",\"parameters\":null}",
        &[("now", json!({})), ("now", Value::Null)],
    );
}

#[test]
fn thoughts_are_set_apart() {
    let outcome = read(&one("hermes"), &format!("<think>Is it {BAD}?</think>\n{GOOD}"));
    assert_eq!((outcome.calls.len(), outcome.reasoning), (1, format!("Is it {BAD}?")));
    // Only a reply that is nothing but calls is refused; thoughts are no prose.
    let outcome = read(&one("hermes"), &format!("<think>Hm</think>\n\n{BAD}"));
    assert_eq!((outcome.refused.len(), outcome.text.as_str()), (1, "\n\n"));
    let channels = "<|channel|>analysis<|message|>I need <b>.<|end|><|start|>assistant<|channel|>commentary to=functions.now<|message|>{}";
    let outcome = read(&one("harmony"), channels);
    assert_eq!(
        (outcome.calls, outcome.reasoning.as_str()),
        (vec![json!(["harmony", "now", {}])], "I need <b>.")
    );
    assert_eq!(read(&one("harmony"), "<|channel|>analysis<|message|>I am cut").reasoning, "I am cut");
    check_text(&one("harmony"), "\u{a0}<|channel|>analysis<|message|>behind a space that is text");
    // In the middle of an answer, both are about thoughts.
    let prose = "It writes <think> first.\nThen `<|channel|>analysis<|message|>`.\n<|channel|>analysis<|message|>x<|end|>";
    check_text(&scan(Notations::all()), prose);
}

#[test]
fn a_section_has_to_end() {
    let call = "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
    let (start, end) = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>");
    check("kimi-k2", call, &[("now", json!({}))]);
    for text in [
        format!("{start}{call}"),
        format!("{call}{end}"),
        format!("{start}{end}"),
        format!("{start}{start}{call}{end}{end}"),
    ] {
        check_text(&one("kimi-k2"), &text);
    }
}

#[test]
fn code_fences_are_no_calls() {
    let all = scan(Notations::all());
    for text in [
        format!("```\n{GOOD}\n```"),
        format!("```xml\n{GOOD}"),
        "~~~\n```json\n{\"name\": \"now\", \"arguments\": {}}\n```\n~~~\n".to_owned(),
        "````\n```json\n{\"name\": \"now\", \"arguments\": {}}\n```\n````".to_owned(),
        "Inline ```json {\"name\": \"now\", \"arguments\": {}} ```".to_owned(),
    ] {
        check_text(&all, &text);
    }
    let after = format!("```sh\ndate\n```\n{GOOD}");
    assert_eq!(read(&all, &after).calls.len(), 1, "behind a fence");
}

#[test]
fn text_is_given_as_soon_as_it_can_be_no_call() {
    let mut stream = TextStream::new(options(&scan(Notations::all())));
    let mut pushed = |text: &str| -> String {
        let events = stream.push(text).into_iter().map(|event| match event {
            StreamEvent::Text(text) => text,
            other => unreachable!("{other:?}"),
        });
        events.collect()
    };
    for (text, given) in [
        ("Of course! ", "Of course! "),
        ("A <", "A "),
        ("b>tag</b> and ", "<b>tag</b> and "),
        ("[a link](x) ", "[a link](x) "),
        ("{", ""),
        ("\"name\": \"x\"", ""),
        (", \"age\":", "{\"name\": \"x\", \"age\":"),
        (" 3}\n", " 3}\n"),
        ("```js", ""),
        ("on\n{\"a", ""),
        ("\": 1", "```json\n{\"a\": 1"),
        (", \"b\": {\"name\": \"now\", ", ", \"b\": {\"name\": \"now\", "),
        ("}}\n```\n", "}}\n```\n"),
        ("fun", ""),
        ("ction ", "function "),
        ("<tool_call> is a tag. ", "<tool_call> is a tag. "),
        (GOOD, ""),
        ("\n\n", ""),
        ("So.", &format!("{GOOD}\n\nSo.")),
    ] {
        assert_eq!(pushed(text), given, "after {text:?}");
    }
}

#[test]
fn a_notation_that_data_names_is_read_at_the_end_also_by_execute() {
    let named = |calls| TextScan::Offered(calls, Arc::new(tools()));
    let hermes: TextCalls = "hermes".parse().unwrap();
    assert_eq!(read(&named(hermes), GOOD).calls.len(), 1);
    check_text(&named(hermes), &format!("{GOOD} !"));
    // Nobody there answers a refused call.
    check_text(&named(hermes), BAD);
    assert_eq!(read(&named(hermes), BAD).skipped, ["search"]);
    check_text(&named(TextCalls::Auto), GOOD);
}

#[test]
fn model_ids_bring_their_notations_and_turn_nothing_on() {
    let dialects = Dialects::builtin();
    let messages =
        |name: Option<&str>, model: &str| dialects.choose(name, Some(model), &Compat::Auto).unwrap().messages;
    let hermes = messages(None, "hermes-3-llama-3.1-8b");
    assert_eq!(hermes.text_calls, TextCalls::Off);
    let names = |notations: Notations| notations.iter().map(Notation::name).collect::<Vec<_>>();
    assert_eq!(names(hermes.notations), ["fenced-json", "bare-json", "hermes"]);
    assert_eq!(hermes.written_notations(None), hermes.notations);
    assert_eq!(hermes.written_notations(Some(TextCalls::Off)), Notations::NONE);
    assert_eq!(hermes.written_notations(Some(TextCalls::Auto)), hermes.notations);
    assert_eq!(hermes.written_notations(Some(TextCalls::Xml)), Notation::Xml.into());
    let gpt = messages(None, "gpt-5");
    assert_eq!(
        (gpt.written_notations(None), gpt.written_notations(Some(TextCalls::Auto))),
        (Notations::NONE, Notations::all())
    );
    assert_eq!(
        names(messages(Some("llamacpp"), "Qwen/Qwen3-Coder-30B").notations),
        ["fenced-json", "bare-json", "hermes", "qwen3-coder"]
    );
    let mut dialects = Dialects::builtin();
    let rules =
        "[[model]]\nmatches = [\"scribe-*\"]\ndialect = \"ollama\"\ntext-calls = [\"hermes\", \"xml\"]\n";
    dialects.add_models("test", rules).unwrap();
    let scribe = dialects.choose(None, Some("scribe-1"), &Compat::Auto).unwrap().messages;
    assert_eq!(names(scribe.written_notations(None)), ["xml", "hermes"]);
    let own = "name = \"own\"\nextends = \"ollama\"\n[messages]\nnotations = [\"glm-4.5\"]\n";
    dialects.add("test", own).unwrap();
    assert_eq!(names(dialects.get("own").unwrap().messages.written_notations(None)), ["glm-4.5"]);
    assert!(
        dialects
            .add("test", "name = \"own\"\nextends = \"ollama\"\n[messages]\nnotations = [\"morse\"]\n")
            .is_err()
    );
}
