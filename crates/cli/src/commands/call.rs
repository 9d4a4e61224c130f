//! `call`: one tool, once.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use gateway_dialects::arguments::{Validator, render_issues};
use gateway_dialects::results::{self, ResultMode, ResultOptions, render_mode};
use gateway_dialects::{Dialects, input_schema};
use gateway_notation::pointer;
use gateway_protocol::{CallResultView, RawJson, printable};
use gateway_upstream::{CallOptions, Catalogue, CatalogueTool, Fleet, LookupError};
use serde_json::Value;

use crate::Outcome;
use crate::adhoc::{AdHocFlags, is_url};
use crate::fleet::{chosen, failures, listed, with_fleet};
use crate::input::{check_unrepeated, read_text};
use crate::output::{did_you_mean, write_json};
use crate::progress::with_progress;
use crate::runtime::block_on;
use crate::seconds::seconds;
use crate::setup::{ConfigFlags, Setup};
use crate::terminal::{Form, output};

/// Call a tool of a configured server, or of any command or URL.
#[derive(Debug, Args)]
#[command(
    override_usage = "mcp-tool-gateway call [OPTIONS] [SERVER|URL] TOOL [JSON|@FILE|-]\n       \
                      mcp-tool-gateway call [OPTIONS] TOOL [JSON|@FILE|-] -- COMMAND…",
    after_help = "Exit status: 0 a result, 1 the tool reports a failure, 2 no result.\n\nExamples:\n  \
                  mcp-tool-gateway call demo add '{\"a\": 1, \"b\": 2}'\n  \
                  mcp-tool-gateway call echo '{\"message\": \"hi\"}' -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Call {
    #[command(flatten)]
    config: ConfigFlags,
    /// What to print of the result
    #[arg(long, value_name = "MODE", default_value = "raw", value_parser = ["raw", "parsed", "first-text", "joined", "rich"])]
    result: String,
    /// Print texts as JSON too
    #[arg(long)]
    json: bool,
    /// How long to wait for the server and then for the result, in seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Send the arguments without checking them against the tool's schema
    #[arg(long)]
    no_validate: bool,
    /// The server or its URL (optional where only one server has the tool), the tool, and its arguments
    #[arg(required = true, num_args = 1..=3, value_name = "WORD")]
    words: Vec<String>,
    #[command(flatten)]
    ad_hoc: AdHocFlags,
}

/// The positional arguments.
#[derive(Debug, PartialEq, Eq)]
struct Words<'w> {
    server: Option<&'w str>,
    tool: &'w str,
    arguments: Option<&'w str>,
}

/// How long a server may take to start by default.
const START: Duration = Duration::from_mins(1);

impl Call {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let words = read_words(&self.words)?;
        let url = words.server.filter(|server| is_url(server));
        let arguments = read_arguments(words.arguments)?;
        let mode: ResultMode = self.result.parse()?;
        let (setup, server) = match self.ad_hoc.spec(url)? {
            Some(_) if url.is_none() && words.server.is_some() => {
                bail!("a server before the tool and a command after `--`: only one server can be used")
            }
            Some(spec) => (Setup::of(spec), None),
            None => (self.config.load()?, words.server),
        };
        let specs = chosen(setup.specs, server)?;
        block_on(with_fleet(setup.fleet, async |fleet| {
            listed(&fleet, specs, self.timeout.unwrap_or(START)).await;
            let catalogue = fleet.catalogue();
            let tool = find(&fleet, &catalogue, server, words.tool)?;
            if !self.no_validate {
                check(tool, &arguments)?;
            }
            if let Some(name) = tool.hidden_parameter(&arguments) {
                bail!("the tool `{}` has no parameter \"{name}\"; leave it out", tool.name);
            }
            let result = self.send(&fleet, tool, &arguments).await?;
            self.print(mode, tool, &result)
        }))
    }

    async fn send(&self, fleet: &Fleet, tool: &CatalogueTool, arguments: &RawJson) -> Result<RawJson> {
        let mut options = CallOptions::default();
        options.timeout = self.timeout;
        let work = fleet.call(tool, Some(arguments), &options);
        with_progress(work, || format!("waiting for `{}` of {}", tool.name, tool.server))
            .await
            // Text from a server must not look like further lines.
            .map_err(|error| anyhow!("{}", printable(&format!("{:#}", anyhow::Error::new(error)))))
    }

    fn print(&self, mode: ResultMode, tool: &CatalogueTool, result: &RawJson) -> Result<Outcome> {
        let mut stdout = output(Form::Json);
        if mode == ResultMode::Raw {
            // Not parsed, which would round large numbers.
            stdout.write_all(result.as_bytes())?;
        } else {
            let value: Value = result.read().context("reading the result")?;
            let outcome =
                results::Outcome { call_id: None, wire_name: &tool.name, result: &value, kept: None };
            let dialect = Dialects::builtin().get("mcp")?;
            let origin = format!("{}/{}", tool.server, tool.name);
            match render_mode(mode, &dialect, &outcome, &origin, &ResultOptions::default()) {
                Value::String(text) if !self.json && std::io::stdout().is_terminal() => {
                    stdout = output(Form::Text);
                    stdout.write_all(text.as_bytes())?;
                }
                // A program gets the original text.
                Value::String(text) if !self.json => std::io::stdout().lock().write_all(text.as_bytes())?,
                other => write_json(&mut stdout, &other)?,
            }
        }
        stdout.write_all(b"\n")?;
        stdout.flush()?;
        Ok(if CallResultView::of(result).is_error { Outcome::Findings } else { Outcome::Good })
    }
}

