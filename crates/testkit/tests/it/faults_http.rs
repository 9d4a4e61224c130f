//! Faults that only HTTP has, and the others over HTTP.

use std::time::{Duration, Instant};

use gateway_testkit::{AnswerKind, Fault, Fixture, RunningFixture, count_lines};
use serde_json::{Value, json};

use crate::talk::{CRASHES, call, modern, request, value_of};
use crate::talk_http::{HttpSession, post_modern, try_post, try_send};

async fn start(fault: Fault) -> RunningFixture {
    Fixture::http().mode(fault).start().await.unwrap()
}

fn echo() -> Value {
    modern(call(1, "echo", &json!({"text": "0123456789"})))
}

#[tokio::test]
async fn statuses_and_redirects_are_sent_and_followed() {
    let server = Fixture::http().mode_with(Fault::HttpStatus, 503).start().await.unwrap();
    assert_eq!(post_modern(&server, &echo()).await.status, 503);
    let list = modern(request(2, "tools/list", &json!({})));
    assert_eq!(post_modern(&server, &list).await.status, 200, "only calls fail");
    let server = start(Fault::Redirect).await;
    let answer = post_modern(&server, &echo()).await;
    assert_eq!((answer.status, answer.header("location")), (307, Some("/moved")));
    let server = start(Fault::WrongContentType).await;
    assert_eq!(post_modern(&server, &echo()).await.header("content-type"), Some("text/html"));

    let server = start(Fault::Redirect).await;
    let headers = [
        crate::talk_http::KINDS[0],
        crate::talk_http::KINDS[1],
        ("mcp-protocol-version", gateway_protocol::MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ];
    let answer = try_send(&server, "POST", "/moved", &headers, &echo().to_string()).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(value_of(&answer.json().await), json!({"text": "0123456789"}));
}

#[tokio::test]
async fn bodies_can_break_off_be_slow_or_never_end() {
    for kind in [AnswerKind::Json, AnswerKind::Sse] {
        let server = Fixture::http().mode(Fault::CloseMidBody).answers(kind).start().await.unwrap();
        let answer = post_modern(&server, &echo()).await;
        let promised: usize = answer.header("content-length").unwrap().parse().unwrap();
        let body = answer.body().await;
        assert_eq!(body.len(), promised / 2);
    }

    let server = Fixture::http().mode_with(Fault::SlowBody, 200).start().await.unwrap();
    let begin = Instant::now();
    let answer = post_modern(&server, &echo()).await.json().await;
    assert_eq!(value_of(&answer), json!({"text": "0123456789"}));
    assert!(begin.elapsed() >= Duration::from_millis(180), "{:?}", begin.elapsed());

    let server = start(Fault::EndlessLine).await;
    let mut answer = Some(post_modern(&server, &echo()).await);
    let read = tokio::time::timeout(Duration::from_millis(300), answer.take().unwrap().body()).await;
    assert!(read.is_err(), "the body ended");
    // The server survives clients that give up.
    let list = modern(request(2, "tools/list", &json!({})));
    assert_eq!(post_modern(&server, &list).await.status, 200);
}

#[tokio::test]
async fn sessions_get_lost_after_some_calls() {
    let server = Fixture::http().mode_with(Fault::ForgetSessions, 2).start().await.unwrap();
    for _ in 0..2 {
        let session = HttpSession::open(&server).await;
        // The call that meets the lost session is the first of the next round.
        let statuses = [
            session.post(&call(1, "echo", &json!({}))).await.status,
            session.post(&call(2, "echo", &json!({}))).await.status,
            session.post(&call(3, "echo", &json!({}))).await.status,
        ];
        assert_eq!(statuses, [200, 200, 404]);
    }
    let session = HttpSession::open(&server).await;
    assert_eq!(try_send(&server, "POST", "/admin/forget-sessions", &[], "").await.unwrap().status, 200);
    assert_eq!(session.post(&call(4, "echo", &json!({}))).await.status, 404);
}

#[tokio::test]
async fn crashes_leave_an_answer_or_none() {
    for (fault, runs, answers) in CRASHES {
        let folder = tempfile::tempdir().unwrap();
        let counter = folder.path().join("counter");
        let mut server = Fixture::http().mode(fault).counter(&counter).start().await.unwrap();
        let session = HttpSession::open(&server).await;
        let answer = session.try_post(&call(1, "count", &json!({}))).await;
        assert_eq!(answer.is_some(), answers, "{fault:?}");
        if let Some(answer) = answer {
            assert_eq!(value_of(&answer.json().await), json!({"count": 1}));
        }
        assert_eq!(server.wait().await.unwrap(), Some(1));
        assert_eq!(count_lines(&counter), runs, "{fault:?}");
    }
}

#[tokio::test]
async fn several_messages_come_as_events() {
    let server = start(Fault::DuplicateAnswers).await;
    let events = post_modern(&server, &echo()).await.events().await;
    assert_eq!(events.len(), 2);
    assert_eq!(events[0], events[1]);
    let server = start(Fault::WrongJson).await;
    let body = post_modern(&server, &echo()).await.body().await;
    assert!(serde_json::from_slice::<Value>(&body).is_err());
}

#[tokio::test]
async fn silence_is_an_open_connection() {
    let server = start(Fault::Silent).await;
    let opening = crate::talk::initialize(1);
    let silence = try_post(&server, &[], &opening);
    assert!(tokio::time::timeout(crate::talk::SHORT, silence).await.is_err());
}
