//! Lowering by writing a schema anew from its meaning, for dialects with a schema language of their own.

mod annotations;
mod array;
mod carrier;
mod conditional;
mod definition;
mod depth;
mod estimate;
mod guard;
mod node;
mod object;
mod position;
mod root;
mod typed;
mod union;
mod values;

use std::cell::{Cell, OnceCell};
use std::ops::{Deref, DerefMut};

use serde_json::Value;

use super::reader::Reader;
use super::{LoweredSchema, Size, reader};
use crate::dialect::{Additional, Dialect, Limits, RebuildRules, RefStyle};
use crate::plan::{Codec, Guard};
use node::{Node, Writer};

/// Levels that are written out; what lies deeper travels as JSON text. References can nest without end.
const DEEPEST: usize = 48;

/// The state of writing one schema anew.
pub(super) struct Rebuild<'a, 'r> {
    reader: Reader<'a, 'r>,
    choices: &'r RebuildRules,
    limits: &'r Limits,
    /// Positions that are being lowered, each inside the one before.
    depth: usize,
    /// Definitions that are being made, each inside the one before.
    opened: usize,
    definitions: Vec<Definition<'a>>,
    /// Nodes written so far.
    nodes: usize,
    /// Nodes after which the rest travels as JSON text.
    node_limit: usize,
    /// Nodes beyond which the schema is written out less far.
    room: usize,
    /// Steps left for comparing alternatives.
    comparisons: Cell<usize>,
    /// Whether an alternative of the plan looks at definitions.
    guarded: bool,
}

/// A definition that the lowered schema refers to.
struct Definition<'a> {
    /// What it was made from; `None` for definitions of ours.
    target: Option<&'a Value>,
    name: String,
    /// `None` while it is being made.
    node: Option<Node<'a>>,
    codec: Codec,
    /// What its values look like; made when an alternative asks for it.
    guard: OnceCell<Box<Guard>>,
    /// Objects and arrays around the position where it was first needed.
    at: usize,
}

impl<'a> Definition<'a> {
    fn new(name: String, target: Option<&'a Value>, node: Option<Node<'a>>, at: usize) -> Self {
        Self { target, name, node, codec: Codec::Same, guard: OnceCell::new(), at }
    }
}

// Everything that is written comes from what is read: most methods need both.
impl<'a, 'r> Deref for Rebuild<'a, 'r> {
    type Target = Reader<'a, 'r>;

    fn deref(&self) -> &Self::Target {
        &self.reader
    }
}

impl DerefMut for Rebuild<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.reader
    }
}

impl<'a, 'r> Rebuild<'a, 'r> {
    pub(super) fn new(
        mut reader: Reader<'a, 'r>,
        size: &Size,
        dialect: &'r Dialect,
        choices: &'r RebuildRules,
    ) -> Self {
        reader.closed = matches!(choices.additional, Additional::Closed | Additional::Declared);
        reader.declares_required |= choices.all_required || reader.closed;
        // Recursion that branches grows quickly: it is written out only as far as that stays in proportion.
        let room = 256 + 4 * size.nodes;
        let node_limit = reader.options.budget.nodes.min(room);
        let mut rebuild = Self {
            reader,
            choices,
            limits: &dialect.limits,
            depth: 0,
            opened: 0,
            definitions: Vec::new(),
            nodes: 0,
            node_limit,
            room,
            comparisons: Cell::new(guard::MOST_COMPARISONS),
            guarded: false,
        };
        if size.has_references && dialect.schema.refs == RefStyle::Inline && dialect.limits.depth == 0 {
            rebuild.estimate_reach();
        }
        rebuild
    }

    /// Whether this attempt is too large and another one follows.
    fn is_repeated(&self) -> bool {
        self.nodes > self.room && self.chain.shorter().is_some()
    }

    /// The same, and it is known which one follows: nothing more has to be found out.
    fn is_in_vain(&self) -> bool {
        self.nodes > self.room && self.next_is_known()
    }

    #[cold]
    #[inline(never)]
    fn next_is_known(&self) -> bool {
        let next = self.chain.shorter();
        next.is_some() && next == self.chain.reach.shorter(usize::MAX)
    }

    /// The definition made from `target`.
    fn definition_of(&self, target: &Value) -> Option<usize> {
        self.definitions
            .iter()
            .position(|definition| definition.target.is_some_and(|known| std::ptr::eq(known, target)))
    }

    fn has_definition(&self, name: &str) -> bool {
        self.definitions.iter().any(|definition| definition.name == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Rebuild;
    use crate::dialect::Dialects;
    use crate::lower::reader::{Reach, Reader};
    use crate::lower::scan;
    use crate::options::Options;

    #[track_caller]
    fn check_first_attempt(schema: &serde_json::Value, expected: Reach) {
        let dialect = Dialects::builtin().get("gemini").unwrap();
        let options = Options::default();
        let size = scan(schema, &options.budget).unwrap();
        let choices = dialect.schema.rebuild().unwrap();
        let whole = Reach { unroll: 1, chain: 64 };
        let reader = Reader::new(schema, &size, &dialect, &options, whole);
        let rebuild = Rebuild::new(reader, &size, &dialect, choices);
        assert_eq!(rebuild.chain.reach, expected);
    }

    #[test]
    fn what_would_be_too_large_is_not_tried() {
        let again = json!({"$ref": "#/$defs/node"});
        let narrow = json!({"type": "object", "properties": {"next": again}});
        let wide: serde_json::Map<_, _> =
            (0..20).map(|number| (format!("next{number}"), again.clone())).collect();
        let wide = json!({"type": "object", "properties": wide});
        let rooted = |node| json!({"type": "object", "properties": {"root": again}, "$defs": {"node": node}});
        check_first_attempt(&rooted(narrow), Reach { unroll: 1, chain: 64 });
        check_first_attempt(&rooted(wide), Reach { unroll: 0, chain: 64 });
    }
}
