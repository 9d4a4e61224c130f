//! `servers accept`: accepts changed definitions through the data directory.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use gateway_protocol::{printable, printable_lines};
use gateway_upstream::{
    AcceptFileError, Unaccepted, accept_in_file, are_new_tools_taken_in_file, take_new_tools_in_file,
    unaccepted_fingerprint, unaccepted_in_file,
};

use crate::Outcome;
use crate::fleet::chosen;
use crate::setup::{ConfigFlags, Overrides};
use crate::terminal::{self, Form};

/// Show the tools of a server that are blocked because their definitions changed, or accept them.
#[derive(Debug, Args)]
#[command(
    after_help = "Works on the data directory, so that no key is needed; a running gateway takes notice at once.\n\
                        Exit status: 0 accepted, or nothing waits; 1 something waits, or the fingerprint is another; 2 no such server, or unusable."
)]
pub(super) struct Accept {
    #[command(flatten)]
    config: ConfigFlags,
    /// The data directory of the gateway
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The server
    name: String,
    /// What was reviewed: the fingerprint of one definition, or the one for all; without it, they are shown
    fingerprint: Option<String>,
    /// After a loss of `servers.json`: take tools that the server adds from now on as they are again
    #[arg(long, conflicts_with = "fingerprint")]
    new_tools: bool,
}

impl Accept {
    pub(super) fn run(&self) -> Result<Outcome> {
        let overrides = Overrides { data: self.data.clone(), ..Overrides::default() };
        let setup = self.config.read_with(&overrides)?;
        let path = setup
            .remembering_fleet()
            .memory
            .context("no data directory is configured; name it with --data")?;
        let unaccepted = unaccepted_in_file(&path, &self.name)?;
        // Waiting definitions can be accepted even if the server is in another configuration.
        if unaccepted.is_empty() {
            chosen(setup.specs, Some(&self.name))?;
        }
        let done = match &self.fingerprint {
            Some(fingerprint) => accept_in_file(&path, &self.name, fingerprint).map(|tools| {
                let lines =
                    tools.iter().map(|tool| format!("accepted: tool `{tool}` of server `{}`", self.name));
                lines.collect::<Vec<_>>()
            }),
            None if self.new_tools => take_new_tools_in_file(&path, &self.name).map(|is_new| {
                let when = if is_new { "from now on" } else { "already" };
                vec![format!("new tools of server `{}` are taken as they are {when}", self.name)]
            }),
            None => return self.show(&unaccepted, are_new_tools_taken_in_file(&path, &self.name)?),
        };
        match done {
            Ok(lines) => {
                let mut stdout = terminal::output(Form::Text);
                for line in lines {
                    writeln!(stdout, "{}", printable(&line))?;
                }
                stdout.flush()?;
                Ok(Outcome::Good)
            }
            Err(error @ AcceptFileError::File { .. }) => Err(error.into()),
            Err(error) => {
                writeln!(terminal::errors(), "error: {}", printable(&error.to_string()))?;
                Ok(Outcome::Findings)
            }
        }
    }

    /// Text from the server is escaped for the terminal.
    fn show(&self, unaccepted: &BTreeMap<String, Unaccepted>, are_new_tools_taken: bool) -> Result<Outcome> {
        let mut stdout = terminal::output(Form::Text);
        for one in unaccepted.values() {
            writeln!(stdout, "{}", printable(&one.change))?;
            writeln!(stdout, "  fingerprint: {}", printable(one.shown_fingerprint()))?;
            let definition =
                one.definition.as_ref().and_then(|definition| definition.read::<serde_json::Value>().ok());
            let text = match definition {
                Some(definition) => serde_json::to_string_pretty(&definition)?,
                None => "(too long to be kept; see `GET /servers` of the gateway)".to_owned(),
            };
            for line in printable_lines(&text).lines() {
                writeln!(stdout, "  {line}")?;
            }
        }
        if unaccepted.is_empty() {
            writeln!(
                stdout,
                "no tool of server `{}` waits for somebody to accept it",
                printable(&self.name)
            )?;
        } else {
            writeln!(stdout, "all of them: {}", unaccepted_fingerprint(unaccepted))?;
        }
        if !are_new_tools_taken {
            writeln!(
                stdout,
                "what was remembered of server `{}` is lost, so each tool that it lists has to be accepted; \
                 --new-tools ends that once its tools are listed and accepted",
                printable(&self.name)
            )?;
        }
        stdout.flush()?;
        Ok(if unaccepted.is_empty() { Outcome::Good } else { Outcome::Findings })
    }
}
