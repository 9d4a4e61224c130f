//! Personal data between callers, tools and models.

use std::sync::{Arc, Mutex};

use gateway_agent::completions::{Completion, CompletionError};
use gateway_agent::{
    Agent, AgentError, AgentRequest, Face, Finished, History, Limits, Screen, ScriptedModel, Stop,
};
use gateway_config::{ScreenModes, ServiceConfig};
use gateway_dialects::history::{Content, Message, Role};
use gateway_dialects::stream::StreamEvent;
use gateway_privacy::{Kind, Mode};
use gateway_protocol::RawJson;
use gateway_runtime::context::RequestContext;
use gateway_runtime::owner::Owner;
use gateway_store::Filter;
use gateway_testkit::models::{Delivery, ModelServer, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, joined};
use crate::tools::{FnTools, called, result, said};

const CARD: &str = "4242 4242 4242 4242";
const MAIL: &str = "anna@example.com";

pub(crate) fn modes(messages: Option<Mode>, results: Option<Mode>, answers: Option<Mode>) -> ScreenModes {
    let mut modes = ScreenModes::default();
    (modes.messages, modes.results, modes.answers) = (messages, results, answers);
    modes
}

/// A gateway that screens what comes by `/v1`.
pub(crate) fn gateway(server: &ModelServer, modes: ScreenModes) -> Gateway {
    Gateway::with(Wire::Chat, server, |config| config.privacy.completions = modes)
}

pub(crate) async fn model(script: Script) -> ModelServer {
    ModelServer::start(Wire::Chat, script).await.unwrap()
}

pub(crate) fn request(text: &str, stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": text}]})
}

/// The text of an answer and what the gateway says beside it.
pub(crate) async fn answered(gateway: &Gateway, request: &Value) -> Result<(String, Value), CompletionError> {
    if request["stream"] == true {
        let chunks = gateway.streamed(request, None).await?;
        let last = chunks.last().unwrap()["gateway"].clone();
        return Ok((joined(&chunks, "content"), last));
    }
    let whole = gateway.whole(request, None).await?;
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned();
    Ok((text, whole["gateway"].clone()))
}

/// What the model was sent as messages, by request.
pub(crate) fn sent(server: &ModelServer) -> Vec<Value> {
    server.requests().into_iter().map(|request| request.body["messages"].clone()).collect()
}

/// A loop over this script and one tool, screened as `/conversations` is.
async fn run(
    replies: Vec<Vec<StreamEvent>>,
    tool: Value,
    modes: ScreenModes,
    history: History,
) -> (Result<Finished, AgentError>, Vec<String>) {
    run_raw(replies, RawJson::of(&tool).unwrap(), modes, history).await
}

/// The same with a result of the tool that no value holds.
pub(crate) async fn run_raw(
    replies: Vec<Vec<StreamEvent>>,
    tool: RawJson,
    modes: ScreenModes,
    history: History,
) -> (Result<Finished, AgentError>, Vec<String>) {
    let mut config = ServiceConfig::default();
    config.privacy.conversations = modes;
    let gateway = Gateway::new(config);
    let arguments = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&arguments);
    let tools = FnTools::new(move |call| {
        seen.lock().unwrap().push(call.arguments.to_text().into_owned());
        let mut outcome = result("");
        outcome.result = tool.clone();
        async move { outcome }
    });
    let context = RequestContext::new(Some(Owner::caller("alice")));
    let screen = Screen::new(&gateway.runtime, Face::Conversations, &context);
    let scripted = Arc::new(ScriptedModel::new(replies));
    let agent = Agent::new(vec![scripted], tools, Limits::default()).screening(screen);
    let finished = agent.answer(AgentRequest { history, ..AgentRequest::default() }).await;
    let arguments = arguments.lock().unwrap().clone();
    (finished, arguments)
}

pub(crate) fn user(text: &str) -> History {
    History::of_messages(vec![Message::new(Role::User, Content::Text(text.to_owned()))])
}

pub(crate) fn found(finished: &Finished) -> Value {
    finished.personal_data.iter().map(gateway_agent::FoundData::to_json).collect()
}

