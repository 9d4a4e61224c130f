//! Linting a server's tools for many dialects.
//!
//! Two sources of findings: what the schema itself says (`lint`) and what the engine did to it in each dialect
//! (`matrix`).
//!
//! ```
//! use gateway_dialects::check::{Level, check};
//! use gateway_dialects::{Dialects, Options, Translator};
//!
//! let tools = [serde_json::json!({"name": "add", "inputSchema": {"type": "object"}})];
//! let translator = Translator::new(&Dialects::builtin(), "gemini", Options::default())?;
//! let report = check("add.json", &tools, &[translator]);
//! assert!(report.findings.iter().any(|finding| finding.rule.id == "description-missing"));
//! # Ok::<(), gateway_dialects::DialectError>(())
//! ```

mod limits;
mod lint;
mod matrix;
mod prose;
mod rules;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::document::ToolSource;
use crate::report::Fate;
use crate::tokens::Tokens;
use crate::translate::Translator;
use crate::work::TooMuchWork;

use limits::Spend;

pub use limits::Limits;
pub use rules::{ALL as RULES, Rule};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The tool would be better without it.
    Note,
    /// Some model or provider is worse off for it, or some provider would refuse the tool as it is.
    Warning,
    /// The tool is wrong, or cannot be used somewhere.
    Error,
}

impl Level {
    /// All levels, the gravest first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing to look at.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What was looked for.
    pub rule: &'static Rule,
    /// The tool's name; empty where it has none, absent for the list as a whole.
    pub tool: Option<String>,
    /// The tool's index in the list.
    pub index: Option<usize>,
    /// JSON Pointer into the tool, or into the list where no tool is named.
    pub pointer: String,
    /// What is the matter.
    pub message: String,
    /// What to do.
    pub help: Cow<'static, str>,
    /// The dialects for which it matters; empty: all alike.
    pub dialects: Vec<String>,
}

impl Finding {
    /// A finding of `rule` about the list as a whole, for all dialects alike.
    fn new(rule: &'static Rule, message: impl Into<String>) -> Self {
        Self {
            level: rule.level,
            rule,
            tool: None,
            index: None,
            pointer: String::new(),
            message: message.into(),
            help: Cow::Borrowed(rule.help),
            dialects: Vec::new(),
        }
    }

    /// Roughly how many bytes it takes in a report.
    fn bytes(&self) -> usize {
        let dialects: usize = self.dialects.iter().map(|name| name.len() + 3).sum();
        let tool = self.tool.as_ref().map_or(0, String::len);
        tool + self.pointer.len() + self.message.len() + self.help.len() + dialects + 128
    }

    /// The tool and the pointer, for people.
    pub fn location(&self) -> String {
        match (self.tool.as_deref(), self.index) {
            (Some(""), Some(index)) => format!("(tool {}){}", ordinal(index), self.pointer),
            (Some(tool), _) => format!("{tool}{}", self.pointer),
            (None, _) => "(the list)".to_owned(),
        }
    }
}

/// What one dialect makes of one tool.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Cell {
    /// The dialect.
    pub dialect: String,
    /// Whether it takes the tool.
    pub status: Status,
    /// Why the tool is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name that the provider sees.
    pub wire_name: String,
    /// Changes by fate.
    pub counts: Counts,
    /// Estimated tokens.
    pub tokens: Tokens,
    /// What happened to every keyword.
    pub changes: Vec<ChangeRow>,
}

/// Whether a dialect takes a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it came.
    Ok,
    /// In another form.
    Changed,
    /// Not at all.
    Quarantined,
}

impl Status {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Quarantined => "left out",
        }
    }
}

/// Changes by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Said in a description.
    pub described: usize,
    /// Travelling in another form.
    pub encoded: usize,
    /// Said in another way.
    pub rewritten: usize,
    /// Annotations that went away.
    pub dropped: usize,
}

/// One change, on its own feet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangeRow {
    /// JSON Pointer into the schema.
    pub path: String,
    /// The keyword.
    pub keyword: String,
    /// Its value.
    pub value: Option<Value>,
    /// What became of it.
    pub fate: Fate,
    /// Why.
    pub reason: String,
}

/// One tool in all dialects.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ToolRow {
    /// The tool's name.
    pub name: String,
    /// JSON Pointer to the schema in the tool.
    #[serde(skip)]
    pub schema: &'static str,
    /// What each dialect makes of it.
    pub dialects: Vec<Cell>,
}

/// One dialect over all tools.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DialectRow {
    /// The dialect.
    pub dialect: String,
    /// Tools that it takes as they are.
    pub ok: usize,
    /// Tools that it takes in another form.
    pub changed: usize,
    /// Tools that it does not take.
    pub quarantined: usize,
    /// Changes by fate.
    pub counts: Counts,
    /// Estimated tokens.
    pub tokens: Tokens,
}

/// Findings by level.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// How many tools there are.
    pub tools: usize,
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
}

/// What was counted but not listed, because the report would be too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Truncated {
    /// Changes of tools.
    pub changes: usize,
    /// Findings.
    pub findings: usize,
}

/// Everything that `check` has to say.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What the list is called.
    pub file: String,
    /// Findings by level.
    pub totals: Totals,
    /// Each dialect over all tools.
    pub dialects: Vec<DialectRow>,
    /// Each tool in all dialects.
    pub tools: Vec<ToolRow>,
    /// What to look at.
    pub findings: Vec<Finding>,
    /// What is not listed above. Findings that follow from changes are not known where the changes are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
}

/// Checks a list of tools for each of `translators`. `file` is what the list is called in the report.
pub fn check(file: &str, list: &[impl ToolSource], translators: &[Translator]) -> Report {
    let mut spend = Spend::new(Limits::unlimited());
    report(file, list, translators, &mut spend)
}

/// The same, within limits: for lists of callers who are not trusted to keep them short.
pub fn check_within(
    file: &str,
    list: &[impl ToolSource],
    translators: &[Translator],
    limits: Limits,
) -> Result<Report, TooMuchWork> {
    let mut spend = Spend::new(limits);
    let report = report(file, list, translators, &mut spend);
    Ok(Report { truncated: spend.end()?, ..report })
}

fn report(file: &str, list: &[impl ToolSource], translators: &[Translator], spend: &mut Spend) -> Report {
    let tools = matrix::matrix(list, translators, spend);
    let dialects = matrix::by_dialect(&tools, translators);
    let mut findings = lint::lint(list, translators, spend);
    findings.extend(matrix::findings(&tools, translators, spend));
    findings.sort_by_key(|finding| (finding.index.map_or(0, |at| at + 1), std::cmp::Reverse(finding.level)));
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let totals = Totals {
        tools: list.len(),
        errors: count(Level::Error),
        warnings: count(Level::Warning),
        notes: count(Level::Note),
    };
    Report { file: file.to_owned(), totals, dialects, tools, findings, truncated: None }
}

/// The number of the tool at `index`, as people count: `#1` is the first.
pub fn ordinal(index: usize) -> String {
    format!("#{}", index.saturating_add(1))
}

/// `count` and its noun.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
