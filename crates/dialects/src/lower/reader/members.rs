//! Which properties an object has, and what describes them.

use super::Reader;
use super::implied_keys::ImpliedKeys;
use super::property_sources::KeyKinds;
use super::view::{ObjectPart, View};
use crate::schema::{Members, Source};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// What all parts together say about properties that are not declared.
pub(crate) enum Undeclared<'a> {
    Unsaid,
    Forbidden,
    /// Values of any of these kinds, each kind described by all of its sources.
    Allowed {
        kinds: Vec<Vec<Source<'a>>>,
        /// What may hold as well.
        may: Vec<Source<'a>>,
    },
}

impl Undeclared<'_> {
    /// Any value under any key.
    pub(crate) fn anything() -> Self {
        Self::Allowed { kinds: vec![Vec::new()], may: Vec::new() }
    }
}

/// Alternatives of an object, of which one must hold, or conditions, of which any may.
#[derive(Default)]
pub(crate) struct Choice<'a> {
    alternatives: Vec<Vec<ObjectPart<'a>>>,
    /// Which of them name a key.
    naming: HashMap<&'a str, Vec<usize>>,
    /// Those that speak of keys without naming them.
    general: Vec<usize>,
}

impl<'a> Choice<'a> {
    fn new(alternatives: Vec<Vec<ObjectPart<'a>>>) -> Self {
        let mut naming: HashMap<&'a str, Vec<usize>> = HashMap::new();
        let mut general = Vec::new();
        for (index, parts) in alternatives.iter().enumerate() {
            if parts.iter().any(|part| part.additional.is_some() || part.patterns.is_some()) {
                general.push(index);
            }
            for name in parts.iter().flat_map(named) {
                let indices = naming.entry(name).or_default();
                if indices.last() != Some(&index) {
                    indices.push(index);
                }
            }
        }
        Self { alternatives, naming, general }
    }

    pub(crate) fn len(&self) -> usize {
        self.alternatives.len()
    }

    /// The alternatives that may say something about `name`, in order, and whether they name it.
    pub(crate) fn about(&self, name: &str) -> Vec<(&[ObjectPart<'a>], bool)> {
        let naming = self.naming.get(name).map_or(&[][..], Vec::as_slice);
        let mut indices = [naming, &self.general].concat();
        indices.sort_unstable();
        indices.dedup();
        let parts = |index: usize| {
            let parts = self.alternatives.get(index)?.as_slice();
            Some((parts, naming.binary_search(&index).is_ok()))
        };
        indices.into_iter().filter_map(parts).collect()
    }
}

/// The keys that a part names.
pub(crate) fn named<'p, 'a>(part: &'p ObjectPart<'a>) -> impl Iterator<Item = &'a str> + use<'p, 'a> {
    let declared = part.properties.into_iter().flatten();
    let declared = declared.filter(|(name, schema)| *name != "required" || !schema.is_array());
    declared.map(|(name, _)| name.as_str()).chain(part.required.iter().copied())
}

/// All that is said about an object.
pub(crate) struct ObjectRules<'a> {
    /// What always holds.
    pub(crate) parts: Vec<ObjectPart<'a>>,
    pub(crate) alternatives: Vec<Choice<'a>>,
    /// What holds under conditions.
    pub(crate) conditions: Choice<'a>,
    /// Whether these are all conditions.
    complete: bool,
    /// What they say about keys beyond declaring, requiring or inviting them.
    pub(crate) implied_keys: Option<Box<ImpliedKeys<'a>>>,
}

impl<'a> ObjectRules<'a> {
    /// Everything that need not hold.
    pub(crate) fn uncertain(&self) -> impl Iterator<Item = &ObjectPart<'a>> {
        self.alternatives.iter().chain([&self.conditions]).flat_map(|set| &set.alternatives).flatten()
    }
}

/// The schemas that describe one property.
pub(crate) enum Kinds<'a> {
    /// One schema, as nearly always.
    One(Source<'a>),
    /// Any of these kinds, each described by all of its sources.
    Any(Vec<Vec<Source<'a>>>),
}

impl<'a> Kinds<'a> {
    pub(crate) fn first(&self) -> Option<&Source<'a>> {
        match self {
            Self::One(source) => Some(source),
            Self::Any(kinds) => kinds.first().and_then(|kind| kind.first()),
        }
    }
}

/// A property and the schemas that describe it.
pub(crate) struct Property<'a> {
    pub(crate) name: &'a str,
    pub(crate) kinds: Kinds<'a>,
    /// What may hold as well.
    pub(crate) may: Vec<Source<'a>>,
    /// Only an alternative or a condition declares it.
    pub(crate) conditional: bool,
}

