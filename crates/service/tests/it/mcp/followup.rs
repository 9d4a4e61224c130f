//! The question of the built-in workspace reaches callers of both eras, each in its way.

use gateway_upstream::{CatalogueRules, Endpoint, UpstreamSpec, WorkspaceSpec};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::wire::{Caller, ERAS, Era, Front};

/// A gateway with a workspace behind it, and the directory.
async fn front() -> (Front, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "hello\n").unwrap();
    let spec = UpstreamSpec::new("files", Endpoint::Workspace(WorkspaceSpec::new(folder.path())));
    (Front::of_specs(vec![(spec, None)], CatalogueRules::default(), |_| {}).await, folder)
}

fn question() -> Value {
    json!({"name": "ask_followup_question", "arguments": {"question": "Which port?", "follow_up": ["80", "8080"]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_caller_gets_a_request_and_a_modern_one_comes_back() {
    let (front, _folder) = front().await;
    for era in ERAS {
        let caller = front.caller(era).await;
        let answers = |method: &str, params: &Value| {
            assert_eq!(
                (method, &params["message"]),
                ("elicitation/create", &json!("Server \"files\" asks: Which port?")),
                "{era:?}"
            );
            let suggested = &params["requestedSchema"]["properties"]["suggestion"]["enum"];
            assert_eq!(*suggested, json!(["80", "8080"]), "{era:?}");
            json!({"action": "accept", "content": {"suggestion": "8080"}})
        };
        let outcome = caller.ask_answering("tools/call", question(), &answers).await;
        assert_eq!(outcome.said(), "8080", "{era:?}");
        let declines = |_: &str, _: &Value| json!({"action": "decline"});
        let outcome = caller.ask_answering("tools/call", question(), &declines).await;
        assert_eq!(outcome.said(), "the user does not want to answer the question", "{era:?}");
        assert_eq!(outcome.result()["isError"], true, "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_caller_sees_the_question_with_a_state_of_ours() {
    let (front, _folder) = front().await;
    let caller = front.caller(Era::Modern).await;
    let asked = caller.once("tools/call", question()).await;
    let result = asked.result();
    assert_eq!(result["resultType"], "input_required", "{}", asked.text);
    assert_eq!(result["inputRequests"]["answer"]["method"], "elicitation/create", "{}", asked.text);
    let mut answered = question();
    answered["inputResponses"] = json!({"answer": {"action": "accept", "content": {"answer": "81"}}});
    answered["requestState"] = result["requestState"].clone();
    assert_eq!(caller.once("tools/call", answered.clone()).await.said(), "81");
    // The state belongs to this question.
    answered["arguments"]["question"] = json!("Which host?");
    assert_eq!(caller.once("tools/call", answered).await.error().0, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_who_cannot_answer_are_told_so() {
    let (front, _folder) = front().await;
    for era in ERAS {
        let caller = Caller::able(&front.service, era, "/mcp", "", json!({})).await;
        let outcome = caller.ask("tools/call", question()).await;
        assert!(outcome.said().starts_with("nobody can be asked"), "{era:?}: {}", outcome.text);
        assert_eq!(outcome.result()["isError"], true, "{era:?}");
        // Everything else works for them.
        let read = caller.call("read_file", json!({"path": "note.txt"})).await;
        assert_eq!(read.said(), "hello\n", "{era:?}");
    }
    let plain = r#"{"tool":"ask_followup_question","arguments":{"question":"Which port?"}}"#;
    let answer = front.service.post("/call_tool", plain).await;
    assert!(answer.body.contains("nobody can be asked"), "{} {}", answer.status, answer.body);
}
