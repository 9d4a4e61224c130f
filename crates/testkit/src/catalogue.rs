//! The list of tools and its pages.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use gateway_protocol::{RpcError, code};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::definitions::{BAD_HEADER_TOOL, BUILTIN, CHANGED_ADD, generated};
use crate::modes::{Fault, Modes};
use crate::options::Options;

/// The tools as texts, in the order of the list.
#[derive(Debug)]
pub(crate) struct Catalogue {
    tools: Vec<String>,
    /// Names of tools that are not built in; their calls echo.
    others: HashSet<String>,
}

/// How often the list was read and changed so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListState {
    /// How many lists were begun, this one included.
    pub(crate) lists: u64,
    /// How many times the list changed.
    pub(crate) revision: u64,
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) tools: Vec<Cow<'a, str>>,
    pub(crate) next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Document {
    tools: Vec<Box<RawValue>>,
}

impl Catalogue {
    pub(crate) fn new(options: &Options, modes: &Modes) -> Result<Self> {
        let mut tools = Vec::new();
        if !options.no_builtin {
            tools.extend(BUILTIN.iter().map(|text| (*text).to_owned()));
        }
        if modes.has(Fault::BadHeaderTool) {
            tools.push(BAD_HEADER_TOOL.to_owned());
        }
        let builtin = tools.len();
        tools.extend((0..options.tools).map(generated));
        for path in &options.corpus {
            tools.extend(read_corpus(path)?);
        }
        let mut others = HashSet::new();
        for text in tools.get(builtin..).unwrap_or_default() {
            let named: Named<'_> = serde_json::from_str(text).context("a tool is no object")?;
            // One without a name is listed all the same: clients have to cope with it.
            others.extend(named.name.map(Cow::into_owned));
        }
        Ok(Self { tools, others })
    }

    /// Whether a tool that is not built in has this name.
    pub(crate) fn has_other(&self, name: &str) -> bool {
        self.others.contains(name)
    }

    /// The page that begins at `cursor`.
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        page_size: Option<usize>,
        modes: &Modes,
        state: ListState,
    ) -> Result<Page<'_>, RpcError> {
        let failed = |what: &str| Err(RpcError::new(code::INTERNAL_ERROR, what));
        if modes.get(Fault::FailFirstList).is_some_and(|times| state.lists <= times) {
            return failed("the list of tools is not ready yet");
        }
        if modes.has(Fault::FailingPage) && cursor.is_some() {
            return failed("this page cannot be read");
        }
        if modes.has(Fault::EndlessPages) {
            let number = cursor.and_then(|cursor| cursor.strip_prefix("endless-")?.parse().ok()).unwrap_or(0);
            let tool = generated(number).replace("\"tool_", "\"endless_");
            return Ok(Page {
                tools: vec![Cow::Owned(tool)],
                next_cursor: Some(format!("endless-{}", number + 1)),
            });
        }
        let tools = self.current(modes, state);
        let size = page_size.or_else(|| {
            [Fault::Paged, Fault::EmptyPages, Fault::CursorLoop, Fault::FailingPage]
                .into_iter()
                .find_map(|fault| modes.get(fault))
                .and_then(|size| usize::try_from(size).ok())
        });
        let size = size.unwrap_or(tools.len()).max(1);
        if modes.has(Fault::CursorLoop) {
            let tools = tools.into_iter().take(size).collect();
            return Ok(Page { tools, next_cursor: Some("again".to_owned()) });
        }
        let (kind, offset) = match cursor {
            None => (TOOLS, 0),
            Some(cursor) => {
                read_cursor(cursor).ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "unknown cursor"))?
            }
        };
        if kind == EMPTY {
            return Ok(Page { tools: Vec::new(), next_cursor: Some(format!("{TOOLS}-{offset}")) });
        }
        let next = offset.saturating_add(size);
        let kind = if modes.has(Fault::EmptyPages) { EMPTY } else { TOOLS };
        let next_cursor = (next < tools.len()).then(|| format!("{kind}-{next}"));
        Ok(Page { tools: tools.into_iter().skip(offset).take(size).collect(), next_cursor })
    }

    fn current(&self, modes: &Modes, state: ListState) -> Vec<Cow<'_, str>> {
        let mut tools: Vec<Cow<'_, str>> =
            self.tools.iter().map(|tool| Cow::Borrowed(tool.as_str())).collect();
        if modes.get(Fault::ChangedDefinition).is_some_and(|lists| state.lists > lists) {
            for tool in tools.iter_mut().filter(|tool| tool.starts_with("{\"name\":\"add\"")) {
                *tool = Cow::Borrowed(CHANGED_ADD);
            }
        }
        if state.revision > 0 {
            let tool = format!(
                r#"{{"name":"revision_{}","description":"Shows how often the list changed","inputSchema":{{"type":"object"}}}}"#,
                state.revision
            );
            tools.push(Cow::Owned(tool));
        }
        if modes.has(Fault::UnknownFields) {
            for tool in &mut tools {
                *tool = Cow::Owned(tool.replacen('{', r#"{"x-unknown":{"deep":[1.50,1e400]},"#, 1));
            }
        }
        tools
    }
}

/// A cursor is the kind of its page and the index of the first tool: `at-20`.
const TOOLS: &str = "at";
const EMPTY: &str = "void";

fn read_cursor(cursor: &str) -> Option<(&str, usize)> {
    let (kind, offset) = cursor.split_once('-')?;
    Some((kind, offset.parse().ok()?)).filter(|_| matches!(kind, TOOLS | EMPTY))
}

fn read_corpus(path: &Path) -> Result<Vec<String>> {
    let reading = || format!("reading {}", path.display());
    let text = std::fs::read_to_string(path).with_context(reading)?;
    if let Ok(document) = serde_json::from_str::<Document>(&text) {
        return Ok(document.tools.iter().map(|tool| one_line(tool)).collect());
    }
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str::<&RawValue>(line).map(one_line))
        .collect::<Result<_, _>>()
        .with_context(reading)
}

/// Pretty-printed JSON would break the lines of stdio. It has line breaks only between tokens, never inside a string.
fn one_line(tool: &RawValue) -> String {
    tool.get().replace(['\n', '\r'], " ")
}
