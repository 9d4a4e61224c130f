//! The report as Markdown, for a pull request or a page.

use std::io::Write;

use anyhow::Result;
use gateway_dialects::check::{Level, Report};
use gateway_protocol::printable;

use super::text::{groups, some_dialects};
use crate::output::counted;

pub(crate) fn write_markdown(writer: &mut impl Write, report: &Report) -> Result<()> {
    let totals = report.totals;
    writeln!(writer, "# Tools in {}\n", inline(&report.file))?;
    writeln!(
        writer,
        "{}, {}: {}, {}, {}.\n",
        counted(totals.tools, "tool"),
        counted(report.dialects.len(), "dialect"),
        counted(totals.errors, "error"),
        counted(totals.warnings, "warning"),
        counted(totals.notes, "note"),
    )?;
    writeln!(
        writer,
        "| dialect | ok | changed | left out | described | encoded | rewritten | dropped | tokens |"
    )?;
    writeln!(writer, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    for row in &report.dialects {
        writeln!(
            writer,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} → {} |",
            row.dialect,
            row.ok,
            row.changed,
            row.quarantined,
            row.counts.described,
            row.counts.encoded,
            row.counts.rewritten,
            row.counts.dropped,
            row.tokens.before,
            row.tokens.after,
        )?;
    }
    for tool in &report.tools {
        writeln!(writer, "\n## {}\n", inline(if tool.name.is_empty() { "(no name)" } else { &tool.name }))?;
        writeln!(writer, "| status | described | encoded | rewritten | dropped | tokens | dialects |")?;
        writeln!(writer, "| --- | ---: | ---: | ---: | ---: | ---: | --- |")?;
        for (cell, names) in groups(tool) {
            writeln!(
                writer,
                "| {} | {} | {} | {} | {} | {} → {} | {} |",
                cell.status.name(),
                cell.counts.described,
                cell.counts.encoded,
                cell.counts.rewritten,
                cell.counts.dropped,
                cell.tokens.before,
                cell.tokens.after,
                names.join(", "),
            )?;
        }
    }
    writeln!(writer, "\n## Findings\n")?;
    if report.findings.is_empty() {
        writeln!(writer, "None.")?;
    }
    for level in Level::ALL {
        for finding in report.findings.iter().filter(|finding| finding.level == level) {
            let place = finding.place();
            write!(
                writer,
                "- **{}** {}: {} (`{}`",
                level.name(),
                inline(&place),
                escaped(&finding.message),
                finding.rule.id
            )?;
            if !finding.dialects.is_empty() {
                write!(writer, "; {}", some_dialects(&finding.dialects, report.dialects.len()))?;
            }
            writeln!(writer, "). {}", escaped(finding.help))?;
        }
    }
    Ok(())
}

/// `text` as code, whatever stands in it.
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

/// `text` without line breaks and without the signs that would start markup.
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
