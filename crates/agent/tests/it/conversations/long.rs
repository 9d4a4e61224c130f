//! Long conversations: a summary stands for what is older, and the messages stay.

use gateway_testkit::models::{Fault, ModelServer, RecordedRequest, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use super::Kept;
use crate::gateway::strict_model;

/// A model that says `answer`, or `summary` where it is asked to sum up.
async fn model(summary: Step) -> ModelServer {
    let script = Script::by(move |request| {
        if asks_for_a_summary(request) { summary.clone() } else { Step::reply(Reply::new().text("Yes.")) }
    });
    strict_model(Wire::Chat, script).await
}

fn asks_for_a_summary(request: &RecordedRequest) -> bool {
    request.body["messages"][0]["content"].as_str().is_some_and(|text| text.starts_with("You sum up"))
}

async fn talk(kept: &Kept, messages: std::ops::Range<u32>) {
    for number in messages {
        kept.ask(&format!("Question {number}"), false).await.unwrap();
    }
}

fn sent(server: &ModelServer) -> Vec<Value> {
    let last = server.requests().into_iter().rfind(|request| !asks_for_a_summary(request)).unwrap();
    serde_json::from_value(last.body["messages"].clone()).unwrap()
}

#[tokio::test]
async fn above_the_bound_the_model_gets_a_summary_and_the_recent_messages() {
    let server = model(Step::reply(Reply::new().text("They talked."))).await;
    let kept = Kept::with(&[(Wire::Chat, &server)], |config| {
        (config.conversations.summarize_after, config.conversations.keep_recent) = (6, 2);
    })
    .await;
    talk(&kept, 0..3).await;
    let summaries = || server.requests().into_iter().filter(asks_for_a_summary).collect::<Vec<_>>();
    assert_eq!(summaries().len(), 0);
    // System, three questions, three answers and this one: eight messages.
    talk(&kept, 3..4).await;
    assert_eq!(summaries().len(), 1);
    let asked = summaries()[0].body["messages"][1]["content"].as_str().unwrap().to_owned();
    assert!(
        asked.contains("Question 0") && asked.contains("Yes.") && !asked.contains("Question 3"),
        "{asked}"
    );
    assert_eq!(summaries()[0].tools(), []);
    let recent = sent(&server);
    assert_eq!(
        recent,
        [
            json!({"role": "system", "content": "Be brief.\n\nSummary of the conversation so far:\nThey talked."}),
            json!({"role": "user", "content": "Question 2"}),
            json!({"role": "assistant", "content": "Yes."}),
            json!({"role": "user", "content": "Question 3"}),
        ]
    );
    // The originals stay, and the summary is used until it is too old.
    assert_eq!(kept.messages().await.len(), 9);
    assert_eq!(kept.read().await["metadata"]["summary"], json!({"covers": 5, "text": "They talked."}));
    talk(&kept, 4..5).await;
    assert_eq!((summaries().len(), sent(&server).len()), (1, 6));
    talk(&kept, 5..6).await;
    assert_eq!(summaries().len(), 2);
    let asked = summaries()[1].body["messages"][1]["content"].as_str().unwrap().to_owned();
    assert!(
        asked.starts_with("Summary of what came before:\nThey talked.") && !asked.contains("Question 1"),
        "{asked}"
    );
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_never_fails_the_turn() {
    for summary in [Step::fault(Fault::ServerError), Step::reply(Reply::new().text(" "))] {
        let server = model(summary).await;
        let kept = Kept::with(&[(Wire::Chat, &server)], |config| {
            (config.conversations.summarize_after, config.conversations.keep_recent) = (3, 1);
        })
        .await;
        talk(&kept, 0..3).await;
        assert_eq!(sent(&server).len(), 6);
        assert!(kept.read().await["metadata"].get("summary").is_none());
    }
}
