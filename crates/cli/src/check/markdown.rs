//! The report as Markdown, for a pull request or a page.

use std::io::Write;

use anyhow::Result;
use gateway_dialects::Tokens;
use gateway_dialects::check::{Counts, Level, Report};
use gateway_protocol::printable;

use super::text::{figures, findings, groups, sizes, some_dialects};

pub(crate) fn write_markdown(writer: &mut impl Write, report: &Report) -> Result<()> {
    writeln!(writer, "# Tools in {}\n", inline(&report.file))?;
    writeln!(writer, "{}: {}.\n", sizes(report).join(", "), findings(report))?;
    writeln!(
        writer,
        "| dialect | ok | changed | left out | described | encoded | rewritten | dropped | tokens |"
    )?;
    writeln!(writer, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    for row in &report.dialects {
        let figures = cells(row.counts, row.tokens);
        writeln!(
            writer,
            "| {} | {} | {} | {} | {figures} |",
            row.dialect, row.ok, row.changed, row.quarantined
        )?;
    }
    for tool in &report.tools {
        writeln!(writer, "\n## {}\n", inline(if tool.name.is_empty() { "(no name)" } else { &tool.name }))?;
        writeln!(writer, "| status | described | encoded | rewritten | dropped | tokens | dialects |")?;
        writeln!(writer, "| --- | ---: | ---: | ---: | ---: | ---: | --- |")?;
        for (cell, names) in groups(tool) {
            let figures = cells(cell.counts, cell.tokens);
            writeln!(writer, "| {} | {figures} | {} |", cell.status.name(), names.join(", "))?;
        }
    }
    writeln!(writer, "\n## Findings\n")?;
    if report.findings.is_empty() {
        writeln!(writer, "None.")?;
    }
    for level in Level::ALL {
        for finding in report.findings.iter().filter(|finding| finding.level == level) {
            let location = finding.location();
            write!(
                writer,
                "- **{}** {}: {} (`{}`",
                level.name(),
                inline(&location),
                escaped(&finding.message),
                finding.rule.id
            )?;
            if !finding.dialects.is_empty() {
                write!(writer, "; {}", some_dialects(&finding.dialects, report.dialects.len()))?;
            }
            writeln!(writer, "). {}", escaped(&finding.help))?;
        }
    }
    Ok(())
}

/// The cells of a row that hold figures.
fn cells(counts: Counts, tokens: Tokens) -> String {
    let [described, encoded, rewritten, dropped, before, after] = figures(counts, tokens);
    format!("{described} | {encoded} | {rewritten} | {dropped} | {before} → {after}")
}

/// `text` as inline code, whatever it contains.
fn inline(text: &str) -> String {
    let flat = text.replace(['\n', '\r'], " ");
    let flat = printable(&flat);
    // Only a longer run of backticks closes the code.
    let longest = flat.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    // A backtick at an end would join those around it.
    let blank = if flat.starts_with('`') || flat.ends_with('`') { " " } else { "" };
    format!("{ticks}{blank}{flat}{blank}{ticks}")
}

/// `text` without line breaks and without markup.
fn escaped(text: &str) -> String {
    let flat = text.replace(['\n', '\r'], " ");
    let mut escaped = String::with_capacity(flat.len());
    for letter in printable(&flat).chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '|' | '*' | '[' | ']' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}
