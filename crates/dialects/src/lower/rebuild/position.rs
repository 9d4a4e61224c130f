//! Lowering one position of a schema by writing it anew from its meaning.

use serde_json::Value;

use super::json_text::is_composite;
use super::reader::view::View;
use super::{Node, Rebuild};
use crate::dialect::{NullStyle, RefStyle};
use crate::json::Json;
use crate::plan::{Codec, NULL_TEXT};
use crate::report::PathId;
use crate::schema::{Keyword, Members, Source, TypeSet};

/// A lowered position.
#[derive(Clone, Debug)]
pub(crate) struct Lowered<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) codec: Codec,
    /// Whether any value satisfies it.
    pub(crate) possible: bool,
    /// The schema calls itself required.
    pub(crate) required: bool,
    /// A recursion that is written out no deeper.
    pub(crate) cut: bool,
}

impl<'a> Lowered<'a> {
    pub(crate) fn new(node: Node<'a>, codec: Codec) -> Self {
        Self { node, codec, possible: true, required: false, cut: false }
    }

    pub(crate) fn impossible() -> Self {
        Self { possible: false, ..Self::new(Node::anything(), Codec::Same) }
    }
}

/// Where a position stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    /// Levels of objects and arrays above it.
    pub(crate) depth: usize,
    /// The same, counted through definitions.
    pub(crate) total: usize,
    pub(crate) root: bool,
    pub(crate) in_union: bool,
}

impl Location {
    pub(crate) const fn deeper(self, levels: usize) -> Self {
        Self { depth: self.depth + levels, total: self.total + levels, root: false, in_union: false }
    }
}

/// Why positions far inside others travel as JSON text.
pub(super) const TOO_DEEP: &str = "JSON text: deeper than is written out";

