//! A session without a foreign client: the tools are listed and called by the gateway's own.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gateway_cassette::Cassette;
use gateway_protocol::{RawJson, method, printable};
use gateway_upstream::{
    CallOptions, CatalogueTool, ConnectMode, Endpoint, Fleet, FleetOptions, HttpMode, UpstreamSpec,
};
use serde::Deserialize;

use super::Record;
use crate::Outcome;
use crate::fleet::{failures, listed, with_fleet};
use crate::input::{check_unrepeated, read_text};
use crate::output::did_you_mean;
use crate::terminal::errors;

/// One call to make.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Option<RawJson>,
}

/// The calls of a file, a line each.
pub(super) fn read(path: &Path) -> Result<Vec<ToolCall>> {
    let (name, text) = read_text(Some(path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(index, line): (usize, &str)| {
        let place = format!("{name}:{}", index + 1);
        check_unrepeated(&place, line)?;
        let call: ToolCall = serde_json::from_str(line).with_context(|| {
            format!("{place}: a call is a line such as {{\"name\": \"add\", \"arguments\": {{\"a\": 1}}}}")
        })?;
        if call.arguments.as_ref().is_some_and(|arguments| !arguments.as_bytes().starts_with(b"{")) {
            bail!("{place}: the arguments of `{}` are no JSON object", call.name);
        }
        Ok(call)
    };
    lines.map(read).collect()
}

/// Calls a server over stdio through another process of this command, which records.
pub(super) async fn over_stdio(
    record: &Record,
    command: &str,
    args: &[String],
    calls: Vec<ToolCall>,
) -> Result<Outcome> {
    let own = std::env::current_exe().context("finding this program")?;
    let Some(own) = own.to_str() else { bail!("the path of this program is no text: {}", own.display()) };
    let Some(out) = record.out.to_str() else {
        bail!("the path of the cassette is no text: {}", record.out.display())
    };
    let mut words = vec!["record".to_owned()];
    words.extend(record.redact.iter().map(|key| format!("--redact={key}")));
    words.extend([out.to_owned(), "--".to_owned(), command.to_owned()]);
    words.extend(args.iter().cloned());
    let endpoint = Endpoint::Stdio { command: own.to_owned(), args: words, env: BTreeMap::new(), cwd: None };
    let outcome = make(endpoint, record.timeout, &calls).await;
    if outcome.is_ok() {
        check_recorded(&record.out, calls.len())?;
        let _ = writeln!(errors(), "recorded the session into {}", record.out.display());
    }
    outcome
}

/// The other process has written the cassette, unless it could not: nobody here sees how it ended.
fn check_recorded(path: &Path, calls: usize) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let cassette = Cassette::parse(&text).with_context(|| path.display().to_string())?;
    let requests = cassette.entries.iter().filter_map(|entry| entry.request.as_ref());
    let recorded = requests.filter(|request| request.method == method::CALL_TOOL).count();
    if cassette.entries.is_empty() || recorded < calls {
        bail!("{} has {recorded} of {calls} calls: writing the rest did not succeed", path.display());
    }
    Ok(())
}

/// Calls a server that is behind this address.
pub(super) async fn over_http(url: &str, timeout: Duration, calls: &[ToolCall]) -> Result<Outcome> {
    let endpoint = Endpoint::Http { url: url.to_owned(), headers: BTreeMap::new(), mode: HttpMode::Auto };
    make(endpoint, timeout, calls).await
}

async fn make(endpoint: Endpoint, timeout: Duration, calls: &[ToolCall]) -> Result<Outcome> {
    let mut spec = UpstreamSpec::new("server", endpoint);
    spec.connect = ConnectMode::Eager;
    with_fleet(FleetOptions::default(), async |fleet| {
        listed(&fleet, vec![spec], timeout).await;
        if let Some((_, reason)) = failures(&fleet).first() {
            bail!("listing the server's tools: {}", printable(reason));
        }
        let catalogue = fleet.catalogue();
        let mut chosen = Vec::new();
        for call in calls {
            chosen.push((find(catalogue.tools(), &call.name)?, call));
        }
        let mut outcome = Outcome::Good;
        for (tool, call) in chosen {
            if let Err(error) = make_one(&fleet, tool, call, timeout).await {
                // The error is part of the session, so the others are made nevertheless.
                let text = format!("calling `{}`: {error:#}", call.name);
                let _ = writeln!(errors(), "{}", printable(&text));
                outcome = Outcome::Findings;
            }
        }
        Ok(outcome)
    })
    .await
}

fn find<'t>(tools: &'t [CatalogueTool], name: &str) -> Result<&'t CatalogueTool> {
    if let Some(tool) = tools.iter().find(|tool| &*tool.name == name) {
        return Ok(tool);
    }
    let hint = did_you_mean(name, tools.iter().map(|tool| &*tool.name));
    let hint = hint.unwrap_or_else(|| "--tools alone records what it has".to_owned());
    bail!("the server has no tool `{}`; {}", printable(name), printable(&hint))
}

async fn make_one(fleet: &Fleet, tool: &CatalogueTool, call: &ToolCall, timeout: Duration) -> Result<()> {
    let mut options = CallOptions::default();
    options.timeout = Some(timeout);
    fleet.call(tool, call.arguments.as_ref(), &options).await?;
    Ok(())
}
