//! JSON Schema keywords as an enum, so that rules are table look-ups instead of string comparisons.

use serde_json::Value;

macro_rules! keywords {
    ($($variant:ident = $name:literal : $kind:ident $(($holds:ident))?,)*) => {
        /// A keyword that some draft of JSON Schema, an API description or a provider gives a meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Keyword { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl Keyword {
            /// Every keyword, in declaration order.
            pub const ALL: &'static [Keyword] = &[$(Keyword::$variant,)*];

            /// How many keywords there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The keyword spelled `name`, if it is one.
            pub fn parse(name: &str) -> Option<Self> {
                let mut slot = hash(name.as_bytes());
                // The table has room: a run of taken slots is short and always ends.
                while let Some(Some((known, keyword))) = TABLE.get(slot) {
                    if *known == name {
                        return Some(*keyword);
                    }
                    slot = (slot + 1) % SLOTS;
                }
                None
            }

            /// The spelling in a schema.
            pub const fn name(self) -> &'static str {
                match self { $(Keyword::$variant => $name,)* }
            }

            /// What sort of statement the keyword makes.
            pub const fn kind(self) -> Kind {
                match self { $(Keyword::$variant => Kind::$kind,)* }
            }

            /// What its value is made of.
            pub const fn holds(self) -> Holds {
                match self { $(Keyword::$variant => [$(Holds::$holds,)? Holds::Nothing][0],)* }
            }
        }
    };
}

/// What sort of statement a keyword makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Says nothing about values: losing it loses no rule (`title`, `$comment`).
    Annotation,
    /// Says nothing about validity, but the model should know it (`default`, `examples`).
    Hint,
    /// Holds in any type (`type`, `enum`, compositions, references).
    Any,
    /// Constrains strings.
    String,
    /// Constrains numbers.
    Number,
    /// Constrains arrays.
    Array,
    /// Constrains objects.
    Object,
}

/// What the value of a keyword is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Neither schemas nor values of the author's choice.
    Nothing,
    /// One schema.
    Schema,
    /// A list of schemas.
    List,
    /// One schema or a list of them.
    SchemaOrList,
    /// Schemas by names of the author's choice, which are no keywords whatever they are.
    Table,
    /// Values of the author's choice, which are no schemas whatever they look like.
    Values,
}

impl Holds {
    /// What the value of the member `name` of a schema is made of.
    pub fn of(name: &str) -> Self {
        Keyword::parse(name).map_or(Self::Nothing, Keyword::holds)
    }

    /// What the value of the member `name` is made of, in an object that is what `self` says. The names of a table are no keywords.
    pub(crate) fn inside(self, name: &str) -> Self {
        if self == Self::Table { Self::Schema } else { Self::of(name) }
    }

    /// The reference that the member `name` is, in such an object.
    pub(crate) fn reference_in<'v>(self, name: &str, value: &'v Value) -> Option<&'v str> {
        if self != Self::Table && name == "$ref" { value.as_str() } else { None }
    }

    /// Whether the member `name` of such an object is a table of definitions.
    pub(crate) fn has_definitions_in(self, name: &str) -> bool {
        self != Self::Table && matches!(name, "$defs" | "definitions")
    }
}

