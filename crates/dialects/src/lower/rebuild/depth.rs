//! Positions that stand deeper than a dialect takes.

use super::node::Node;
use super::position::{Location, Lowered};
use super::reader::view::View;
use super::{Definition, Rebuild};
use crate::dialect::RefStyle;

impl<'a> Rebuild<'a, '_> {
    /// Makes a definition of ours; without a node it may not be looked at yet.
    pub(super) fn add_part(&mut self, node: Option<Node<'a>>) -> usize {
        let mut names = (1..=usize::MAX).map(|number| format!("part_{number}"));
        let name = names.find(|name| !self.has_definition(name)).unwrap_or_default();
        self.definitions.push(Definition::new(name, None, node, 0));
        self.definitions.len() - 1
    }

    pub(crate) fn too_deep(&self, location: Location, levels: usize) -> bool {
        self.limits.depth > 0 && location.depth + levels > self.limits.depth
    }

    /// Puts a position that stands too deep into a definition, or into JSON text.
    pub(crate) fn hoist(
        &mut self,
        view: &mut View<'a>,
        location: Location,
        lower: fn(&mut Self, &mut View<'a>, Location) -> Lowered<'a>,
    ) -> Lowered<'a> {
        if self.rules.refs != RefStyle::Defs
            || (location.in_union && !self.choices.ref_in_union)
            || location.root
        {
            view.facets.clear();
            view.objects.clear();
            view.arrays.clear();
            return self.lower_as_text(view.path, view.schema, "JSON text: deeper than the dialect takes");
        }
        let index = self.add_part(None);
        self.rewritten(view.path, "", None, "moved into a definition: deeper than the dialect takes");
        let lowered = lower(self, view, Location { depth: 1, root: false, ..location });
        if let Some(definition) = self.definitions.get_mut(index) {
            definition.node = Some(lowered.node);
        }
        Lowered::new(Node::reference(index), lowered.codec)
    }
}
