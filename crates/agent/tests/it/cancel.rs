//! Callers that go away: nothing goes on for them.

use std::sync::Arc;

use futures_util::{StreamExt as _, future};
use gateway_agent::completions::{Completion, StreamItem};
use gateway_agent::{Agent, AgentError, AgentRequest, Event, Limits, ScriptedModel};
use gateway_testkit::models::{Gate, ModelServer, Moment, Reply, Script, Step, Wire};
use serde_json::json;
use tokio::sync::{Notify, mpsc};

use crate::gateway::{Gateway, question};
use crate::tools::{FnTools, called, result, said};

/// A model that says nothing before the gate is open.
async fn held(wire: Wire, before: Moment) -> ModelServer {
    let reply = Reply::new().text("One. ").text("Two. ").text("Three.");
    let script = Script::new().step(Step::reply(reply).wait(before, &Gate::new()));
    ModelServer::start(wire, script).await.unwrap()
}

#[tokio::test]
async fn dropping_a_request_aborts_that_to_the_model() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for moment in [Moment::Headers, Moment::Chunk(0)] {
            for tools in [None, Some("none")] {
                let server = held(wire, moment).await;
                let gateway = Gateway::over(wire, &server);
                let request = question(false);
                tokio::select! {
                    biased;
                    _ = gateway.whole_or_proxied(&request, tools) => panic!("{wire:?}: it is held back"),
                    arrived = server.arrived(0) => drop(arrived.unwrap()),
                }
                server.aborted(0).await.unwrap();
                assert_eq!(server.requests().len(), 1, "{wire:?}");
            }
        }
    }
}

#[tokio::test]
async fn dropping_a_stream_aborts_the_request_to_the_model() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for tools in [None, Some("none")] {
            let server = held(wire, Moment::End).await;
            let gateway = Gateway::over(wire, &server);
            let completion = gateway.complete(&question(true), tools, None).await.unwrap();
            match completion {
                Completion::Stream(mut items) => {
                    let first = items.next().await;
                    assert!(matches!(first, Some(StreamItem::Bytes(_))), "{wire:?}: {first:?}");
                    drop(items);
                }
                Completion::Proxied(mut proxied) => {
                    assert!(proxied.body.next().await.unwrap().is_ok(), "{wire:?}");
                    drop(proxied);
                }
                Completion::Whole(_) => panic!("{wire:?}: not a stream"),
            }
            server.aborted(0).await.unwrap();
        }
    }
}

/// Notifies when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// An agent whose calls never end; hears of their begin and of their end.
fn stuck_agent(begun: &Arc<Notify>, dropped: &Arc<Notify>) -> Agent {
    let (begun, dropped) = (Arc::clone(begun), Arc::clone(dropped));
    let tools = FnTools::new(move |_| {
        let (begun, guard) = (Arc::clone(&begun), Dropped(Arc::clone(&dropped)));
        async move {
            begun.notify_one();
            future::pending::<()>().await;
            drop(guard);
            result("never")
        }
    });
    let model = ScriptedModel::new([vec![called("c1", "wait", &json!({}))], vec![said("Done.")]]);
    Agent::new(vec![Arc::new(model)], tools, Limits::default())
}

#[tokio::test]
async fn dropping_the_loop_drops_running_calls() {
    for is_watched in [false, true] {
        let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let agent = stuck_agent(&begun, &dropped);
        let (sender, events) = mpsc::channel(16);
        let request = AgentRequest::of_user("Go");
        let running = if is_watched { agent.run(request, sender) } else { agent.answer(request) };
        tokio::select! {
            biased;
            _ = running => panic!("the call never ends"),
            () = begun.notified() => {}
        }
        dropped.notified().await;
        drop(events);
    }
}

#[tokio::test]
async fn the_loop_ends_when_nobody_listens_any_more() {
    let model = ScriptedModel::new([vec![said("One.")], vec![said("Two.")]]);
    let agent = Agent::new(vec![Arc::new(model)], FnTools::new(|_| async { result("x") }), Limits::default());
    let (sender, events) = mpsc::channel::<Event>(1);
    drop(events);
    let error = agent.run(AgentRequest::of_user("Go"), sender).await.unwrap_err();
    assert!(matches!(error, AgentError::Gone), "{error}");
}

#[tokio::test]
async fn a_request_that_waits_to_be_repeated_is_not_repeated_for_nobody() {
    let limited = Step::fault(gateway_testkit::models::Fault::RateLimitedSeconds).retry_after(30);
    let server = ModelServer::start(Wire::Chat, Script::new().step(limited)).await.unwrap();
    let gateway = Gateway::with(Wire::Chat, &server, |config| config.models[0].retries = 1);
    tokio::select! {
        biased;
        _ = gateway.text(false) => panic!("it waits"),
        ended = server.ended(0) => drop(ended.unwrap()),
    }
    drop(gateway);
    assert_eq!(server.requests().len(), 1);
}