keywords! {
    Type = "type": Any,
    Description = "description": Hint,
    Properties = "properties": Object (Table),
    Required = "required": Object,
    Items = "items": Array (SchemaOrList),
    Enum = "enum": Any (Values),
    Const = "const": Any (Values),
    Default = "default": Hint (Values),
    Title = "title": Annotation,
    Format = "format": String,
    Pattern = "pattern": String,
    MinLength = "minLength": String,
    MaxLength = "maxLength": String,
    Minimum = "minimum": Number,
    Maximum = "maximum": Number,
    ExclusiveMinimum = "exclusiveMinimum": Number,
    ExclusiveMaximum = "exclusiveMaximum": Number,
    MultipleOf = "multipleOf": Number,
    MinItems = "minItems": Array,
    MaxItems = "maxItems": Array,
    UniqueItems = "uniqueItems": Array,
    PrefixItems = "prefixItems": Array (List),
    AdditionalItems = "additionalItems": Array (Schema),
    Contains = "contains": Array (Schema),
    MinContains = "minContains": Array,
    MaxContains = "maxContains": Array,
    UnevaluatedItems = "unevaluatedItems": Array (Schema),
    AdditionalProperties = "additionalProperties": Object (Schema),
    PatternProperties = "patternProperties": Object (Table),
    PropertyNames = "propertyNames": Object (Schema),
    MinProperties = "minProperties": Object,
    MaxProperties = "maxProperties": Object,
    DependentRequired = "dependentRequired": Object,
    DependentSchemas = "dependentSchemas": Object (Table),
    Dependencies = "dependencies": Object (Table),
    UnevaluatedProperties = "unevaluatedProperties": Object (Schema),
    AnyOf = "anyOf": Any (List),
    OneOf = "oneOf": Any (List),
    AllOf = "allOf": Any (List),
    Not = "not": Any (Schema),
    If = "if": Any (Schema),
    Then = "then": Any (Schema),
    Else = "else": Any (Schema),
    Nullable = "nullable": Any,
    Ref = "$ref": Any,
    DynamicRef = "$dynamicRef": Any,
    RecursiveRef = "$recursiveRef": Any,
    Defs = "$defs": Any (Table),
    Definitions = "definitions": Any (Table),
    Schema = "$schema": Annotation,
    Id = "$id": Annotation,
    DraftFourId = "id": Annotation,
    Anchor = "$anchor": Annotation,
    DynamicAnchor = "$dynamicAnchor": Annotation,
    RecursiveAnchor = "$recursiveAnchor": Annotation,
    Vocabulary = "$vocabulary": Annotation,
    Comment = "$comment": Annotation,
    Deprecated = "deprecated": Hint,
    ReadOnly = "readOnly": Hint,
    WriteOnly = "writeOnly": Hint,
    Examples = "examples": Hint (Values),
    Example = "example": Hint (Values),
    ContentEncoding = "contentEncoding": Hint,
    ContentMediaType = "contentMediaType": Hint,
    ContentSchema = "contentSchema": Hint (Schema),
    PropertyOrdering = "propertyOrdering": Annotation,
    Discriminator = "discriminator": Hint,
}

impl Keyword {
    /// Whether it bounds values by an amount or a pattern.
    pub const fn is_bound(self) -> bool {
        matches!(
            self,
            Self::MinLength
                | Self::MaxLength
                | Self::Pattern
                | Self::Minimum
                | Self::Maximum
                | Self::ExclusiveMinimum
                | Self::ExclusiveMaximum
                | Self::MultipleOf
                | Self::MinItems
                | Self::MaxItems
                | Self::UniqueItems
                | Self::MinProperties
                | Self::MaxProperties
        )
    }

    /// Whether it restricts a value in a way that one sentence says.
    pub const fn is_constraint(self) -> bool {
        self.is_bound()
            || matches!(self, Self::Enum | Self::Const | Self::Format | Self::AdditionalProperties)
    }
}

const SLOTS: usize = 512;

/// Keywords by the hash of their names, made when the crate is compiled.
static TABLE: [Option<(&str, Keyword)>; SLOTS] = table();

const fn hash(name: &[u8]) -> usize {
    let length = name.len();
    if length == 0 {
        return 0;
    }
    let (first, middle, last) = (name[0] as usize, name[length / 2] as usize, name[length - 1] as usize);
    (length * 67 + first * 31 + middle * 7 + last * 3) % SLOTS
}

const fn table() -> [Option<(&'static str, Keyword)>; SLOTS] {
    let mut slots = [None; SLOTS];
    let mut index = 0;
    while index < Keyword::COUNT {
        let keyword = Keyword::ALL[index];
        let mut slot = hash(keyword.name().as_bytes());
        while slots[slot].is_some() {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = Some((keyword.name(), keyword));
        index += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::Keyword;

    #[test]
    fn every_keyword_is_found_by_its_name() {
        for keyword in Keyword::ALL {
            assert_eq!(Keyword::parse(keyword.name()), Some(*keyword));
        }
        for other in ["", "Type", "types", "x-order", "minLengthh", "$refs"] {
            assert_eq!(Keyword::parse(other), None, "{other}");
        }
    }
}