impl<'a> Property<'a> {
    pub(crate) fn new(name: &'a str, described: KeyKinds<'a>, conditional: bool) -> Self {
        let KeyKinds { kinds, may } = described;
        let kinds = match kinds.as_slice() {
            [kind] => match kind.as_slice() {
                [source] => Kinds::One(*source),
                _ => Kinds::Any(kinds),
            },
            _ => Kinds::Any(kinds),
        };
        Self { name, kinds, may, conditional }
    }
}

pub(crate) fn says_nothing(source: &Source<'_>) -> bool {
    match source.schema {
        Value::Bool(flag) => *flag,
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Keys are always text: a rule for names that says only that says nothing.
pub(crate) fn is_trivial_name_rule(rule: &Value) -> bool {
    match rule {
        Value::Bool(flag) => *flag,
        Value::Object(map) => map.iter().all(|(name, value)| name == "type" && value == "string"),
        _ => false,
    }
}

/// A set of names that is quick to ask while it is small.
#[derive(Default)]
pub(crate) struct Names<'a> {
    pub(crate) few: Vec<&'a str>,
    pub(crate) many: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    const FEW: usize = 16;

    pub(crate) fn contains(&self, name: &str) -> bool {
        if self.many.is_empty() { self.few.contains(&name) } else { self.many.contains(name) }
    }

    /// Whether it is new.
    pub(crate) fn insert(&mut self, name: &'a str) -> bool {
        if self.contains(name) {
            return false;
        }
        if self.many.is_empty() && self.few.len() < Self::FEW {
            self.few.push(name);
            return true;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.drain(..));
        }
        self.many.insert(name)
    }
}

/// The names of required properties.
pub(crate) enum Required<'p, 'a> {
    /// Those of the only part, which are few.
    One(&'p [&'a str]),
    All(Names<'a>),
}

impl Required<'_, '_> {
    pub(crate) fn contains(&self, name: &str) -> bool {
        match self {
            Self::One(names) => names.contains(&name),
            Self::All(names) => names.contains(name),
        }
    }
}

pub(crate) fn required_names<'p, 'a>(said: &'p ObjectRules<'a>) -> Required<'p, 'a> {
    if let ([part], []) = (said.parts.as_slice(), said.alternatives.as_slice())
        && part.required.len() <= Names::FEW
    {
        return Required::One(&part.required);
    }
    let mut names = Names::default();
    for name in said.parts.iter().flat_map(|part| part.required.iter().copied()) {
        names.insert(name);
    }
    for set in &said.alternatives {
        let mut sets = set.alternatives.iter().map(|parts| {
            parts.iter().flat_map(|part| part.required.iter().copied()).collect::<HashSet<&'a str>>()
        });
        if let Some(first) = sets.next() {
            for name in sets.fold(first, |common, other| common.intersection(&other).copied().collect()) {
                names.insert(name);
            }
        }
    }
    Required::All(names)
}

