//! `tools`: the tools of servers, as a table, in MCP format, or in a provider's format.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use gateway_dialects::Translator;
use gateway_protocol::{RawJson, RawObject, printable};
use gateway_upstream::{Catalogue, CatalogueTool, Fleet, UpstreamSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::Outcome;
use crate::adhoc::AdHocFlags;
use crate::commands::convert::report_left_out;
use crate::fleet::{chosen, failures, listed, with_fleet};
use crate::options::{OptionalTarget, TranslationFlags};
use crate::output::{Paint, Table, counted, print_json};
use crate::runtime::block_on;
use crate::seconds::seconds;
use crate::setup::{ConfigFlags, Setup};
use crate::terminal::{Form, errors, output};

/// List the tools of the configured servers, or of any command or URL.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  mcp-tool-gateway tools -- npx -y @modelcontextprotocol/server-everything\n  \
                  mcp-tool-gateway tools --to gemini https://example.com/mcp"
)]
pub(crate) struct ListTools {
    #[command(flatten)]
    config: ConfigFlags,
    /// Only the tools of this configured server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    #[command(flatten)]
    target: OptionalTarget,
    #[command(flatten)]
    flags: TranslationFlags,
    /// Write the tools in MCP format
    #[arg(long, conflicts_with_all = ["to", "model"])]
    json: bool,
    /// How long to wait for servers that are starting, in seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// A server over HTTP that is not configured
    #[arg(value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    ad_hoc: AdHocFlags,
}

impl ListTools {
    pub(crate) fn run(&self) -> Result<Outcome> {
        // Wrong flags are reported before any server is started.
        let translator = self.target.target().map(|target| self.flags.translator(&target)).transpose()?;
        let setup = match self.ad_hoc.spec(self.url.as_deref())? {
            Some(spec) => Setup::of(spec),
            None => self.config.load()?,
        };
        let specs = chosen(setup.specs, self.server.as_deref())?;
        block_on(with_fleet(setup.fleet, async |fleet| {
            listed(&fleet, specs.clone(), self.timeout).await;
            let outcome = report_failures(&fleet)?;
            let catalogue = fleet.catalogue();
            let rows = self.rows(&catalogue, &specs);
            let listed = match &translator {
                Some(translator) => write_translated(translator, &rows)?,
                None if self.json => write_raw(&rows)?,
                // If there is nothing but failures, those have been reported.
                None if rows.is_empty() && outcome != Outcome::Good => Outcome::Good,
                None => write_table(&rows)?,
            };
            Ok(outcome.max(listed))
        }))
    }

    fn rows<'c>(&self, catalogue: &'c Catalogue, specs: &[UpstreamSpec]) -> Vec<Row<'c>> {
        let own_names = self.server.is_some() || specs.len() == 1;
        let row = |tool: &'c CatalogueTool| Row {
            tool,
            name: if own_names { &tool.name } else { &tool.public_name },
        };
        if own_names {
            catalogue.tools().iter().map(row).collect()
        } else {
            catalogue.listed().map(row).collect()
        }
    }
}

/// Reports on standard error which servers failed, and why.
pub(crate) fn report_failures(fleet: &Fleet) -> Result<Outcome> {
    let failed = failures(fleet);
    let mut stderr = errors();
    for (server, reason) in &failed {
        writeln!(stderr, "server `{server}` failed: {}", printable(reason))?;
    }
    Ok(if failed.is_empty() { Outcome::Good } else { Outcome::Findings })
}

/// A tool and its name in this list.
struct Row<'c> {
    tool: &'c CatalogueTool,
    name: &'c str,
}

/// The shown part of a definition.
#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    description: Value,
}

impl Row<'_> {
    /// The original definition, except for the name if that differs here.
    fn definition(&self) -> Result<RawJson> {
        let definition = self.tool.without_hidden();
        if *self.name == *self.tool.name {
            return Ok(definition.clone());
        }
        let mut members = RawObject::parse(definition)?;
        members.set("name", &RawJson::of(self.name)?)?;
        Ok(members.to_raw()?)
    }

    /// The first line of the description, or the title.
    fn headline(&self) -> String {
        let shown = self.tool.shown();
        let described = shown.read::<Shown>().ok().and_then(|shown| {
            let text = shown.description.as_str()?.trim();
            text.lines().next().map(str::to_owned)
        });
        described.or_else(|| self.tool.title.as_deref().map(str::to_owned)).unwrap_or_default()
    }
}

fn write_translated(translator: &Translator, rows: &[Row<'_>]) -> Result<Outcome> {
    let mut definitions: Vec<Value> = Vec::with_capacity(rows.len());
    let mut outcome = Outcome::Good;
    for row in rows {
        match row.definition()?.read() {
            Ok(definition) => definitions.push(definition),
            Err(error) => {
                outcome = Outcome::Findings;
                writeln!(
                    errors(),
                    "left out `{}`: its definition cannot be read: {error}",
                    printable(row.name)
                )?;
            }
        }
    }
    let translation = translator.translate(&definitions);
    let outcome = outcome.max(report_left_out(translator, &translation)?);
    print_json(&translation.request_field())?;
    Ok(outcome)
}

fn write_raw(rows: &[Row<'_>]) -> Result<Outcome> {
    let mut stdout = output(Form::Json);
    stdout.write_all(b"{\"tools\":[")?;
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            stdout.write_all(b",")?;
        }
        stdout.write_all(row.definition()?.as_bytes())?;
    }
    stdout.write_all(b"]}\n")?;
    stdout.flush()?;
    Ok(Outcome::Good)
}

fn write_table(rows: &[Row<'_>]) -> Result<Outcome> {
    let mut table = Table::new(["name", "server", "tokens", "description"]);
    let mut sum = 0;
    for row in rows {
        let tokens = row.tool.without_hidden().len().div_ceil(BYTES_PER_TOKEN);
        sum += tokens;
        table.row(
            None,
            [row.name.to_owned(), row.tool.server.to_string(), tokens.to_string(), row.headline()],
        );
    }
    let paint = Paint::for_stdout();
    let mut stdout = output(Form::Text);
    if !rows.is_empty() {
        table.write(&mut stdout, paint, "")?;
        writeln!(stdout)?;
    }
    writeln!(stdout, "{}, about {}", counted(rows.len(), "tool"), counted(sum, "token"))?;
    stdout.flush()?;
    Ok(Outcome::Good)
}

/// The estimated size of a token, here and in `tokens`.
const BYTES_PER_TOKEN: usize = 4;
