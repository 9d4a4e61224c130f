//! JSON Schema keywords as an enum, so that rules are table look-ups instead of string comparisons.

macro_rules! keywords {
    ($($variant:ident = $name:literal : $kind:ident,)*) => {
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

keywords! {
    Type = "type": Any,
    Description = "description": Hint,
    Properties = "properties": Object,
    Required = "required": Object,
    Items = "items": Array,
    Enum = "enum": Any,
    Const = "const": Any,
    Default = "default": Hint,
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
    PrefixItems = "prefixItems": Array,
    AdditionalItems = "additionalItems": Array,
    Contains = "contains": Array,
    MinContains = "minContains": Array,
    MaxContains = "maxContains": Array,
    UnevaluatedItems = "unevaluatedItems": Array,
    AdditionalProperties = "additionalProperties": Object,
    PatternProperties = "patternProperties": Object,
    PropertyNames = "propertyNames": Object,
    MinProperties = "minProperties": Object,
    MaxProperties = "maxProperties": Object,
    DependentRequired = "dependentRequired": Object,
    DependentSchemas = "dependentSchemas": Object,
    Dependencies = "dependencies": Object,
    UnevaluatedProperties = "unevaluatedProperties": Object,
    AnyOf = "anyOf": Any,
    OneOf = "oneOf": Any,
    AllOf = "allOf": Any,
    Not = "not": Any,
    If = "if": Any,
    Then = "then": Any,
    Else = "else": Any,
    Nullable = "nullable": Any,
    Ref = "$ref": Any,
    DynamicRef = "$dynamicRef": Any,
    RecursiveRef = "$recursiveRef": Any,
    Defs = "$defs": Any,
    Definitions = "definitions": Any,
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
    Examples = "examples": Hint,
    Example = "example": Hint,
    ContentEncoding = "contentEncoding": Hint,
    ContentMediaType = "contentMediaType": Hint,
    ContentSchema = "contentSchema": Hint,
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

    /// Whether a description can mention it although it stays in the schema.
    pub const fn has_hint(self) -> bool {
        matches!(self, Self::AdditionalProperties | Self::Format | Self::Pattern)
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
