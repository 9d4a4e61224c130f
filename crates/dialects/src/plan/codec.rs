//! The ways in which a value can travel.

use std::sync::Arc;

use serde_json::Value;

use super::{Guard, Look, Watch};
use crate::names;
use crate::schema::TypeSet;

/// How one value travels.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) enum Codec {
    /// As it is.
    #[default]
    Same,
    /// An object whose properties travel in their own ways. Shared: alternatives are compared before they are joined.
    Object(Arc<ObjectCodec>),
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
    /// Text as it is, values of these other types as JSON text.
    LooseText(TypeSet),
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
    /// The property that holds the value, if nothing else distinguishes the alternatives.
    pub(crate) tag: Option<Box<str>>,
    /// Which MCP values this alternative may carry.
    pub(crate) mcp: Guard,
    /// What they look like in the dialect.
    pub(crate) wire: Guard,
    pub(crate) codec: Codec,
}

impl Branch {
    /// An alternative that its values distinguish.
    pub(crate) fn untagged(mcp: Guard, wire: Guard, codec: Codec) -> Self {
        Self { tag: None, mcp, wire, codec }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectCodec {
    pub(crate) properties: Vec<PropertyCodec>,
    pub(crate) rest: Rest,
}

impl ObjectCodec {
    /// Whether `key` is the name under which another key travels, with underscores behind it. No declared key is: the
    /// names of renamed keys are chosen so.
    fn is_taken(&self, key: &str) -> bool {
        let stem = names::stem(key);
        self.properties.iter().any(|property| {
            property.mcp != property.wire
                && key.starts_with(property.wire.as_ref())
                && names::stem(&property.wire) == stem
        })
    }

    /// An undeclared key on its way out: one more underscore sets it apart from the name of a renamed one, and from every
    /// other undeclared key that does the same.
    pub(crate) fn escaped(&self, key: &str) -> String {
        if self.is_taken(key) { format!("{key}_") } else { key.to_owned() }
    }

    /// An undeclared key on its way back.
    pub(crate) fn unescaped(&self, key: &str) -> String {
        match key.strip_suffix('_') {
            Some(shorter) if self.is_taken(shorter) => shorter.to_owned(),
            _ => key.to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PropertyCodec {
    pub(crate) mcp: Arc<str>,
    /// Shared with `mcp` where the names are the same, as nearly always.
    pub(crate) wire: Arc<str>,
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

impl TupleCodec {
    /// How the item at `index` travels.
    pub(super) fn at(&self, index: usize) -> &Codec {
        self.positions.get(index).unwrap_or(&self.rest)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entries {
    pub(crate) value: Codec,
    /// Whether the list stands in an object `{"entries": …}`.
    pub(crate) wrapped: bool,
}

/// Whether both codecs read in the same way every value that both guards accept.
pub(crate) fn agree(watch: &Watch<'_>, left: (&Codec, &Guard), right: (&Codec, &Guard)) -> bool {
    if !watch.step() {
        return false;
    }
    match (left.0, right.0) {
        (Codec::Same, Codec::Same) => true,
        (Codec::List(_), Codec::List(_) | Codec::Same) | (Codec::Same, Codec::List(_)) => {
            let any = Guard::anything();
            let parts = |(codec, guard)| (item_codec(codec), watch.items_of(guard).unwrap_or(&any));
            agree(watch, parts(left), parts(right))
        }
        (Codec::Object(_), Codec::Object(_) | Codec::Same) | (Codec::Same, Codec::Object(_)) => {
            objects_agree(watch, left, right)
        }
        (Codec::Union(branches), _) => branches.iter().all(|branch| {
            watch.disjoint(&branch.wire, right.1)
                || (branch.tag.is_none() && agree(watch, (&branch.codec, &branch.wire), right))
        }),
        (_, Codec::Union(branches)) => branches.iter().all(|branch| {
            watch.disjoint(&branch.wire, left.1)
                || (branch.tag.is_none() && agree(watch, left, (&branch.codec, &branch.wire)))
        }),
        (left, right) => left == right,
    }
}

fn item_codec(codec: &Codec) -> &Codec {
    match codec {
        Codec::List(item) => item,
        _ => &Codec::Same,
    }
}

fn property_codecs(codec: &Codec) -> (&[PropertyCodec], &Rest) {
    match codec {
        Codec::Object(object) => (&object.properties, &object.rest),
        _ => (&[], &Rest::Same),
    }
}

/// Objects agree where every key that both may have is read alike.
fn objects_agree(watch: &Watch<'_>, left: (&Codec, &Guard), right: (&Codec, &Guard)) -> bool {
    let common =
        |key: &str| watch.may_have(left.1, key, Look::EXACT) && watch.may_have(right.1, key, Look::EXACT);
    let any = Guard::anything();
    let one_way = |mine: &[PropertyCodec], theirs: &[PropertyCodec]| {
        mine.iter().filter(|property| common(&property.wire)).all(|property| {
            match theirs.iter().find(|other| other.wire == property.wire) {
                Some(other) => {
                    other.mcp == property.mcp
                        && other.null_is_absent == property.null_is_absent
                        && agree(watch, (&property.codec, &any), (&other.codec, &any))
                }
                None => {
                    property.mcp == property.wire && !property.null_is_absent && property.codec == Codec::Same
                }
            }
        })
    };
    let ((left_properties, left_rest), (right_properties, right_rest)) =
        (property_codecs(left.0), property_codecs(right.0));
    one_way(left_properties, right_properties)
        && one_way(right_properties, left_properties)
        && rests_agree(left_rest, right_rest, &common)
}

fn rests_agree(left: &Rest, right: &Rest, common: &dyn Fn(&str) -> bool) -> bool {
    let carried = |rest: &Rest| matches!(rest, Rest::Carrier { wire, .. } if common(wire));
    match (left, right) {
        (Rest::Each(left), Rest::Each(right)) => left == right,
        (Rest::Each(codec), Rest::Same) | (Rest::Same, Rest::Each(codec)) => *codec == Codec::Same,
        (Rest::Carrier { .. }, Rest::Carrier { .. }) => left == right || !(carried(left) || carried(right)),
        (Rest::Carrier { .. }, _) => !carried(left),
        (_, Rest::Carrier { .. }) => !carried(right),
        (Rest::Same, Rest::Same) => true,
    }
}
