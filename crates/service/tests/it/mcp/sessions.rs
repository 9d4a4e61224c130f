//! Legacy sessions: whose they are, how long they live, and what a caller finds who comes back.

use std::collections::HashSet;
use std::time::Duration;

use gateway_service::Secret;
use gateway_upstream::CatalogueRules;
use serde_json::{Value, json};

use super::wire::{Caller, Era, Front, LEGACY, PATIENCE, Way, everything, upstream, written};

const ANN: &str = "x-api-key: ann-key\r\n";
const BOB: &str = "x-api-key: bob-key\r\n";

async fn with_keys(which: (Era, Way)) -> Front {
    Front::with(which, everything, |config| {
        config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_its_owners_at_its_endpoint() {
    let front = with_keys((Era::Legacy, Way::Stdio)).await;
    let ann = Caller::open(&front.service, Era::Legacy, "/mcp", ANN).await;
    let at_server = Caller::open(&front.service, Era::Legacy, "/mcp/up", ANN).await;
    for (what, caller) in [
        ("another key", ann.shown_as("/mcp", BOB)),
        ("another endpoint", ann.shown_as("/mcp/up", ANN)),
        ("the whole gateway", at_server.shown_as("/mcp", ANN)),
    ] {
        let (_, mut reply) = caller.send("tools/list", json!({})).await;
        assert_eq!(reply.status, 404, "{what}");
        assert_eq!(reply.next().await.unwrap().value["error"]["code"], -32001, "{what}");
        for verb in ["GET", "DELETE"] {
            assert_eq!(caller.bare(verb, "").await.status, 404, "{what} {verb}");
        }
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        assert_eq!(caller.post(&cancel.to_string(), "").await.status, 404, "{what}");
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        assert_eq!(caller.post(&answer.to_string(), "").await.status, 404, "{what}");
    }
    for guess in ["", "1", "guess", &"a".repeat(43)] {
        let mut caller = ann.shown_as("/mcp", ANN);
        caller.session = Some(guess.to_owned());
        let (_, reply) = caller.send("tools/list", json!({})).await;
        assert_eq!(reply.status, 404, "{guess}");
    }
    assert!(ann.ask("tools/list", json!({})).await.result()["tools"].is_array(), "nothing harmed it");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_cannot_be_guessed_or_chosen() {
    let front = Front::of((Era::Legacy, Way::Stdio), everything).await;
    let mut ids = HashSet::new();
    for _ in 0..20 {
        let id = front.caller(Era::Legacy).await.session.unwrap();
        // 256 bits in base64, from the characters that the specification allows.
        assert!(id.len() >= 43 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(ids.insert(id));
    }
    let mut fixed = front.caller(Era::Legacy).await;
    fixed.session = Some("chosen-by-an-attacker".to_owned());
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}});
    let (_, reply) = fixed.send("initialize", params).await;
    assert_eq!(reply.status, 200);
    assert_ne!(reply.header("mcp-session-id"), Some("chosen-by-an-attacker"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_bounded_in_number_and_the_oldest_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let shape = |fixture: gateway_testkit::Fixture| fixture.counter(&counter);
    let front = Front::with((Era::Legacy, Way::Stdio), shape, |config| config.mcp.sessions = 2).await;
    let first = front.caller(Era::Legacy).await;
    let (_, body) = first.message("tools/call", json!({"name": "slow", "arguments": {"ms": 600_000}}));
    let (mut reply, _) = tokio::join!(first.post(&body, ""), written(&counter, "slow-started"));
    let _second = front.caller(Era::Legacy).await;
    let third = front.caller(Era::Legacy).await;
    let over = reply.next().await.unwrap();
    assert_eq!(over.value["error"]["code"], -32_603, "{}", over.text);
    assert!(reply.next().await.is_none(), "the call of the session that made room is over");
    written(&counter, "cancelled").await;
    assert_eq!(first.send("ping", json!({})).await.1.status, 404);
    assert_eq!(third.ask("ping", json!({})).await.result(), &json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_nobody_uses_ends_and_one_with_a_listener_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let wire = folder.path().join("wire");
    let shape = |fixture: gateway_testkit::Fixture| fixture.everything().option("--wire-log", wire.display());
    let front = Front::with((Era::Legacy, Way::Stdio), shape, |config| {
        config.mcp.session_idle = Duration::from_secs(1);
    })
    .await;
    let listens = front.caller(Era::Legacy).await;
    let mut news = listens.bare("GET", "").await;
    assert_eq!(news.status, 200);
    let mut old = super::old_clients::OldClient::open(&front, "/mcp").await;
    let unused = front.caller(Era::Legacy).await;
    let watched = json!({"uri": "test://watched-resource"});
    assert_eq!(unused.ask("resources/subscribe", watched).await.result(), &json!({}));
    // To ask for the session would be to use it; the end of its subscription shows its own.
    written(&wire, "resources/unsubscribe").await;
    assert_eq!(unused.send("ping", json!({})).await.1.status, 404);
    assert!(listens.ask("tools/list", json!({})).await.result()["tools"].is_array());
    assert!(old.ask("tools/list", json!({})).await["tools"].is_array());
    assert_eq!(listens.bare("DELETE", "").await.status, 204);
    while let Some(heard) = news.next().await {
        assert!(heard.value.get("method").is_some(), "{}", heard.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_a_session_cancels_what_runs_for_it() {
    for way in [Way::Http, Way::Stdio] {
        for era in [Era::Legacy, Era::Modern] {
            let folder = tempfile::tempdir().unwrap();
            let counter = folder.path().join("counter");
            let front = Front::of((era, way), |fixture| fixture.counter(&counter)).await;
            let caller = front.caller(Era::Legacy).await;
            let slow = json!({"name": "slow", "arguments": {"ms": 600_000}});
            let (_, body) = caller.message("tools/call", slow);
            let (mut reply, _) = tokio::join!(caller.post(&body, ""), written(&counter, "slow-started"));
            assert_eq!(caller.bare("DELETE", "").await.status, 204, "{way:?} {era:?}");
            let over = reply.next().await.unwrap();
            assert_eq!(over.value["error"]["code"], -32_603, "{way:?} {era:?}: {}", over.text);
            assert!(reply.next().await.is_none(), "{way:?} {era:?}");
            written(&counter, "cancelled").await;
            assert_eq!(caller.send("ping", json!({})).await.1.status, 404, "{way:?} {era:?}");
            assert_eq!(caller.bare("DELETE", "").await.status, 404, "{way:?} {era:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_whose_connection_breaks_comes_back_for_the_answer() {
    for way in [Way::Http, Way::Stdio] {
        let folder = tempfile::tempdir().unwrap();
        let counter = folder.path().join("counter");
        let front = Front::of((Era::Legacy, way), |fixture| fixture.counter(&counter)).await;
        let caller = front.caller(Era::Legacy).await;
        let params = json!({
            "name": "slow", "arguments": {"ms": 1500, "progress": 2}, "_meta": {"progressToken": "t"}
        });
        let (id, mut reply) = caller.send("tools/call", params).await;
        let first = reply.next().await.unwrap();
        assert_eq!(first.value["params"]["progress"], 1, "{}", first.text);
        let last = first.event.unwrap();
        assert!(reply.primed.is_some(), "a stream can be taken up before its first message");
        drop(reply);
        // Leaving is no cancellation in this era: the tool finishes although nobody listens.
        written(&counter, "slow-finished").await;
        let mut again = caller.bare("GET", &format!("last-event-id: {last}\r\n")).await;
        assert_eq!(again.status, 200, "{}", again.head);
        let mut rest = Vec::new();
        while let Some(next) = again.next().await {
            rest.push(next);
        }
        assert_eq!(rest.len(), 2, "{way:?}: {rest:?}");
        assert_eq!(rest[0].value["params"]["progress"], 2, "{way:?}");
        assert_eq!(rest[1].value["id"], id, "{way:?}");
        let last = rest[1].event.clone().unwrap();
        let mut over = caller.bare("GET", &format!("last-event-id: {last}\r\n")).await;
        assert!(over.next().await.is_none(), "{way:?}: the answer comes once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_id_of_another_session_gives_nothing_of_it() {
    let front = with_keys((Era::Legacy, Way::Stdio)).await;
    let ann = Caller::open(&front.service, Era::Legacy, "/mcp", ANN).await;
    let bob = Caller::open(&front.service, Era::Legacy, "/mcp", BOB).await;
    let progress =
        json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "t"}});
    let (_, mut reply) = ann.send("tools/call", progress).await;
    let first = reply.next().await.unwrap();
    let event = first.event.unwrap();
    while reply.next().await.is_some() {}
    for last in [event.as_str(), "1-0", "2-0", "0-0", "18446744073709551615-18446744073709551615", "x", "-"] {
        let mut reply = bob.bare("GET", &format!("last-event-id: {last}\r\n")).await;
        if reply.status == 400 {
            continue;
        }
        // His own stream: it has only what comes now.
        assert_eq!(reply.status, 200, "{last}");
        let told = bob.call("test_trigger_prompt_change", json!({}));
        let (changed, next) = tokio::join!(told, reply.until("notifications/prompts/list_changed"));
        assert_eq!(changed.said(), "changed");
        assert!(next.get("id").is_none());
    }
    let mut own = ann.bare("GET", &format!("last-event-id: {event}\r\n")).await;
    assert_eq!(own.next().await.unwrap().value["params"]["progress"], 50, "her own is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_opened_late_or_again_goes_on_with_what_is_new() {
    let front = Front::of((Era::Legacy, Way::Stdio), everything).await;
    let caller = front.caller(Era::Legacy).await;
    // More than is kept, while nobody listens.
    for _ in 0..300 {
        assert_eq!(caller.call("test_trigger_prompt_change", json!({})).await.said(), "changed");
    }
    let mut news = caller.bare("GET", "").await;
    let told = news.until("notifications/prompts/list_changed").await;
    assert!(told.get("id").is_none());
    drop(news);
    let mut again = caller.bare("GET", "").await;
    assert_eq!(caller.call("test_trigger_resource_change", json!({})).await.said(), "changed");
    again.until("notifications/resources/list_changed").await;
    let mut gap = caller.bare("GET", "last-event-id: 0-1\r\n").await;
    assert_eq!(gap.status, 200);
    gap.until("notifications/resources/list_changed").await;
}

/// Two sessions with calls in flight on one process: nobody can tell whose a question is, so nobody is asked.
#[tokio::test(flavor = "multi_thread")]
async fn questions_and_log_messages_never_reach_another_session() {
    for way in [Way::Stdio, Way::Sse] {
        for other in [Era::Legacy, Era::Modern] {
            let front = Front::of((Era::Legacy, way), everything).await;
            let ann = front.caller(Era::Legacy).await;
            let bob = front.caller(other).await;
            if other == Era::Legacy {
                bob.ask("logging/setLevel", json!({"level": "debug"})).await;
            }
            let slow = json!({
                "name": "slow_compute", "arguments": {"seconds": 1.5, "label": "bob"},
                "_meta": {"progressToken": "b", "io.modelcontextprotocol/logLevel": "debug"}
            });
            let (bobs, anns) = tokio::join!(bob.ask("tools/call", slow), async {
                // His call is at work once the server has it; both go through one pipe, in order.
                let log = ann.call("test_tool_with_logging", json!({})).await;
                assert_eq!(log.said(), "Tool with logging executed successfully");
                ann.call("test_elicitation", json!({"message": "secret"})).await
            });
            assert_eq!(bobs.said(), "Computed: bob", "{way:?}");
            assert_eq!(bobs.notes, Vec::<Value>::new(), "{way:?} {other:?}");
            assert!(!bobs.text.contains("secret"), "{way:?}: {}", bobs.text);
            if other == Era::Legacy {
                // What was not asked for comes on its own stream, and ends here with a change that everybody hears.
                let mut news = bob.bare("GET", "").await;
                assert_eq!(ann.call("test_trigger_prompt_change", json!({})).await.said(), "changed");
                loop {
                    let next = news.next().await.unwrap();
                    assert_ne!(next.value["method"], "notifications/message", "{way:?}: {}", next.text);
                    if next.value["method"] == "notifications/prompts/list_changed" {
                        break;
                    }
                }
            }
            assert_eq!(anns.result()["isError"], true, "{way:?}: refused, not guessed: {}", anns.text);
        }
    }
}

/// One session, two calls in flight on one process: the question reaches the session, and outlives the call that it was
/// given to.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_not_lost_when_another_call_of_the_session_ends() {
    for way in [Way::Stdio, Way::Sse] {
        let front = Front::of((Era::Legacy, way), everything).await;
        let caller = front.caller(Era::Legacy).await;
        let slow = json!({"name": "slow_compute", "arguments": {"seconds": 1, "label": "x"}});
        let (slow_id, slow_body) = caller.message("tools/call", slow);
        let ask = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
        let (ask_id, ask_body) = caller.message("tools/call", ask);
        let ((mut asking, question), mut slow) = tokio::join!(
            async {
                let mut reply = caller.post(&ask_body, "").await;
                let question = reply.next().await;
                (reply, question)
            },
            caller.post(&slow_body, "")
        );
        // Wherever it was asked first, it is open again where the call is that needs it.
        let mut open = question.unwrap().value;
        let mut taken_back = Vec::new();
        let slow_answer = loop {
            let next = slow.next().await.unwrap().value;
            match next["method"].as_str() {
                Some("notifications/cancelled") => taken_back.push(next["params"]["requestId"].clone()),
                Some(_) => {}
                None => break next,
            }
        };
        assert_eq!(slow_answer["id"], slow_id, "{way:?}");
        while taken_back.contains(&open["id"]) {
            open = asking.next().await.unwrap().value;
        }
        assert_eq!(open["method"], "elicitation/create", "{way:?}: {open}");
        caller.respond(&open["id"], json!({"action": "decline"})).await;
        let answer = asking.next().await.unwrap();
        assert_eq!(answer.value["id"], ask_id, "{way:?}: {}", answer.text);
        assert!(answer.text.contains("action=decline"), "{way:?}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_told_when_nobody_waits_for_its_answer_any_more() {
    for (era, way) in [(Era::Legacy, Way::Http), (Era::Legacy, Way::Stdio), (Era::Modern, Way::Http)] {
        let front = Front::of((era, way), everything).await;
        let caller = front.caller(Era::Legacy).await;
        let ask = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
        let (id, mut reply) = caller.send("tools/call", ask).await;
        let question = reply.next().await.unwrap();
        assert_eq!(question.value["method"], "elicitation/create", "{}", question.text);
        caller.notify("notifications/cancelled", json!({"requestId": id})).await;
        let told = reply.next().await.unwrap();
        assert_eq!(told.value["method"], "notifications/cancelled", "{era:?} {way:?}: {}", told.text);
        assert_eq!(told.value["params"]["requestId"], question.value["id"], "{era:?} {way:?}");
        assert!(reply.next().await.is_none(), "{era:?} {way:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_survives_a_restart_of_the_server() {
    const WATCHED: &str = "test://watched-resource";
    for era in [Era::Legacy, Era::Modern] {
        for way in [Way::Http, Way::Stdio] {
            let (spec, fixture) = upstream("up", (era, way), everything).await;
            let mut front = Front::of_specs(vec![(spec, fixture)], CatalogueRules::default(), |_| {}).await;
            let mut fixtures = std::mem::take(&mut front.fixtures);
            for caller_era in [Era::Legacy, Era::Modern] {
                let caller = front.caller(caller_era).await;
                let mut news = caller.listen(&[WATCHED]).await;
                match fixtures.first_mut() {
                    Some(fixture) => fixture.restart().await.unwrap(),
                    None => front.service.running.gateway().fleet().restart("up").await.unwrap(),
                }
                let told = async {
                    let mut told = Box::pin(news.until("notifications/resources/updated"));
                    loop {
                        // Calls may fail while it is away; the first update that it can tell is enough.
                        let trigger = caller.call("test_trigger_resource_update", json!({"uri": WATCHED}));
                        tokio::select! {
                            told = &mut told => return told,
                            _ = trigger => {}
                        }
                        tokio::select! {
                            biased;
                            told = &mut told => return told,
                            () = gateway_testkit::pause() => {}
                        }
                    }
                };
                let told = tokio::time::timeout(PATIENCE, told).await;
                let told = told.unwrap_or_else(|_| panic!("{caller_era:?} caller, {era:?} over {way:?}"));
                assert_eq!(told["params"]["uri"], WATCHED);
            }
        }
    }
}
