//! The bridge between the eras: whoever calls, whatever is behind, everything arrives.

use gateway_testkit::{Fault, LOSSLESS_RESULT};
use serde_json::{Value, json};

use super::wire::{Caller, Cell, Era, Front, LEVEL_META, SUBSCRIPTION_META, cells, everything, written};

/// The gateway in front of the cell's server, which offers everything.
async fn front(cell: Cell) -> Front {
    Front::of((cell.upstream, cell.way), everything).await
}

fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_give_results_in_the_callers_era() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        let outcome = caller.call("test_simple_text", json!({})).await;
        assert_eq!(outcome.said(), "This is a simple text response for testing.", "{cell}");
        if cell.caller == Era::Modern {
            assert_eq!(outcome.result()["resultType"], "complete", "{cell}");
        }
        let failed = caller.call("test_error_handling", json!({})).await;
        assert_eq!(failed.result()["isError"], true, "{cell}");
        let unknown = caller.call("nobody_has_this", json!({})).await;
        assert_eq!(unknown.error().0, -32602, "{cell}: {}", unknown.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knows_is_passed_on_untouched() {
    for cell in cells() {
        let front = Front::of((cell.upstream, cell.way), |fixture| fixture).await;
        let caller = front.caller(cell.caller).await;
        let outcome = caller.call("lossless", json!({})).await;
        assert!(outcome.text.contains(LOSSLESS_RESULT), "{cell}: {}", outcome.text);
        let tools = caller.ask("tools/list", json!({})).await;
        let definition = r#""x-unknown":{"z":1,"a":12345678901234567890123}"#;
        assert!(tools.text.contains(definition), "{cell}: {}", tools.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_arrive_as_they_were_written() {
    for cell in cells() {
        let front = Front::of((cell.upstream, cell.way), |fixture| fixture).await;
        let caller = front.caller(cell.caller).await;
        let (_, body) = caller.message("tools/call", json!({"name": "echo", "arguments": "HERE"}));
        let pretty = "{\r\n  \"text\": \"a\\nb\",\n\t\"big\": 12345678901234567890123,\n  \"z\": 1.50\n}";
        let mut reply = caller.post(&body.replace("\"HERE\"", pretty), "").await;
        let answer = reply.next().await.unwrap();
        let result = &answer.value["result"]["structuredContent"];
        assert_eq!(result["text"], "a\nb", "{cell}: {}", answer.text);
        assert!(
            answer.text.contains("12345678901234567890123") && answer.text.contains("1.50"),
            "{cell}: {}",
            answer.text
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_caller_says_beside_its_request_arrives_once() {
    for cell in cells() {
        let folder = tempfile::tempdir().unwrap();
        let wire = folder.path().join("wire");
        let shape =
            |fixture: gateway_testkit::Fixture| fixture.everything().option("--wire-log", wire.display());
        let front = Front::of((cell.upstream, cell.way), shape).await;
        let mut caller = front.caller(cell.caller).await;
        if cell.caller == Era::Legacy {
            caller.ask("logging/setLevel", json!({"level": "error"})).await;
        }
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        caller.key = format!("traceparent: {parent}\r\n");
        let meta = json!({LEVEL_META: "debug", "traceparent": parent, "example.org/mine": [1]});
        let params = json!({"name": "greet", "arguments": {"name": "once"}, "_meta": meta});
        assert_eq!(caller.ask("tools/call", params).await.said(), "Hello, once!", "{cell}");
        let lines = written(&wire, "\"once\"").await;
        let line = lines.iter().find(|line| line.contains("\"once\"")).unwrap();
        for (key, times) in [(LEVEL_META, 1), ("\"traceparent\":\"00-4bf92f", 1), ("example.org/mine", 1)] {
            // The fixture writes headers beside the message; only members count.
            let message = &line[line.find("\"_meta\"").unwrap()..];
            assert_eq!(message.matches(key).count(), times, "{cell} {key}: {line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_before_the_answer_under_the_callers_token() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        for token in [json!("a token"), json!(17), json!("17"), json!(0)] {
            let params = json!({
                "name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": token}
            });
            let outcome = caller.ask("tools/call", params).await;
            let seen: Vec<(&str, &Value, &Value)> = outcome
                .notes
                .iter()
                .map(|note| {
                    let params = &note["params"];
                    (note["method"].as_str().unwrap(), &params["progressToken"], &params["progress"])
                })
                .collect();
            let name = "notifications/progress";
            let (none, half, all) = (json!(0), json!(50), json!(100));
            let expected = [(name, &token, &none), (name, &token, &half), (name, &token, &all)];
            assert_eq!(seen, expected, "{cell}");
            assert_eq!(outcome.said(), "Tool with progress executed successfully", "{cell}");
        }
        let quiet = caller.call("test_tool_with_progress", json!({})).await;
        assert_eq!(quiet.notes, Vec::<Value>::new(), "{cell}: nobody asked for progress");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_while_the_call_is_at_work() {
    for cell in cells() {
        // The only sign of life: the answer never comes.
        let silent = |fixture: gateway_testkit::Fixture| fixture.mode(Fault::NeverAnswers).only_tool("slow");
        let front = Front::of((cell.upstream, cell.way), silent).await;
        let caller = front.caller(cell.caller).await;
        let params = json!({
            "name": "slow", "arguments": {"ms": 20, "progress": 1}, "_meta": {"progressToken": "t"}
        });
        let (_, mut reply) = caller.send("tools/call", params).await;
        let note = reply.next().await.unwrap();
        assert_eq!(note.value["params"]["progress"], 1, "{cell}: {}", note.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_reaches_the_server() {
    for cell in cells() {
        let folder = tempfile::tempdir().unwrap();
        let counter = folder.path().join("counter");
        let front = Front::of((cell.upstream, cell.way), |fixture| fixture.counter(&counter)).await;
        let caller = front.caller(cell.caller).await;
        let (id, body) = caller.message("tools/call", json!({"name": "slow", "arguments": {"ms": 600_000}}));
        let (mut post, started) = (Box::pin(caller.post(&body, "")), written(&counter, "slow-started"));
        match cell.caller {
            // Leaving is the cancellation, here before there is even a head.
            Era::Modern => {
                tokio::select! {
                    _ = started => {}
                    reply = &mut post => panic!("{cell}: {}", reply.head),
                }
                drop(post);
            }
            Era::Legacy => {
                let (mut reply, _) = tokio::join!(post, started);
                caller.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"})).await;
                assert!(reply.next().await.is_none(), "{cell}: a cancelled request has no answer");
            }
        }
        let lines = written(&counter, "cancelled").await;
        assert!(!lines.iter().any(|line| line.starts_with("slow-finished")), "{cell}: {lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_is_asked() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        let params = json!({"name": "test_elicitation", "arguments": {"message": "Who are you?"}});
        let answers = |method: &str, params: &Value| {
            assert_eq!(
                (method, &params["message"]),
                ("elicitation/create", &json!("Server \"up\" asks: Who are you?")),
                "{cell}"
            );
            assert_eq!(params["requestedSchema"]["required"], json!(["username", "email"]), "{cell}");
            accept(&json!({"username": "ann", "email": "a@example.org"}))
        };
        let outcome = caller.ask_answering("tools/call", params.clone(), &answers).await;
        let expected = r#"User response: action=accept, content={"username":"ann","email":"a@example.org"}"#;
        assert_eq!(outcome.said(), expected, "{cell}");
        let declines = |_: &str, _: &Value| json!({"action": "decline"});
        let outcome = caller.ask_answering("tools/call", params, &declines).await;
        assert_eq!(outcome.said(), "User response: action=decline, content={}", "{cell}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_and_the_roots_are_asked() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        let answers = |method: &str, params: &Value| match method {
            "sampling/createMessage" => {
                assert_eq!(params["messages"][0]["content"]["text"], "Say hi", "{cell}");
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}})
            }
            "roots/list" => json!({"roots": [{"uri": "file:///work"}]}),
            other => panic!("{cell}: {other}"),
        };
        let params = json!({"name": "test_sampling", "arguments": {"prompt": "Say hi"}});
        let outcome = caller.ask_answering("tools/call", params, &answers).await;
        assert_eq!(outcome.said(), "LLM response: hi", "{cell}");
        let params = json!({"name": "test_input_required_result_list_roots", "arguments": {}});
        let outcome = caller.ask_answering("tools/call", params, &answers).await;
        assert_eq!(outcome.said(), r#"Roots: [{"uri":"file:///work"}]"#, "{cell}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_questions_in_one_request_are_all_asked() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        let asked = |params: &Value| {
            params["message"].as_str()?.strip_prefix("Server \"up\" asks: ").map(str::to_owned)
        };
        let answers = |method: &str, params: &Value| match (method, asked(params).as_deref()) {
            ("elicitation/create", Some("Step 1: What is your name?" | "What is your name?")) => {
                accept(&json!({"name": "Ann"}))
            }
            ("elicitation/create", Some("Step 2: What is your favorite color?")) => {
                accept(&json!({"color": "red"}))
            }
            ("elicitation/create", Some("What context should the prompt use?")) => {
                accept(&json!({"context": "night"}))
            }
            ("elicitation/create", Some("What is the word?")) => accept(&json!({"word": "open"})),
            ("sampling/createMessage", _) => {
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hello"}})
            }
            ("roots/list", _) => json!({"roots": []}),
            other => panic!("{cell}: {other:?}"),
        };
        let call = |name: &str| json!({"name": name, "arguments": {}});
        let rounds = call("test_input_required_result_multi_round");
        let outcome = caller.ask_answering("tools/call", rounds, &answers).await;
        assert_eq!(outcome.said(), "Ann likes red", "{cell}");
        let several = call("test_input_required_result_multiple_inputs");
        let outcome = caller.ask_answering("tools/call", several, &answers).await;
        assert_eq!(outcome.said(), "Name: Ann; greeting: hello; roots: []", "{cell}");
        let prompt = json!({"name": "test_input_required_result_prompt"});
        let outcome = caller.ask_answering("prompts/get", prompt, &answers).await;
        let text = &outcome.result()["messages"][0]["content"]["text"];
        assert_eq!(text, "Prompt with context: night", "{cell}");
        let resource = json!({"uri": "test://input-required"});
        let outcome = caller.ask_answering("resources/read", resource, &answers).await;
        assert_eq!(outcome.result()["contents"][0]["text"], "Opened with: open", "{cell}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_cannot_answer_is_not_asked() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = Caller::able(&front.service, cell.caller, "/mcp", "", json!({})).await;
        let outcome = caller.call("test_elicitation", json!({"message": "Who?"})).await;
        // A modern server says so by a code; a legacy one can only fail.
        match cell.upstream {
            Era::Modern => assert_eq!(outcome.error().0, -32021, "{cell}: {}", outcome.text),
            Era::Legacy => assert_eq!(outcome.result()["isError"], true, "{cell}: {}", outcome.text),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_lists_are_told_and_read_anew() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        let mut news = caller.listen(&[]).await;
        for (what, list, member, name) in [
            ("tool", "tools", "name", "test_dynamic_tool"),
            ("prompt", "prompts", "name", "test_dynamic_prompt"),
            ("resource", "resources", "uri", "test://dynamic-resource"),
        ] {
            let names = async || {
                let listed = caller.ask(&format!("{list}/list"), json!({})).await;
                let entries = listed.result()[list].as_array().unwrap().clone();
                entries.iter().map(|entry| entry[member].as_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            assert!(!names().await.contains(&name.to_owned()), "{cell}");
            let changed = caller.call(&format!("test_trigger_{what}_change"), json!({})).await;
            assert_eq!(changed.said(), "changed", "{cell}");
            let method = format!("notifications/{list}/list_changed");
            // Lists that were read for the first time count as changed too, so it may take more than one.
            loop {
                let told = news.until(&method).await;
                if cell.caller == Era::Modern {
                    assert!(told["params"]["_meta"][SUBSCRIPTION_META].is_number(), "{cell}: {told}");
                }
                if names().await.contains(&name.to_owned()) {
                    break;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_read() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        let read = async |uri: &str| caller.ask("resources/read", json!({"uri": uri})).await;
        let text = read("test://static-text").await;
        let expected = json!({
            "uri": "test://static-text", "mimeType": "text/plain",
            "text": "This is the content of the static text resource."
        });
        assert_eq!(text.result()["contents"], json!([expected]), "{cell}");
        if cell.caller == Era::Modern {
            let result = text.result();
            assert_eq!(result["resultType"], "complete", "{cell}");
            assert!(result["ttlMs"].is_number() && result["cacheScope"] == "private", "{cell}: {result}");
        }
        let binary = read("test://static-binary").await;
        assert!(binary.result()["contents"][0]["blob"].as_str().unwrap().starts_with("iVBOR"), "{cell}");
        let template = read("test://template/7/data").await;
        assert!(template.text.contains("Data for ID: 7"), "{cell}: {}", template.text);
        let absent = read("test://nowhere").await;
        // What a modern server says may also be about other parameters, so it stays as it is.
        let code = if (cell.caller, cell.upstream) == (Era::Legacy, Era::Legacy) { -32002 } else { -32602 };
        assert_eq!(absent.error().0, code, "{cell}: {}", absent.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_a_resource_are_told_to_those_who_want_them() {
    const WATCHED: &str = "test://watched-resource";
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        let other = front.caller(cell.caller).await;
        let mut news = caller.listen(&[WATCHED]).await;
        let mut others_news = other.listen(&[]).await;
        let trigger = json!({"uri": WATCHED});
        assert_eq!(caller.call("test_trigger_resource_update", trigger).await.said(), "changed", "{cell}");
        let told = news.until("notifications/resources/updated").await;
        assert_eq!(told["params"]["uri"], WATCHED, "{cell}");
        // Whoever did not ask hears the next news first.
        assert_eq!(caller.call("test_trigger_prompt_change", json!({})).await.said(), "changed", "{cell}");
        loop {
            let next = others_news.next().await.unwrap();
            assert_ne!(next.value["method"], "notifications/resources/updated", "{cell}");
            if next.value["method"] == "notifications/prompts/list_changed" {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_messages_come_from_the_level_that_was_asked_for() {
    for cell in cells() {
        let front = front(cell).await;
        let caller = front.caller(cell.caller).await;
        // Who asked for no level: a modern caller hears nothing, a legacy one what most servers would tell it.
        let unasked = if cell.caller == Era::Modern { 0 } else { 3 };
        for (level, count) in [(None, unasked), (Some("info"), 3), (Some("error"), 0), (Some("debug"), 3)] {
            let mut params = json!({"name": "test_tool_with_logging", "arguments": {}});
            if let Some(level) = level {
                match cell.caller {
                    Era::Modern => params["_meta"][LEVEL_META] = json!(level),
                    Era::Legacy => {
                        let set = caller.ask("logging/setLevel", json!({"level": level})).await;
                        assert_eq!(*set.result(), json!({}), "{cell}");
                    }
                }
            }
            let outcome = caller.ask("tools/call", params).await;
            assert_eq!(outcome.said(), "Tool with logging executed successfully", "{cell}");
            let lines: Vec<&str> =
                outcome.notes.iter().map(|note| note["params"]["data"].as_str().unwrap()).collect();
            let all = ["Tool execution started", "Tool processing data", "Tool execution completed"];
            assert_eq!(lines, all[..count], "{cell} {level:?}");
        }
    }
}
