//! Requests that need nothing of the gateway.

use bytes::Bytes;
use futures_util::StreamExt as _;
use gateway_agent::completions::{Completion, CompletionError, Proxied};
use gateway_agent::{AgentError, ModelFailure};
use gateway_config::Secret;
use gateway_runtime::context::RequestContext;
use gateway_testkit::models::{Fault, ModelServer, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, headers, question, spec};

/// Wires whose API takes requests as callers write them.
const PROXIED: [Wire; 3] = [Wire::Chat, Wire::Dial, Wire::Argo];

async fn proxied(gateway: &Gateway, body: impl Into<Bytes>) -> Result<Proxied, CompletionError> {
    proxied_with(gateway, body, []).await
}

async fn proxied_with<const COUNT: usize>(
    gateway: &Gateway,
    body: impl Into<Bytes>,
    sent: [(&'static str, &str); COUNT],
) -> Result<Proxied, CompletionError> {
    let context = RequestContext::new(None);
    let headers = headers(sent.into_iter().chain([("x-gateway-tools", "none")]));
    match gateway.completions.complete(body.into(), &headers, context).await? {
        Completion::Proxied(proxied) => Ok(proxied),
        Completion::Whole(_) | Completion::Stream(_) => panic!("not passed on"),
    }
}

async fn whole(proxied: Proxied) -> String {
    let pieces: Vec<Bytes> = proxied.body.map(Result::unwrap).collect().await;
    String::from_utf8(pieces.concat()).unwrap()
}

/// A server that answers with these bytes.
async fn raw(wire: Wire, status: u16, content_type: &str, body: &str) -> ModelServer {
    let script = Script::new().last(Step::raw(status, content_type, body.to_owned()));
    ModelServer::start(wire, script).await.unwrap()
}

#[tokio::test]
async fn every_byte_of_a_request_stays_but_the_name_of_the_model() {
    let body = |model: &str| {
        format!(
            "{{ \"messages\" : [ {{\"role\":\"user\",\"content\":\"\\u0048i \\/ \"}} ],\n \"model\":\t\"{model}\" ,\"x_new\":{{\"b\":1.50,\"a\":1e2}},\
             \"seed\":12345678901234567890123, \"tools\" : [], \"stream\":false}}"
        )
    };
    for wire in PROXIED {
        let server = raw(wire, 200, "application/json", "{}").await;
        let answer = proxied(&Gateway::over(wire, &server), body("m")).await.unwrap();
        assert_eq!(answer.status, 200);
        let sent = server.requests().pop().unwrap();
        assert_eq!(String::from_utf8_lossy(&sent.raw), body(wire.usual_model()), "{wire:?}");
    }
}

#[tokio::test]
async fn a_request_without_a_model_gets_the_usual_one() {
    let server = raw(Wire::Chat, 200, "application/json", "{}").await;
    proxied(&Gateway::over(Wire::Chat, &server), r#"{"messages":[]}"#).await.unwrap();
    assert_eq!(server.requests().pop().unwrap().body, json!({"messages": [], "model": "gpt-4o"}));
}

#[tokio::test]
async fn answers_pass_byte_for_byte() {
    let answer = "{\"id\" : \"x\",\"choices\":[ {\"a\":1.0} ], \"new\":{}}\n";
    let events = ": hi\r\n\r\ndata: {\"choices\":[]}\r\n\r\ndata: {\"odd\":1}\r\n\r\ndata: [DONE]\r\n\r\n";
    for (content_type, body) in [("application/json", answer), ("text/event-stream; charset=utf-8", events)] {
        let server = raw(Wire::Chat, 200, content_type, body).await;
        let passed = proxied(&Gateway::over(Wire::Chat, &server), question(true).to_string()).await.unwrap();
        assert_eq!(passed.headers["content-type"], content_type);
        assert_eq!(whole(passed).await, body);
    }
}

#[tokio::test]
async fn streams_with_calls_of_the_caller_pass_as_they_are() {
    let reply = Reply::new().text("Hm.").call("call_1", "lookup", json!({"key": "x"}));
    let script = Script::new().last(reply);
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut body = question(true);
    body["tools"] =
        json!([{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}]);
    let first = whole(proxied(&gateway, body.to_string()).await.unwrap()).await;
    assert!(first.contains("\"lookup\"") && first.ends_with("data: [DONE]\n\n"), "{first}");
    assert_eq!(gateway.calls(), 0);
}

#[tokio::test]
async fn headers_of_the_answer_pass_only_where_they_are_for_the_caller() {
    let script = Script::new().step(Step::fault(Fault::RateLimitedSeconds).retry_after(7));
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let answer = proxied(&Gateway::over(Wire::Chat, &server), question(false).to_string()).await.unwrap();
    let mut names: Vec<&str> = answer.headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["content-type", "retry-after", "x-request-id"]);
    assert_eq!(answer.headers["retry-after"], "7");
}

#[tokio::test]
async fn refusals_pass_as_they_are() {
    let body = "{\"error\" : {\"message\":\"No.\",\"type\":\"x\",\"new\":[1]}}";
    // What another request would not change is not repeated.
    for (status, retries) in [(400, 3), (401, 3), (404, 3), (422, 3), (429, 0), (500, 0), (503, 0)] {
        let server = raw(Wire::Chat, status, "application/json", body).await;
        let gateway = Gateway::with(Wire::Chat, &server, |config| config.models[0].retries = retries);
        let answer = proxied(&gateway, question(false).to_string()).await.unwrap();
        assert_eq!(answer.status, status);
        assert_eq!(whole(answer).await, body, "{status}");
        assert_eq!(server.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn what_passes_by_is_tried_again_before_the_first_byte() {
    let script = Script::new()
        .step(Step::fault(Fault::RateLimitedSeconds).retry_after(0))
        .step(Step::fault(Fault::RateLimitedSeconds).retry_after(0))
        .reply(Reply::new().text("42."));
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let gateway = Gateway::with(Wire::Chat, &server, |config| config.models[0].retries = 2);
    let answer = proxied(&gateway, question(true).to_string()).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(whole(answer).await.ends_with("data: [DONE]\n\n"));
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0].raw, requests[2].raw, "the same request again");
}

/// A gateway whose model `m` is at one server, and its fallback at another.
fn with_fallback(first: &ModelServer, (wire, second): (Wire, &ModelServer)) -> Gateway {
    Gateway::with(Wire::Chat, first, |config| {
        config.models[0].fallbacks = vec!["m2".to_owned()];
        config.models.push(spec("m2", wire, second));
    })
}

#[tokio::test]
async fn the_next_model_is_asked_where_one_gives_no_answer() {
    let body = "{\"choices\": [ ]}";
    for fault in
        [Fault::Unavailable, Fault::ServerError, Fault::ClosedBeforeHeaders, Fault::ConnectionRefused]
    {
        let first = ModelServer::start(Wire::Chat, Script::new().fault(fault)).await.unwrap();
        let second = raw(Wire::Chat, 200, "application/json", body).await;
        let gateway = with_fallback(&first, (Wire::Chat, &second));
        let answer = proxied(&gateway, question(false).to_string()).await.unwrap();
        assert_eq!((answer.status, whole(answer).await.as_str()), (200, body), "{fault:?}");
    }
    // A refusal is an answer, and of two that give none the last one's passes.
    for (status, expected, asked) in [(400, 400, 0), (503, 429, 1)] {
        let first = raw(Wire::Chat, status, "application/json", "{}").await;
        let second = raw(Wire::Chat, 429, "application/json", "{}").await;
        let gateway = with_fallback(&first, (Wire::Chat, &second));
        assert_eq!(proxied(&gateway, question(false).to_string()).await.unwrap().status, expected);
        assert_eq!(second.requests().len(), asked);
    }
}

#[tokio::test]
async fn a_fallback_of_another_api_is_asked_by_the_loop() {
    let first = ModelServer::start(Wire::Chat, Script::new().fault(Fault::Unavailable)).await.unwrap();
    let second =
        ModelServer::start(Wire::Messages, Script::new().last(Reply::new().text("42."))).await.unwrap();
    let gateway = with_fallback(&first, (Wire::Messages, &second));
    let answer = gateway.whole(&question(false), Some("none")).await.unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "42.");
    assert_eq!(answer["model"], "m2");
}

#[tokio::test]
async fn statuses_that_are_nothing_for_a_caller_are_errors() {
    for status in [304, 307, 600, 999] {
        let server = raw(Wire::Chat, status, "application/json", "").await;
        let error = proxied(&Gateway::over(Wire::Chat, &server), question(false).to_string()).await.map(drop);
        let Err(CompletionError::Agent(AgentError::Model(error))) = error else { panic!("{error:?}") };
        assert!(
            matches!(error.failure, ModelFailure::Status { status: given, .. } if given == status),
            "{error}"
        );
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = ModelServer::start(Wire::Chat, Script::new().fault(Fault::Redirect)).await.unwrap();
    let error = proxied(&Gateway::over(Wire::Chat, &server), question(false).to_string()).await.map(drop);
    let Err(CompletionError::Agent(AgentError::Model(error))) = error else { panic!("{error:?}") };
    let address = format!("(asked {}/chat/completions)", server.url());
    assert!(error.to_string().contains("answered 307: ") && error.to_string().ends_with(&address), "{error}");
    assert_eq!(server.redirected(), []);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error() {
    let script = Script::new().fault(Fault::ConnectionRefused);
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let error = proxied(&Gateway::over(Wire::Chat, &server), question(false).to_string()).await.map(drop);
    let Err(CompletionError::Agent(AgentError::Model(error))) = error else { panic!("{error:?}") };
    assert!(matches!(error.failure, ModelFailure::Connection(_)), "{error}");
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_and_its_last_event() {
    for fault in [Fault::ClosedInChunk, Fault::ClosedInArguments] {
        let server = ModelServer::start(Wire::Chat, Script::new().fault(fault)).await.unwrap();
        let answer = proxied(&Gateway::over(Wire::Chat, &server), question(true).to_string()).await.unwrap();
        let text = whole(answer).await;
        let events: Vec<&str> = text.trim_end().split("\n\n").collect();
        let [.., error, "data: [DONE]"] = events.as_slice() else { panic!("{fault:?}: {text}") };
        let error: Value = serde_json::from_str(error.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(error["error"]["code"], "model_unreachable", "{fault:?}: {error}");
    }
}

#[tokio::test]
async fn a_stream_without_a_last_event_gets_one() {
    let chunk = |reason: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":{reason}}}]}}")
    };
    let done = "data: [DONE]\n\n";
    let early = "data: {\"error\":{\"message\":\"model `m`: the stream ended before the reply did\",\"type\":\"server_error\",\
                 \"param\":null,\"code\":\"model_unreachable\"}}\n\n";
    for (sent, added) in [
        (format!("{}\n\n{done}", chunk("null")), String::new()),
        (format!("{}\n\ndata:[DONE]", chunk("null")), String::new()),
        // Complete, only that its server has no such event.
        (format!("{}\n\n", chunk("\"stop\"")), done.to_owned()),
        (chunk("\"stop\""), format!("\n\n{done}")),
        (format!("{}\r\n\r\n", chunk("null")), format!("{early}{done}")),
        (format!("{}\n\ndata: {{\"cho", chunk("null")), format!("\n\n{early}{done}")),
        (String::new(), format!("{early}{done}")),
    ] {
        let server = raw(Wire::Chat, 200, "text/event-stream", &sent).await;
        let answer = proxied(&Gateway::over(Wire::Chat, &server), question(true).to_string()).await.unwrap();
        let text = whole(answer).await;
        let (before, after) = text.split_at(sent.len());
        assert_eq!(before, sent);
        let sorted = |text: &str| {
            let events = text.split("\n\n").map(|event| {
                let data = event.strip_prefix("data: ").unwrap_or(event);
                serde_json::from_str::<Value>(data)
                    .map_or_else(|_| data.to_owned(), |value| value.to_string())
            });
            events.collect::<Vec<_>>()
        };
        assert_eq!(sorted(after), sorted(&added), "{sent}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_and_is_no_stream_is_an_error_in_the_body() {
    let server = ModelServer::start(Wire::Chat, Script::new().fault(Fault::ClosedInChunk)).await.unwrap();
    let answer = proxied(&Gateway::over(Wire::Chat, &server), question(false).to_string()).await.unwrap();
    let pieces: Vec<Result<Bytes, String>> = answer.body.collect().await;
    assert!(pieces.last().unwrap().is_err(), "{pieces:?}");
}

#[tokio::test]
async fn other_apis_hand_the_callers_calls_back() {
    let lookup = json!({"type": "function", "function": {"name": "lookup", "description": "Looks up",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}}});
    for wire in Wire::OF_AGENT.iter().copied().filter(|wire| !PROXIED.contains(wire)) {
        for tools in [None, Some("none")] {
            let reply = Reply::new().text("Hm.").call("call00001", "lookup", json!({"key": "x"}));
            let server = ModelServer::start(wire, Script::new().last(reply)).await.unwrap();
            let gateway = Gateway::over(wire, &server);
            let mut request = question(false);
            request["tools"] = json!([lookup]);
            let answer = gateway.whole(&request, tools).await.unwrap();
            let message = &answer["choices"][0]["message"];
            let function = &message["tool_calls"][0]["function"];
            assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls", "{wire:?}");
            assert_eq!(
                (&message["content"], &function["name"]),
                (&json!("Hm."), &json!("lookup")),
                "{wire:?}"
            );
            let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
            assert_eq!(arguments, json!({"key": "x"}), "{wire:?}");
            let names: Vec<String> = server.requests()[0].tools().into_iter().map(|tool| tool.name).collect();
            assert_eq!(names, ["lookup"], "{wire:?}: none of the gateway's");
        }
    }
}

#[tokio::test]
async fn only_headers_of_the_list_reach_the_api_and_configured_ones_win() {
    let server = raw(Wire::Chat, 200, "application/json", "{}").await;
    let gateway = Gateway::with(Wire::Chat, &server, |config| {
        config.models[0].api_key = Some(Secret::new("sk-of-the-gateway"));
        config.models[0].headers.insert("openai-project".to_owned(), Secret::new("configured"));
    });
    let sent = [
        ("authorization", "Bearer of-the-caller"),
        ("cookie", "session=1"),
        ("x-api-key", "of-the-caller"),
        ("x-forwarded-for", "10.0.0.1"),
        ("x-gateway-continue", ""),
        ("openai-organization", "org-1"),
        ("openai-project", "of-the-caller"),
        ("openai-beta", "assistants=v2"),
        ("idempotency-key", "abc"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("tracestate", "a=1"),
        ("user-agent", "OpenAI/Python 3.51.0"),
        ("x-request-id", "r-1"),
        ("x-stainless-lang", "python"),
    ];
    proxied_with(&gateway, question(false).to_string(), sent).await.unwrap();
    let request = server.requests().pop().unwrap();
    let names = sent.map(|(name, _)| (name, request.header(name)));
    let expected = [
        ("authorization", Some("Bearer sk-of-the-gateway")),
        ("cookie", None),
        ("x-api-key", None),
        ("x-forwarded-for", None),
        ("x-gateway-continue", None),
        ("openai-organization", Some("org-1")),
        ("openai-project", Some("configured")),
        ("openai-beta", Some("assistants=v2")),
        ("idempotency-key", Some("abc")),
        ("traceparent", Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
        ("tracestate", Some("a=1")),
        ("user-agent", Some("OpenAI/Python 3.51.0")),
        ("x-request-id", Some("r-1")),
        ("x-stainless-lang", Some("python")),
    ];
    assert_eq!(names, expected);
    assert_eq!(request.header("x-gateway-tools"), None);
}

#[tokio::test]
async fn an_error_that_repeats_the_key_passes_without_it() {
    let key = "sk-proj-0123456789abcdef";
    let body =
        |key: &str| format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {key}.\"}} }}\n");
    let server = raw(Wire::Chat, 401, "application/json", &body(key)).await;
    let gateway = Gateway::with(Wire::Chat, &server, |config| {
        config.models[0].api_key = Some(Secret::new(key));
    });
    let answer = proxied(&gateway, question(false).to_string()).await.unwrap();
    assert_eq!(answer.status, 401);
    let text = whole(answer).await;
    assert!(
        !text.contains(key) && text.starts_with("{\"error\": {\"message\": \"Incorrect API key provided: "),
        "{text}"
    );
    assert!(text.ends_with(".\"} }\n"), "{text}");
}

#[tokio::test]
async fn a_key_that_is_escaped_or_cut_is_hidden_too() {
    let key = "sk/proj+0123456789\\abcdef";
    let escaped = r"sk\/proj\u002b0123456789\\abcdef";
    let percent = "sk%2Fproj%2B0123456789%5Cabcdef";
    let cut = format!("{}{key}", " ".repeat((64 << 10) - 20));
    for said in [escaped, percent, key, &cut] {
        let body = format!("{{\"error\":{{\"message\":\"No: {said}\"}}}}");
        let server = raw(Wire::Chat, 401, "application/json", &body).await;
        let gateway = Gateway::with(Wire::Chat, &server, |config| {
            config.models[0].api_key = Some(Secret::new(key));
        });
        let text = whole(proxied(&gateway, question(false).to_string()).await.unwrap()).await;
        assert!(!text.contains("proj") && !text.contains("0123"), "{}", text.trim());
        let error = gateway.whole(&question(false), None).await.unwrap_err().body().to_string();
        assert!(!error.contains("proj") && !error.contains("0123"), "{}", error.trim());
    }
}

#[tokio::test]
async fn a_history_with_ids_of_ours_is_put_together_and_not_passed_on() {
    let lookup =
        json!({"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}});
    let mixed = Reply::new().call("a1", "add", json!({"a": 1, "b": 2})).call("b1", "lookup", json!({}));
    let server =
        ModelServer::start(Wire::Chat, Script::new().reply(mixed).last(Reply::new().text("Done."))).await;
    let server = server.unwrap();
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut request = question(false);
    request["tools"] = json!([lookup]);
    let first = gateway.whole(&request, Some("auto")).await.unwrap();
    let message = first["choices"][0]["message"].clone();
    let id = &message["tool_calls"][0]["id"];
    let result = json!({"role": "tool", "tool_call_id": id, "content": "found"});
    request["messages"] = json!([request["messages"][0], message, result]);
    // The caller did not send the header again.
    let second = gateway.whole(&request, None).await.unwrap();
    assert_eq!(second["choices"][0]["message"]["content"], "Done.");
    let sent = server.requests().pop().unwrap().body;
    let roles: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(sent["messages"][1]["tool_calls"].as_array().unwrap().len(), 2);
}
