//! The report as SARIF 2.1.0, for code scanning.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Component, Path};

use anyhow::Result;
use gateway_dialects::check::{Finding, RULES, Report};
use serde_json::{Value, json};

use super::locate::{Locator, Position};
use crate::input::ToolList;
use crate::output::write_pretty_json;

pub(crate) fn write_sarif(writer: &mut impl Write, report: &Report, list: &ToolList) -> Result<()> {
    let described: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": format!("{}. To do: {}.", rule.title, rule.help)},
                "help": {"text": rule.help},
                "defaultConfiguration": {"level": rule.level.name()},
            })
        })
        .collect();
    let artifact = artifact_uri(&list.name);
    let mut locator = Locator::new(list);
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let position = locator.position(finding).unwrap_or(Position { line: 1, column: 1 });
            result(finding, position, &artifact, report.dialects.len())
        })
        .collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": described,
            }},
            "columnKind": "unicodeCodePoints",
            "artifacts": [{"location": {"uri": artifact}}],
            "results": results,
        }],
    });
    write_pretty_json(writer, &document)
}

fn result(finding: &Finding, position: Position, artifact: &str, dialects: usize) -> Value {
    let tool = finding.tool.as_deref().unwrap_or_default();
    let mut text = finding.message.clone();
    if !finding.dialects.is_empty() {
        text.push_str(" (");
        text.push_str(&super::text::some_dialects(&finding.dialects, dialects));
        text.push(')');
    }
    text.push_str(". To do: ");
    text.push_str(&finding.help);
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": RULES.iter().position(|rule| rule.id == finding.rule.id),
        "level": finding.level.name(),
        "message": {"text": text},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": artifact, "index": 0},
                "region": {"startLine": position.line, "startColumn": position.column},
            },
            "logicalLocations": [{
                "name": if tool.is_empty() { "tools" } else { tool },
                "fullyQualifiedName": format!("{tool}{}", finding.pointer),
                "kind": if finding.tool.is_some() { "function" } else { "module" },
            }],
        }],
        "partialFingerprints": {"finding/v1": fingerprint(finding)},
        "properties": {"tool": tool, "pointer": finding.pointer, "dialects": finding.dialects},
    })
}

/// What a finding is known by from one version of a file to the next: neither lines nor indices, which move.
fn fingerprint(finding: &Finding) -> String {
    let tool = finding.tool.as_deref().unwrap_or_default();
    format!("{}:{tool}{}", finding.rule.id, finding.pointer)
}

/// A file's path as a URI reference; relative paths stay relative.
fn artifact_uri(name: &str) -> String {
    if name == "standard input" {
        return "stdin".to_owned();
    }
    let path = Path::new(name);
    let parts: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(text) => Some(percent_encoded(&text.to_string_lossy())),
            Component::ParentDir => Some("..".to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect();
    let joined = parts.join("/");
    if path.is_absolute() { format!("file:///{joined}") } else { joined }
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
