//! Which schemas apply to which parts of a value.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::bounded::Spent;
use super::graph::{DocumentId, Node, NodeId};

/// Length of a text, list or object that counts as one more step.
pub(super) const STEP_LENGTH: usize = 16;

/// A part of the value: where it stands in memory, which cannot change while it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Address {
    Value(usize),
    Name(usize),
}

/// What a schema is applied to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'i> {
    Value(&'i Value),
    /// A key, for the schema of keys.
    Name(&'i str),
}

impl<'i> Part<'i> {
    pub(super) fn address(self) -> Address {
        match self {
            Self::Value(value) => Address::Value(std::ptr::from_ref(value).addr()),
            Self::Name(name) => Address::Name(name.as_ptr().addr()),
        }
    }

    pub(super) fn object(self) -> Option<&'i Map<String, Value>> {
        match self {
            Self::Value(value) => value.as_object(),
            Self::Name(_) => None,
        }
    }

    pub(super) fn array(self) -> Option<&'i Vec<Value>> {
        match self {
            Self::Value(value) => value.as_array(),
            Self::Name(_) => None,
        }
    }

    pub(super) fn text(self) -> Option<&'i str> {
        match self {
            Self::Value(value) => value.as_str(),
            Self::Name(name) => Some(name),
        }
    }

    pub(super) fn steps(self) -> u64 {
        let length = match self {
            Self::Value(Value::Array(items)) => items.len(),
            Self::Value(Value::Object(map)) => map.len(),
            Self::Value(Value::String(text)) => text.len(),
            Self::Value(Value::Null | Value::Bool(_) | Value::Number(_)) => 0,
            Self::Name(name) => name.len(),
        };
        1 + u64::try_from(length / STEP_LENGTH).unwrap_or(u64::MAX)
    }

    pub(super) fn to_value(self) -> Cow<'i, Value> {
        match self {
            Self::Value(value) => Cow::Borrowed(value),
            Self::Name(name) => Cow::Owned(Value::String(name.to_owned())),
        }
    }
}

/// The way from a value to a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'i> {
    Here,
    Member(&'i str),
    Item(usize),
}

/// One schema that applies to one part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Application<'i> {
    pub(super) node: NodeId,
    pub(super) part: Part<'i>,
    pub(super) step: Step<'i>,
}

