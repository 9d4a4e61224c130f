//! The owner task against a peer in memory.

use gateway_config::UpstreamId;
use gateway_protocol::{RawJson, method};
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::*;
use crate::connection::call::{AsksProgress, Call, CallKind, Deadline, Leaving};
use crate::connection::channel::{StreamChannel, channel};
use crate::connection::events::EventSink;
use crate::connection::refusals::Refusals;
use crate::connection::status::Status;
use crate::error::CallError;
use crate::results::{ResultBudget, ServerResults};

const LIMIT: usize = 10_000;

/// The other side of a connection.
struct Peer {
    channel: Arc<StreamChannel>,
    status: Arc<Status>,
    stop: CancellationToken,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    calls: JoinSet<Result<RawJson, CallError>>,
    owner: JoinSet<()>,
}

impl Peer {
    fn start() -> Self {
        Self::within(LIMIT, &ResultBudget::default())
    }

    fn within(limit: usize, budget: &ResultBudget) -> Self {
        Self::named("peer", limit, budget)
    }

    fn named(name: &str, limit: usize, budget: &ResultBudget) -> Self {
        let upstream = UpstreamId::new(name);
        let status = Arc::new(Status::new(1_000, None));
        let (events, _) = mpsc::channel(4);
        let (channel, inbox) = channel(&upstream, &status);
        let refusals = Refusals::new(upstream.clone(), Arc::default());
        let results = ServerResults::new(budget.clone(), name);
        let events = Arc::new(EventSink::new(events, refusals, results));
        let router = Router::new(upstream, limit, events, Arc::clone(&status));
        let (ours, theirs) = duplex(4 * 1024);
        let (reader, writer) = split(theirs);
        let stop = CancellationToken::new();
        let (token, mut owner) = (stop.clone(), JoinSet::new());
        owner.spawn(async move {
            let streams = split(ours);
            run(streams, std::future::pending(), inbox, router, &token, Duration::from_secs(1)).await;
        });
        let lines = BufReader::new(reader).lines();
        Self { channel: Arc::new(channel), status, stop, lines, writer, calls: JoinSet::new(), owner }
    }

    /// Starts a call and waits until the peer has it; gives its id.
    async fn begin(&mut self) -> u64 {
        self.begin_for(Duration::from_mins(1)).await
    }

    async fn begin_for(&mut self, idle: Duration) -> u64 {
        let channel = Arc::clone(&self.channel);
        self.calls.spawn(async move {
            let deadline = Deadline::new(idle, Duration::from_mins(10), AsksProgress::Yes(None));
            let call = Call {
                method: "tools/call",
                name: None,
                params: &[],
                meta: &[],
                headers: &[],
                deadline,
                leaving: Leaving::Cancels,
                kind: CallKind::Plain,
            };
            channel.exchange(&call).await
        });
        let line = self.line().await;
        line["id"].as_u64().expect("a call has an id")
    }

    async fn line(&mut self) -> serde_json::Value {
        let line = self.lines.next_line().await.expect("a line").expect("the stream is open");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn send(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.expect("the stream is open");
    }

    async fn outcome(&mut self) -> Result<RawJson, CallError> {
        self.calls.join_next().await.expect("a call was begun").expect("no panic")
    }
}

/// A call that waits for ever.
fn plain_call<'a>(params: &'a [(&'a str, &'a [u8])]) -> Call<'a> {
    Call {
        method: "tools/call",
        name: None,
        params,
        meta: &[],
        headers: &[],
        deadline: Deadline::never(),
        leaving: Leaving::Cancels,
        kind: CallKind::Plain,
    }
}

fn is_too_long(outcome: &Result<RawJson, CallError>) -> bool {
    matches!(outcome, Err(CallError::TooLong { limit: LIMIT, .. }))
}

