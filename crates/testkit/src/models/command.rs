//! The binary `gateway-model`: a model server for tests that are not written in Rust.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::file::{ScriptFile, read_script};
use super::record::Outcome;
use super::server::{ModelServer, ServerOptions};
use super::wire::Wire;
use crate::files::AppendFile;

/// Serves a scripted model until standard input closes.
///
/// Prints one line of JSON with its `url` and `port`. Lines on standard input: `open NAME` opens a gate of the script,
/// `reopen` listens again after the fault `connection-refused`.
#[derive(Clone, Debug, Parser)]
#[command(name = "gateway-model")]
pub struct ModelOptions {
    /// The wire format: chat, functions, dial, responses, ollama, messages, generate-content, argo, mistral, cohere or converse.
    #[arg(long)]
    pub wire: Wire,
    /// The script, as JSON.
    #[arg(long)]
    pub script: PathBuf,
    /// The port; a free one if 0.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Refuses what the provider would refuse, also if the script does not say so.
    #[arg(long)]
    pub strict: bool,
    /// Where a line of JSON is appended for every request that ended.
    #[arg(long)]
    pub record: Option<PathBuf>,
}

/// Runs the binary.
pub fn run(options: ModelOptions) -> ExitCode {
    match try_run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // If stderr is closed, the error cannot be reported.
            let _ = writeln!(io::stderr(), "gateway-model: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(options: ModelOptions) -> Result<()> {
    let text = std::fs::read_to_string(&options.script)
        .with_context(|| format!("reading {}", options.script.display()))?;
    let file = read_script(&text)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(serve(options, file));
    // The thread that reads standard input may still be in its read.
    runtime.shutdown_background();
    done
}

async fn serve(options: ModelOptions, file: ScriptFile) -> Result<()> {
    let ScriptFile { script, options: said, gates } = file;
    let strict = said.strict || options.strict;
    let settings = ServerOptions { strict, port: options.port, record: options.record.clone(), ..said };
    let server =
        ModelServer::start_with(options.wire, script, settings).await.context("starting the server")?;
    {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{}", json!({"url": server.url(), "port": server.address().port()}))?;
        stdout.flush()?;
    }
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let gate = line.strip_prefix("open ").and_then(|name| gates.get(name.trim()));
        if let Some(gate) = gate {
            gate.open();
        } else if line.trim() == "reopen" {
            server.reopen()?;
        } else {
            writeln!(io::stderr(), "gateway-model: `{line}` is no command, or names no gate of the script")?;
        }
    }
    let record = AppendFile::open(options.record.as_deref())?;
    for request in server.requests().iter().filter(|request| request.outcome == Outcome::InProgress) {
        record.append(&request.to_json().to_string());
    }
    Ok(())
}
