//! Lowering one position of a schema by writing it anew from its meaning.

use std::borrow::Cow;

use serde_json::Value;

use super::view::View;
use super::{Definition, LoweredSchema, Lowerer, Node, Writer};
use crate::dialect::{Additional, AnyOfStyle, Anything, RefStyle, Verdict};
use crate::json::Json;
use crate::options::{Defaults, Open};
use crate::plan::{Codec, Guard, Plan};
use crate::report::{Fate, PathId};
use crate::schema::{Keyword, Kind, Members, Source, TypeSet};
use crate::text::{Note, compose};

/// A lowered position.
#[derive(Clone, Debug)]
pub(crate) struct Lowered<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) codec: Codec,
    /// Whether any value satisfies it.
    pub(crate) possible: bool,
    /// The schema calls itself required.
    pub(crate) required: bool,
    /// A recursion that is not written out any further.
    pub(crate) cut: bool,
}

impl<'a> Lowered<'a> {
    pub(crate) fn new(node: Node<'a>, codec: Codec) -> Self {
        Self { node, codec, possible: true, required: false, cut: false }
    }

    /// Whether it is a recursion that is not written out any further, and nothing more is said about it.
    pub(crate) fn is_bare_cut(&self) -> bool {
        self.cut
            && self.node.description.as_deref() == Some(JSON_TEXT)
            && self.node.types == TypeSet::STRING
            && self.node.keywords.is_empty()
    }

    pub(crate) fn impossible() -> Self {
        Self { possible: false, ..Self::new(Node::anything(), Codec::Same) }
    }
}

/// Where a position stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Levels of objects and arrays above it.
    pub(crate) depth: usize,
    /// The same, counted through definitions.
    pub(crate) total: usize,
    pub(crate) root: bool,
    pub(crate) in_union: bool,
}

impl Place {
    pub(crate) const fn deeper(self, levels: usize) -> Self {
        Self { depth: self.depth + levels, total: self.total + levels, root: false, in_union: false }
    }
}

const JSON_TEXT: &str = "JSON text";

