//! Checking values in bounded time, for schemas that the library could take forever with.
//!
//! The verdict on one schema and one part of the value is found once and remembered, so that the time is at most the
//! number of schemas times the number of parts. That too has a budget; what it does not suffice for is refused.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::{
    apply::{Address, Application, Group, Part, STEP_LENGTH, Step, groups},
    cost::Cost,
    graph::{DocumentId, Graph, Node, NodeId},
};

/// Steps for any value, and for each part of it.
const STEPS: u64 = 400_000;
const STEPS_PER_PART: u64 = 64;
/// Schemas entered one inside the other: what is on the stack.
pub(super) const MAX_DEPTH: u32 = 640;
/// Plain references followed without a step.
const MAX_HOPS: u32 = 16;

/// The budget is used up, or the schemas go too deep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent;

/// The documents that were entered on the way, as far as they matter to dynamic references.
pub(super) type Scope = usize;

/// A schema and a part of the value.
pub(super) type Key = (NodeId, Scope, Address);

/// Members and items that keywords have looked at.
#[derive(Clone, Debug, Default)]
struct Evaluated<'i> {
    names: HashSet<&'i str>,
    items: HashSet<usize>,
}

/// One value being checked.
pub(super) struct Run<'g, 'i> {
    pub(super) graph: &'g Graph,
    pub(super) root: &'i Value,
    pub(super) steps: u64,
    pub(super) depth: u32,
    /// Nothing while a verdict is being found.
    verdicts: HashMap<Key, Option<bool>>,
    evaluated: HashMap<Key, Rc<Evaluated<'i>>>,
    pub(super) costs: HashMap<Key, Option<Cost>>,
    scopes: Vec<Vec<DocumentId>>,
    longer: HashMap<(Scope, DocumentId), Scope>,
}

impl<'g, 'i> Run<'g, 'i> {
    pub(super) fn new(graph: &'g Graph, root: &'i Value) -> Self {
        Self {
            graph,
            root,
            steps: 0,
            depth: 0,
            verdicts: HashMap::new(),
            evaluated: HashMap::new(),
            costs: HashMap::new(),
            scopes: vec![Vec::new()],
            longer: HashMap::new(),
        }
    }

