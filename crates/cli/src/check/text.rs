//! The report for people.

use std::cmp::Reverse;
use std::io::Write;

use anyhow::Result;
use gateway_dialects::Tokens;
use gateway_dialects::check::{Cell, Counts, Finding, Level, Report, Rule, Status, ToolRow, ordinal};
use gateway_protocol::printable;

use super::locate::Locator;
use crate::input::ToolList;
use crate::output::{Paint, Table, Tone, counted, wrapped};

/// How detailed the changes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Counts.
    Counts,
    /// Every change.
    Changes,
}

pub(crate) fn write_text(
    writer: &mut impl Write,
    report: &Report,
    list: &ToolList,
    paint: Paint,
    detail: Detail,
) -> Result<()> {
    let [tools, dialects] = sizes(report);
    writeln!(writer, "{}: {tools} in {dialects}, {}", printable(&report.file), findings(report))?;
    let mut locator = Locator::new(list);
    for advice in advices(report) {
        writeln!(writer)?;
        write_advice(writer, &advice, report, &mut locator, paint)?;
    }
    writeln!(writer)?;
    write_dialects(writer, report, paint)?;
    for (index, tool) in report.tools.iter().enumerate() {
        writeln!(writer)?;
        let nameless = format!("(tool {})", ordinal(index));
        let name = if tool.name.is_empty() { &nameless } else { &tool.name };
        writeln!(writer, "{}", paint.tone(Tone::Heading, &printable(name)))?;
        write_tool(writer, tool, paint, detail)?;
    }
    Ok(())
}

/// Findings that ask for the same.
struct Advice<'r> {
    rule: &'static Rule,
    help: &'r str,
    findings: Vec<&'r Finding>,
}

/// The findings by what they ask for: the gravest first, then those that occur most often.
fn advices(report: &Report) -> Vec<Advice<'_>> {
    let mut advices: Vec<Advice<'_>> = Vec::new();
    for finding in &report.findings {
        let same =
            |advice: &&mut Advice<'_>| advice.rule.id == finding.rule.id && advice.help == finding.help;
        match advices.iter_mut().find(same) {
            Some(advice) => advice.findings.push(finding),
            None => advices.push(Advice { rule: finding.rule, help: &finding.help, findings: vec![finding] }),
        }
    }
    advices.sort_by_key(|advice| (Reverse(advice.rule.level), Reverse(advice.findings.len())));
    advices
}

fn write_advice(
    writer: &mut impl Write,
    advice: &Advice<'_>,
    report: &Report,
    locator: &mut Locator<'_>,
    paint: Paint,
) -> Result<()> {
    let level = paint.tone(tone(advice.rule.level), advice.rule.level.name());
    let count =
        if advice.findings.len() > 1 { format!(" ({})", advice.findings.len()) } else { String::new() };
    writeln!(writer, "{level}: {} [{}]{count}", advice.rule.title, advice.rule.id)?;
    hanging(writer, "  do: ", advice.help)?;
    let mut shown: &[String] = &[];
    for finding in &advice.findings {
        let position = locator.position(finding).map_or_else(String::new, |at| at.in_file(&report.file));
        let location = finding.location();
        writeln!(writer, "  {position}{}: {}", printable(&location), printable(&finding.message))?;
        // The same dialects as above are not repeated.
        if !finding.dialects.is_empty() && finding.dialects != shown {
            hanging(writer, "      in: ", &some_dialects(&finding.dialects, report.dialects.len()))?;
        }
        shown = &finding.dialects;
    }
    Ok(())
}

/// How many tools and dialects were checked.
pub(super) fn sizes(report: &Report) -> [String; 2] {
    [counted(report.totals.tools, "tool"), counted(report.dialects.len(), "dialect")]
}

/// How many findings there are, by level.
pub(super) fn findings(report: &Report) -> String {
    let totals = report.totals;
    let counts = [(totals.errors, "error"), (totals.warnings, "warning"), (totals.notes, "note")];
    counts.map(|(count, noun)| counted(count, noun)).join(", ")
}

/// How often each fate of a keyword occurred, and the tokens before and after.
pub(super) fn figures(counts: Counts, tokens: Tokens) -> [String; 6] {
    [counts.described, counts.encoded, counts.rewritten, counts.dropped, tokens.before, tokens.after]
        .map(|figure| figure.to_string())
}

