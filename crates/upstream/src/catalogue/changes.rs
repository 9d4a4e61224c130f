//! What changed between two listings of one upstream.

use std::fmt;

use serde::Serialize;

/// One tool that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DefinitionChange {
    /// The tool's name at the upstream.
    pub tool: String,
    /// What happened to it.
    #[serde(flatten)]
    pub kind: DefinitionChangeKind,
}

/// What happened to a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum DefinitionChangeKind {
    /// It has the same name and is another one.
    Changed {
        /// Which parts of it.
        parts: Vec<DefinitionPart>,
    },
    /// Nobody knows whether it changed, because what was remembered of its upstream is lost.
    Unverified,
}

/// A part of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// Which parts of a definition differ, by its fingerprints.
pub(crate) fn changed_parts(before: &str, after: &str) -> Vec<DefinitionPart> {
    use DefinitionPart::{Annotations, Description, Schema, Unknown};
    // The first digest is that of the whole.
    let digests = before.split('.').zip(after.split('.')).skip(1);
    let parts = [Description, Schema, Annotations].into_iter().zip(digests);
    let changed: Vec<DefinitionPart> =
        parts.filter(|(_, (before, after))| before != after).map(|(part, _)| part).collect();
    if changed.is_empty() { vec![Unknown] } else { changed }
}

#[cfg(test)]
mod tests {
    use gateway_config::{CatalogueRules, Endpoint, UpstreamSpec};
    use gateway_protocol::RawJson;

    use super::DefinitionPart::{Annotations, Description, Schema, Unknown};
    use super::*;
    use crate::catalogue::{Catalogue, UpstreamTools};

    fn fingerprint(tool: &str) -> String {
        let (spec, tools) =
            (UpstreamSpec::new("s", Endpoint::Demo), [RawJson::parse(tool.to_owned()).unwrap()]);
        let part = UpstreamTools { spec: &spec, tools: &tools };
        let catalogue = Catalogue::build(1, &[part], &CatalogueRules::default());
        catalogue.tools()[0].fingerprint.to_string()
    }

    #[test]
    fn fingerprints_show_which_parts_changed() {
        let before = r#"{"name":"t","description":"d","inputSchema":{"type":"object","required":["a"]},"annotations":{}}"#;
        let same = r#"{"annotations":{}, "inputSchema":{"required":["a"],"type":"object"},"description":"d","name":"t","_meta":{"n":2},"icons":[]}"#;
        assert_eq!(fingerprint(before), fingerprint(same));
        let cases: [(&str, &[DefinitionPart]); 5] = [
            (
                r#"{"name":"t","description":"D","inputSchema":{"type":"object","required":["a"]},"annotations":{}}"#,
                &[Description],
            ),
            (
                r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object","required":["a"]},"annotations":{}}"#,
                &[Description],
            ),
            (
                r#"{"name":"t","description":"d","inputSchema":{"type":"object","required":["b"]},"annotations":{}}"#,
                &[Schema],
            ),
            (
                r#"{"name":"t","description":"d","inputSchema":{"type":"object","required":["a"]},"outputSchema":{},"annotations":{}}"#,
                &[Schema],
            ),
            (
                r#"{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
                &[Description, Schema, Annotations],
            ),
        ];
        for (after, expected) in cases {
            assert_eq!(changed_parts(&fingerprint(before), &fingerprint(after)), expected, "{after}");
        }
        assert_eq!(changed_parts("from an older version", &fingerprint(before)), [Unknown]);
    }
}