impl<'a> Reader<'a, '_> {
    /// All that `view` says about objects, taken out of it.
    pub(crate) fn object_rules(&mut self, view: &mut View<'a>) -> ObjectRules<'a> {
        let parts = std::mem::take(&mut view.objects);
        let alternatives = std::mem::take(&mut view.alternatives).into_iter().map(Choice::new).collect();
        let found = self.discover(&std::mem::take(&mut view.conditional));
        let conditions = Choice::new(found.objects);
        let mut said =
            ObjectRules { parts, alternatives, conditions, complete: found.complete, implied_keys: None };
        said.implied_keys = self.implied_keys(&said);
        said
    }

    pub(crate) fn undeclared(&mut self, said: &ObjectRules<'a>) -> Undeclared<'a> {
        let mut all: Vec<Source<'a>> = Vec::new();
        let mut any: Option<Vec<Vec<Source<'a>>>> = None;
        let mut may: Vec<Source<'a>> = Vec::new();
        let mut invited = false;
        for part in &said.parts {
            if part.patterns.is_some_and(|patterns| !patterns.is_empty()) {
                invited = true;
                let mut kinds: Vec<Vec<Source<'a>>> =
                    self.invitations(part).into_iter().map(|source| vec![source]).collect();
                if part.additional.is_none_or(|more| more == &Value::Bool(true)) {
                    kinds.push(Vec::new());
                }
                may.extend(kinds.iter().flatten());
                any.get_or_insert(kinds);
                continue;
            }
            match part.additional {
                None => {}
                Some(Value::Bool(false)) => return Undeclared::Forbidden,
                Some(_) => {
                    invited = true;
                    all.extend(self.invitations(part));
                }
            }
        }
        for set in &said.alternatives {
            let closed = |parts: &Vec<ObjectPart<'a>>| {
                parts
                    .iter()
                    .any(|part| part.additional == Some(&Value::Bool(false)) && part.patterns.is_none())
            };
            if !set.alternatives.is_empty() && set.alternatives.iter().all(closed) {
                return Undeclared::Forbidden;
            }
        }
        for part in said.uncertain() {
            let found = self.invitations(part);
            invited |= !found.is_empty() || part.additional == Some(&Value::Bool(true));
            may.extend(found);
        }
        if !said.complete && self.closed {
            // What it would declare is not known: whatever it is, it must get through.
            return Undeclared::anything();
        }
        match any {
            Some(kinds) if all.is_empty() => Undeclared::Allowed { kinds, may },
            _ if invited => Undeclared::Allowed { kinds: vec![all], may },
            _ => Undeclared::Unsaid,
        }
    }

    /// The schemas for keys that `part` invites without naming them.
    fn invitations(&mut self, part: &ObjectPart<'a>) -> Vec<Source<'a>> {
        let mut found = Vec::new();
        for (pattern, schema) in part.patterns.into_iter().flatten() {
            if schema != &Value::Bool(false) {
                let list = self.inside(part.source, "patternProperties", schema);
                found.push(self.inside(list, pattern, schema));
            }
        }
        if let Some(schema @ Value::Object(_)) = part.additional {
            found.push(self.inside(part.source, "additionalProperties", schema));
        }
        found
    }

    /// Every property that some part names, in order.
    pub(crate) fn properties(
        &mut self,
        said: &ObjectRules<'a>,
        undeclared: &Undeclared<'a>,
    ) -> Vec<Property<'a>> {
        let mut found: Vec<Property<'a>> = Vec::new();
        let mut known = Names::default();
        // The keys of one object are distinct: nothing has to be remembered.
        let alone =
            said.parts.len() == 1 && said.alternatives.is_empty() && said.conditions.alternatives.is_empty();
        for part in &said.parts {
            let Some(properties) = part.properties else { continue };
            let list = Source { path: self.step(part.source.path, "properties"), ..part.source };
            found.reserve(properties.len());
            for (name, schema) in properties {
                if name == "required" && schema.is_array() {
                    self.rewritten(part.source.path, "properties", None, "required stood inside properties");
                    continue;
                }
                if !alone && !known.insert(name) {
                    continue;
                }
                let source = self.inside(list, name, schema);
                if alone && part.patterns.is_none() {
                    let kinds = Kinds::One(source);
                    found.push(Property { name, kinds, may: Vec::new(), conditional: false });
                } else if said.parts.len() > 1 && self.key_sources(&said.parts, name).forbidden {
                    self.rewritten(source.path, "", None, "another rule forbids it: left out");
                } else {
                    let described = self.key_kinds(said, name, true);
                    found.extend(described.map(|described| Property::new(name, described, false)));
                }
            }
        }
        let required = required_names(said);
        for part in said.uncertain().filter(|part| !part.source.asked) {
            for (name, schema) in part.properties.into_iter().flatten() {
                if (name != "required" || !schema.is_array()) && known.insert(name) {
                    let described = self.key_kinds(said, name, required.contains(name));
                    found.extend(described.map(|described| Property::new(name, described, true)));
                }
            }
        }
        if self.declares_required && !matches!(undeclared, Undeclared::Forbidden) {
            // Required, but declared nowhere: any value will do.
            let own = said.parts.iter().map(|part| (part, true));
            let others = said.uncertain().filter(|part| !part.source.asked).map(|part| (part, false));
            for (part, always) in own.chain(others) {
                for name in &part.required {
                    let declared = |properties: &Map<String, Value>| {
                        properties
                            .member(name)
                            .is_some_and(|schema| *name != "required" || !schema.is_array())
                    };
                    if alone && part.properties.is_some_and(declared) {
                        continue;
                    }
                    if known.insert(name) {
                        let reason = "names a property that is not declared: declared";
                        self.rewritten(part.source.path, "required", None, reason);
                        let described = self.key_kinds(said, name, always);
                        found.extend(described.map(|described| Property::new(name, described, false)));
                    }
                }
            }
        }
        found
    }
}
