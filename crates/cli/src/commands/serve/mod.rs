//! `serve`: the gateway itself.

mod announce;
mod reload;
mod running;

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use gateway_config::OnInvalidServer;
use gateway_service::{LogFormat, LogLevel};

use crate::Outcome;
use crate::runtime::block_on_threads;
use crate::setup::{ConfigFlags, Overrides};

/// Run the gateway until SIGTERM or Ctrl-C; SIGHUP or a changed file reloads the configuration.
#[derive(Debug, Args)]
#[command(
    after_help = "Without any configuration it serves the built-in demo server, so that the first command works."
)]
pub(crate) struct Serve {
    #[command(flatten)]
    config: ConfigFlags,
    /// The address to listen on [default: `HOST`, the file's, else 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
    /// The port to listen on; 0 takes a free one [default: `PORT`, the file's, else 8787]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The directory of the call log and of what is remembered of servers
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// What to log on standard error: error, warn, info or debug [default: `LOG_LEVEL`, the file's, else warn; info with --json]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
    /// Do not start if the entry of any server is invalid, instead of leaving that server out
    #[arg(long)]
    strict: bool,
    /// Threads that serve [default: `TOKIO_WORKER_THREADS`, else one for each core, at most 4]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write what happens as one JSON object a line, and logs as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Serve {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let overrides = Overrides {
            host: self.host,
            port: self.port,
            data: self.data.clone(),
            log_level: self.log_level,
            on_invalid_server: self.strict.then_some(OnInvalidServer::Fail),
        };
        let load = || self.config.read_with(&overrides);
        let setup = load()?;
        let format = if self.json { LogFormat::Json } else { LogFormat::Text };
        setup.install_logs(format)?;
        setup.report_warnings(format);
        block_on_threads(self.threads, running::run(setup, &load, announce::Announcer::new(format)))
    }
}
