//! Results that are too long for a model.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_agent::{
    Agent, AgentRequest, KeptResults, Limits, Model, Offer, ToolOutcome, Toolbox, ToolsError,
};
use gateway_config::ServiceConfig;
use gateway_dialects::Dialect;
use gateway_dialects::calls::ToolCall;
use gateway_protocol::RawJson;
use gateway_testkit::models::{ModelServer, RecordedRequest, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{model_of, strict_model};

/// One tool with this result.
#[derive(Debug)]
struct LongTool(RawJson);

impl LongTool {
    fn of_text(text: &str) -> Arc<Self> {
        Self::of(&json!({"content": [{"type": "text", "text": text}]}))
    }

    fn of(result: &Value) -> Arc<Self> {
        Arc::new(Self(RawJson::of(result).unwrap()))
    }
}

impl Toolbox for LongTool {
    fn offer<'a>(
        &'a self,
        _dialect: &'a Arc<Dialect>,
        _questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        let list = json!([{"type": "function", "function": {"name": "dump", "description": "Dumps", "parameters": {"type": "object", "properties": {}}}}]);
        async move { Ok(Offer { list: Some(list.to_string().into()), count: 1, ..Offer::nothing() }) }.boxed()
    }

    fn call<'a>(&'a self, _offer: &'a Offer, _call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        let result = self.0.clone();
        async move {
            ToolOutcome {
                result,
                code: None,
                is_bad: false,
                ran_on: None,
                notes: Vec::new(),
                duration: Duration::ZERO,
            }
        }
        .boxed()
    }
}

