//! `detect`: what a model id stands for.

use anyhow::Result;
use clap::Args;

use crate::Outcome;
use crate::options::DialectFiles;
use crate::output::print_json;

/// Say who serves a model, whether it can be held to a schema, and which dialect it takes.
#[derive(Debug, Args)]
pub(crate) struct Detect {
    /// Who serves the model, if that is known
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    #[command(flatten)]
    files: DialectFiles,
    /// The model's id, with or without prefixes, or a provider
    #[arg(value_name = "ID")]
    model: String,
}

impl Detect {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let detected = self.files.dialects()?.detect(&self.model, self.provider.as_deref());
        print_json(&detected)?;
        Ok(if detected.dialect.is_some() { Outcome::Good } else { Outcome::Findings })
    }
}
