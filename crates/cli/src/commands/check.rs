//! `check`: lint a server's tools for many dialects.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use gateway_dialects::check::{Level, check};
use gateway_dialects::dialect::ToolShape;
use gateway_dialects::{Dialects, Translator};

use crate::Outcome;
use crate::check::{Detail, write_markdown, write_sarif, write_text};
use crate::input::read_tools;
use crate::options::{TranslationFlags, explained};
use crate::output::{Paint, write_pretty_json};
use crate::terminal::{Form, output};

/// Lint a server's tools: which break where, what is lost in translation, what they cost, what to do.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The dialects, separated by commas; `all` for every provider's
    #[arg(long, value_name = "DIALECTS", default_value = "all", value_delimiter = ',')]
    to: Vec<String>,
    #[command(flatten)]
    flags: TranslationFlags,
    /// How the report is written
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The least finding that makes the exit status 1
    #[arg(long, value_enum, default_value = "error")]
    fail_on: FailOn,
    /// Write out every change in the text format
    #[arg(long)]
    details: bool,
    /// MCP tools: an array, {"tools": […]} or a tools/list reply; - for standard input
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
    Markdown,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

impl Check {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let translators = self.translators()?;
        let list = read_tools(self.file.as_deref())?;
        let report = check(&list.name, &list.tools, &translators);
        let mut stdout = output(Form::json_if(matches!(self.format, Format::Json | Format::Sarif)));
        match self.format {
            Format::Text => {
                let detail = if self.details { Detail::Changes } else { Detail::Counts };
                write_text(&mut stdout, &report, Paint::for_stdout(), detail)?;
            }
            Format::Json => write_pretty_json(&mut stdout, &report)?,
            Format::Sarif => write_sarif(&mut stdout, &report, &list)?,
            Format::Markdown => write_markdown(&mut stdout, &report)?,
        }
        stdout.flush()?;
        let least = match self.fail_on {
            FailOn::Error => Level::Error,
            FailOn::Warning => Level::Warning,
            FailOn::Note => Level::Note,
            FailOn::Never => return Ok(Outcome::Good),
        };
        let failed = report.findings.iter().any(|finding| finding.level >= least);
        Ok(if failed { Outcome::Findings } else { Outcome::Good })
    }

    fn translators(&self) -> Result<Vec<Translator>> {
        let dialects = self.flags.dialects()?;
        let mut names: Vec<String> = Vec::new();
        for name in &self.to {
            let more = if name == "all" { providers(&dialects)? } else { vec![name.trim().to_owned()] };
            for name in more {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.iter().map(|name| self.flags.translator_for(&dialects, name)).collect()
    }
}

/// Every dialect of a provider: neither layers nor MCP's own form.
fn providers(dialects: &Dialects) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in dialects.names() {
        let dialect = dialects.get(name).map_err(explained)?;
        if !dialect.layer && dialect.tool.shape != ToolShape::Mcp {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
