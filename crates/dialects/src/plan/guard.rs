//! Distinguishing the alternatives of a union by what their values look like.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{bounds, equal};
use crate::schema::{Keyword, TypeSet};

/// What values of one alternative look like.
///
/// The guard of what a model writes is exact: it accepts what the lowered schema accepts. The guard of MCP values looks
/// at the surface only. Accepting too much is safe there, refusing a true member is not.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Guard {
    /// Types of values besides those of `either` and `reference`.
    pub(crate) types: TypeSet,
    /// All values, where they are listed.
    pub(crate) values: Option<Vec<Value>>,
    /// Lengths, bounds, patterns.
    pub(crate) bounds: Vec<(Keyword, Value)>,
    /// Properties that an object must have.
    pub(crate) required: Vec<Box<str>>,
    /// Whether an object has no properties besides `members`.
    pub(crate) closed: bool,
    /// Properties that are looked at.
    pub(crate) members: Vec<(Box<str>, Guard)>,
    /// What all other properties look like.
    pub(crate) others: Option<Box<Guard>>,
    /// What the first items of an array look like.
    pub(crate) prefix: Vec<Guard>,
    /// What the other items look like.
    pub(crate) items: Option<Box<Guard>>,
    /// Guards of which one must accept.
    pub(crate) either: Vec<Guard>,
    /// The definition that must accept.
    pub(crate) reference: Option<usize>,
}

impl Guard {
    /// Accepts everything.
    pub(crate) fn anything() -> Self {
        Self::of_types(TypeSet::ALL)
    }

    pub(crate) fn of_types(types: TypeSet) -> Self {
        Self { types, ..Self::default() }
    }

    /// An object with one property and no other.
    pub(crate) fn tagged(tag: &str, inner: Self) -> Self {
        Self {
            required: vec![Box::from(tag)],
            closed: true,
            members: vec![(Box::from(tag), inner)],
            ..Self::of_types(TypeSet::OBJECT)
        }
    }

    fn has_member(&self, key: &str) -> bool {
        self.members.iter().any(|(known, _)| **known == *key)
    }

    /// What can be said at first sight.
    fn is_plausible(&self, value: &Value) -> bool {
        self.reference.is_some() || !self.either.is_empty() || self.types.contains(TypeSet::of(value))
    }
}

/// How closely a guard looks at a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Levels of the value that count.
    into: usize,
    /// Guards inside guards: definitions can refer to each other without end.
    within: usize,
    bounds: bool,
}

impl Look {
    /// At everything.
    pub(crate) const EXACT: Self = Self { into: usize::MAX, within: 1024, bounds: true };
    /// At the value and its members, without bounds: for values that break a rule somewhere inside.
    pub(crate) const MEMBERS: Self = Self { into: 2, within: 64, bounds: false };
    /// At the value alone.
    pub(crate) const SURFACE: Self = Self { into: 1, within: 64, bounds: false };

    fn inside(self) -> Self {
        Self { into: self.into.saturating_sub(1), within: self.within.saturating_sub(1), ..self }
    }

    fn beside(self) -> Self {
        Self { within: self.within.saturating_sub(1), ..self }
    }
}

/// Guards at work: their definitions, and the steps that they may still take.
pub(crate) struct Watch<'p> {
    pub(crate) definition: &'p dyn Fn(usize) -> Option<&'p Guard>,
    /// Alternatives inside alternatives multiply: without a bound a short value could cost hours.
    pub(crate) steps: &'p Cell<usize>,
    /// What has been found out about values while alternatives are compared with them.
    pub(crate) verdicts: Verdicts,
}

/// Which objects and arrays the definitions accept, by their addresses: alternatives that contain each other ask the same
/// questions again and again. Addresses mean something only while the whole value stays where it is.
pub(crate) type Verdicts = RefCell<HashMap<(usize, *const Value), bool>>;

impl<'p> Watch<'p> {
    /// Takes one step; `false` if none is left.
    pub(crate) fn step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether `guard` accepts `value`. What is beyond the bounds of looking counts as accepted.
    pub(crate) fn accepts(&self, guard: &Guard, value: &Value, look: Look) -> bool {
        if look.into == 0 || look.within == 0 {
            return true;
        }
        if !self.step() {
            return guard.is_plausible(value);
        }
        if let Some(index) = guard.reference {
            return (value.is_null() && guard.types.contains(TypeSet::NULL))
                || self.definition_accepts(index, value, look.beside());
        }
        if !guard.either.is_empty() {
            return guard.types.contains(TypeSet::of(value))
                || guard.either.iter().any(|inner| self.accepts(inner, value, look.beside()));
        }
        guard.types.contains(TypeSet::of(value))
            && guard.values.as_ref().is_none_or(|values| values.iter().any(|known| equal(known, value)))
            && match value {
                Value::Object(map) => self.accepts_members(guard, map, look.inside()),
                Value::Array(items) => self.accepts_items(guard, items, look.inside()),
                _ => true,
            }
            && (!look.bounds
                || guard.bounds.iter().all(|(keyword, bound)| bounds::holds(*keyword, bound, value)))
    }

