//! `config`: the format of the configuration file.

use std::io::Write as _;

use anyhow::Result;
use clap::Subcommand;
use gateway_config::json_schema;

use crate::Outcome;
use crate::output::write_pretty_json;
use crate::terminal::{Form, output};

/// What to show.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Write the JSON Schema of the configuration file, for editors
    #[command(after_help = "Save it, and name it in the file: {\"$schema\": \"./gateway.schema.json\", …}")]
    Schema,
}

impl Config {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let mut stdout = output(Form::Json);
        match self {
            Self::Schema => write_pretty_json(&mut stdout, &json_schema())?,
        }
        stdout.flush()?;
        Ok(Outcome::Good)
    }
}
