//! Conversations of the real binary: it is killed in the middle of turns, and its store stalls.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use gateway_testkit::models::{ModelServer, Reply, Script, ServerOptions, Step, Wire};
use gateway_testkit::{Fixture, eventually_blocking};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sandbox::{Gateway, Sandbox, fixture};

/// How often the gateway is killed.
const KILLS: u32 = 20;

/// Longer than the lease of a turn.
const LEASE: Duration = Duration::from_mins(1);

/// A model that counts twice and waits a little for each question, and then says so. It refuses histories that no provider takes.
fn counting_model() -> (tokio::runtime::Runtime, ModelServer) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let script = Script::by(|request| {
        let messages = request.body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        if last["role"] != "user" {
            return Step::reply(Reply::new().text("Counted. ").text("Twice."));
        }
        let token = last["content"].as_str().unwrap();
        let call = |part: &str| json!({"token": format!("{token}-{part}")});
        let reply = Reply::new().text("Let me count.").call("call_a", "count", call("a"));
        Step::reply(reply.call("call_b", "slow", json!({"ms": 15})).call("call_c", "count", call("c")))
    });
    let options = ServerOptions { strict: true, ..ServerOptions::default() };
    let server = runtime.block_on(ModelServer::start_with(Wire::Chat, script, options)).unwrap();
    (runtime, server)
}

/// Kills a gateway at random moments of a turn, each time in another conversation. Afterwards each call has a result within
/// `patience`, no tool ran twice, and every conversation goes on.
fn check_kills(store: Option<&str>, patience: Duration) {
    let (_runtime, model) = counting_model();
    let sandbox = Sandbox::new();
    let counter = sandbox.path("counter");
    let mut config = json!({
        "mcpServers": {"fixture": fixture(&Fixture::stdio().counter(&counter))},
        "models": {"m": {"baseUrl": model.url(), "model": Wire::Chat.usual_model()}},
        "loop": {"systemPrompt": "Count."},
    });
    if let Some(store) = store {
        config["conversations"] = json!({"store": store});
    }
    sandbox.configure(&config);
    let (whole, first) = time_of_a_turn(&sandbox);
    let mut conversations = vec![first];
    let random = RandomState::new();
    for kill in 0..KILLS {
        let mut gateway = ready(&sandbox);
        let id = begin(&gateway);
        // From before the message is stored until after the answer.
        let after = whole.mul_f64(f64::from(u32::try_from(random.hash_one(kill) % 1_100).unwrap()) / 1_000.0);
        let stream = send(gateway.port, &id, &format!("t{kill}"));
        read_for(&stream, after);
        gateway.running.signal(Signal::KILL);
        gateway.running.end();
        conversations.push(id);
    }
    let gateway = ready(&sandbox);
    let mut interrupted = 0;
    for id in &conversations {
        let path = format!("/conversations/{id}");
        let is_valid = || unanswered(&gateway.get(&path)["messages"]).is_empty();
        eventually_blocking(patience, "each call has a result", is_valid).unwrap();
        let body = json!({"message": {"role": "user", "content": format!("{id}-on")}, "stream": false});
        // Until its lease is over, the turn belongs to the gateway that was killed.
        let mut answer = Value::Null;
        let is_answered = || {
            answer = gateway.post(&format!("{path}/chat"), &body);
            answer["code"] != "CONFLICT"
        };
        eventually_blocking(patience, "the turn can be taken", is_answered).unwrap();
        assert_eq!(answer["content"], "Let me count.\n\nCounted. Twice.", "{answer}: {}", gateway.get(&path));
        let messages = gateway.get(&path)["messages"].take();
        assert_eq!(unanswered(&messages), [""; 0]);
        interrupted += messages.as_array().unwrap().iter().filter(|one| one["interrupted"] == true).count();
    }
    assert!(interrupted > 0, "no kill was in the middle of a turn, so this test has shown nothing");
    let lines = std::fs::read_to_string(&counter).unwrap();
    let tokens: Vec<&str> = lines.lines().filter_map(|line| line.strip_prefix("count ")).collect();
    let different: HashSet<&&str> = tokens.iter().collect();
    assert_eq!(tokens.len(), different.len(), "a tool ran twice: {lines}");
    // The conversations went on with two calls each, and the first turn had two.
    assert!(tokens.len() >= 2 * conversations.len() + 2, "{lines}");
}

#[test]
fn no_history_is_broken_and_no_tool_runs_twice_when_the_gateway_is_killed() {
    // Nobody else has the directory, so nobody has to wait for a lease.
    check_kills(None, Duration::from_millis(1));
}

#[test]
#[ignore = "needs `scripts/services run`"]
fn killed_over_redis() {
    check_kills(Some(&std::env::var("GATEWAY_TEST_REDIS_URL").unwrap()), LEASE);
}

#[test]
#[ignore = "needs `scripts/services run`"]
fn killed_over_postgres() {
    check_kills(Some(&std::env::var("GATEWAY_TEST_POSTGRES_URL").unwrap()), LEASE);
}

