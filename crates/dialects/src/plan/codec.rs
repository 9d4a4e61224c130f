//! The ways in which a value can travel.

use serde_json::Value;

use super::Guard;

/// How one value travels.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) enum Codec {
    /// As it is.
    #[default]
    Same,
    /// An object whose properties travel in their own ways.
    Object(Box<ObjectCodec>),
    /// An array whose items all travel in one way.
    List(Box<Codec>),
    /// An array whose items travel by position.
    Tuple(Box<TupleCodec>),
    /// An object as a list of `{key, value}` entries.
    Entries(Box<Entries>),
    /// One of a few values, each under a label.
    Labels(Vec<(Box<str>, Value)>),
    /// Any value as JSON text.
    Text,
    /// Scalars as they are, arrays and objects as JSON text.
    Containers,
    /// Any value; objects as `{"entries": [{key, value}]}` at every depth.
    Anything,
    /// Null by a word, everything else by the inner way.
    SpelledNull(Box<Codec>),
    /// By the first alternative that fits.
    Union(Vec<Branch>),
    /// As the plan's definition with this number.
    Definition(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch {
    /// The property that holds the value, where the alternatives could not be told apart otherwise.
    pub(crate) tag: Option<Box<str>>,
    /// Which MCP values this alternative may carry.
    pub(crate) mcp: Guard,
    /// What they look like in the dialect.
    pub(crate) wire: Guard,
    pub(crate) codec: Codec,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectCodec {
    pub(crate) properties: Vec<PropertyCodec>,
    pub(crate) rest: Rest,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PropertyCodec {
    pub(crate) mcp: Box<str>,
    pub(crate) wire: Box<str>,
    pub(crate) codec: Codec,
    /// Whether null stands for an absent property.
    pub(crate) null_is_absent: bool,
}

/// Properties without a codec of their own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rest {
    /// Travel as they are.
    Same,
    /// Travel in one way.
    Each(Codec),
    /// Travel as entries of a property of ours.
    Carrier { wire: Box<str>, entries: Entries, null_is_absent: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TupleCodec {
    pub(crate) positions: Vec<Codec>,
    pub(crate) rest: Codec,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entries {
    pub(crate) value: Codec,
    /// Whether the list stands in an object `{"entries": …}`.
    pub(crate) wrapped: bool,
}

/// Whether both codecs read every value that both could have written in the same way.
pub(crate) fn agree(left: &Codec, right: &Codec) -> bool {
    match (left, right) {
        (Codec::List(left), Codec::List(right)) => agree(left, right),
        (Codec::List(inner), Codec::Same) | (Codec::Same, Codec::List(inner)) => agree(inner, &Codec::Same),
        (Codec::Object(left), Codec::Object(right)) => {
            left.properties.iter().all(|property| {
                right.properties.iter().find(|other| other.wire == property.wire).is_none_or(|other| {
                    other.mcp == property.mcp
                        && other.null_is_absent == property.null_is_absent
                        && agree(&other.codec, &property.codec)
                })
            }) && rests_agree(&left.rest, &right.rest)
        }
        (Codec::Union(left), right) => {
            left.iter().all(|branch| branch.tag.is_none() && agree(&branch.codec, right))
        }
        (left, Codec::Union(right)) => {
            right.iter().all(|branch| branch.tag.is_none() && agree(left, &branch.codec))
        }
        _ => left == right,
    }
}

fn rests_agree(left: &Rest, right: &Rest) -> bool {
    match (left, right) {
        (Rest::Carrier { .. }, Rest::Carrier { .. }) => left == right,
        (Rest::Each(left), Rest::Each(right)) => agree(left, right),
        (Rest::Each(codec), Rest::Same) | (Rest::Same, Rest::Each(codec)) => *codec == Codec::Same,
        (Rest::Carrier { .. }, Rest::Same | Rest::Each(_))
        | (Rest::Same | Rest::Each(_), Rest::Carrier { .. }) => false,
        (Rest::Same, Rest::Same) => true,
    }
}
