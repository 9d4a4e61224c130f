//! `check`: lint a server's tools for many dialects.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use gateway_dialects::check::{Level, check};
use gateway_dialects::dialect::ToolShape;
use gateway_dialects::{Dialects, GivenTool, Translator};
use gateway_protocol::printable;
use gateway_upstream::{CatalogueTool, Withheld};

use crate::Outcome;
use crate::adhoc::{AdHocFlags, is_url};
use crate::check::{Detail, write_markdown, write_sarif, write_text};
use crate::fleet::{failures, listed, with_fleet};
use crate::input::{ToolList, read_tools};
use crate::options::{TranslationFlags, explained};
use crate::output::{Paint, write_pretty_json};
use crate::runtime::block_on;
use crate::seconds::seconds;
use crate::setup::Setup;
use crate::terminal::{Form, output};

/// Lint a server's tools: which break where, what is lost in translation, what they cost, what to do.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mcp-tool-gateway check tools.json\n  \
                  mcp-tool-gateway check -- npx -y @modelcontextprotocol/server-everything\n  \
                  mcp-tool-gateway check https://example.com/mcp")]
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
    /// How long to wait for a server that is starting, in seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// Tools as for `convert`, or the URL of a server; - for standard input
    #[arg(value_name = "FILE|URL")]
    file: Option<PathBuf>,
    #[command(flatten)]
    ad_hoc: AdHocFlags,
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
        let list = self.list()?;
        let report = check(&list.name, &list.tools, &translators);
        let mut stdout = output(Form::json_if(matches!(self.format, Format::Json | Format::Sarif)));
        match self.format {
            Format::Text => {
                let detail = if self.details { Detail::Changes } else { Detail::Counts };
                write_text(&mut stdout, &report, &list, Paint::for_stdout(), detail)?;
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

    /// The tools of the file, or of a server that is started for it.
    fn list(&self) -> Result<ToolList> {
        let url = self.file.as_deref().and_then(Path::to_str).filter(|word| is_url(word));
        let Some(spec) = self.ad_hoc.spec(url)? else { return read_tools(self.file.as_deref()) };
        if let (None, Some(file)) = (url, &self.file) {
            bail!("`{}` and a command after `--`: only one of them can be checked", file.display());
        }
        let setup = Setup::of(spec);
        let specs = setup.specs.clone();
        block_on(with_fleet(setup.fleet, async |fleet| {
            listed(&fleet, specs, self.timeout).await;
            if let Some((server, reason)) = failures(&fleet).first() {
                bail!("listing the tools of `{server}`: {}", printable(reason));
            }
            let catalogue = fleet.catalogue();
            let read = |tool: &CatalogueTool| Ok(GivenTool::parse(tool.definition.as_str())?);
            let mut tools: Vec<GivenTool> = catalogue.tools().iter().map(read).collect::<Result<_>>()?;
            // The catalogue leaves out what nobody can use, which is what its author has to know first.
            let malformed = fleet.health().into_iter().flat_map(|health| health.malformed_tools);
            for lost in malformed.filter(|tool| tool.withheld == Withheld::FromAll) {
                let same = catalogue.tools().iter().find(|tool| Some(&*tool.name) == lost.name.as_deref());
                let text = same.map_or("null", |tool| tool.definition.as_str());
                tools.insert(lost.index.min(tools.len()), GivenTool::parse(text)?);
            }
            for (index, tool) in tools.iter_mut().enumerate() {
                tool.pointer = format!("/{index}");
            }
            let name = catalogue.tools().first().map_or("the server", |tool| tool.server.as_str());
            Ok(ToolList { tools, text: None, name: name.to_owned() })
        }))
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
