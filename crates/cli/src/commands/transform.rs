//! `transform`: one JSON Schema → the schema that a provider or a model takes.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::Outcome;
use crate::input::{read_json, read_text};
use crate::options::{Target, TranslationFlags};
use crate::output::{print_json, write_report};

/// Transform one JSON Schema for a provider or a model.
#[derive(Debug, Args)]
pub(crate) struct Transform {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    flags: TranslationFlags,
    /// Write what was changed as JSON into this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The schema of a tool's arguments; - for standard input
    file: Option<PathBuf>,
}

impl Transform {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let translator = self.flags.translator(&self.target)?;
        let tool = json!({"name": "schema", "inputSchema": read_schema(self.file.as_deref())?});
        let translated = translator.translate_one(&tool);
        if let Some(reason) = &translated.quarantine {
            bail!("the schema cannot be transformed: {reason}");
        }
        if let Some(path) = &self.report {
            write_report(path, &translated.changes)?;
        }
        print_json(&translated.schema(translator.dialect()))?;
        Ok(Outcome::Good)
    }
}

fn read_schema(file: Option<&Path>) -> Result<Value> {
    let (name, text) = read_text(file)?;
    let schema = read_json(&name, &text)?;
    if !schema.is_object() {
        bail!("{name} holds no schema: expected an object");
    }
    Ok(schema)
}
