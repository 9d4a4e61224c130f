//! Tool lists as text for a prompt.
//!
//! ```
//! use gateway_dialects::context::{Detail, render_context};
//! use serde_json::json;
//!
//! let tool = json!({"name": "add", "description": "Adds numbers.", "inputSchema": {
//!     "type": "object",
//!     "properties": {"a": {"type": "number", "description": "First"}},
//!     "required": ["a"],
//! }});
//! assert_eq!(
//!     render_context(&[&tool], Detail::Standard),
//!     "# Available Tools\n\n\
//!      1. **add**\nAdds numbers.\n  - a*: number - First\n\n\
//!      *Parameters marked with * are required."
//! );
//! ```

mod grouping;
mod parameters;

pub use grouping::group_by;

use serde_json::Value;

use crate::schema::Members as _;
use parameters::Parameters;

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// One line per tool: its signature and the first sentence of its description.
    Concise,
    /// Name, description and the top-level parameters.
    #[default]
    Standard,
    /// Also nested parameters, allowed values, constraints and defaults.
    Detailed,
}

const NONE: &str = "No tools available.";
const FOOTER: &str = "*Parameters marked with * are required.";

/// Describes `tools`, which are tools of MCP.
pub fn render_context(tools: &[&Value], detail: Detail) -> String {
    render_groups(&[(String::new(), tools.to_vec())], detail)
}

/// Describes tools below a heading per group; the numbers run on from group to group.
pub fn render_groups(groups: &[(String, Vec<&Value>)], detail: Detail) -> String {
    if groups.iter().all(|(_, tools)| tools.is_empty()) {
        return NONE.to_owned();
    }
    let mut sections = vec!["# Available Tools".to_owned()];
    let mut number = 0;
    for (title, tools) in groups.iter().filter(|(_, tools)| !tools.is_empty()) {
        if !title.is_empty() {
            sections.push(format!("## {title}"));
        }
        let mut lines = Vec::with_capacity(tools.len());
        for tool in tools {
            number += 1;
            match detail {
                Detail::Concise => lines.push(concise(number, tool)),
                Detail::Standard | Detail::Detailed => sections.push(entry(number, tool, detail)),
            }
        }
        if !lines.is_empty() {
            sections.push(lines.join("\n"));
        }
    }
    sections.push(FOOTER.to_owned());
    sections.join("\n\n")
}

/// Describes resources of MCP, with their servers as headings.
pub fn render_resources(groups: &[(String, Vec<&Value>)]) -> String {
    let mut sections = vec!["# Available Resources".to_owned()];
    for (title, resources) in groups.iter().filter(|(_, resources)| !resources.is_empty()) {
        sections.push(format!("## {title}"));
        let lines: Vec<String> = resources.iter().map(|resource| one_resource(resource)).collect();
        sections.push(lines.join("\n"));
    }
    if sections.len() == 1 {
        sections.push("No resources available.".to_owned());
    }
    sections.join("\n\n")
}

fn one_resource(resource: &Value) -> String {
    let text = |key: &str| resource.text(key).map(str::trim).filter(|text| !text.is_empty());
    let address = text("uri").or_else(|| text("uriTemplate")).unwrap_or("unnamed");
    let description = text("description").unwrap_or("No description available");
    match text("title").or_else(|| text("name")) {
        Some(name) => format!("- {address} ({name}): {description}"),
        None => format!("- {address}: {description}"),
    }
}

fn name(tool: &Value) -> &str {
    tool.text("name").unwrap_or("unnamed")
}

fn description(tool: &Value) -> String {
    let given = tool.text("description").map(str::trim).unwrap_or_default();
    if given.is_empty() { format!("Tool: {}", name(tool)) } else { given.to_owned() }
}

fn schema(tool: &Value) -> &Value {
    tool.get("inputSchema").unwrap_or(&Value::Null)
}

fn entry(number: usize, tool: &Value, detail: Detail) -> String {
    let mut lines = vec![format!("{number}. **{}**", name(tool)), description(tool)];
    let before = lines.len();
    Parameters::of(schema(tool)).describe(&mut lines, 1, detail);
    if lines.len() == before {
        lines.push("  (no parameters)".to_owned());
    }
    lines.join("\n")
}

fn concise(number: usize, tool: &Value) -> String {
    let signature = Parameters::of(schema(tool)).signature();
    format!("{number}. {}({signature}) - {}", name(tool), first_sentence(&description(tool)))
}

fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default().trim();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence).trim_end_matches('.')
}