#[test]
#[ignore = "needs `scripts/services run`"]
fn a_store_that_stalls_is_an_error_in_time_and_recovers() {
    for name in ["redis", "postgres"] {
        let mut server = StoreServer::start(name);
        let (_runtime, model) = counting_model();
        let sandbox = Sandbox::new();
        sandbox.configure(&json!({
            "mcpServers": {"fixture": fixture(&Fixture::stdio())},
            "models": {"m": {"baseUrl": model.url(), "model": Wire::Chat.usual_model()}},
            "conversations": {"store": server.url, "deadline": "1s"},
        }));
        let gateway = ready(&sandbox);
        let path = format!("/conversations/{}", begin(&gateway));
        assert_eq!(gateway.get("/health")["status"], "healthy", "{name}");
        server.order("pause");
        let body = json!({"message": {"role": "user", "content": "t"}, "stream": false});
        for answer in [
            timed(name, || gateway.get(&path)),
            timed(name, || gateway.get("/conversations")),
            timed(name, || gateway.post(&format!("{path}/chat"), &body)),
        ] {
            assert_eq!(answer["code"], "STORE_ERROR", "{name}: {answer}");
        }
        let health = timed(name, || gateway.get("/health"));
        assert_eq!(health["status"], "degraded", "{name}: {health}");
        server.order("resume");
        let answers = || gateway.get(&path)["id"].is_string();
        eventually_blocking(Duration::from_secs(20), "the store answers again", answers).unwrap();
        assert_eq!(
            gateway.post(&format!("{path}/chat"), &body)["content"],
            "Let me count.\n\nCounted. Twice."
        );
        assert_eq!(gateway.get("/health")["status"], "healthy", "{name}");
    }
}

/// What comes within three deadlines of the store.
fn timed(name: &str, ask: impl FnOnce() -> Value) -> Value {
    let begun = Instant::now();
    let answer = ask();
    assert!(begun.elapsed() < Duration::from_secs(4), "{name}: {:?}", begun.elapsed());
    answer
}

/// A gateway whose tools are there.
fn ready(sandbox: &Sandbox) -> Gateway {
    let mut gateway = sandbox.serve(&[]);
    gateway.line("fixture: 18 tools");
    gateway
}

fn begin(gateway: &Gateway) -> String {
    gateway.post("/conversations", &json!({}))["id"].as_str().unwrap().to_owned()
}

/// How long a turn takes that nobody disturbs, and its conversation.
fn time_of_a_turn(sandbox: &Sandbox) -> (Duration, String) {
    let gateway = ready(sandbox);
    let id = begin(&gateway);
    let begun = Instant::now();
    let mut stream = send(gateway.port, &id, "undisturbed");
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("data: [DONE]"), "{text}");
    (begun.elapsed(), id)
}

/// Sends a message whose answer is streamed.
fn send(port: u16, id: &str, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let body = json!({"message": {"role": "user", "content": text}}).to_string();
    let head = format!(
        "POST /conversations/{id}/chat HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// Reads what comes in a time.
fn read_for(mut stream: &TcpStream, time: Duration) {
    let until = Instant::now() + time;
    let mut piece = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        stream.set_read_timeout(Some(left)).unwrap();
        // At the end of the answer there is nothing more to disturb.
        if matches!(stream.read(&mut piece), Ok(0)) {
            return;
        }
    }
}

/// The ids of calls without a result.
fn unanswered(messages: &Value) -> Vec<String> {
    let messages = messages.as_array().unwrap_or_else(|| panic!("no messages: {messages}"));
    let mut open: Vec<String> = Vec::new();
    let mut lost = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let position = open.iter().position(|id| message["tool_call_id"] == **id);
            lost.extend(position.is_none().then(|| format!("a result without a call: {message}")));
            position.map(|position| open.remove(position));
            continue;
        }
        lost.append(&mut open);
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.map(|call| call["id"].as_str().unwrap().to_owned()));
    }
    lost.append(&mut open);
    lost
}

/// A server of `scripts/services serve`, which a test may disturb.
struct StoreServer {
    script: Child,
    answers: BufReader<ChildStdout>,
    url: String,
}

impl StoreServer {
    fn start(name: &str) -> Self {
        // Somebody may take the free port before the server does: then another one is free.
        (0..5).find_map(|_| Self::try_start(name)).unwrap()
    }

    fn try_start(name: &str) -> Option<Self> {
        let script = std::env::var("GATEWAY_TEST_SERVICES").unwrap();
        let mut script = Command::new(script)
            .args(["serve", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(script.stdout.take().unwrap());
        let mut server = Self { script, answers, url: String::new() };
        let ready = server.answer();
        server.url.push_str(ready.strip_prefix("ready ")?.split(' ').next()?);
        Some(server)
    }

    /// Has the server paused (`kill -STOP`) or resumed.
    fn order(&mut self, order: &str) {
        writeln!(self.script.stdin.as_mut().unwrap(), "{order}").unwrap();
        assert_eq!(self.answer(), format!("done {order}"));
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        // At the end of its input the script ends the server and removes its data.
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}
