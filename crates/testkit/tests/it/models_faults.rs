//! Every fault of a model server does what its name says, on every wire.

use gateway_testkit::models::{Fault, Outcome, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::talk_models::{Answer, Client, ask, get, open, question, start};

async fn fail(wire: Wire, fault: Fault, streamed: bool) -> Answer {
    let server = start(wire, Script::new().fault(fault)).await;
    ask(&server, wire, streamed).await
}

/// The error of each wire, as its provider words it.
fn message(wire: Wire, body: &Value) -> String {
    let text = match wire {
        Wire::Ollama => &body["error"],
        Wire::Mistral | Wire::Cohere | Wire::Converse => body.get("message").unwrap_or(&body["detail"]),
        _ => &body["error"]["message"],
    };
    text.as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

#[tokio::test]
async fn refusals_have_the_status_and_the_body_of_the_provider() {
    for (fault, status, words) in [
        (
            Fault::RateLimited,
            429,
            [
                "Rate limit reached",
                "would exceed the rate limit",
                "exceeded your current quota",
                "too many requests",
                "have exceeded call rate limit",
            ],
        ),
        (
            Fault::ServerError,
            500,
            [
                "The server had an error",
                "Internal server error",
                "An internal error has occurred",
                "model runner has unexpectedly stopped",
                "The server had an error",
            ],
        ),
        (
            Fault::Unavailable,
            503,
            [
                "currently overloaded",
                "Service Unavailable",
                "The model is overloaded",
                "server busy",
                "currently overloaded",
            ],
        ),
        (
            Fault::Overloaded,
            529,
            [
                "currently overloaded",
                "Overloaded",
                "The model is overloaded",
                "server busy",
                "currently overloaded",
            ],
        ),
        (
            Fault::SchemaRefused,
            400,
            [
                "array schema missing items",
                "input_schema does not support oneOf",
                "Unknown name \"const\"",
                "cannot unmarshal array into Go struct field",
                "array schema missing items",
            ],
        ),
        (
            Fault::ToolRefused,
            400,
            [
                "tools[0].function.name",
                "tools.0.custom.name",
                "Invalid function name",
                "invalid tool call name: add",
                "tools[0].function.name",
            ],
        ),
        (
            Fault::Unauthorized,
            401,
            [
                "Incorrect API key provided",
                "invalid x-api-key",
                "invalid authentication credentials",
                "unauthorized",
                "Access denied due to invalid subscription key",
            ],
        ),
        (
            Fault::UnknownModel,
            404,
            [
                "does not exist or you do not have access",
                "model: claude-sonnet-4-5",
                "models/gemini-3-pro is not found",
                "model 'llama3.2' not found",
                "The API deployment for this resource does not exist",
            ],
        ),
        (
            Fault::ContextLength,
            400,
            [
                "maximum context length is 128000 tokens",
                "prompt is too long: 203542 tokens > 200000 maximum",
                "exceeds the maximum number of tokens allowed",
                "exceeds the context length",
                "maximum context length",
            ],
        ),
    ] {
        for wire in Wire::OF_AGENT.iter().copied() {
            let [openai, anthropic, google, ollama, azure] = words;
            let expected = match wire {
                Wire::Messages => anthropic,
                Wire::GenerateContent => google,
                Wire::Ollama => ollama,
                Wire::Dial => azure,
                _ => openai,
            };
            let answer = fail(wire, fault, true).await;
            let text = message(wire, &answer.json());
            assert!(text.contains(expected), "{} {}: {text}", wire.name(), fault.name());
            assert_eq!((answer.status, answer.header("retry-after")), (status, None), "{}", fault.name());
        }
    }
}

#[tokio::test]
async fn refusals_of_mistral_cohere_and_bedrock() {
    for (fault, mistral, cohere, bedrock) in [
        (
            Fault::RateLimited,
            (429, "Rate limit exceeded"),
            (429, "Trial key"),
            (429, "Too many requests", "ThrottlingException"),
        ),
        (
            Fault::ServerError,
            (500, "Internal server error"),
            (500, "internal server error"),
            (500, "unexpected error", "InternalServerException"),
        ),
        (
            Fault::Unavailable,
            (503, "Service unavailable"),
            (503, "service unavailable"),
            (503, "Too many connections", "ServiceUnavailableException"),
        ),
        (
            Fault::SchemaRefused,
            (400, "Invalid tool schema"),
            (400, "no JSON Schema of type object"),
            (400, "must be one of the following: object.", "ValidationException"),
        ),
        (
            Fault::ToolRefused,
            (400, "Function name was add but must be"),
            (400, "add is not a valid name"),
            (400, "regular expression pattern: [a-zA-Z0-9_-]+", "ValidationException"),
        ),
        (
            Fault::Unauthorized,
            (401, "Unauthorized"),
            (401, "invalid api token"),
            (403, "security token", "UnrecognizedClientException"),
        ),
        (
            Fault::UnknownModel,
            (400, "Invalid model: mistral-large-latest"),
            (404, "model 'command-a-03-2025' not found"),
            (400, "model identifier is invalid", "ValidationException"),
        ),
        (
            Fault::ContextLength,
            (400, "maximum context length"),
            (400, "too many tokens"),
            (400, "Input is too long", "ValidationException"),
        ),
    ] {
        let (status, words, exception) = bedrock;
        for (wire, (status, words)) in
            [(Wire::Mistral, mistral), (Wire::Cohere, cohere), (Wire::Converse, (status, words))]
        {
            let answer = fail(wire, fault, true).await;
            let said = message(wire, &answer.json());
            assert!(
                answer.status == status && said.contains(words),
                "{} {}: {} {said}",
                wire.name(),
                fault.name(),
                answer.status
            );
            let named = (wire == Wire::Converse).then_some(exception);
            assert_eq!(answer.header("x-amzn-errortype"), named, "{}", fault.name());
        }
    }
}

#[tokio::test]
async fn errors_have_the_whole_shape() {
    let body = |wire, fault| async move { fail(wire, fault, false).await.json() };
    assert_eq!(
        body(Wire::Chat, Fault::UnknownModel).await,
        json!({"error": {
            "message": "The model `gpt-4o` does not exist or you do not have access to it.",
            "type": "invalid_request_error", "param": null, "code": "model_not_found",
        }})
    );
    assert_eq!(
        body(Wire::Messages, Fault::Overloaded).await,
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_test"})
    );
    let limited = body(Wire::GenerateContent, Fault::RateLimited).await;
    assert_eq!(
        (&limited["error"]["code"], &limited["error"]["status"]),
        (&json!(429), &json!("RESOURCE_EXHAUSTED"))
    );
    assert_eq!(limited["error"]["details"][0]["retryDelay"], "1s");
    assert_eq!(body(Wire::Ollama, Fault::Unauthorized).await, json!({"error": "unauthorized"}));
    assert_eq!(body(Wire::Dial, Fault::Unauthorized).await["error"]["code"], "401");
    assert_eq!(
        body(Wire::Mistral, Fault::UnknownModel).await,
        json!({"object": "error", "message": "Invalid model: mistral-large-latest", "type": "invalid_model", "param": null, "code": "1500", "raw_status_code": 400})
    );
}

#[tokio::test]
async fn a_rate_limit_says_when_to_come_back() {
    let step = |fault| Script::new().step(Step::fault(fault).retry_after(7));
    let server = start(Wire::Chat, step(Fault::RateLimitedSeconds)).await;
    assert_eq!(ask(&server, Wire::Chat, false).await.header("retry-after"), Some("7"));
    let server = start(Wire::Chat, step(Fault::RateLimitedDate)).await;
    let answer = ask(&server, Wire::Chat, false).await;
    let date = answer.header("retry-after").unwrap();
    assert!(date.len() == 29 && date.ends_with(" GMT") && date.as_bytes()[3] == b',', "{date}");
}

#[tokio::test]
async fn a_closed_port_refuses_until_it_is_opened() {
    let script = Script::new()
        .fault(Fault::ConnectionRefused)
        .reply(Reply::new().text("1"))
        .fault(Fault::ConnectionRefused);
    let server = start(Wire::Chat, script.last(Reply::new().text("2"))).await;
    let refused = || async { Client::send(server.address(), "GET /v1/models", &[], "").await.is_none() };
    assert!(refused().await);
    server.reopen().unwrap();
    let first = ask(&server, Wire::Chat, false).await;
    assert_eq!(first.json()["choices"][0]["message"]["content"], "1");
    assert_eq!(first.header("connection"), Some("close"), "a kept connection would survive");
    assert!(refused().await && server.requests().len() == 1);
    server.reopen().unwrap();
    assert_eq!(ask(&server, Wire::Chat, false).await.json()["choices"][0]["message"]["content"], "2");
}

#[tokio::test]
async fn connections_end_where_the_fault_says() {
    for wire in Wire::ALL.iter().copied() {
        for streamed in [false, true] {
            let server = start(wire, Script::new().fault(Fault::ClosedBeforeHeaders)).await;
            assert!(open(&server, streamed, wire).await.answer().await.is_none(), "{}", wire.name());
            assert_eq!(server.ended(0).await.unwrap().outcome, Outcome::Answered);
            for fault in [Fault::ClosedInChunk, Fault::ClosedInArguments, Fault::ContentLengthTooLong] {
                let answer = fail(wire, fault, streamed).await;
                assert!(
                    answer.status == 200 && !answer.complete && !answer.body.is_empty(),
                    "{} {}",
                    wire.name(),
                    fault.name()
                );
            }
            // Half a body: what follows it is no answer.
            let short = fail(wire, Fault::ContentLengthTooShort, streamed).await;
            assert!(
                short.complete && serde_json::from_slice::<Value>(&short.body).is_err(),
                "{}",
                wire.name()
            );
        }
    }
    let cut = fail(Wire::Chat, Fault::ClosedInArguments, true).await;
    assert!(
        cut.text().contains(r#""name":"add""#) && !cut.text().contains("finish_reason\":\"tool_calls"),
        "{}",
        cut.text()
    );
}

#[tokio::test]
async fn streams_break_as_the_fault_says() {
    for (wire, end, error) in [
        (
            Wire::Chat,
            "\"finish_reason\":\"tool_calls\"",
            r#"data: {"error":{"message":"The server had an error"#,
        ),
        (
            Wire::Responses,
            "response.completed",
            "event: error\ndata: {\"type\":\"error\",\"sequence_number\":5,\"code\":\"server_error\"",
        ),
        (
            Wire::Messages,
            "message_stop",
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        ),
        (Wire::GenerateContent, "\"finishReason\"", r#"data: {"error":{"code":500,"#),
        (Wire::Ollama, "\"done\":true", r#"{"error":"an error was encountered while running the model"#),
        (Wire::Mistral, "\"finish_reason\":\"tool_calls\"", r#"data: {"object":"error","message":"Internal"#),
        (Wire::Cohere, "\"TOOL_CALL\"", r#""finish_reason":"ERROR","error":"internal server error""#),
    ] {
        let whole = ask(&start(wire, Script::new().step(usual())).await, wire, true).await;
        assert!(whole.text().contains(end), "{}: {}", wire.name(), whole.text());
        let ended = fail(wire, Fault::NoTerminalEvent, true).await;
        assert!(
            ended.complete && !ended.text().contains(end) && whole.text().starts_with(ended.text()),
            "{}",
            wire.name()
        );
        let spoiled = fail(wire, Fault::ErrorEvent, true).await;
        assert!(
            spoiled.status == 200 && spoiled.complete && !spoiled.text().contains(end),
            "{}",
            wire.name()
        );
        assert!(spoiled.text().contains(error), "{}: {}", wire.name(), spoiled.text());
        let malformed = fail(wire, Fault::MalformedJson, true).await;
        assert!(malformed.complete && malformed.text().contains(end), "{}", wire.name());
        let broken = if wire == Wire::Ollama {
            malformed.text().lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count()
        } else {
            let events = malformed.events();
            events
                .iter()
                .filter(|(_, data)| data != "[DONE]" && serde_json::from_str::<Value>(data).is_err())
                .count()
        };
        assert_eq!(broken, 1, "{}", wire.name());
    }
}

fn usual() -> Step {
    Step::reply(Reply::new().text("Let me add these two.").call("call_1", "add", json!({"a": 15, "b": 27})))
}

#[tokio::test]
async fn bodies_are_not_what_they_should_be() {
    for streamed in [false, true] {
        let page = fail(Wire::Chat, Fault::Html, streamed).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html")));
        assert!(page.text().starts_with("<!DOCTYPE html>"));
        assert_eq!(fail(Wire::Chat, Fault::HtmlBadGateway, streamed).await.status, 502);
        let empty = fail(Wire::Chat, Fault::EmptyBody, streamed).await;
        assert!(empty.status == 200 && empty.complete && empty.body.is_empty());
        let plain = fail(Wire::Chat, Fault::WrongContentType, streamed).await;
        assert_eq!(plain.header("content-type"), Some("text/plain"));
        assert!(plain.text().contains("add"));
        let garbage = fail(Wire::Chat, Fault::GzipGarbage, streamed).await;
        assert_eq!(garbage.header("content-encoding"), Some("gzip"));
        assert_eq!(garbage.body.get(..2), Some(&b"\x1f\x8b"[..]));
    }
}

#[tokio::test]
async fn an_oversize_line_has_64_mebibytes_and_no_end() {
    for streamed in [false, true] {
        let answer = fail(Wire::Chat, Fault::OversizeLine, streamed).await;
        let filler = answer.body.iter().rev().take_while(|byte| **byte == b'a').count();
        assert!(filler >= 64 * 1024 * 1024 && !answer.complete, "{filler}");
    }
}

#[tokio::test]
async fn who_hangs_is_aborted_by_the_client() {
    let script = Script::new()
        .fault(Fault::HangBeforeHeaders)
        .fault(Fault::HangAfterFirstChunk)
        .fault(Fault::HangAfterFirstChunk);
    let server = start(Wire::Chat, script).await;
    let client = open(&server, true, Wire::Chat).await;
    assert_eq!(server.arrived(0).await.unwrap().outcome, Outcome::InProgress);
    drop(client);
    let aborted = server.aborted(0).await.unwrap();
    assert_eq!((aborted.outcome, aborted.chunks), (Outcome::Aborted, 0));
    for (index, streamed) in [(1, true), (2, false)] {
        let client = open(&server, streamed, Wire::Chat).await;
        assert_eq!(server.written(index, 0).await.unwrap().chunks, 1);
        drop(client);
        assert_eq!(server.aborted(index).await.unwrap().chunks, 1);
    }
}

#[tokio::test]
async fn a_trickle_comes_byte_by_byte() {
    let step = Step::spoiled(Fault::Trickle, Reply::new().text("3."));
    let server = start(Wire::Chat, Script::new().step(step)).await;
    let mut client = open(&server, true, Wire::Chat).await;
    client.read_until("\r\n1\r\nd\r\n1\r\na\r\n").await;
    drop(client);
    assert_eq!(server.aborted(0).await.unwrap().chunks, 0);
}

#[tokio::test]
async fn a_redirect_leads_to_another_host_that_records_who_follows() {
    let server = start(Wire::Chat, Script::new().fault(Fault::Redirect)).await;
    let answer = ask(&server, Wire::Chat, false).await;
    let location = answer.header("location").unwrap();
    assert!(
        answer.status == 307
            && location.starts_with("http://localhost:")
            && location.ends_with("/v1/chat/completions")
    );
    assert_eq!(server.redirected(), []);
    let port: u16 = location.split([':', '/']).nth(4).unwrap().parse().unwrap();
    let line = "POST /v1/chat/completions";
    let client = Client::send(([127, 0, 0, 1], port).into(), line, &[("authorization", "Bearer k")], "{}")
        .await
        .unwrap();
    assert_eq!(client.answer().await.unwrap().status, 200);
    assert_eq!(server.redirected()[0].header("authorization"), Some("Bearer k"));
}

#[tokio::test]
async fn every_fault_can_be_played_on_every_wire() {
    // What never answers, or takes long, is played above.
    let slow = [Fault::HangBeforeHeaders, Fault::HangAfterFirstChunk, Fault::Trickle, Fault::OversizeLine];
    let none = [Fault::ConnectionRefused, Fault::ClosedBeforeHeaders];
    for wire in Wire::ALL.iter().copied() {
        for fault in Fault::ALL.iter().copied().filter(|fault| !slow.contains(fault)) {
            let server = start(wire, Script::new().fault(fault)).await;
            let (path, body) = question(wire, true);
            let client =
                Client::send(server.address(), &format!("POST {path}"), &[], &body.to_string()).await;
            let answer = match client {
                Some(client) => client.answer().await,
                None => None,
            };
            assert_eq!(answer.is_none(), none.contains(&fault), "{} {}", wire.name(), fault.name());
        }
    }
}

#[tokio::test]
async fn a_script_that_is_over_says_so() {
    for wire in Wire::ALL.iter().copied() {
        let server = start(wire, Script::new()).await;
        let answer = ask(&server, wire, true).await;
        assert_eq!((answer.status, message(wire, &answer.json()).as_str()), (500, "script is over"));
        assert_eq!(get(&server, "/nothing").await.status, 404);
    }
}
