//! Faults of answers, over stdio.

use std::time::{Duration, Instant};

use gateway_testkit::{Fault, Fixture, SpokenEra, count_lines, count_lines_with, eventually};
use serde_json::{Value, json};

use crate::talk::{CRASHES, LONG, Talk, call, cancelled, initialize, initialized, modern, request, value_of};

fn count(id: u64) -> Value {
    call(id, "count", &json!({ "token": id.to_string() }))
}

#[tokio::test]
async fn crashes_happen_before_during_and_after_the_call() {
    for (fault, runs, answers) in CRASHES {
        let folder = tempfile::tempdir().unwrap();
        let counter = folder.path().join("counter");
        let mut talk = Talk::open(&Fixture::stdio().mode(fault).counter(&counter)).await;
        talk.send(&count(1)).await;
        assert_eq!(talk.line().await.is_some(), answers, "{fault:?}");
        assert_eq!(talk.exit_code().await, Some(1), "{fault:?}");
        assert_eq!(count_lines(&counter), runs, "{fault:?}");
    }
}

#[tokio::test]
async fn a_crash_comes_with_every_third_call() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let mut talk = Talk::open(&Fixture::stdio().mode_with(Fault::CrashEvery, 3).counter(&counter)).await;
    for id in 1..=2 {
        assert_eq!(talk.ask(&count(id)).await["id"], id);
    }
    talk.send(&count(3)).await;
    assert_eq!(talk.line().await, None);
    assert_eq!(count_lines(&counter), 3);
}

#[tokio::test]
async fn crashes_at_the_beginning() {
    let mut talk = Talk::start(&Fixture::stdio().mode(Fault::CrashBeforeInitialize));
    assert_eq!(talk.exit_code().await, Some(1));
    let mut talk = Talk::start(&Fixture::stdio().mode(Fault::CrashAtInitialize));
    talk.send(&initialize(1)).await;
    assert_eq!((talk.line().await, talk.exit_code().await), (None, Some(1)));
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::CrashAfterList)).await;
    assert_eq!(talk.ask(&request(1, "tools/list", &json!({}))).await["id"], 1);
    assert_eq!(talk.exit_code().await, Some(1));
}

#[tokio::test]
async fn faults_can_be_rare_and_remembered_over_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::stdio().mode(Fault::CrashBeforeInitialize).times(2, &folder.path().join("memory"));
    for _ in 0..2 {
        assert_eq!(Talk::start(&fixture).exit_code().await, Some(1));
    }
    Talk::open(&fixture).await;
    let fixture = Fixture::stdio().mode(Fault::WrongResult).option("--fault-times", 1);
    let mut talk = Talk::open(&fixture).await;
    assert_eq!(talk.ask(&call(1, "echo", &json!({}))).await["result"], "done");
    assert!(talk.ask(&call(2, "echo", &json!({}))).await["result"].is_object());
}

#[tokio::test]
async fn faults_can_be_bound_to_a_tool_or_a_method() {
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::NeverAnswers).only_tool("count")).await;
    assert_eq!(talk.ask(&call(1, "echo", &json!({}))).await["id"], 1);
    talk.send(&count(2)).await;
    assert!(talk.is_silent().await);
    let fixture = Fixture::stdio().mode(Fault::WrongShape).option("--fault-method", "tools/list");
    let mut talk = Talk::open(&fixture).await;
    assert_eq!(talk.ask(&call(1, "echo", &json!({}))).await["id"], 1);
    let list = talk.ask(&request(2, "tools/list", &json!({}))).await;
    assert_eq!(list, json!({"jsonrpc": "2.0", "id": 2}));
}

#[tokio::test]
async fn silence_comes_in_three_kinds() {
    let mut talk = Talk::start(&Fixture::stdio().mode(Fault::Silent));
    talk.send(&initialize(1)).await;
    assert!(talk.is_silent().await);

    let fixture = Fixture::stdio().era(SpokenEra::Legacy).mode(Fault::SilentBeforeInitialize);
    let mut talk = Talk::start(&fixture);
    talk.send(&modern(request(1, "server/discover", &json!({})))).await;
    assert!(talk.is_silent().await);
    talk.handshake().await;
    assert_eq!(talk.ask(&call(2, "echo", &json!({}))).await["id"], 2);

    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::NeverAnswers).counter(&counter)).await;
    talk.send(&count(5)).await;
    assert!(talk.is_silent().await);
    assert_eq!(count_lines_with(&counter, "count 5"), 1);
    talk.send(&cancelled(5)).await;
    eventually(LONG, "the cancellation", || count_lines_with(&counter, "cancelled 5") == 1).await.unwrap();
}