#[tokio::test]
async fn a_broken_answer_ends_its_call_at_once() {
    let mut peer = Peer::start();
    let (broken, other) = (peer.begin().await, peer.begin().await);
    let mut line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{broken},\"result\":{{\"text\":\"").into_bytes();
    line.extend_from_slice(b"\xff\xfe\"}}\n");
    peer.writer.write_all(&line).await.expect("the stream is open");
    let reason = |outcome| match outcome {
        Err(CallError::Malformed { reason, .. }) => reason,
        other => format!("{other:?}"),
    };
    assert_eq!(reason(peer.outcome().await), "it is not UTF-8");
    // What a program prints ends no call, also if it is the only one.
    peer.send(
        "{\"level\": \"info\", \"result\": tru\n{\"jsonrpc\": \"2.0\", \"method\": \"x\", \"error\": tru\n",
    )
    .await;
    peer.send("{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{]\n").await;
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{other},\"result\":{{\"ok\":1}}}}\n")).await;
    assert_eq!(peer.outcome().await.expect("the other one is well").as_str(), "{\"ok\":1}");
    peer.begin().await;
    peer.send("{\"jsonrpc\":\"2.0\",\"result\":{\"a\":1,]}\n").await;
    assert_eq!(reason(peer.outcome().await), "it is not JSON", "only one can be meant");
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_without_room_is_dropped_and_others_go_on() {
    let budget = ResultBudget::new(500_000);
    let mut peer = Peer::within(1 << 20, &budget);
    let mut held = budget.reservation("another");
    held.force(1);
    let long = |id: u64| {
        let text = "x".repeat(200_000);
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"text\":\"{text}\"}}}}\n")
    };
    let short = |id: u64| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"ok\":1}}}}\n");
    let first = peer.begin().await;
    let other = peer.begin().await;
    // Beside something else it may not use more than half.
    peer.send(&long(first)).await;
    assert!(matches!(peer.outcome().await, Err(CallError::ResultDropped { limit: 500_000, .. })));
    peer.send(&short(other)).await;
    assert_eq!(peer.outcome().await.expect("a short answer needs no room").as_str(), "{\"ok\":1}");
    assert_eq!(budget.used(), 1);
    let budget = ResultBudget::new(800_000);
    let mut peer = Peer::within(1 << 20, &budget);
    let first = peer.begin().await;
    peer.send(&long(first)).await;
    let held = peer.outcome().await.expect("there is room");
    assert_eq!(budget.used(), long(first).len() - 1);
    let second = peer.begin().await;
    let sent = async {
        peer.send(&long(second)).await;
        peer.outcome().await.map(|result| result.len())
    };
    // The second waits for the first, which is dropped while it waits.
    let (outcome, ()) = tokio::join!(sent, async {
        tokio::task::yield_now().await;
        drop(held);
    });
    assert_eq!(outcome.expect("there is room again"), 200_011);
    assert_eq!(budget.used(), 0, "all was given back");
}

#[tokio::test(start_paused = true)]
async fn long_answers_of_several_servers_at_once_all_arrive() {
    // Each of them fits beside one other, and half of all of them does not.
    let budget = ResultBudget::new(3 << 20);
    let mut peers: Vec<Peer> =
        (0..8).map(|number| Peer::named(&format!("peer{number}"), 1 << 20, &budget)).collect();
    let text = "x".repeat(400_000);
    let arriving = peers.iter_mut().map(|peer| {
        let (budget, text) = (&budget, &text);
        async move {
            let id = peer.begin().await;
            peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"text\":\"{text}")).await;
            tokio::task::yield_now().await;
            peer.send(&format!("{text}\"}}}}\n")).await;
            let result = peer.outcome().await.map_err(|error| error.to_string())?;
            let is_held = budget.reservation("caller").grow_beside(result.len(), result.len()).await;
            Ok::<_, String>((result.len(), is_held))
        }
    });
    let outcomes = futures_util::future::join_all(arriving).await;
    assert_eq!(outcomes, vec![Ok((800_011, true)); 8]);
    assert_eq!(budget.used(), 0, "all was given back");
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_room_whose_id_comes_last_fails_alone() {
    let budget = ResultBudget::new(500_000);
    let mut held = budget.reservation("another");
    held.force(1);
    let mut peer = Peer::within(1 << 20, &budget);
    let (long, other) = (peer.begin().await, peer.begin().await);
    let (text, more) = ("x".repeat(300_000), "y".repeat(10_000));
    // Neither the first nor the last bytes show whose it is.
    let result = format!("{{\"id\":{other},\"text\":\"{text}\"}}");
    peer.send(&format!(
        "{{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":{long},\"_meta\":{{\"id\":{other},\"more\":\"{more}\"}}}}\n"
    ))
    .await;
    let outcome = peer.outcome().await;
    assert!(matches!(outcome, Err(CallError::ResultDropped { limit: 500_000, .. })), "{outcome:?}");
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{other},\"result\":{{\"ok\":1}}}}\n")).await;
    assert_eq!(peer.outcome().await.expect("the other one is well").as_str(), "{\"ok\":1}");
}

