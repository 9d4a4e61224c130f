//! What a caller may ask of a translation.

use std::collections::BTreeMap;

use serde_json::Value;

pub use crate::dialect::{Defaults, EmptyRequired};

/// Options of a translation. The default asks for a dialect's best form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// What becomes of `default`; absent: as the dialect says.
    pub defaults: Option<Defaults>,
    /// Which objects can carry properties that they do not declare.
    pub open: Open,
    /// Whether strict forms are used.
    pub strict: Strict,
    /// Whether schemas stay as they came, though the provider may refuse them. Only defaults and hidden parameters are still
    /// taken out. Nothing is strict then, and only dialects take it that have a verbatim form.
    pub verbatim: bool,
    /// Parameters that the model does not see, by name, at the root.
    pub hidden: Vec<String>,
    /// Parameters that are filled in on the way back; they are hidden too.
    pub injected: BTreeMap<String, Value>,
    /// Used when a tool has no description; `{name}` stands for its name. Absent: as the dialect says.
    pub description_fallback: Option<String>,
    /// What becomes of `required: []`; absent: as the dialect says.
    pub empty_required: Option<EmptyRequired>,
    /// How large a schema may be.
    pub budget: Budget,
}

impl Options {
    /// What whoever asks for these options should know.
    pub fn warning(&self) -> Option<&'static str> {
        self.verbatim.then_some(
            "verbatim: schemas stay as they came, and providers refuse some of them, such as those with a union at the root or a tuple",
        )
    }

    /// Whether the model does not see the parameter `name` of the root.
    pub(crate) fn hides(&self, name: &str) -> bool {
        self.hidden.iter().any(|hidden| hidden == name) || self.injected.contains_key(name)
    }
}

/// Which objects can carry properties that they do not declare, in dialects that must close objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Open {
    /// Those whose schema invites them: `additionalProperties`, `patternProperties`, no properties at all.
    #[default]
    Declared,
    /// All that do not forbid them.
    All,
}

/// Whether strict forms are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strict {
    /// As the dialect's name says.
    #[default]
    AsNamed,
    /// Tool by tool: strict where nothing is lost.
    Auto,
}

impl Open {
    /// All values by the words for them in requests.
    pub const WORDS: [(&'static str, Self); 2] = [("declared", Self::Declared), ("all", Self::All)];
}

impl Strict {
    /// All values by the words for them in requests.
    pub const WORDS: [(&'static str, Self); 2] = [("auto", Self::Auto), ("as-named", Self::AsNamed)];
}

/// How large a schema may be before its tool is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Levels of nested schemas.
    pub depth: usize,
    /// Schema nodes, before and after references are written out.
    pub nodes: usize,
    /// Bytes of text in the schema.
    pub bytes: usize,
    /// How much more a lowered schema may cost than the original.
    pub growth: Growth,
}

/// How many tokens a lowered schema may take. What would take more is written out less far, and the rest travels as JSON text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Growth {
    /// Twice as many as the original and 300; half as many again and 1,500 if that is less.
    #[default]
    Proportionate,
    /// So many.
    Tokens(usize),
    /// Any number.
    Unlimited,
}

impl Growth {
    /// Reads a number of tokens, `off` or `auto`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Proportionate),
            "off" => Some(Self::Unlimited),
            number => number.parse().ok().map(Self::Tokens),
        }
    }
}

impl Default for Budget {
    /// Room for several times the largest tool known (730 properties, 88 kB), and for little else.
    fn default() -> Self {
        Self { depth: 32, nodes: 8192, bytes: 512 * 1024, growth: Growth::Proportionate }
    }
}
