//! `record`: the session of a server as a cassette.

mod calls;
mod http;
mod known_secrets;
mod stdio;
mod tape;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use gateway_upstream::Endpoint;

use crate::Outcome;
use crate::adhoc::{AdHocFlags, is_url};
use crate::runtime::block_on_threads;
use crate::seconds::seconds;

/// Stand between a client and a server, and write what they say into a cassette for `replay`.
#[derive(Debug, Args)]
#[command(
    override_usage = "mcp-tool-gateway record [OPTIONS] OUT.json -- COMMAND…\n       \
                      mcp-tool-gateway record [OPTIONS] OUT.json URL",
    after_help = "A client runs `record OUT.json -- COMMAND…` in place of the server's command. In front of a URL it connects to the \
                  address that is printed.\n\nExamples:\n  \
                  mcp-tool-gateway record session.json -- npx -y @modelcontextprotocol/server-everything\n  \
                  mcp-tool-gateway record session.json https://example.com/mcp --port 9000\n  \
                  mcp-tool-gateway record --tools --calls calls.jsonl session.json -- python server.py"
)]
pub(crate) struct Record {
    /// Be the client too: connect and list the tools
    #[arg(long)]
    tools: bool,
    /// Be the client too: make the calls of this file, a line each: {"name": "add", "arguments": {"a": 1}}; - for standard input
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    /// The port to listen on in front of a URL; 0 takes a free one
    #[arg(long, value_name = "N", default_value = "0")]
    port: u16,
    /// A further key whose values are secrets, also with * and ? (repeatable)
    #[arg(long, value_name = "KEY")]
    redact: Vec<String>,
    /// With --tools and --calls: how long to wait for the server and for each result, in seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// The cassette
    #[arg(value_name = "OUT.json")]
    out: PathBuf,
    /// The server over HTTP
    #[arg(value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    ad_hoc: AdHocFlags,
}

impl Record {
    pub(crate) fn run(&self) -> Result<Outcome> {
        if self.out.to_str().is_some_and(is_url) {
            bail!("the cassette comes first: mcp-tool-gateway record OUT.json {}", self.out.display());
        }
        let Some(spec) = self.ad_hoc.spec(self.url.as_deref())? else {
            bail!("no server is named: record OUT.json -- COMMAND…, or record OUT.json URL");
        };
        let calls = self.calls.as_deref().map(calls::read).transpose()?;
        let is_client = self.tools || calls.is_some();
        match spec.endpoint {
            Endpoint::Stdio { command, args, .. } if is_client => {
                block_on_threads(None, calls::over_stdio(self, &command, &args, calls.unwrap_or_default()))
            }
            Endpoint::Stdio { command, args, .. } => {
                let tape = tape::Tape::create(&self.out, "stdio", &self.redact, &[])?;
                block_on_threads(None, stdio::record(tape, &command, &args))
            }
            Endpoint::Http { url, headers, .. } => {
                let secrets = known_secrets::of(&url, &headers);
                let tape = tape::Tape::create(&self.out, "http", &self.redact, &secrets)?;
                let proxy = http::Proxy::new(tape, &url, &headers)?;
                let calls = is_client.then(|| calls.unwrap_or_default());
                block_on_threads(None, http::record(proxy, self.port, self.timeout, calls))
            }
            Endpoint::Demo | Endpoint::Workspace(_) | Endpoint::Registry | Endpoint::Invalid => {
                bail!("only a command or a URL can be recorded")
            }
        }
    }
}