#[tokio::test]
async fn answers_can_be_slow_or_out_of_order() {
    let start = Instant::now();
    let mut talk = Talk::open(&Fixture::stdio().mode_with(Fault::Slow, 120)).await;
    talk.ask(&call(1, "echo", &json!({}))).await;
    assert!(start.elapsed() >= Duration::from_millis(120));
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::OutOfOrder)).await;
    talk.send(&call(1, "echo", &json!({}))).await;
    talk.send(&call(2, "echo", &json!({}))).await;
    assert_eq!(talk.message().await["id"], 2);
    assert_eq!(talk.message().await["id"], 1);
}

#[tokio::test]
async fn ids_can_be_repeated_invented_or_changed() {
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::DuplicateAnswers)).await;
    let first = talk.ask(&call(1, "echo", &json!({}))).await;
    assert_eq!(talk.message().await, first);
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::UnknownIds)).await;
    assert_eq!(talk.ask(&call(1, "echo", &json!({}))).await["id"], 987_654_321);
    assert_eq!(talk.message().await["id"], 1);
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::IdAsText)).await;
    let answer = talk.ask(&call(1, "add", &json!({"a": 1, "b": 1}))).await;
    assert_eq!((&answer["id"], value_of(&answer)["result"].as_u64()), (&json!("1"), Some(2)));
}

#[tokio::test]
async fn answers_can_be_no_answers() {
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::WrongJson)).await;
    talk.send(&call(1, "echo", &json!({}))).await;
    let line = talk.line().await.unwrap();
    assert!(serde_json::from_str::<Value>(&line).is_err(), "{line}");
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::WrongShape)).await;
    assert_eq!(talk.ask(&call(1, "echo", &json!({}))).await, json!({"jsonrpc": "2.0", "id": 1}));
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::WrongResult)).await;
    assert_eq!(talk.ask(&call(1, "echo", &json!({}))).await["result"], "done");
}

#[tokio::test]
async fn unknown_fields_stand_everywhere() {
    let mut talk = Talk::start(&Fixture::stdio().mode(Fault::UnknownFields));
    talk.send(&initialize(0)).await;
    talk.send(&initialized()).await;
    talk.send(&request(1, "tools/list", &json!({}))).await;
    talk.send(&call(2, "echo", &json!({}))).await;
    for unknowns in [1, 19, 1] {
        let line = talk.line().await.unwrap();
        serde_json::from_str::<&serde_json::value::RawValue>(&line).unwrap();
        assert!(line.starts_with(r#"{"x-envelope":[null],"jsonrpc":"2.0""#), "{line}");
        // The tool `lossless` has an `x-unknown` of its own.
        assert_eq!(line.matches(r#""x-unknown":{"deep":[1.50,1e400]}"#).count(), unknowns, "{line}");
    }
}

#[tokio::test]
async fn lines_can_be_long_or_endless() {
    for (fault, at_head) in [(Fault::LongLine, true), (Fault::LongLineTail, false), (Fault::HugeResult, true)]
    {
        let mut talk = Talk::open(&Fixture::stdio().mode_with(fault, 3_000_000)).await;
        talk.send(&call(17, "echo", &json!({}))).await;
        let line = talk.line().await.unwrap();
        assert!(line.len() > 3_000_000, "{fault:?}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], 17);
        assert_eq!(line.starts_with(r#"{"jsonrpc":"2.0","id":17"#), at_head);
        assert_eq!(line.ends_with(r#""id":17}"#), !at_head);
    }
    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::EndlessLine)).await;
    talk.send(&call(1, "echo", &json!({}))).await;
    assert!(talk.read_without_line_end(20_000_000).await >= 20_000_000);
}

#[tokio::test]
async fn stdout_can_be_noisy() {
    let mut talk = Talk::start(&Fixture::stdio().mode(Fault::StdoutNoise));
    talk.send(&initialize(1)).await;
    let mut noise = 0;
    loop {
        let line = talk.line().await.unwrap();
        match serde_json::from_str::<Value>(&line) {
            Ok(message) => {
                assert_eq!(message["id"], 1);
                break;
            }
            Err(_) => noise += 1,
        }
    }
    assert_eq!(noise, 3);
}
