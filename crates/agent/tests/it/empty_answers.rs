//! Answers that are empty, withheld, cut off or refused.

use std::sync::Arc;

use gateway_agent::{Agent, AgentRequest, Limits, NoTools, ScriptedModel, Stop};
use gateway_dialects::stream::StreamEvent;
use gateway_testkit::models::{Finish, ModelServer, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, question};
use crate::tools::said;

#[tokio::test]
async fn empty_answers_are_asked_about_twice_and_are_an_error_then() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let server = ModelServer::start(wire, Script::new().last(Reply::new())).await.unwrap();
            let error = Gateway::over(wire, &server).text(stream).await.unwrap_err();
            assert_eq!(error.to_string(), "model `m` gave an empty answer 3 times", "{wire:?}");
            let nudged: Vec<bool> = server
                .requests()
                .iter()
                .map(|request| String::from_utf8_lossy(&request.raw).contains("Your last answer was empty."))
                .collect();
            assert_eq!(nudged, [false, true, true], "{wire:?}");
        }
    }
}

#[tokio::test]
async fn the_question_about_an_empty_answer_stands_behind_what_the_user_said() {
    let asked = "Your last answer was empty. Answer the question, or use the appropriate tool.";
    for (given, expected) in [
        (json!("How much?"), json!(format!("How much?\n\n{asked}"))),
        (
            json!([{"type": "text", "text": "How much?"}]),
            json!([{"type": "text", "text": "How much?"}, {"type": "text", "text": asked}]),
        ),
    ] {
        let script = Script::new().reply(Reply::new()).reply(Reply::new().text("42."));
        let server = ModelServer::start(Wire::Chat, script).await.unwrap();
        let request = json!({"model": "m", "messages": [{"role": "user", "content": given}]});
        Gateway::over(Wire::Chat, &server).whole(&request, None).await.unwrap();
        let sent = server.requests().pop().unwrap().body;
        assert_eq!(sent["messages"], json!([{"role": "user", "content": expected}]));
    }
}

#[tokio::test]
async fn an_answer_that_is_withheld_or_cut_off_is_not_asked_for_again() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for (finish, expected) in [(Finish::ContentFilter, "content_filter"), (Finish::Length, "length")] {
            // Ollama has no word for it.
            if wire == Wire::Ollama && finish == Finish::ContentFilter {
                continue;
            }
            for stream in [false, true] {
                let about = format!("{wire:?} {finish:?}, streamed: {stream}");
                let script = Script::new().last(Reply::new().finish(finish.clone()));
                let server = ModelServer::start(wire, script).await.unwrap();
                let gateway = Gateway::over(wire, &server);
                let reason = if stream {
                    let chunks = gateway.streamed(&question(true), None).await.unwrap();
                    let reason =
                        |chunk: &Value| chunk["choices"][0]["finish_reason"].as_str().map(str::to_owned);
                    chunks.iter().find_map(reason)
                } else {
                    let whole = gateway.whole(&question(false), None).await.unwrap();
                    whole["choices"][0]["finish_reason"].as_str().map(str::to_owned)
                };
                assert_eq!(reason.as_deref(), Some(expected), "{about}");
                assert_eq!(server.requests().len(), 1, "{about}");
            }
        }
    }
}

#[tokio::test]
async fn words_of_other_apis_for_an_answer_that_is_cut_off() {
    for (word, expected) in [
        ("model_context_window_exceeded", Stop::Cut("length".to_owned())),
        ("refusal", Stop::Cut("content_filter".to_owned())),
        ("SAFETY", Stop::Cut("content_filter".to_owned())),
        ("RECITATION", Stop::Cut("content_filter".to_owned())),
        ("PROHIBITED_CONTENT", Stop::Cut("content_filter".to_owned())),
        ("BLOCKLIST", Stop::Cut("content_filter".to_owned())),
        ("SPII", Stop::Cut("content_filter".to_owned())),
        ("end_turn", Stop::Answered),
    ] {
        let reply = vec![said("So far."), StreamEvent::Stop(word.to_owned())];
        let model = Arc::new(ScriptedModel::new([reply]));
        let agent = Agent::new(vec![model], Arc::new(NoTools), Limits::default());
        let finished = agent.answer(AgentRequest::of_user("Go")).await.unwrap();
        assert_eq!(finished.stop, expected, "{word}");
    }
}

#[tokio::test]
async fn a_refusal_is_the_answer() {
    let message = json!({"role": "assistant", "content": null, "refusal": "I cannot help."});
    let whole = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let chunk = json!({"choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]});
    for (stream, kind, body) in [
        (false, "application/json", whole.to_string()),
        (true, "text/event-stream", format!("data: {chunk}\n\ndata: [DONE]\n\n")),
    ] {
        let script = Script::new().last(Step::raw(200, kind, body));
        let server = ModelServer::start(Wire::Chat, script).await.unwrap();
        assert_eq!(Gateway::over(Wire::Chat, &server).text(stream).await.unwrap(), "I cannot help.");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_question_about_an_empty_answer_does_not_stay_in_the_conversation() {
    let call = Reply::new().call("call00001", "add", json!({"a": 1, "b": 2}));
    let script = Script::new().reply(Reply::new()).reply(call).reply(Reply::new().text("3."));
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    assert_eq!(Gateway::over(Wire::Chat, &server).text(false).await.unwrap(), "3.");
    let last = server.requests().pop().unwrap().body;
    let roles: Vec<&Value> =
        last["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
}
