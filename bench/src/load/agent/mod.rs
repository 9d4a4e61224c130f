//! What the agent costs beside the model and the tools, and what other proxies cost in the same run.

mod peers;
mod streams;
mod upstream;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Map, Value, json};

use super::client::{Request, drive, drive_once};
use super::process::{Gateway, cpu, memory_kb, ticks, user_part};
use super::{check, micros};
use crate::measure::median;
use peers::Peer;
use streams::{first_bytes, idle, stream_all};
use upstream::Behaviour;

/// Which other proxies are measured, and how much.
#[derive(Debug, Args)]
pub(super) struct AgentLoad {
    /// The program of nginx; left out if not given
    #[arg(long)]
    nginx: Option<PathBuf>,
    /// The program of LiteLLM's proxy; left out if not given
    #[arg(long)]
    litellm: Option<PathBuf>,
    /// Requests that are not streamed, in each round
    #[arg(long, default_value_t = 2_000)]
    requests: usize,
    /// Rounds; medians are shown
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Streams that are open and idle
    #[arg(long, default_value_t = 1_000)]
    idle: usize,
}

/// Chunks of one stream, streams at once, and streams in all.
const CHUNKS: usize = 500;
const AT_ONCE: usize = 16;
const STREAMS: usize = 64;

/// Streams whose first byte is timed: at once, and one after the other in each.
const FIRST_AT_ONCE: usize = 64;
const FIRST_EACH: usize = 30;

/// Calls of a request with many rounds.
const MANY: usize = 8;

/// Somebody who is asked for completions.
pub(super) struct Target {
    name: &'static str,
    port: u16,
    /// `None` if it is the model itself.
    id: Option<u32>,
    headers: &'static [(&'static str, &'static str)],
    /// It is given so many times less to do.
    slowness: usize,
}

impl Target {
    fn request(&self, behaviour: Behaviour, stream: bool) -> Request {
        let message = json!({"role": "user", "content": "How much is 15 and 27?"});
        let body = json!({"model": behaviour.name(), "messages": [message], "stream": stream});
        let mut headers = vec![("authorization", "Bearer none")];
        headers.extend(self.headers);
        Request::post(self.port, "/v1/chat/completions", &headers, &body.to_string())
    }

    /// The CPU time that some work costs it, in microseconds a piece: all of it, and what of it is spent outside the kernel.
    async fn cost(&self, pieces: usize, work: impl Future<Output = Result<()>>) -> Result<(f64, f64)> {
        let Some(id) = self.id else { return work.await.map(|()| (0.0, 0.0)) };
        let before = (cpu(id)?, ticks(id)?);
        work.await?;
        let all = micros(cpu(id)?.saturating_sub(before.0), pieces);
        Ok((all, all * user_part(before.1, ticks(id)?)))
    }
}

/// The medians of all CPU time and of the time outside the kernel.
fn shown(figures: &[(f64, f64)]) -> String {
    let pick = |get: &dyn Fn(&(f64, f64)) -> f64| median(figures.iter().map(get).collect());
    format!("{:.1} ({:.1})", pick(&|pair| pair.0), pick(&|pair| pair.1))
}

/// Measures all of it.
pub(super) async fn agent(program: &Path, load: &AgentLoad) -> Result<String> {
    let model = upstream::start()?;
    let gateway = Gateway::start(program, &config(model)).await?;
    let nginx = match &load.nginx {
        Some(program) => Some(Peer::nginx(program, model).await?),
        None => None,
    };
    let litellm = match &load.litellm {
        Some(program) => Some(Peer::litellm(program, model).await?),
        None => None,
    };
    let own = Some(gateway.id()?);
    let mut targets = vec![Target { name: "direct", port: model, id: None, headers: &[], slowness: 1 }];
    if let Some(nginx) = &nginx {
        targets.push(Target {
            name: "nginx",
            port: nginx.port,
            id: Some(nginx.id()?),
            headers: &[],
            slowness: 1,
        });
    }
    let none = &[("x-gateway-tools", "none")];
    targets.push(Target { name: "gateway, proxy", port: gateway.port, id: own, headers: none, slowness: 1 });
    targets.push(Target { name: "gateway, loop", port: gateway.port, id: own, headers: &[], slowness: 1 });
    if let Some(litellm) = &litellm {
        targets.push(Target {
            name: "LiteLLM",
            port: litellm.port,
            id: Some(litellm.id()?),
            headers: &[],
            slowness: 8,
        });
    }
    let mut table = loops(targets.iter().find(|target| target.name == "gateway, loop"), load).await?;
    table.push_str(&proxies(&targets, load).await?);
    gateway.stop().await?;
    Ok(table)
}