#[tokio::test]
async fn nothing_is_looked_for_unless_it_is_configured() {
    let server = model(Script::new().last(Reply::new().text(format!("Mail {MAIL}.")))).await;
    let gateway = gateway(&server, ScreenModes::default());
    for stream in [false, true] {
        let (text, beside) =
            answered(&gateway, &request(&format!("My card is {CARD}."), stream)).await.unwrap();
        assert_eq!((text, beside.get("personalData")), (format!("Mail {MAIL}."), None));
    }
    assert_eq!(sent(&server)[0][0]["content"], format!("My card is {CARD}."));
    let context = RequestContext::new(None);
    assert!(Screen::new(&gateway.runtime, Face::Completions, &context).is_none());
}

#[tokio::test]
async fn messages_are_marked_masked_or_blocked() {
    let question = format!("My card is {CARD}, write to {MAIL} and {MAIL}.");
    for stream in [false, true] {
        for (mode, expected) in [
            (Mode::Mark, question.as_str()),
            (Mode::Mask, "My card is [card], write to [email] and [email]."),
        ] {
            let server = model(Script::new().last(Reply::new().text("Done."))).await;
            let gateway = gateway(&server, modes(Some(mode), None, None));
            let (text, beside) = answered(&gateway, &request(&question, stream)).await.unwrap();
            assert_eq!(text, "Done.");
            assert_eq!(sent(&server), [json!([{"role": "user", "content": expected}])]);
            let kinds = json!({"email": 2, "card": 1});
            let expected = json!([{"part": "messages", "mode": mode.name(), "kinds": kinds}]);
            assert_eq!(beside["personalData"], expected);
        }
        let server = model(Script::new().last(Reply::new().text("Done."))).await;
        let gateway = gateway(&server, modes(Some(Mode::Block), None, None));
        let error = answered(&gateway, &request(&question, stream)).await.unwrap_err();
        assert_eq!(
            error.body(),
            json!({"error": {"type": "invalid_request_error", "param": "messages", "code": "PERSONAL_DATA",
                "message": "the message contains personal data (email, card), which this gateway does not pass on to models; \
                            leave it out and send the message again"}})
        );
        assert_eq!(server.requests().len(), 0);
        answered(&gateway, &request("No data.", stream)).await.unwrap();
    }
}

