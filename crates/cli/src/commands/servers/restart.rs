//! `servers restart`: asks a running gateway.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::Outcome;
use crate::output::print_json;
use crate::progress::with_progress;
use crate::remote::{Answer, RemoteFlags, read_body};
use crate::runtime::block_on;
use crate::seconds::seconds;
use crate::setup::ConfigFlags;
use crate::terminal::{Form, errors, output};
use gateway_protocol::printable;

/// Ask a running gateway to close a server's connection and start it again.
#[derive(Debug, Args)]
pub(super) struct Restart {
    #[command(flatten)]
    config: ConfigFlags,
    #[command(flatten)]
    remote: RemoteFlags,
    /// Write the gateway's answer as JSON
    #[arg(long)]
    json: bool,
    /// How long to wait, in seconds
    #[arg(long, value_name = "S", default_value = "120", value_parser = seconds)]
    timeout: Duration,
    /// The server
    name: String,
}

impl Restart {
    pub(super) fn run(&self) -> Result<Outcome> {
        let remote = self.remote.remote(&self.config)?;
        block_on(async {
            let request = remote.request(Method::POST, &["servers", &self.name, "restart"], &[])?;
            let work = remote.send(request, self.timeout);
            match with_progress(work, || format!("waiting for {}", self.name)).await? {
                Answer::Done(response) => {
                    let body = read_body(response, self.timeout).await?;
                    self.print(&serde_json::from_slice(&body)?)?;
                    Ok(Outcome::Good)
                }
                // The gateway restarted the server, which did not come back.
                Answer::Refused {
                    status: StatusCode::BAD_GATEWAY | StatusCode::INTERNAL_SERVER_ERROR,
                    text,
                } => {
                    writeln!(errors(), "server `{}` did not come back: {}", self.name, printable(&text))?;
                    Ok(Outcome::Findings)
                }
                Answer::Refused { text, .. } => {
                    bail!("the gateway at {} refused: {}", remote.location(), printable(&text))
                }
                Answer::Unreachable(error) => {
                    Err(error.context("restarting a server needs a running gateway"))
                }
                Answer::NotAGateway => Err(remote.not_a_gateway()),
            }
        })
    }

    fn print(&self, answer: &Value) -> Result<()> {
        if self.json {
            return print_json(answer);
        }
        let server = answer.get("server").unwrap_or(answer);
        let state = server.get("state").and_then(Value::as_str).unwrap_or("connected");
        let tools = server.get("tools").and_then(Value::as_u64).and_then(|tools| usize::try_from(tools).ok());
        let tools =
            tools.map_or_else(String::new, |tools| format!(", {}", crate::output::counted(tools, "tool")));
        writeln!(output(Form::Text), "{}: {}{tools}", self.name, printable(state))?;
        Ok(())
    }
}
