//! `servers check`: the configuration, without starting anything.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use gateway_protocol::printable;
use serde_json::json;

use crate::Outcome;
use crate::output::{Paint, Tone, counted, print_json};
use crate::setup::ConfigFlags;
use crate::terminal::{Form, output};

/// Check the configuration without starting anything.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 nothing found, 1 warnings, 2 errors or no such file.")]
pub(crate) struct Check {
    #[command(flatten)]
    config: ConfigFlags,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// The file; without one, what `serve` would take
    #[arg(conflicts_with = "config")]
    file: Option<PathBuf>,
}

impl Check {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let found = match &self.file {
            Some(file) => self.config.with_file(file).read(),
            None => self.config.read(),
        };
        let (errors, warnings, servers): (Vec<_>, _, _) = match found {
            Ok(setup) => {
                // The gateway would start without these servers and tools; for a check they are errors.
                let invalid = setup.specs.iter().flat_map(|spec| spec.problems.clone());
                let refused = setup.registry.refused.into_iter().map(|refused| refused.problem);
                (invalid.chain(refused).collect(), setup.warnings, Some(setup.specs.len()))
            }
            Err(problems) => (problems.errors, problems.warnings, None),
        };
        if self.json {
            print_json(&json!({"errors": errors, "warnings": warnings, "servers": servers}))?;
        } else {
            let mut stdout = output(Form::Text);
            let paint = Paint::for_stdout();
            // Like in every command, each line begins with its file, as editors expect.
            for error in &errors {
                writeln!(stdout, "{}", paint.tone(Tone::Bad, &printable(&error.to_string())))?;
            }
            for warning in &warnings {
                writeln!(
                    stdout,
                    "{} {}",
                    paint.tone(Tone::Caution, "warning:"),
                    printable(&warning.to_string())
                )?;
            }
            let sums = format!("{}, {}", counted(errors.len(), "error"), counted(warnings.len(), "warning"));
            match servers {
                Some(servers) => writeln!(stdout, "{}: {sums}", counted(servers, "server"))?,
                None => writeln!(stdout, "{sums}")?,
            }
            stdout.flush()?;
        }
        Ok(match (errors.is_empty(), warnings.is_empty()) {
            (true, true) => Outcome::Good,
            (true, false) => Outcome::Findings,
            (false, _) => Outcome::Unusable,
        })
    }
}
