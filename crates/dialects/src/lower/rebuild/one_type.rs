//! Alternatives in dialects without `anyOf`: every node has one type.
//!
//! What has one type anyway keeps it: lists of values, alternatives that differ in their bounds only, objects (folded into one with
//! the properties of all). Where text is among the alternatives and no object with properties, or all of them are scalars, they
//! travel as text. All others are properties of one object, of which a value has one; [`Rebuild::join`] makes it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::loose_text::{LEVELS, ONE_TYPE, null_or, reason_of, travels_loosely};
use super::position::{Location, Lowered};
use super::reader::fold::MOST_BRANCHES;
use super::reader::view::{ObjectPart, View};
use super::union::{Alternative, MOST_BRANCHES as MOST_ALTERNATIVES, tag_of};
use super::{Node, Rebuild};
use crate::dialect::AnyOfStyle;
use crate::plan::{Branch, Codec, Guard};
use crate::schema::{Holds, Keyword, Kind as SubjectKind, Members, Source, TypeSet};
use crate::text::Note;

const NULL: &Value = &Value::Null;

/// The one form of several alternatives.
enum Form<'a> {
    /// One of these values.
    Values(Vec<&'a Value>),
    /// Values of one scalar type.
    Scalar(TypeSet),
    /// Objects.
    Objects,
    /// Text, and values of other types as JSON text.
    Loose(TypeSet),
}

/// What one alternative looks like.
struct Kind<'a> {
    types: TypeSet,
    values: Option<Vec<&'a Value>>,
    description: Option<Cow<'a, str>>,
    objects: Vec<ObjectPart<'a>>,
    /// Whether it says more than a type.
    is_bound: bool,
    is_cut: bool,
}

/// What the alternatives of a position look like.
struct Kinds<'a> {
    /// Those that take more than null.
    others: Vec<Kind<'a>>,
    null: bool,
}

