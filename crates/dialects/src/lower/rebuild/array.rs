//! Lowering arrays: lists and tuples.

use serde_json::{Number, Value};

use super::node::ArrayNode;
use super::position::{Location, Lowered};
use super::reader::fold::Discovered;
use super::reader::view::{ArrayPart, View};
use super::{Node, Rebuild};
use crate::dialect::Verdict;
use crate::plan::{Codec, TupleCodec};
use crate::schema::{Keyword, Members, Source, TypeSet};
use crate::text::Note;

/// Positions that are lowered one by one; later ones share the last rule.
const MOST_POSITIONS: usize = 64;

impl<'a> Rebuild<'a, '_> {
    pub(crate) fn lower_array(&mut self, view: &mut View<'a>, location: Location) -> Lowered<'a> {
        if self.too_deep(location, 1) {
            return self.hoist(view, location, Self::lower_array);
        }
        let parts = std::mem::take(&mut view.arrays);
        let mut node = Node::of(TypeSet::ARRAY);
        self.write_facets(view, TypeSet::ARRAY, &mut node);
        let inside = location.deeper(1);
        let length =
            parts.iter().filter_map(|part| part.prefix).map(|(_, prefix)| prefix.len()).max().unwrap_or(0);
        let rest = self.rest_sources(&parts);
        let closed = parts
            .iter()
            .filter(|part| part.items.is_some_and(|(_, items)| items == &Value::Bool(false)))
            .map(|part| part.prefix.map_or(0, |(_, prefix)| prefix.len()))
            .min();
        if let Some(most) = closed {
            self.close_array(&parts, most, &mut node, view);
        }
        let mut found = if self.closed { self.discover(&view.conditional) } else { Discovered::none() };
        found.contained.append(&mut view.contained);
        let may = self.uncertain_items(&found, length);
        let rest = if closed.is_some() { None } else { Some(self.lower_item(&rest, &may, &found, inside)) };
        let rest = rest.filter(|lowered| lowered.possible || length == 0);
        if length == 0 {
            let lowered = rest.unwrap_or_else(|| self.lower(&[], &[], inside));
            let unsaid = parts.iter().all(|part| part.items.is_none());
            let write = !unsaid || self.rules.items_required;
            if unsaid && write {
                self.rewritten(view.path, "items", None, "the dialect wants to know the items");
            }
            let codec = match lowered.codec {
                Codec::Same => Codec::Same,
                codec => Codec::List(Box::new(codec)),
            };
            node.array =
                Some(Box::new(ArrayNode { prefix: Vec::new(), items: write.then_some(lowered.node) }));
            return Lowered::new(node, codec);
        }
        self.lower_tuple(view, &parts, &found, length.min(MOST_POSITIONS), rest, node, inside)
    }

    /// An item; what `may` hold as well was found in conditions.
    fn lower_item(
        &mut self,
        sources: &[Source<'a>],
        may: &[Source<'a>],
        found: &Discovered<'a>,
        inside: Location,
    ) -> Lowered<'a> {
        if found.complete { self.lower(sources, may, inside) } else { self.lower(&[], &[], inside) }
    }

    /// What conditions say about items from position `from` on, and what not every item must satisfy.
    fn uncertain_items(&mut self, found: &Discovered<'a>, from: usize) -> Vec<Source<'a>> {
        let mut may = found.contained.clone();
        for part in &found.arrays {
            if let Some((name, prefix)) = part.prefix {
                let list = Source { path: self.step(part.source.path, name), ..part.source };
                for (index, schema) in prefix.iter().enumerate().skip(from) {
                    may.push(self.item(list, index, schema));
                }
            }
            if let Some((name, items)) = part.items {
                may.push(self.inside(part.source, name, items));
            }
        }
        may
    }

    #[expect(clippy::too_many_arguments, reason = "one array's parts, taken apart only once")]
    fn lower_tuple(
        &mut self,
        view: &mut View<'a>,
        parts: &[ArrayPart<'a>],
        found: &Discovered<'a>,
        length: usize,
        mut rest: Option<Lowered<'a>>,
        mut node: Node<'a>,
        inside: Location,
    ) -> Lowered<'a> {
        let mut positions: Vec<Lowered<'a>> = Vec::with_capacity(length + 1);
        for index in 0..length {
            let mut sources = Vec::with_capacity(parts.len());
            for part in parts {
                match part.prefix.and_then(|(name, prefix)| Some((name, prefix.get(index)?))) {
                    Some((name, schema)) => {
                        let list = self.inside(part.source, name, schema);
                        sources.push(self.item(list, index, schema));
                    }
                    None => {
                        if let Some((name, items)) = part.items {
                            sources.push(self.inside(part.source, name, items));
                        }
                    }
                }
            }
            let may = self.uncertain_items(found, index);
            positions.push(self.lower_item(&sources, &may, found, inside));
        }
        let keeps_positions = self.rules.keywords.of(Keyword::PrefixItems) == Verdict::Keep;
        let shared = if keeps_positions { None } else { Some(self.shared_items(&mut positions, &mut rest)) };
        let codecs: Vec<Codec> = positions.iter().map(|lowered| lowered.codec.clone()).collect();
        let rest_codec = rest.as_ref().map_or(Codec::Same, |lowered| lowered.codec.clone());
        let codec = if codecs.iter().all(|codec| *codec == Codec::Same) && rest_codec == Codec::Same {
            Codec::Same
        } else {
            Codec::Tuple(Box::new(TupleCodec { positions: codecs, rest: rest_codec }))
        };
        let Some(items) = shared else {
            let prefix = positions.into_iter().map(|lowered| lowered.node).collect();
            node.array = Some(Box::new(ArrayNode { prefix, items: rest.map(|lowered| lowered.node) }));
            return Lowered::new(node, codec);
        };
        for part in parts {
            if let Some((name, _)) = part.prefix
                && let Some(original) = part.source.schema.member(name)
            {
                self.describe(part.source.path, name, original, view, "positions share one rule here");
            }
        }
        node.array = Some(Box::new(ArrayNode { prefix: Vec::new(), items: Some(items) }));
        Lowered::new(node, codec)
    }

    /// One rule for all positions.
    fn shared_items(&self, positions: &mut [Lowered<'a>], rest: &mut Option<Lowered<'a>>) -> Node<'a> {
        let mut nodes: Vec<Node<'a>> = positions
            .iter_mut()
            .chain(rest.as_mut())
            .filter(|lowered| lowered.possible)
            .map(|lowered| lowered.node.clone())
            .collect();
        if nodes.iter().any(|node| node.free) {
            return Node::anything();
        }
        if nodes.len() <= 1 {
            return nodes.pop().unwrap_or_else(Node::anything);
        }
        let items = self.unite(nodes);
        if items.branches.is_empty() || !self.has_one_type() {
            return items;
        }
        Self::items_as_one_type(positions, rest)
    }

    fn rest_sources(&mut self, parts: &[ArrayPart<'a>]) -> Vec<Source<'a>> {
        let items = parts.iter().filter_map(|part| part.items.map(|items| (part, items)));
        items.map(|(part, (name, items))| self.inside(part.source, name, items)).collect()
    }

    /// No items beyond the first `most`.
    fn close_array(
        &mut self,
        parts: &[ArrayPart<'a>],
        most: usize,
        node: &mut Node<'a>,
        view: &mut View<'a>,
    ) {
        for part in parts {
            if let Some((name, items)) = part.items
                && items == &Value::Bool(false)
            {
                self.rewritten(part.source.path, name, Some(items), "said by the number of items");
            }
        }
        if self.rules.keywords.of(Keyword::MaxItems) != Verdict::Keep {
            view.notes.push(Note::Sentence(format!("array must contain no more than {most} items").into()));
            return;
        }
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        match node.keywords.iter_mut().find(|(name, _)| *name == "maxItems") {
            None => node.keywords.push(("maxItems", most.into())),
            Some((_, value)) => {
                let known = value.as_number().and_then(Number::as_u64);
                if known.is_none_or(|known| known > most) {
                    *value = most.into();
                }
            }
        }
    }
}
