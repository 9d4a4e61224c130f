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

use std::collections::HashSet;

use serde_json::Value;

use crate::schema::Members as _;
use crate::tool::schema_of;
use parameters::Parameters;

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// One line per tool: its signature and the first sentence of its description.
    Concise,
    /// Name, description and the top-level parameters.
    #[default]
    Standard,
    /// Also nested parameters, allowed values, constraints and defaults.
    Detailed,
}

const TITLE: &str = "# Available Tools";
const NONE: &str = "No tools available.";
const FOOTER: &str = "*Parameters marked with * are required.";

/// Describes `tools`, which are tools of MCP.
pub fn render_context(tools: &[&Value], detail: Detail) -> String {
    render_groups(&[(String::new(), tools.to_vec())], detail)
}

/// Describes tools below a heading per group; the numbers run on from group to group.
pub fn render_groups(groups: &[(String, Vec<&Value>)], detail: Detail) -> String {
    Entries::of(groups, detail).text(&|_| true, "")
}

/// The same within about `bytes` bytes: whole tools, those with the highest `rank` first and then in order, and a line that
/// says how many are left out. The headings and that line are always there.
pub fn render_groups_within(
    groups: &[(String, Vec<&Value>)],
    detail: Detail,
    bytes: usize,
    rank: impl Fn(&Value) -> usize,
) -> String {
    let entries = Entries::of(groups, detail);
    let whole = entries.text(&|_| true, "");
    if whole.len() <= bytes {
        return whole;
    }
    let all =
        || groups.iter().enumerate().flat_map(|(at, (_, tools))| tools.iter().map(move |tool| (at, *tool)));
    let mut order: Vec<(usize, usize, usize)> =
        all().enumerate().map(|(index, (group, tool))| (index, group, rank(tool))).collect();
    order.sort_by_key(|(index, _, rank)| (std::cmp::Reverse(*rank), *index));
    let mut left = bytes.saturating_sub(TITLE.len() + FOOTER.len() + left_out(order.len()).len() + 6);
    let lengths = entries.lengths();
    let mut titled: HashSet<usize> = HashSet::new();
    let mut chosen: HashSet<usize> = HashSet::new();
    for (index, group, _) in order {
        let title = if titled.contains(&group) { 0 } else { entries.heading_bytes(group) };
        let cost = title + lengths.get(index).copied().unwrap_or_default();
        if let Some(rest) = left.checked_sub(cost) {
            left = rest;
            titled.insert(group);
            chosen.insert(index);
        }
    }
    let omitted = all().count() - chosen.len();
    entries.text(&|index| chosen.contains(&index), &left_out(omitted))
}

fn left_out(tools: usize) -> String {
    let noun = if tools == 1 { "tool is" } else { "tools are" };
    format!("{tools} more {noun} not described here, to keep this text short.")
}

/// The text of each tool but for its number, with the headings of groups.
struct Entries<'g> {
    groups: Vec<(&'g str, Vec<String>)>,
    detail: Detail,
}

impl<'g> Entries<'g> {
    fn of(groups: &'g [(String, Vec<&Value>)], detail: Detail) -> Self {
        let describe = |tool: &&Value| match detail {
            Detail::Concise => concise(tool),
            Detail::Standard | Detail::Detailed => entry(tool, detail),
        };
        let groups = groups
            .iter()
            .map(|(title, tools)| (title.as_str(), tools.iter().map(describe).collect()))
            .collect();
        Self { groups, detail }
    }

    /// The bytes of each tool's text with its number and the blank line behind it, at most.
    fn lengths(&self) -> Vec<usize> {
        let all = || self.groups.iter().flat_map(|(_, tools)| tools);
        let number = all().count().to_string().len();
        all().map(|text| text.len() + number + 4).collect()
    }

    /// The bytes of a group's heading with the blank line behind it.
    fn heading_bytes(&self, group: usize) -> usize {
        self.groups.get(group).map_or(0, |(title, _)| if title.is_empty() { 0 } else { title.len() + 5 })
    }

    /// The tools whose indices `is_wanted` accepts, with a note before the footer.
    fn text(&self, is_wanted: &dyn Fn(usize) -> bool, note: &str) -> String {
        if self.groups.iter().all(|(_, tools)| tools.is_empty()) {
            return NONE.to_owned();
        }
        let mut sections = vec![TITLE.to_owned()];
        let (mut number, mut index) = (0, 0);
        for (title, tools) in &self.groups {
            let mut shown = Vec::with_capacity(tools.len());
            for tool in tools {
                if is_wanted(index) {
                    number += 1;
                    shown.push(format!("{number}. {tool}"));
                }
                index += 1;
            }
            if !title.is_empty() && !shown.is_empty() {
                sections.push(format!("## {title}"));
            }
            match self.detail {
                Detail::Concise if shown.is_empty() => {}
                Detail::Concise => sections.push(shown.join("\n")),
                Detail::Standard | Detail::Detailed => sections.append(&mut shown),
            }
        }
        if !note.is_empty() {
            sections.push(note.to_owned());
        }
        sections.push(FOOTER.to_owned());
        sections.join("\n\n")
    }
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
    tool.as_object().and_then(schema_of).map_or(&Value::Null, |(_, schema)| schema)
}

fn entry(tool: &Value, detail: Detail) -> String {
    let mut lines = vec![format!("**{}**", name(tool)), description(tool)];
    let before = lines.len();
    Parameters::of(schema(tool)).describe(&mut lines, 1, detail);
    if lines.len() == before {
        lines.push("  (no parameters)".to_owned());
    }
    lines.join("\n")
}

fn concise(tool: &Value) -> String {
    let signature = Parameters::of(schema(tool)).signature();
    format!("{}({signature}) - {}", name(tool), first_sentence(&description(tool)))
}

fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default().trim();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence).trim_end_matches('.')
}