impl<'a> Rebuild<'a, '_> {
    /// Whether alternatives can only be said by one type.
    pub(super) fn has_one_type(&self) -> bool {
        self.choices.any_of == AnyOfStyle::Never
    }

    /// The unions of `view` as one type; `None` where alternatives are written by themselves and joined.
    pub(super) fn union_as_one_type(
        &mut self,
        view: &mut View<'a>,
        location: Location,
    ) -> Option<Lowered<'a>> {
        let (union, others) = view.unions.split_first()?;
        if union.branches.len() > MOST_ALTERNATIVES || others.len() > 3 {
            return None;
        }
        let (union, others) = (union.clone(), others.to_vec());
        let mut outer = view.types;
        for other in &others {
            let branches = self.branches(other);
            outer = outer.and(self.types_of_any(&branches, LEVELS));
        }
        let branches = self.branches(&union);
        let kinds: Vec<Vec<Source<'a>>> = branches.iter().map(|branch| vec![*branch]).collect();
        let seen = self.look_at(&kinds, outer);
        let is_open = self.folding.iter().any(|known| std::ptr::eq(*known, union.original));
        let form = match seen.form(self.chain.reach.apart)? {
            Form::Objects if is_open => Form::Loose(TypeSet::OBJECT),
            form => form,
        };
        let (path, name) = (union.source.path, union.keyword.name());
        match form {
            Form::Loose(types) => {
                view.unions.clear();
                for other in &others {
                    self.describe(other.source.path, other.keyword.name(), other.original, view, ONE_TYPE);
                }
                self.encoded(path, name, Some(union.original), reason_of(types));
                let (texts, forms) = self.forms_in_words(&branches, outer);
                return Some(self.lower_loosely(view, types, &texts, forms, seen.null));
            }
            Form::Objects => {
                view.types = null_or(TypeSet::OBJECT, seen.null);
                let unions = std::mem::take(&mut view.unions);
                self.fold(unions, view);
                self.note_folded(&branches);
            }
            Form::Values(values) => {
                view.unions.remove(0);
                self.rewritten(path, name, Some(union.original), "one list of values");
                take_values(view, values, &seen);
            }
            Form::Scalar(types) => {
                view.unions.remove(0);
                self.rewritten(path, name, Some(union.original), ONE_TYPE);
                self.say_scalars(view, types, &seen, &branches, outer);
            }
        }
        self.folding.push(union.original);
        let lowered = self.lower_view_again(view, location);
        self.folding.pop();
        Some(lowered)
    }

    /// Any of `kinds` as one type; `None` where they are written by themselves and joined.
    pub(super) fn kinds_as_one_type(
        &mut self,
        kinds: &[Vec<Source<'a>>],
        may: &[Source<'a>],
        location: Location,
    ) -> Option<Lowered<'a>> {
        let seen = self.look_at(kinds, TypeSet::ALL);
        let sources: Vec<Source<'a>> = kinds.iter().flatten().copied().collect();
        let path = sources.first()?.path;
        let is_single = sources.len() == kinds.len();
        let is_open =
            sources.iter().any(|source| self.folding.iter().any(|known| std::ptr::eq(*known, source.schema)));
        let form = match seen.form(self.chain.reach.apart)? {
            Form::Objects if !is_single || is_open => Form::Loose(TypeSet::OBJECT),
            form => form,
        };
        let mut view = View::new(path, None);
        let reason = match form {
            Form::Loose(types) => reason_of(types),
            Form::Objects => "properties of all alternatives together, their rules in the description",
            Form::Values(_) => "one list of values",
            Form::Scalar(_) => ONE_TYPE,
        };
        for source in &sources {
            for (name, value) in source.schema.as_object().into_iter().flatten() {
                if matches!(form, Form::Loose(_)) {
                    self.encoded(source.path, name, Some(value), reason);
                } else if Keyword::parse(name)
                    .is_some_and(|keyword| keyword.kind() == SubjectKind::Annotation)
                {
                    self.dropped(source.path, name, Some(value), "an annotation");
                } else {
                    self.rewritten(source.path, name, Some(value), reason);
                }
            }
        }
        match form {
            Form::Loose(types) => {
                let (texts, forms) = self.forms_in_words(&sources, TypeSet::ALL);
                let mut lowered = self.lower_loosely(&mut view, types, &texts, forms, seen.null);
                self.finish_words(&mut lowered, &mut view, true, &mut Vec::new());
                return Some(lowered);
            }
            Form::Objects => {
                view.types = null_or(TypeSet::OBJECT, seen.null);
                self.fold_alternatives(Keyword::AnyOf, sources.clone(), &mut view);
                view.conditional.extend(self.declaring(&sources, may));
                self.note_folded(&sources);
            }
            Form::Values(values) => take_values(&mut view, values, &seen),
            Form::Scalar(types) => self.say_scalars(&mut view, types, &seen, &sources, TypeSet::ALL),
        }
        let mark = self.folding.len();
        self.folding.extend(sources.iter().map(|source| source.schema));
        let lowered = self.lower_view(&mut view, location);
        self.folding.truncate(mark);
        Some(lowered)
    }

    /// One object with a property for each alternative.
    pub(super) fn join_as_properties(&mut self, alternatives: Vec<Alternative<'a>>) -> (Node<'a>, Codec) {
        self.guarded = true;
        self.guard_definitions();
        let mut branches = Vec::with_capacity(alternatives.len());
        let mut properties = Vec::with_capacity(alternatives.len());
        for (index, alternative) in alternatives.into_iter().enumerate() {
            let tag = tag_of(index);
            let Lowered { node, codec, .. } = alternative.lowered;
            let wire = Guard::tagged(&tag, self.guard(&node));
            branches.push(Branch {
                tag: Some(Box::from(tag.as_str())),
                mcp: alternative.mcp.guard(),
                wire,
                codec,
            });
            properties.push((Cow::Owned(tag), node));
        }
        let mut node = self.object_node([]);
        if let Some(object) = &mut node.object {
            object.properties = properties;
        }
        node.description = Some(Cow::Borrowed("Exactly one of the properties"));
        (node, Codec::Union(branches))
    }

    /// Bounds of alternatives of one type, in words.
    fn say_scalars(
        &mut self,
        view: &mut View<'a>,
        types: TypeSet,
        seen: &Kinds<'a>,
        sources: &[Source<'a>],
        outer: TypeSet,
    ) {
        view.types = view.types.and(null_or(types, seen.null));
        if seen.others.iter().any(|kind| kind.is_bound || kind.values.is_some()) {
            let (texts, forms) = self.forms_in_words(sources, outer);
            let words: Vec<String> = texts.into_iter().chain(forms).collect();
            view.notes.push(Note::Sentence(Cow::Owned(format!("any of: {}", words.join(" or ")))));
        } else {
            for description in seen.others.iter().filter_map(|kind| kind.description.clone()) {
                view.add_description(description);
            }
        }
    }

    fn look_at(&mut self, kinds: &[Vec<Source<'a>>], outer: TypeSet) -> Kinds<'a> {
        let mut seen = Kinds { others: Vec::with_capacity(kinds.len()), null: false };
        for sources in kinds {
            let mut view = self.glimpse_all(sources);
            let types = self.types_in(&view, LEVELS).and(outer);
            seen.null |= types.contains(TypeSet::NULL);
            let types = types.without(TypeSet::NULL);
            if types.is_empty() {
                continue;
            }
            let values = view.values.take().filter(|_| view.unions.is_empty());
            let is_bound = !view.facets.is_empty() || !view.notes.is_empty() || !view.unions.is_empty();
            let is_cut = view.cut.is_some();
            let (description, objects) = (view.description.take(), std::mem::take(&mut view.objects));
            seen.others.push(Kind { types, values, description, objects, is_bound, is_cut });
        }
        seen
    }

    /// Types of the values that `view` takes.
    pub(super) fn types_in(&mut self, view: &View<'a>, levels: usize) -> TypeSet {
        if view.impossible {
            return TypeSet::NONE;
        }
        let mut types = view.types;
        if let Some(values) = &view.values {
            types = types.and(values.iter().fold(TypeSet::NONE, |types, value| types.or(TypeSet::of(value))));
        }
        for union in &view.unions {
            let branches = self.branches(union);
            types = types.and(self.types_of_any(&branches, levels));
        }
        types
    }

    fn types_of_any(&mut self, sources: &[Source<'a>], levels: usize) -> TypeSet {
        let mut types = TypeSet::NONE;
        for source in sources {
            if levels == 0 || self.branches_left <= MOST_BRANCHES / 2 {
                return TypeSet::ALL;
            }
            let view = self.glimpse(*source);
            types = types.or(self.types_in(&view, levels - 1));
        }
        types
    }

    /// What several schemas say together, without reporting on it.
    fn glimpse_all(&mut self, sources: &[Source<'a>]) -> View<'a> {
        let (Some(first), rest) = (sources.first(), sources.get(1..).unwrap_or_default()) else {
            return View::new(crate::report::PathId::ROOT, None);
        };
        let mut view = self.glimpse(*first);
        let (entries, mark) = (self.changes.entries.len(), self.chain.len());
        for source in rest {
            self.gather(*source, &mut view);
        }
        self.chain.truncate(mark);
        self.changes.entries.truncate(entries);
        view
    }

    /// Notes that what `branches` refer to is written, and reports on properties that another branch has word for word: only one
    /// of them is read.
    fn note_folded(&mut self, branches: &[Source<'a>]) {
        let mut known: HashMap<&str, Vec<&Value>> = HashMap::new();
        for branch in branches {
            let (entries, mark) = (self.changes.entries.len(), self.chain.len());
            let mut view = View::new(branch.path, None);
            self.gather(*branch, &mut view);
            self.note_written(std::slice::from_ref(branch), mark);
            self.chain.truncate(mark);
            self.changes.entries.truncate(entries);
            for part in view.objects {
                for (name, schema) in part.properties.into_iter().flatten() {
                    let same = known.entry(name).or_default();
                    if same.contains(&schema) {
                        let table = self.inside(part.source, "properties", schema);
                        let source = self.inside(table, name, schema);
                        self.drop_annotations(source);
                    } else {
                        same.push(schema);
                    }
                }
            }
        }
    }

    /// Reports that the annotations of a schema, and of those inside it, went away. Its depth is bounded by the budget.
    fn drop_annotations(&mut self, source: Source<'a>) {
        for (name, value) in source.schema.as_object().into_iter().flatten() {
            let Some(keyword) = Keyword::parse(name) else { continue };
            if keyword.kind() == SubjectKind::Annotation {
                self.dropped(source.path, name, Some(value), "an annotation");
                continue;
            }
            let inside = self.inside(source, name, value);
            match (Holds::of(name), value) {
                (Holds::Schema | Holds::SchemaOrList, Value::Object(_)) => self.drop_annotations(inside),
                (Holds::List | Holds::SchemaOrList, Value::Array(items)) => {
                    for (index, item) in items.iter().enumerate() {
                        let item = self.item(inside, index, item);
                        self.drop_annotations(item);
                    }
                }
                (Holds::Table, Value::Object(members)) => {
                    for (key, member) in members {
                        let member = self.inside(inside, key, member);
                        self.drop_annotations(member);
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'a> Kinds<'a> {
    /// Whether no two of these objects have structures of their own under the same key. One object for all would have to say them
    /// together and then again in words, each by itself.
    fn share_structure(&self) -> bool {
        let mut known: HashMap<&str, &Value> = HashMap::new();
        let parts = self.others.iter().flat_map(|kind| &kind.objects);
        parts.filter_map(|part| part.properties).flatten().all(|(name, schema)| {
            let first = *known.entry(name).or_insert(schema);
            first == schema || !(is_structured(first) || is_structured(schema))
        })
    }

    /// The one form of all of them; `None` where there is none, where there is only one of them, or where objects with structures
    /// of their own are to be written `apart`.
    fn form(&self, apart: bool) -> Option<Form<'a>> {
        if self.others.len() < 2 || self.others.iter().all(|kind| kind.is_cut) {
            return None;
        }
        let types = self.others.iter().fold(TypeSet::NONE, |types, kind| types.or(kind.types));
        if self.others.iter().any(|kind| kind.is_cut) {
            return Some(Form::Loose(TypeSet::ALL.without(TypeSet::NULL)));
        }
        if self.others.iter().all(|kind| kind.values.is_some()) {
            let values = self.others.iter().filter_map(|kind| kind.values.clone()).flatten();
            return Some(Form::Values(values.chain(self.null.then_some(NULL)).collect()));
        }
        if types == TypeSet::OBJECT && self.others.iter().all(|kind| kind.values.is_none()) {
            return (!apart || self.share_structure()).then_some(Form::Objects);
        }
        if types.count() == 1 && !types.meets(TypeSet::CONTAINERS) {
            return Some(Form::Scalar(types));
        }
        // Text that holds an object with many properties is hard to write: such an object is written out.
        let is_plain =
            self.others.iter().flat_map(|kind| &kind.objects).all(|part| part.properties.is_none());
        (is_plain && travels_loosely(types)).then_some(Form::Loose(types))
    }
}

fn is_structured(schema: &Value) -> bool {
    ["properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$ref"]
        .iter()
        .any(|name| schema.has(name))
}

/// Makes `view` a list of values, with what is said of each.
fn take_values<'a>(view: &mut View<'a>, values: Vec<&'a Value>, seen: &Kinds<'a>) {
    for kind in &seen.others {
        if let (Some(description), Some(values)) = (&kind.description, &kind.values) {
            let names: Vec<Cow<'_, str>> = values.iter().map(|value| crate::text::plain(value)).collect();
            view.add_description(Cow::Owned(format!("{}: {description}", names.join(", "))));
        }
    }
    view.constant = false;
    view.restrict_values(values);
}

impl Alternative<'_> {
    /// Takes null out of what it says, and returns whether it was there.
    pub(super) fn without_null(&mut self) -> bool {
        let null = self.lowered.node.types.contains(TypeSet::NULL);
        self.lowered.node.types = self.lowered.node.types.without(TypeSet::NULL);
        null
    }
}
