//! Servers that are late, hang or go away: others are not held up, and names stay.

use std::time::Duration;

use gateway_testkit::{Fault, Fixture};
use gateway_upstream::{CatalogueRules, Endpoint, UpstreamSpec};
use serde_json::json;

use super::wire::{Caller, ERAS, Era, Front, PATIENCE, Way, everything, upstream};

const FOREVER: Duration = Duration::from_hours(1);

/// One server that answers, and one that never does.
async fn with_a_hanging_one() -> Front {
    let (mut hanging, none) =
        upstream("hanging", (Era::Legacy, Way::Stdio), |fixture| fixture.mode(Fault::Silent)).await;
    hanging.timeouts.connect = FOREVER;
    let servers = vec![upstream("up", (Era::Legacy, Way::Http), everything).await, (hanging, none)];
    Front::of_specs(servers, CatalogueRules::default(), |config| {
        config.list_wait = Duration::from_secs(1);
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_takes_nothing_from_the_others() {
    let front = with_a_hanging_one().await;
    for era in ERAS {
        let caller = front.caller(era).await;
        let got = caller.ask("prompts/get", json!({"name": "test_simple_prompt"})).await;
        assert!(got.result()["messages"].is_array(), "{era:?}: {}", got.text);
        let read = caller.ask("resources/read", json!({"uri": "test://static-text"})).await;
        assert!(read.result()["contents"].is_array(), "{era:?}: {}", read.text);
        // In no list, so that the only server with resources is looked for.
        let unlisted = caller.ask("resources/read", json!({"uri": "other://nowhere"})).await;
        assert!(unlisted.answer["error"]["data"]["uri"] == "other://nowhere", "{era:?}: {}", unlisted.text);
        assert_eq!(caller.call("greet", json!({"name": "x"})).await.said(), "Hello, x!", "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_name_holds_always_and_names_stay_when_a_server_goes() {
    let servers = vec![
        upstream("one", (Era::Legacy, Way::Http), everything).await,
        upstream("two", (Era::Modern, Way::Http), everything).await,
    ];
    let mut front = Front::of_specs(servers, CatalogueRules::default(), |_| {}).await;
    let listed = {
        let caller = front.caller(Era::Modern).await;
        caller.ask("prompts/list", json!({})).await.result()["prompts"].clone()
    };
    assert!(listed.to_string().contains("one__test_simple_prompt"), "{listed}");
    drop(front.fixtures.pop());
    for era in ERAS {
        let caller = front.caller(era).await;
        let gone = caller.call("two__test_simple_text", json!({})).await;
        assert!(gone.answer.get("error").is_some(), "{}", gone.text);
        let now = caller.ask("prompts/list", json!({})).await;
        assert_eq!(now.result()["prompts"], listed, "{era:?}");
        let got = caller.ask("prompts/get", json!({"name": "one__test_simple_prompt"})).await;
        assert!(got.result()["messages"].is_array(), "{era:?}: {}", got.text);
    }
    let alone = Front::of((Era::Legacy, Way::Http), everything).await;
    for era in ERAS {
        let caller = alone.caller(era).await;
        for name in ["test_simple_prompt", "up__test_simple_prompt"] {
            let got = caller.ask("prompts/get", json!({"name": name})).await;
            assert!(got.result()["messages"].is_array(), "{era:?} {name}: {}", got.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_late_is_announced_with_all_that_it_has() {
    let late = |fixture: Fixture| fixture.everything().mode_with(Fault::SlowStart, 700);
    let servers = vec![
        (UpstreamSpec::new("demo", Endpoint::Demo), None),
        upstream("late", (Era::Legacy, Way::Stdio), late).await,
    ];
    let front = Front::of_specs(servers, CatalogueRules::default(), |config| {
        config.list_wait = Duration::from_millis(10);
    })
    .await;
    let caller = front.caller(Era::Legacy).await;
    let mut news = caller.bare("GET", "").await;
    // What nobody has looked at is no news when it comes.
    for list in ["tools/list", "resources/list", "prompts/list"] {
        caller.ask(list, json!({})).await.result();
    }
    let mut missing = vec![
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
    ];
    while !missing.is_empty() {
        let next = tokio::time::timeout(PATIENCE, news.next()).await.expect("news in time").unwrap();
        missing.retain(|method| next.value["method"] != *method);
    }
    let prompts = caller.ask("prompts/list", json!({})).await;
    assert!(prompts.text.contains("test_simple_prompt"), "{}", prompts.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_take_a_level_holds_up_no_news() {
    let deaf = |fixture: Fixture| {
        fixture.everything().mode(Fault::NeverAnswers).option("--fault-method", "logging/setLevel")
    };
    let (mut spec, none) = upstream("deaf", (Era::Legacy, Way::Stdio), deaf).await;
    spec.timeouts.call = FOREVER;
    spec.timeouts.call_maximum = FOREVER;
    let servers = vec![(spec, none), upstream("up", (Era::Legacy, Way::Stdio), everything).await];
    let front = Front::of_specs(servers, CatalogueRules::default(), |_| {}).await;
    let caller = front.caller(Era::Legacy).await;
    caller.ask("logging/setLevel", json!({"level": "debug"})).await.result();
    let mut news = caller.bare("GET", "").await;
    assert_eq!(front.service.post("/servers/deaf/restart", "{}").await.status, 200);
    caller.call("up__test_trigger_prompt_change", json!({})).await.result();
    tokio::time::timeout(PATIENCE, async {
        news.until("notifications/prompts/list_changed").await;
    })
    .await
    .expect("news of the other server");
}

/// A server that asks, and takes its question back when it is told to.
const FICKLE: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}}';;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}},{"name":"withdraw","inputSchema":{"type":"object"}}]}}';;
    *'"withdraw"'*) echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1","reason":"never mind"}}'
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[]}}';;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}';;
    *'"ping"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{}}';;
  esac
done
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_the_server_takes_back_is_taken_back_from_the_caller() {
    let endpoint = Endpoint::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), FICKLE.to_owned()],
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    let mut spec = UpstreamSpec::new("up", endpoint);
    spec.protocol = gateway_upstream::ProtocolChoice::Legacy;
    let front = Front::of_specs(vec![(spec, None)], CatalogueRules::default(), |_| {}).await;
    let caller = Caller::open(&front.service, Era::Legacy, "/mcp", "").await;
    let (_, mut reply) = caller.send("tools/call", json!({"name": "ask", "arguments": {}})).await;
    let question = reply.next().await.unwrap();
    assert_eq!(question.value["method"], "elicitation/create", "{}", question.text);
    caller.call("withdraw", json!({})).await.result();
    let taken = reply.next().await.unwrap();
    assert_eq!(taken.value["method"], "notifications/cancelled", "{}", taken.text);
    assert_eq!(taken.value["params"]["requestId"], question.value["id"], "{}", taken.text);
}
