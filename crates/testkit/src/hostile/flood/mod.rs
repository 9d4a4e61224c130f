//! All floods at once, and how they affect other callers.

mod kept;
mod noise;

use std::fmt::{self, Display, Formatter};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::arena::{Arena, Gateway, IN_BACKGROUND, Programs, Running};
use super::attacks::MEMORY;
use super::caller::{Caller, call_body};
use kept::Kept;
pub use noise::{run_busy, run_flood};

/// Concurrent connections of other calls.
const AT_ONCE: usize = 4;

/// Silent connections of the flood.
const SILENT: usize = 9_000;

/// Flooding programs: the callers and five servers.
const FLOODING: usize = 6;

/// Servers whose listings never end, named after their kind.
const LISTINGS: [&str; 2] = ["cursors", "pages"];

/// How the floods are measured.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// Calls of the quiet measurement.
    pub calls: usize,
    /// How long the floods last.
    pub duration: Duration,
}

/// The allowed p99 of other calls, as a multiple of the p99 next to busy programs.
const RATIO: f64 = 3.0;

/// The slowest allowed answer of `/health`.
const HEALTH: Duration = Duration::from_millis(200);

/// Times of calls.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Calls that succeeded.
    pub calls: usize,
    /// Calls that failed.
    pub failed: usize,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Before the floods.
    pub quiet: Times,
    /// Next to as many programs that only use the CPU: what the system's scheduler adds.
    pub busy: Times,
    /// During the floods.
    pub flooded: Times,
    /// How often `/health` was asked.
    pub asked: usize,
    /// The slowest answer of `/health`.
    pub slowest: Duration,
    /// Peak resident memory.
    pub peak: u64,
}

impl Measured {
    /// The p99 under floods, as a multiple of another.
    fn ratio(&self, other: Times) -> f64 {
        self.flooded.p99.as_secs_f64() / other.p99.as_secs_f64().max(1e-6)
    }

    fn rows(&self) -> [(&'static str, String, Option<bool>); 10] {
        let micros = |time: Duration| format!("{} µs", time.as_micros());
        [
            ("quiet p50", micros(self.quiet.p50), None),
            ("quiet p99", micros(self.quiet.p99), None),
            ("busy p99", micros(self.busy.p99), None),
            ("flooded p50", micros(self.flooded.p50), None),
            ("flooded p99", micros(self.flooded.p99), None),
            ("p99 / quiet", format!("{:.2}", self.ratio(self.quiet)), None),
            (
                "p99 / busy",
                format!("{:.2} (at most {:.1})", self.ratio(self.busy), RATIO),
                Some(self.ratio(self.busy) <= RATIO),
            ),
            (
                "failed calls",
                format!("{} of {} (none)", self.flooded.failed, self.flooded.calls + self.flooded.failed),
                Some(self.flooded.failed == 0 && self.flooded.calls > 0),
            ),
            (
                "slowest /health",
                format!("{} ms of {} (at most {})", self.slowest.as_millis(), self.asked, HEALTH.as_millis()),
                Some(self.asked > 0 && self.slowest <= HEALTH),
            ),
            (
                "peak memory",
                format!("{} MB (at most {})", self.peak >> 20, MEMORY >> 20),
                Some(self.peak > 0 && self.peak <= MEMORY),
            ),
        ]
    }

    /// Whether all limits were kept.
    pub fn held(&self) -> bool {
        self.rows().iter().all(|(_, _, held)| *held != Some(false))
    }
}

impl Display for Measured {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (name, value, held) in self.rows() {
            let mark = match held {
                None => "",
                Some(true) => "ok",
                Some(false) => "FAILED",
            };
            writeln!(out, "{name:<16} {value:<32} {mark}")?;
        }
        Ok(())
    }
}