    /// The root schema and the whole value.
    pub(super) fn start(&self) -> Application<'i> {
        Application { node: 0, part: Part::Value(self.root), step: Step::Here }
    }

    /// Whether the value fits the schema.
    pub(super) fn verdict(&mut self) -> Result<bool, Spent> {
        self.refill();
        self.fits(self.start(), 0)
    }

    pub(super) fn refill(&mut self) {
        self.steps = STEPS.saturating_add(STEPS_PER_PART.saturating_mul(parts(self.root)));
    }

    /// Whether the part fits. A schema that asks about itself is told that it does, as the library has it.
    pub(super) fn fits(&mut self, application: Application<'i>, scope: Scope) -> Result<bool, Spent> {
        let (key, scope, application) = self.enter(application, scope);
        match self.verdicts.get(&key) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Ok(true),
            None => {}
        }
        self.spend(application.part.steps())?;
        if self.depth >= MAX_DEPTH {
            return Err(Spent);
        }
        self.depth += 1;
        self.verdicts.insert(key, None);
        let verdict = self.judge(application, scope);
        self.depth -= 1;
        self.verdicts.insert(key, Some(verdict?));
        verdict
    }

    fn judge(&mut self, application: Application<'i>, scope: Scope) -> Result<bool, Spent> {
        let graph = self.graph;
        let Some(node) = graph.nodes.get(application.node) else { return Err(Spent) };
        if let Some(fixed) = node.fixed {
            return Ok(fixed);
        }
        if let Some(own) = &node.own
            && !own.accepts(application.part, &mut self.steps)?
        {
            return Ok(false);
        }
        for group in self.groups(node, application.part, scope)? {
            if !self.group_fits(&group, scope)? {
                return Ok(false);
            }
        }
        for rest in self.unevaluated(node, application, scope)? {
            if !self.fits(rest, scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn group_fits(&mut self, group: &Group<'i>, scope: Scope) -> Result<bool, Spent> {
        Ok(match group {
            Group::All(all) | Group::Additional(all) | Group::Names(all) => {
                for application in all {
                    if !self.fits(*application, scope)? {
                        return Ok(false);
                    }
                }
                true
            }
            Group::Any(any) => {
                for application in any {
                    if self.fits(*application, scope)? {
                        return Ok(true);
                    }
                }
                false
            }
            Group::One(one) => self.fitting(one, scope)?.len() == 1,
            Group::Not(application) => !self.fits(*application, scope)?,
            Group::Condition(condition, then, otherwise) => {
                let branch = if self.fits(*condition, scope)? { then } else { otherwise };
                branch.map_or(Ok(true), |branch| self.fits(branch, scope))?
            }
            Group::Count { applications, least, most, .. } => {
                let found = u64::try_from(self.fitting(applications, scope)?.len()).unwrap_or(u64::MAX);
                (*least..=*most).contains(&found)
            }
        })
    }

    /// Those that fit.
    pub(super) fn fitting(
        &mut self,
        applications: &[Application<'i>],
        scope: Scope,
    ) -> Result<Vec<Application<'i>>, Spent> {
        let mut fitting = Vec::new();
        for application in applications {
            if self.fits(*application, scope)? {
                fitting.push(*application);
            }
        }
        Ok(fitting)
    }

    /// Members and items that no keyword of this schema, or of those that apply beside it, has looked at.
    pub(super) fn unevaluated(
        &mut self,
        node: &Node,
        application: Application<'i>,
        scope: Scope,
    ) -> Result<Vec<Application<'i>>, Spent> {
        let part = application.part;
        let mut rest = Vec::new();
        if node.unevaluated_properties.is_none() && node.unevaluated_items.is_none() {
            return Ok(rest);
        }
        let evaluated = self.evaluated(application, scope)?;
        if let (Some(node), Some(map)) = (node.unevaluated_properties, part.object()) {
            let left = map.iter().filter(|(name, _)| !evaluated.names.contains(name.as_str()));
            rest.extend(left.map(|(name, value)| Application {
                node,
                part: Part::Value(value),
                step: Step::Member(name),
            }));
        }
        if let (Some(node), Some(items)) = (node.unevaluated_items, part.array()) {
            let left = items.iter().enumerate().filter(|(at, _)| !evaluated.items.contains(at));
            rest.extend(left.map(|(at, item)| Application {
                node,
                part: Part::Value(item),
                step: Step::Item(at),
            }));
        }
        Ok(rest)
    }

    /// What a schema that fits has looked at.
    fn evaluated(&mut self, application: Application<'i>, scope: Scope) -> Result<Rc<Evaluated<'i>>, Spent> {
        let (key, scope, application) = self.enter(application, scope);
        if let Some(known) = self.evaluated.get(&key) {
            return Ok(Rc::clone(known));
        }
        let graph = self.graph;
        let Some(node) = graph.nodes.get(application.node) else { return Err(Spent) };
        self.spend(application.part.steps())?;
        if self.depth >= MAX_DEPTH {
            return Err(Spent);
        }
        self.evaluated.insert(key, Rc::default());
        self.depth += 1;
        let mut looked = Evaluated::default();
        let outcome = self.look(node, application, scope, &mut looked);
        self.depth -= 1;
        outcome?;
        let looked = Rc::new(looked);
        self.evaluated.insert(key, Rc::clone(&looked));
        Ok(looked)
    }

    fn look(
        &mut self,
        node: &Node,
        application: Application<'i>,
        scope: Scope,
        looked: &mut Evaluated<'i>,
    ) -> Result<(), Spent> {
        for group in self.groups(node, application.part, scope)? {
            let applied = match &group {
                Group::Names(_) | Group::Not(_) => Vec::new(),
                Group::Condition(condition, then, otherwise) => {
                    if self.fits(*condition, scope)? {
                        [Some(*condition), *then].into_iter().flatten().collect()
                    } else {
                        otherwise.iter().copied().collect()
                    }
                }
                other => self.fitting(&other.applications(), scope)?,
            };
            for application in applied {
                match application.step {
                    Step::Member(name) => {
                        looked.names.insert(name);
                    }
                    Step::Item(at) => {
                        looked.items.insert(at);
                    }
                    Step::Here => self.look_beside(application, scope, looked)?,
                }
            }
        }
        Ok(())
    }

    /// Adds what a schema beside has looked at.
    fn look_beside(
        &mut self,
        application: Application<'i>,
        scope: Scope,
        looked: &mut Evaluated<'i>,
    ) -> Result<(), Spent> {
        // What a plain reference leads to says whether it looks at everything.
        let (_, scope, application) = self.enter(application, scope);
        let graph = self.graph;
        let Some(node) = graph.nodes.get(application.node) else { return Err(Spent) };
        let beside = self.evaluated(application, scope)?;
        let all_names = application.part.object().filter(|_| node.unevaluated_properties.is_some());
        let all_items = application.part.array().filter(|_| node.unevaluated_items.is_some());
        let count = beside.names.len() + beside.items.len();
        self.spend(u64::try_from(count / STEP_LENGTH).unwrap_or(u64::MAX))?;
        looked.names.extend(beside.names.iter().copied());
        looked.names.extend(all_names.into_iter().flatten().map(|(name, _)| name.as_str()));
        looked.items.extend(beside.items.iter().copied());
        looked.items.extend(0..all_items.map_or(0, Vec::len));
        Ok(())
    }

    /// The schemas inside `node` and what they apply to.
    pub(super) fn groups(
        &mut self,
        node: &Node,
        part: Part<'i>,
        scope: Scope,
    ) -> Result<Vec<Group<'i>>, Spent> {
        let documents = self.scopes.get(scope).map_or(&[][..], Vec::as_slice);
        groups(node, part, documents, &mut self.steps)
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Spent> {
        self.steps = self.steps.checked_sub(steps).ok_or(Spent)?;
        Ok(())
    }

    /// The key of an application, the scope inside its schema, and the application behind plain references.
    pub(super) fn enter(
        &mut self,
        mut application: Application<'i>,
        scope: Scope,
    ) -> (Key, Scope, Application<'i>) {
        let graph = self.graph;
        let mut scope = scope;
        for _ in 0..=MAX_HOPS {
            let Some(node) = graph.nodes.get(application.node) else { break };
            scope = self.scope_in(node.document, scope);
            let Some(target) = node.alias_of else { break };
            application.node = target;
        }
        ((application.node, scope, application.part.address()), scope, application)
    }

    fn scope_in(&mut self, document: DocumentId, scope: Scope) -> Scope {
        if !self.graph.anchored.contains(&document) || self.documents(scope).contains(&document) {
            return scope;
        }
        if let Some(known) = self.longer.get(&(scope, document)) {
            return *known;
        }
        let documents: Vec<DocumentId> = self.documents(scope).iter().copied().chain([document]).collect();
        self.scopes.push(documents);
        self.longer.insert((scope, document), self.scopes.len() - 1);
        self.scopes.len() - 1
    }

    /// The documents that were entered, the outermost first.
    fn documents(&self, scope: Scope) -> &[DocumentId] {
        self.scopes.get(scope).map_or(&[], Vec::as_slice)
    }
}

/// Values in a value, itself included.
pub(super) fn parts(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(parts).sum::<u64>() + 1,
        Value::Object(map) => map.values().map(parts).sum::<u64>() + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

#[cfg(test)]
#[path = "bounded_tests.rs"]
mod tests;
