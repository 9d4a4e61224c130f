//! What the parts of an object say about one key.

use super::Reader;
use super::members::{ObjectRules, says_nothing};
use super::view::ObjectPart;
use crate::options::Open;
use crate::plan::fits;
use crate::schema::Source;
use serde_json::Value;

/// Kinds that the alternatives of several unions may be multiplied into for one key, unless a mechanism needs more.
pub(crate) const MOST_KINDS: usize = 16;

/// What parts that hold together say about one key.
#[derive(Default)]
pub(crate) struct KeySources<'a> {
    /// What its values must satisfy.
    pub(crate) sources: Vec<Source<'a>>,
    /// What its values may have to satisfy: that is not known.
    unsure: Vec<Source<'a>>,
    /// A table of properties has it.
    pub(crate) declared: bool,
    /// It is named in some way: declared, required, or among the keys that may come.
    invited: bool,
    /// A table of properties or a pattern has it: more than leave for any key.
    named: bool,
    /// One of the parts forbids it.
    pub(crate) forbidden: bool,
}

impl<'a> KeySources<'a> {
    fn add(&mut self, source: Source<'a>) {
        // What is only asked need not hold for the key to come.
        if source.asked { self.unsure.push(source) } else { self.sources.push(source) }
    }

    /// Whether they only leave the key free, as they leave all others.
    fn is_general(&self) -> bool {
        !self.named && self.sources.iter().all(says_nothing)
    }
}

/// The schemas that describe one key.
pub(crate) struct KeyKinds<'a> {
    /// Any of these kinds, each described by all of its sources.
    pub(crate) kinds: Vec<Vec<Source<'a>>>,
    /// What may hold as well.
    pub(crate) may: Vec<Source<'a>>,
}

impl<'a> Reader<'a, '_> {
    /// What `parts` together say about `name`.
    pub(crate) fn key_sources(&mut self, parts: &[ObjectPart<'a>], name: &'a str) -> KeySources<'a> {
        let mut found = KeySources::default();
        for part in parts {
            let mut hit = false;
            if let Some((key, schema)) = part.properties.and_then(|properties| properties.get_key_value(name))
                && !(name == "required" && schema.is_array())
            {
                let list = self.inside(part.source, "properties", schema);
                found.add(self.inside(list, key, schema));
                found.declared = true;
                hit = true;
            }
            for (pattern, schema) in part.patterns.into_iter().flatten() {
                let fits = self.fits(pattern, name);
                if fits == Some(false) {
                    continue;
                }
                hit = true;
                let list = self.inside(part.source, "patternProperties", schema);
                let source = self.inside(list, pattern, schema);
                found.invited |= schema != &Value::Bool(false);
                found.named |= schema != &Value::Bool(false);
                if fits.is_some() {
                    found.add(source);
                } else {
                    found.unsure.push(Source { asked: false, ..source });
                }
            }
            match part.additional {
                _ if hit => {}
                None => {}
                Some(Value::Bool(false)) => found.forbidden = true,
                Some(schema) => {
                    found.invited = true;
                    if schema.is_object() {
                        found.add(self.inside(part.source, "additionalProperties", schema));
                    }
                }
            }
        }
        found.invited |= found.declared;
        found.named |= found.declared;
        found
    }

    /// Whether a key fits a pattern; `None` where that is not known.
    pub(crate) fn fits(&mut self, pattern: &str, name: &str) -> Option<bool> {
        self.patterns_left = self.patterns_left.checked_sub(1)?;
        fits(pattern, name)
    }

    /// What all that is said together makes of `name`; `None` where it cannot come.
    pub(crate) fn key_kinds(
        &mut self,
        said: &ObjectRules<'a>,
        name: &'a str,
        required: bool,
    ) -> Option<KeyKinds<'a>> {
        let mut own = self.key_sources(&said.parts, name);
        let mut may = std::mem::take(&mut own.unsure);
        own.named |= required;
        own.invited |= own.named || said.mentions(name);
        let declared = own.declared;
        // What the key may be, by each way through the alternatives.
        let mut ways = vec![own];
        for set in &said.alternatives {
            let mut choices: Vec<KeySources<'a>> = Vec::new();
            let mut silent = false;
            let about = set.about(name);
            let speaking = about.len();
            for (parts, named) in about {
                let mut found = self.key_sources(parts, name);
                may.append(&mut found.unsure);
                if found.forbidden {
                    continue;
                }
                found.named |= named;
                found.invited |= found.named;
                silent |= found.sources.is_empty() && !found.invited;
                let known = choices.iter_mut().find(|known| same_sources(&known.sources, &found.sources));
                match known {
                    Some(known) => {
                        known.invited |= found.invited;
                        known.named |= found.named;
                    }
                    None => choices.push(found),
                }
            }
            if declared || choices.len().saturating_mul(ways.len()) > self.most_kinds {
                // Any of them may hold: what they ask for is not enforced, but what they declare is known.
                for choice in choices {
                    may.extend(choice.sources);
                    for way in &mut ways {
                        way.invited |= choice.invited;
                        way.named |= choice.named;
                    }
                }
                continue;
            }
            if choices.is_empty() {
                continue;
            }
            if speaking < set.len() && !silent {
                choices.push(KeySources::default());
            }
            ways = ways
                .iter()
                .flat_map(|way| {
                    choices.iter().map(move |choice| KeySources {
                        sources: [way.sources.as_slice(), &choice.sources].concat(),
                        invited: way.invited || choice.invited,
                        named: way.named || choice.named,
                        ..KeySources::default()
                    })
                })
                .collect();
        }
        let all = self.options.open == Open::All;
        let mut kinds: Vec<Vec<Source<'a>>> = Vec::new();
        let mut conditions: Vec<KeySources<'a>> = Vec::new();
        for (parts, named) in said.conditions.about(name) {
            let mut found = self.key_sources(parts, name);
            may.append(&mut found.unsure);
            may.extend(&found.sources);
            if found.invited || named {
                conditions.push(found);
            }
        }
        // What leaves room for any key does not make nothing of what others say about this one.
        let mut general = false;
        for way in ways {
            let leaves_free = way.invited && way.is_general() && !all;
            general |= leaves_free;
            if (way.invited || all) && !leaves_free {
                kinds.push(way.sources);
                continue;
            }
            for found in &conditions {
                kinds.push([way.sources.as_slice(), &found.sources].concat());
            }
        }
        if general && kinds.iter().all(|kind| kind.iter().all(says_nothing)) {
            kinds.push(Vec::new());
        }
        if kinds.is_empty() {
            return None;
        }
        Some(weakest(kinds, may))
    }
}

fn same_schema(left: &Source<'_>, right: &Source<'_>) -> bool {
    std::ptr::eq(left.schema, right.schema) || left.schema == right.schema
}

fn same_sources(left: &[Source<'_>], right: &[Source<'_>]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_schema(left, right))
}

/// Leaves out kinds that say all that another one says, and more.
fn weakest<'a>(mut kinds: Vec<Vec<Source<'a>>>, mut may: Vec<Source<'a>>) -> KeyKinds<'a> {
    let mut kept: Vec<Vec<Source<'a>>> = Vec::with_capacity(kinds.len());
    let within = |few: &[Source<'a>], many: &[Source<'a>]| {
        few.iter().all(|source| says_nothing(source) || many.iter().any(|other| same_schema(source, other)))
    };
    kinds.sort_by_key(Vec::len);
    for kind in kinds {
        if kept.iter().any(|weaker| within(weaker, &kind)) {
            may.extend(kind);
        } else {
            kept.push(kind);
        }
    }
    KeyKinds { kinds: kept, may }
}
