//! Models that cannot call tools, asked in two steps.

use gateway_config::{ServiceConfig, ToolUse};
use gateway_testkit::models::{ModelServer, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, joined, spec, strict_model};

const CHOICE: &str =
    r#"{"serverName": "demo", "toolName": "add", "noToolAvailable": false, "reasoning": "A sum."}"#;
const ARGUMENTS: &str = r#"{"toolArguments": {"a": 15, "b": 27}}"#;
const NOTHING: &str = r#"{"serverName": "", "toolName": "", "noToolAvailable": true, "reasoning": "Known."}"#;

fn question(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "temperature": 0, "stop": ["}"],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 15 plus 27?"}]})
}

fn gateway(wire: Wire, server: &ModelServer) -> Gateway {
    let mut entry = spec("m", wire, server);
    entry.tool_use = ToolUse::Prompt;
    let mut config = ServiceConfig::default();
    config.models = vec![entry];
    Gateway::new(config)
}

fn script(texts: &[&str]) -> Script {
    texts.iter().fold(Script::new(), |script, text| script.reply(Reply::new().text(*text)))
}

/// The last text of a request's messages.
fn last_text(body: &Value) -> String {
    let messages = body["messages"].as_array().or(body["contents"].as_array()).unwrap();
    messages.last().unwrap().to_string()
}

fn calls(whole: &Value) -> Vec<(&str, &Value)> {
    let calls = whole["gateway"]["calls"].as_array().unwrap().iter();
    calls.map(|call| (call["tool_name"].as_str().unwrap(), &call["arguments"])).collect()
}

#[tokio::test]
async fn a_tool_is_chosen_then_filled_then_the_answer_is_asked_for() {
    for wire in [Wire::Chat, Wire::Ollama, Wire::Messages, Wire::GenerateContent] {
        let server = strict_model(wire, script(&[CHOICE, ARGUMENTS, NOTHING, "It is 42."])).await;
        let whole = gateway(wire, &server).whole(&question(false), None).await.unwrap();
        assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.", "{wire:?}: {whole}");
        assert_eq!(calls(&whole), [("add", &json!({"a": 15, "b": 27}))], "{wire:?}");
        let bodies: Vec<Value> = server.requests().into_iter().map(|request| request.body).collect();
        assert_eq!(bodies.len(), 4, "{wire:?}");
        for body in &bodies {
            let text = body.to_string();
            assert!(body.get("tools").is_none(), "{wire:?}: nothing native: {text}");
            assert!(text.contains("# Available Tools") && text.contains("Be brief."), "{wire:?}: {text}");
        }
        assert!(last_text(&bodies[0]).contains("Which tool"), "{wire:?}");
        assert!(last_text(&bodies[1]).contains("First number"), "{wire:?}: the schema of the tool");
        assert!(last_text(&bodies[2]).contains("Result of add: "), "{wire:?}: {}", bodies[2]);
        assert!(last_text(&bodies[3]).contains("in plain words"), "{wire:?}");
    }
}

#[tokio::test]
async fn steps_are_held_to_a_schema_and_free_of_what_is_meant_for_the_answer() {
    let server = strict_model(Wire::Chat, script(&[CHOICE, ARGUMENTS, NOTHING, "It is 42."])).await;
    gateway(Wire::Chat, &server).whole(&question(false), None).await.unwrap();
    let bodies: Vec<Value> = server.requests().into_iter().map(|request| request.body).collect();
    let properties = |body: &Value| body["response_format"]["json_schema"]["schema"]["properties"].clone();
    let names = json!(["add", "multiply", "get_weather", "store_value", "get_value", ""]);
    let expected = json!({
        "serverName": {"type": "string", "enum": ["demo", ""]},
        "toolName": {"type": "string", "enum": names},
        "noToolAvailable": {"type": "boolean"},
        "reasoning": {"type": "string"},
    });
    assert_eq!(properties(&bodies[0]), expected);
    assert_eq!(properties(&bodies[1])["toolArguments"]["required"], json!(["a", "b"]));
    let stops: Vec<bool> = bodies.iter().map(|body| body.get("stop").is_some()).collect();
    assert_eq!(stops, [false, false, false, true]);
    assert!(bodies.iter().all(|body| body["temperature"] == 0));
    // What was there before stays as it was, for caches of prompts.
    let start = |body: &Value| body["messages"].as_array().unwrap()[0].clone();
    assert!(bodies.iter().all(|body| start(body) == start(&bodies[0])));
}

