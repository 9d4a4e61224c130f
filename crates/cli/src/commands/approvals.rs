//! `approvals`: calls that wait until somebody approves them, at a running gateway.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use gateway_protocol::printable;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Outcome;
use crate::output::{Paint, Table, print_json};
use crate::remote::{Answer, Remote, RemoteFlags, read_body};
use crate::runtime::block_on;
use crate::setup::ConfigFlags;
use crate::terminal::{Form, output};

/// How long the gateway may take to answer.
const WAIT: Duration = Duration::from_secs(30);

/// Show the calls that wait for approval, approve or deny them.
#[derive(Debug, Args)]
#[command(
    subcommand_negates_reqs = true,
    after_help = "The gateway wants an admin key: --key or MCP_GATEWAY_KEY.\n\nExit status: 0 done, 2 no such call, no gateway, or refused."
)]
pub(crate) struct Approvals {
    #[command(flatten)]
    config: ConfigFlags,
    #[command(flatten)]
    remote: RemoteFlags,
    /// Write the gateway's answer as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    decision: Option<Decision>,
}

#[derive(Debug, Subcommand)]
enum Decision {
    /// Let a call run
    Approve {
        /// The call's id
        id: String,
    },
    /// Refuse a call
    Deny {
        /// The call's id
        id: String,
    },
}

/// A call that waits.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    id: String,
    #[serde(default)]
    caller: Option<String>,
    #[serde(default)]
    approved: bool,
    #[serde(default)]
    expires_in_ms: u64,
    #[serde(default)]
    display: String,
}

impl Approvals {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let remote = self.remote.remote(&self.config)?;
        let (method, path, decision) = match &self.decision {
            None => (Method::GET, vec!["approvals"], None),
            Some(Decision::Approve { id }) => (Method::POST, vec!["approvals", id], Some("approve")),
            Some(Decision::Deny { id }) => (Method::POST, vec!["approvals", id], Some("deny")),
        };
        let answer = block_on(asked(&remote, method, &path, decision))?;
        if self.json {
            print_json(&answer)?;
        } else if let (Some(word), Some(id)) = (decision, path.last()) {
            let done = if word == "approve" { "approved" } else { "denied" };
            writeln!(output(Form::Text), "{done}: {}", printable(id))?;
        } else {
            write_list(&answer)?;
        }
        Ok(Outcome::Good)
    }
}

/// The answer of the gateway.
async fn asked(remote: &Remote, method: Method, path: &[&str], decision: Option<&str>) -> Result<Value> {
    let mut request = remote.request(method, path, &[])?;
    if let Some(word) = decision {
        let body = json!({"decision": word}).to_string();
        request = request.header("content-type", "application/json").body(body);
    }
    match remote.send(request, WAIT).await? {
        Answer::Done(response) => Ok(serde_json::from_slice(&read_body(response, WAIT).await?)?),
        Answer::Refused { text, .. } => {
            bail!("the gateway at {} refused: {}", remote.location(), printable(&text))
        }
        Answer::Unreachable(error) => Err(error.context("approvals are kept by a running gateway")),
        Answer::NotAGateway => Err(remote.not_a_gateway()),
    }
}

fn write_list(answer: &Value) -> Result<()> {
    let list = answer.get("approvals").cloned().unwrap_or_default();
    let waiting: Vec<Waiting> = serde_json::from_value(list)?;
    let mut stdout = output(Form::Text);
    if waiting.is_empty() {
        writeln!(stdout, "no call waits")?;
    } else {
        let mut table = Table::new(["id", "caller", "state", "expires in s", "call"]);
        for one in waiting {
            let state = if one.approved { "approved" } else { "waits" };
            let caller = one.caller.unwrap_or_else(|| "-".to_owned());
            let left = (one.expires_in_ms / 1000).to_string();
            // Without the question, which is the same for all.
            let call: Vec<&str> = one.display.lines().skip(1).map(str::trim).collect();
            table.row(None, [one.id, caller, state.to_owned(), left, call.join("  ")]);
        }
        table.write(&mut stdout, Paint::for_stdout(), "")?;
    }
    stdout.flush()?;
    Ok(())
}
