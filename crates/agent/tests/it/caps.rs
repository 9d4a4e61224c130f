//! Bounds of the loop, and models that make no progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, future, stream};
use gateway_agent::{
    Agent, AgentError, AgentRequest, Answer, Ask, Event, Finished, Limits, Model, ModelError, ScriptedModel,
    Stop, Toolbox,
};
use gateway_config::OnLimit;
use gateway_dialects::calls::Arguments;
use gateway_dialects::history::{Content, Message, Role};
use gateway_dialects::stream::{StreamEvent, Usage};
use gateway_dialects::{Dialect, Dialects};
use gateway_testkit::models::{Behaviour, ModelServer, Reply, Script, Wire};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::gateway::{Gateway, joined, question};
use crate::tools::{FnTools, called, result, said};

const TOO_MANY_STEPS: &str = "Sorry, this query requires too many steps.";

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

fn agent(
    replies: impl IntoIterator<Item = Vec<StreamEvent>>,
    tools: Arc<dyn Toolbox>,
    limits: Limits,
) -> Agent {
    Agent::new(vec![Arc::new(ScriptedModel::new(replies))], tools, limits)
}

async fn answer(agent: &Agent) -> Result<Finished, AgentError> {
    agent.answer(AgentRequest::of_user("Go")).await
}

/// So many replies with one call each, no two the same.
fn different_calls(count: usize) -> Vec<Vec<StreamEvent>> {
    (0..count).map(|round| vec![called(&format!("c{round}"), "step", &json!({"round": round}))]).collect()
}

/// So many replies with the same call.
fn equal_calls(count: usize) -> Vec<Vec<StreamEvent>> {
    (0..count).map(|round| vec![called(&format!("c{round}"), "status", &json!({}))]).collect()
}

fn done() -> Arc<FnTools> {
    FnTools::new(|_| async { result("done") })
}

/// The texts of results that the model was shown, in order.
fn results(finished: &Finished) -> Vec<String> {
    let results = finished.added.iter().filter(|message| message.role == Role::Tool);
    results.map(|message| serde_json::to_string(message).unwrap()).collect()
}

#[tokio::test]
async fn endless_calls_end_after_exactly_so_many_rounds() {
    for rounds in [1, 3, 10] {
        let bounds = limits(|limits| limits.rounds = rounds);
        let finished = answer(&agent(different_calls(20), done(), bounds)).await.unwrap();
        assert_eq!((finished.rounds.len(), finished.calls.len()), (rounds, rounds));
        assert_eq!(finished.text, TOO_MANY_STEPS);
        assert_eq!(finished.stop, Stop::Limit(format!("exceeded max turns ({rounds})")));

        let bounds = limits(|limits| (limits.rounds, limits.on_limit) = (rounds, OnLimit::Error));
        let error = answer(&agent(different_calls(20), done(), bounds)).await.unwrap_err();
        assert_eq!(error.to_string(), format!("exceeded max turns ({rounds})"));
    }
}

#[tokio::test]
async fn models_that_repeat_one_call_for_ever_end_after_ten_rounds() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let server = endless(wire).await;
            let gateway = Gateway::over(wire, &server);
            assert_eq!(gateway.text(stream).await.unwrap(), TOO_MANY_STEPS, "{wire:?}");
            assert_eq!(server.requests().len(), 10, "{wire:?}");

            let server = endless(wire).await;
            let gateway = Gateway::with(wire, &server, |config| config.agent.on_limit = OnLimit::Error);
            let error = gateway.text(stream).await.unwrap_err();
            assert!(matches!(error.agent(), Some(AgentError::Limit(_))), "{wire:?}: {error}");
            assert_eq!(error.to_string(), "exceeded max turns (10)", "{wire:?}");
            assert_eq!(server.requests().len(), 10, "{wire:?}");
        }
    }
}

async fn endless(wire: Wire) -> ModelServer {
    ModelServer::start(wire, Script::new().last(Behaviour::CallTool("add".to_owned()))).await.unwrap()
}

#[tokio::test]
async fn calls_are_counted_over_all_rounds() {
    let finished = answer(&agent(different_calls(20), done(), limits(|limits| limits.calls = 4))).await;
    let finished = finished.unwrap();
    let shown: Vec<&str> = finished.calls.iter().map(|call| call.result.as_str()).collect();
    assert_eq!(shown[..4], ["done"; 4]);
    assert_eq!(shown[4..], ["The call was not made: there were too many calls for this message."]);
    assert_eq!(finished.text, "Sorry, this query requires more than 4 tool calls.");
    assert_eq!(finished.stop, Stop::Limit("exceeded max calls (4)".to_owned()));
}