#[tokio::test]
async fn what_cannot_be_used_is_asked_for_again() {
    let wrong_name = CHOICE.replace("add", "ad");
    let fenced = format!("Sure!\n```json\n{}\n```", CHOICE.replace("\"A sum.\"", "'A sum.',"));
    let wrong_server = CHOICE.replace("demo", "nope");
    for (first, feedback) in [
        (wrong_name.as_str(), "there is no tool `ad`"),
        (wrong_server.as_str(), "no server `nope` is connected. The servers are: demo."),
        ("I would add the numbers.", "no JSON object"),
        ("{\"answer\": 42}", "`toolName` is missing"),
        ("", "empty"),
    ] {
        let texts = [first, fenced.as_str(), ARGUMENTS, NOTHING, "It is 42."];
        let server = strict_model(Wire::Chat, script(&texts)).await;
        let whole = gateway(Wire::Chat, &server).whole(&question(false), None).await.unwrap();
        assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.", "{first}: {whole}");
        assert_eq!(calls(&whole), [("add", &json!({"a": 15, "b": 27}))], "{first}");
        assert!(last_text(&server.requests()[1].body).contains(feedback), "{first}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_asked_for_again() {
    for (wrong, feedback) in [
        (r#"{"toolArguments": {"a": 15}}"#, "required"),
        (r#"{"toolArguments": {"a": 15, "b": 2"#, "cut off"),
        (r#"{"toolArguments": 42}"#, "must be an object"),
    ] {
        for right in [ARGUMENTS, r#"{"a": 15, "b": 27}"#] {
            let server =
                strict_model(Wire::Chat, script(&[CHOICE, wrong, right, NOTHING, "It is 42."])).await;
            let whole = gateway(Wire::Chat, &server).whole(&question(false), None).await.unwrap();
            assert_eq!(calls(&whole), [("add", &json!({"a": 15, "b": 27}))], "{wrong}: {whole}");
            assert!(last_text(&server.requests()[2].body).contains(feedback), "{wrong}");
        }
    }
}

#[tokio::test]
async fn a_model_that_never_chooses_answers_in_words() {
    let server = strict_model(Wire::Chat, script(&["No.", "No.", "No.", "It is 42."])).await;
    let whole = gateway(Wire::Chat, &server).whole(&question(false), None).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.");
    assert_eq!(calls(&whole), []);
}

#[tokio::test]
async fn arguments_that_stay_wrong_get_the_loop_s_correction() {
    let wrong = r#"{"toolArguments": {"a": 15}}"#;
    let texts = [CHOICE, wrong, wrong, wrong, CHOICE, ARGUMENTS, NOTHING, "It is 42."];
    let server = strict_model(Wire::Chat, script(&texts)).await;
    let whole = gateway(Wire::Chat, &server).whole(&question(false), None).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.", "{whole}");
    let codes: Vec<&Value> =
        whole["gateway"]["calls"].as_array().unwrap().iter().map(|call| &call["code"]).collect();
    assert_eq!(codes, [&json!("VALIDATION_ERROR"), &Value::Null]);
}

#[tokio::test]
async fn steps_are_asked_for_again_as_often_as_configured() {
    for (retries, steps) in [(0, 1), (1, 2), (4, 5)] {
        let texts = [vec!["No."; steps], vec!["It is 42."]].concat();
        let server = strict_model(Wire::Chat, script(&texts)).await;
        let mut entry = spec("m", Wire::Chat, &server);
        (entry.tool_use, entry.max_retries) = (ToolUse::Prompt, retries);
        let mut config = ServiceConfig::default();
        config.models = vec![entry];
        let whole = Gateway::new(config).whole(&question(false), None).await.unwrap();
        assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.", "{retries}");
        assert_eq!(server.requests().len(), steps + 1, "{retries}");
    }
}

/// Somebody may be polling; but small models never answer by themselves.
#[tokio::test]
async fn the_same_call_again_is_the_end_of_the_calls() {
    let mut texts = [CHOICE, ARGUMENTS].repeat(2);
    texts.push("It is 42.");
    let server = strict_model(Wire::Chat, script(&texts)).await;
    let whole = gateway(Wire::Chat, &server).whole(&question(false), None).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.");
    assert_eq!(calls(&whole), [("add", &json!({"a": 15, "b": 27}))]);
}

#[tokio::test]
async fn without_a_tool_the_answer_is_streamed_with_what_all_steps_cost() {
    let server = strict_model(Wire::Chat, script(&[NOTHING, "Hello there."])).await;
    let gateway = gateway(Wire::Chat, &server);
    let mut request = question(true);
    request["stream_options"] = json!({"include_usage": true});
    let chunks = gateway.streamed(&request, None).await.unwrap();
    assert_eq!(joined(&chunks, "content"), "Hello there.");
    let requests = server.requests();
    let streamed: Vec<&Value> = requests.iter().map(|request| &request.body["stream"]).collect();
    assert_eq!(streamed, [&json!(false), &json!(true)]);
    assert!(!last_text(&requests[1].body).contains("Which tool"));
}

#[tokio::test]
async fn an_api_without_response_format_is_asked_without_it_from_then_on() {
    let refusal = r#"{"error": {"message": "response_format of type json_schema is not supported", "type": "invalid_request_error"}}"#;
    let refusal = Step::raw(400, "application/json", refusal);
    let script = Script::new()
        .step(refusal)
        .reply(Reply::new().text(CHOICE))
        .reply(Reply::new().text(ARGUMENTS))
        .reply(Reply::new().text(NOTHING))
        .reply(Reply::new().text("It is 42."));
    let server = strict_model(Wire::Chat, script).await;
    let whole = gateway(Wire::Chat, &server).whole(&question(false), None).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.", "{whole}");
    let with: Vec<bool> =
        server.requests().iter().map(|request| request.body.get("response_format").is_some()).collect();
    assert_eq!(with, [true, false, false, false, false]);
}

#[tokio::test]
async fn tools_of_the_caller_are_handed_back() {
    let server = strict_model(
        Wire::Chat,
        script(&[
            r#"{"serverName": "", "toolName": "ask_user", "noToolAvailable": false, "reasoning": ""}"#,
            r#"{"toolArguments": {"text": "Which?"}}"#,
        ]),
    )
    .await;
    let mut request = question(false);
    request["tools"] = json!([{"type": "function", "function": {"name": "ask_user", "description": "Ask the user.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}]);
    let whole = gateway(Wire::Chat, &server).whole(&request, None).await.unwrap();
    let call = &whole["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call, &json!({"name": "ask_user", "arguments": "{\"text\":\"Which?\"}"}), "{whole}");
}
