//! Positions that stand deeper than a dialect takes.

use super::node::Node;
use super::position::{Lowered, Place};
use super::view::View;
use super::{Definition, Lowerer};
use crate::dialect::RefStyle;
use crate::plan::Codec;
use crate::report::Fate;

impl<'a> Lowerer<'a, '_> {
    /// Makes a definition of ours.
    pub(super) fn add_part(&mut self, node: Node<'a>) -> usize {
        let taken = |name: &str| self.definitions.iter().any(|definition| definition.name == name);
        let name = (1..=usize::MAX).map(|number| format!("part_{number}")).find(|name| !taken(name));
        self.definitions.push(Definition {
            target: None,
            name: name.unwrap_or_default(),
            node: Some(node),
            codec: Codec::Same,
            guard: std::cell::OnceCell::new(),
            json: None,
            at: 0,
        });
        self.definitions.len() - 1
    }

    pub(crate) fn too_deep(&self, place: Place, levels: usize) -> bool {
        self.limits.depth > 0 && place.depth + levels > self.limits.depth
    }

    /// Puts a position that stands too deep into a definition, or into JSON text.
    pub(crate) fn hoist(
        &mut self,
        view: &mut View<'a>,
        place: Place,
        lower: fn(&mut Self, &mut View<'a>, Place) -> Lowered<'a>,
    ) -> Lowered<'a> {
        if self.rules.refs != RefStyle::Defs || (place.in_union && !self.rules.ref_in_union) || place.root {
            self.encode_whole(view.path, view.schema, "JSON text: deeper than the dialect takes");
            view.facets.clear();
            view.objects.clear();
            view.arrays.clear();
            return Lowered::new(Node::text("JSON text"), Codec::Text);
        }
        let index = self.add_part(Node::default());
        if let Some(definition) = self.definitions.get_mut(index) {
            // Nobody may look at it before it is finished.
            definition.node = None;
        }
        self.change(
            view.path,
            "",
            None,
            Fate::Rewritten,
            "moved into a definition: deeper than the dialect takes",
        );
        let lowered = lower(self, view, Place { depth: 1, root: false, ..place });
        if let Some(definition) = self.definitions.get_mut(index) {
            definition.node = Some(lowered.node);
        }
        Lowered::new(Node { reference: Some(index), ..Node::default() }, lowered.codec)
    }
}