#[tokio::test]
async fn a_model_answers_after_as_many_calls_as_are_allowed() {
    for count in [1, 3] {
        let replies = different_calls(count).into_iter().chain([vec![said("There.")]]);
        let bounds = limits(|limits| limits.calls = count);
        let finished = answer(&agent(replies, done(), bounds)).await.unwrap();
        assert_eq!((finished.stop, finished.text.as_str()), (Stop::Answered, "There."), "{count}");
        assert_eq!(finished.calls.len(), count);
    }
}

#[tokio::test]
async fn calls_over_the_bound_do_not_run_also_in_one_reply() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let tools = FnTools::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { result("done") }
    });
    let many = (0..10).map(|index| called(&format!("c{index}"), "step", &json!({"index": index}))).collect();
    let finished = answer(&agent([many], tools, limits(|limits| limits.calls = 4))).await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 4);
    assert_eq!(results(&finished).len(), 10, "each call has a result, else no API takes the conversation");
    assert_eq!(finished.stop, Stop::Limit("exceeded max calls (4)".to_owned()));
}

#[tokio::test]
async fn tokens_are_counted_over_all_rounds() {
    let replies = different_calls(20).into_iter().map(|mut reply| {
        reply.push(StreamEvent::Usage(Usage { input_tokens: 50, output_tokens: 30, cached_tokens: 0 }));
        reply
    });
    let finished = answer(&agent(replies, done(), limits(|limits| limits.tokens = Some(200)))).await.unwrap();
    assert_eq!(finished.rounds.len(), 3);
    assert_eq!(finished.text, "Sorry, this query requires more than 200 tokens.");
    assert_eq!(finished.stop, Stop::Limit("exceeded max tokens (200)".to_owned()));
}

#[tokio::test]
async fn counts_beyond_all_numbers_are_the_highest_number() {
    let huge =
        || StreamEvent::Usage(Usage { input_tokens: u64::MAX, output_tokens: 9, cached_tokens: u64::MAX });
    let replies = [vec![called("c1", "step", &json!({})), huge()], vec![said("There."), huge()]];
    let finished = answer(&agent(replies, done(), Limits::default())).await.unwrap();
    let expected = Usage { input_tokens: u64::MAX, output_tokens: 18, cached_tokens: u64::MAX };
    assert_eq!((finished.text.as_str(), finished.usage), ("There.", expected));
}

/// A model that begins to answer and never ends.
#[derive(Debug)]
struct Hesitant(Arc<Dialect>);

