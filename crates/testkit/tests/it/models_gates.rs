//! What tests hold back, wait for and see of a model server.

use gateway_testkit::eventually;
use gateway_testkit::models::{
    Behaviour, Delivery, Gate, ModelServer, Moment, Outcome, Reply, Script, Step, Wire, example,
};
use serde_json::{Value, json};

use crate::talk::LONG;
use crate::talk_models::{Client, ask, ask_with, open, question, start};

fn text(answer: &Value) -> &Value {
    &answer["choices"][0]["message"]["content"]
}

#[tokio::test]
async fn steps_are_taken_in_order_and_the_last_repeats() {
    let server =
        start(Wire::Chat, Script::new().reply(Reply::new().text("1")).last(Reply::new().text("2"))).await;
    for said in ["1", "2", "2"] {
        assert_eq!(text(&ask(&server, Wire::Chat, false).await.json()), said);
    }
    let requests = server.requests();
    assert_eq!(requests.iter().map(|request| request.index).collect::<Vec<_>>(), [0, 1, 2]);
    let first = &requests[0];
    assert_eq!(
        (first.method.as_str(), first.path.as_str(), first.query.as_str()),
        ("POST", "/v1/chat/completions", "")
    );
    assert_eq!((first.body.clone(), first.outcome), (question(Wire::Chat, false).1, Outcome::Answered));
    assert_eq!(serde_json::from_slice::<Value>(&first.raw).unwrap(), first.body);
    assert_eq!(first.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn a_script_can_look_at_the_request() {
    let script =
        Script::by(|request| Step::reply(Reply::new().text(format!("{} tools", request.tools().len()))));
    let server = start(Wire::Chat, script).await;
    let mut body = question(Wire::Chat, false).1;
    body["tools"] = json!([{"type": "function", "function": {"name": "add"}}]);
    assert_eq!(text(&ask_with(&server, Wire::Chat, false, &body).await.json()), "1 tools");
}

#[tokio::test]
async fn a_gate_holds_the_headers_back() {
    let gate = Gate::new();
    let server = start(
        Wire::Chat,
        Script::new().step(Step::reply(Reply::new().text("3.")).wait(Moment::Headers, &gate)),
    )
    .await;
    let client = open(&server, true, Wire::Chat).await;
    let request = server.arrived(0).await.unwrap();
    assert_eq!((request.outcome, request.chunks), (Outcome::InProgress, 0));
    gate.open();
    assert!(client.answer().await.unwrap().complete);
    assert_eq!(server.ended(0).await.unwrap().outcome, Outcome::Answered);
}

#[tokio::test]
async fn a_gate_holds_a_chunk_back() {
    for delivery in [Delivery::usual(), Delivery::single_bytes()] {
        let (second, end) = (Gate::new(), Gate::new());
        let step = Step::reply(Reply::new().text("3."));
        let step = step.delivered(delivery).wait(Moment::Chunk(1), &second).wait(Moment::End, &end);
        let server = start(Wire::Chat, Script::new().step(step)).await;
        let client = open(&server, true, Wire::Chat).await;
        assert_eq!(server.written(0, 0).await.unwrap().chunks, 1);
        second.open();
        assert_eq!(server.written(0, 3).await.unwrap().outcome, Outcome::InProgress);
        end.open();
        let answer = client.answer().await.unwrap();
        assert!(answer.complete && answer.text().ends_with("data: [DONE]\n\n"));
        assert_eq!(server.ended(0).await.unwrap().chunks, 4);
    }
}

#[tokio::test]
async fn an_abort_is_seen_while_the_answer_is_held_back() {
    for moment in [Moment::Headers, Moment::Chunk(1), Moment::End] {
        for streamed in [true, false] {
            // A whole body is one chunk.
            let moment = if moment == Moment::Chunk(1) && !streamed { Moment::Chunk(0) } else { moment };
            let step = Step::reply(Reply::new().text("3.")).wait(moment, &Gate::new());
            let server = start(Wire::Chat, Script::new().step(step)).await;
            let client = open(&server, streamed, Wire::Chat).await;
            server.arrived(0).await.unwrap();
            drop(client);
            assert_eq!(server.aborted(0).await.unwrap().outcome, Outcome::Aborted, "{moment:?}");
        }
    }
}

#[tokio::test]
async fn who_reads_everything_has_not_aborted() {
    let server = start(Wire::Chat, Script::new().last(Reply::new().text("a b c d e f g h"))).await;
    for index in 0..50 {
        let mut client = open(&server, true, Wire::Chat).await;
        client.read_until("[DONE]").await;
        drop(client);
        assert_eq!(server.ended(index).await.unwrap().outcome, Outcome::Answered);
    }
}

#[tokio::test]
async fn a_dropped_server_ends_what_is_under_way() {
    let step = Step::reply(Reply::new()).wait(Moment::Headers, &Gate::new());
    let server = start(Wire::Chat, Script::new().last(step)).await;
    let address = server.address();
    let client = open(&server, true, Wire::Chat).await;
    server.arrived(0).await.unwrap();
    drop(server);
    assert!(client.answer().await.is_none());
    eventually(LONG, "the port is closed", || std::net::TcpStream::connect(address).is_err()).await.unwrap();
}

#[tokio::test]
async fn a_connection_can_be_used_again_and_http_1_0_reads_to_the_end() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let server = start(Wire::Chat, Script::new().last(Reply::new().text("3."))).await;
    let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let body = question(Wire::Chat, true).1.to_string();
    let chunked = format!(
        "POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let old = format!("POST /v1/chat/completions HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all((chunked + &old).as_bytes()).await.unwrap();
    let mut seen = String::new();
    stream.read_to_string(&mut seen).await.unwrap();
    assert_eq!(seen.matches("HTTP/1.1 200 OK").count(), 2, "{seen}");
    assert!(seen.ends_with("data: [DONE]\n\n"), "{seen}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn many_requests_take_one_step_each() {
    let mut script = Script::new();
    for number in 0..40 {
        script = script.reply(Reply::new().text(number.to_string()));
    }
    let server = std::sync::Arc::new(start(Wire::Chat, script).await);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let server = std::sync::Arc::clone(&server);
        asking.spawn(async move {
            text(&ask(&server, Wire::Chat, false).await.json()).as_str().unwrap().parse::<u32>().unwrap()
        });
    }
    let mut said = asking.join_all().await;
    said.sort_unstable();
    assert_eq!(said, (0..40).collect::<Vec<u32>>());
}

/// A request of each wire that offers `math_add`, and one that also brings a result.
fn conversation(wire: Wire) -> (Value, Value) {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3}, "unit": {"enum": ["m", "s"]}, "note": {"type": "string"}},
        "required": ["a", "unit"],
    });
    let mut body = question(wire, false).1;
    let function = json!({"name": "math_add", "parameters": schema});
    let mut later = |key: &str, offer: Value, messages: &str, more: Vec<Value>| {
        body[key] = offer;
        let mut later = body.clone();
        later[messages].as_array_mut().unwrap().extend(more);
        later
    };
    let later = match wire {
        Wire::Converse => {
            body["toolConfig"] =
                json!({"tools": [{"toolSpec": {"name": "math_add", "inputSchema": {"json": schema}}}]});
            let result = json!({"toolUseId": "t", "content": [{"text": "4"}, {"json": 2}]});
            let mut later = body.clone();
            later["messages"]
                .as_array_mut()
                .unwrap()
                .push(json!({"role": "user", "content": [{"toolResult": result}]}));
            later
        }
        Wire::Chat | Wire::Dial | Wire::Argo | Wire::Ollama | Wire::Mistral | Wire::Cohere => later(
            "tools",
            json!([{"type": "function", "function": function}]),
            "messages",
            vec![json!({"role": "tool", "content": "42"})],
        ),
        Wire::Functions => later(
            "functions",
            json!([function]),
            "messages",
            vec![json!({"role": "function", "name": "math_add", "content": "42"})],
        ),
        Wire::Responses => later(
            "tools",
            json!([{"type": "function", "name": "math_add", "parameters": schema}]),
            "input",
            vec![json!({"type": "function_call_output", "call_id": "c", "output": "42"})],
        ),
        Wire::Messages => later(
            "tools",
            json!([{"name": "math_add", "input_schema": schema}]),
            "messages",
            vec![
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "42"}]}]}),
            ],
        ),
        Wire::GenerateContent => later(
            "tools",
            json!([{"functionDeclarations": [function]}]),
            "contents",
            vec![
                json!({"role": "user", "parts": [{"functionResponse": {"name": "math_add", "response": {"output": "42"}}}]}),
            ],
        ),
    };
    (body, later)
}