#[tokio::test]
async fn a_long_line_that_begins_with_its_id_fails_at_once() {
    let mut peer = Peer::start();
    let (long, other) = (peer.begin().await, peer.begin().await);
    let text = "x".repeat(LIMIT);
    // The line is not over yet.
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{long},\"result\":{{\"text\":\"{text}")).await;
    assert!(is_too_long(&peer.outcome().await));
    peer.send(&format!("{text}\"}}}}\n{{\"jsonrpc\":\"2.0\",\"id\":{other},\"result\":{{\"ok\":1}}}}\n"))
        .await;
    assert_eq!(peer.outcome().await.expect("the other one is well").as_str(), "{\"ok\":1}");
}

#[tokio::test]
async fn a_long_line_that_ends_with_its_id_fails_at_its_end() {
    let mut peer = Peer::start();
    let (long, other) = (peer.begin().await, peer.begin().await);
    let text = "x".repeat(2 * LIMIT);
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"result\":{{\"text\":\"{text}\"}},\"id\":{long}}}\n")).await;
    assert!(is_too_long(&peer.outcome().await));
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{other},\"result\":{{}}}}\n")).await;
    assert!(peer.outcome().await.is_ok());
}

#[tokio::test]
async fn a_long_line_without_an_id_fails_everybody() {
    let mut peer = Peer::start();
    peer.begin().await;
    peer.begin().await;
    peer.send(&format!("{{\"text\":\"{}\"}}\n", "x".repeat(LIMIT))).await;
    assert!(is_too_long(&peer.outcome().await));
    assert!(is_too_long(&peer.outcome().await));
    let next = peer.begin().await;
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{next},\"result\":{{}}}}\n")).await;
    assert!(peer.outcome().await.is_ok(), "the stream goes on behind the line");
}

#[tokio::test]
async fn a_long_notification_is_nobodys_answer() {
    let mut peer = Peer::start();
    let id = peer.begin().await;
    let text = "x".repeat(2 * LIMIT);
    let params = format!("{{\"level\":\"info\",\"data\":\"{text}\"}}");
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{params}}}\n"))
        .await;
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")).await;
    assert!(peer.outcome().await.is_ok());
}

#[tokio::test]
async fn a_line_without_end_ends_the_connection() {
    for beginning in ["", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\""]
    {
        let mut peer = Peer::start();
        peer.begin().await;
        peer.send(beginning).await;
        let mut writer = peer.writer;
        // Written until nobody reads any more.
        while writer.write_all(&[b'x'; 1_000]).await.is_ok() {}
        let outcome = peer.calls.join_next().await.expect("a call was begun").expect("no panic");
        assert!(is_too_long(&outcome), "{outcome:?}");
        let reason = peer.status.ended().await;
        assert!(reason.starts_with("it sent a message of more than 10000 bytes without end"), "{reason}");
    }
}

#[tokio::test]
async fn batches_are_understood() {
    let mut peer = Peer::start();
    let (first, second) = (peer.begin().await, peer.begin().await);
    peer.send(&format!(
        "[{{\"jsonrpc\":\"2.0\",\"id\":{first},\"result\":{{}}}},{{\"jsonrpc\":\"2.0\",\"id\":\"{second}\",\"result\":{{}}}}]\n"
    ))
    .await;
    assert!(peer.outcome().await.is_ok());
    assert!(peer.outcome().await.is_ok());
}

