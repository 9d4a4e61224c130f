//! What a dialect's data can say about schemas. Every field chooses among mechanisms that the engine implements.

use serde::{Deserialize, Serialize};

pub use crate::schema::pattern::PatternStyle;
use crate::schema::{Keyword, Kind};

pub(super) const fn yes() -> bool {
    true
}

/// How a schema is lowered, with the rules that only this mechanism has.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "lowering", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Lowering {
    /// The schema stays as it came.
    None,
    /// Keyword by keyword, structure and order kept: for dialects that read JSON Schema.
    Edit(EditRules),
    /// Written anew from its meaning: for dialects with a schema language of their own.
    Rebuild(RebuildRules),
}

impl Lowering {
    /// The word in dialect files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Edit(_) => "edit",
            Self::Rebuild(_) => "rebuild",
        }
    }
}

/// What happens to one keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// The provider takes it and the model sees it.
    Keep,
    /// The provider takes it, and the description mentions it too.
    Hint,
    /// The provider rejects it or hides it from the model: it goes into the description.
    Describe,
    /// A pure annotation: it goes away.
    Drop,
}

/// Verdicts for all keywords.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdicts {
    known: [Verdict; Keyword::COUNT],
    /// Keywords that no specification knows.
    pub unknown: Verdict,
}

impl Verdicts {
    /// The verdict on a known keyword.
    pub fn of(&self, keyword: Keyword) -> Verdict {
        self.known.get(keyword as usize).copied().unwrap_or(Verdict::Keep)
    }
}

impl Serialize for Verdicts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = Keyword::ALL.iter().map(|keyword| (keyword.name(), self.of(*keyword)));
        serializer.collect_map(known.chain([("unknown", self.unknown)]))
    }
}

impl<'de> Deserialize<'de> for Verdicts {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        let table = std::collections::BTreeMap::<String, Verdict>::deserialize(deserializer)?;
        let any = table.get("*").copied().unwrap_or(Verdict::Keep);
        let annotations = table.get("annotations").copied().unwrap_or(any);
        let mut verdicts =
            Self { known: [any; Keyword::COUNT], unknown: table.get("unknown").copied().unwrap_or(any) };
        for keyword in Keyword::ALL {
            if keyword.kind() == Kind::Annotation
                && let Some(slot) = verdicts.known.get_mut(*keyword as usize)
            {
                *slot = annotations;
            }
        }
        for (name, verdict) in &table {
            if matches!(name.as_str(), "*" | "annotations" | "unknown") {
                continue;
            }
            let keyword = Keyword::parse(name)
                .ok_or_else(|| D::Error::custom(format!("`{name}` is not a known schema keyword")))?;
            if let Some(slot) = verdicts.known.get_mut(keyword as usize) {
                *slot = *verdict;
            }
        }
        Ok(verdicts)
    }
}

/// How null is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NullStyle {
    /// `"type": ["string", "null"]`, or a branch `{"type":"null"}` where there is no type.
    #[default]
    TypeList,
    /// Always a branch `{"type":"null"}`.
    Branch,
    /// `"nullable": true`
    Nullable,
    /// By the text `(null)`, beside the one type that the other values have.
    Spelled,
}

/// How local references are said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RefStyle {
    /// `$ref` with any siblings, anywhere.
    #[default]
    Keep,
    /// `$ref` into the root's `$defs`, alone on its node or beside a description only where `ref-siblings` says so.
    Defs,
    /// Not at all: the target is written out.
    Inline,
}

/// How `additionalProperties` may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Additional {
    /// As in JSON Schema.
    #[default]
    Keep,
    /// As in JSON Schema, but an object that does not say it takes declared properties only.
    Explicit,
    /// Every object must say `false`.
    Closed,
    /// The keyword does not exist, and the model writes only declared properties.
    Declared,
    /// The keyword is not read, and the model may write any property.
    Open,
}

/// Which objects without properties are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EmptyObject {
    /// All.
    #[default]
    Keep,
    /// The root only.
    Root,
    /// None.
    Never,
}

/// Whether there is `anyOf`, and what may stand beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnyOfStyle {
    /// Anything.
    #[default]
    Free,
    /// Annotations.
    Annotated,
    /// Nothing.
    Alone,
    /// There is no such keyword: every node has one type.
    Never,
}

/// How an unrestricted value is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Anything {
    /// `{}`
    #[default]
    Empty,
    /// Scalars as they are, arrays and objects as JSON text.
    Scalars,
    /// A recursive definition.
    Definition,
    /// Text as it is, everything else as JSON text.
    Text,
}

/// The style of constraints in descriptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TextStyle {
    /// `Constraints: text must be at least 5 characters long; …`
    #[default]
    Constraints,
    /// `IMPORTANT: minimum 5 characters, …`
    Important,
    /// `{"minLength":5}`
    Json,
    /// `. Use ISO 8601 date-time format`
    Hints,
    /// Not at all: what the schema cannot say is left out.
    None,
}

impl TextStyle {
    /// Whether it has words for a keyword that stays in the schema.
    pub(crate) const fn mentions(self, keyword: Keyword) -> bool {
        match self {
            Self::Hints => {
                matches!(keyword, Keyword::AdditionalProperties | Keyword::Format | Keyword::Pattern)
            }
            Self::Json | Self::Constraints | Self::Important => keyword.is_constraint(),
            Self::None => false,
        }
    }
}

