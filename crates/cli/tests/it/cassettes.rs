//! `record` and `replay`

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run;
use crate::sandbox::{DEADLINE, Running, Sandbox, ad_hoc, free_port, words};

/// Records a call of the fixture into `cassette.json` of the sandbox.
fn record(sandbox: &Sandbox) -> String {
    let path = sandbox.folder().join("cassette.json");
    let calls = sandbox.folder().join("calls.jsonl");
    std::fs::write(&calls, "{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n").unwrap();
    let (path, calls) = (path.to_str().unwrap().to_owned(), calls.to_str().unwrap().to_owned());
    let recorded = sandbox
        .run(&ad_hoc(&["record", "--calls", &calls, &path], &words(&gateway_testkit::Fixture::stdio())));
    assert_eq!((recorded.status, recorded.stdout.as_str()), (0, ""), "{}", recorded.stderr);
    path
}

#[test]
fn the_mark_of_secrets_is_the_same_in_logs_and_cassettes() {
    assert_eq!(gateway_cassette::REDACTED, gateway_store::REDACTED);
}

#[test]
fn a_recorded_server_answers_as_the_server_did() {
    let sandbox = Sandbox::new();
    let path = record(&sandbox);
    let cassette: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(cassette["cassette"], 1);
    let binary = assert_cmd::cargo::cargo_bin!("mcp-tool-gateway").to_str().unwrap();
    let again = |arguments: &str| {
        sandbox.run(&["call", "--no-validate", "add", arguments, "--", binary, "replay", &path])
    };
    let direct = sandbox
        .run(&ad_hoc(&["call", "add", r#"{"a": 1, "b": 2}"#], &words(&gateway_testkit::Fixture::stdio())));
    let replayed = again(r#"{"b": 2, "a": 1.0}"#);
    assert_eq!((replayed.status, replayed.json()), (0, direct.json()), "{}", replayed.stderr);
    let other = again(r#"{"a": 1, "b": 3}"#);
    assert_eq!(other.status, 2, "{}", other.stdout);
    assert!(other.stderr.contains("/arguments/b is 3, recorded 2"), "{}", other.stderr);
}

#[test]
fn what_cannot_be_recorded_or_replayed_is_refused() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], input: &str, part: &str| {
        let run = if input.is_empty() { sandbox.run(arguments) } else { run(arguments, input) };
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        assert!(run.stderr.contains(part), "{part:?} is not in {}", run.stderr);
    };
    refused(&["replay", "nowhere.json"], "", "reading nowhere.json");
    refused(&["replay", "-"], "{\"tools\": []}", "this is no cassette");
    refused(&["replay", "-"], "{\"cassette\": 7}", "has the format 7");
    refused(&["replay", "x.json", "--port", "1"], "", "--http");
    refused(&["record", "http://127.0.0.1:1/mcp"], "", "the cassette comes first");
    refused(&["record", "x.json"], "", "no server is named");
    refused(&["record", "/", "--", "cat"], "", "is a directory");
    refused(&["record", "nowhere/x.json", "--", "cat"], "", "writing the cassette nowhere/x.json");
    refused(&["record", "--tools", "x.json", "--", "no-such-program"], "", "no-such-program");
    refused(
        &["record", "--calls", "-", "x.json", "--", "cat"],
        "{\"tool\": 1}",
        "standard input:1: a call is a line such as",
    );
}

/// A command that listens, and its port.
fn listening(sandbox: &Sandbox, arguments: &[&str]) -> (Running, u16) {
    let mut running = Running::start(sandbox.command(arguments));
    let line = running.line("listening on http://127.0.0.1:");
    let port = line.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    (running, port)
}

/// Sends a request; the whole answer, or what came of it until it has this many events.
#[track_caller]
fn ask(port: u16, method: &str, session: Option<&str>, body: &str, events: usize) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let session = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
    let head = format!(
        "{method} /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\n{session}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut chunk = [0; 1 << 13];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&chunk[..count]),
            Err(error) => {
                let text = String::from_utf8_lossy(&answer);
                panic!("{error} after {} events", text.matches("event: message").count());
            }
        }
        if events > 0 && String::from_utf8_lossy(&answer).matches("event: message").count() >= events {
            break;
        }
    }
    String::from_utf8(answer).unwrap()
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[test]
fn long_streams_arrive_whole_over_http() {
    let progress =
        |at: usize| json!({"notification": {"method": "notifications/progress", "params": {"progress": at}}});
    let log = |at: usize| json!({"notification": {"method": "notifications/message", "params": {"data": at}}, "stream": "session"});
    let cassette = json!({"cassette": 1, "entries": [
        {"request": {"method": "initialize"}, "result": {"protocolVersion": "2025-11-25"}},
        {"notification": {"method": "notifications/initialized"}, "after": (0..400).map(log).collect::<Vec<_>>()},
        {"request": {"method": "tools/call", "params": {"name": "slow"}},
            "before": (0..1200).map(progress).collect::<Vec<_>>(), "result": {"content": []}},
    ]});
    let sandbox = Sandbox::new();
    sandbox.write("long.json", &cassette.to_string());
    let (_running, port) = listening(&sandbox, &["replay", "long.json", "--http"]);
    let opened =
        ask(port, "POST", None, &request(1, "initialize", &json!({"protocolVersion": "2025-11-25"})), 0);
    let head = opened.to_ascii_lowercase();
    let session = head.split("mcp-session-id: ").nth(1).unwrap().lines().next().unwrap();
    let params = json!({"name": "slow", "_meta": {"progressToken": 7}});
    let called = ask(port, "POST", Some(session), &request(2, "tools/call", &params), 0);
    assert_eq!(called.matches("\"progressToken\":7").count(), 1200);
    assert!(called.contains("{\"content\":[]}"));
    ask(port, "POST", Some(session), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 0);
    let events = ask(port, "GET", Some(session), "", 400);
    let at = |number: usize| events.find(&format!("\"data\":{number}}}")).unwrap();
    assert!((1..400).all(|number| at(number - 1) < at(number)));
}

#[test]
fn a_save_that_fails_is_tried_again() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("gone")).unwrap();
    let mut command = sandbox.command(&["record", "gone/x.json", "--", "cat"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    let mut say = |id: u64| {
        writeln!(stdin, "{}", request(id, "ping", &json!({}))).unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
    };
    say(1);
    std::fs::rename(sandbox.path("gone"), sandbox.path("away")).unwrap();
    say(2);
    let mut warning = String::new();
    stderr.read_line(&mut warning).unwrap();
    assert!(warning.starts_with("writing the cassette gone/x.json: "), "{warning}");
    std::fs::rename(sandbox.path("away"), sandbox.path("gone")).unwrap();
    drop(stdin);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), rest.as_str()),
        (Some(0), "recorded 2 messages into gone/x.json\n")
    );
    let cassette: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("gone/x.json")).unwrap()).unwrap();
    assert_eq!(cassette["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn a_last_save_that_fails_is_an_error() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("gone")).unwrap();
    let server = r#"rm -r gone; read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; cat"#;
    let input = request(1, "ping", &json!({})) + "\n";
    let run = sandbox.run_with(&["record", "gone/x.json", "--", "sh", "-c", server], &input, &[]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(run.stderr.contains("writing the cassette gone/x.json: "), "{}", run.stderr);
    assert!(!run.stderr.contains("recorded"), "{}", run.stderr);
}

#[test]
fn the_last_message_needs_no_end_of_line() {
    let sandbox = Sandbox::new();
    let ping = request(1, "ping", &json!({}));
    let recorded =
        sandbox.run_with(&["record", "x.json", "--", "cat"], &format!("\nhello\n{{}}\n{ping}"), &[]);
    assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    assert!(recorded.stderr.contains("a message passes without being recorded: "), "{}", recorded.stderr);
    // Both ways, since `cat` says what it hears.
    assert!(recorded.stderr.contains("4 messages passed without being recorded"), "{}", recorded.stderr);
    assert!(recorded.stderr.contains("recorded 1 message into x.json"), "{}", recorded.stderr);
    let replayed = sandbox.run_with(&["replay", "x.json"], &request(7, "tools/list", &json!({})), &[]);
    assert!(replayed.stdout.starts_with("{\"jsonrpc\":\"2.0\",\"id\":7,"), "{}", replayed.stdout);
}

/// Answers each request with this result, and closes the connection.
fn server(result: &'static str) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            let head =
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length:";
            write!(stream.get_mut(), "{head} {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    port
}

#[test]
fn secrets_of_the_command_line_are_not_recorded_and_others_are() {
    let sandbox = Sandbox::new();
    let port = server(
        r#"{"protocolVersion":"2025-06-18","text":"pin ab12\nQs7kk2Lm9 of p@ss-word, tenant north-7"}"#,
    );
    let url = format!("http://ada:p%40ss-word@127.0.0.1:{port}/mcp?api_key=Qs7kk2Lm9&profile=north");
    let headers = [
        "--header",
        "MCP-Protocol-Version: 2025-06-18",
        "--header",
        "X-Pin: ab12",
        "--header",
        "X-Tenant: north-7",
    ];
    let arguments = [&["record", "x.json", &url], headers.as_slice()].concat();
    let (mut running, port) = listening(&sandbox, &arguments);
    let asked = request(1, "initialize", &json!({"protocolVersion": "2025-06-18"}));
    assert!(ask(port, "POST", None, &asked, 0).contains("pin ab12"));
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0), "{}", running.errors());
    let cassette: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("x.json")).unwrap()).unwrap();
    let expected = json!({
        "protocolVersion": "2025-06-18",
        "text": "pin [redacted]\n[redacted] of [redacted], tenant north-7",
    });
    assert_eq!(cassette["entries"][0]["result"], expected);
}

#[test]
fn a_server_that_cannot_be_reached_is_named_without_secrets() {
    let sandbox = Sandbox::new();
    let gone = free_port();
    let url = format!("http://ada:password9@127.0.0.1:{gone}/mcp?api_key=Qs7kk2Lm9");
    let (mut running, port) = listening(&sandbox, &["record", "x.json", &url]);
    let answer = ask(port, "POST", None, &request(1, "ping", &json!({})), 0);
    assert!(
        answer.starts_with("HTTP/1.1 502")
            && answer.contains(&format!("asking http://127.0.0.1:{gone}/mcp: ")),
        "{answer}"
    );
    assert!(!answer.contains("Qs7kk2Lm9") && !answer.contains("password9"), "{answer}");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
    let text = std::fs::read_to_string(sandbox.path("x.json")).unwrap();
    assert!(!text.contains("Qs7kk2Lm9") && !text.contains("password9"), "{text}");
}
