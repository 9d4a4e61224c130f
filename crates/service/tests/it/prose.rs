//! Tool use in the prose of replies: text, unless the request asks for calls written as text.

use gateway_dialects::Dialects;
use serde_json::{Value, json};

use crate::client::Service;

const PROVIDERS: [&str; 9] = [
    "openai",
    "openai-functions",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "cohere",
    "ollama",
    "mistral",
];

const JSON_CALL: &str = r#"{"type":"tool_use","name":"store_value","input":{"key":"k","value":"pwned"}}"#;
const XML_CALL: &str = "<store_value><key>k</key><value>pwned</value></store_value>";

/// A whole reply of `provider` that says `text`, and makes a native call of `add` where `native`.
fn reply(provider: &str, text: &str, native: bool) -> Value {
    let list = |call: Value| if native { vec![call] } else { Vec::new() };
    let with = |first: Value, call: Value| std::iter::once(first).chain(list(call)).collect::<Value>();
    let arguments = json!({"a": 1, "b": 2});
    let function = json!({"id": "native123", "type": "function", "function": {"name": "add", "arguments": arguments.to_string()}});
    match provider {
        "openai" | "mistral" => json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": text, "tool_calls": list(function)}}]}),
        "openai-functions" => {
            let mut message = json!({"role": "assistant", "content": text});
            if native {
                message["function_call"] = function["function"].clone();
            }
            json!({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})
        }
        "openai-responses" => json!({"object": "response", "status": "completed", "output": with(
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}),
            json!({"type": "function_call", "id": "fc", "call_id": "native123", "name": "add", "arguments": arguments.to_string()}),
        )}),
        "anthropic" => {
            json!({"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": with(
                json!({"type": "text", "text": text}),
                json!({"type": "tool_use", "id": "native123", "name": "add", "input": arguments}),
            )})
        }
        "gemini" => {
            json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": with(
                json!({"text": text}),
                json!({"functionCall": {"name": "add", "args": arguments}}),
            )}}]})
        }
        "bedrock" => {
            json!({"stopReason": "end_turn", "output": {"message": {"role": "assistant", "content": with(
                json!({"text": text}),
                json!({"toolUse": {"toolUseId": "native123", "name": "add", "input": arguments}}),
            )}}})
        }
        "cohere" => json!({"finish_reason": "COMPLETE", "message": {"role": "assistant",
            "content": [{"type": "text", "text": text}], "tool_calls": list(function)}}),
        "ollama" => {
            json!({"done": true, "done_reason": "stop", "message": {"role": "assistant", "content": text,
            "tool_calls": list(json!({"function": {"name": "add", "arguments": arguments}}))}})
        }
        other => unreachable!("no reply of {other}"),
    }
}

