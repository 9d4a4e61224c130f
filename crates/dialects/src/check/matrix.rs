//! Every tool in every dialect.

use std::collections::BTreeMap;

use crate::dialect::Verdict;
use crate::document::ToolSource;
use crate::schema::Keyword;
use crate::{Change, Fate, StrictRoom, Tokens, ToolTranslation, Translator};
use serde_json::Value;

use super::limits::Spend;
use super::{Cell, ChangeRow, Counts, DialectRow, Finding, Status, ToolRow, counted, rules};
use crate::tool::schema_pointer;

/// A tool that takes more of the context window than this is worth a note.
const EXPENSIVE: usize = 2000;

pub(super) fn matrix(
    tools: &[impl ToolSource],
    translators: &[Translator],
    spend: &mut Spend,
) -> Vec<ToolRow> {
    let mut rows: Vec<ToolRow> = tools
        .iter()
        .map(|tool| ToolRow {
            name: tool.name().to_owned(),
            schema: tool.definition().map_or("", schema_pointer),
            dialects: Vec::with_capacity(translators.len()),
        })
        .collect();
    for translator in translators {
        let mut work = spend.work.clone();
        let mut rows = rows.iter_mut();
        let visited = translator.each_within(tools, &mut work, StrictRoom::unlimited(), |translated| {
            if let Some(row) = rows.next() {
                row.dialects.push(cell(&translator.dialect().name, &translated, spend));
            }
        });
        spend.work = work;
        if visited.is_err() {
            spend.is_over = true;
            break;
        }
    }
    rows
}

fn cell(dialect: &str, translated: &ToolTranslation<'_>, spend: &mut Spend) -> Cell {
    let changes = &translated.changes;
    let counts = Counts {
        described: changes.count(Fate::Described),
        encoded: changes.count(Fate::Encoded),
        rewritten: changes.count(Fate::Rewritten),
        dropped: changes.count(Fate::Dropped),
    };
    let status = if translated.quarantine.is_some() {
        Status::Quarantined
    } else if counts == Counts::default() && translated.wire_name == translated.name {
        Status::Ok
    } else {
        Status::Changed
    };
    let mut listed = Vec::with_capacity(changes.len().min(1024));
    for change in changes.iter() {
        if spend.lists_change(|| change.report_bytes()) {
            listed.push(owned(&change));
        }
    }
    Cell {
        dialect: dialect.to_owned(),
        status,
        reason: translated.quarantine.clone(),
        wire_name: translated.wire_name.clone(),
        counts,
        tokens: translated.tokens,
        changes: listed,
    }
}

fn owned(change: &Change<'_>) -> ChangeRow {
    ChangeRow {
        path: change.path.clone(),
        keyword: change.keyword.to_owned(),
        value: change.value.cloned(),
        fate: change.fate,
        reason: change.reason.to_owned(),
    }
}

pub(super) fn by_dialect(tools: &[ToolRow], translators: &[Translator]) -> Vec<DialectRow> {
    translators
        .iter()
        .enumerate()
        .map(|(at, translator)| {
            let mut row = DialectRow {
                dialect: translator.dialect().name.clone(),
                ok: 0,
                changed: 0,
                quarantined: 0,
                counts: Counts::default(),
                tokens: Tokens::default(),
            };
            for cell in tools.iter().filter_map(|tool| tool.dialects.get(at)) {
                match cell.status {
                    Status::Ok => row.ok += 1,
                    Status::Changed => row.changed += 1,
                    Status::Quarantined => row.quarantined += 1,
                }
                row.counts.described += cell.counts.described;
                row.counts.encoded += cell.counts.encoded;
                row.counts.rewritten += cell.counts.rewritten;
                row.counts.dropped += cell.counts.dropped;
                row.tokens.before += cell.tokens.before;
                row.tokens.after += cell.tokens.after;
            }
            row
        })
        .collect()
}

