//! Folding unions of objects into one object with words about the alternatives.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Reader;
use super::view::{ArrayPart, ObjectPart, UnionPart, View};
use crate::options::Defaults;
use crate::schema::{Keyword, Kind, Members, Source, TypeSet};
use crate::text::{Note, plain};

/// Alternatives that unions inside alternatives are multiplied into.
const MOST_ALTERNATIVES: usize = 64;

/// Branches that are looked into, in all unions of a schema together: references make unions inside unions from few words. Choosing
/// among them takes at most half, so that there is room to learn what the others declare.
pub(crate) const MOST_BRANCHES: usize = 10_000;

/// What conditions say that may hold or not.
pub(crate) struct Discovered<'a> {
    /// What each of them says about objects.
    pub(crate) objects: Vec<Vec<ObjectPart<'a>>>,
    /// What all of them say about arrays.
    pub(crate) arrays: Vec<ArrayPart<'a>>,
    /// What some item must satisfy.
    pub(crate) contained: Vec<Source<'a>>,
    /// Whether that is all.
    pub(crate) complete: bool,
}

impl Discovered<'_> {
    /// Nothing is said under conditions.
    pub(crate) fn none() -> Self {
        Self { objects: Vec::new(), arrays: Vec::new(), contained: Vec::new(), complete: true }
    }
}

/// One alternative of a folded union.
struct Folded<'a> {
    /// What it says about objects besides its own unions.
    parts: Vec<ObjectPart<'a>>,
    /// The same with each way to satisfy its unions.
    alternatives: Vec<Vec<ObjectPart<'a>>>,
    /// Conditions in it, and branches of unions among which it makes no choice.
    unsaid: Vec<Source<'a>>,
    description: Option<Cow<'a, str>>,
    /// Rules of it that are not about single properties.
    rules: Vec<(&'a str, &'a Value)>,
    /// Its own unions.
    choices: Vec<Choice<'a>>,
}

/// A union, and its alternatives.
struct Choice<'a> {
    keyword: Keyword,
    branches: Vec<Folded<'a>>,
}

