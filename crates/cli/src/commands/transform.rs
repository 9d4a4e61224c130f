//! `transform`: one JSON Schema → the schema that a provider or a model takes.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use gateway_dialects::{Changes, LoneSchema, holds_tools};
use gateway_protocol::printable;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::Outcome;
use crate::input::{check_unrepeated, read_text};
use crate::options::{Target, TranslationFlags};
use crate::output::{print_json, write_report};
use crate::terminal::errors;

/// Transform one JSON Schema for a provider or a model.
///
/// What cannot be transformed comes back as it was, with a note on standard error.
#[derive(Debug, Args)]
pub(crate) struct Transform {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    flags: TranslationFlags,
    /// Write what was changed as JSON into this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Any schema: that of a tool's arguments, or of one parameter; - for standard input
    file: Option<PathBuf>,
}

impl Transform {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let translator = self.flags.translator_if_known(&self.target)?;
        let (name, text) = read_text(self.file.as_deref())?;
        check_unrepeated(&name, &text)?;
        let raw: &RawValue =
            serde_json::from_str(&text).with_context(|| format!("reading {name} as JSON"))?;
        if holds_tools(raw.get()) {
            bail!("{name} holds tools, not a schema; `convert` translates tools");
        }
        let Some(translator) = translator else {
            let model = self.target.model.as_deref().unwrap_or_default();
            let note = format!("no rule knows the model `{model}`, so it comes back unchanged");
            return self.unchanged(&name, raw, &note, Outcome::Good);
        };
        let schema = match serde_json::from_str(raw.get()) {
            Ok(schema) => LoneSchema::new(schema),
            // It is JSON, but deeper or with larger numbers than can be read.
            Err(error) => {
                let note = format!("it cannot be transformed, so it comes back unchanged: {error}");
                return self.unchanged(&name, raw, &note, Outcome::Findings);
            }
        };
        let transformed = translator.transform(&schema);
        if let Some(note) = &transformed.note {
            report_note(&name, note)?;
        }
        self.write(&transformed.changes, &transformed.schema)?;
        Ok(if transformed.is_given_up { Outcome::Findings } else { Outcome::Good })
    }

    fn unchanged(&self, name: &str, schema: &RawValue, note: &str, outcome: Outcome) -> Result<Outcome> {
        report_note(name, note)?;
        self.write(&Changes::default(), schema)?;
        Ok(outcome)
    }

    fn write(&self, changes: &Changes<'_>, schema: &(impl Serialize + ?Sized)) -> Result<()> {
        if let Some(path) = &self.report {
            write_report(path, changes)?;
        }
        print_json(&schema)
    }
}

fn report_note(name: &str, note: &str) -> Result<()> {
    writeln!(errors(), "note: {name}: {}", printable(note))?;
    Ok(())
}
