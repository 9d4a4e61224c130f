//! `ask_followup_question`: asked by a result, answered by the next call.

use gateway_protocol::{MODERN, meta};
use serde_json::{Value, json};

use super::workbench::Bench;

async fn ask(arguments: &Value, capabilities: &Value, responses: Option<Value>) -> Value {
    let mut params = json!({
        "name": "ask_followup_question", "arguments": arguments,
        "_meta": {meta::PROTOCOL_VERSION: MODERN, meta::CLIENT_CAPABILITIES: capabilities}
    });
    if let Some(responses) = responses {
        params["inputResponses"] = responses;
    }
    Bench::new().ask("tools/call", &params).await
}

fn able() -> Value {
    json!({"elicitation": {"form": {}}})
}

#[tokio::test]
async fn a_caller_that_can_be_asked_is_asked() {
    for capabilities in [json!({"elicitation": {}}), able(), json!({"elicitation": {"form": {}, "url": {}}})]
    {
        let asked = ask(&json!({"question": "Which port?"}), &capabilities, None).await;
        let form = json!({
            "type": "object", "properties": {"answer": {"type": "string", "title": "Answer"}}, "required": ["answer"]
        });
        let params = json!({"mode": "form", "message": "Which port?", "requestedSchema": form});
        let expected = json!({
            "resultType": "input_required",
            "inputRequests": {"answer": {"method": "elicitation/create", "params": params}},
        });
        assert_eq!(asked, expected, "{capabilities}");
    }
}

#[tokio::test]
async fn suggestions_become_choices_beside_a_free_answer() {
    let form = json!({
        "type": "object",
        "properties": {
            "suggestion": {"type": "string", "title": "Suggested answers", "enum": ["80", "8080"]},
            "answer": {"type": "string", "title": "Another answer"},
        },
        "required": [],
    });
    for follow_up in [
        json!(["80", " 8080 ", "", "80"]),
        json!("[\"80\", \"8080\"]"),
        json!("<follow_up><suggest>80</suggest>\n<suggest>8080</suggest></follow_up>"),
    ] {
        let asked = ask(&json!({"question": "Which port?", "follow_up": follow_up}), &able(), None).await;
        assert_eq!(asked["inputRequests"]["answer"]["params"]["requestedSchema"], form, "{follow_up}");
    }
    let one = ask(&json!({"question": "Port?", "follow_up": "80, as usual"}), &able(), None).await;
    let choices =
        &one["inputRequests"]["answer"]["params"]["requestedSchema"]["properties"]["suggestion"]["enum"];
    assert_eq!(*choices, json!(["80, as usual"]));
}

#[tokio::test]
async fn the_answer_is_the_result() {
    let question = json!({"question": "Which port?", "follow_up": ["80"]});
    for (response, expected, is_error) in [
        (json!({"action": "accept", "content": {"answer": "81"}}), "81", false),
        (json!({"action": "accept", "content": {"suggestion": "80"}}), "80", false),
        (json!({"action": "accept", "content": {"suggestion": "80", "answer": "82"}}), "82", false),
        (json!({"action": "accept", "content": {"answer": " "}}), "(No response)", false),
        (json!({"action": "accept"}), "(No response)", false),
        (json!({"action": "decline"}), "the user does not want to answer the question", true),
        (json!({"action": "cancel"}), "the user left the question without an answer", true),
        (json!({}), "the answer has no `action` that is known", true),
    ] {
        let result = ask(&question, &able(), Some(json!({"answer": response}))).await;
        assert_eq!(result["content"], json!([{"type": "text", "text": expected}]), "{response}");
        assert_eq!(result.get("isError").is_some(), is_error, "{response}");
        assert_eq!(result["resultType"], "complete", "{response}");
    }
    // An answer to something else is no answer.
    let again = ask(&question, &able(), Some(json!({"other": {"action": "accept"}}))).await;
    assert_eq!(again["resultType"], "input_required");
}

#[tokio::test]
async fn who_cannot_be_asked_is_told_so() {
    for capabilities in
        [json!({}), json!({"elicitation": null}), json!({"elicitation": {"url": {}}}), json!(null)]
    {
        let result = ask(&json!({"question": "Which port?"}), &capabilities, None).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("nobody can be asked: the caller's side does not offer elicitation"),
            "{text}"
        );
        assert_eq!((&result["isError"], &result["resultType"]), (&json!(true), &json!("complete")));
    }
    let legacy = Bench::new().call("ask_followup_question", json!({"question": "Which port?"})).await;
    assert!(legacy.unwrap_err().starts_with("nobody can be asked"));
}

#[tokio::test]
async fn wrong_questions_are_told_to_the_model() {
    for (arguments, expected) in [
        (json!({}), "argument `question` is missing"),
        (json!({"question": " "}), "must have 1 to 10000 bytes"),
        (json!({"question": "x".repeat(10_001)}), "must have 1 to 10000 bytes"),
        (json!({"question": "x", "follow_up": [1]}), "must be a list of strings"),
        (json!({"question": "x", "follow_up": {}}), "must be a list of strings"),
        (json!({"question": "x", "options": []}), "there is no argument `options`"),
        (
            json!({"question": "x", "follow_up": (0..21).map(|n| n.to_string()).collect::<Vec<_>>()}),
            "at most 20",
        ),
    ] {
        let result = ask(&arguments, &able(), None).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(expected), "{arguments}: {text}");
    }
}