impl<'a> Rebuild<'a, '_> {
    /// One position, described by all of `sources` together; what `may` hold as well is not enforced, but what it declares gets
    /// through.
    pub(crate) fn lower(
        &mut self,
        sources: &[Source<'a>],
        may: &[Source<'a>],
        location: Location,
    ) -> Lowered<'a> {
        let more = self.declaring(sources, may);
        if let ([source], []) = (sources, more.as_slice())
            && self.rules.refs == RefStyle::Defs
            && let Some(lowered) = self.lower_reference(*source, location)
        {
            return lowered;
        }
        if self.is_in_vain() {
            return Lowered::impossible();
        }
        let first = sources.first();
        let (path, schema) = first.map_or((PathId::ROOT, None), |source| (source.path, Some(source.schema)));
        if self.depth >= super::DEEPEST {
            return self.lower_as_text(path, schema, TOO_DEEP);
        }
        let under_condition = usize::from(!more.is_empty());
        self.conditions += under_condition;
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let mark = self.chain.len();
        let mut view = View::new(path, schema);
        for source in sources {
            self.gather(*source, &mut view);
        }
        if view.keeps_out() {
            view.conditional.extend(more);
        }
        let is_deep = self.depth > self.chain.reach.levels && view.cut.is_none() && is_composite(&view);
        let default = view.hints.iter().find(|(keyword, ..)| *keyword == Keyword::Default).map(|hint| hint.1);
        let mut lowered = if is_deep {
            self.lower_described(sources, &view)
        } else {
            self.note_written(sources, mark);
            self.lower_view(&mut view, location)
        };
        self.spell_null(&mut lowered, first, default);
        self.chain.truncate(mark);
        self.depth -= 1;
        self.conditions -= under_condition;
        lowered
    }

    /// One position, gathered.
    pub(crate) fn lower_view(&mut self, view: &mut View<'a>, location: Location) -> Lowered<'a> {
        self.nodes += 1;
        let mut lowered = self.lower_rules(view, location);
        lowered.required |= view.required;
        self.finish_words(&mut lowered, view, true, &mut Vec::new());
        lowered
    }

    /// What a position says besides words.
    // Apart from `lower_view`, so that each way writes its result where it is wanted instead of being moved there.
    #[inline(never)]
    fn lower_rules(&mut self, view: &mut View<'a>, location: Location) -> Lowered<'a> {
        if let Some(target) = view.cut {
            return self.lower_cut(target);
        }
        if self.nodes > self.node_limit {
            let reason = "JSON text: the written-out schema would be too large";
            return self.lower_as_text(view.path, view.schema, reason);
        }
        if view.impossible {
            return Lowered::impossible();
        }
        if let Some(values) = view.values.take() {
            return self.lower_values(view, values);
        }
        if !view.unions.is_empty() {
            return self.lower_union(view, location);
        }
        if view.types.is_empty() {
            return Lowered::impossible();
        }
        if view.is_unconstrained() {
            return self.lower_anything(view, location);
        }
        self.describe_idle_parts(view);
        let null = view.types.contains(TypeSet::NULL);
        let others = view.types.without(TypeSet::NULL);
        if others.is_empty() {
            return self.lower_null();
        }
        let mut lowered = if others == TypeSet::OBJECT {
            self.lower_object(view, location)
        } else if others == TypeSet::ARRAY {
            self.lower_array(view, location)
        } else if others.count() == 1 || (self.choices.type_lists && !others.meets(TypeSet::CONTAINERS)) {
            let mut node = Node::of(others);
            self.write_facets(view, others, &mut node);
            Lowered::new(node, Codec::Same)
        } else {
            return self.split_types(view, location);
        };
        if null && lowered.possible {
            let listed = view.original("type").filter(|types| types.is_array());
            if let Some(types) = listed.filter(|_| !self.choices.lists_null(others)) {
                self.rewritten(view.path, "type", Some(types), "null is said in another way");
            }
            lowered.node.accept_null();
            lowered.codec = super::union::keep_null(lowered.codec);
        }
        lowered
    }

    /// A position that travels as JSON text, with everything that its schema says.
    pub(super) fn lower_as_text(
        &mut self,
        path: PathId,
        schema: Option<&'a Value>,
        reason: &'static str,
    ) -> Lowered<'a> {
        for (name, value) in schema.and_then(Value::as_object).into_iter().flatten() {
            if name != "description" {
                self.encoded(path, name, Some(value), reason);
            }
        }
        Lowered::json_text()
    }

    /// Rules for arrays or objects where neither can come: they bind nothing, but the author meant something by them.
    fn describe_idle_parts(&mut self, view: &mut View<'a>) {
        if view.arrays.is_empty() && view.objects.is_empty() {
            return;
        }
        let mut idle: Vec<(Source<'a>, &'static str)> = Vec::new();
        if !view.types.meets(TypeSet::ARRAY) {
            for part in std::mem::take(&mut view.arrays) {
                idle.extend(["items", "prefixItems", "additionalItems"].map(|name| (part.source, name)));
            }
        }
        if !view.types.meets(TypeSet::OBJECT) {
            let names =
                ["properties", "required", "additionalProperties", "patternProperties", "propertyNames"];
            for part in std::mem::take(&mut view.objects) {
                idle.extend(names.map(|name| (part.source, name)));
            }
        }
        for (source, name) in idle {
            if let Some(value) = source.schema.member(name) {
                self.describe(source.path, name, value, view, "says nothing about this type");
            }
        }
    }

    /// Null alone.
    pub(crate) fn lower_null(&mut self) -> Lowered<'a> {
        let label = match self.choices.null {
            NullStyle::Nullable => "null",
            NullStyle::Spelled => NULL_TEXT,
            NullStyle::TypeList | NullStyle::Branch => {
                return Lowered::new(Node::of(TypeSet::NULL), Codec::Same);
            }
        };
        // There is no null type here: a label stands for it.
        let node = Node { values: Some(vec![Json::literal(label)]), ..Node::of(TypeSet::STRING) };
        Lowered::new(node, Codec::Labels(vec![(label.into(), Value::Null)]))
    }
}
