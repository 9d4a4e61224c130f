//! Operations as native modules call them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use gateway_bindings::{
    Converter, EngineError, Operation, Settings, StreamAssembler, from_slice, run, run_text,
};
use serde_json::{Value, json};

fn settings(options: Value) -> Settings {
    let Value::Object(options) = options else { panic!("{options}") };
    Settings::new(options)
}

fn add() -> Value {
    json!({"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}})
}

/// The operation over a value, which must be the same over the value's text.
#[track_caller]
fn check(operation: Operation, input: Value, options: Value) -> Result<Value, EngineError> {
    let of_text = run_text(operation, &input.to_string(), settings(options.clone()));
    let of_value = run(operation, input, settings(options));
    assert_eq!(of_text.map(|text| from_slice(text.as_bytes()).unwrap()), of_value);
    of_value
}

#[test]
fn every_operation_is_the_same_over_values_and_texts() {
    for dialect in ["openai", "anthropic", "gemini", "mcp"] {
        let tools = check(Operation::Convert, json!([add()]), json!({"to": dialect})).unwrap();
        assert_eq!(tools.as_array().unwrap().len(), 1);
    }
    let report = check(Operation::Convert, json!([add()]), json!({"to": "openai", "report": true})).unwrap();
    assert_eq!(report["report"][0]["wireName"], "add");
    let report = check(Operation::Check, json!({"tools": [add()]}), json!({"to": "gemini,openai"})).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["rule"] == "description-missing"), "{findings:?}");
    let schema = json!({"type": "string", "format": "uri"});
    let schema = check(Operation::Transform, schema, json!({"to": "universal"})).unwrap();
    assert_eq!(schema, json!({"type": "string", "description": "{\"format\":\"uri\"}"}));
    let reply = json!({"type": "tool_use", "id": "1", "name": "add", "input": {"a": "x"}});
    let read = check(Operation::ParseCalls, reply, json!({"tools": [add()]})).unwrap();
    assert_eq!(read["calls"][0]["error"]["issues"][0]["path"], "/a");
    let results = json!([{"id": "1", "name": "add", "result": "42"}]);
    let messages = check(Operation::RenderResults, results, json!({"provider": "openai"})).unwrap();
    assert_eq!(messages, json!([{"role": "tool", "tool_call_id": "1", "content": "42"}]));
    let history = json!({"messages": [{"role": "user", "content": "Hello"}]});
    let moved = check(Operation::ConvertHistory, history, json!({"from": "openai", "to": "gemini"})).unwrap();
    assert_eq!(moved["messages"], json!([{"role": "user", "parts": [{"text": "Hello"}]}]));
    let model = check(Operation::DetectModel, json!("o3-mini"), json!({})).unwrap();
    assert_eq!(model["isReasoningModel"], true);
}

