//! What changed between two listings of one upstream.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Catalogue;
use super::fingerprint::Fingerprint;

/// One tool that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionChange {
    /// The tool's name at the upstream.
    pub tool: String,
    /// What happened to it.
    #[serde(flatten)]
    pub kind: DefinitionChangeKind,
}

/// What happened to a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum DefinitionChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It has the same name and is another one.
    Changed {
        /// Which parts of it.
        parts: Vec<DefinitionPart>,
    },
    /// Nobody knows whether it changed, because what was remembered of its upstream is lost.
    Unverified,
}

/// A part of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionPart {
    /// Title or description.
    Description,
    /// `inputSchema` or `outputSchema`.
    Schema,
    /// `annotations`.
    Annotations,
    /// It is not known which, because the remembered fingerprint cannot be read.
    Unknown,
}

impl fmt::Display for DefinitionChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, kind } = self;
        match kind {
            DefinitionChangeKind::Added => write!(formatter, "tool `{tool}` is new"),
            DefinitionChangeKind::Removed => write!(formatter, "tool `{tool}` is gone"),
            DefinitionChangeKind::Unverified => {
                write!(formatter, "tool `{tool}` cannot be compared: its earlier definition is lost")
            }
            DefinitionChangeKind::Changed { parts } => {
                let parts: Vec<&str> = parts.iter().map(|part| part.name()).collect();
                write!(formatter, "tool `{tool}` changed its {}", parts.join(", "))
            }
        }
    }
}

impl DefinitionPart {
    fn name(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Schema => "schema",
            Self::Annotations => "annotations",
            Self::Unknown => "definition",
        }
    }
}

/// Compares the fingerprints of one upstream's tools, by tool name, as [`Catalogue::fingerprints`] gives them.
pub fn changed_definitions(
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> Vec<DefinitionChange> {
    let mut changes = Vec::new();
    let mut note = |tool: &String, kind| changes.push(DefinitionChange { tool: tool.clone(), kind });
    for (tool, fingerprint) in new {
        match old.get(tool) {
            None => note(tool, DefinitionChangeKind::Added),
            Some(before) if before == fingerprint => {}
            Some(before) => {
                note(tool, DefinitionChangeKind::Changed { parts: changed_parts(before, fingerprint) });
            }
        }
    }
    for tool in old.keys().filter(|tool| !new.contains_key(*tool)) {
        note(tool, DefinitionChangeKind::Removed);
    }
    changes.sort_by(|one, other| one.tool.cmp(&other.tool));
    changes
}

/// Which parts of a definition differ, by its fingerprints.
pub(crate) fn changed_parts(before: &str, after: &str) -> Vec<DefinitionPart> {
    let (Ok(before), Ok(after)) = (before.parse::<Fingerprint>(), after.parse::<Fingerprint>()) else {
        return vec![DefinitionPart::Unknown];
    };
    let parts: Vec<DefinitionPart> = [
        (before.description != after.description, DefinitionPart::Description),
        (before.schema != after.schema, DefinitionPart::Schema),
        (before.annotations != after.annotations, DefinitionPart::Annotations),
    ]
    .into_iter()
    .filter_map(|(differs, part)| differs.then_some(part))
    .collect();
    if parts.is_empty() { vec![DefinitionPart::Unknown] } else { parts }
}

impl Catalogue {
    /// The fingerprints of one upstream's tools by tool name, to be remembered and compared later.
    pub fn fingerprints(&self, server: &str) -> BTreeMap<String, String> {
        self.tools_of(server).map(|tool| (tool.name.clone(), tool.fingerprint.to_string())).collect()
    }
}
