//! `servers accept`: accepts changed definitions through the data directory.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use gateway_protocol::{printable, printable_lines};
use gateway_upstream::{AcceptFileError, Withheld, accept_in_file, withheld_fingerprint, withheld_in_file};

use crate::Outcome;
use crate::setup::{ConfigFlags, Overrides};
use crate::terminal::{self, Form};

/// Show the tools of a server that are blocked because their definitions changed, or accept them.
#[derive(Debug, Args)]
#[command(
    after_help = "Works on the data directory, so that no key is needed; a running gateway takes notice at once.\n\
                        Exit status: 0 accepted, or nothing waits; 1 something waits, or the fingerprint is another; 2 unusable."
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
}

impl Accept {
    pub(super) fn run(&self) -> Result<Outcome> {
        let overrides = Overrides { data: self.data.clone(), ..Overrides::default() };
        let setup = self.config.read_with(&overrides)?;
        let path = setup
            .remembering_fleet()
            .memory
            .context("no data directory is configured; name it with --data")?;
        let Some(fingerprint) = &self.fingerprint else {
            return self.show(&withheld_in_file(&path, &self.name)?);
        };
        match accept_in_file(&path, &self.name, fingerprint) {
            Ok(tools) => {
                let mut stdout = terminal::output(Form::Text);
                for tool in tools {
                    writeln!(
                        stdout,
                        "accepted: tool `{}` of server `{}`",
                        printable(&tool),
                        printable(&self.name)
                    )?;
                }
                stdout.flush()?;
                Ok(Outcome::Good)
            }
            Err(error @ (AcceptFileError::Nothing { .. } | AcceptFileError::Stale { .. })) => {
                writeln!(terminal::errors(), "error: {}", printable(&error.to_string()))?;
                Ok(Outcome::Findings)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Texts of the server are shown without what would steer a terminal.
    fn show(&self, withheld: &BTreeMap<String, Withheld>) -> Result<Outcome> {
        let mut stdout = terminal::output(Form::Text);
        for one in withheld.values() {
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
        if withheld.is_empty() {
            writeln!(
                stdout,
                "no tool of server `{}` waits for somebody to accept it",
                printable(&self.name)
            )?;
        } else {
            writeln!(stdout, "all of them: {}", withheld_fingerprint(withheld))?;
        }
        stdout.flush()?;
        Ok(if withheld.is_empty() { Outcome::Good } else { Outcome::Findings })
    }
}
