//! What checking a value costs the library, before it is let at it.

use super::{
    apply::{Application, Group, Part, Step, every_part},
    bounded::{MAX_DEPTH, Run, Scope, parts},
    graph::Node,
};

/// Steps that the library may need, by the most cautious count, for any value and for each part of it.
const LIBRARY_STEPS: u64 = 20_000;
const LIBRARY_STEPS_PER_PART: u64 = 64;
/// What the library needs at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    verdict: u64,
    marks: u64,
    errors: u64,
}

impl<'i> Run<'_, 'i> {
    /// Whether the library surely needs no more than a fair number of steps, for verdict and errors.
    pub(super) fn is_affordable(&mut self) -> bool {
        self.steps = LIBRARY_STEPS.saturating_add(LIBRARY_STEPS_PER_PART.saturating_mul(parts(self.root)));
        let most = self.steps;
        self.cost(self.start(), 0).is_some_and(|cost| cost.errors <= most)
    }

    /// What the library needs at most; nothing when that is too much, or cannot be said.
    fn cost(&mut self, application: Application<'i>, scope: Scope) -> Option<Cost> {
        let (key, scope, application) = self.enter(application, scope);
        if let Some(known) = self.costs.get(&key) {
            // Nothing while it is being counted: the schema asks about itself.
            return *known;
        }
        let graph = self.graph;
        let own = graph.nodes.get(application.node).and_then(|node| own_steps(node, application.part))?;
        self.spend(own).ok()?;
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.costs.insert(key, None);
        self.depth += 1;
        let cost = graph.nodes.get(application.node).and_then(|node| {
            let mut cost = Cost { verdict: own, marks: 0, errors: own };
            let mut chooses = false;
            for group in self.groups(node, application.part, scope).ok()? {
                chooses |= !matches!(group, Group::All(_) | Group::Additional(_));
                for inner in group.applications() {
                    self.add(&mut cost, inner, scope)?;
                }
            }
            if node.unevaluated_properties.is_some() || node.unevaluated_items.is_some() {
                for inner in every_part(node, application.part) {
                    self.add(&mut cost, inner, scope)?;
                }
                cost.verdict = cost.verdict.saturating_add(cost.marks);
                chooses = true;
            }
            if chooses {
                // A verdict comes before the errors of what may or may not fit.
                cost.errors = cost.errors.saturating_add(cost.verdict);
            }
            Some(cost)
        });
        self.depth -= 1;
        self.costs.insert(key, cost);
        cost
    }

    fn add(&mut self, cost: &mut Cost, inner: Application<'i>, scope: Scope) -> Option<()> {
        let part = self.cost(inner, scope)?;
        cost.verdict = cost.verdict.saturating_add(part.verdict);
        cost.errors = cost.errors.saturating_add(part.errors);
        if matches!(inner.step, Step::Here) {
            cost.marks = cost.marks.saturating_add(part.verdict).saturating_add(part.marks);
        }
        Some(())
    }
}

/// What the keywords that look at the part itself cost; nothing where that cannot be said.
fn own_steps(node: &Node, part: Part<'_>) -> Option<u64> {
    let mut sum = part.steps();
    if let (Some(pattern), Some(text)) = (node.own.as_ref().and_then(|own| own.pattern.as_ref()), part.text())
    {
        sum = sum.saturating_add(pattern.steps(text)?);
    }
    for name in part.object().filter(|_| !node.patterns.is_empty()).into_iter().flat_map(|map| map.keys()) {
        for (pattern, _) in &node.patterns {
            sum = sum.saturating_add(pattern.steps(name)?);
        }
    }
    Some(sum)
}
