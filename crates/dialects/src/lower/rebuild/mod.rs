//! Lowering by writing a schema anew from its meaning, for dialects with a schema language of their own.

mod annotations;
mod array;
mod attempts;
mod carrier;
mod conditional;
mod definition;
mod depth;
mod expansion;
mod guard;
mod json_text;
mod loose_text;
mod node;
mod object;
mod one_type;
mod position;
mod root;
mod shared;
mod spelled_null;
mod typed;
mod union;
mod values;

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};

use serde_json::Value;

use super::reader::Reader;
use super::{LoweredSchema, Size, reader};
use crate::dialect::{Additional, AnyOfStyle, Dialect, Limits, RebuildRules, RefStyle};
use crate::plan::{Codec, Guard};
use crate::schema::Source;
use json_text::FirstUses;
use node::{Node, Writer};

pub(super) use attempts::Attempts;

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
    /// Schemas that references name where they stand, and whether a definition of them is worth having.
    shared: HashMap<*const Value, bool>,
    /// Nodes written so far.
    nodes: usize,
    /// Nodes after which the rest travels as JSON text.
    node_limit: usize,
    /// Nodes after which the attempt is given up.
    room: usize,
    /// The most positions that were lowered inside one another.
    deepest: usize,
    /// Where schemas are written that others refer to; made when a reference is not written out.
    first_uses: Option<FirstUses>,
    /// Schemas that words refer to by where they are written.
    referred: HashSet<*const Value>,
    /// Schemas that are written; only where there are references.
    written: HashSet<*const Value>,
    /// Whether the schema has any references.
    has_references: bool,
    /// Schemas that are described in words, and their names there.
    explained: HashMap<*const Value, String>,
    /// Steps left for comparing alternatives.
    comparisons: Cell<usize>,
    /// Whether an alternative of the plan looks at definitions.
    guarded: bool,
    /// Alternatives that are being written as one object, each inside the one before.
    folding: Vec<&'a Value>,
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
        if choices.any_of == AnyOfStyle::Never {
            // Unions of objects are folded everywhere: what distinguishes them is to keep its type.
            reader.most_kinds = union::MOST_BRANCHES;
        }
        reader.declares_required |= choices.all_required || reader.closed;
        let room = attempts::room(size.nodes, reader.options.budget.growth);
        let node_limit = reader.options.budget.nodes.min(room);
        let mut rebuild = Self {
            reader,
            choices,
            limits: &dialect.limits,
            depth: 0,
            opened: 0,
            definitions: Vec::new(),
            shared: HashMap::new(),
            nodes: 0,
            node_limit,
            room,
            deepest: 0,
            first_uses: None,
            referred: HashSet::new(),
            written: HashSet::new(),
            has_references: size.has_references,
            explained: HashMap::new(),
            comparisons: Cell::new(guard::MOST_COMPARISONS),
            guarded: false,
            folding: Vec::new(),
        };
        if size.has_references && dialect.schema.refs == RefStyle::Defs {
            rebuild.find_shared();
        }
        rebuild
    }

    /// Whether there are so many nodes that the attempt is given up.
    fn is_in_vain(&self) -> bool {
        self.nodes > self.room
    }

    /// Notes that `sources` are written, and what their references led to since the chain was `mark` long.
    fn note_written(&mut self, sources: &[Source<'a>], mark: usize) {
        if self.has_references {
            self.written.extend(sources.iter().map(|source| std::ptr::from_ref(source.schema)));
            self.written
                .extend(self.reader.chain.since(mark).iter().map(|target| std::ptr::from_ref(*target)));
        }
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