#[tokio::test]
async fn in_a_batch_the_last_of_repeated_members_counts() {
    let mut peer = Peer::start();
    let (first, second) = (peer.begin().await, peer.begin().await);
    peer.send(&format!(
        "[{{\"jsonrpc\":\"2.0\",\"id\":{second},\"i\\u0064\":{first},\"result\":{{\"of\":0}},\"result\":{{\"of\":1}}}},\
         {{\"jsonrpc\":\"2.0\",\"id\":{second},\"error\":{{\"code\":1,\"message\":\"a\",\"message\":\"b\"}}}}]\n"
    ))
    .await;
    let outcomes = [peer.outcome().await, peer.outcome().await];
    let results: Vec<&str> = outcomes.iter().flatten().map(RawJson::as_str).collect();
    assert_eq!(results, ["{\"of\":1}"]);
    let messages: Vec<&str> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Err(CallError::Refused { error, .. }) => Some(error.message.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(messages, ["b"]);
}

#[tokio::test]
async fn an_error_without_an_id_belongs_to_the_only_call() {
    let mut peer = Peer::start();
    peer.begin().await;
    peer.send("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n")
        .await;
    assert!(matches!(peer.outcome().await, Err(CallError::Refused { .. })));
}

#[tokio::test]
async fn what_was_not_sent_was_not_run() {
    let mut peer = Peer::start();
    peer.begin().await;
    // The peer stops reading; what fits into the stream is sent, the rest is not.
    for _ in 0..200 {
        let channel = Arc::clone(&peer.channel);
        peer.calls.spawn(async move {
            let text = format!("\"{}\"", "x".repeat(1_000));
            let params = [("text", text.as_bytes())];
            channel.exchange(&plain_call(&params)).await
        });
    }
    tokio::task::yield_now().await;
    peer.stop.cancel();
    let (mut lost, mut unreachable) = (0, 0);
    while let Some(outcome) = peer.calls.join_next().await {
        match outcome.expect("no panic") {
            Err(CallError::Lost { .. }) => lost += 1,
            Err(CallError::Unreachable { .. }) => unreachable += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(lost + unreachable, 201);
    assert!((1..=5).contains(&lost), "{lost} of the calls can have reached the peer");
}

#[tokio::test]
async fn late_answers_are_ignored() {
    let mut peer = Peer::start();
    let id = peer.begin_for(Duration::from_millis(20)).await;
    assert!(matches!(peer.outcome().await, Err(CallError::Timeout { .. })));
    let cancelled = peer.line().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&method::CANCELLED.into(), &id.into())
    );
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")).await;
    let next = peer.begin().await;
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{next},\"result\":{{\"next\":1}}}}\n")).await;
    assert_eq!(peer.outcome().await.expect("a result").as_str(), "{\"next\":1}");
}

#[tokio::test]
async fn an_owner_that_is_killed_leaves_nobody_waiting() {
    let mut peer = Peer::start();
    peer.begin().await;
    peer.owner.shutdown().await;
    assert!(matches!(peer.outcome().await, Err(CallError::Lost { .. })));
}

#[tokio::test]
async fn a_server_that_asks_without_end_and_does_not_read_fills_no_memory() {
    let mut peer = Peer::start();
    let id = "i".repeat(1_000);
    let sent = 4 * HIGH_WATER / id.len();
    for _ in 0..sent {
        peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"ping\"}}\n")).await;
    }
    let channel = Arc::clone(&peer.channel);
    peer.calls.spawn(async move { channel.exchange(&plain_call(&[])).await });
    let mut answered = 0;
    let call = loop {
        let line = peer.line().await;
        if line["method"] == "tools/call" {
            break line;
        }
        assert_eq!(line["id"], *id);
        answered += 1;
    };
    let fits = HIGH_WATER / id.len();
    assert!((fits / 2..=2 * fits + 20).contains(&answered), "{answered} of {sent} were answered");
    peer.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}\n", call["id"])).await;
    assert!(peer.outcome().await.is_ok(), "the connection is well");
}
