//! Turns that go well, and what is stored of them.

use bytes::Bytes;
use futures_util::StreamExt as _;
use gateway_agent::AgentError;
use gateway_agent::conversations::{Chat, ChatItem, ConversationsError, MessageRange};
use gateway_config::{ScreenMode, ScreenModes, ServiceConfig};
use gateway_runtime::context::RequestContext;
use gateway_testkit::models::{Fault, Gate, Moment, Reply, Script, Step, Usage, Wire};
use serde_json::{Value, json};

use super::{Kept, adding_model, caller, collected, conversations_of};
use crate::gateway::{Gateway, strict_model};

const ANSWER: &str = "Let me add.\n\nThe sum is 42.";

#[tokio::test]
async fn streamed_and_whole_answers_are_stored_alike() {
    for wire in Wire::OF_AGENT.iter().copied() {
        let mut stored = Vec::new();
        for stream in [true, false] {
            let server = adding_model(wire).await;
            let kept = Kept::over(wire, &server).await;
            assert_eq!(
                kept.ask("How much is 15 and 27?", stream).await.unwrap(),
                ANSWER,
                "{wire:?} {stream}"
            );
            stored.push(kept.messages().await);
        }
        assert_eq!(stored[0], stored[1], "{wire:?}");
        let roles: Vec<&Value> = stored[0].iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"], "{wire:?}");
    }
}

