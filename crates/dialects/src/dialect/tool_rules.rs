//! What a dialect's data can say about definitions, names and the provider's limits.

use serde::{Deserialize, Serialize};

use super::rules::yes;

/// How a tool definition is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolShape {
    /// `{"type":"function","function":{name, description, parameters}}`
    Function,
    /// `{"type":"function", name, description, parameters, strict}`
    FlatFunction,
    /// `{name, description, parameters}`
    BareFunction,
    /// `{name, description, <schema key>}`
    Declaration,
    /// `{"toolSpec":{name, description, inputSchema:{json}}}`
    ToolSpec,
    /// The MCP tool as it came.
    Mcp,
}

/// What the `strict` member of a tool definition holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StrictField {
    /// The definition has no such member.
    #[default]
    Absent,
    /// `"strict": false`
    False,
    /// `"strict": true`
    True,
}

/// How a tool definition is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolRules {
    /// The wrapper.
    pub shape: ToolShape,
    /// The key that holds the schema, where the wrapper leaves it open.
    #[serde(default = "parameters")]
    pub schema_key: String,
    /// The key under which a request carries the list.
    #[serde(default = "tools")]
    pub document: String,
    /// The `strict` member.
    #[serde(default)]
    pub strict: StrictField,
    /// Used when a tool has no description; `{name}` stands for the tool's name. Empty: no description.
    #[serde(default)]
    pub description_fallback: String,
    /// Write `"description": ""` rather than nothing when there is none.
    #[serde(default)]
    pub empty_description: bool,
    /// Whether a description may be an empty text.
    #[serde(default = "yes")]
    pub blank_description: bool,
    /// Leave the schema out when a tool takes no arguments.
    #[serde(default)]
    pub omit_empty_schema: bool,
    /// What becomes of `required: []`.
    #[serde(default)]
    pub empty_required: EmptyRequired,
    /// The dialect that carries the same tools with the provider's guarantee, for `strict = auto`.
    pub strict_dialect: Option<String>,
    /// Further members of a definition, carried along where a tool is given in a form that has them.
    #[serde(default)]
    pub members: Vec<String>,
}

fn parameters() -> String {
    "parameters".into()
}

fn tools() -> String {
    "tools".into()
}

/// What becomes of `required: []`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EmptyRequired {
    /// As it came.
    #[default]
    Keep,
    /// Left out.
    Omit,
    /// As it came, and added where the tool had no schema at all.
    AddWhenSchemaMissing,
    /// Always written at the root.
    Add,
}

impl EmptyRequired {
    /// What callers may ask for, by the words for it in requests.
    pub const WORDS: [(&'static str, Self); 3] =
        [("keep", Self::Keep), ("omit", Self::Omit), ("add", Self::Add)];
}

/// Which texts are legal names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct NameRule {
    /// Legal characters besides letters and digits of ASCII; absent: any character is legal.
    pub punctuation: Option<String>,
    /// Whether a digit or punctuation other than `_` may come first.
    #[serde(default = "yes")]
    pub any_start: bool,
    /// Fewest characters.
    #[serde(default)]
    pub min: usize,
    /// Most characters; 0: no limit.
    #[serde(default)]
    pub max: usize,
}

/// Counts that a provider refuses to go beyond; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Limits {
    /// Tools per request.
    pub tools: usize,
    /// Strict tools per request.
    pub strict_tools: usize,
    /// Properties that are not required, over all strict tools of a request.
    pub strict_optional: usize,
    /// Schemas with several types or branches, over all strict tools of a request.
    pub strict_unions: usize,
    /// Characters of a tool's description.
    pub description: usize,
    /// Characters of a parameter's description.
    pub parameter_description: usize,
    /// Levels of objects and arrays, the root being one.
    pub depth: usize,
    /// Properties in one schema.
    pub properties: usize,
    /// Enum values in one schema.
    pub enum_values: usize,
    /// Characters of the strings of one enum that has more than 250 values.
    pub long_enum_characters: usize,
    /// Bytes of one lowered schema.
    pub schema_bytes: usize,
}
