//! `config`: the format of the configuration file, and whether yours has it.

use std::io::Write as _;

use anyhow::Result;
use clap::Subcommand;
use gateway_config::json_schema;

use super::servers::Check;
use crate::Outcome;
use crate::output::write_pretty_json;
use crate::terminal::{Form, output};

/// What to show.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Write the JSON Schema of the configuration file, for editors
    #[command(after_help = "Save it, and name it in the file: {\"$schema\": \"./gateway.schema.json\", …}")]
    Schema,
    /// Check the configuration without starting anything; the same as `servers check`
    Check(Check),
}

impl Config {
    pub(crate) fn run(&self) -> Result<Outcome> {
        match self {
            Self::Schema => {
                let mut stdout = output(Form::Json);
                write_pretty_json(&mut stdout, &json_schema())?;
                stdout.flush()?;
                Ok(Outcome::Good)
            }
            Self::Check(check) => check.run(),
        }
    }
}
