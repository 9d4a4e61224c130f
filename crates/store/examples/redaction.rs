//! What the search for secrets costs on ordinary results:
//! `cargo run --release -p gateway-store --example redaction [KIND] [MEGABYTES]`.
#![expect(clippy::print_stdout, reason = "an example that prints its figures")]

use std::{
    error::Error,
    time::{Duration, Instant},
};

use gateway_store::{CallLog, CallRecord, Options, Outcome};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_default();
    let megabytes: u32 = arguments.next().map_or(Ok(8), |text| text.parse())?;
    println!("{:10} {:>9} {:>9} {:>7}", "kind", "searched", "stored", "ratio");
    for (kind, result) in results().into_iter().filter(|(kind, _)| kind.contains(&*wanted)) {
        let searched = run(&result, megabytes, Searched::Yes)?;
        let stored = run(&result, megabytes, Searched::No)?;
        let rate = |time: Duration| f64::from(megabytes) / time.as_secs_f64();
        println!(
            "{kind:10} {:>4.1} MB/s {:>4.0} MB/s {:>7.1}",
            rate(searched),
            rate(stored),
            searched.as_secs_f64() / stored.as_secs_f64()
        );
    }
    Ok(())
}

/// Whether secrets are searched for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Searched {
    Yes,
    No,
}

/// The time to write this many megabytes of the same result.
fn run(result: &Value, megabytes: u32, searched: Searched) -> Result<Duration, Box<dyn Error>> {
    let mut options = Options::default();
    options.redaction.defaults = searched == Searched::Yes;
    let log = CallLog::in_memory(&options)?;
    let json = bytes::Bytes::from(result.to_string());
    let record = CallRecord {
        timestamp: "2026-11-03T10:00:00Z".parse()?,
        caller: None,
        server: "demo".into(),
        tool: "list".into(),
        provider: None,
        input: "{}".into(),
        outcome: Outcome::Result(json.clone()),
        duration: Duration::from_micros(250),
        correlation_id: "0123456789abcdef".into(),
        transport: None,
        ran_on: None,
    };
    let start = Instant::now();
    for _ in 0..(usize::try_from(megabytes)? << 20) / json.len() {
        log.reserve(Duration::from_mins(10)).ok_or("no room")?.record(record.clone());
    }
    log.flush(Duration::from_mins(10))?;
    Ok(start.elapsed())
}

/// Results of about 16 kB, by what is in them.
fn results() -> Vec<(&'static str, Value)> {
    // The multiplier is that of splitmix64.
    let random = |number: u64| number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = |number: u64| format!("{:016x}{:016x}", random(number), random(random(number)));
    let uuid = |number: u64| {
        let hash = hash(number);
        format!("{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..])
    };
    let rows = |row: &dyn Fn(u64) -> Value| -> Value { (0..120).map(row).collect() };
    let text = |text: String| json!({"content": [{"type": "text", "text": text}], "isError": false});
    let prose = "The quick brown fox jumps over the lazy dog, and the weather in Oslo is fine today. ";
    let source =
        "    let value = items.iter().map(|item| item.len()).sum::<usize>();\n    println!(\"{value}\");\n";
    let lines = |line: &dyn Fn(u64) -> String| (0..160).map(line).collect::<String>();
    vec![
        ("numbers", rows(&|n| json!({"id": n, "x": n * 7, "y": [1, 2.5, true], "name": "blue"}))),
        ("uuids", rows(&|n| json!({"id": uuid(n), "name": "blue", "at": "2026-11-03T10:00:00Z", "n": n}))),
        (
            "hashes",
            rows(&|n| json!({"sha": format!("{}{}", hash(n), hash(n + 7)), "size": n, "path": "src/lib.rs"})),
        ),
        ("uuid-text", text(lines(&|n| format!("2026-11-03T10:00:00Z row {} was read\n", uuid(n))))),
        ("base64", text("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODkr".repeat(360))),
        ("prose", text(prose.repeat(190))),
        ("source", text(source.repeat(160))),
        (
            "addresses",
            rows(&|n| json!({"id": n, "html": format!("https://example.com/items/{n}"), "name": "blue"})),
        ),
        (
            "api",
            rows(
                &|n| json!({"id": n, "key": format!("ITEM-{n}"), "code": 200, "author": "eva", "name": "blue"}),
            ),
        ),
        (
            "log-lines",
            text(lines(&|n| {
                format!("2026-11-03T10:00:00Z INFO worker={n} status=ok took=12ms path=/items/{n}\n")
            })),
        ),
        (
            "keyed-text",
            text(lines(&|n| format!("item {n}: the key figure is high, with code {n} and author Eva\n"))),
        ),
    ]
}