#[tokio::test]
async fn a_behaviour_calls_the_tool_and_answers_with_its_result() {
    for wire in Wire::ALL.iter().copied() {
        let server = start(wire, Script::new().last(Behaviour::CallToolOnce("add".to_owned()))).await;
        let (first, second) = conversation(wire);
        let call = ask_with(&server, wire, false, &first).await;
        // As text in JSON, or as JSON.
        let called = call.text().replace('\\', "");
        assert!(
            called.contains("math_add") && called.contains(r#"{"a":4,"unit":"m"}"#),
            "{}: {called}",
            wire.name()
        );
        let answer = ask_with(&server, wire, false, &second).await;
        assert!(
            answer.text().contains("\"42\"") && !answer.text().contains("math_add"),
            "{}: {}",
            wire.name(),
            answer.text()
        );
        assert_eq!(server.requests()[1].last_result().as_deref(), Some("42"), "{}", wire.name());
    }
}

#[tokio::test]
async fn a_behaviour_can_call_for_ever_or_find_nothing() {
    let server = start(Wire::Chat, Script::new().last(Behaviour::CallTool("add".to_owned()))).await;
    let (_, later) = conversation(Wire::Chat);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let answer = ask_with(&server, Wire::Chat, false, &later).await.json();
        ids.push(answer["choices"][0]["message"]["tool_calls"][0]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids, ["call00000", "call00001", "call00002"]);
    let none = ask(&server, Wire::Chat, false).await.json();
    assert_eq!(text(&none), "No tool is called add.");
    let server = start(Wire::Chat, Script::new().last(Behaviour::EchoResult)).await;
    assert_eq!(text(&ask(&server, Wire::Chat, false).await.json()), "There is no result.");
}

#[test]
fn examples_follow_the_schema() {
    for (schema, value) in [
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "null"}}}),
            json!({"a": true, "b": null}),
        ),
        (json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "NUMBER"}}}), json!(1)),
        (json!({"type": "array", "items": {"const": 7}, "minItems": 2}), json!([7, 7])),
        (json!({"anyOf": [{"type": "string", "minLength": 6}]}), json!("textte")),
        (json!({"type": ["string", "null"]}), json!("text")),
        (json!({"$ref": "#"}), Value::Null),
    ] {
        assert_eq!(example(&schema), value, "{schema}");
    }
}

#[tokio::test]
async fn what_is_no_http_or_no_json_is_refused() {
    let server: ModelServer = start(Wire::Chat, Script::new().last(Reply::new())).await;
    let client = Client::send(server.address(), "POST /v1/chat/completions", &[], "{oops").await.unwrap();
    let answer = client.answer().await.unwrap();
    assert_eq!(
        (answer.status, answer.json()["error"]["type"].as_str()),
        (400, Some("invalid_request_error"))
    );
    let client = Client::send(server.address(), "nonsense\r\n", &[], "").await.unwrap();
    assert!(client.answer().await.is_none());
    assert_eq!(server.requests()[0].body, Value::Null);
}