impl Model for Hesitant {
    fn name(&self) -> &'static str {
        "hesitant"
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.0
    }

    fn ask<'a>(&'a self, _ask: Ask<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        let begun = [StreamEvent::Reasoning("Well.".to_owned()), said("The answer "), said("begins and")];
        let events = stream::iter(begun.map(Ok)).chain(stream::pending()).boxed();
        async { Ok(Answer { events, ignored: Vec::new() }) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_said_when_the_time_is_over_stays_everywhere() {
    let dialect = Arc::new(Dialects::builtin().get("openai-chat").unwrap());
    let agent = Agent::new(vec![Arc::new(Hesitant(dialect))], done(), Limits::default());
    let (sender, mut events) = tokio::sync::mpsc::channel(100);
    let finished = agent.run(AgentRequest::of_user("Go"), sender).await.unwrap();
    let mut streamed = String::new();
    while let Some(event) = events.recv().await {
        if let Event::Text(text) = event {
            streamed.push_str(&text);
        }
    }
    let expected = "The answer begins and\n\nSorry, this query takes longer than 600s.";
    assert_eq!((streamed.as_str(), finished.text.as_str()), (expected, expected));
    assert_eq!(finished.reasoning, "Well.");
    assert_eq!(finished.added, [Message::new(Role::Assistant, Content::Text(expected.to_owned()))]);
}

/// A model that never answers.
#[derive(Debug)]
struct Silent(Arc<Dialect>);

impl Model for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.0
    }

    fn ask<'a>(&'a self, _ask: Ask<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_ends_with_the_time() {
    let dialect = Arc::new(Dialects::builtin().get("openai-chat").unwrap());
    for (on_limit, expected) in
        [(OnLimit::Message, Ok("Sorry, this query takes longer than 600s.")), (OnLimit::Error, Err(()))]
    {
        let bounds = limits(|limits| limits.on_limit = on_limit);
        let agent = Agent::new(vec![Arc::new(Silent(Arc::clone(&dialect)))], done(), bounds);
        match (answer(&agent).await, expected) {
            (Ok(finished), Ok(text)) => assert_eq!(finished.text, text),
            (Err(error), Err(())) => assert_eq!(error.to_string(), "exceeded max time (600s)"),
            (other, _) => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_ends_is_stopped_with_the_time() {
    let tools = FnTools::new(|_| future::pending());
    let finished = answer(&agent(different_calls(5), tools, Limits::default())).await.unwrap();
    assert_eq!(finished.stop, Stop::Limit("exceeded max time (600s)".to_owned()));
    assert_eq!(finished.calls.len(), 1);
    assert!(finished.calls[0].result.contains("the time for this message is over"), "{:?}", finished.calls);
}

#[tokio::test]
async fn three_bad_calls_in_a_row_end_with_an_explanation() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let calls = Script::by(|request| {
                let round = request.index;
                Reply::new().call(format!("call{round:05}"), "no_such_tool", json!({"round": round})).into()
            });
            let server = ModelServer::start(wire, calls).await.unwrap();
            let text = Gateway::over(wire, &server).text(stream).await.unwrap();
            assert!(text.starts_with("I stopped because 3 tool calls in a row could not be made."), "{text}");
            assert!(text.contains("no_such_tool"), "{wire:?}: {text}");
            assert_eq!(server.requests().len(), 3, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_good_call_between_bad_ones_starts_the_count_anew() {
    let names = ["bad", "bad", "good", "bad", "bad"];
    let replies = names
        .iter()
        .enumerate()
        .map(|(round, name)| vec![called(&format!("c{round}"), name, &json!({"round": round}))]);
    let tools = FnTools::new(|call| async move {
        let mut outcome = result("done");
        outcome.is_bad = call.name == "bad";
        outcome
    });
    let replies = replies.chain([vec![said("There.")]]);
    let finished = answer(&agent(replies, tools, Limits::default())).await.unwrap();
    assert_eq!((finished.stop, finished.text.as_str()), (Stop::Answered, "There."));
}

#[tokio::test]
async fn equal_calls_are_noted_at_the_third_and_end_at_the_bound() {
    let bounds = limits(|limits| limits.repeats = 5);
    let finished = answer(&agent(equal_calls(9), done(), bounds)).await.unwrap();
    let noted: Vec<bool> = results(&finished)
        .iter()
        .map(|result| result.contains("has given the same result 3 times"))
        .collect();
    assert_eq!(noted, [false, false, true, false, false]);
    assert!(matches!(&finished.stop, Stop::Stuck(text) if text.contains("`status`")), "{:?}", finished.stop);
    assert!(finished.text.contains("the same result 5 times"), "{}", finished.text);
}

#[tokio::test]
async fn polling_goes_on_while_results_change() {
    let count = Arc::new(AtomicUsize::new(0));
    let tools = FnTools::new(move |_| {
        let percent = count.fetch_add(1, Ordering::SeqCst);
        async move { result(&format!("{percent} %")) }
    });
    let bounds = limits(|limits| limits.repeats = 3);
    let replies = equal_calls(8).into_iter().chain([vec![said("Finished.")]]);
    let finished = answer(&agent(replies, tools, bounds)).await.unwrap();
    assert_eq!((finished.text.as_str(), finished.calls.len()), ("Finished.", 8));
    assert!(results(&finished).iter().all(|result| !result.contains("the same result")));
}

/// What a request says of the choice of tools, as text.
fn choice(body: &Value) -> String {
    let members = ["tool_choice", "function_call", "toolConfig"].map(|key| &body[key]);
    members.into_iter().filter(|member| !member.is_null()).map(Value::to_string).collect()
}

#[tokio::test]
async fn a_forced_tool_counts_for_the_first_round_only() {
    // Ollama's own API cannot force a tool.
    for wire in Wire::OF_AGENT.iter().copied().filter(|wire| *wire != Wire::Ollama) {
        let server = ModelServer::start(wire, Script::new().last(Behaviour::CallToolOnce("add".to_owned())))
            .await
            .unwrap();
        let mut request = question(false);
        request["tool_choice"] = json!({"type": "function", "function": {"name": "add"}});
        let answer = Gateway::over(wire, &server).whole(&request, Some("auto")).await.unwrap();
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{wire:?}");
        let choices: Vec<String> = server.requests().iter().map(|request| choice(&request.body)).collect();
        assert_eq!(choices.len(), 2, "{wire:?}");
        assert!(choices[0].contains("\"add\""), "{wire:?}: {choices:?}");
        assert!(!choices[1].contains("add"), "{wire:?}: {choices:?}");
    }
}

// The clock stands still, so calls that wait for each other in vain end with the time at once.
#[tokio::test(start_paused = true)]
async fn calls_of_one_reply_run_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(3));
    let tools = FnTools::new(move |call| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            result(call.id.as_str())
        }
    });
    let calls = vec![
        called("a", "wait", &json!({"n": 1})),
        called("b", "wait", &json!({"n": 2})),
        called("c", "wait", &json!({"n": 3})),
    ];
    let finished = answer(&agent([calls, vec![said("All.")]], tools, Limits::default())).await.unwrap();
    assert_eq!(finished.stop, Stop::Answered);
    let shown: Vec<&str> = finished.calls.iter().map(|call| call.result.as_str()).collect();
    assert_eq!(shown, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn results_keep_the_order_of_the_calls_whichever_ends_first() {
    let tools = FnTools::new(|call| async move {
        let Arguments::Json(arguments) = &call.arguments else { panic!("{call:?}") };
        tokio::time::sleep(Duration::from_secs(arguments["seconds"].as_u64().unwrap())).await;
        result(call.id.as_str())
    });
    let calls = vec![
        called("slow", "wait", &json!({"seconds": 30})),
        called("quick", "wait", &json!({"seconds": 1})),
        called("medium", "wait", &json!({"seconds": 10})),
    ];
    let finished = answer(&agent([calls, vec![said("All.")]], tools, Limits::default())).await.unwrap();
    let shown: Vec<&str> = finished.calls.iter().map(|call| call.result.as_str()).collect();
    assert_eq!(shown, ["slow", "quick", "medium"]);
    let order: Vec<usize> =
        shown.iter().map(|id| results(&finished).concat().find(&format!("\"{id}\"")).unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[tokio::test]
async fn streams_say_the_same_at_a_bound() {
    let server = endless(Wire::Chat).await;
    let gateway = Gateway::with(Wire::Chat, &server, |config| config.agent.rounds = 2);
    let chunks = gateway.streamed(&question(true), None).await.unwrap();
    assert_eq!(joined(&chunks, "content"), TOO_MANY_STEPS);
    assert_eq!(chunks.last().unwrap()["gateway"]["stopped"], json!({"limit": "exceeded max turns (2)"}));
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told_to_the_model() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            // What is there would do, so that only its missing end can be the reason.
            let call = Reply::new().call_with_text("call00001", "add", "{\"a\": 15, \"b\": 27");
            let script = Script::new().reply(call).reply(Reply::new().text("I see."));
            let server = ModelServer::start(wire, script).await.unwrap();
            let text = Gateway::over(wire, &server).text(stream).await;
            assert_eq!(text.unwrap(), "I see.", "{wire:?}, streamed: {stream}");
            let told = server.requests()[1].last_result().unwrap_or_default();
            assert!(told.to_lowercase().contains("json") || told.contains("argument"), "{wire:?}: {told}");
        }
    }
}

#[tokio::test]
async fn what_was_done_to_arguments_is_reported_and_kept() {
    for stream in [false, true] {
        let call = Reply::new().call_with_text("call00001", "add", "{'a': 15, \"b\": \"27\",}");
        let script = Script::new().reply(call).reply(Reply::new().text("42."));
        let server = ModelServer::start(Wire::Chat, script).await.unwrap();
        let gateway = Gateway::over(Wire::Chat, &server);
        let mut request = question(stream);
        request["stream_options"] = json!({"include_usage": true});
        let answer = if stream {
            gateway.streamed(&request, None).await.unwrap().pop().unwrap()
        } else {
            gateway.whole(&question(false), None).await.unwrap()
        };
        let notes = &answer["gateway"]["calls"][0]["notes"];
        let repaired = |name: &str| json!({"repaired": name});
        assert_eq!(
            notes,
            &json!([repaired("trailing-commas"), repaired("single-quotes"), {"coerced": "/b", "rule": "text-to-number"}]),
            "{answer}"
        );
        let sent = server.requests()[1].body["messages"][1]["tool_calls"][0]["function"]["arguments"].clone();
        assert_eq!(
            sent,
            json!(r#"{"a":15,"b":"27"}"#),
            "the model reads what ran, not the text that had to be repaired"
        );
    }
}

#[tokio::test]
async fn calls_without_ids_get_other_ids_in_each_round() {
    for stream in [false, true] {
        let call = |b: i64| Reply::new().call("", "add", json!({"a": 15, "b": b}));
        let script = Script::new().reply(call(1)).reply(call(2)).reply(Reply::new().text("Done."));
        let server = ModelServer::start(Wire::Ollama, script).await.unwrap();
        let gateway = Gateway::over(Wire::Ollama, &server);
        let ids: Vec<String> = if stream {
            let mut request = question(true);
            request["stream_options"] = json!({"include_usage": true});
            let last = gateway.streamed(&request, None).await.unwrap().pop().unwrap();
            last["gateway"]["calls"].as_array().unwrap().iter().map(|call| call["id"].to_string()).collect()
        } else {
            let answer = gateway.whole(&question(false), None).await.unwrap();
            answer["gateway"]["calls"].as_array().unwrap().iter().map(|call| call["id"].to_string()).collect()
        };
        assert_eq!(ids.len(), 2);
        assert_ne!(ids[0], ids[1], "streamed: {stream}");
    }
}
