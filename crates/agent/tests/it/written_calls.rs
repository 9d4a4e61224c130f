//! Models that write their calls as text.

use gateway_config::ServiceConfig;
use gateway_testkit::models::{Delivery, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, gateway_member, joined, spec, strict_model};

const FENCE: &str = "```json\n{\"name\": \"add\", \"arguments\": {\"a\": 15, \"b\": 27}}\n```";

fn question(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "What is 15 plus 27?"}]})
}

/// A gateway over a model whose text is read as `text` says; by its family if `None`.
fn gateway(
    wire: Wire,
    server: &gateway_testkit::models::ModelServer,
    model: &str,
    text: Option<&str>,
) -> Gateway {
    let mut entry = spec("m", wire, server);
    entry.model = Some(model.to_owned());
    entry.text = text.map(|word| vec![word.to_owned()]);
    let mut config = ServiceConfig::default();
    config.models = vec![entry];
    Gateway::new(config)
}

#[tokio::test]
async fn a_call_in_the_text_runs_and_its_result_is_text() {
    for wire in [Wire::Chat, Wire::Ollama, Wire::Messages] {
        for (model, text) in
            [("qwen2.5-coder:1.5b", None), ("my-own", Some("auto")), ("my-own", Some("fenced-json"))]
        {
            let script = Script::new()
                .step(
                    Step::reply(Reply::new().text(format!("I add.\n{FENCE}")))
                        .delivered(Delivery::single_bytes()),
                )
                .reply(Reply::new().text("42."));
            let server = strict_model(wire, script).await;
            let gateway = gateway(wire, &server, model, text);
            let chunks = gateway.streamed(&question(true), None).await.unwrap();
            assert_eq!(
                joined(&chunks, "content").replace("\n\n", "|").replace('\n', ""),
                "I add.|42.",
                "{wire:?} {model}"
            );
            let requests = server.requests();
            assert_eq!(requests.len(), 2, "{wire:?} {model} {text:?}");
            let second = requests[1].body["messages"].as_array().unwrap();
            let said = second[second.len() - 2].to_string();
            let answered = second[second.len() - 1].to_string();
            assert!(said.contains(r#"```json\n{\"name\": \"add\""#), "byte for byte: {said}");
            assert!(answered.contains("\"user\"") && answered.contains("42"), "{answered}");
            assert!(!requests[1].body.to_string().contains("tool_calls"), "nothing native");
        }
    }
}

#[tokio::test]
async fn nothing_is_read_unless_the_model_writes_calls() {
    for (model, text) in [("gpt-4o", None), ("qwen2.5-coder:1.5b", Some("off"))] {
        let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text(FENCE))).await;
        let gateway = gateway(Wire::Chat, &server, model, text);
        let whole = gateway.whole(&question(false), None).await.unwrap();
        assert_eq!(whole["choices"][0]["message"]["content"], FENCE, "{model}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_looks_like_a_call_is_reported_where_nobody_said_whether_it_is_one() {
    let hermes = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 15, \"b\": 27}}\n</tool_call>";
    let prose = format!("{FENCE}\nThat is how one would call it.");
    let notice = "the answer of model `m` looks like a call of `add`, which was not made; if the model writes its calls as text, \
                  set `models.m.text` to \"auto\"";
    for (answer, text, expected) in [
        (FENCE, None, json!([notice])),
        (hermes, None, json!([notice])),
        (FENCE, Some("off"), Value::Null),
        (prose.as_str(), None, Value::Null),
        ("{\"name\": \"add\", \"arguments\": {\"a\": 15}}", None, Value::Null),
        ("{\"name\": \"no_tool\", \"arguments\": {}}", None, Value::Null),
        ("It is 42.", None, Value::Null),
    ] {
        for stream in [false, true] {
            let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text(answer))).await;
            let member = gateway_member(&gateway(Wire::Chat, &server, "local-model", text), stream).await;
            assert_eq!(member["notices"], expected, "{answer}");
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn models_that_are_only_called_qwen_write_calls() {
    for model in ["qwen", "qwen.gguf", "qwen:latest"] {
        let script = Script::new().reply(Reply::new().text(FENCE)).reply(Reply::new().text("42."));
        let server = strict_model(Wire::Chat, script).await;
        gateway(Wire::Chat, &server, model, None).whole(&question(false), None).await.unwrap();
        assert_eq!(server.requests().len(), 2, "{model}");
    }
}

#[tokio::test]
async fn results_of_written_calls_are_no_request_of_the_user() {
    let call =
        |a: u64| format!("```json\n{{\"name\": \"add\", \"arguments\": {{\"a\": {a}, \"b\": 27}}}}\n```");
    let script = Script::new()
        .reply(Reply::new().text(call(15)))
        .reply(Reply::new().text(call(16)))
        .reply(Reply::new().text("43."));
    let server = strict_model(Wire::Chat, script).await;
    let mut config = ServiceConfig::default();
    config.agent.rounds = 1;
    config.models = vec![spec("m", Wire::Chat, &server)];
    config.models[0].model = Some("qwen2.5-coder:1.5b".to_owned());
    let gateway = Gateway::new(config);
    let mut request = question(false);
    for _ in 0..2 {
        let whole = gateway.whole(&request, None).await.unwrap();
        request["gateway"] = json!({"continue": whole["gateway"]["continuation"]});
    }
    gateway.whole(&request, None).await.unwrap();
    let messages = server.requests()[2].body["messages"].clone();
    let asked: Vec<bool> = messages
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_str())
        .filter(|text| text.contains("Is all of this done now"))
        .map(|text| {
            text.contains("</tool_response>\n\nIs all of this done now: \"What is 15 plus 27?\"?")
                && text.matches("done now").count() == 1
        })
        .collect();
    assert_eq!(asked, [true, true], "{messages}");
}

#[tokio::test]
async fn prose_behind_a_call_makes_it_an_example() {
    let text = format!("{FENCE}\nThat is how one would call it.");
    let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text(&*text))).await;
    let gateway = gateway(Wire::Chat, &server, "qwen2.5-coder:1.5b", None);
    let whole = gateway.whole(&question(false), None).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], text);
    assert_eq!(whole["gateway"]["calls"], json!([]));
}

