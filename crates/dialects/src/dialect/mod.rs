//! Dialects: a provider's wire format and its rules, as data.

mod detect;
mod effect;
mod file;
mod messages;
mod models;
mod notations;
mod protocol;
mod providers;
mod rules;
mod tool_rules;

pub use detect::DetectedModel;
pub use file::{DialectError, Dialects};
pub use messages::{
    EmptyStyle, ErrorStyle, MediaVariant, MessageRules, Placement, Placements, ReasoningScope, ResourceStyle,
    SilentContent, StructuredStyle,
};
pub use models::{Choice, Compat};
pub use notations::{Notation, NotationId, Notations, TextCalls, UnknownNotation};
pub use protocol::Protocol;
pub use rules::{
    Additional, AnyOfStyle, Anything, Defaults, EditRules, EmptyObject, Formats, Lowering, NullStyle,
    PatternStyle, RebuildRules, RefStyle, SchemaRules, TextStyle, Verdict, Verdicts,
};
pub use tool_rules::{EmptyRequired, Limits, NameRule, StrictField, ToolRules, ToolShape};

pub(crate) use notations::{CallKeys, NotationRule, end_of_turn};

use serde::{Deserialize, Serialize};

/// One provider's wire format and rules.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct Dialect {
    /// The name by which callers choose it.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The provider's name in error texts about calls: `Invalid Gemini function call: …`.
    #[serde(default)]
    pub label: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The dialect that this one changes.
    pub extends: Option<String>,
    /// The dialect that stands in for this one where a caller wants no more than the bare form (`compat=off`).
    pub bare: Option<String>,
    /// Whether this is a layer: rules that can be put on top of any dialect.
    #[serde(default)]
    pub layer: bool,
    /// The layer that was put on top of it.
    #[serde(skip)]
    pub layered_with: Option<String>,
    /// How a tool definition is written.
    pub tool: ToolRules,
    /// Legal tool names.
    pub names: NameRule,
    /// Legal property keys.
    pub keys: NameRule,
    /// Legal call ids.
    pub ids: NameRule,
    /// Counts that the provider refuses to go beyond.
    #[serde(default)]
    pub limits: Limits,
    /// The schema language.
    pub schema: SchemaRules,
    /// How calls and results travel.
    pub messages: MessageRules,
}

impl Dialect {
    /// What the dialect is called and what it builds on.
    pub fn heading_json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.name,
            "title": self.title,
            "aliases": self.aliases,
            "extends": self.extends,
            "layer": self.layer,
        })
    }
}
