//! One tool of a list as it was written, before it is known whether the list has room for it.

use std::sync::LazyLock;

use gateway_dialects::{Changes, Plan, Tokens, ToolTranslation};
use gateway_upstream::CatalogueTool;
use serde::Serialize;

use super::rendered::Target;

/// One tool, written.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) target: Target,
    pub(super) wire_name: String,
    pub(super) plan: Plan,
    /// Its definition in the dialect; `None` if it is quarantined.
    pub(super) definition: Option<Vec<u8>>,
    /// Its row of the report, where one is wanted.
    pub(super) row: Option<Vec<u8>>,
    /// Estimated tokens of its definition.
    pub(super) tokens: usize,
    /// Why it is quarantined.
    pub(super) quarantine: Option<String>,
    /// Whether it is not strict because the strict ones leave no room.
    pub(super) is_loosened: bool,
}

impl Part {
    pub(super) fn write(
        target: Target,
        listed: Option<&CatalogueTool>,
        tool: ToolTranslation<'_>,
        with_report: bool,
    ) -> Result<Self, serde_json::Error> {
        let row = ReportRow {
            name: Some(tool.name),
            wire_name: Some(&tool.wire_name),
            server: listed.map(|listed| listed.server.as_str()),
            index: None,
            quarantine: tool.quarantine.as_deref(),
            strict: tool.strict,
            not_strict: tool.not_strict.as_deref(),
            tokens: tool.tokens,
            changes: &tool.changes,
            warnings: &tool.warnings,
        };
        let row = if with_report { Some(serde_json::to_vec(&row)?) } else { None };
        let definition = tool.definition.as_ref().map(serde_json::to_vec).transpose()?;
        Ok(Self {
            target,
            definition,
            row,
            tokens: tool.tokens.after,
            is_loosened: tool.not_strict.is_some(),
            wire_name: tool.wire_name,
            plan: tool.plan,
            quarantine: tool.quarantine,
        })
    }

    /// Leaves it out of the list.
    pub(super) fn omit(&mut self, reason: &str) -> Result<(), serde_json::Error> {
        if let Target::Listed(index) = self.target {
            self.target = Target::Omitted(index);
        }
        if let Some(row) = &mut self.row
            && row.pop() == Some(b'}')
        {
            row.extend_from_slice(b",\"omitted\":");
            serde_json::to_writer(&mut *row, reason)?;
            row.push(b'}');
        }
        Ok(())
    }
}

/// What happened to one tool. `omitted` is added where the list has no room for it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportRow<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) wire_name: Option<&'a str>,
    pub(super) server: Option<&'a str>,
    /// Its index in what its server listed, where it is in no list.
    #[serde(rename = "place", skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<usize>,
    pub(super) quarantine: Option<&'a str>,
    pub(super) strict: bool,
    /// Why it is not strict, though it could be in a shorter list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_strict: Option<&'a str>,
    pub(super) tokens: Tokens,
    pub(super) changes: &'a Changes<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) warnings: &'a [String],
}

static NO_CHANGES: LazyLock<Changes<'static>> = LazyLock::new(Changes::default);

impl<'a> ReportRow<'a> {
    /// A tool that was not translated.
    pub(super) fn left_out(
        name: Option<&'a str>,
        server: &'a str,
        index: Option<usize>,
        reason: &'a str,
    ) -> Self {
        Self {
            name,
            wire_name: None,
            server: Some(server),
            index,
            quarantine: Some(reason),
            strict: false,
            not_strict: None,
            tokens: Tokens::default(),
            changes: &NO_CHANGES,
            warnings: &[],
        }
    }
}
