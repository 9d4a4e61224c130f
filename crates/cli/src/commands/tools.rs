//! `tools`: the tools of servers, as a table, in MCP format, or in a provider's format.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;
use gateway_protocol::{RawJson, RawObject, printable};
use gateway_runtime::lists::{ListRequest, Lists, MostTools};
use gateway_runtime::scope::Scope;
use gateway_upstream::{Catalogue, CatalogueTool, Fleet, UpstreamSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::Outcome;
use crate::adhoc::AdHocFlags;
use crate::commands::convert::report_not_strict;
use crate::fleet::{chosen, failures, listed, with_fleet};
use crate::options::{OptionalTarget, Target, TranslationFlags};
use crate::output::{Paint, Table, counted};
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
    /// At most so many tools in the provider's list, or `off` for all; as many as the provider takes unless given
    #[arg(long, value_name = "N|off", value_parser = most_tools)]
    limit: Option<MostTools>,
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
        let target = self.target.target();
        let dialects = match &target {
            Some(target) => {
                self.flags.translator(target)?;
                Some(self.flags.dialects()?)
            }
            None => None,
        };
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
            let listed = match (&target, dialects) {
                (Some(target), Some(dialects)) => {
                    let lists = Lists::new(fleet.clone(), dialects, Duration::ZERO);
                    write_translated(&lists, &self.request(target, &specs)?).await?
                }
                _ if self.json => write_raw(&rows)?,
                // If there is nothing but failures, those have been reported.
                _ if rows.is_empty() && outcome != Outcome::Good => Outcome::Good,
                _ => write_table(&rows)?,
            };
            Ok(outcome.max(listed))
        }))
    }

    /// The list of a provider.
    fn request(&self, target: &Target, specs: &[UpstreamSpec]) -> Result<ListRequest> {
        let scope = match specs {
            [only] => Scope::Server(only.id.clone()),
            _ => Scope::All,
        };
        let dialect = (target.to.as_deref(), target.model.as_deref(), self.flags.compat());
        let mut request = ListRequest::in_dialect(scope, dialect, self.flags.options()?);
        request.most_tools = self.limit.unwrap_or_default();
        request.with_report = true;
        Ok(request)
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

/// Writes the list of a provider, and on standard error what is not in it, and why.
async fn write_translated(lists: &Lists, request: &ListRequest) -> Result<Outcome> {
    let rendered = lists.offered(request).await.map_err(|failure| anyhow!(failure.message()))?;
    let rows: Vec<ReportRow> = match &rendered.report {
        Some(report) => serde_json::from_slice(report)?,
        None => Vec::new(),
    };
    let mut stderr = errors();
    for row in rows.iter().filter(|row| row.index.is_none()) {
        let name = printable(row.name.as_deref().unwrap_or_default());
        if let Some(reason) = &row.quarantine {
            writeln!(stderr, "left out `{name}`: {}", printable(reason))?;
        }
        for warning in &row.warnings {
            writeln!(stderr, "warning: `{name}`: {}", printable(warning))?;
        }
    }
    let (omitted, kept) = (rendered.omitted, rendered.wire_names().count());
    if omitted > 0 {
        let rest = if rendered.finder.is_some() {
            "the last three search, describe and call the rest"
        } else {
            "nothing leads to the rest"
        };
        writeln!(
            stderr,
            "left out {}: the list has {kept}, and {rest}; --limit off for all",
            counted(omitted, "tool")
        )?;
    }
    report_not_strict(rendered.not_strict, rows.iter().find_map(|row| row.not_strict.as_deref()))?;
    let mut stdout = output(Form::Json);
    stdout.write_all(&rendered.list())?;
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    let is_whole = omitted == 0 && rendered.quarantined.is_empty();
    Ok(if is_whole { Outcome::Good } else { Outcome::Findings })
}

/// What happened to one tool of a provider's list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportRow {
    name: Option<String>,
    /// Its index in what its server listed, where it is no tool at all.
    #[serde(rename = "place")]
    index: Option<usize>,
    quarantine: Option<String>,
    not_strict: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

/// Reads `--limit`.
fn most_tools(text: &str) -> Result<MostTools, String> {
    match text {
        "off" => Ok(MostTools::Unlimited),
        number => match number.parse() {
            Ok(most) if most > 0 => Ok(MostTools::Number(most)),
            Ok(_) | Err(_) => Err("expected a number of tools from 1, or `off`".to_owned()),
        },
    }
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
