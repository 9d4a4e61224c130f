//! `mcp`: the gateway as an MCP server on standard input and output.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use gateway_config::OnInvalidServer;
use gateway_mcp::{Endpoint, serve_stdio};
use gateway_runtime::Runtime;
use gateway_service::{LogFormat, LogLevel};
use gateway_upstream::Fleet;

use crate::Outcome;
use crate::runtime::{EndSignals, Interrupted, block_on_threads};
use crate::setup::{ConfigFlags, Overrides, Setup};

/// Be an MCP server on standard input and output, until the input ends.
#[derive(Debug, Args)]
#[command(
    after_help = "For desktop assistants and editors: configure `mcp-tool-gateway mcp --config FILE` as one server, and get everything that the servers in FILE offer."
)]
pub(crate) struct Mcp {
    #[command(flatten)]
    config: ConfigFlags,
    /// Show only this group, or this one server
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// The directory of the call log and of what is remembered of servers
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// What to log on standard error: error, warn, info or debug [default: `LOG_LEVEL`, the file's, else warn]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
    /// Do not start if the entry of any server is invalid, instead of leaving that server out
    #[arg(long)]
    strict: bool,
}

impl Mcp {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let overrides = Overrides {
            data: self.data.clone(),
            log_level: self.log_level,
            on_invalid_server: self.strict.then_some(OnInvalidServer::Fail),
            ..Overrides::default()
        };
        let setup = self.config.read_with(&overrides)?;
        setup.install_logs(LogFormat::Text)?;
        setup.report_warnings(LogFormat::Text);
        if std::io::stdin().is_terminal() {
            let hint =
                "waiting for MCP messages on standard input; an MCP client starts this command by itself";
            // A closed standard error is fine.
            let _ = writeln!(crate::terminal::errors(), "{hint}, and Ctrl-D ends it");
        }
        block_on_threads(None, serve(setup, self.group.as_deref()))
    }
}

async fn serve(mut setup: Setup, group: Option<&str>) -> Result<Outcome> {
    let mut ends = EndSignals::listen()?;
    let dialects = setup.dialects()?;
    let fleet = Fleet::start(setup.specs.clone(), setup.remembering_fleet());
    // Several editors may each start a gateway.
    let log = setup.open_shared_log()?;
    let endpoint = Endpoint::new(Runtime::new(setup.service.clone(), fleet, dialects, log));
    let outcome = tokio::select! {
        outcome = serve_stdio(&endpoint, group, tokio::io::stdin(), tokio::io::stdout()) => {
            outcome.map(|()| Outcome::Good).map_err(anyhow::Error::from)
        }
        signal = ends.next() => Err(Interrupted(signal).into()),
    };
    endpoint.stop();
    endpoint.close(setup.service.drain).await;
    outcome
}
