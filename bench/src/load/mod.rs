//! The whole gateway under load: its overhead over calling the same server directly.

mod agent;
mod client;
mod figures;
mod mcp;
mod messages;
mod process;
mod soak;
mod targets;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};

use crate::measure::median;
use client::{Request, drive, drive_once};
use figures::Figures;
use process::{Gateway, HttpFixture, find_program};

/// Measures the whole gateway.
#[derive(Debug, Args)]
pub(crate) struct Load {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Calls through the gateway and directly, in turns.
    Calls {
        /// Calls of one round at each concurrency
        #[arg(long, default_value_t = 20_000)]
        calls: usize,
        /// Rounds; medians are shown
        #[arg(long, default_value_t = 3)]
        rounds: usize,
        /// How many calls at once
        #[arg(long, value_delimiter = ',', default_value = "1,16,64")]
        concurrency: Vec<usize>,
    },
    /// Lists of many tools, memory, and the start.
    Lists {
        /// How many tools the server has
        #[arg(long, default_value_t = 1_000)]
        tools: usize,
        /// Requests of one kind
        #[arg(long, default_value_t = 500)]
        requests: usize,
    },
    /// The same server behind the gateway over stdio and over HTTP.
    Transports {
        /// Calls of one round at each concurrency
        #[arg(long, default_value_t = 10_000)]
        calls: usize,
    },
    /// Calls over MCP through the gateway and directly, in turns.
    Mcp {
        /// Calls of one round at each concurrency
        #[arg(long, default_value_t = 20_000)]
        calls: usize,
        /// Rounds; medians are shown
        #[arg(long, default_value_t = 3)]
        rounds: usize,
    },
    /// The memory of idle sessions.
    Sessions {
        /// How many
        #[arg(long, default_value_t = 10_000)]
        sessions: usize,
    },
    /// The figures that the gateway has to stay under: calls at once, registrations, a large result, memory.
    Targets {
        /// Rounds; the slowest is shown
        #[arg(long, default_value_t = 5)]
        rounds: usize,
    },
    /// What the agent costs beside model and tools, and other proxies in the same run.
    Agent(agent::AgentLoad),
    /// Many calls through two servers, with memory and log watched.
    Soak {
        /// Calls in all
        #[arg(long, default_value_t = 1_000_000)]
        calls: usize,
    },
    /// Kills the gateway under load and checks what is in the log.
    Kill {
        /// How often
        #[arg(long, default_value_t = 20)]
        rounds: usize,
    },
}

impl Load {
    /// Measures, and returns the tables.
    pub(crate) fn run(&self) -> Result<String> {
        let gateway = find_program("mcp-tool-gateway")?;
        let fixture = find_program("gateway-fixture")?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting tokio")?;
        runtime.block_on(async {
            match &self.what {
                What::Calls { calls, rounds, concurrency } => {
                    calls_table(&gateway, &fixture, *calls, *rounds, concurrency).await
                }
                What::Lists { tools, requests } => lists_table(&gateway, &fixture, *tools, *requests).await,
                What::Transports { calls } => transports_table(&gateway, &fixture, *calls).await,
                What::Mcp { calls, rounds } => mcp::calls(&gateway, &fixture, *calls, *rounds).await,
                What::Sessions { sessions } => mcp::sessions(&gateway, &fixture, *sessions).await,
                What::Targets { rounds } => targets::targets(&gateway, &fixture, *rounds).await,
                What::Agent(load) => agent::agent(&gateway, load).await,
                What::Soak { calls } => soak::soak(&gateway, &fixture, *calls).await,
                What::Kill { rounds } => soak::kill(&gateway, &fixture, *rounds).await,
            }
        })
    }
}

/// One round: the direct calls, those through the gateway, and the CPU time of both.
type Row = (Figures, Figures, f64, f64);