/// What becomes of `default`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Defaults {
    /// Stays a keyword.
    #[default]
    Keep,
    /// Goes away.
    Strip,
    /// Becomes "(default: x)" in the description.
    Describe,
}

impl Defaults {
    /// All values by the words for them in requests.
    pub const WORDS: [(&'static str, Self); 3] =
        [("keep", Self::Keep), ("strip", Self::Strip), ("describe", Self::Describe)];
}

/// Formats that a dialect takes, by type; absent, or `*` among them: any.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Formats {
    /// For strings.
    pub string: Option<Vec<String>>,
    /// For numbers and integers.
    pub number: Option<Vec<String>>,
    /// For integers alone, where it differs.
    pub integer: Option<Vec<String>>,
}

/// A dialect's schema language: the mechanism with its own rules, and the rules that both mechanisms follow.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SchemaRules {
    /// The mechanism.
    #[serde(flatten)]
    pub lowering: Lowering,
    /// Whether callers may ask for schemas as they came.
    #[serde(default)]
    pub verbatim: bool,
    /// What becomes of `default` unless an option says otherwise.
    #[serde(default)]
    pub defaults: Defaults,
    /// The style of constraints in descriptions.
    #[serde(default)]
    pub text: TextStyle,
    /// Whether a composition may stand at the root.
    #[serde(default)]
    pub root_unions: bool,
    /// Whether `enum`, `const` and `not` may stand at the root.
    #[serde(default)]
    pub root_values: bool,
    /// Whether `true` and `false` are taken as schemas.
    #[serde(default = "yes")]
    pub boolean_schemas: bool,
    /// Whether an array must say what its items are.
    #[serde(default)]
    pub items_required: bool,
    /// Whether the list form of `items` is taken.
    #[serde(default)]
    pub items_lists: bool,
    /// Whether names in `required` that no property has are refused.
    #[serde(default)]
    pub required_known: bool,
    /// Whether a schema that no value satisfies is refused.
    #[serde(default)]
    pub satisfiable: bool,
    /// Whether only numbers are taken that grammars can count to: bounds within 2^53, lengths within 2^31, multiples of few
    /// digits.
    #[serde(default)]
    pub modest_numbers: bool,
    /// How references are said.
    #[serde(default)]
    pub refs: RefStyle,
    /// Which patterns are taken.
    #[serde(default)]
    pub patterns: PatternStyle,
    /// Formats that are taken.
    #[serde(default)]
    pub formats: Formats,
    /// What happens to each keyword.
    pub keywords: Verdicts,
}

impl SchemaRules {
    /// The rules of `rebuild`, where that is the mechanism.
    pub const fn rebuild(&self) -> Option<&RebuildRules> {
        match &self.lowering {
            Lowering::Rebuild(rules) => Some(rules),
            Lowering::None | Lowering::Edit(_) => None,
        }
    }
}

/// Rules that only `edit` follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct EditRules {
    /// Whether bounds of integers must be whole numbers.
    pub whole_bounds: bool,
    /// Whether a pattern may not stand beside bounds on the length.
    pub pattern_alone: bool,
}

/// Rules that only `rebuild` follows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct RebuildRules {
    /// Whether every property of an object must be required.
    pub all_required: bool,
    /// Whether every node needs a type.
    pub type_required: bool,
    /// Whether a list of types is taken.
    pub type_lists: bool,
    /// Whether a list of types may name object and array.
    pub container_type_lists: bool,
    /// Whether enum values may be other than strings.
    pub enum_any: bool,
    /// Whether an enum may hold the empty string.
    pub enum_empty_text: bool,
    /// How null is said.
    pub null: NullStyle,
    /// Whether a description may stand beside a reference.
    pub ref_siblings: bool,
    /// Whether a reference may stand inside `anyOf`.
    pub ref_in_union: bool,
    /// Whether a definition may contain itself.
    pub recursion: bool,
    /// Levels to which recursion is written out where it is not taken.
    pub unroll: usize,
    /// How `additionalProperties` may be used.
    pub additional: Additional,
    /// Which objects without properties are taken.
    pub empty_object: EmptyObject,
    /// Whether there is `anyOf`, and what may stand beside it.
    pub any_of: AnyOfStyle,
    /// Largest `minItems` that is taken; absent: any.
    pub min_items_up_to: Option<u64>,
    /// How an unrestricted value is said.
    pub anything: Anything,
}

impl Default for RebuildRules {
    /// All that JSON Schema allows.
    fn default() -> Self {
        Self {
            all_required: false,
            type_required: false,
            type_lists: true,
            container_type_lists: true,
            enum_any: true,
            enum_empty_text: true,
            null: NullStyle::TypeList,
            ref_siblings: false,
            ref_in_union: true,
            recursion: true,
            unroll: 1,
            additional: Additional::Keep,
            empty_object: EmptyObject::Keep,
            any_of: AnyOfStyle::Free,
            min_items_up_to: None,
            anything: Anything::Empty,
        }
    }
}