#[tokio::test]
async fn messages_have_the_form_of_chat_completions_without_empty_members() {
    let script = Script::new()
        .reply(Reply::new().call("call_1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().text("42."));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::over(Wire::Chat, &server).await;
    kept.ask("?", false).await.unwrap();
    let mut messages = kept.messages().await;
    let result = messages.remove(3);
    assert_eq!(
        messages,
        [
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": "?"}),
            json!({"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}}]}),
            json!({"role": "assistant", "content": "42."}),
        ]
    );
    assert_eq!(
        (&result["role"], &result["tool_call_id"], &result["name"]),
        (&json!("tool"), &json!("call_1"), &json!("add"))
    );
    assert!(result["content"].as_str().unwrap().contains("42"), "{result}");
    assert_eq!(result.get("blocks"), None, "{result}");
}

/// What one API needs of its own history, such as signed reasoning, is kept; and every other API takes the same history.
#[tokio::test]
async fn a_conversation_goes_on_with_any_model() {
    for first in Wire::OF_AGENT.iter().copied() {
        for second in Wire::OF_AGENT.iter().copied() {
            let script = Script::new()
                .reply(Reply::new().reasoning("Two numbers.").signature("c2ln").text("Let me add.").call(
                    "call_1",
                    "add",
                    json!({"a": 15, "b": 27}),
                ))
                .last(Step::reply(Reply::new().text("42.")));
            let one = strict_model(first, script).await;
            let again = Reply::new().call("call_2", "add", json!({"a": 1, "b": 2}));
            let script = Script::new().reply(again).last(Step::reply(Reply::new().text("3.")));
            let other = strict_model(second, script).await;
            let kept = Kept::with(&[(first, &one), (second, &other)], |_| {}).await;
            kept.ask("How much?", false).await.unwrap_or_else(|error| panic!("{first:?}: {error}"));
            for model in ["m1", "m"] {
                let outcome = kept.send("And now?", json!({"stream": false, "model": model})).await;
                assert!(outcome.is_ok(), "{first:?} {second:?} {model}: {:?}", outcome.err());
            }
            assert_eq!(kept.messages().await.len(), 11, "{first:?} {second:?}");
        }
    }
}

/// Some models count their calls from one in each reply, and other APIs refuse ids that were used before.
#[tokio::test]
async fn ids_that_were_used_before_are_told_apart() {
    let call = || Reply::new().call("call_1", "add", json!({"a": 1, "b": 2}));
    let text = || Reply::new().text("3.");
    let script = Script::new().reply(call()).reply(text()).reply(call()).last(Step::reply(text()));
    let one = gateway_testkit::models::ModelServer::start(Wire::Ollama, script).await.unwrap();
    let other = strict_model(Wire::Messages, Script::new().last(Step::reply(text()))).await;
    let kept = Kept::with(&[(Wire::Ollama, &one), (Wire::Messages, &other)], |_| {}).await;
    kept.ask("One", false).await.unwrap();
    kept.ask("Two", false).await.unwrap();
    kept.send("Three", json!({"stream": false, "model": "m1"})).await.unwrap();
    let sent = other.requests()[0].body.to_string();
    assert_eq!((sent.matches("call_1\"").count(), sent.matches("call_1_2\"").count()), (2, 2), "{sent}");
}

#[tokio::test]
async fn of_two_writers_one_is_refused_and_nothing_is_lost() {
    let gate = Gate::new();
    let script = Script::new()
        .step(Step::reply(Reply::new().text("First.")).wait(Moment::Headers, &gate))
        .last(Step::reply(Reply::new().text("Next.")));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::over(Wire::Chat, &server).await;
    let Chat::Stream(first) = kept.send("One", json!({})).await.unwrap() else { panic!("not a stream") };
    server.arrived(0).await.unwrap();
    let second = kept.ask("Two", false).await;
    assert!(matches!(second, Err(ConversationsError::Busy)), "{second:?}");
    gate.open();
    collected(first).await.unwrap();
    let before = kept.read().await["version"].as_u64().unwrap();
    let late = kept.send("Three", json!({"stream": false, "version": before - 1})).await;
    assert!(
        matches!(late, Err(ConversationsError::Conflict { current }) if current == before),
        "{:?}",
        late.err()
    );
    kept.send("Four", json!({"stream": false, "version": before})).await.unwrap();
    let texts: Vec<Value> = kept.messages().await.iter().map(|message| message["content"].clone()).collect();
    assert_eq!(texts, ["Be brief.", "One", "First.", "Four", "Next."]);
}

#[tokio::test]
async fn instructions_stand_first_in_an_empty_conversation_only() {
    for (configured, given, expected) in [
        (Some("Be brief."), None, Some("Be brief.")),
        (Some("Be brief."), Some("Be kind."), Some("Be kind.")),
        (Some(" "), None, None),
        (Some("Be brief."), Some(""), None),
    ] {
        let server = adding_model(Wire::Chat).await;
        let kept = Kept::with(&[(Wire::Chat, &server)], |config| {
            config.agent.system_prompt = configured.map(str::to_owned);
        })
        .await;
        let members =
            given.map_or(json!({"stream": false}), |text| json!({"stream": false, "system_prompt": text}));
        kept.send("?", members.clone()).await.unwrap();
        kept.send("?", members).await.unwrap();
        let messages = kept.messages().await;
        let instructions: Vec<(usize, &str)> = messages
            .iter()
            .enumerate()
            .filter(|(_, message)| message["role"] == "system")
            .map(|(index, message)| (index, message["content"].as_str().unwrap()))
            .collect();
        assert_eq!(
            instructions,
            expected.map(|text| (0, text)).into_iter().collect::<Vec<_>>(),
            "{configured:?} {given:?}"
        );
    }
    let server = adding_model(Wire::Chat).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], |config| config.agent.system_prompt = None).await;
    kept.ask("?", false).await.unwrap();
    let usual = kept.messages().await.remove(0);
    let text = usual["content"].as_str().unwrap();
    assert!(usual["role"] == "system" && text.contains("add") && text.contains("get_weather"), "{text}");
    kept.send("Again", json!({"stream": false, "reset_history": true, "system_prompt": ""})).await.unwrap();
    assert_eq!(
        kept.messages().await,
        [json!({"role": "user", "content": "Again"}), json!({"role": "assistant", "content": "And on."})]
    );
}

#[tokio::test]
async fn at_a_bound_the_conversation_goes_on_with_the_next_message() {
    for wire in Wire::OF_AGENT.iter().copied() {
        let script = Script::new()
            .reply(Reply::new().call("c1", "add", json!({"a": 1, "b": 2})))
            .last(Step::reply(Reply::new().text("It is 3.")));
        let server = strict_model(wire, script).await;
        let kept = Kept::with(&[(wire, &server)], |config| config.agent.rounds = 1).await;
        assert_eq!(
            kept.ask("How much?", true).await.unwrap(),
            "Sorry, this query requires too many steps.",
            "{wire:?}"
        );
        assert_eq!(kept.ask("Go on.", true).await.unwrap(), "It is 3.", "{wire:?}");
        assert_eq!(kept.gateway.calls(), 1, "{wire:?}");
        let roles: Vec<Value> = kept.messages().await.iter().map(|message| message["role"].clone()).collect();
        assert_eq!(
            roles,
            ["system", "user", "assistant", "tool", "assistant", "user", "assistant"],
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn calls_are_recorded_in_order_with_the_request_that_they_belong_to() {
    let call = |id: &str, a: u32| Reply::new().call(id, "add", json!({"a": a, "b": 1}));
    let script = Script::new()
        .reply(call("x", 1).call("y", "add", json!({"a": "wrong"})))
        .reply(call("x", 3))
        .last(Step::reply(Reply::new().text("Done.")));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::over(Wire::Chat, &server).await;
    let context = RequestContext::new(None);
    let body = Bytes::from_static(br#"{"message": {"content": "Add."}, "stream": false}"#);
    kept.conversations.chat(context.clone(), &kept.id, &body, None, None).await.unwrap();
    let records = kept.conversations.calls(&context, &kept.id).await.unwrap();
    let found: Vec<(&str, &Value, bool, &str, &str)> = records
        .iter()
        .map(|record| {
            let text = |key: &str| record[key].as_str().unwrap();
            let failed = record["status"] == "error";
            (text("tool_name"), &record["arguments"], failed, text("id"), text("correlation_id"))
        })
        .collect();
    let id = &*context.correlation;
    assert_eq!(
        found,
        [
            ("add", &json!({"a": 1, "b": 1}), false, "x", id),
            ("add", &json!({"a": "wrong"}), true, "y", id),
            ("add", &json!({"a": 3, "b": 1}), false, "x", id),
        ]
    );
    assert!(records[2]["result"].as_str().unwrap().contains('4'), "{records:?}");
    assert!(records[1]["result"].as_str().unwrap().len() > 10, "{records:?}");
}

#[tokio::test]
async fn what_was_asked_for_beside_the_answer_is_in_the_stream_and_usage_is_summed() {
    let usage = |input, output| Usage { input, output, ..Usage::default() };
    let script = Script::new()
        .reply(Reply::new().reasoning("Hm.").call("c1", "add", json!({"a": 1, "b": 2})).usage(usage(10, 5)))
        .last(Step::reply(Reply::new().text("3.").usage(usage(20, 2))));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::over(Wire::Chat, &server).await;
    let events = json!({"events": ["tool_call", "tool_result", "usage", "reasoning"]});
    let Chat::Stream(items) = kept.send("?", events).await.unwrap() else { panic!("not a stream") };
    let text = collected(items).await.unwrap();
    let id = &kept.id;
    let result = text.lines().find(|line| line.contains("tool_result")).unwrap();
    assert!(result.contains(r#""id":"c1","name":"add","content":""#), "{result}");
    assert_eq!(
        text.replace(result, "data: RESULT"),
        format!(
            "data: {{\"conversation_id\":\"{id}\"}}\n\n\
             data: {{\"type\":\"reasoning\",\"content\":\"Hm.\"}}\n\n\
             data: {{\"type\":\"usage\",\"inputTokens\":10,\"outputTokens\":5}}\n\n\
             data: {{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"add\",\"arguments\":{{\"a\":1,\"b\":2}}}}\n\n\
             data: RESULT\n\n\
             data: {{\"choices\":[{{\"delta\":{{\"content\":\"3.\"}},\"index\":0,\"finish_reason\":null}}]}}\n\n\
             data: {{\"type\":\"usage\",\"inputTokens\":20,\"outputTokens\":2}}\n\n\
             data: {{\"choices\":[{{\"delta\":{{}},\"index\":0,\"finish_reason\":\"stop\"}}]}}\n\n\
             data: [DONE]\n\n"
        )
    );
    kept.ask("More", false).await.unwrap();
    assert_eq!(kept.read().await["metadata"]["usage"], json!({"inputTokens": 50, "outputTokens": 9}));
}

#[tokio::test]
async fn conversations_of_others_do_not_exist() {
    let server = adding_model(Wire::Chat).await;
    let gateway = Gateway::over(Wire::Chat, &server);
    let conversations = conversations_of(&gateway);
    let created = conversations.create(&caller("alice"), &Bytes::new()).await.unwrap();
    let created: Value = serde_json::from_slice(&created.body).unwrap();
    let id = created["id"].as_str().unwrap();
    assert_eq!(created["title"], "New Conversation");
    let body = Bytes::from_static(br#"{"message": "Hello"}"#);
    for stranger in [caller("bob"), RequestContext::new(None)] {
        let is_missing = |error: &ConversationsError| matches!(error, ConversationsError::NotFound);
        assert_eq!(conversations.list(&stranger, None, None, None).await.unwrap().conversations.len(), 0);
        assert!(is_missing(&conversations.get(&stranger, id, MessageRange::default()).await.unwrap_err()));
        assert!(is_missing(&conversations.delete(&stranger, id).await.unwrap_err()));
        assert!(is_missing(&conversations.calls(&stranger, id).await.unwrap_err()));
        let rename = Bytes::from_static(br#"{"title": "Mine"}"#);
        assert!(is_missing(&conversations.rename(&stranger, id, &rename, None).await.unwrap_err()));
        let chat = conversations.chat(stranger, id, &body, None, None).await;
        assert!(is_missing(&chat.err().unwrap()));
    }
    assert_eq!(conversations.list(&caller("alice"), None, None, None).await.unwrap().conversations.len(), 1);
    assert_eq!(server.requests().len(), 0);
}

/// A request that is refused leaves nothing behind.
#[tokio::test]
async fn a_selection_of_tools_that_does_not_exist_stores_nothing() {
    let server = adding_model(Wire::Chat).await;
    let kept = Kept::over(Wire::Chat, &server).await;
    let body = Bytes::from_static(br#"{"message": "Hello", "stream": false}"#);
    let context = RequestContext::new(None);
    let refused = kept.conversations.chat(context, &kept.id, &body, Some("group:nope"), None).await;
    assert!(matches!(refused, Err(ConversationsError::Agent(AgentError::Tools(_)))), "{:?}", refused.err());
    let read = kept.read().await;
    assert_eq!((&read["messages"], &read["version"]), (&json!([]), &json!(1)));
}

/// The list of tools is part of the prompt, and prompts are cached by their beginning.
#[tokio::test]
async fn the_usual_instructions_name_tools_in_the_order_of_the_catalogue() {
    let server = adding_model(Wire::Chat).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], |config| config.agent.system_prompt = None).await;
    kept.ask("?", false).await.unwrap();
    let sent = server.requests().remove(0);
    let tools: Vec<&str> = sent.body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    let prompt = sent.body["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.ends_with(&format!("Available tools: {}.", tools.join(", "))), "{prompt} {tools:?}");
}

/// Sending a message again that got no answer asks for the answer, and does not say the same twice.
#[tokio::test]
async fn a_message_that_got_no_answer_is_sent_again_and_stands_once() {
    let script = Script::new()
        .fault(Fault::ServerError)
        .fault(Fault::ServerError)
        .last(Step::reply(Reply::new().text("Hello.")));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::over(Wire::Chat, &server).await;
    kept.ask("Hi", false).await.unwrap_err();
    kept.ask("Hi", true).await.unwrap_err();
    assert_eq!(kept.ask("Hi", false).await.unwrap(), "Hello.");
    assert_eq!(kept.ask("Hi", false).await.unwrap(), "Hello.");
    let texts: Vec<Value> = kept.messages().await.iter().map(|message| message["content"].clone()).collect();
    assert_eq!(texts, ["Be brief.", "Hi", "Hello.", "Hi", "Hello."]);
}

/// An answer that there is no room for is not passed on whole before somebody notices.
#[tokio::test]
async fn an_answer_ends_at_the_size_of_a_conversation() {
    let pieces = (0..100).fold(Reply::new(), |reply, _| reply.text("y".repeat(1_000)));
    let server = strict_model(Wire::Chat, Script::new().last(Step::reply(pieces))).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], |config| config.conversations.bytes = 5_000).await;
    let Chat::Stream(mut items) = kept.send("?", json!({})).await.unwrap() else { panic!("not a stream") };
    let mut said = 0;
    let failed = loop {
        match items.next().await.unwrap() {
            ChatItem::Bytes(piece) => said += std::str::from_utf8(&piece).unwrap().matches('y').count(),
            ChatItem::Failed { error, .. } => break error,
        }
    };
    assert!(matches!(failed, ConversationsError::TooLarge(_)), "{failed}");
    assert!(said <= 5_000, "{said}");
    assert_eq!(kept.messages().await.len(), 2);
}

/// What is stored is what the model gets, also as instructions; what is only refused in new messages stops no summary.
#[tokio::test]
async fn personal_data_stands_neither_in_instructions_nor_in_the_way_of_a_summary() {
    let mask = |config: &mut ServiceConfig| {
        config.privacy.conversations = ScreenModes::all(Some(ScreenMode::Mask));
    };
    let server = adding_model(Wire::Chat).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], mask).await;
    let members = json!({"stream": false, "system_prompt": "You work for anna@example.com."});
    kept.send("?", members.clone()).await.unwrap();
    assert_eq!(kept.messages().await[0]["content"], "You work for [email].");

    let script = Script::new().last(Step::reply(Reply::new().text("Ask anna@example.com.")));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], |config| {
        config.privacy.conversations.messages = Some(ScreenMode::Block);
        (config.conversations.summarize_after, config.conversations.keep_recent) = (3, 1);
    })
    .await;
    let refused = kept.send("?", members).await.err().unwrap();
    assert!(matches!(refused, ConversationsError::Agent(AgentError::PersonalData(_))), "{refused}");
    assert_eq!(kept.messages().await, [Value::Null; 0]);
    for _ in 0..3 {
        kept.ask("Who?", false).await.unwrap();
    }
    assert!(kept.read().await["metadata"]["summary"].is_object());
    let sent = server.requests().iter().map(|request| request.body.to_string()).collect::<String>();
    assert!(!sent.contains("anna@"), "{sent}");
}

/// What was found is noted about the conversation: answers have no room for it.
#[tokio::test]
async fn personal_data_that_was_found_is_noted() {
    let server = adding_model(Wire::Chat).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], |config| {
        config.privacy.conversations.messages = Some(ScreenMode::Mask);
    })
    .await;
    kept.ask("I am anna@example.com.", false).await.unwrap();
    let found = json!([{"part": "messages", "mode": "mask", "kinds": {"email": 1}}]);
    assert_eq!(kept.read().await["metadata"]["personalData"], found);
    kept.ask("Go on.", false).await.unwrap();
    assert_eq!(kept.read().await["metadata"].get("personalData"), None);
}
