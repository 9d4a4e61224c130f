//! `demo`: a sample tool before and after translation, for each provider.

use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;
use gateway_dialects::{Dialects, Options, ToolTranslation, Translator};
use serde_json::{Value, json};

use crate::Outcome;
use crate::layout::lay_out;
use crate::options::explained;
use crate::output::{Paint, Table, Tone};
use crate::terminal::{Form, output};

/// The tool that is shown.
const SAMPLE: &str = include_str!("../demo.json");

/// Show a sample tool before and after, for each provider.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The dialects, separated by commas; `all` for every one
    #[arg(
        long,
        value_name = "DIALECTS",
        value_delimiter = ',',
        default_value = "openai-chat,openai-chat-strict,openai-responses,anthropic,gemini,bedrock,mistral,cohere,ollama"
    )]
    to: Vec<String>,
}

impl Demo {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let dialects = Dialects::builtin();
        let tool: Value = serde_json::from_str(SAMPLE).context("reading the sample")?;
        let mut translators = Vec::new();
        for name in &self.to {
            let names: Vec<&str> = if name == "all" { dialects.names().collect() } else { vec![name] };
            for name in names {
                translators.push(Translator::new(&dialects, name, Options::default()).map_err(explained)?);
            }
        }
        let paint = Paint::for_stdout();
        let mut stdout = output(Form::Text);
        title(&mut stdout, paint, "before: the tool as its MCP server publishes it")?;
        writeln!(stdout, "{}", lay_out(&tool))?;
        for translator in &translators {
            show(&mut stdout, paint, translator, &tool)?;
        }
        stdout.flush()?;
        Ok(Outcome::Good)
    }
}

fn title(writer: &mut impl Write, paint: Paint, text: &str) -> Result<()> {
    writeln!(writer, "{}", paint.tone(Tone::Heading, &format!("== {text}")))?;
    Ok(())
}

fn show(writer: &mut impl Write, paint: Paint, translator: &Translator, tool: &Value) -> Result<()> {
    let dialect = translator.dialect();
    let translated = translator.translate_one(tool);
    writeln!(writer)?;
    title(writer, paint, &format!("{}: {}", dialect.name, dialect.title))?;
    match (&translated.definition, &translated.quarantine) {
        (Some(definition), _) => {
            let mut shown = definition.to_value();
            if let Some(schema) = tool.get("inputSchema") {
                shorten(&mut shown, schema);
            }
            writeln!(writer, "{}", paint.tone(Tone::Good, &lay_out(&shown)))?;
        }
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("no reason given");
            writeln!(writer, "{}", paint.tone(Tone::Bad, &format!("left out: {reason}")))?;
        }
    }
    write_changes(writer, paint, &translated)?;
    write_arguments(writer, paint, &translated)?;
    let tokens = translated.tokens;
    writeln!(
        writer,
        "{}",
        paint.tone(Tone::Faint, &format!("tokens: {} before, {} after", tokens.before, tokens.after))
    )?;
    Ok(())
}

/// Replaces an unchanged `schema` with a short note.
fn shorten(shown: &mut Value, schema: &Value) {
    if shown == schema {
        *shown = Value::from("(the inputSchema above, unchanged)");
    } else if let Value::Object(members) = shown {
        members.values_mut().for_each(|member| shorten(member, schema));
    }
}

fn write_changes(writer: &mut impl Write, paint: Paint, translated: &ToolTranslation<'_>) -> Result<()> {
    let mut table = Table::new(["what changed", "where", "keyword", "why"]);
    let renamed = translated.wire_name != translated.name;
    if renamed {
        let why = format!("called {}", translated.wire_name);
        table.row(Some(Tone::Caution), ["renamed".to_owned(), String::new(), "name".to_owned(), why]);
    }
    for change in translated.changes.iter() {
        let path = change.path.replace("/properties/", "/");
        let cells =
            [change.fate.name().to_owned(), path, change.keyword.to_owned(), change.reason.to_owned()];
        table.row(Some(Tone::Caution), cells);
    }
    if !renamed && translated.changes.is_empty() {
        writeln!(writer, "nothing changed but the wrapping")?;
        return Ok(());
    }
    table.write(writer, paint, "")?;
    Ok(())
}

/// The arguments of one call on both sides, if they differ.
fn write_arguments(writer: &mut impl Write, paint: Paint, translated: &ToolTranslation<'_>) -> Result<()> {
    let arguments = json!({
        "email": "ada@example.org", "tags": ["maths"], "metadata": {"born": "1815"}, "level": 2,
    });
    if translated.definition.is_none() || translated.plan.is_identity() {
        return Ok(());
    }
    if let Ok(encoded) = translated.plan.encode(&arguments) {
        writeln!(writer, "{}", paint.tone(Tone::Faint, "a call of the model, and what the server gets:"))?;
        writeln!(writer, "  {encoded}")?;
        let decoded = translated.plan.decode(&encoded)?;
        writeln!(writer, "  {decoded}")?;
    }
    Ok(())
}
