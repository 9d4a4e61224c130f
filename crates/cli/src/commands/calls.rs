//! `calls`: what a model said → the calls in it.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use gateway_dialects::arguments::BadArguments;
use gateway_dialects::calls::{ReadOptions, Reply, ToolCall, parse_reply};
use gateway_dialects::stream::parse_chunks;
use serde_json::{Value, json};

use crate::Outcome;
use crate::input::open;
use crate::options::{DialectFiles, explained};
use crate::output::write_json_line;
use crate::terminal::{Form, errors, output};

/// Take the tool calls out of a model's reply, whole or streamed.
#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// The dialect of the reply; found out from its shape where absent
    #[arg(long, value_name = "DIALECT")]
    from: Option<String>,
    /// Write what else the reply has, too: text, reasoning and usage
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    files: DialectFiles,
    /// The reply: JSON, server-sent events, or a JSON chunk a line; - for standard input
    file: Option<PathBuf>,
}

impl Calls {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let mut text = String::new();
        open(self.file.as_deref())?.read_to_string(&mut text).context("reading the reply")?;
        let reply = self.read(&text)?;
        let mut stdout = output(Form::Json);
        let mut outcome = Outcome::Good;
        if self.all {
            for row in beside_calls(&reply) {
                write_json_line(&mut stdout, &row)?;
            }
        }
        for call in &reply.calls {
            let row = neutral(call);
            if row.get("error").is_some() {
                outcome = Outcome::Findings;
            }
            write_json_line(&mut stdout, &row)?;
        }
        stdout.flush()?;
        if reply.calls.is_empty() {
            outcome = Outcome::Findings;
            writeln!(errors(), "no tool call in the reply; it says: {}", said(&reply))?;
        }
        Ok(outcome)
    }

    fn read(&self, text: &str) -> Result<Reply> {
        let dialects = self.files.dialects()?;
        let dialect = self.from.as_deref().map(|name| dialects.get(name)).transpose().map_err(explained)?;
        let value = match gateway_dialects::from_slice(text.as_bytes()) {
            Ok(value) => value,
            Err(json) => parse_chunks(text)
                .map_err(|stream| anyhow!("the reply is no JSON ({json}), and {stream}"))?
                .into(),
        };
        let options = ReadOptions {
            protocol: dialect.as_ref().map(|dialect| dialect.messages.protocol),
            label: dialect.as_ref().map_or("", |dialect| &dialect.label),
            ..ReadOptions::default()
        };
        Ok(parse_reply(&value, &options)?)
    }
}

/// What a reply has beside calls.
fn beside_calls(reply: &Reply) -> Vec<Value> {
    let mut rows = Vec::new();
    for (kind, text) in [("reasoning", &reply.reasoning), ("text", &reply.text)] {
        if !text.is_empty() {
            rows.push(json!({"type": kind, "text": text}));
        }
    }
    if let Some(usage) = reply.usage {
        let (input, output) = (usage.input_tokens, usage.output_tokens);
        rows.push(json!({"type": "usage", "inputTokens": input, "outputTokens": output}));
    }
    rows
}

/// A call in the neutral format.
fn neutral(call: &ToolCall) -> Value {
    let parsed = call.arguments_object("", BadArguments::Error);
    call.to_neutral(parsed.map(|parsed| parsed.object).map_err(|error| json!({"message": error.to_string()})))
}

fn said(reply: &Reply) -> &str {
    if reply.text.is_empty() { "(nothing)" } else { &reply.text }
}
