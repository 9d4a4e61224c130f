//! Entries per second and CPU time per entry: `cargo run --release -p gateway-store --example throughput [ENTRIES]`.
#![expect(clippy::print_stdout, reason = "an example that prints its figures")]

use std::{
    error::Error,
    time::{Duration, Instant},
};

use bytes::Bytes;
use gateway_store::{CallLog, CallRecord, Filter, Options, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    let entries: u32 = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    let log = CallLog::open(directory.path(), &Options::default())?;
    let template = CallRecord {
        timestamp: "2026-11-03T10:00:00Z".parse()?,
        caller: Some("alice".into()),
        server: "demo".into(),
        tool: "add".into(),
        provider: Some("openai".into()),
        input: Bytes::from_static(br#"{"a":1,"b":2}"#),
        outcome: Outcome::Result(Bytes::from_static(
            br#"{"content":[{"type":"text","text":"3"}],"isError":false}"#,
        )),
        duration: Duration::from_micros(250),
        correlation_id: "".into(),
        transport: Some("http".into()),
        ran_on: None,
    };

    let cpu = cpu_time()?;
    let start = Instant::now();
    let mut waited = Duration::ZERO;
    let mut longest = Duration::ZERO;
    for number in 0..entries {
        let permit = if let Some(permit) = log.try_reserve() {
            permit
        } else {
            let full = Instant::now();
            let permit = log.reserve(Duration::from_secs(30)).ok_or("no room within 30 s")?;
            waited += full.elapsed();
            longest = longest.max(full.elapsed());
            permit
        };
        // Random ids, as in real traffic; the multiplier is that of splitmix64.
        let id = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut record = template.clone();
        record.correlation_id = format!("{id:016x}{number:016x}").into();
        record.timestamp += Duration::from_millis(u64::from(number));
        permit.record(record);
    }
    let recording = start.elapsed().saturating_sub(waited);
    log.flush(Duration::from_mins(1))?;
    let wall = start.elapsed();
    let cpu = cpu_time()?.saturating_sub(cpu);
    println!("entries            {entries}");
    println!("entries per second {:.0}", f64::from(entries) / wall.as_secs_f64());
    println!("CPU per entry      {:.2} µs", cpu.as_secs_f64() * 1e6 / f64::from(entries));
    println!("longest wait       {:.1} ms", longest.as_secs_f64() * 1e3);
    println!("on calling thread  {:.2} µs", recording.as_secs_f64() * 1e6 / f64::from(entries));

    let mut filter = Filter::default();
    filter.correlation_id = Some(format!("{:016x}{:016x}", 5_u64.wrapping_mul(0x9e37_79b9_7f4a_7c15), 5));
    let start = Instant::now();
    let found = log.query(&filter)?.entries.len();
    println!("find one id        {:.2} ms ({found} found)", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    let found = log.query(&Filter::default())?.entries.len();
    println!("newest hundred     {:.2} ms ({found} found)", start.elapsed().as_secs_f64() * 1e3);
    log.close(Duration::from_mins(1))?;
    println!(
        "bytes per entry    {}",
        std::fs::metadata(directory.path().join("calls.db"))?.len() / u64::from(entries.max(1))
    );
    Ok(())
}

/// User and system time of this process, in the kernel's ticks of 10 ms.
fn cpu_time() -> Result<Duration, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').ok_or("unknown form of /proc/self/stat")?.1;
    let ticks =
        after_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}