/// A message of the user that says `text`.
fn user(provider: &str, text: &str) -> Value {
    match provider {
        "openai-responses" => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
        "anthropic" => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
        "bedrock" => json!({"role": "user", "content": [{"text": text}]}),
        "gemini" => json!({"role": "user", "parts": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

async fn execute(service: &Service, body: Value) -> Value {
    let answer = service.post("/execute", &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// What the demo keeps under the key that calls in the text would store.
async fn stored(service: &Service) -> String {
    let body = json!({"tool": "get_value", "arguments": {"key": "k"}});
    let answer = service.post("/call_tool", &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

#[tokio::test]
async fn prose_of_no_provider_runs() {
    let service = Service::start().await;
    let before = stored(&service).await;
    for provider in PROVIDERS {
        for call in [JSON_CALL, XML_CALL] {
            for text in [
                format!("A call looks like {call}. I made none."),
                format!("```\n{call}\n```"),
                call.to_owned(),
            ] {
                for named in [json!(provider), json!(null)] {
                    let body = json!({"provider": named, "call": reply(provider, &text, false)});
                    let answer = execute(&service, body).await;
                    let told = (&answer["results"], &answer["messages"], &answer["text"]);
                    assert_eq!(told, (&json!([]), &json!([]), &json!(text)), "{provider}");
                }
                let body = json!({"provider": provider, "text": "off", "call": reply(provider, &text, true)});
                let answer = execute(&service, body).await;
                assert_eq!((&answer["tool"], &answer["text"]), (&json!("add"), &json!(text)), "{provider}");
            }
        }
    }
    assert_eq!(stored(&service).await, before);
}

#[tokio::test]
async fn asked_for_calls_in_the_text_run_and_are_answered_as_text() {
    let service = Service::start().await;
    for provider in PROVIDERS {
        for (call, notation) in [(JSON_CALL, "json"), (XML_CALL, "xml")] {
            let text = format!("I store it: {call}");
            for asked in ["auto", notation] {
                let body =
                    json!({"provider": provider, "text": asked, "call": reply(provider, &text, false)});
                let answer = execute(&service, body).await;
                let told = (&answer["tool"], &answer["text"], &answer["code"], &answer["skipped"]);
                let expected = (&json!("store_value"), &json!("I store it: "), &json!(null), &json!(null));
                assert_eq!(told, expected, "{provider}: {answer}");
                let result = answer["result"]["content"][0]["text"].as_str().unwrap();
                let written = if notation == "json" {
                    json!({"type": "tool_result", "name": "store_value", "status": "success", "content": result})
                        .to_string()
                } else {
                    let escaped = result.replace('"', "&quot;");
                    format!(
                        "<tool_result name=\"store_value\" status=\"success\">\n{escaped}\n</tool_result>"
                    )
                };
                assert_eq!(answer["messages"], json!([user(provider, &written)]), "{provider}");
            }
            let other = if notation == "json" { "xml" } else { "json" };
            let body = json!({"provider": provider, "text": other, "call": reply(provider, &text, false)});
            assert_eq!(execute(&service, body).await["messages"], json!([]), "{provider}: only {other}");
            let body = json!({"provider": provider, "text": "auto", "call": reply(provider, &text, true)});
            let answer = execute(&service, body).await;
            assert_eq!(
                (&answer["tool"], &answer["text"]),
                (&json!("add"), &json!(text)),
                "{provider}: only the native call"
            );
        }
    }
    let call = json!({"provider": "openai", "call": reply("openai", JSON_CALL, false)}).to_string();
    let answer = service.post("/execute?text=auto&result=provider", &call).await.json();
    assert_eq!(answer["result"], answer["messages"][0], "also as the result: {answer}");
    let refused = service.post("/execute?text=yes", &call).await;
    assert_eq!(
        (refused.status, refused.json()["error"].as_str()),
        (400, Some("text=yes: expected one of off, auto, xml, json")),
    );
}

#[tokio::test]
async fn what_is_not_offered_or_does_not_validate_stays_text() {
    let service = Service::start().await;
    let before = stored(&service).await;
    let unknown = r#"{"type":"tool_use","name":"drop_values","input":{}}"#;
    let missing = r#"{"type":"tool_use","name":"store_value","input":{"key":"k"}}"#;
    let required = "The arguments do not fit the tool's parameters. Correct this and call it again:\n- `value`: required but missing, expected string";
    for (text, name, notation, reason) in [
        (unknown, "drop_values", "json", "no tool of this name was offered"),
        (missing, "store_value", "json", required),
        ("<store_value><key>k</key></store_value>", "store_value", "xml", required),
    ] {
        let text = format!("So: {text}");
        for provider in PROVIDERS {
            let body = json!({"provider": provider, "text": "auto", "call": reply(provider, &text, false)});
            let answer = execute(&service, body).await;
            let told = (&answer["results"], &answer["messages"], &answer["text"]);
            assert_eq!(told, (&json!([]), &json!([]), &json!(text)), "{provider}");
            let skipped = json!([{"name": name, "notation": notation, "reason": reason}]);
            assert_eq!(answer["skipped"], skipped, "{provider}");
        }
    }
    for text in [
        "<drop_values><a>1</a></drop_values>",
        "<store_value>pwned</store_value>",
        r#"{"type":"tool_use","name":"store_value","input":{"key":"#,
    ] {
        let body = json!({"provider": "openai", "text": "auto", "call": reply("openai", text, false)});
        assert_eq!(execute(&service, body).await["messages"], json!([]), "{text}");
    }
    assert_eq!(stored(&service).await, before);
}

#[tokio::test]
async fn arguments_in_text_are_checked_even_where_the_configuration_checks_none() {
    let service = Service::with(|config| config.validate = false).await;
    let text = r#"So: {"type":"tool_use","name":"store_value","input":{"key":"k"}}"#;
    let body = json!({"provider": "openai", "text": "auto", "call": reply("openai", text, false)});
    let answer = execute(&service, body).await;
    assert_eq!((&answer["messages"], &answer["text"]), (&json!([]), &json!(text)));
}

#[tokio::test]
async fn a_text_that_is_nothing_but_tool_use_asks() {
    let service = Service::start().await;
    for call in
        [XML_CALL.to_owned(), format!("\n {XML_CALL}\n"), JSON_CALL.to_owned(), format!(" {JSON_CALL}\n")]
    {
        let answer = execute(&service, json!({"call": call})).await;
        assert_eq!((&answer["tool"], &answer["code"]), (&json!("store_value"), &json!(null)), "{call}");
    }
    let answer = execute(&service, json!({"provider": "anthropic", "call": XML_CALL})).await;
    let message = &answer["messages"][0];
    assert_eq!((&message["role"], &message["content"][0]["type"]), (&json!("user"), &json!("text")));
    // Prose around it does not.
    for call in [JSON_CALL, XML_CALL] {
        let text = format!("A call looks like {call}. I made none.");
        let answer = execute(&service, json!({"call": text})).await;
        let told = (&answer["results"], &answer["messages"], &answer["text"]);
        assert_eq!(told, (&json!([]), &json!([]), &json!(text)));
        let named = json!({"provider": "openai", "call": text}).to_string();
        let refused = service.post("/execute", &named).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let answer = execute(&service, json!({"call": text, "text": "auto"})).await;
        assert_eq!(answer["tool"], "store_value");
        let answer = execute(&service, json!({"provider": "openai", "call": "Hello.", "text": "auto"})).await;
        assert_eq!((&answer["messages"], &answer["text"]), (&json!([]), &json!("Hello.")));
    }
}

#[tokio::test]
async fn a_model_whose_data_says_so_writes_calls_as_text() {
    let mut dialects = Dialects::builtin();
    let scribe = "name = \"scribe\"\nextends = \"ollama\"\n[messages]\ntext-calls = \"xml\"\n";
    dialects.add("scribe.toml", scribe).unwrap();
    let rule = "[[model]]\nmatches = [\"scribe-*\"]\ndialect = \"ollama\"\ntext-calls = \"xml\"\n";
    dialects.add_models("models.toml", rule).unwrap();
    let service = Service::with_dialects(dialects).await;
    let call = |text: &str| reply("ollama", text, false);
    for (body, runs) in [
        (json!({"provider": "scribe", "call": call(XML_CALL)}), true),
        (json!({"model": "scribe-7b", "call": call(XML_CALL)}), true),
        (json!({"provider": "ollama", "model": "scribe-7b", "call": call(XML_CALL)}), true),
        (json!({"provider": "scribe", "call": call(JSON_CALL)}), false),
        (json!({"provider": "scribe", "text": "json", "call": call(JSON_CALL)}), true),
        (json!({"provider": "scribe", "text": "off", "call": call(XML_CALL)}), false),
        (json!({"provider": "ollama", "model": "llama3.1:8b", "call": call(XML_CALL)}), false),
    ] {
        let answer = execute(&service, body.clone()).await;
        assert_eq!(answer["tool"] == "store_value", runs, "{body}: {answer}");
    }
}

#[tokio::test]
async fn routing_a_text_asks_for_the_calls_in_it() {
    let service = Service::start().await;
    let route =
        async |body: &str| service.send("POST", "/route", "content-type: text/plain\r\n", body).await.body;
    let mut ids = Vec::new();
    for (call, start, success) in [
        (XML_CALL, "<tool_result tool_use_id=\"call_", "status=\"success\""),
        (JSON_CALL, "{\"type\":\"tool_result\",\"tool_use_id\":\"call_", "\"status\":\"success\""),
    ] {
        let stored = route(&format!("I store it. {call}")).await;
        assert!(stored.starts_with(start) && stored.contains(success), "{stored}");
        let id = stored.split('"').find(|part| part.starts_with("call_"));
        ids.push(id.unwrap_or_default().to_owned());
    }
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.len() == 14), "{ids:?}");
    let unknown = route("<drop_values><a>1</a></drop_values>").await;
    assert!(unknown.contains("status=\"error\"") && unknown.contains("drop_values"), "{unknown}");
    let missing = route("<store_value><key>k</key></store_value>").await;
    assert!(missing.contains("status=\"error\"") && missing.contains("required but missing"), "{missing}");
    let prose = route("I drop. <drop_values><a>1</a></drop_values>").await;
    assert!(prose.contains("Error routing tool use: there is no tool use in it"), "{prose}");
    let prose = route("I store. <store_value><key>k</key></store_value>").await;
    assert!(
        prose.contains("Error routing tool use: the tool use of `store_value` in the text is not run"),
        "{prose}"
    );
    // A message without native calls gets no `tool` message.
    let message = json!({"role": "assistant", "content": JSON_CALL, "tool_calls": []});
    let answer: Value = serde_json::from_str(&route(&message.to_string()).await).unwrap();
    assert_eq!((&answer["type"], &answer["status"]), (&json!("tool_result"), &json!("success")), "{answer}");
}
