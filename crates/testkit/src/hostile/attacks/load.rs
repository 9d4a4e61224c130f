//! Callers that exhaust shared resources.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rustix::process::Signal;
use serde_json::json;

use super::{MEMORY, descriptors};
use crate::hostile::arena::{Arena, Gateway, Hostile, signal};
use crate::hostile::caller::{Incoming, call_body};
use crate::hostile::session::Session;
use crate::process::eventually_blocking;

const HANG: &str = r#"[{"name":"hang","inputSchema":{"type":"object"}}]"#;
const T: &str = r#"[{"name":"t","inputSchema":{"type":"object"}}]"#;

/// Small documents with an expensive check: eight tools whose definitions all refer to each other.
pub(super) fn check_recursive(arena: &Arena) -> Result<String> {
    let names: Vec<String> = (0..60).map(|index| format!("d{index}")).collect();
    let mut properties = String::new();
    for name in &names {
        let _ = write!(properties, r##""{name}":{{"$ref":"#/$defs/{name}"}},"##);
    }
    properties.pop();
    let definition = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
    let definitions: Vec<String> = names.iter().map(|name| format!(r#""{name}":{definition}"#)).collect();
    let schema = format!(
        r##"{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/d0"}}}},"$defs":{{{}}}}}"##,
        definitions.join(",")
    );
    let tools: Vec<String> = (0..8)
        .map(|index| format!(r#"{{"name":"t{index}","description":"d","inputSchema":{schema}}}"#))
        .collect();
    check(arena, &format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
}

/// The same with alternatives in alternatives.
pub(super) fn check_alternatives(arena: &Arena) -> Result<String> {
    let mut schema = r#"{"type":"object","properties":{"x":{"type":"integer","minimum":1}}}"#.to_owned();
    for level in 0..9 {
        schema = format!(
            r#"{{"anyOf":[{schema},{{"type":"object","properties":{{"l{level}":{{"type":"string","pattern":"^a{level}$"}}}}}},{schema}]}}"#
        );
    }
    let schema = format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#);
    let count = 900_000 / schema.len();
    let tools: Vec<String> = (0..count.clamp(1, 18))
        .map(|index| format!(r#"{{"name":"t{index}","description":"d","inputSchema":{schema}}}"#))
        .collect();
    check(arena, &format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
}

/// Three checks at once.
fn check(arena: &Arena, body: &str) -> Result<String> {
    let gateway = arena.serve(&json!({"mcpServers": {"demo": {"type": "builtin"}}}))?;
    let begin = Instant::now();
    let (peak, answers): (u64, Vec<_>) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| gateway.post("/check", body))).collect();
        while threads.iter().any(|thread| !thread.is_finished()) && gateway.peak() <= MEMORY {
            std::thread::sleep(Duration::from_millis(10));
        }
        let peak = gateway.peak();
        if peak > MEMORY {
            // It is broken; stop before the machine is too.
            signal(gateway.running.pid(), Signal::KILL);
        }
        let answers = threads.into_iter().filter_map(|thread| thread.join().ok()).collect();
        (peak.max(gateway.peak()), answers)
    });
    let mut largest = 0;
    for answer in answers {
        match answer {
            Ok(answer) => largest = largest.max(answer.body.len()),
            Err(problem) => arena.breach(problem.to_string()),
        }
    }
    let most = body.len().saturating_mul(8).max(8 << 20);
    let sent = body.len();
    arena.breach_if(largest > most, || format!("{sent} bytes gave an answer of {largest}"));
    let peak = arena.breach_memory(peak, MEMORY);
    Ok(format!("{sent} bytes gave {largest} in {:.1?}, {peak}", begin.elapsed()))
}

/// Silent connections fill the gateway.
pub(super) fn silent_connections(arena: &Arena) -> Result<String> {
    // No connection is closed while the others are opened.
    let timeouts = json!({"read": "5m"});
    let gateway = arena.serve(&json!({"mcpServers": {"demo": {"type": "builtin"}}, "timeouts": timeouts}))?;
    let wanted = descriptors().min(9_800);
    let address = SocketAddr::from(([127, 0, 0, 1], gateway.port));
    let mut silent = Vec::with_capacity(wanted);
    while silent.len() < wanted {
        // Once the gateway accepts no more, the backlog of the system is full as well.
        let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(2_500)) else { break };
        silent.push(stream);
        if silent.len().is_multiple_of(50) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let begin = Instant::now();
    let status = gateway.get("/health").map(|answer| answer.status).map_err(|problem| problem.to_string());
    let took = begin.elapsed();
    let count = silent.len();
    let late = took > Duration::from_secs(1) || status != Ok(200);
    arena.breach_if(late, || format!("/health answered {status:?} after {took:.1?} beside {count}"));
    arena.breach_if(count < 8_200, || {
        format!("only {count} connections could be opened: raise the limit of open files")
    });
    let peak = arena.breach_memory(gateway.peak(), MEMORY / 3);
    Ok(format!("/health answered after {took:.1?} beside {count} silent connections, {peak}"))
}

/// One session keeps opening streams; then as many sessions open one each, like many clients.
pub(super) fn streams(arena: &Arena) -> Result<String> {
    let gateway = arena.serve(&json!({"mcpServers": {"demo": {"type": "builtin"}}}))?;
    let wanted = descriptors().min(1_500);
    let first = Session::open(&gateway, "/mcp", &json!({}))?;
    let of_one = open_streams((0..wanted).map(|_| first.listen()))?;
    let sessions =
        (0..wanted).map(|_| Session::open(&gateway, "/mcp", &json!({})).and_then(|own| own.listen()));
    let (of_many, others) =
        (open_streams(sessions)?, gateway.post("/call_tool", &call_body("demo", "add", r#"{"a":1,"b":2}"#)));
    let open = format!("{} of {wanted} streams of one session are open", of_one.len());
    arena.breach_if(of_one.len() > 100, || open.clone());
    arena.breach_if(of_many.len() < wanted, || {
        format!("{} of {wanted} sessions have a stream", of_many.len())
    });
    let status = others.map_or(0, |answer| answer.status);
    arena.breach_if(status != 200, || format!("another call is answered with {status}"));
    let peak = arena.breach_memory(gateway.peak(), MEMORY);
    Ok(format!("{open}, {peak}"))
}

/// Those that were opened and were not closed by a later one.
fn open_streams(opened: impl Iterator<Item = Result<Incoming>>) -> Result<Vec<Incoming>> {
    let mut open = Vec::new();
    for stream in opened.collect::<Vec<_>>().into_iter().flatten().filter(|stream| stream.status == 200) {
        if stream.is_open()? {
            open.push(stream);
        }
    }
    Ok(open)
}

/// One caller opens so many sessions that another's would be evicted.
pub(super) fn evicted_session(arena: &Arena) -> Result<String> {
    let gateway = arena
        .serve(&json!({"mcpServers": {"demo": {"type": "builtin"}}, "mcp": {"sessions": 20},
        "apiKeys": {"ann": "ann-key-0123456789", "bob": "bob-key-0123456789"}}))?;
    let (ann, bob) = (gateway.with_key("ann-key-0123456789"), gateway.with_key("bob-key-0123456789"));
    let session = Session::open(&ann, "/mcp", &json!({}))?;
    for _ in 0..30 {
        // The gateway may refuse some of these.
        let _ = Session::open(&bob, "/mcp", &json!({}));
    }
    let status = session.request("tools/list", "{}")?.status;
    arena.breach_if(status != 200, || format!("the other caller's session is answered with {status}"));
    Ok("the other caller's session lives".to_owned())
}

/// Starts calls one after another and disconnects from each as soon as it runs; running ones count against the limit.
fn depart(arena: &Arena, server: &Hostile, send: impl Fn(usize) -> Result<TcpStream>) -> Result<String> {
    for index in 0..8 {
        let before = server.calls().len();
        let stream = send(index)?;
        let _ = eventually_blocking(Duration::from_millis(500), "the call", || server.calls().len() > before);
        drop(stream);
    }
    let started = server.calls().len();
    arena.breach_if(started > 3, || format!("{started} calls are at work beside a limit of 2"));
    Ok(format!("{started} calls are at work"))
}

/// A gateway that runs two requests of a caller at once, and a server that never answers.
fn with_limit(arena: &Arena) -> Result<(Hostile, Gateway)> {
    let server = arena.server("e", HANG)?;
    let limits = json!({"concurrentRequests": 2});
    let gateway =
        arena.serve(&json!({"mcpServers": {"e": server.entry()}, "limits": limits, "drain": "100ms"}))?;
    gateway.lists("hang");
    Ok((server, gateway))
}

/// Calls with an idempotency key whose callers left.
pub(super) fn departed_idempotent(arena: &Arena) -> Result<String> {
    let (server, gateway) = with_limit(arena)?;
    depart(arena, &server, |index| {
        let key = format!("key-{index}");
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        gateway.send("POST", "/call_tool", &headers, &call_body("e", "hang", "{}"))
    })
}

/// Calls in a legacy session whose callers left.
pub(super) fn departed_session(arena: &Arena) -> Result<String> {
    let (server, gateway) = with_limit(arena)?;
    let session = Session::open(&gateway, "/mcp", &json!({}))?;
    depart(arena, &server, |_| session.abandon("tools/call", r#"{"name":"hang","arguments":{}}"#))
}

/// A page of another origin on this machine sends what needs no preflight.
pub(super) fn other_origin(arena: &Arena) -> Result<String> {
    let (server, gateway) = arena.serve_one(T, &json!({}), "\"t\"")?;
    let started = server.pids().len();
    for origin in ["http://localhost:3000", "http://127.0.0.1:3000", "null"] {
        let headers = [("origin", origin), ("content-type", "text/plain")];
        let tool_use = r#"{"name":"t","input":{}}"#;
        for (path, body) in
            [("/route", tool_use), ("/call_tool", r#"{"server":"e","tool":"t","arguments":{}}"#)]
        {
            let before = server.calls().len();
            gateway.request("POST", path, &headers, body)?;
            arena.breach_if(server.calls().len() > before, || format!("{path} ran a tool for {origin}"));
        }
        gateway.request("POST", "/servers/e/restart", &headers, "")?;
    }
    arena.breach_if(server.pids().len() > started, || "the server was restarted".to_owned());
    Ok("nothing ran, nothing was restarted".to_owned())
}

/// A replacement with much work keeps a writer of another file waiting.
pub(super) fn workspace_work(arena: &Arena) -> Result<String> {
    let root = arena.path("root");
    std::fs::create_dir(&root)?;
    std::fs::write(root.join("large.txt"), "ab ".repeat(330_000))?;
    let gateway = arena.serve(&json!({"mcpServers": {"w": {"type": "workspace", "root": root}}}))?;
    gateway.lists("search_and_replace");
    let operations: Vec<_> = (0..100)
        .map(|index| {
            let (search, replace) = if index % 2 == 0 { ("(a)(b)", "$2$1") } else { ("(b)(a)", "$2$1") };
            json!({"search": search, "replace": replace, "use_regex": true})
        })
        .collect();
    let arguments = json!({"path": "large.txt", "operations": operations}).to_string();
    let (work, wait) = std::thread::scope(|scope| {
        let large = scope.spawn(|| {
            let begin = Instant::now();
            gateway.call_on("w", "search_and_replace", &arguments).map(|_| begin.elapsed())
        });
        let mut longest = Duration::ZERO;
        while !large.is_finished() {
            let begin = Instant::now();
            let other = json!({"path": "other.txt", "content": "text\n", "line_count": 1}).to_string();
            let _ = gateway.call_on("w", "write_to_file", &other);
            longest = longest.max(begin.elapsed());
        }
        (large.join(), longest)
    });
    let work = work.map_err(|_| anyhow!("the caller broke off"))??;
    let seen = format!("a writer waited {wait:.1?} for a work of {work:.1?}");
    arena.breach_if(wait > Duration::from_secs(1), || seen.clone());
    Ok(seen)
}