/// What the author learns from the engine's verdicts.
pub(super) fn findings(tools: &[ToolRow], translators: &[Translator], spend: &mut Spend) -> Vec<Finding> {
    let mut findings = Vec::new();
    for translator in translators {
        let dialect = translator.dialect();
        let sent = tools
            .iter()
            .filter_map(|tool| tool.dialects.iter().find(|cell| cell.dialect == dialect.name))
            .filter(|cell| cell.status != Status::Quarantined)
            .count();
        let limit = dialect.limits.tools;
        if limit > 0 && sent > limit {
            let message = format!("{sent} tools, but one request takes {limit}");
            let finding = Finding::new(&rules::TOO_MANY_TOOLS, message);
            spend.add(&mut findings, Finding { dialects: vec![dialect.name.clone()], ..finding });
        }
        let limit = dialect.limits.strict_tools;
        if limit > 0 && sent > limit {
            let plain = counted(sent - limit, "tool");
            let message = format!(
                "one request takes {limit} strict tools, so at least {plain} of {sent} go in the plain form"
            );
            let finding = Finding::new(&rules::NOT_ALL_STRICT, message);
            spend.add(&mut findings, Finding { dialects: vec![dialect.name.clone()], ..finding });
        }
    }
    for (index, tool) in tools.iter().enumerate() {
        let mut add =
            |rule: &'static rules::Rule, pointer: String, message: String, dialects: Vec<String>| {
                let (name, index) = (Some(tool.name.clone()), Some(index));
                let finding = Finding { tool: name, index, pointer, dialects, ..Finding::new(rule, message) };
                spend.add(&mut findings, finding);
            };
        for (reason, dialects) in grouped(tool.dialects.iter().filter_map(|cell| {
            let known = tool.name.is_empty() || cell.reason.as_ref()?.starts_with("another tool is called");
            (!known).then(|| (cell.reason.clone().unwrap_or_default(), cell.dialect.clone()))
        })) {
            add(&rules::QUARANTINED, String::new(), reason, dialects);
        }
        let changes = || {
            tool.dialects
                .iter()
                .flat_map(|cell| cell.changes.iter().map(move |change| (&cell.dialect, change)))
        };
        for ((path, pattern), dialects) in grouped(changes().filter_map(|(dialect, change)| {
            let taken = translators.iter().map(Translator::dialect).any(|known| {
                let verdict = known.schema.keywords.of(Keyword::Pattern);
                known.name == *dialect && matches!(verdict, Verdict::Keep | Verdict::Hint)
            });
            let refused = change.keyword == "pattern" && change.fate == Fate::Described && taken;
            let pattern = change.value.as_ref().map(Value::to_string).unwrap_or_default();
            refused.then(|| ((change.path.clone(), pattern), dialect.clone()))
        })) {
            let message = format!("the pattern {pattern} is not taken here, so a description says it");
            add(&rules::PATTERN_PYTHON, format!("{}{path}/pattern", tool.schema), message, dialects);
        }
        for (path, dialects) in grouped(changes().filter_map(|(dialect, change)| {
            let text = change.fate == Fate::Encoded && change.reason.contains("JSON text");
            text.then(|| (change.path.clone(), dialect.clone()))
        })) {
            let message = "arrays and objects in this value travel as JSON text".to_owned();
            add(&rules::VALUE_AS_TEXT, format!("{}{path}", tool.schema), message, dialects);
        }
        let most = tool.dialects.iter().max_by_key(|cell| cell.tokens.after);
        if let Some(cell) = most.filter(|cell| cell.tokens.after > EXPENSIVE) {
            let message = format!("about {} in `{}`", counted(cell.tokens.after, "token"), cell.dialect);
            let expensive = tool.dialects.iter().filter(|cell| cell.tokens.after > EXPENSIVE);
            add(&rules::COST, String::new(), message, expensive.map(|cell| cell.dialect.clone()).collect());
        }
    }
    findings
}

/// The dialects that share a finding; each once.
fn grouped<K: Ord>(pairs: impl Iterator<Item = (K, String)>) -> BTreeMap<K, Vec<String>> {
    let mut groups: BTreeMap<K, Vec<String>> = BTreeMap::new();
    for (key, dialect) in pairs {
        let dialects = groups.entry(key).or_default();
        if !dialects.contains(&dialect) {
            dialects.push(dialect);
        }
    }
    groups
}