impl<'a> Reader<'a, '_> {
    /// Turns unions into alternatives of one object.
    pub(crate) fn fold(&mut self, unions: Vec<UnionPart<'a>>, view: &mut View<'a>) {
        for union in unions {
            let branches = self.branches(&union);
            let cut = self.fold_alternatives(union.keyword, branches, view);
            let reason = if cut {
                "properties of all alternatives together; some of their rules are too long to be written"
            } else {
                "properties of all alternatives together, their rules in the description"
            };
            self.rewritten(union.source.path, union.keyword.name(), Some(union.original), reason);
        }
    }

    /// Turns `sources`, of which one must hold, into alternatives of one object; `true` if some of their rules are not said.
    pub(crate) fn fold_alternatives(
        &mut self,
        keyword: Keyword,
        sources: Vec<Source<'a>>,
        view: &mut View<'a>,
    ) -> bool {
        let mut set: Vec<Vec<ObjectPart<'a>>> = Vec::with_capacity(sources.len());
        let mut branches = Vec::with_capacity(sources.len());
        for branch in sources {
            if let Some(mut folded) = self.fold_branch(branch, 4) {
                set.append(&mut folded.alternatives);
                view.conditional.append(&mut folded.unsaid);
                branches.push(folded);
            }
        }
        let choice = Choice { keyword, branches };
        let mut room = Room { left: LONGEST_CONDITIONS, cut: false };
        let base: Vec<&ObjectPart<'a>> = view.objects.iter().collect();
        let conditions = conditions(&choice.branches, &base, &mut room);
        let is_said = conditions.is_some();
        if let Some(conditions) = conditions {
            let sentence = format!("{} these must hold: {}", choice.rule(), conditions.join(" | "));
            view.notes.push(Note::Sentence(Cow::Owned(sentence)));
        }
        view.alternatives.push(set);
        is_said && room.cut
    }

    /// One alternative; `None` where it takes no object.
    fn fold_branch(&mut self, source: Source<'a>, depth: usize) -> Option<Folded<'a>> {
        let mut view = self.glimpse(source);
        if view.impossible || !view.types.contains(TypeSet::OBJECT) {
            return None;
        }
        let parts = std::mem::take(&mut view.objects);
        let facets = view.facets.iter().map(|facet| (facet.keyword.name(), facet.original));
        let notes = view.notes.iter().filter_map(|note| match note {
            Note::Keyword(name, value) => Some((*name, *value)),
            Note::Sentence(_) | Note::Default(_) => None,
        });
        let mut rules: Vec<(&str, &Value)> = facets.chain(notes).collect();
        let description = view.description.take();
        for (keyword, value, path) in std::mem::take(&mut view.hints) {
            if keyword.kind() == Kind::Annotation {
                self.dropped(path, keyword.name(), Some(value), "an annotation");
            } else if keyword == Keyword::Default && self.defaults() == Defaults::Strip {
                self.dropped(path, keyword.name(), Some(value), "defaults are stripped");
            } else {
                rules.push((keyword.name(), value));
            }
        }
        let mut alternatives = vec![parts.clone()];
        let mut unsaid = std::mem::take(&mut view.conditional);
        let mut choices = Vec::new();
        for union in std::mem::take(&mut view.unions) {
            let branches = self.branches(&union);
            let before = unsaid.len();
            let most = MOST_ALTERNATIVES / alternatives.len().max(1);
            let mut inner = Vec::with_capacity(union.branches.len().min(most));
            let mut choice = Choice { keyword: union.keyword, branches: Vec::new() };
            let mut said = depth > 0;
            for branch in &branches {
                if !said || self.branches_left <= MOST_BRANCHES / 2 {
                    said = false;
                    break;
                }
                if let Some(mut folded) = self.fold_branch(*branch, depth - 1) {
                    inner.append(&mut folded.alternatives);
                    unsaid.append(&mut folded.unsaid);
                    choice.branches.push(folded);
                }
                said = inner.len() <= most;
            }
            if !said {
                // The other parts alone allow more, but what the branches declare must be known.
                unsaid.truncate(before);
                unsaid.extend(branches);
                continue;
            }
            alternatives = alternatives
                .iter()
                .flat_map(|before| inner.iter().map(move |more| [before.as_slice(), more].concat()))
                .collect();
            choices.push(choice);
        }
        let folded = Folded { parts, alternatives, unsaid, description, rules, choices };
        (!folded.alternatives.is_empty()).then_some(folded)
    }

    /// What a schema says, without reporting on it.
    pub(crate) fn glimpse(&mut self, source: Source<'a>) -> View<'a> {
        self.branches_left = self.branches_left.saturating_sub(1);
        let entries = self.changes.entries.len();
        let mark = self.chain.len();
        let mut view = View::new(source.path, Some(source.schema));
        self.gather(source, &mut view);
        self.chain.truncate(mark);
        self.changes.entries.truncate(entries);
        view
    }

    /// What schemas that hold under conditions say, and what each alternative and condition inside them says.
    pub(crate) fn discover(&mut self, conditional: &[Source<'a>]) -> Discovered<'a> {
        let mut found = Discovered::none();
        if conditional.is_empty() {
            return found;
        }
        if self.conditions >= self.chain.reach.conditions {
            found.complete = false;
            return found;
        }
        let mut seen: HashSet<(*const Value, bool)> = HashSet::new();
        let mut ahead: Vec<Source<'a>> = conditional.iter().rev().copied().collect();
        while let Some(source) = ahead.pop() {
            if !seen.insert((source.schema, source.asked)) {
                continue;
            }
            if self.branches_left == 0 {
                found.complete = false;
                break;
            }
            let mut view = self.glimpse(source);
            found.complete &= view.cut.is_none();
            if !view.objects.is_empty() {
                found.objects.push(std::mem::take(&mut view.objects));
            }
            found.arrays.append(&mut view.arrays);
            found.contained.append(&mut view.contained);
            let mark = ahead.len();
            ahead.append(&mut view.conditional);
            for union in &view.unions {
                let branches = self.branches(union);
                ahead.extend(branches);
            }
            // What was found last is looked at first.
            if let Some(found) = ahead.get_mut(mark..) {
                found.reverse();
            }
        }
        found
    }

    /// The branches of a union, each where it stands.
    pub(crate) fn branches(&mut self, union: &UnionPart<'a>) -> Vec<Source<'a>> {
        let list = self.inside(union.source, union.keyword.name(), union.original);
        let branches = union.branches.iter().enumerate();
        branches.map(|(index, schema)| self.item(list, index, schema)).collect()
    }
}

/// Characters of the rules that distinguish alternatives.
const LONGEST_CONDITIONS: usize = 8_000;

/// Characters that may still be written.
struct Room {
    left: usize,
    /// Whether some rules are too long to be written.
    cut: bool,
}

impl Choice<'_> {
    fn rule(&self) -> &'static str {
        if self.keyword == Keyword::OneOf { "exactly one of" } else { "at least one of" }
    }
}

/// What each alternative asks for, in words; `None` where one of them asks for nothing, so that nothing is asked for. What holds beside
/// the alternatives is `base`.
fn conditions(branches: &[Folded<'_>], base: &[&ObjectPart<'_>], room: &mut Room) -> Option<Vec<String>> {
    let mut asks = true;
    let mut described = false;
    let mut words = Vec::with_capacity(branches.len());
    let said = Declarations::of(branches, base);
    for (index, branch) in branches.iter().enumerate() {
        let mut rules = demands(&branch.parts);
        for rule in distinctions(index, branch, &said) {
            // What follows may make no sense without it.
            let Some(rest) = room.left.checked_sub(rule.len()) else {
                room.cut = true;
                break;
            };
            room.left = rest;
            rules.push(rule);
        }
        for choice in &branch.choices {
            if room.cut {
                break;
            }
            let base: Vec<&ObjectPart<'_>> = base.iter().copied().chain(&branch.parts).collect();
            let before = room.left;
            let Some(inner) = conditions(&choice.branches, &base, room) else { continue };
            let rule = format!("{} [{}]", choice.rule(), inner.join(" | "));
            // Words of the alternatives count as well here: references can repeat them.
            match before.checked_sub(rule.len()) {
                Some(left) => {
                    room.left = left;
                    rules.push(rule);
                }
                None => room.cut = true,
            }
        }
        asks &= !rules.is_empty() || !branch.declares_nothing();
        described |= branch.description.is_some() || !rules.is_empty();
        let rules = (!rules.is_empty()).then(|| rules.join(", "));
        words.push(match (&branch.description, rules) {
            (Some(text), Some(rules)) => format!("{text} ({rules})"),
            (Some(text), None) => text.clone().into_owned(),
            (None, Some(rules)) => rules,
            (None, None) => "no further rule".to_owned(),
        });
    }
    (described && asks).then_some(words)
}

/// The values that an alternative fixes, and the properties that it wants.
fn demands(parts: &[ObjectPart<'_>]) -> Vec<String> {
    let mut words = Vec::new();
    let mut fixed_names = HashSet::new();
    for part in parts {
        for (name, schema) in part.properties.into_iter().flatten() {
            if let Some(value) = fixed(schema) {
                words.push(format!("{name} = {}", plain(value)));
                fixed_names.insert(name.as_str());
            }
        }
    }
    let required: Vec<&str> = parts
        .iter()
        .flat_map(|part| part.required.iter().copied())
        .filter(|name| !fixed_names.contains(name))
        .collect();
    if !required.is_empty() {
        words.push(format!("required: {}", required.join(", ")));
    }
    words
}

/// The one value that a schema takes.
fn fixed(schema: &Value) -> Option<&Value> {
    schema.member("const").or_else(|| match schema.member("enum") {
        Some(Value::Array(values)) => values.first().filter(|_| values.len() == 1),
        _ => None,
    })
}

/// What is said of each property: two different things at most, by two alternatives or by one and what always holds.
struct Declarations<'a>(HashMap<&'a str, Vec<Declaration<'a>>>);

struct Declaration<'a> {
    /// The alternative that says it; `None` where it always holds.
    by: Option<usize>,
    rules: Vec<Rule<'a>>,
}

impl<'a> Declarations<'a> {
    fn of(branches: &'a [Folded<'_>], base: &[&'a ObjectPart<'_>]) -> Self {
        let mut said: HashMap<&'a str, Vec<Declaration<'a>>> = HashMap::new();
        let always = |name: &str| {
            let schema = base.iter().find_map(|part| part.properties?.member(name))?;
            Some(Declaration { by: None, rules: rules_of(schema) })
        };
        for (index, branch) in branches.iter().enumerate() {
            let by = Some(index);
            for (name, schema) in branch.parts.iter().filter_map(|part| part.properties).flatten() {
                let known = said.entry(name).or_insert_with(|| always(name).into_iter().collect());
                let rules = rules_of(schema);
                if known.len() < 2 && known.iter().all(|other| other.by != by && other.rules != rules) {
                    known.push(Declaration { by, rules });
                }
            }
        }
        Self(said)
    }

    /// Whether another alternative says something else.
    fn differ(&self, name: &str, by: usize, rules: &[Rule<'_>]) -> bool {
        let known = self.0.get(name).into_iter().flatten();
        known.filter(|other| other.by != Some(by)).any(|other| other.rules != rules)
    }
}

/// Rules of an alternative that the properties of all of them together do not show, because another alternative says something else of
/// the same property, or because they are not about one property.
fn distinctions(index: usize, branch: &Folded<'_>, said: &Declarations<'_>) -> Vec<String> {
    let mut words = Vec::new();
    for part in &branch.parts {
        for (name, schema) in part.properties.into_iter().flatten() {
            let rules = rules_of(schema);
            // Where a reference leads is not to be seen here.
            let is_open = !rules.is_empty() && fixed(schema).is_none() && schema.member("$ref").is_none();
            if is_open && said.differ(name, index, &rules) {
                let rules: Vec<_> = rules.iter().map(|(key, value)| format!("{key} {value}")).collect();
                words.push(format!("{name}: {}", rules.join(", ")));
            }
        }
        match part.additional {
            Some(Value::Bool(false)) if part.patterns.is_none() => {
                words.push("no other properties".to_owned());
            }
            Some(rule @ Value::Object(_)) => words.push(format!("other properties: {rule}")),
            _ => {}
        }
        for name in ["patternProperties", "propertyNames"] {
            words.extend(part.source.schema.member(name).map(|rule| format!("{name}: {rule}")));
        }
    }
    words.extend(branch.rules.iter().map(|(name, value)| format!("{name}: {}", plain(value))));
    words
}

/// A keyword and its value.
type Rule<'a> = (&'a str, &'a Value);

/// What a schema asks for: all but words about it.
fn rules_of(schema: &Value) -> Vec<Rule<'_>> {
    let is_rule = |name: &str| {
        let kind = Keyword::parse(name).map(Keyword::kind);
        !matches!(kind, None | Some(Kind::Annotation | Kind::Hint)) && name != "description"
    };
    let members = schema.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
    members.filter(|(name, _)| is_rule(name)).collect()
}

impl Folded<'_> {
    /// Whether it takes every object and declares no property.
    fn declares_nothing(&self) -> bool {
        let is_empty = |part: &ObjectPart<'_>| {
            part.properties.is_none_or(serde_json::Map::is_empty) && part.required.is_empty()
        };
        self.rules.is_empty() && self.parts.iter().all(is_empty)
    }
}
