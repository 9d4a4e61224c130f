//! Turns that break off: callers that go away, models that fail, processes that end.

use bytes::Bytes;
use futures_util::StreamExt as _;
use gateway_agent::conversations::{Chat, ChatItem, ConversationsError};
use gateway_runtime::context::RequestContext;
use gateway_store::conversations::{ConversationId, NewConversation, TurnLease};
use gateway_testkit::models::{Fault, Gate, Moment, Reply, Script, Step, Wire, check_history};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::{Kept, adding_model, conversations_of};
use crate::gateway::{Gateway, strict_model};

/// Waits until the turn is saved, and goes on with the next.
async fn go_on(kept: &Kept) {
    kept.conversations.close().await;
    kept.ask("Go on.", false).await.unwrap();
}

#[tokio::test]
async fn what_was_said_until_the_caller_went_away_is_saved() {
    for wire in Wire::OF_AGENT.iter().copied() {
        let script = Script::new()
            .step(Step::reply(Reply::new().text("One. ").text("Two.")).wait(Moment::End, &Gate::new()))
            .last(Step::reply(Reply::new().text("Three.")));
        let server = strict_model(wire, script).await;
        let kept = Kept::over(wire, &server).await;
        let Chat::Stream(mut items) = kept.send("Count.", json!({})).await.unwrap() else {
            panic!("no stream")
        };
        let mut seen = String::new();
        while !seen.contains("One") {
            let Some(ChatItem::Bytes(bytes)) = items.next().await else { panic!("{wire:?}: it ended") };
            seen.push_str(std::str::from_utf8(&bytes).unwrap());
        }
        drop(items);
        server.aborted(0).await.unwrap();
        go_on(&kept).await;
        let messages = kept.messages().await;
        let partial = &messages[2];
        assert_eq!(
            (&partial["role"], &partial["interrupted"]),
            (&json!("assistant"), &json!(true)),
            "{wire:?}"
        );
        assert!(partial["content"].as_str().unwrap().starts_with("One."), "{wire:?}: {partial}");
        assert_eq!(messages[4], json!({"role": "assistant", "content": "Three."}), "{wire:?}");
    }
}

#[tokio::test]
async fn a_caller_who_goes_away_before_the_answer_ends_the_request() {
    let script = Script::new()
        .step(Step::reply(Reply::new().text("One.")).wait(Moment::Headers, &Gate::new()))
        .last(Step::reply(Reply::new().text("Two.")));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::over(Wire::Chat, &server).await;
    tokio::select! {
        _ = kept.ask("?", false) => panic!("it is held back"),
        arrived = server.arrived(0) => drop(arrived.unwrap()),
    }
    server.aborted(0).await.unwrap();
    go_on(&kept).await;
    let roles: Vec<Value> = kept.messages().await.iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["system", "user", "user", "assistant"]);
}

#[tokio::test]
async fn a_failure_of_the_model_is_an_error_and_the_conversation_goes_on() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [true, false] {
            let script = Script::new()
                .reply(Reply::new().call("c1", "add", json!({"a": 1, "b": 2})))
                .fault(Fault::ServerError)
                .last(Step::reply(Reply::new().text("It is 3.")));
            let server = strict_model(wire, script).await;
            let kept = Kept::over(wire, &server).await;
            let failed = kept.ask("How much?", stream).await;
            assert!(matches!(failed, Err(ConversationsError::Agent(_))), "{wire:?}: {failed:?}");
            assert_eq!(kept.ask("Once more.", stream).await.unwrap(), "It is 3.", "{wire:?}");
            assert_eq!(kept.gateway.calls(), 1, "{wire:?}");
        }
    }
}

/// A history as a process leaves it that is killed while two calls run, the first of which has its result.
fn left_behind() -> Vec<Value> {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": "{\"a\":1,\"b\":2}"}});
    vec![
        json!({"role": "user", "content": "Add twice."}),
        json!({"role": "assistant", "content": "Adding.", "tool_calls": [call("call_a"), call("call_b")]}),
        json!({"role": "tool", "content": "3", "tool_call_id": "call_a", "name": "add"}),
    ]
}

