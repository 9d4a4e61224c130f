//! Lowering unions: `anyOf`, `oneOf`, several types.

use std::borrow::Cow;

use super::Rebuild;
use super::guard::Outline;
use super::node::{Node, Writer};
use super::position::{Location, Lowered, TOO_DEEP};
use super::reader::view::View;
use crate::dialect::RefStyle;
use crate::plan::{Branch, Codec, Guard, Watch, agree, does_nothing, innocent};
use crate::schema::{Keyword, TypeSet};
use crate::text::Note;

/// Branches that one position may have after all unions of it are multiplied.
pub(super) const MOST_BRANCHES: usize = 64;

/// One alternative of a union.
pub(crate) struct Alternative<'a> {
    pub(super) lowered: Lowered<'a>,
    /// What MCP values of it look like.
    pub(super) mcp: Outline<'a>,
}

impl<'a> Alternative<'a> {
    pub(crate) fn new(lowered: Lowered<'a>, mcp: Outline<'a>) -> Self {
        Self { lowered, mcp }
    }
}

impl<'a> Rebuild<'a, '_> {
    /// The first union of `view`, multiplied with everything else that `view` says.
    pub(crate) fn lower_union(&mut self, view: &mut View<'a>, location: Location) -> Lowered<'a> {
        if Self::foldable(view) {
            let unions = std::mem::take(&mut view.unions);
            self.fold(unions, view);
            return self.lower_view_again(view, location);
        }
        if self.has_one_type()
            && let Some(lowered) = self.union_as_one_type(view, location)
        {
            return lowered;
        }
        let union = view.unions.remove(0);
        if union.branches.len() > MOST_BRANCHES || view.unions.len() > 3 {
            if !view.objects.is_empty() || !view.arrays.is_empty() {
                // What they declare must still be known.
                let branches = self.branches(&union);
                view.conditional.extend(branches);
            }
            let (path, name) = (union.source.path, union.keyword.name());
            self.describe(path, name, union.original, view, "too many alternatives to write out");
            return self.lower_view_again(view, location);
        }
        let bare = view.types == TypeSet::ALL && view.is_unconstrained();
        let inside = Location { in_union: true, root: false, ..location };
        let list = self.inside(union.source, union.keyword.name(), union.original);
        let mut alternatives = Vec::with_capacity(union.branches.len());
        for (index, branch) in union.branches.iter().enumerate() {
            if self.is_in_vain() {
                return Lowered::impossible();
            }
            let source = self.item(list, index, branch);
            let path = source.path;
            let is_named = branch.get("$ref").is_some() || self.is_shared(branch);
            if bare && self.rules.refs == RefStyle::Defs && is_named {
                let lowered = self.lower(&[source], &[], inside);
                let mcp = self.outline(source);
                alternatives.push(Alternative { lowered, mcp });
                continue;
            }
            let mark = self.chain.len();
            let mut inner = if bare { View::new(path, Some(branch)) } else { view.rules_only() };
            inner.path = path;
            inner.schema = Some(branch);
            self.gather(source, &mut inner);
            self.note_written(&[source], mark);
            let mcp = Outline::of_view(&inner);
            self.depth += 1;
            let lowered = if self.depth < super::DEEPEST {
                self.lower_view(&mut inner, inside)
            } else {
                self.lower_as_text(path, Some(branch), TOO_DEEP)
            };
            self.depth -= 1;
            self.chain.truncate(mark);
            alternatives.push(Alternative { lowered, mcp });
        }
        let count = alternatives.len();
        if union.keyword == Keyword::OneOf {
            let guards: Vec<Guard> = alternatives.iter().map(|alternative| alternative.mcp.guard()).collect();
            let exclusive = self.compare(|watch| {
                guards.iter().enumerate().all(|(index, left)| {
                    guards.iter().skip(index + 1).all(|right| watch.disjoint(left, right))
                })
            });
            if !exclusive {
                view.notes.push(Note::Sentence(Cow::Borrowed("exactly one of the alternatives must hold")));
            }
            let reason = "alternatives are said by anyOf";
            self.rewritten(union.source.path, "oneOf", Some(union.original), reason);
        }
        let lowered = self.join(alternatives);
        if matches!(&lowered.codec, Codec::Union(branches) if branches.iter().any(|branch| branch.tag.is_some()))
        {
            let name = union.keyword.name();
            self.encoded(union.source.path, name, Some(union.original), "alternatives travel under a tag");
        }
        if union.keyword == Keyword::AnyOf
            && (lowered.node.branches.len() != count || !bare || location.in_union)
        {
            let reason = "alternatives are said in another form";
            self.rewritten(union.source.path, "anyOf", Some(union.original), reason);
        }
        lowered
    }

    pub(super) fn lower_view_again(&mut self, view: &mut View<'a>, location: Location) -> Lowered<'a> {
        self.nodes = self.nodes.saturating_sub(1);
        self.lower_view(view, location)
    }

    /// One branch for each type.
    pub(crate) fn split_types(&mut self, view: &mut View<'a>, location: Location) -> Lowered<'a> {
        if self.has_one_type()
            && let Some(lowered) = self.types_as_one(view)
        {
            return lowered;
        }
        let inside = Location { in_union: true, ..location };
        let mut alternatives = Vec::new();
        let original = view.original("type");
        if original.is_some() {
            self.rewritten(view.path, "type", original, "one alternative for each type");
        }
        for name in ["properties", "required", "additionalProperties", "items", "prefixItems"] {
            if let Some(value) = view.original(name) {
                self.rewritten(view.path, name, Some(value), "said in the alternative for its type");
            }
        }
        for only in view.types.singles() {
            let mut inner = view.rules_only();
            inner.types = only;
            let mcp = Outline::of_view(&inner);
            let lowered = self.lower_view(&mut inner, inside);
            alternatives.push(Alternative { lowered, mcp });
        }
        // What the branches said about their own keywords is said there.
        view.facets.clear();
        self.join(alternatives)
    }

    /// One node for all alternatives.
    pub(crate) fn join(&mut self, alternatives: Vec<Alternative<'a>>) -> Lowered<'a> {
        let mut null = false;
        let mut null_words: Option<Cow<'a, str>> = None;
        let mut kept: Vec<Alternative<'a>> = Vec::with_capacity(alternatives.len());
        for alternative in alternatives.into_iter().filter(|alternative| alternative.lowered.possible) {
            let lowered = &alternative.lowered;
            if lowered.node.free {
                // One alternative takes anything: so does the union.
                return Lowered::new(Node::anything(), lowered.codec.clone());
            }
            let only_null = alternative.mcp.is_null();
            if let Some(words) = lowered.node.description.as_ref().filter(|_| only_null) {
                null_words = Some(Cow::Owned(format!("null: {words}")));
            }
            if only_null
                || (lowered.node.types == TypeSet::NULL
                    && lowered.node.branches.is_empty()
                    && lowered.node.reference.is_none())
            {
                null = true;
                continue;
            }
            kept.push(alternative);
        }
        merge_cuts(&mut kept);
        if kept.is_empty() {
            return if null { self.lower_null() } else { Lowered::impossible() };
        }
        if kept.len() == 1
            && let Some(single) = kept.pop()
        {
            let mut lowered = single.lowered;
            if null && !lowered.node.takes_null() {
                lowered.node.accept_null();
                lowered.codec = keep_null(lowered.codec);
            }
            if let Some(words) = null_words {
                lowered.node.add_words(words);
            }
            return lowered;
        }
        if let Some(merged) = merge_values(&kept) {
            let mut lowered = Lowered::new(merged, Codec::Same);
            if null {
                lowered.node.accept_null();
            }
            return lowered;
        }
        let (mut node, codec) = if self.has_one_type() {
            for alternative in &mut kept {
                null |= alternative.without_null();
            }
            self.join_as_properties(kept)
        } else {
            let codec = self.union_codec(&mut kept);
            let branches = kept.into_iter().map(|alternative| alternative.lowered.node).collect();
            (Node { branches, ..Node::default() }, codec)
        };
        if null {
            node.accept_null();
        }
        if let Some(words) = null_words {
            node.add_words(words);
        }
        Lowered::new(node, if null { keep_null(codec) } else { codec })
    }

    /// Nodes as alternatives, each once.
    pub(crate) fn unite(&self, nodes: Vec<Node<'a>>) -> Node<'a> {
        let names: Vec<String> = self.definitions.iter().map(|definition| definition.name.clone()).collect();
        let writer = Writer { choices: self.choices, names: &names };
        let mut written: Vec<String> = Vec::with_capacity(nodes.len());
        let mut null = false;
        let mut kept: Vec<Node<'a>> = Vec::with_capacity(nodes.len());
        for mut node in nodes {
            if node.types == TypeSet::NULL && node.branches.is_empty() && node.reference.is_none() {
                null = true;
                continue;
            }
            if !node.branches.is_empty() && node.description.is_none() && node.keywords.is_empty() {
                null |= node.types.contains(TypeSet::NULL);
                for branch in std::mem::take(&mut node.branches) {
                    keep_once(&writer, branch, &mut written, &mut kept);
                }
                continue;
            }
            keep_once(&writer, node, &mut written, &mut kept);
        }
        let mut node = match kept.len() {
            0 => return Node::of(TypeSet::NULL),
            1 => kept.pop().unwrap_or_default(),
            _ => Node { branches: kept, ..Node::default() },
        };
        if null {
            node.accept_null();
        }
        node
    }

    /// How values of the alternatives travel; alternatives that could be confused get a tag.
    fn union_codec(&mut self, alternatives: &mut [Alternative<'a>]) -> Codec {
        if self.is_in_vain()
            || alternatives.iter().all(|alternative| alternative.lowered.codec == Codec::Same)
        {
            return Codec::Same;
        }
        let finished: Vec<Option<&Codec>> = self
            .definitions
            .iter()
            .map(|definition| definition.node.is_some().then_some(&definition.codec))
            .collect();
        let innocent = innocent(&finished);
        let idle: Vec<bool> = alternatives
            .iter()
            .map(|alternative| does_nothing(self.settled(&alternative.lowered.codec), &innocent))
            .collect();
        if idle.iter().all(|idle| *idle) {
            return Codec::Same;
        }
        let types: Vec<(TypeSet, TypeSet)> = alternatives
            .iter()
            .map(|alternative| (alternative.mcp.types, self.types_of(&alternative.lowered.node, 8)))
            .collect();
        let differ_by_type = types.iter().enumerate().all(|(index, left)| {
            types.iter().skip(index + 1).all(|right| !left.0.meets(right.0) && !left.1.meets(right.1))
        });
        if differ_by_type {
            let branch = |(alternative, (mcp, wire)): (&mut Alternative<'a>, &(TypeSet, TypeSet))| {
                let codec = std::mem::take(&mut alternative.lowered.codec);
                Branch::untagged(Guard::of_types(*mcp), Guard::of_types(*wire), codec)
            };
            return Codec::Union(alternatives.iter_mut().zip(&types).map(branch).collect());
        }
        self.guarded = true;
        self.guard_definitions();
        let mut branches: Vec<Branch> = alternatives
            .iter_mut()
            .map(|alternative| {
                let codec = std::mem::take(&mut alternative.lowered.codec);
                Branch::untagged(alternative.mcp.guard(), self.guard(&alternative.lowered.node), codec)
            })
            .collect();
        let settled: Vec<&Codec> = branches
            .iter()
            .zip(&idle)
            .map(|(branch, idle)| if *idle { &Codec::Same } else { self.settled(&branch.codec) })
            .collect();
        let confused = self.compare(|watch| confused(watch, &branches, &settled));
        for (index, confused) in confused.into_iter().enumerate() {
            if confused
                && let (Some(branch), Some(alternative)) =
                    (branches.get_mut(index), alternatives.get_mut(index))
            {
                let tag = tag_of(index);
                let inner = std::mem::take(&mut alternative.lowered.node);
                alternative.lowered.node = self.object_node([(Cow::Owned(tag.clone()), inner)]);
                branch.wire = Guard::tagged(&tag, std::mem::take(&mut branch.wire));
                branch.tag = Some(tag.into_boxed_str());
            }
        }
        Codec::Union(branches)
    }

    /// A codec without references to definitions that are finished.
    fn settled<'c>(&'c self, codec: &'c Codec) -> &'c Codec {
        let mut codec = codec;
        for _ in 0..8 {
            let Codec::Definition(index) = codec else { break };
            match self.definitions.get(*index) {
                Some(definition) if definition.node.is_some() => codec = &definition.codec,
                _ => break,
            }
        }
        codec
    }
}

/// Leaves one alternative of those that are recursions cut off: its JSON text carries what all of them do.
fn merge_cuts(alternatives: &mut Vec<Alternative<'_>>) {
    let Some(first) = alternatives.iter().position(|alternative| alternative.lowered.is_bare_cut()) else {
        return;
    };
    let rest = alternatives.split_off(first + 1);
    let (cuts, others): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|alternative| alternative.lowered.is_bare_cut());
    if let Some(kept) = alternatives.last_mut() {
        kept.mcp = Outline::anything();
        for cut in &cuts {
            kept.lowered.or_form_of(&cut.lowered);
        }
    }
    alternatives.extend(others);
}

/// Which branches could be taken for another one that reads them in another way.
fn confused(watch: &Watch<'_>, branches: &[Branch], settled: &[&Codec]) -> Vec<bool> {
    let mut confused = vec![false; branches.len()];
    for (index, (left, left_codec)) in branches.iter().zip(settled).enumerate() {
        for (other, (right, right_codec)) in branches.iter().zip(settled).enumerate().skip(index + 1) {
            if !watch.disjoint(&left.wire, &right.wire)
                && !agree(watch, (left_codec, &left.wire), (right_codec, &right.wire))
            {
                for mark in [index, other] {
                    if let Some(flag) = confused.get_mut(mark) {
                        *flag = true;
                    }
                }
            }
        }
    }
    // What could be taken for a tagged value needs a tag as well: alternatives of alternatives have tags of the same names.
    loop {
        let tags: Vec<Guard> = (0..branches.len())
            .filter(|index| confused.get(*index).copied().unwrap_or_default())
            .map(|index| Guard::tagged(&tag_of(index), Guard::anything()))
            .collect();
        let mistaken = branches.iter().zip(&confused).position(|(branch, confused)| {
            !confused && tags.iter().any(|tagged| !watch.disjoint(tagged, &branch.wire))
        });
        match mistaken.and_then(|index| confused.get_mut(index)) {
            Some(flag) => *flag = true,
            None => return confused,
        }
    }
}

/// The property that holds values of the alternative with this number.
pub(super) fn tag_of(index: usize) -> String {
    format!("option_{}", index + 1)
}

fn keep_once<'a>(writer: &Writer<'_>, node: Node<'a>, written: &mut Vec<String>, kept: &mut Vec<Node<'a>>) {
    let text = match node.reference {
        Some(index) => format!("{index} {:?}", node.description),
        None => serde_json::to_string(&writer.write(&mut node.clone())).unwrap_or_default(),
    };
    if !written.contains(&text) {
        written.push(text);
        kept.push(node);
    }
}

/// A codec whose position now takes null as well.
pub(super) fn keep_null(codec: Codec) -> Codec {
    match codec {
        // Null travels as null, the labels beside it.
        Codec::Labels(mut labels) => {
            labels.retain(|(_, value)| !value.is_null());
            let values = Some(labels.iter().map(|(_, value)| value.clone()).collect());
            let wire = Guard::of_types(TypeSet::ALL.without(TypeSet::NULL));
            let own = Branch::untagged(Guard { values, ..Guard::anything() }, wire, Codec::Labels(labels));
            Codec::Union(vec![null_branch(), own])
        }
        Codec::Union(mut branches) => {
            branches.push(null_branch());
            Codec::Union(branches)
        }
        // Where these have a way of their own for null it comes first: a plain null may stand for "absent".
        Codec::Text | Codec::Definition(_) => {
            let wire = if codec == Codec::Text { TypeSet::STRING } else { TypeSet::ALL };
            let null = Branch { mcp: Guard::of_types(TypeSet::NONE), ..null_branch() };
            Codec::Union(vec![null, Branch::untagged(Guard::anything(), Guard::of_types(wire), codec)])
        }
        other => other,
    }
}

fn null_branch() -> Branch {
    Branch::untagged(Guard::of_types(TypeSet::NULL), Guard::of_types(TypeSet::NULL), Codec::Same)
}

/// String constants with a description each, as one list with "value: meaning" lines.
fn merge_values<'a>(alternatives: &[Alternative<'a>]) -> Option<Node<'a>> {
    let mut values = Vec::new();
    let mut lines = Vec::new();
    for alternative in alternatives {
        let node = &alternative.lowered.node;
        let own = node.values.as_ref()?;
        let plain = node.types == TypeSet::STRING && node.keywords.iter().all(|(name, _)| *name == "title");
        if !plain || alternative.lowered.codec != Codec::Same {
            return None;
        }
        for value in own {
            if values.iter().any(|known: &crate::json::Json<'a>| known.as_str() == value.as_str()) {
                return None;
            }
            values.push(value.clone());
        }
        if let Some(description) = &node.description {
            let names: Vec<&str> = own.iter().filter_map(|value| value.as_str()).collect();
            lines.push(format!("{}: {description}", names.join(", ")));
        }
    }
    let description = (!lines.is_empty()).then(|| Cow::Owned(lines.join("\n")));
    Some(Node { values: Some(values), description, ..Node::of(TypeSet::STRING) })
}