/// Calls `dump`, then reads the piece that the note names, then says what it read.
fn script() -> Script {
    Script::by(|request: &RecordedRequest| {
        let messages = request.body["messages"].as_array().unwrap();
        match messages.len() {
            1 => Step::reply(Reply::new().call("c1", "dump", json!({}))),
            3 => {
                let shown = messages[2]["content"].as_str().unwrap();
                let id = shown.split("the id \"").nth(1).unwrap().split('"').next().unwrap();
                let offset: u64 =
                    shown.split("from offset ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
                Step::reply(Reply::new().call(
                    "c2",
                    "read_result",
                    json!({"id": id, "offset": offset, "length": 100}),
                ))
            }
            _ => {
                let piece = messages[4]["content"].to_string();
                Step::reply(Reply::new().text(format!("I read {piece}")))
            }
        }
    })
}

#[tokio::test]
async fn a_long_result_is_cut_and_stays_readable_in_pieces() {
    let server = strict_model(Wire::Chat, script()).await;
    // 50 MB, each line with its number.
    let text = (0..3_500_000).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "line {line:08}");
        text
    });
    assert!(text.len() > 45 << 20);
    let model: Arc<dyn Model> = model_of(Wire::Chat, &server).await;
    let results = Arc::new(KeptResults::new(&ServiceConfig::default()));
    let agent = Agent::new(vec![model], LongTool::of_text(&text), Limits::default()).keeping(results);
    let finished = agent.answer(AgentRequest::of_user("Dump it")).await.unwrap();
    let requests = server.requests();
    for request in &requests[1..] {
        assert!(request.raw.len() < 64 << 10, "{} bytes", request.raw.len());
    }
    let names = |request: &RecordedRequest| -> Vec<String> {
        request.tools().iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(names(&requests[0]), ["dump"]);
    assert_eq!(names(&requests[1]), ["dump", "read_result"], "appended, once there is something to read");
    let shown = requests[1].body["messages"][2]["content"].as_str().unwrap();
    assert!(shown.starts_with("line 00000000\n") && shown.ends_with("line 03499999\n"), "head and tail stay");
    let offset: usize =
        shown.split("from offset ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let expected: Value = text[offset..offset + 100].into();
    let expected = expected.to_string();
    assert!(finished.text.contains(&expected.trim_matches('"').replace('\n', "\\n")), "{}", finished.text);
}

#[tokio::test]
async fn without_a_place_the_rest_is_gone_and_said_so() {
    let script =
        Script::new().reply(Reply::new().call("c1", "dump", json!({}))).reply(Reply::new().text("Ok."));
    let server = strict_model(Wire::Chat, script).await;
    let model = model_of(Wire::Chat, &server).await;
    let mut limits = Limits::default();
    limits.result_characters = 200;
    let agent = Agent::new(vec![model], LongTool::of_text(&"ä".repeat(1_000)), limits);
    agent.answer(AgentRequest::of_user("Dump it")).await.unwrap();
    let shown = server.requests()[1].body["messages"][2]["content"].as_str().unwrap().to_owned();
    // Two bytes each.
    assert_eq!(shown, format!("{}[… 900 characters cut …]{}", "ä".repeat(67), "ä".repeat(33)));
}

/// What the model is sent of a result.
async fn sent(wire: Wire, result: &Value) -> (RecordedRequest, gateway_agent::CallReport) {
    let script = Script::new()
        .reply(Reply::new().call("call00001", "dump", json!({})))
        .reply(Reply::new().text("Ok."));
    let server = ModelServer::start(wire, script).await.unwrap();
    let results = Arc::new(KeptResults::new(&ServiceConfig::default()));
    let model = model_of(wire, &server).await;
    let agent = Agent::new(vec![model], LongTool::of(result), Limits::default()).keeping(results);
    let mut finished = agent.answer(AgentRequest::of_user("Dump it")).await.unwrap();
    (server.requests().pop().unwrap(), finished.calls.pop().unwrap())
}

#[tokio::test]
async fn no_text_makes_the_next_request_long() {
    for text in ["漢", "\"\n", "\u{1}", "😀", "\\"] {
        let result = json!({"content": [{"type": "text", "text": text.repeat(200_000)}]});
        for wire in [Wire::Chat, Wire::Messages, Wire::GenerateContent] {
            let (request, _) = sent(wire, &result).await;
            assert!(request.raw.len() < 48 << 10, "{wire:?} {text:?}: {} bytes", request.raw.len());
        }
    }
}

#[tokio::test]
async fn long_data_beside_a_short_text_is_shown_and_kept() {
    let rows: Vec<String> = (0..5_000).map(|row| format!("row {row:05}")).collect();
    let result = json!({
        "content": [{"type": "text", "text": "See the data."}], "structuredContent": {"rows": rows},
    });
    let (request, report) = sent(Wire::Chat, &result).await;
    let shown = request.last_result().unwrap();
    assert!(shown.starts_with("See the data.\n{\"rows\":[\"row 00000\","), "{shown:.100}");
    assert!(shown.ends_with("\"row 04999\"]}"), "the end of the data is there");
    assert_eq!(report.result, shown);
    let id = report.result_id.unwrap();
    assert!(id.starts_with("res_") && shown.contains(&format!("with the id \"{id}\"")), "{id}");
}

#[tokio::test]
async fn images_beside_a_text_reach_the_model() {
    let data = "QUJD".repeat(84_000);
    let result = json!({"content": [
        {"type": "text", "text": "The screen."}, {"type": "image", "data": data, "mimeType": "image/png"},
    ]});
    let (request, report) = sent(Wire::Messages, &result).await;
    let content = &request.body["messages"][2]["content"][0]["content"];
    assert_eq!(content[0], json!({"type": "text", "text": "The screen."}));
    assert_eq!(
        content[1],
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
    );
    assert_eq!((report.result.as_str(), report.result_id), ("The screen.", None));
}

#[tokio::test]
async fn the_report_of_a_call_has_all_texts() {
    let texts = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    let (_, report) = sent(Wire::Chat, &json!({"content": texts})).await;
    assert_eq!((report.result.as_str(), report.result_id), ("one\ntwo", None));
}