/// A gateway with the demo's tools and a model for each behaviour.
fn config(model: u16) -> Value {
    let behaviours = [
        Behaviour::Calls(0),
        Behaviour::Calls(1),
        Behaviour::Calls(MANY),
        Behaviour::Chunks(CHUNKS),
        Behaviour::Stamps,
        Behaviour::Idles,
    ];
    let entry = json!({"baseUrl": format!("http://127.0.0.1:{model}/v1"), "apiKey": "none"});
    let models: Map<String, Value> =
        behaviours.iter().map(|behaviour| (behaviour.name(), entry.clone())).collect();
    json!({"mcpServers": {"demo": {"type": "builtin"}}, "models": models})
}

/// The loop with calls.
async fn loops(target: Option<&Target>, load: &AgentLoad) -> Result<String> {
    let target = target.context("no loop to measure")?;
    let mut table = String::from(
        "| loop | rounds | CPU µs a round (outside the kernel) | at most |\n| --- | ---: | ---: | ---: |\n",
    );
    for calls in [1, MANY] {
        for stream in [false, true] {
            let request = target.request(Behaviour::Calls(calls), stream);
            check(&drive_once(&request).await?, "42")?;
            let requests = load.requests / (calls + 1);
            drive(&request, 1, requests / 5).await?;
            let mut figures = Vec::new();
            for _ in 0..load.rounds {
                let work = async { drive(&request, 4, requests).await.map(drop) };
                figures.push(target.cost(requests * (calls + 1), work).await?);
            }
            let name = if stream { "streamed" } else { "whole" };
            writeln!(table, "| {name} | {} | {} | 150 |", calls + 1, shown(&figures))?;
        }
    }
    table.push('\n');
    Ok(table)
}

/// What the loop and others have in common.
async fn proxies(targets: &[Target], load: &AgentLoad) -> Result<String> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for target in targets {
        let mut row = vec![target.name.to_owned()];
        let whole = target.request(Behaviour::Calls(0), false);
        check(&drive_once(&whole).await?, "42")?;
        let (requests, streams) = (load.requests / target.slowness, STREAMS / target.slowness);
        drive(&whole, 1, requests / 5).await?;
        let mut figures = Vec::new();
        for _ in 0..load.rounds {
            let work = async { drive(&whole, 4, requests).await.map(drop) };
            figures.push(target.cost(requests, work).await?);
        }
        row.push(shown(&figures));
        let chunks = target.request(Behaviour::Chunks(CHUNKS), true);
        let mut figures = Vec::new();
        for _ in 0..load.rounds {
            let work = stream_all(&chunks, AT_ONCE.min(streams), streams);
            figures.push(target.cost(streams * CHUNKS, work).await?);
        }
        row.push(shown(&figures));
        let first = first_bytes(&target.request(Behaviour::Stamps, true), FIRST_AT_ONCE, FIRST_EACH).await?;
        row.push(format!("{:.0} / {:.0}", first.p50, first.p99));
        let memory = match target.id {
            Some(id) => {
                let request = target.request(Behaviour::Idles, true);
                // The first streams also pay for what is there only once.
                idle(&request, load.idle / 10, || Ok(())).await?;
                let before = memory_kb(id)?;
                let mut after = before;
                idle(&request, load.idle, || {
                    after = memory_kb(id)?;
                    Ok(())
                })
                .await?;
                format!("{:.1}", megabytes(after.saturating_sub(before)))
            }
            None => "—".to_owned(),
        };
        row.push(memory);
        rows.push(row);
    }
    let idle = load.idle;
    let mut table = format!(
        "| | CPU µs a request (outside the kernel) | CPU µs a chunk (outside the kernel) | first byte µs, p50 / p99 at {FIRST_AT_ONCE} streams | MB for {idle} idle streams |\n\
         | --- | ---: | ---: | ---: | ---: |\n"
    );
    for row in rows {
        writeln!(table, "| {} |", row.join(" | "))?;
    }
    Ok(table)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}
