//! Linting a server's tools for many dialects.
//!
//! Two sources of findings: what the schema itself says (`lint`) and what the engine did to it in each dialect
//! (`matrix`). Writers for people and programs stand beside them.

mod lint;
mod locate;
mod markdown;
mod matrix;
mod prose;
mod rules;
mod sarif;
mod text;

pub(crate) use markdown::write_markdown;
pub(crate) use sarif::write_sarif;
pub(crate) use text::{Detail, write_text};

use gateway_dialects::Translator;
use serde::{Serialize, Serializer};

use crate::input::ToolList;
use rules::Rule;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// The tool would be better without it.
    Note,
    /// Some model or provider is worse off for it, or some provider would refuse the tool as it is.
    Warning,
    /// The tool is wrong, or cannot be used somewhere.
    Error,
}

impl Level {
    pub(crate) const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing to look at.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    pub(crate) rule: &'static Rule,
    /// The tool's name; empty where it has none, absent for the list as a whole.
    pub(crate) tool: Option<String>,
    /// Where the tool stands in the list.
    pub(crate) index: Option<usize>,
    /// JSON Pointer into the tool, or into the list where no tool is named.
    pub(crate) pointer: String,
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: &'static str,
    /// The dialects for which it matters; empty: all alike.
    pub(crate) dialects: Vec<String>,
}

impl Finding {
    /// The tool and the pointer, for people.
    fn place(&self) -> String {
        match (self.tool.as_deref(), self.index) {
            (Some(""), Some(index)) => format!("(tool {index} of the list){}", self.pointer),
            (Some(tool), _) => format!("{tool}{}", self.pointer),
            (None, _) => "(the list)".to_owned(),
        }
    }
}

/// What one dialect makes of one tool.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    pub(crate) dialect: String,
    pub(crate) status: Status,
    /// Why the tool is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The name that the provider sees.
    pub(crate) wire_name: String,
    pub(crate) counts: Counts,
    pub(crate) tokens: gateway_dialects::Tokens,
    pub(crate) changes: Vec<ChangeRow>,
}

/// Whether a dialect takes a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// As it came.
    Ok,
    /// In another form.
    Changed,
    /// Not at all.
    Quarantined,
}

impl Status {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Quarantined => "quarantined",
        }
    }
}

/// Changes by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct Counts {
    pub(crate) described: usize,
    pub(crate) encoded: usize,
    pub(crate) rewritten: usize,
    pub(crate) dropped: usize,
}

/// One change, on its own feet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ChangeRow {
    pub(crate) path: String,
    pub(crate) keyword: String,
    pub(crate) value: Option<serde_json::Value>,
    #[serde(serialize_with = "fate_name")]
    pub(crate) fate: gateway_dialects::Fate,
    pub(crate) reason: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn fate_name<S: Serializer>(fate: &gateway_dialects::Fate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(fate.name())
}

/// One tool in all dialects.
#[derive(Debug, Serialize)]
pub(crate) struct ToolRow {
    pub(crate) name: String,
    /// JSON Pointer to the schema in the tool.
    #[serde(skip)]
    pub(crate) schema: &'static str,
    pub(crate) dialects: Vec<Cell>,
}

/// One dialect over all tools.
#[derive(Debug, Serialize)]
pub(crate) struct DialectRow {
    pub(crate) dialect: String,
    pub(crate) ok: usize,
    pub(crate) changed: usize,
    pub(crate) quarantined: usize,
    pub(crate) counts: Counts,
    pub(crate) tokens: gateway_dialects::Tokens,
}

/// Findings by level.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) tools: usize,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) notes: usize,
}

/// Everything that `check` has to say.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) file: String,
    pub(crate) totals: Totals,
    pub(crate) dialects: Vec<DialectRow>,
    pub(crate) tools: Vec<ToolRow>,
    pub(crate) findings: Vec<Finding>,
}

/// Checks `list` for each of `translators`.
pub(crate) fn check(list: &ToolList, translators: &[Translator]) -> Report {
    let tools = matrix::matrix(&list.tools, translators);
    let dialects = matrix::by_dialect(&tools, translators);
    let mut findings = lint::lint(&list.tools, translators);
    findings.extend(matrix::findings(&tools, translators));
    findings.sort_by_key(|finding| (finding.index.map_or(0, |at| at + 1), std::cmp::Reverse(finding.level)));
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let totals = Totals {
        tools: list.tools.len(),
        errors: count(Level::Error),
        warnings: count(Level::Warning),
        notes: count(Level::Note),
    };
    Report { file: list.name.clone(), totals, dialects, tools, findings }
}
