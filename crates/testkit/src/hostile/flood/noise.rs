//! The flooding callers, in a process of their own.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::hostile::attacks::descriptors;
use crate::hostile::caller::{Caller, call_body};

/// How long a caller that does not read keeps its connection.
const UNREAD: Duration = Duration::from_secs(3);

/// Floods the gateway at a port, for a while.
pub fn run_flood(port: u16, sockets: usize, seconds: u64) {
    let until = Instant::now() + Duration::from_secs(seconds);
    let caller = Caller::new(port);
    let sockets = sockets.min(descriptors());
    std::thread::scope(|scope| {
        scope.spawn(|| silent(&caller, sockets, until));
        for _ in 0..8 {
            scope.spawn(|| unread_results(&caller, until));
        }
        for tool in ["flood_notifications", "flood_requests"] {
            let body = json!({"count": 20_000}).to_string();
            let caller = &caller;
            scope.spawn(move || repeat(until, || drop(caller.call_on(tool, tool, &body))));
        }
        for server in ["cursors", "pages"] {
            let caller = &caller;
            scope.spawn(move || {
                repeat(until, || drop(caller.post(&format!("/servers/{server}/restart"), "")));
            });
        }
        let broken = r#"{"server":"good","tool":"t","tool":"t","arguments":{"a":1,"a":2"#;
        scope.spawn(|| repeat(until, || drop(caller.post("/call_tool", broken))));
    });
}

/// Uses the CPU for a while.
pub fn run_busy(seconds: u64) {
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn repeat(until: Instant, work: impl Fn()) {
    while Instant::now() < until {
        let begin = Instant::now();
        work();
        // Immediate failures are retried after a pause, not in a busy loop.
        std::thread::sleep(Duration::from_millis(2).saturating_sub(begin.elapsed()));
    }
}

/// Keeps this many silent connections open, and replaces those that the gateway closes.
fn silent(caller: &Caller, sockets: usize, until: Instant) {
    let mut open: Vec<TcpStream> = Vec::new();
    while Instant::now() < until {
        open.retain(|stream| {
            let _ = stream.set_nonblocking(true);
            !matches!((&mut &*stream).read(&mut [0]), Ok(0))
        });
        while open.len() < sockets && Instant::now() < until {
            let Ok(stream) = caller.connect() else { break };
            open.push(stream);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Asks for large results; every third caller does not read.
fn unread_results(caller: &Caller, until: Instant) {
    let body = call_body("results", "big", r#"{"bytes":30000000}"#);
    let mut turn = 0_u32;
    while Instant::now() < until {
        turn += 1;
        if turn.is_multiple_of(3) {
            let open: Vec<_> = (0..3)
                .filter_map(|_| {
                    caller.send("POST", "/call_tool", &[("content-type", "application/json")], &body).ok()
                })
                .collect();
            std::thread::sleep(UNREAD.min(until.saturating_duration_since(Instant::now())));
            drop(open);
        } else {
            let _ = caller.post("/call_tool", &body);
        }
    }
}