#[tokio::test]
async fn wrong_arguments_are_answered_with_what_is_wrong() {
    let wrong = "{\"name\": \"add\", \"arguments\": {\"a\": 15}}";
    let script = Script::new()
        .reply(Reply::new().text(wrong))
        .reply(Reply::new().text(FENCE))
        .reply(Reply::new().text("42."));
    let server = strict_model(Wire::Chat, script).await;
    let gateway = gateway(Wire::Chat, &server, "qwen2.5-coder:1.5b", None);
    let whole = gateway.whole(&question(false), None).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "42.", "{whole}");
    let second = server.requests()[1].body["messages"].to_string();
    assert!(second.contains('b') && second.to_lowercase().contains("required"), "{second}");
    let codes: Vec<&Value> =
        whole["gateway"]["calls"].as_array().unwrap().iter().map(|call| &call["code"]).collect();
    assert_eq!(codes, [&json!("VALIDATION_ERROR"), &Value::Null]);
}

#[tokio::test]
async fn several_calls_are_answered_in_their_order() {
    let two = "{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n{\"name\": \"multiply\", \"arguments\": {\"a\": 3, \"b\": 4}}";
    let server = strict_model(
        Wire::Chat,
        Script::new().reply(Reply::new().text(two)).reply(Reply::new().text("Done.")),
    )
    .await;
    let gateway = gateway(Wire::Chat, &server, "qwen2.5-coder:1.5b", None);
    let whole = gateway.whole(&question(false), None).await.unwrap();
    assert_eq!(whole["gateway"]["calls"].as_array().unwrap().len(), 2);
    let body = &server.requests()[1].body;
    let text = body["messages"][2]["content"].as_str().unwrap();
    let (sum, product) = (text.find("result\":3,"), text.find("result\":12,"));
    assert!(sum.is_some() && sum < product, "{text}");
}

#[tokio::test]
async fn behind_results_stands_what_is_left_to_do_and_then_the_answer() {
    const REST: &str = "If not, call the next function. If so, answer with the values of the results.";
    const LATER: &str = "Answer my request from these results in a sentence. Call another function only if something is still missing.";
    let result = |text: &str| {
        format!(
            "<tool_response>\n{{\"result\":42,\"operation\":\"add\",\"a\":15,\"b\":27}}\n</tool_response>\n\n{text}"
        )
    };
    for (request, first) in [
        (
            "What is 15 plus 27?".to_owned(),
            format!("Is all of this done now: \"What is 15 plus 27?\"? {REST}"),
        ),
        ("What is 15 plus 27? ".repeat(40), format!("Is all of my request done now? {REST}")),
    ] {
        let script = Script::new()
            .reply(Reply::new().text(FENCE))
            .reply(Reply::new().text(FENCE))
            .reply(Reply::new().text("42."));
        let server = strict_model(Wire::Chat, script).await;
        let gateway = gateway(Wire::Chat, &server, "qwen2.5-coder:1.5b", None);
        let asked = json!({"model": "m", "messages": [{"role": "user", "content": request}]});
        gateway.whole(&asked, None).await.unwrap();
        let messages = server.requests()[2].body["messages"].clone();
        let expected = json!([
            {"role": "user", "content": request},
            {"role": "assistant", "content": FENCE}, {"role": "user", "content": result(&first)},
            {"role": "assistant", "content": FENCE}, {"role": "user", "content": result(LATER)},
        ]);
        assert_eq!(messages, expected);
    }
}

#[tokio::test]
async fn families_without_a_notation_for_results_read_them_in_that_of_the_call() {
    let script = Script::new().reply(Reply::new().text(FENCE)).reply(Reply::new().text("42."));
    let server = strict_model(Wire::Chat, script).await;
    gateway(Wire::Chat, &server, "my-own", Some("fenced-json")).whole(&question(false), None).await.unwrap();
    let text = server.requests()[1].body["messages"][2]["content"].as_str().unwrap().to_owned();
    assert!(text.starts_with("```json\n{\"name\":\"add\",\"status\":\"success\",\"content\":"), "{text}");
}