impl<'a> Lowerer<'a, '_> {
    /// The whole schema, its nodes, and the longest chain of references in it.
    pub(crate) fn rebuild_root(mut self, omit_empty: bool) -> (LoweredSchema<'a>, usize, usize) {
        let place = Place { depth: 0, total: 0, root: true, in_union: false };
        let mut view = View::new(PathId::ROOT, Some(self.root));
        self.gather(Source { schema: self.root, path: PathId::ROOT, resource: 0, asked: false }, &mut view);
        if !view.types.contains(TypeSet::OBJECT) || view.types != TypeSet::OBJECT {
            if self.root.member("type").and_then(Value::as_str) != Some("object") {
                self.change(
                    PathId::ROOT,
                    "type",
                    self.root.member("type"),
                    Fate::Rewritten,
                    "arguments are an object",
                );
            }
            view.types = TypeSet::OBJECT;
        }
        view.cut = false;
        view.impossible = false;
        if view.values.take().is_some() {
            for name in ["enum", "const"] {
                if let Some(value) = self.root.member(name) {
                    self.describe(PathId::ROOT, name, value, &mut view, "the root cannot list values");
                }
            }
        }
        let unions = std::mem::take(&mut view.unions);
        self.fold(unions, &mut view);
        let root_description = view.description.clone();
        let mut lowered = self.lower_object(&mut view, place);
        if self.is_in_vain() {
            let plan = Plan::default();
            let (changes, tool_notes) = (self.changes, Vec::new());
            let lowered = LoweredSchema { schema: None, plan, changes, tool_notes, excess: None };
            return (lowered, self.nodes, self.longest);
        }
        let mut tool_notes = Vec::new();
        let takes_description = self.rules.additional != Additional::Open;
        self.finish_words(&mut lowered, &mut view, takes_description, &mut tool_notes);
        if !takes_description {
            lowered.node.description = None;
            if let Some(text) = root_description {
                tool_notes.insert(0, Note::Sentence(text));
                self.change(
                    PathId::ROOT,
                    "description",
                    self.root.member("description"),
                    Fate::Described,
                    "said by the tool's description",
                );
            }
        }
        let empty = lowered.node.object.as_ref().is_none_or(|object| {
            object.properties.is_empty()
                && match object.additional {
                    super::node::Rest::Closed => true,
                    // What is not declared may be meant to come all the same.
                    super::node::Rest::Unsaid => self.options.open == Open::Declared,
                    super::node::Rest::Open | super::node::Rest::Each(_) => false,
                }
        });
        let codec = std::mem::take(&mut lowered.codec);
        if self.guarded {
            self.guard_definitions();
        }
        let schema = if empty && omit_empty {
            if let Some(text) = lowered.node.description.take() {
                tool_notes.push(Note::Sentence(text));
            }
            for (name, _) in &lowered.node.keywords {
                self.change(
                    PathId::ROOT,
                    name,
                    self.root.member(name),
                    Fate::Dropped,
                    "no arguments, no schema",
                );
            }
            for name in ["type", "properties", "additionalProperties", "required"] {
                if let Some(value) = self.root.member(name) {
                    self.change(PathId::ROOT, name, Some(value), Fate::Rewritten, "no arguments, no schema");
                }
            }
            None
        } else {
            Some(self.write(&mut lowered.node))
        };
        let mut guards = Vec::new();
        if self.guarded {
            guards.extend(
                self.definitions
                    .iter_mut()
                    .map(|known| known.guard.take().map_or_else(Guard::anything, |guard| *guard)),
            );
        }
        let definitions = self.definitions.into_iter().map(|definition| definition.codec).collect();
        let lowered = LoweredSchema {
            schema,
            plan: Plan { root: codec, definitions, guards, injected: Vec::new() }.simplified(),
            changes: self.changes,
            tool_notes,
            excess: None,
        };
        (lowered, self.nodes, self.longest)
    }

    /// Writes the root node and its definitions.
    fn write(&mut self, node: &mut Node<'a>) -> Json<'a> {
        let names: Vec<String> =
            self.definitions.iter_mut().map(|definition| std::mem::take(&mut definition.name)).collect();
        let writer = Writer { rules: self.rules, names: &names };
        let mut json = writer.write(node);
        if !self.definitions.is_empty()
            && let Json::Object(entries) = &mut json
        {
            let written: Vec<Option<Json<'a>>> = self
                .definitions
                .iter_mut()
                .map(|definition| definition.node.as_mut().map(|node| writer.write(node)))
                .collect();
            let definitions = names
                .into_iter()
                .zip(written)
                .filter_map(|(name, definition)| Some((Cow::Owned(name), definition?)))
                .collect();
            entries.push((Cow::Borrowed("$defs"), Json::Object(definitions)));
        }
        json
    }

    /// One position, described by all of `sources` together.
    pub(crate) fn lower(&mut self, sources: &[Source<'a>], place: Place) -> Lowered<'a> {
        if let [source] = sources
            && self.rules.refs == RefStyle::Defs
            && let Some(lowered) = self.lower_reference(*source, place)
        {
            return lowered;
        }
        self.lower_sources(sources, &[], place)
    }

    /// The same, written out; what `may` hold as well is not enforced, but what it declares is known.
    pub(crate) fn lower_sources(
        &mut self,
        sources: &[Source<'a>],
        may: &[Source<'a>],
        place: Place,
    ) -> Lowered<'a> {
        if self.is_in_vain() {
            return Lowered::impossible();
        }
        if self.depth >= super::DEEPEST {
            if let Some(source) = sources.first() {
                self.encode_whole(source.path, Some(source.schema), "JSON text: deeper than is written out");
            }
            return Lowered::new(Node::text(JSON_TEXT), Codec::Text);
        }
        self.depth += 1;
        let mark = self.active.len();
        let path = sources.first().map_or(PathId::ROOT, |source| source.path);
        let mut view = View::new(path, sources.first().map(|source| source.schema));
        for source in sources {
            self.gather(*source, &mut view);
        }
        if view.keeps_out() {
            view.conditional.extend(may);
        }
        let lowered = self.lower_view(&mut view, place);
        self.active.truncate(mark);
        self.depth -= 1;
        lowered
    }

    /// One position, gathered.
    pub(crate) fn lower_view(&mut self, view: &mut View<'a>, place: Place) -> Lowered<'a> {
        self.nodes += 1;
        let mut lowered = self.lower_rules(view, place);
        lowered.required |= view.required;
        self.finish_words(&mut lowered, view, true, &mut Vec::new());
        lowered
    }

    /// What a position says besides words.
    // Apart from `lower_view`, so that each way writes its result where it is wanted instead of being moved there.
    #[inline(never)]
    fn lower_rules(&mut self, view: &mut View<'a>, place: Place) -> Lowered<'a> {
        if view.cut {
            return Lowered { cut: true, ..Lowered::new(Node::text(JSON_TEXT), Codec::Text) };
        }
        if self.nodes > self.node_limit {
            self.encode_whole(view.path, view.schema, "JSON text: the written-out schema would be too large");
            return Lowered::new(Node::text(JSON_TEXT), Codec::Text);
        }
        if view.impossible {
            return Lowered::impossible();
        }
        if let Some(values) = view.values.take() {
            return self.lower_values(view, values);
        }
        if view.unions.is_empty() { self.lower_types(view, place) } else { self.lower_union(view, place) }
    }

    /// Reports that everything at `path` travels as JSON text.
    pub(crate) fn encode_whole(&mut self, path: PathId, schema: Option<&'a Value>, reason: &'static str) {
        for (name, value) in schema.and_then(Value::as_object).into_iter().flatten() {
            if name != "description" {
                self.change(path, name, Some(value), Fate::Encoded, reason);
            }
        }
    }

    /// By type, where there are no unions left.
    fn lower_types(&mut self, view: &mut View<'a>, place: Place) -> Lowered<'a> {
        if view.types.is_empty() {
            return Lowered::impossible();
        }
        if view.is_unconstrained() {
            return self.lower_anything(view, place);
        }
        self.describe_idle_parts(view);
        let null = view.types.contains(TypeSet::NULL);
        let others = view.types.without(TypeSet::NULL);
        if others.is_empty() {
            return self.lower_null();
        }
        let mut lowered = if others.count() == 1 {
            self.lower_typed(view, others, place)
        } else if self.rules.type_lists && !others.meets(TypeSet::CONTAINERS) {
            let mut node = Node::of(others);
            self.write_facets(view, others, &mut node);
            Lowered::new(node, Codec::Same)
        } else {
            return self.split_types(view, place);
        };
        if null && lowered.possible {
            lowered.node.accept_null();
            lowered.codec = super::union::keep_null(lowered.codec);
        }
        lowered
    }

    /// Rules for arrays or objects where neither can come: they bind nothing, but somebody meant something by them.
    fn describe_idle_parts(&mut self, view: &mut View<'a>) {
        if view.arrays.is_empty() && view.objects.is_empty() {
            return;
        }
        let mut idle: Vec<(PathId, &'a Value, &'static str)> = Vec::new();
        if !view.types.meets(TypeSet::ARRAY) {
            for part in std::mem::take(&mut view.arrays) {
                idle.extend(
                    ["items", "prefixItems", "additionalItems"].map(|name| (part.path, part.schema, name)),
                );
            }
        }
        if !view.types.meets(TypeSet::OBJECT) {
            let names =
                ["properties", "required", "additionalProperties", "patternProperties", "propertyNames"];
            for part in std::mem::take(&mut view.objects) {
                idle.extend(names.map(|name| (part.path, part.schema, name)));
            }
        }
        for (path, schema, name) in idle {
            if let Some(value) = schema.member(name) {
                self.describe(path, name, value, view, "says nothing about this type");
            }
        }
    }

    /// Null alone.
    pub(crate) fn lower_null(&mut self) -> Lowered<'a> {
        if self.rules.null == crate::dialect::NullStyle::Nullable {
            // There is no null type here: a label stands for it.
            let node = Node { values: Some(vec![Json::literal("null")]), ..Node::of(TypeSet::STRING) };
            return Lowered::new(node, Codec::Labels(vec![("null".into(), Value::Null)]));
        }
        Lowered::new(Node::of(TypeSet::NULL), Codec::Same)
    }

    /// A value without any rule.
    pub(crate) fn lower_anything(&mut self, view: &View<'a>, place: Place) -> Lowered<'a> {
        if let Some(types) = view.original("type") {
            self.change(view.path, "type", Some(types), Fate::Rewritten, "any type");
        }
        match self.rules.anything {
            Anything::Empty => Lowered::new(Node::anything(), Codec::Same),
            Anything::Scalars => {
                self.change(
                    view.path,
                    "type",
                    None,
                    Fate::Encoded,
                    "arrays and objects of any kind travel as JSON text",
                );
                let types = TypeSet::STRING.or(TypeSet::NUMBER).or(TypeSet::BOOLEAN);
                let mut node = if self.rules.type_lists {
                    Node {
                        description: Some(Cow::Borrowed("Arrays and objects as JSON text")),
                        ..Node::of(types)
                    }
                } else {
                    let mut branches: Vec<_> = types.singles().map(Node::of).collect();
                    if let Some(text) = branches.first_mut() {
                        text.description = Some(Cow::Borrowed("Text; arrays and objects as JSON text"));
                    }
                    Node { branches, ..Node::default() }
                };
                node.types = node.types.or(TypeSet::NULL);
                Lowered::new(node, Codec::Containers)
            }
            Anything::Definition => {
                if place.in_union && !self.rules.ref_in_union {
                    return Lowered::new(Node::text(JSON_TEXT), Codec::Text);
                }
                let index = self.anything_definition();
                let native = matches!(self.rules.additional, Additional::Keep | Additional::Explicit);
                if !native {
                    self.change(
                        view.path,
                        "type",
                        None,
                        Fate::Encoded,
                        "objects of any kind travel as lists of entries",
                    );
                }
                let codec = if native { Codec::Same } else { Codec::Anything };
                Lowered::new(Node { reference: Some(index), ..Node::default() }, codec)
            }
        }
    }

    /// The recursive definition of any JSON value.
    fn anything_definition(&mut self) -> usize {
        if let Some(index) = self.definitions.iter().position(|definition| definition.name == "any_json") {
            return index;
        }
        let index = self.definitions.len();
        let itself = || Node { reference: Some(index), ..Node::default() };
        let mut array = Node::of(TypeSet::ARRAY);
        array.array = Some(Box::new(super::node::ArrayNode { items: Some(itself()), ..Default::default() }));
        let object = if matches!(self.rules.additional, Additional::Keep | Additional::Explicit) {
            Node::of(TypeSet::OBJECT)
        } else {
            self.entries_node(Node::of(TypeSet::STRING), itself(), true)
        };
        let mut branches: Vec<_> =
            TypeSet::STRING.or(TypeSet::NUMBER).or(TypeSet::BOOLEAN).singles().map(Node::of).collect();
        branches.push(array);
        branches.push(object);
        self.definitions.push(Definition {
            target: None,
            name: "any_json".to_owned(),
            node: Some(Node { types: TypeSet::NULL, branches, ..Node::default() }),
            codec: Codec::Same,
            guard: std::cell::OnceCell::new(),
            json: None,
            at: 0,
        });
        index
    }

    /// A reference that stays one; `None` where it has to be written out.
    fn lower_reference(&mut self, source: Source<'a>, place: Place) -> Option<Lowered<'a>> {
        let map = source.schema.as_object()?;
        let Value::String(reference) = map.member("$ref")? else { return None };
        let alone = map.keys().all(|name| {
            matches!(name.as_str(), "$ref" | "$defs" | "definitions")
                || Keyword::parse(name).is_some_and(|keyword| {
                    keyword == Keyword::Description || matches!(keyword.kind(), Kind::Annotation | Kind::Hint)
                })
        });
        if !(alone || self.draft.ref_hides_siblings) || (place.in_union && !self.rules.ref_in_union) {
            return None;
        }
        let resource = self.resolver.resource_of(source.schema, source.resource);
        let target = self.resolve(reference, resource)?;
        let known = self
            .definitions
            .iter()
            .position(|definition| definition.target.is_some_and(|known| std::ptr::eq(known, target.schema)));
        let index = match known {
            Some(index) => {
                let unfinished =
                    self.definitions.get(index).is_some_and(|definition| definition.node.is_none());
                if unfinished
                    && self.definitions.get(index).is_some_and(|definition| definition.at == place.total)
                {
                    // The definition is one of its own alternatives: that adds no value.
                    return Some(Lowered::impossible());
                }
                if unfinished && !self.rules.recursion {
                    return None;
                }
                index
            }
            None => self.define(target, place)?,
        };
        let name = self.definitions.get(index).map_or("", |definition| definition.name.as_str());
        if reference.strip_prefix("#/$defs/") != Some(name) {
            self.change(
                source.path,
                "$ref",
                map.member("$ref"),
                Fate::Rewritten,
                "refers to a definition at the root",
            );
        }
        let mut view = View::new(source.path, Some(source.schema));
        for (name, value) in map {
            match Keyword::parse(name) {
                Some(Keyword::Description) => {
                    if let Value::String(text) = value {
                        view.description = Some(Cow::Borrowed(text));
                    }
                }
                Some(Keyword::Ref | Keyword::Defs | Keyword::Definitions) => {}
                Some(keyword) if matches!(keyword.kind(), Kind::Annotation | Kind::Hint) => {
                    view.hints.push((keyword, value, source.path));
                }
                _ => self.change(
                    source.path,
                    name,
                    Some(value),
                    Fate::Rewritten,
                    "this draft ignores it beside $ref",
                ),
            }
        }
        let node = Node { reference: Some(index), ..Node::default() };
        let mut lowered = Lowered::new(node, Codec::Definition(index));
        self.finish_words(&mut lowered, &mut view, true, &mut Vec::new());
        Some(lowered)
    }

    /// Makes a definition of `target`; `None` where it is only a reference to itself, or too many are being made.
    fn define(&mut self, target: Source<'a>, place: Place) -> Option<usize> {
        if self.opened >= super::DEEPEST {
            return None;
        }
        let index = self.definitions.len();
        let name = self.definition_name(target.path);
        self.definitions.push(Definition {
            target: Some(target.schema),
            name,
            node: None,
            codec: Codec::Same,
            guard: std::cell::OnceCell::new(),
            json: None,
            at: place.total,
        });
        let place = Place { depth: 1, total: place.total, root: false, in_union: false };
        self.opened += 1;
        let lowered = self.lower(&[target], place);
        self.opened -= 1;
        if lowered.node.reference == Some(index) || !lowered.possible {
            self.definitions.truncate(index);
            return None;
        }
        if let Some(definition) = self.definitions.get_mut(index) {
            definition.node = Some(lowered.node);
            definition.codec = lowered.codec;
        }
        Some(index)
    }

    /// A legal, unused name for the definition at `path`.
    pub(crate) fn definition_name(&self, path: PathId) -> String {
        let mut parts = Vec::new();
        let mut at = path;
        while let Some((parent, step)) = self.changes.paths.last(at) {
            match step {
                crate::report::Step::Name("$defs" | "definitions" | "properties") => {
                    if !parts.is_empty() {
                        break;
                    }
                }
                crate::report::Step::Name(name) => parts.push(name.to_owned()),
                crate::report::Step::Index(index) => parts.push(index.to_string()),
            }
            at = parent;
        }
        parts.reverse();
        let mut name: String = parts
            .join("_")
            .chars()
            .map(
                |char| {
                    if char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.') { char } else { '_' }
                },
            )
            .take(60)
            .collect();
        if name.is_empty() {
            "root".clone_into(&mut name);
        }
        // Where references stay in place, so do the definitions of the schema.
        let kept = self.root.get("$defs").filter(|_| self.rules.refs != RefStyle::Defs);
        let taken = |name: &str| {
            name == "any_json"
                || kept.is_some_and(|table| table.get(name).is_some())
                || self.definitions.iter().any(|known| known.name == name)
        };
        if taken(&name) {
            let number = (2..=usize::MAX).find(|number| !taken(&format!("{name}_{number}"))).unwrap_or(0);
            name = format!("{name}_{number}");
        }
        name
    }

    /// Writes descriptions, notes, defaults and other words onto a node.
    pub(crate) fn finish_words(
        &mut self,
        lowered: &mut Lowered<'a>,
        view: &mut View<'a>,
        has_description: bool,
        elsewhere: &mut Vec<Note<'a>>,
    ) {
        for (keyword, value, path) in std::mem::take(&mut view.hints) {
            self.hint(keyword, value, path, lowered, view);
        }
        let own = lowered.node.description.take();
        let outer = view.description.take();
        let notes = std::mem::take(&mut view.notes);
        if !has_description {
            elsewhere.extend(notes);
            return;
        }
        let description = match (outer, own) {
            (Some(outer), Some(own)) if !outer.contains(own.as_ref()) => {
                Some(Cow::Owned(if own.starts_with("Constraints: ") || own.starts_with("IMPORTANT: ") {
                    format!("{outer}\n\n{own}")
                } else {
                    format!("{outer}\n{own}")
                }))
            }
            (Some(outer), _) => Some(outer),
            (None, own) => own,
        };
        lowered.node.description = compose(self.rules.text, description, &notes);
    }

    /// Beside a reference only a description can stand.
    fn word_verdict(&self, keyword: Keyword, lowered: &Lowered<'a>) -> Verdict {
        match (self.rules.keywords.of(keyword), keyword.kind()) {
            (Verdict::Keep | Verdict::Hint, Kind::Annotation)
                if lowered.node.reference.is_some()
                    || (!lowered.node.branches.is_empty() && self.rules.any_of == AnyOfStyle::Alone) =>
            {
                Verdict::Drop
            }
            (Verdict::Keep | Verdict::Hint, _) if lowered.node.reference.is_some() => Verdict::Describe,
            (verdict, _) => verdict,
        }
    }

    fn hint(
        &mut self,
        keyword: Keyword,
        value: &'a Value,
        path: PathId,
        lowered: &mut Lowered<'a>,
        view: &mut View<'a>,
    ) {
        let name = keyword.name();
        match keyword {
            Keyword::Default => match self.defaults {
                Defaults::Keep if lowered.codec == Codec::Same && lowered.node.reference.is_none() => {
                    lowered.node.keywords.push((name, Json::Same(value)));
                }
                Defaults::Keep | Defaults::Describe => {
                    view.notes.push(Note::Default(value));
                    self.change(path, name, Some(value), Fate::Described, "defaults cannot be said here");
                }
                Defaults::Strip => {
                    self.change(path, name, Some(value), Fate::Dropped, "defaults are stripped");
                }
            },
            _ => match self.word_verdict(keyword, lowered) {
                Verdict::Keep | Verdict::Hint => {
                    if lowered.node.keywords.iter().any(|(known, _)| *known == name) {
                        self.change(path, name, Some(value), Fate::Dropped, "another one stands there");
                    } else {
                        lowered.node.keywords.push((name, Json::Same(value)));
                    }
                }
                Verdict::Describe if keyword.kind() == Kind::Hint => {
                    view.notes.push(Note::Keyword(name, value));
                    self.change(path, name, Some(value), Fate::Described, "not a keyword of this dialect");
                }
                Verdict::Describe | Verdict::Drop => {
                    self.change(path, name, Some(value), Fate::Dropped, "an annotation");
                }
            },
        }
    }
}
