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
use serde_json::{Map, Value, json};

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
                  mcp-tool-gateway call demo add a=1 b=2\n  \
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
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    #[command(flatten)]
    ad_hoc: AdHocFlags,
}

/// The positional arguments.
#[derive(Debug, PartialEq, Eq)]
struct Words<'w> {
    server: Option<&'w str>,
    tool: &'w str,
    arguments: Given<'w>,
}

/// Arguments as they were given.
#[derive(Debug, PartialEq, Eq)]
enum Given<'w> {
    Nothing,
    /// JSON, a file, or standard input.
    Text(&'w str),
    /// `key=value` each.
    Pairs(Vec<(&'w str, &'w str)>),
}

/// How long a server may take to start by default.
const START: Duration = Duration::from_mins(1);

impl Call {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let words = read_words(&self.words)?;
        let url = words.server.filter(|server| is_url(server));
        // What cannot be read is reported before any server is started.
        let whole = match &words.arguments {
            Given::Nothing => Some(RawJson::empty_object()),
            Given::Text(word) => Some(read_arguments(word)?),
            Given::Pairs(_) => None,
        };
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
            let arguments = match (&whole, &words.arguments) {
                (Some(arguments), _) => arguments.clone(),
                (None, Given::Pairs(pairs)) => typed(tool, pairs)?,
                (None, Given::Nothing | Given::Text(_)) => RawJson::empty_object(),
            };
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

/// Distinguishes server, tool and arguments: arguments begin with `{` or `@`, are `-`, or are `key=value`; names are not.
fn read_words(words: &[String]) -> Result<Words<'_>> {
    let is_text = |word: &&String| *word == "-" || word.starts_with(['{', '@', '[']);
    let split = words.iter().position(|word| is_text(&word) || pair(word).is_some());
    let (names, arguments) = words.split_at(split.unwrap_or(words.len()));
    let (arguments, url) = match arguments {
        [] => (Given::Nothing, None),
        [text] if is_text(&text) => (Given::Text(text), None),
        [text, url] if is_text(&text) && is_url(url) => (Given::Text(text), Some(url.as_str())),
        [text, ..] if is_text(&text) => {
            bail!("expected one word of arguments, found {}; quote the JSON", arguments.join(" "))
        }
        [pairs @ .., url] if is_url(url) => (Given::Pairs(read_pairs(pairs)?), Some(url.as_str())),
        pairs => (Given::Pairs(read_pairs(pairs)?), None),
    };
    Ok(match (names, url) {
        ([tool], server) => Words { server, tool, arguments },
        ([server, tool], None) => Words { server: Some(server), tool, arguments },
        // What is no pair, after a server and a tool, is meant as arguments.
        ([server, tool, text], None) if arguments == Given::Nothing => {
            Words { server: Some(server), tool, arguments: Given::Text(text) }
        }
        ([], _) => bail!(
            "no tool is named: call [SERVER] TOOL [ARGUMENTS], with arguments as JSON, key=value, @FILE or -; \
             `mcp-tool-gateway tools` lists the tools"
        ),
        _ => bail!("expected a server, a tool and its arguments, found {}", words.join(" ")),
    })
}

/// The parts of `key=value`; `None` if the word is something else.
fn pair(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    (!key.is_empty() && !is_url(word) && !key.contains(['{', '"', '/'])).then_some((key, value))
}

fn read_pairs(words: &[String]) -> Result<Vec<(&str, &str)>> {
    words
        .iter()
        .map(|word| {
            pair(word).with_context(|| format!("expected key=value like the words before it, found `{word}`"))
        })
        .collect()
}

/// Arguments from `key=value`, each value of the type that the tool's schema asks for. A key that is repeated is a list.
fn typed(tool: &CatalogueTool, pairs: &[(&str, &str)]) -> Result<RawJson> {
    let mut texts: Map<String, Value> = Map::new();
    for (key, value) in pairs {
        match texts.get_mut(*key) {
            None => drop(texts.insert((*key).to_owned(), (*value).into())),
            Some(Value::Array(list)) => list.push((*value).into()),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    let validator =
        tool.without_hidden().read().ok().map(|definition| Validator::new(&input_schema(&definition)));
    let texts = Value::Object(texts);
    let typed = match &validator {
        // All texts are what the schema asks for, or one becomes what it asks for.
        Some(validator) if validator.is_valid(&texts) => texts,
        Some(validator) => validator.coerce_partly(&texts),
        None => texts,
    };
    Ok(RawJson::of(&typed)?)
}

/// The arguments: JSON, a file, or standard input.
fn read_arguments(word: &str) -> Result<RawJson> {
    let (name, text) = match word {
        "-" => read_text(None)?,
        word => match word.strip_prefix('@') {
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
    if server.is_none() && catalogue.has_server(name) {
        let tools: Vec<&str> = catalogue.tools_of(name).map(|tool| tool.name.as_str()).collect();
        text = format!("`{name}` is a server; name one of its tools too: {}", tools.join(", "));
    } else if let LookupError::UnknownTool { reason: None, .. } = error {
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
        let owned = |given: &[&str]| given.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let check = |given: &[&str], server: Option<&str>, tool: &str, arguments: Option<&str>| {
            let arguments = arguments.map_or(Given::Nothing, Given::Text);
            assert_eq!(read_words(&owned(given)).unwrap(), Words { server, tool, arguments }, "{given:?}");
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
        let pairs = |given: &[&str], server: Option<&str>, pairs: &[(&str, &str)]| {
            let arguments = Given::Pairs(pairs.to_vec());
            assert_eq!(read_words(&owned(given)).unwrap(), Words { server, tool: "add", arguments });
        };
        pairs(&["add", "a=1", "b="], None, &[("a", "1"), ("b", "")]);
        pairs(&["demo", "add", "q=x=y"], Some("demo"), &[("q", "x=y")]);
        pairs(&["http://a/mcp?k=v", "add", "a=1"], Some("http://a/mcp?k=v"), &[("a", "1")]);
        pairs(&["add", "a=1", "http://a/mcp"], Some("http://a/mcp"), &[("a", "1")]);
        for (given, part) in [
            (&[][..], "no tool is named"),
            (&["a=1"], "no tool is named"),
            (&["a", "b", "c", "d"], "found a b c d"),
            (&["add", "a=1", "b"], "expected key=value like the words before it, found `b`"),
            (&["add", "{\"a\":", "1}"], "quote the JSON"),
        ] {
            let error = read_words(&owned(given)).unwrap_err().to_string();
            assert!(error.contains(part), "{given:?}: {error}");
        }
    }

    #[test]
    fn arguments_are_objects() {
        assert_eq!(
            read_arguments(" {\"big\": 12345678901234567890123} ").unwrap().as_str(),
            "{\"big\": 12345678901234567890123}"
        );
        assert!(read_arguments("[1]").unwrap_err().to_string().contains("expected a JSON object"));
        assert!(
            format!("{:#}", read_arguments("{\"a\"").unwrap_err()).contains("reading the arguments as JSON")
        );
        assert!(format!("{:#}", read_arguments("@nowhere/a").unwrap_err()).contains("reading nowhere/a"));
    }
}
