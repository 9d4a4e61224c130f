//! How far a schema is written out, and the references that are being written out inside one another.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

/// How far an attempt writes a schema out.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// How often a definition may contain itself.
    pub(crate) unroll: usize,
    /// Positions inside one another that are written out. What is deeper, and no scalar, travels as JSON text.
    pub(crate) levels: usize,
    /// Positions inside one another that only conditions declare. What conditions declare in deeper ones is not looked up, so that
    /// conditions which lead back to themselves end.
    pub(crate) conditions: usize,
    /// Whether a value of any kind is written with a definition that takes it as it is, where the dialect has definitions.
    pub(crate) defines_anything: bool,
    /// Whether objects that have structures of their own under one key are written apart, where a dialect has no unions.
    pub(crate) apart: bool,
    /// How many references may stand around one to each schema for it to be written out; absent: any number.
    pub(crate) expansion: Option<Rc<HashMap<*const Value, usize>>>,
    /// Whether words may refer to where a schema is written, instead of repeating it.
    pub(crate) refers: bool,
    /// Schemas that are written nowhere, so that no words may refer to where they are.
    pub(crate) unwritten: Rc<HashSet<*const Value>>,
}

/// References inside one another that are written out at most.
const LONGEST_CHAIN: usize = 64;

impl Reach {
    /// Everything, and recursions `unroll` times.
    pub(crate) fn full(unroll: usize) -> Self {
        let unwritten = Rc::default();
        Self {
            unroll,
            levels: usize::MAX,
            conditions: 3,
            defines_anything: true,
            apart: false,
            expansion: None,
            refers: true,
            unwritten,
        }
    }
}

/// References that are being written out, each inside the one before.
#[derive(Debug)]
pub(crate) struct Chain<'a> {
    targets: Vec<&'a Value>,
    pub(crate) reach: Reach,
}

impl<'a> Chain<'a> {
    pub(crate) const fn new(reach: Reach) -> Self {
        Self { targets: Vec::new(), reach }
    }

    /// Steps into `target`; `false` if it is not written out there.
    pub(crate) fn follow(&mut self, target: &'a Value) -> bool {
        let times = self.targets.iter().filter(|known| std::ptr::eq(**known, target)).count();
        let around = match &self.reach.expansion {
            None => LONGEST_CHAIN,
            Some(limits) => limits.get(&std::ptr::from_ref(target)).copied().unwrap_or_default(),
        };
        if times > self.reach.unroll || self.targets.len() >= around {
            return false;
        }
        self.enter(target);
        true
    }

    /// Steps into `target`, however often it is there already.
    pub(crate) fn enter(&mut self, target: &'a Value) {
        self.targets.push(target);
    }

    /// What was stepped into since the chain was `length` long.
    pub(crate) fn since(&self, length: usize) -> &[&'a Value] {
        self.targets.get(length..).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Steps back out to where the chain was `length` long.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.targets.truncate(length);
    }
}