#[tokio::test]
async fn after_a_crash_each_call_has_a_result_and_none_runs_again() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for is_read_first in [true, false] {
            let server =
                strict_model(wire, Script::new().last(Step::reply(Reply::new().text("Fine.")))).await;
            let mut kept = Kept::over(wire, &server).await;
            let store = kept.gateway.completions.store().get().await.unwrap();
            let id = ConversationId::random().unwrap();
            let mut new = NewConversation::new(id, None, "Left");
            new.messages = left_behind().iter().map(|message| to_raw_value(message).unwrap()).collect();
            let until = "2100-01-01T00:00:00Z".parse().unwrap();
            new.turn = Some(TurnLease { holder: "somebody who was killed".to_owned(), until });
            store.create(new).await.unwrap();
            kept.id = id.to_string();
            if is_read_first {
                assert_eq!(kept.messages().await.len(), 4, "{wire:?}");
            }
            assert_eq!(kept.ask("And?", true).await.unwrap(), "Fine.", "{wire:?}");
            let messages = kept.messages().await;
            assert_eq!(messages[..3], left_behind(), "{wire:?}");
            let result = &messages[3];
            assert!(result["content"].as_str().unwrap().starts_with("interrupted"), "{wire:?}: {result}");
            assert_eq!(
                (&result["role"], &result["tool_call_id"], &result["name"]),
                (&json!("tool"), &json!("call_b"), &json!("add")),
                "{wire:?}"
            );
            assert_eq!((messages.len(), kept.gateway.calls()), (6, 0), "{wire:?}");
            let sent = &server.requests()[0].body;
            assert_eq!(check_history(wire, sent), Ok(()), "{wire:?}: {sent}");
        }
    }
}

/// Each of two gateways would take the other's turns for those of a process that ended.
#[tokio::test]
async fn a_second_gateway_in_the_same_directory_is_refused_until_the_first_is_gone() {
    let data = tempfile::tempdir().unwrap();
    let server = adding_model(Wire::Chat).await;
    let first =
        Kept::with(&[(Wire::Chat, &server)], |config| config.data = Some(data.path().to_owned())).await;
    let second = Gateway::over_with_data(Wire::Chat, &server, data.path());
    let refused = conversations_of(&second).start().await.unwrap_err().to_string();
    let path = data.path().join("conversations.lock");
    assert_eq!(
        refused,
        format!(
            "conversations in `{}` are in use by another process; stop it or choose another data directory",
            path.display()
        )
    );
    let created = conversations_of(&second).create(&RequestContext::new(None), &Bytes::new()).await;
    assert_eq!(
        created.unwrap_err().to_string(),
        "the store of conversations cannot be used; the gateway's log says why"
    );
    drop(first);
    conversations_of(&second).start().await.unwrap();
}

#[tokio::test]
async fn a_conversation_that_is_full_says_so_and_stays_valid() {
    let script = Script::new()
        .reply(Reply::new().call("c1", "store_value", json!({"key": "k", "value": "x"})))
        .last(Step::reply(Reply::new().text("y".repeat(4_000))));
    let server = strict_model(Wire::Chat, script).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], |config| config.conversations.bytes = 2_000).await;
    let failed = kept.ask("?", false).await.unwrap_err();
    assert!(
        matches!(&failed, ConversationsError::TooLarge(text) if text.contains("2000 are the most")),
        "{failed}"
    );
    let messages = kept.messages().await;
    assert_eq!(messages.last().unwrap()["role"], "tool", "{messages:?}");
    let refused = kept.ask(&"z".repeat(2_000), false).await.unwrap_err();
    assert!(matches!(refused, ConversationsError::TooLarge(_)), "{refused}");
    assert_eq!(kept.messages().await, messages);
}
