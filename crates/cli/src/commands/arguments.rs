//! `arguments`: one call's arguments → a dialect's form, or back.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use gateway_dialects::Translator;
use serde_json::{Value, json};

use crate::Outcome;
use crate::commands::convert::write_json;
use crate::input::{Lines, open};
use crate::options::{Target, TranslationFlags};

/// Turn arguments into a dialect's form, or back.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    direction: Direction,
}

#[derive(Debug, Subcommand)]
enum Direction {
    /// MCP arguments → the dialect's form
    Encode(Lines_),
    /// The dialect's arguments → what the MCP server wants, validated against its schema
    Decode(Lines_),
}

#[derive(Debug, Args)]
struct Lines_ {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    flags: TranslationFlags,
    /// Read {"tool": …, "arguments": …} a line (the only form for now)
    #[arg(long, required = true)]
    jsonl: bool,
    /// The lines; - for standard input
    file: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<Outcome> {
        match &self.direction {
            Direction::Encode(lines) => lines.run(|translator, tool, arguments| {
                let translated = translator.translate_one(tool);
                if let Some(reason) = translated.quarantine {
                    return json!({"error": {"message": reason, "code": "QUARANTINED"}});
                }
                match translated.plan.encode(arguments) {
                    Ok(encoded) => json!({ "arguments": encoded }),
                    Err(error) => json!({"error": {"message": error.to_string(), "path": error.path}}),
                }
            }),
            Direction::Decode(lines) => lines.run(|translator, tool, arguments| {
                let translated = translator.translate_one(tool);
                if let Some(reason) = translated.quarantine {
                    return json!({"error": {"message": reason, "code": "QUARANTINED"}});
                }
                match translated.plan.decode(arguments) {
                    Ok(decoded) => json!({ "arguments": decoded }),
                    Err(error) => json!({"error": {"message": error.to_string(), "path": error.path}}),
                }
            }),
        }
    }
}

impl Lines_ {
    fn run(&self, turn: impl Fn(&Translator, &Value, &Value) -> Value) -> Result<Outcome> {
        debug_assert!(self.jsonl);
        let translator = self.flags.translator(&self.target)?;
        let mut lines = Lines::new(open(self.file.as_deref())?);
        let mut stdout = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        let mut outcome = Outcome::Good;
        while let Some((number, line)) = lines.next()? {
            let row = match serde_json::from_slice::<Value>(line) {
                Ok(row) => turn(
                    &translator,
                    row.get("tool").unwrap_or(&Value::Null),
                    row.get("arguments").unwrap_or(&Value::Null),
                ),
                Err(error) => {
                    json!({"error": {"message": format!("line {number} is not JSON that can be read: {error}")}})
                }
            };
            if row.get("error").is_some() {
                outcome = Outcome::Findings;
            }
            write_json(&mut stdout, &row)?;
            writeln!(stdout)?;
        }
        stdout.flush()?;
        Ok(outcome)
    }
}