#[test]
fn options_are_refused_by_name() {
    let refused = |options: Value| check(Operation::Convert, json!([add()]), options).unwrap_err();
    assert_eq!(refused(json!({"to": "nonesuch"})).code, "UNKNOWN_PROVIDER");
    for (options, words) in [
        (json!({}), "say which dialect"),
        (json!({"to": 5}), "to=5: expected a string"),
        (json!({"to": "openai", "hid": []}), "did you mean `hide`?"),
        (json!({"to": "openai", "open": "maybe"}), "expected one of declared, all"),
        (json!({"to": "openai", "verbatim": "yes"}), "expected true or false"),
        (json!({"to": "gemini", "verbatim": true}), "no verbatim form"),
    ] {
        let error = refused(options);
        assert_eq!(error.code, "VALIDATION_ERROR");
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn injected_and_hidden_parameters_reach_the_plan() {
    let options = json!({"to": "openai", "inject": {"a": 5}, "tools": [add()]});
    let reply = json!({"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}});
    let read = check(Operation::ParseCalls, reply, options).unwrap();
    assert_eq!(read["calls"][0]["input"], json!({"a": 5}));
}

#[test]
fn repeated_members_and_deep_tools_are_found_where_a_text_has_them() {
    let converter = || Converter::new(settings(json!({"to": "openai"}))).unwrap();
    let error = converter().convert_text(r#"[{"name": "a", "name": "b"}]"#).unwrap_err();
    assert!(error.message.contains("repeated"), "{error}");
    let deep = format!(r#"[{{"name": "deep", "x": {}{}}}, {}]"#, "[".repeat(300), "]".repeat(300), add());
    let (written, left_out) = converter().convert_text(&deep).unwrap();
    assert!(written.contains("\"add\""), "{written}");
    assert_eq!(left_out.iter().map(|one| one.tool.as_str()).collect::<Vec<_>>(), ["deep"]);
}

#[test]
fn a_stream_finds_out_whose_it_is_even_by_its_older_calls() {
    let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut assembler = StreamAssembler::new(Settings::default()).unwrap();
    let mut events = assembler.push_chunk(&chunk(json!({"role": "assistant", "content": "Hi"}))).unwrap();
    for arguments in ["{\"a\":", "1}"] {
        let delta = json!({"function_call": {"name": "add", "arguments": arguments}});
        events.extend(assembler.push_chunk(&chunk(delta)).unwrap());
    }
    events.extend(assembler.finish().unwrap());
    assert_eq!(events[0], json!({"type": "text", "text": "Hi"}));
    let call = events.iter().find(|event| event["type"] == "call").unwrap();
    assert_eq!((&call["call"]["name"], &call["call"]["input"]), (&json!("add"), &json!({"a": 1})));
}

/// A chunk of Chat Completions with a whole call.
fn chunk_with_call() -> Value {
    json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "delta": {"tool_calls": [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}},
    ]}}]})
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn what_cannot_be_read_in_a_stream_takes_nothing_else_along() {
    let mut stream = StreamAssembler::new(settings(json!({"provider": "openai"}))).unwrap();
    let call = chunk_with_call();
    let mut events =
        stream.push(format!("data: {call}\n\ndata: garbage\n\ndata: [DONE]\n\n").as_bytes()).unwrap();
    events.extend(stream.finish().unwrap());
    assert_eq!(kinds(&events), ["stop", "call", "error"]);
    assert!(
        events[2]["error"]["message"].as_str().unwrap().contains("a chunk of the stream"),
        "{}",
        events[2]
    );

    // The connection was cut in the middle of a call, and of a line.
    let mut stream = StreamAssembler::new(settings(json!({"provider": "openai"}))).unwrap();
    let mut begun = call;
    begun["choices"][0].as_object_mut().unwrap().remove("finish_reason");
    begun["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = "{\"a\"".into();
    let mut events = stream.push(format!("data: {begun}\n\ndata: {{\"choi").as_bytes()).unwrap();
    events.extend(stream.finish().unwrap());
    assert_eq!(kinds(&events), ["error", "call"]);
    assert_eq!(events[1]["call"]["error"]["message"], "the stream ended in the middle of the call");
    assert!(stream.finish().is_err());
}

#[test]
fn a_stream_is_the_same_wherever_its_bytes_are_cut() {
    let text = format!("\n\n{}\r\n{}\n", json!({"note": "an é\n"}), chunk_with_call());
    let events = |sizes: &mut dyn Iterator<Item = usize>| {
        let mut stream = StreamAssembler::new(settings(json!({"provider": "openai"}))).unwrap();
        let (mut all, mut rest) = (Vec::new(), text.as_bytes());
        while !rest.is_empty() {
            let (now, later) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            all.extend(stream.push(now).unwrap());
            rest = later;
        }
        all.extend(stream.finish().unwrap());
        all
    };
    let whole = events(&mut std::iter::repeat(usize::MAX));
    assert_eq!(kinds(&whole), ["stop", "call"]);
    // Nothing needs to follow the last chunk.
    let mut stream = StreamAssembler::new(settings(json!({"provider": "openai"}))).unwrap();
    assert!(stream.push(chunk_with_call().to_string().as_bytes()).unwrap().is_empty());
    assert_eq!(stream.finish().unwrap(), whole);
    for size in 1..60 {
        assert_eq!(events(&mut std::iter::repeat(size)), whole, "{size}");
    }
}

#[test]
fn a_key_of_the_parser_is_a_key_like_others() {
    let hidden = json!({"$serde_json::private::RawValue": "{\"a\":1,\"a\":2}"});
    let messages = json!([{"role": "user", "content": "hi", "metadata": hidden}]);
    let options = json!({"from": "openai", "to": "openai"});
    check(Operation::ConvertHistory, messages, options).unwrap();
    let schema = json!({"type": "object", "default": hidden});
    let kept = check(Operation::Transform, schema.clone(), json!({"to": "openai"})).unwrap();
    assert_eq!(kept["default"], schema["default"]);
}

#[test]
fn results_answer_calls_by_their_own_ids() {
    let options = || json!({"provider": "openai"});
    let row = |id: Value| json!([{"id": id, "name": "add", "result": {"content": []}}]);
    let made = check(Operation::RenderResults, row(json!("c1")), options()).unwrap();
    assert_eq!(made[0]["tool_call_id"], "c1");
    check(Operation::RenderResults, row(Value::Null), options()).unwrap();
    let refused = check(Operation::RenderResults, row(json!(5)), options()).unwrap_err();
    assert!(refused.message.contains("as strings"), "{}", refused.message);
    let twice = r#"[{"id": "c1", "name": "add", "result": {"content": []}, "result": {"content": []}}]"#;
    let refused = run_text(Operation::RenderResults, twice, settings(options())).unwrap_err();
    assert!(refused.message.contains("repeated"), "{}", refused.message);
}