/// What was said before cannot be taken back: it is masked, and the conversation goes on.
#[tokio::test]
async fn blocking_refuses_new_messages_of_the_user_only() {
    let server = model(Script::new().last(Reply::new().text("Done."))).await;
    let gateway = gateway(&server, modes(Some(Mode::Block), Some(Mode::Block), None));
    let mut body = request("And now?", false);
    let arguments = format!("{{\"to\":\"{MAIL}\"}}");
    body["messages"] = json!([
        {"role": "system", "content": format!("You answer for {MAIL}.")},
        {"role": "user", "content": [{"type": "text", "text": format!("I am {MAIL}.")}, {"type": "image_url", "image_url": {"url": "data:a@b.co"}}]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": "c1", "content": format!("{{\"card\":\"{CARD}\"}}")},
        {"role": "assistant", "content": format!("You are {MAIL}.")},
        {"role": "user", "content": "And now?"},
    ]);
    gateway.whole(&body, Some("auto")).await.unwrap();
    let messages = sent(&server).pop().unwrap();
    assert_eq!(messages[0]["content"], "You answer for [email].");
    assert_eq!(messages[1]["content"][0]["text"], "I am [email].");
    assert_eq!(messages[1]["content"][1]["image_url"]["url"], "data:a@b.co");
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{\"to\":\"[email]\"}");
    let withheld = messages[3]["content"].as_str().unwrap();
    assert!(withheld.starts_with("The result was withheld: it contains personal data (card)"), "{withheld}");
    assert_eq!(messages[4]["content"], "You are [email].");
}

#[tokio::test]
async fn results_are_masked_in_nested_data_and_arguments_stay() {
    let data = json!({
        "content": [
            {"type": "text", "text": format!("{{\"people\":[{{\"ssn\":536904399,\"to\":[\"{MAIL}\"]}}]}}")},
            {"type": "image", "data": "aGk+4155552671", "mimeType": "image/png"},
        ],
        "structuredContent": {"people": [{"ssn": 536_904_399, "to": [MAIL], "order": 1_700_000_000_000_u64}]},
    });
    let replies = || vec![vec![called("c1", "find", &json!({"card": CARD}))], vec![said("Done.")]];
    let modes = modes(None, Some(Mode::Mask), None);
    let (finished, arguments) = run(replies(), data.clone(), modes, user("Who?")).await;
    let finished = finished.unwrap();
    assert_eq!(arguments, [json!({"card": CARD}).to_string()]);
    let shown = serde_json::to_value(&finished.added[1]).unwrap();
    let block = &shown["content"][0];
    assert_eq!(block["content"][0]["text"], "{\"people\":[{\"ssn\":\"[ssn]\",\"to\":[\"[email]\"]}]}");
    assert_eq!(
        block["structuredContent"],
        json!({"people": [{"ssn": "[ssn]", "to": ["[email]"], "order": 1_700_000_000_000_u64}]})
    );
    let text = shown.to_string();
    assert!(text.contains("aGk+4155552671") && !text.contains(MAIL) && !text.contains("536904399"), "{text}");
    assert_eq!(finished.calls[0].result, "{\"people\":[{\"ssn\":\"[ssn]\",\"to\":[\"[email]\"]}]}");
    assert_eq!(
        found(&finished),
        json!([{"part": "results", "mode": "mask", "kinds": {"email": 2, "ssn": 2}}])
    );
}

#[tokio::test]
async fn a_result_is_marked_or_withheld() {
    let data = json!({"content": [{"type": "text", "text": format!("Pay {CARD}.")}]});
    let replies = || vec![vec![called("c1", "find", &json!({}))], vec![said("Done.")]];
    let (finished, _) = run(replies(), data.clone(), modes(None, Some(Mode::Mark), None), user("Pay")).await;
    let finished = finished.unwrap();
    assert_eq!(finished.calls[0].result, format!("Pay {CARD}."));
    assert_eq!(found(&finished), json!([{"part": "results", "mode": "mark", "kinds": {"card": 1}}]));

    let (finished, arguments) = run(replies(), data, modes(None, Some(Mode::Block), None), user("Pay")).await;
    let finished = finished.unwrap();
    assert_eq!((arguments.len(), finished.text.as_str()), (1, "Done."));
    let call = &finished.calls[0];
    assert_eq!(call.code, Some("PERSONAL_DATA"));
    assert!(call.result.contains("withheld: it contains personal data (card)"), "{}", call.result);
    let added = serde_json::to_string(&finished.added).unwrap();
    assert!(!added.contains("4242") && added.contains("withheld"), "{added}");
}

/// A long result is kept as the model is shown it, so that reading it in pieces shows no more.
#[tokio::test]
async fn long_results_are_masked_before_they_are_kept() {
    let text = format!("{} {MAIL} {}", "word ".repeat(40_000), "word ".repeat(40_000));
    let data = json!({"content": [{"type": "text", "text": text}]});
    let replies = vec![vec![called("c1", "find", &json!({}))], vec![said("Done.")]];
    let (finished, _) = run(replies, data, modes(None, Some(Mode::Mask), None), user("Long")).await;
    let finished = finished.unwrap();
    assert_eq!(found(&finished), json!([{"part": "results", "mode": "mask", "kinds": {"email": 1}}]));
    assert!(!serde_json::to_string(&finished.added).unwrap().contains(MAIL));
}

#[tokio::test]
async fn answers_are_masked_wherever_the_stream_is_cut() {
    let answer = format!("Your card {CARD} and\n{MAIL}, thanks.");
    for delivery in [Delivery::usual(), Delivery::single_bytes(), Delivery::one_chunk()] {
        let reply = Reply::new().reasoning(format!("It is {MAIL} ")).text(answer.clone());
        let server = model(Script::new().last(Step::reply(reply).delivered(delivery))).await;
        for (mode, expected, thought) in [
            (Mode::Mask, "Your card [card] and\n[email], thanks.".to_owned(), "It is [email] ".to_owned()),
            (Mode::Mark, answer.clone(), format!("It is {MAIL} ")),
        ] {
            let gateway = gateway(&server, modes(None, None, Some(mode)));
            let chunks = gateway.streamed(&request("Card?", true), None).await.unwrap();
            assert_eq!(joined(&chunks, "content"), expected);
            assert_eq!(joined(&chunks, "reasoning_content"), thought);
            let whole = gateway.whole(&request("Card?", false), None).await.unwrap();
            let message = &whole["choices"][0]["message"];
            assert_eq!(
                (&message["content"], &message["reasoning_content"]),
                (&json!(expected), &json!(thought))
            );
            let data = json!([{"part": "answers", "mode": mode.name(), "kinds": {"email": 2, "card": 1}}]);
            assert_eq!(whole["gateway"]["personalData"], data);
            assert_eq!(chunks.last().unwrap()["gateway"]["personalData"], data);
        }
    }
}

#[tokio::test]
async fn a_blocked_answer_ends_before_the_data() {
    let reply = Reply::new().text(format!("Write to {MAIL} today, and so on."));
    let expected =
        "Write to [The rest of the answer was withheld: it contains personal data (email).]".to_owned();
    for delivery in [Delivery::usual(), Delivery::single_bytes()] {
        let server = model(Script::new().last(Step::reply(reply.clone()).delivered(delivery))).await;
        let gateway = gateway(&server, modes(None, None, Some(Mode::Block)));
        for stream in [false, true] {
            let (text, beside) = answered(&gateway, &request("Who?", stream)).await.unwrap();
            assert_eq!(text, expected);
            assert_eq!(beside["personalData"][0]["mode"], "block");
        }
        let whole = gateway.whole(&request("Who?", false), None).await.unwrap();
        assert_eq!(whole["choices"][0]["finish_reason"], "content_filter");
    }
    let replies = vec![vec![said(&format!("To {MAIL} ")), called("c1", "send", &json!({}))]];
    let (finished, arguments) =
        run(replies, json!({"content": []}), modes(None, None, Some(Mode::Block)), user("Send")).await;
    let finished = finished.unwrap();
    assert_eq!(finished.stop, Stop::Cut("content_filter".to_owned()));
    // Stored is what was shown, and nothing that came after it.
    let stored = serde_json::to_value(&finished.added).unwrap();
    assert_eq!((stored[0]["content"].as_str(), arguments.len()), (Some(finished.text.as_str()), 0));
}

#[tokio::test]
async fn a_history_of_the_store_is_screened_too() {
    let history = History::of_messages(vec![
        Message::new(Role::User, Content::Text(format!("I am {MAIL}."))),
        Message::new(Role::Assistant, Content::Text(format!("Hello {MAIL}."))),
        Message::new(Role::User, Content::Text("Go on.".to_owned())),
    ]);
    let (finished, _) =
        run(vec![vec![said("Yes.")]], json!({}), modes(Some(Mode::Block), None, None), history).await;
    assert_eq!(
        found(&finished.unwrap()),
        json!([{"part": "messages", "mode": "mask", "kinds": {"email": 2}}])
    );
}

/// A message is refused before it is stored. What is stored is no reason to refuse anything, also if nobody answered it.
#[tokio::test]
async fn a_stored_message_without_an_answer_ends_no_conversation() {
    let history = History::of_messages(vec![
        Message::new(Role::User, Content::Text(format!("I am {MAIL}."))),
        Message::new(Role::User, Content::Text("Go on.".to_owned())),
    ]);
    let (finished, _) =
        run(vec![vec![said("Yes.")]], json!({}), modes(Some(Mode::Block), None, None), history).await;
    assert_eq!(
        found(&finished.unwrap()),
        json!([{"part": "messages", "mode": "mask", "kinds": {"email": 1}}])
    );
}

/// A signature covers the text that it came with: such reasoning goes back as it was, and only a model's.
#[tokio::test]
async fn signed_reasoning_of_a_model_stays() {
    let server = model(Script::new().last(Reply::new().text("Done."))).await;
    let gateway = gateway(&server, modes(Some(Mode::Mask), None, None));
    let signed = json!([{"type": "reasoning.text", "text": MAIL, "signature": "s"}]);
    let mut body = request("Go on.", false);
    body["messages"] = json!([
        {"role": "user", "content": "Hi.", "reasoning_details": signed},
        {"role": "assistant", "content": MAIL, "reasoning_details": signed},
        {"role": "user", "content": "Go on."},
    ]);
    answered(&gateway, &body).await.unwrap();
    let messages = sent(&server).pop().unwrap();
    assert_eq!(messages[0]["reasoning_details"][0]["text"], "[email]");
    assert_eq!((&messages[1]["content"], &messages[1]["reasoning_details"]), (&json!("[email]"), &signed));
}

#[tokio::test]
async fn a_text_is_kept_as_the_model_gets_it() {
    for (mode, expected) in [
        (None, Some(MAIL)),
        (Some(Mode::Mark), Some(MAIL)),
        (Some(Mode::Mask), Some("[email]")),
        (Some(Mode::Block), None),
    ] {
        let mut config = ServiceConfig::default();
        config.privacy.chat = modes(mode, None, Some(Mode::Mark));
        let gateway = Gateway::new(config);
        let screen = Screen::new(&gateway.runtime, Face::Chat, &RequestContext::new(None)).unwrap();
        assert_eq!(screen.kept_text(MAIL).ok().as_deref(), expected, "{mode:?}");
    }
}

/// With `x-gateway-tools: none` requests go on as they came, and are no way around the screen.
#[tokio::test]
async fn proxied_requests_are_screened() {
    let server = model(Script::new().last(Reply::new().text(format!("Mail {MAIL}.")))).await;
    let body = json!({"model": "m", "seed": 7, "messages": [{"role": "user", "content": format!("I am {MAIL}."), "x": 1}], "odd": {"to": MAIL}});
    let masked = gateway(&server, modes(Some(Mode::Mask), None, None));
    let Completion::Proxied(proxied) = masked.complete(&body, Some("none"), None).await.unwrap() else {
        panic!("not proxied")
    };
    assert_eq!(proxied.headers["x-gateway-personal-data"], "email");
    let sent_body = server.requests().pop().unwrap().body;
    let mut expected = body.clone();
    expected["model"] = "gpt-4o".into();
    expected["messages"][0]["content"] = "I am [email].".into();
    assert_eq!(sent_body, expected);

    let noted = gateway(&server, modes(Some(Mode::Mark), None, None));
    let Completion::Proxied(proxied) = noted.complete(&body, Some("none"), None).await.unwrap() else {
        panic!("not proxied")
    };
    assert_eq!(proxied.headers["x-gateway-personal-data"], "email");
    assert_eq!(sent(&server).pop().unwrap(), body["messages"]);

    let blocked = gateway(&server, modes(Some(Mode::Block), None, None));
    let before = server.requests().len();
    let Err(error) = blocked.complete(&body, Some("none"), None).await else { panic!("it passed") };
    assert_eq!(error.body()["error"]["code"], "PERSONAL_DATA");
    assert_eq!(server.requests().len(), before);

    // Answers are looked through by the loop.
    let answers = gateway(&server, modes(None, None, Some(Mode::Mask)));
    let whole = answers.whole(&body, Some("none")).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "Mail [email].");
}