/// The names of `dialects`, or that it is all of them.
pub(super) fn some_dialects(dialects: &[String], all: usize) -> String {
    if dialects.len() == all && all > 1 { "every dialect checked".to_owned() } else { dialects.join(", ") }
}

fn hanging(writer: &mut impl Write, label: &str, text: &str) -> Result<()> {
    let indent = " ".repeat(label.len());
    for (at, line) in wrapped(text, 96).iter().enumerate() {
        writeln!(writer, "{}{line}", if at == 0 { label } else { &indent })?;
    }
    Ok(())
}

const fn tone(level: Level) -> Tone {
    match level {
        Level::Error => Tone::Bad,
        Level::Warning => Tone::Caution,
        Level::Note => Tone::Faint,
    }
}

const fn status_tone(status: Status) -> Tone {
    match status {
        Status::Ok => Tone::Good,
        Status::Changed => Tone::Caution,
        Status::Quarantined => Tone::Bad,
    }
}

fn write_dialects(writer: &mut impl Write, report: &Report, paint: Paint) -> Result<()> {
    let mut table = Table::new([
        "dialect",
        "ok",
        "changed",
        "left out",
        "described",
        "encoded",
        "rewritten",
        "dropped",
        "tokens before",
        "after",
    ]);
    for row in &report.dialects {
        let tone = if row.quarantined > 0 { Some(Tone::Bad) } else { None };
        let [ok, changed, left_out] = [row.ok, row.changed, row.quarantined].map(|count| count.to_string());
        let [described, encoded, rewritten, dropped, before, after] = figures(row.counts, row.tokens);
        let dialect = row.dialect.clone();
        table.row(
            tone,
            [dialect, ok, changed, left_out, described, encoded, rewritten, dropped, before, after],
        );
    }
    table.write(writer, paint, "")?;
    Ok(())
}

/// Dialects with the same translation of a tool share a row.
pub(super) fn groups(tool: &ToolRow) -> Vec<(&Cell, Vec<&str>)> {
    let mut groups: Vec<(&Cell, Vec<&str>)> = Vec::new();
    for cell in &tool.dialects {
        let same = groups.iter_mut().find(|(first, _)| {
            first.status == cell.status
                && first.reason == cell.reason
                && first.wire_name == cell.wire_name
                && first.tokens == cell.tokens
                && first.changes == cell.changes
        });
        match same {
            Some((_, names)) => names.push(&cell.dialect),
            None => groups.push((cell, vec![&cell.dialect])),
        }
    }
    groups
}

fn write_tool(writer: &mut impl Write, tool: &ToolRow, paint: Paint, detail: Detail) -> Result<()> {
    let groups = groups(tool);
    let mut table =
        Table::new(["status", "described", "encoded", "rewritten", "dropped", "tokens", "after", "dialects"]);
    for (cell, names) in &groups {
        let [described, encoded, rewritten, dropped, before, after] = figures(cell.counts, cell.tokens);
        let (status, names) = (cell.status.name().to_owned(), names.join(", "));
        table.row(
            Some(status_tone(cell.status)),
            [status, described, encoded, rewritten, dropped, before, after, names],
        );
    }
    table.write(writer, paint, "  ")?;
    if detail == Detail::Counts {
        return Ok(());
    }
    for (cell, names) in &groups {
        if cell.changes.is_empty() && cell.reason.is_none() && cell.wire_name == tool.name {
            continue;
        }
        writeln!(writer, "  {}", paint.tone(Tone::Faint, &names.join(", ")))?;
        if let Some(reason) = &cell.reason {
            writeln!(writer, "    left out: {}", printable(reason))?;
        } else if cell.wire_name != tool.name {
            writeln!(writer, "    called {}", printable(&cell.wire_name))?;
        }
        for change in &cell.changes {
            let path = if change.path.is_empty() { "/" } else { &change.path };
            let keyword = if change.keyword.is_empty() { "" } else { " " };
            let keyword = format!("{keyword}{}", change.keyword);
            let line = format!("{path}{keyword}: {}", change.reason);
            writeln!(writer, "    {} {}", change.fate.name(), printable(&line))?;
        }
    }
    Ok(())
}