/// Applications, and how their verdicts make the verdict of the schema that they belong to.
#[derive(Debug)]
pub(super) enum Group<'i> {
    All(Vec<Application<'i>>),
    /// Members that no other keyword names; all must fit.
    Additional(Vec<Application<'i>>),
    /// Keys; all must fit.
    Names(Vec<Application<'i>>),
    Any(Vec<Application<'i>>),
    One(Vec<Application<'i>>),
    Not(Application<'i>),
    Condition(Application<'i>, Option<Application<'i>>, Option<Application<'i>>),
    Count {
        applications: Vec<Application<'i>>,
        least: u64,
        most: u64,
    },
}

impl<'i> Group<'i> {
    pub(super) fn applications(&self) -> Vec<Application<'i>> {
        match self {
            Self::All(all) | Self::Additional(all) | Self::Names(all) | Self::Any(all) | Self::One(all) => {
                all.clone()
            }
            Self::Count { applications, .. } => applications.clone(),
            Self::Not(one) => vec![*one],
            Self::Condition(condition, then, otherwise) => {
                [Some(*condition), *then, *otherwise].into_iter().flatten().collect()
            }
        }
    }
}

/// What the schemas inside `node` apply to, but for those of what nothing else looked at. `documents` are those that
/// were entered on the way, the outermost first. What matching keys costs is taken from `steps`.
pub(super) fn groups<'i>(
    node: &Node,
    part: Part<'i>,
    documents: &[DocumentId],
    steps: &mut u64,
) -> Result<Vec<Group<'i>>, Spent> {
    let mut groups = Vec::new();
    let here = |node: &NodeId| Application { node: *node, part, step: Step::Here };
    let mut all: Vec<Application<'i>> = node.all.iter().map(here).collect();
    all.extend(node.dynamic.iter().map(|reference| {
        let target = |entered: &usize| reference.targets.iter().find(|(document, _)| document == entered);
        here(documents.iter().find_map(target).map_or(&reference.fallback, |(_, target)| target))
    }));
    if let Some(map) = part.object() {
        let dependent = node.dependent.iter().filter(|(name, _)| map.contains_key(name));
        all.extend(dependent.map(|(_, dependent)| here(dependent)));
        groups.extend(members(node, map, &mut all, steps)?);
    }
    if let Some(items) = part.array() {
        let of = |node: NodeId, at: usize, item: &'i Value| Application {
            node,
            part: Part::Value(item),
            step: Step::Item(at),
        };
        let rest = node.items.into_iter().flat_map(std::iter::repeat);
        let schemas = node.prefix.iter().copied().chain(rest);
        all.extend(items.iter().enumerate().zip(schemas).map(|((at, item), node)| of(node, at, item)));
        if let Some(contains) = &node.contains {
            let each = items.iter().enumerate().map(|(at, item)| of(contains.node, at, item));
            groups.push(Group::Count {
                applications: each.collect(),
                least: contains.least,
                most: contains.most.unwrap_or(u64::MAX),
            });
        }
    }
    if !all.is_empty() {
        groups.push(Group::All(all));
    }
    if !node.any.is_empty() {
        groups.push(Group::Any(node.any.iter().map(here).collect()));
    }
    if !node.one.is_empty() {
        groups.push(Group::One(node.one.iter().map(here).collect()));
    }
    groups.extend(node.not.as_ref().map(|not| Group::Not(here(not))));
    if let Some((condition, then, otherwise)) = &node.condition {
        let (then, otherwise) = (then.as_ref().map(here), otherwise.as_ref().map(here));
        groups.push(Group::Condition(here(condition), then, otherwise));
    }
    Ok(groups)
}

/// Members by name and by pattern go to `all`, the others and the keys into groups of their own.
fn members<'i>(
    node: &Node,
    map: &'i Map<String, Value>,
    all: &mut Vec<Application<'i>>,
    steps: &mut u64,
) -> Result<impl Iterator<Item = Group<'i>>, Spent> {
    let mut additional = Vec::new();
    let mut names = Vec::new();
    let needs_names = node.names.is_some() || !node.patterns.is_empty();
    let looks = needs_names || !node.properties.is_empty() || node.additional.is_some();
    for (name, value) in map.iter().filter(|_| looks) {
        let of = |node: NodeId| Application { node, part: Part::Value(value), step: Step::Member(name) };
        let before = all.len();
        all.extend(node.properties.get(name).copied().map(of));
        for (pattern, inner) in &node.patterns {
            if pattern.is_in(name, steps)? {
                all.push(of(*inner));
            }
        }
        if before == all.len() {
            additional.extend(node.additional.map(of));
        }
        let key = |node: NodeId| Application { node, part: Part::Name(name), step: Step::Here };
        names.extend(node.names.map(key));
    }
    let groups = [Group::Additional(additional), Group::Names(names)];
    Ok(groups.into_iter().filter(|group| !group.applications().is_empty()))
}

/// Every member and item, with the schema of those that nothing else looked at.
pub(super) fn every_part<'i>(node: &Node, part: Part<'i>) -> Vec<Application<'i>> {
    let mut every = Vec::new();
    if let (Some(node), Some(map)) = (node.unevaluated_properties, part.object()) {
        every.extend(map.iter().map(|(name, value)| Application {
            node,
            part: Part::Value(value),
            step: Step::Member(name),
        }));
    }
    if let (Some(node), Some(items)) = (node.unevaluated_items, part.array()) {
        every.extend(items.iter().enumerate().map(|(at, item)| Application {
            node,
            part: Part::Value(item),
            step: Step::Item(at),
        }));
    }
    every
}