    fn definition_accepts(&self, index: usize, value: &Value, look: Look) -> bool {
        let Some(target) = (self.definition)(index) else { return true };
        // Only what looks at everything holds for every question.
        if !(look.bounds && (value.is_object() || value.is_array())) {
            return self.accepts(target, value, look);
        }
        let question = (index, std::ptr::from_ref(value));
        if let Some(accepted) = self.verdicts.borrow().get(&question) {
            return *accepted;
        }
        let accepted = self.accepts(target, value, look);
        self.verdicts.borrow_mut().insert(question, accepted);
        accepted
    }

    fn accepts_members(&self, guard: &Guard, map: &Map<String, Value>, look: Look) -> bool {
        let each = |accept: &dyn Fn(&Guard, &Value) -> bool| {
            guard
                .members
                .iter()
                .all(|(key, member)| map.get(key.as_ref()).is_none_or(|value| accept(member, value)))
        };
        // What is inside the members comes last: a word that distinguishes the alternatives may stand behind it.
        let deep = |value: &Value| look.into > 1 && (value.is_object() || value.is_array());
        guard.required.iter().all(|key| map.contains_key(key.as_ref()))
            && (!guard.closed || map.keys().all(|key| guard.has_member(key)))
            && each(&|member, value| deep(value) || self.accepts(member, value, look))
            && each(&|member, value| !deep(value) || self.accepts(member, value, Look::SURFACE))
            && each(&|member, value| !deep(value) || self.accepts(member, value, look))
            && guard.others.as_ref().is_none_or(|others| {
                map.iter().all(|(key, value)| guard.has_member(key) || self.accepts(others, value, look))
            })
    }

    fn accepts_items(&self, guard: &Guard, items: &[Value], look: Look) -> bool {
        items.iter().enumerate().all(|(index, item)| {
            guard
                .prefix
                .get(index)
                .or(guard.items.as_deref())
                .is_none_or(|inner| self.accepts(inner, item, look))
        })
    }

    /// Whether surely no value is accepted by both.
    pub(crate) fn disjoint(&self, left: &Guard, right: &Guard) -> bool {
        self.disjoint_within(left, right, 12)
    }

    fn disjoint_within(&self, left: &Guard, right: &Guard, levels: usize) -> bool {
        if levels == 0 || !self.step() {
            return false;
        }
        let levels = levels - 1;
        for (one, other) in [(left, right), (right, left)] {
            if one.reference.is_none() && one.either.is_empty() {
                continue;
            }
            let own =
                one.types.is_empty() || self.disjoint_within(&Guard::of_types(one.types), other, levels);
            return own
                && one.either.iter().all(|inner| self.disjoint_within(inner, other, levels))
                && one.reference.is_none_or(|index| {
                    (self.definition)(index).is_some_and(|target| self.disjoint_within(target, other, levels))
                });
        }
        let common = left.types.and(right.types);
        if common.is_empty() {
            return true;
        }
        match (&left.values, &right.values) {
            (Some(left), Some(right)) => {
                return !left.iter().any(|value| right.iter().any(|other| equal(value, other)));
            }
            (Some(values), None) => {
                return !values.iter().any(|value| self.accepts(right, value, Look::EXACT));
            }
            (None, Some(values)) => {
                return !values.iter().any(|value| self.accepts(left, value, Look::EXACT));
            }
            (None, None) => {}
        }
        if common != TypeSet::OBJECT {
            return false;
        }
        let lacks = |guard: &Guard, other: &Guard| {
            other.closed && guard.required.iter().any(|key| !other.has_member(key))
        };
        if lacks(left, right) || lacks(right, left) {
            return true;
        }
        left.members.iter().any(|(key, guard)| {
            left.required.contains(key)
                && right.required.contains(key)
                && right
                    .members
                    .iter()
                    .any(|(other, theirs)| other == key && self.disjoint_within(guard, theirs, levels))
        })
    }

    /// Whether an object that `guard` accepts may have the property `key`.
    pub(crate) fn may_have(&self, guard: &Guard, key: &str, look: Look) -> bool {
        if look.within == 0 || !self.step() {
            return true;
        }
        if let Some(index) = guard.reference {
            return (self.definition)(index).is_none_or(|target| self.may_have(target, key, look.beside()));
        }
        if !guard.either.is_empty() {
            return guard.types.meets(TypeSet::OBJECT)
                || guard.either.iter().any(|inner| self.may_have(inner, key, look.beside()));
        }
        guard.types.meets(TypeSet::OBJECT) && (!guard.closed || guard.has_member(key))
    }

    /// What all items of an array look like, where one guard says it.
    pub(crate) fn items_of<'g>(&self, guard: &'g Guard) -> Option<&'g Guard>
    where
        'p: 'g,
    {
        let mut guard = guard;
        for _ in 0..8 {
            let Some(index) = guard.reference else { break };
            guard = (self.definition)(index)?;
        }
        guard.items.as_deref().filter(|_| guard.prefix.is_empty())
    }
}