/// A small call for `POST /call_tool`.
fn gateway_call(port: u16, server: &str) -> Request {
    let body = format!(r#"{{"server":"{server}","tool":"add","arguments":{{"a":15,"b":27}}}}"#);
    Request::post(port, "/call_tool", &[], &body)
}

async fn calls_table(
    gateway: &Path,
    fixture: &Path,
    calls: usize,
    rounds: usize,
    at_once: &[usize],
) -> Result<String> {
    let direct = HttpFixture::start(fixture, &[]).await?;
    let session = direct.initialize().await?;
    let straight = direct.call(&session);
    let gateway = Gateway::start(gateway, &process::stdio_config(fixture, &[])).await?;
    let through = gateway_call(gateway.port, "one");
    check(&drive_once(&through).await?, "42")?;
    check(&drive_once(&straight).await?, "42")?;
    let mut table = String::from(
        "| at once | direct calls/s | gateway calls/s | of direct | direct p50/p99 µs | gateway p50/p99 µs | p50 ratio | gateway CPU µs | direct server CPU µs |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for at_once in at_once {
        // Warm both sides first; then in turns, so that both see the same noise.
        drive(&straight, *at_once, calls / 10).await?;
        drive(&through, *at_once, calls / 10).await?;
        let mut rows = Vec::new();
        for _ in 0..rounds {
            let before = direct.cpu()?;
            let one = drive(&straight, *at_once, calls).await?;
            let direct_cpu = direct.cpu()?.saturating_sub(before);
            let before = gateway.cpu()?;
            let other = drive(&through, *at_once, calls).await?;
            let gateway_cpu = gateway.cpu()?.saturating_sub(before);
            rows.push((one, other, micros(gateway_cpu, calls), micros(direct_cpu, calls)));
        }
        let pick = |get: &dyn Fn(&Row) -> f64| median(rows.iter().map(get).collect());
        writeln!(
            table,
            "| {at_once} | {:.0} | {:.0} | {:.2} | {:.0}/{:.0} | {:.0}/{:.0} | {:.2} | {:.1} | {:.1} |",
            pick(&|row| row.0.rate),
            pick(&|row| row.1.rate),
            pick(&|row| row.1.rate / row.0.rate),
            pick(&|row| row.0.p50),
            pick(&|row| row.0.p99),
            pick(&|row| row.1.p50),
            pick(&|row| row.1.p99),
            pick(&|row| row.1.p50 / row.0.p50),
            pick(&|row| row.2),
            pick(&|row| row.3),
        )?;
    }
    writeln!(table, "\nResident memory of the gateway: {} kB.", gateway.memory_kb()?)?;
    gateway.stop().await?;
    Ok(table)
}

async fn transports_table(gateway: &Path, fixture: &Path, calls: usize) -> Result<String> {
    let http = HttpFixture::start(fixture, &[]).await?;
    let config = process::two_config(fixture, &http.url());
    let gateway = Gateway::start(gateway, &config).await?;
    let mut table = String::from(
        "| transport | at once | calls/s | p50 µs | p99 µs | gateway CPU µs |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for at_once in [1, 16, 64] {
        for (server, name) in [("one", "stdio"), ("two", "http")] {
            let call = gateway_call(gateway.port, server);
            check(&drive_once(&call).await?, "42")?;
            drive(&call, at_once, calls / 10).await?;
            let before = gateway.cpu()?;
            let figures = drive(&call, at_once, calls).await?;
            let cpu = micros(gateway.cpu()?.saturating_sub(before), calls);
            writeln!(
                table,
                "| {name} | {at_once} | {:.0} | {:.0} | {:.0} | {cpu:.1} |",
                figures.rate, figures.p50, figures.p99
            )?;
        }
    }
    gateway.stop().await?;
    Ok(table)
}

async fn lists_table(program: &Path, fixture: &Path, tools: usize, requests: usize) -> Result<String> {
    let mut table = String::new();
    let mut starts = Vec::new();
    for _ in 0..9 {
        let begin = Instant::now();
        let gateway = Gateway::start(program, &process::stdio_config(fixture, &[])).await?;
        starts.push(begin.elapsed().as_secs_f64() * 1e3);
        gateway.stop().await?;
    }
    writeln!(table, "Serving after {:.0} ms (median of {}).\n", median(starts.clone()), starts.len())?;
    let many = tools.to_string();
    let gateway = Gateway::start(program, &process::stdio_config(fixture, &["--tools", &many])).await?;
    writeln!(table, "| request | bytes | CPU µs | p50 µs |\n| --- | ---: | ---: | ---: |")?;
    for path in ["/tools/gemini", "/tools/openai", "/tools", "/health"] {
        let plain = Request::get(gateway.port, path, &[]);
        let answer = drive_once(&plain).await?;
        if answer.status != 200 {
            bail!("GET {path} answered {}", answer.status);
        }
        measure(&mut table, &gateway, path, &plain, answer.body.len(), requests).await?;
        if let Some(tag) = &answer.etag {
            let again = Request::get(gateway.port, path, &[("if-none-match", tag)]);
            let unchanged = drive_once(&again).await?;
            if unchanged.status != 304 {
                bail!("GET {path} with its tag answered {}", unchanged.status);
            }
            measure(&mut table, &gateway, &format!("{path}, 304"), &again, 0, requests).await?;
        }
    }
    writeln!(table, "\nResident memory with {tools} tools: {} kB.", gateway.memory_kb()?)?;
    gateway.stop().await?;
    Ok(table)
}

async fn measure(
    table: &mut String,
    gateway: &Gateway,
    name: &str,
    request: &Request,
    bytes: usize,
    requests: usize,
) -> Result<()> {
    drive(request, 1, requests / 10).await?;
    let before = gateway.cpu()?;
    let figures = drive(request, 1, requests).await?;
    let cpu = micros(gateway.cpu()?.saturating_sub(before), requests);
    writeln!(table, "| {name} | {bytes} | {cpu:.1} | {:.0} |", figures.p50)?;
    Ok(())
}

fn check(answer: &client::Answer, wanted: &str) -> Result<()> {
    let text = String::from_utf8_lossy(&answer.body);
    if answer.status != 200 || !text.contains(wanted) {
        bail!("a call answered {}: {text}", answer.status);
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn micros(spent: Duration, calls: usize) -> f64 {
    spent.as_secs_f64() * 1e6 / calls.max(1) as f64
}