/// Distinguishes server, tool and arguments: arguments start with `{` or `@`, or are `-`; names do not.
fn read_words(words: &[String]) -> Result<Words<'_>> {
    let is_arguments = |word: &str| word == "-" || word.starts_with(['{', '@']);
    Ok(match words {
        [tool] => Words { server: None, tool, arguments: None },
        [tool, arguments] if is_arguments(arguments) => {
            Words { server: None, tool, arguments: Some(arguments) }
        }
        [server, tool] => Words { server: Some(server), tool, arguments: None },
        [tool, arguments, url] if is_arguments(arguments) && is_url(url) => {
            Words { server: Some(url), tool, arguments: Some(arguments) }
        }
        [server, tool, arguments] => Words { server: Some(server), tool, arguments: Some(arguments) },
        _ => bail!("expected a server, a tool and its arguments"),
    })
}

/// The arguments: JSON, a file, or standard input.
fn read_arguments(word: Option<&str>) -> Result<RawJson> {
    let (name, text) = match word {
        None => return Ok(RawJson::empty_object()),
        Some("-") => read_text(None)?,
        Some(word) => match word.strip_prefix('@') {
            Some(path) => read_text(Some(Path::new(path)))?,
            None => ("the arguments".to_owned(), word.to_owned()),
        },
    };
    check_unrepeated(&name, &text)?;
    let arguments = RawJson::parse(text).with_context(|| format!("reading {name} as JSON"))?;
    if !arguments.as_bytes().starts_with(b"{") {
        bail!("{name}: expected a JSON object such as {{\"a\": 1}}, found {arguments}");
    }
    Ok(arguments)
}

/// The tool to call. If a server failed, that explains a missing tool better.
fn find<'c>(
    fleet: &Fleet,
    catalogue: &'c Catalogue,
    server: Option<&str>,
    name: &str,
) -> Result<&'c CatalogueTool> {
    let error = match catalogue.resolve(server, name) {
        Ok(tool) => return Ok(tool),
        Err(error) => error,
    };
    let failed: Vec<String> = failures(fleet)
        .iter()
        .map(|(server, reason)| format!("server `{server}` cannot be reached: {}", printable(reason)))
        .collect();
    if !failed.is_empty() && !matches!(error, LookupError::Ambiguous { .. }) {
        bail!("{}", failed.join("\n"));
    }
    let mut text = error.to_string();
    if let LookupError::UnknownTool { reason: None, .. } = error {
        let names = catalogue.tools().iter().map(|tool| tool.name.as_ref());
        text.extend(did_you_mean(name, names).map(|hint| format!("; {hint}")));
    }
    Err(anyhow!("{}", printable(&text)))
}

/// Checks arguments against the tool's schema, as the service does.
fn check(tool: &CatalogueTool, arguments: &RawJson) -> Result<()> {
    // A definition with numbers out of range cannot be used for validation, but the tool can be called.
    let Ok(definition) = tool.without_hidden().read::<Value>() else { return Ok(()) };
    let arguments: Value = arguments.read()?;
    let validator = Validator::new(&input_schema(&definition));
    if validator.is_valid(&arguments) {
        return Ok(());
    }
    let issues = render_issues(&validator.validate(&arguments), &pointer::dotted);
    bail!(
        "tool `{}` of server `{}` was not called (--no-validate calls it anyway)\n{issues}",
        printable(&tool.name),
        tool.server
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinguished() {
        let check = |given: &[&str], server: Option<&str>, tool: &str, arguments: Option<&str>| {
            let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(read_words(&given).unwrap(), Words { server, tool, arguments }, "{given:?}");
        };
        check(&["add"], None, "add", None);
        check(&["add", "{}"], None, "add", Some("{}"));
        check(&["add", "-"], None, "add", Some("-"));
        check(&["add", "@file"], None, "add", Some("@file"));
        check(&["demo", "add"], Some("demo"), "add", None);
        check(&["demo", "add", "{}"], Some("demo"), "add", Some("{}"));
        check(&["http://a/mcp", "add", "{}"], Some("http://a/mcp"), "add", Some("{}"));
        check(&["add", "{}", "http://a/mcp"], Some("http://a/mcp"), "add", Some("{}"));
        check(&["demo", "add", "nonsense"], Some("demo"), "add", Some("nonsense"));
    }

    #[test]
    fn arguments_are_objects() {
        assert_eq!(read_arguments(None).unwrap().as_str(), "{}");
        assert_eq!(
            read_arguments(Some(" {\"big\": 12345678901234567890123} ")).unwrap().as_str(),
            "{\"big\": 12345678901234567890123}"
        );
        assert!(read_arguments(Some("[1]")).unwrap_err().to_string().contains("expected a JSON object"));
        assert!(
            format!("{:#}", read_arguments(Some("{\"a\"")).unwrap_err())
                .contains("reading the arguments as JSON")
        );
        assert!(
            format!("{:#}", read_arguments(Some("@nowhere/a")).unwrap_err()).contains("reading nowhere/a")
        );
    }
}