#[tokio::test]
async fn only_chosen_kinds_are_looked_for_and_all_are_counted() {
    let server = model(Script::new().last(Reply::new().text("Done."))).await;
    let gateway = Gateway::with(Wire::Chat, &server, |config| {
        config.privacy.completions = modes(Some(Mode::Mask), None, None);
        config.privacy.kinds = vec![Kind::Card];
    });
    answered(&gateway, &request(&format!("{CARD} and {MAIL}"), false)).await.unwrap();
    assert_eq!(sent(&server)[0][0]["content"], format!("[card] and {MAIL}"));
    let counted: Vec<_> = gateway
        .runtime
        .call_metrics()
        .personal_data_found()
        .into_iter()
        .map(|(labels, count)| (labels.face, labels.part, labels.kind, labels.mode, count))
        .collect();
    assert_eq!(counted, [("completions", "messages", "card", "mask", 1)]);
}

/// A tool gets what the model wrote, its raw result stays in the log, and the model sees the mask.
#[tokio::test]
async fn the_log_keeps_its_own_rule() {
    let script = Script::new()
        .reply(Reply::new().call("c1", "store_value", json!({"key": "k", "value": MAIL})))
        .last(Reply::new().text("Done."));
    let server = model(script).await;
    let gateway = gateway(&server, modes(None, Some(Mode::Mask), None));
    answered(&gateway, &request("Store it.", false)).await.unwrap();
    assert_eq!(gateway.calls(), 1);
    let page = gateway.runtime.log().query(&Filter::default()).unwrap();
    assert_eq!(&*page.entries[0].call.input, json!({"key": "k", "value": MAIL}).to_string().as_bytes());
}
