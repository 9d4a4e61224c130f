//! `convert`: MCP tools → the value of a provider's request field.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use gateway_dialects::check::ordinal;
use gateway_dialects::{Changes, GivenTool, Json, Tokens, ToolTranslation, Translation, Translator};
use serde::Serialize;

use crate::Outcome;
use crate::input::{Lines, open, read_tools};
use crate::options::{Target, TranslationFlags};
use crate::output::{counted, print_json, write_json_line, write_report};
use crate::terminal::{Form, errors, output};
use gateway_protocol::{find_repeated, printable};

/// Translate MCP tools into a provider's format.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    flags: TranslationFlags,
    /// Wrap the list as in the request, for example {"tools": […]}
    #[arg(long)]
    document: bool,
    /// Read one MCP tool per line, each a list of its own, and write one result per line
    #[arg(long, conflicts_with_all = ["document", "report"])]
    jsonl: bool,
    /// Write what happened to every tool as JSON into this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Tools in MCP's or a provider's form: a list, {"tools": […]}, a tools/list reply or one tool; - for standard input
    file: Option<PathBuf>,
}

/// The output of `--jsonl` and `--report` for one tool.
#[derive(Serialize)]
struct Row<'t, 'a> {
    name: Option<&'t str>,
    tool: Option<&'t Json<'a>>,
    quarantine: Option<&'t str>,
    changes: &'t Changes<'a>,
    tokens: Tokens,
    strict: bool,
    #[serde(rename = "notStrict", skip_serializing_if = "Option::is_none")]
    not_strict: Option<&'t str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'t [String],
}

impl<'t, 'a> Row<'t, 'a> {
    fn of(tool: &'t ToolTranslation<'a>) -> Self {
        Self {
            name: Some(tool.name),
            tool: tool.definition.as_ref(),
            quarantine: tool.quarantine.as_deref(),
            changes: &tool.changes,
            tokens: tool.tokens,
            strict: tool.strict,
            not_strict: tool.not_strict.as_deref(),
            warnings: &tool.warnings,
        }
    }
}

/// Reports on standard error which tools are not in the provider's list, and why.
fn report_left_out(translator: &Translator, translation: &Translation<'_>) -> Result<Outcome> {
    let mut stderr = errors();
    let mut outcome = Outcome::Good;
    for (index, tool) in translation.tools.iter().enumerate() {
        let name = if tool.name.is_empty() {
            format!("tool {}", ordinal(index))
        } else {
            format!("`{}`", printable(tool.name))
        };
        if let Some(reason) = &tool.quarantine {
            outcome = Outcome::Findings;
            writeln!(stderr, "left out {name}: {}", printable(reason))?;
        }
        for warning in &tool.warnings {
            writeln!(stderr, "warning: {name}: {}", printable(warning))?;
        }
    }
    if translation.over_limit > 0 {
        outcome = Outcome::Findings;
        let (limit, over) = (translator.dialect().limits.tools, counted(translation.over_limit, "tool"));
        writeln!(stderr, "{over} more than the {limit} that one request takes")?;
    }
    let mut reasons = translation.tools.iter().filter_map(|tool| tool.not_strict.as_deref());
    let first = reasons.next();
    report_not_strict(reasons.count() + usize::from(first.is_some()), first)?;
    Ok(outcome)
}

/// Reports on standard error how many tools are not strict because one request does not take more strict ones. The provider takes
/// the list, so that this is no finding.
pub(crate) fn report_not_strict(count: usize, first_reason: Option<&str>) -> Result<()> {
    if let Some(reason) = first_reason {
        writeln!(errors(), "not strict: {}, because {}", counted(count, "tool"), printable(reason))?;
    }
    Ok(())
}

impl Convert {
    pub(crate) fn run(&self) -> Result<Outcome> {
        if self.jsonl { self.run_lines() } else { self.run_list() }
    }

    fn run_list(&self) -> Result<Outcome> {
        let translator = self.flags.translator(&self.target)?;
        let list = read_tools(self.file.as_deref())?;
        let translation = translator.translate(&list.tools);
        let outcome = report_left_out(&translator, &translation)?;
        if let Some(path) = &self.report {
            write_report(path, &translation.tools.iter().map(Row::of).collect::<Vec<_>>())?;
        }
        let list = translation.request_field();
        if self.document {
            print_json(&std::collections::BTreeMap::from([(&translator.dialect().tool.document, &list)]))?;
        } else {
            print_json(&list)?;
        }
        Ok(outcome)
    }

    fn run_lines(&self) -> Result<Outcome> {
        let translator = self.flags.translator(&self.target)?;
        let mut lines = Lines::new(open(self.file.as_deref())?);
        let mut stdout = output(Form::Json);
        let mut outcome = Outcome::Good;
        while let Some((number, line)) = lines.next()? {
            match read_line(line) {
                Ok(tool) => {
                    let translated = translator.translate_one(&tool);
                    if translated.quarantine.is_some() {
                        outcome = Outcome::Findings;
                    }
                    write_json_line(&mut stdout, &Row::of(&translated))?;
                }
                Err(error) => {
                    outcome = Outcome::Findings;
                    let reason = format!("line {number} is not JSON that can be read: {error}");
                    let row = Row {
                        name: None,
                        tool: None,
                        quarantine: Some(&reason),
                        changes: &Changes::default(),
                        tokens: Tokens::default(),
                        strict: false,
                        not_strict: None,
                        warnings: &[],
                    };
                    write_json_line(&mut stdout, &row)?;
                }
            }
        }
        stdout.flush()?;
        Ok(outcome)
    }
}

/// The tool on a line. One that is nested too deeply is a tool that cannot be read.
fn read_line(line: &[u8]) -> Result<GivenTool> {
    if let Some(repeated) = find_repeated(line) {
        bail!("{repeated}");
    }
    Ok(GivenTool::parse(std::str::from_utf8(line)?)?)
}
