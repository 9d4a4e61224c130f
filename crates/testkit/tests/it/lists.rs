//! Lists of tools, whole, in pages and wrong.

use gateway_testkit::{Fault, Fixture, SpokenEra};
use serde_json::{Value, json};

use crate::talk::{Talk, call, modern, request};

const BUILTIN: usize = 18;

async fn page(talk: &mut Talk, cursor: Option<&str>) -> Value {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    talk.ask(&request(1, "tools/list", &params)).await
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The sizes of all pages and the names on them.
async fn read_all(fixture: &Fixture) -> (Vec<usize>, Vec<String>) {
    let mut talk = Talk::open(fixture).await;
    let (mut sizes, mut all, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        let answer = page(&mut talk, cursor.as_deref()).await;
        let names = names(&answer);
        sizes.push(names.len());
        all.extend(names);
        cursor = answer["result"]["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return (sizes, all);
        }
    }
}

#[tokio::test]
async fn generated_tools_and_a_corpus_are_listed_and_echo() {
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("tools.jsonl");
    std::fs::write(&lines, "{\"name\":\"from_lines\",\"inputSchema\":{\"type\":\"object\"},\"z\":1e400}\n\n")
        .unwrap();
    let document = folder.path().join("server.json");
    std::fs::write(&document, "{\"tools\": [\n {\"name\": \"from_document\",\n \"inputSchema\": {}}]}")
        .unwrap();
    let fixture = Fixture::stdio()
        .option("--tools", 3)
        .option("--corpus", lines.display())
        .option("--corpus", document.display())
        .args(["--no-builtin"]);
    let mut talk = Talk::open(&fixture).await;
    talk.send(&request(1, "tools/list", &json!({}))).await;
    let line = talk.line().await.unwrap();
    assert!(line.contains(r#"{"name":"from_lines","inputSchema":{"type":"object"},"z":1e400}"#), "{line}");
    for name in ["tool_00000", "tool_00002", "from_document"] {
        assert!(line.contains(name), "{line}");
    }
    let echo = talk.ask(&call(2, "from_document", &json!({"q": 1}))).await;
    assert_eq!(echo["result"]["structuredContent"], json!({"q": 1}));
}

#[tokio::test]
async fn pages_hold_the_whole_list_once() {
    let (_, whole) = read_all(&Fixture::stdio()).await;
    assert_eq!(whole.len(), BUILTIN);
    let (sizes, paged) = read_all(&Fixture::stdio().option("--page-size", 7)).await;
    assert_eq!((sizes, paged), (vec![7, 7, 4], whole.clone()));
    let (sizes, paged) = read_all(&Fixture::stdio().mode(Fault::Paged)).await;
    assert_eq!((sizes, paged), (vec![2; 9], whole.clone()));
    let (sizes, paged) = read_all(&Fixture::stdio().mode_with(Fault::EmptyPages, 9)).await;
    assert_eq!((sizes, paged), (vec![9, 0, 9], whole));
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::Paged)).await;
    assert_eq!(page(&mut talk, Some("nonsense")).await["error"]["code"], -32602);
}

#[tokio::test]
async fn pages_can_repeat_or_never_end() {
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::CursorLoop)).await;
    let first = page(&mut talk, None).await;
    let second = page(&mut talk, first["result"]["nextCursor"].as_str()).await;
    assert_eq!(first, second);

    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::EndlessPages)).await;
    let mut seen = std::collections::HashSet::new();
    let mut cursor = None::<String>;
    for _ in 0..100 {
        let answer = page(&mut talk, cursor.as_deref()).await;
        cursor = Some(answer["result"]["nextCursor"].as_str().unwrap().to_owned());
        assert!(seen.insert(names(&answer)) && !names(&answer).is_empty());
    }
}

#[tokio::test]
async fn lists_can_fail_or_stay_unanswered() {
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::FailingPage)).await;
    let first = page(&mut talk, None).await;
    assert_eq!(names(&first).len(), 2);
    let second = page(&mut talk, first["result"]["nextCursor"].as_str()).await;
    assert_eq!(second["error"]["code"], -32603);

    let mut talk = Talk::open(&Fixture::stdio().mode_with(Fault::FailFirstList, 2)).await;
    for _ in 0..2 {
        assert_eq!(page(&mut talk, None).await["error"]["code"], -32603);
    }
    assert_eq!(names(&page(&mut talk, None).await).len(), BUILTIN);

    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::SilentList)).await;
    talk.send(&request(1, "tools/list", &json!({}))).await;
    assert!(talk.is_silent().await);
    assert_eq!(talk.ask(&call(2, "echo", &json!({}))).await["id"], 2);
}

#[tokio::test]
async fn a_storm_of_changes_is_notified_and_listed() {
    let storm = Fixture::stdio().mode_with(Fault::ListChangedStorm, 25);
    let mut talk = Talk::open(&storm).await;
    assert_eq!(names(&page(&mut talk, None).await).len(), BUILTIN);
    for _ in 0..25 {
        assert_eq!(talk.message().await["method"], "notifications/tools/list_changed");
    }
    assert_eq!(names(&page(&mut talk, None).await).last().unwrap(), "revision_25");
    assert!(talk.is_silent().await);

    let mut talk = Talk::start(&storm.era(SpokenEra::Modern));
    let listen = json!({"notifications": {"toolsListChanged": true}});
    talk.ask(&modern(request(1, "subscriptions/listen", &listen))).await;
    talk.ask(&modern(request(2, "tools/list", &json!({})))).await;
    for _ in 0..25 {
        let note = talk.message().await;
        assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    }
}

#[tokio::test]
async fn a_definition_can_change_without_notice() {
    let mut talk = Talk::open(&Fixture::stdio().mode_with(Fault::ChangedDefinition, 2)).await;
    let mut definitions = Vec::new();
    for _ in 0..4 {
        definitions.push(page(&mut talk, None).await["result"]["tools"][0].clone());
    }
    assert_eq!(definitions[0], definitions[1]);
    assert_ne!(definitions[1], definitions[2]);
    assert_eq!(definitions[2], definitions[3]);
    assert_eq!(definitions[2]["name"], "add");
}

#[tokio::test]
async fn a_tool_with_a_wrong_annotation_is_listed_on_demand() {
    let (_, names) = read_all(&Fixture::stdio().mode(Fault::BadHeaderTool)).await;
    assert!(names.contains(&"bad_header".to_owned()));
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::BadHeaderTool)).await;
    let list = page(&mut talk, None).await;
    let invalid = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| gateway_protocol::header_parameters(&tool["inputSchema"]).is_err());
    assert_eq!(invalid.count(), 1);
}