/// Measures calls of a well-behaved server, first alone, then during all floods.
pub fn measure_flood(programs: &Programs, flood: Flood) -> Result<Measured> {
    let arena = Arena::new(programs)?;
    let gateway = arena.serve(&configuration(&arena)?)?;
    if !gateway.lists("\"t\"") || !gateway.lists("flood_requests") {
        bail!("the servers of the flood do not start");
    }
    // The first calls warm the gateway up.
    times(&gateway, &|done| done >= flood.calls / 4);
    let quiet = times(&gateway, &|done| done >= flood.calls);
    let busy = beside_busy(programs, &gateway, flood.duration / 2)?;
    for name in LISTINGS {
        // Read with the next listing, which the flood asks for.
        arena.server(name, "[]")?.write("listing", name)?;
    }
    let seconds = flood.duration.as_secs().max(1);
    let mut noise = in_background(programs, "flood");
    noise.args([gateway.port.to_string(), SILENT.to_string(), seconds.to_string()]);
    let mut noise = Running::start(noise)?;
    let over = AtomicBool::new(false);
    let (asked, slowest) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let until = Instant::now() + flood.duration;
    let flooded = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let took = ask_health(&gateway);
                asked.fetch_add(1, Ordering::Relaxed);
                slowest.fetch_max(usize::try_from(took.as_micros()).unwrap_or(usize::MAX), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(100).saturating_sub(took));
            }
        });
        let flooded = times(&gateway, &|_| Instant::now() >= until);
        over.store(true, Ordering::Relaxed);
        flooded
    });
    noise.wait(Duration::from_secs(90)).context("ending the floods")?;
    let slowest = u64::try_from(slowest.into_inner()).unwrap_or(u64::MAX);
    Ok(Measured {
        quiet,
        busy,
        flooded,
        asked: asked.into_inner(),
        slowest: Duration::from_micros(slowest),
        peak: gateway.peak(),
    })
}

/// Measures calls next to as many busy programs as there are flooding ones.
fn beside_busy(programs: &Programs, gateway: &Gateway, duration: Duration) -> Result<Times> {
    let until = Instant::now() + duration;
    let mut running = Vec::new();
    for _ in 0..FLOODING {
        let mut busy = in_background(programs, "busy");
        busy.arg(duration.as_secs().max(1).to_string());
        running.push(Running::start(busy)?);
    }
    let times = times(gateway, &|_| Instant::now() >= until);
    for mut busy in running {
        busy.wait(Duration::from_secs(90)).context("ending the busy programs")?;
    }
    Ok(times)
}

fn in_background(programs: &Programs, role: &str) -> Command {
    let [program, arguments @ ..] = IN_BACKGROUND;
    let mut command = Command::new(program);
    command.args(arguments).arg(&programs.attack).arg(role);
    command
}

/// One good server, and one for each flood; these run with the lowest priority.
fn configuration(arena: &Arena) -> Result<Value> {
    let tool = |name: &str| format!(r#"[{{"name":"{name}","inputSchema":{{"type":"object"}}}}]"#);
    let good = arena.server("good", &tool("t"))?;
    let mut servers = serde_json::Map::new();
    servers.insert(good.name.clone(), good.entry());
    let floods = [
        ("results", "big"),
        ("flood_notifications", "flood_notifications"),
        ("flood_requests", "flood_requests"),
    ];
    for (name, tools) in floods {
        servers.insert(name.to_owned(), arena.server(name, &tool(tools))?.background_entry());
    }
    for name in LISTINGS {
        servers.insert(name.to_owned(), arena.server(name, "[]")?.background_entry());
    }
    Ok(json!({"mcpServers": servers, "timeouts": {"list": "1s"}}))
}

fn ask_health(gateway: &Gateway) -> Duration {
    let begin = Instant::now();
    match gateway.get("/health") {
        Ok(answer) if answer.status == 200 => begin.elapsed(),
        // No answer is slower than every answer.
        _ => Duration::from_hours(1),
    }
}

/// Calls the good server over several connections until `enough` returns true for the number of calls.
fn times(caller: &Caller, enough: &(dyn Fn(usize) -> bool + Sync)) -> Times {
    let body = call_body("good", "t", r#"{"a":1}"#);
    let (done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut all: Vec<Duration> = std::thread::scope(|scope| {
        let callers: Vec<_> =
            (0..AT_ONCE).map(|_| scope.spawn(|| one(caller, &body, &done, &failed, enough))).collect();
        callers.into_iter().filter_map(|caller| caller.join().ok()).flatten().collect()
    });
    all.sort_unstable();
    let at = |share: usize| all.get(all.len() * share / 100).copied().unwrap_or_default();
    Times { calls: all.len(), failed: failed.into_inner(), p50: at(50), p99: at(99) }
}

fn one(
    caller: &Caller,
    body: &str,
    done: &AtomicUsize,
    failed: &AtomicUsize,
    enough: &(dyn Fn(usize) -> bool + Sync),
) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut connection = None;
    while !enough(done.fetch_add(1, Ordering::Relaxed)) {
        let begin = Instant::now();
        let kept = connection.take().map_or_else(|| Kept::open(caller, "/call_tool", body), Ok);
        let answered = kept.and_then(|mut kept| Ok((kept.exchange()?, kept)));
        match answered {
            Ok((200, kept)) => {
                times.push(begin.elapsed());
                connection = Some(kept);
            }
            Ok(_) | Err(_) => {
                failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    times
}
