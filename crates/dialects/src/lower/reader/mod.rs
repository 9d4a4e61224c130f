//! What the schemas of a position say together: all that both mechanisms read, and none of what they write.

mod chain;
pub(crate) mod fold;
pub(crate) mod gather;
mod implied_keys;
mod malformed;
pub(crate) mod members;
mod property_sources;
pub(crate) mod view;

pub(crate) use chain::{Chain, Reach};

use serde_json::Value;

use super::Size;
use crate::dialect::{Defaults, Dialect, SchemaRules, TextStyle};
use crate::names::KeyTable;
use crate::options::Options;
use crate::report::{Changes, Entry, Fate, PathId, Step};
use crate::schema::{Keyword, Resolver, Source, TypeSet, number};
use crate::tokens::value_bytes;

/// Patterns that are tried on keys, in all of a schema together: each may have to be compiled.
const MOST_PATTERNS: usize = 2_000;

/// The name of the definition of any JSON value.
pub(crate) const ANYTHING: &str = "any_json";

/// What a keyword held in the original.
type Given<'a> = Option<&'a Value>;

/// Whether `schema`, which references name where it stands, is worth a definition. Shorter ones are not: a reference to a definition
/// takes as many tokens.
pub(crate) fn is_worth_sharing(schema: &Value) -> bool {
    value_bytes(schema) >= 64
}

/// Reads one schema, and keeps the report on it.
pub(crate) struct Reader<'a, 'r> {
    pub(crate) rules: &'r SchemaRules,
    pub(crate) options: &'r Options,
    pub(crate) root: &'a Value,
    pub(crate) keys: KeyTable<'a, 'r>,
    pub(crate) changes: Changes<'a>,
    pub(crate) resolver: Resolver<'a>,
    /// References that are being written out.
    pub(crate) chain: Chain<'a>,
    /// Whether objects take no properties but declared ones.
    pub(crate) closed: bool,
    /// Whether every required property is to be declared.
    pub(crate) declares_required: bool,
    /// Positions that only a condition declares, each inside the one before.
    pub(crate) conditions: usize,
    /// Branches of unions that may still be looked into for the properties that they declare.
    pub(crate) branches_left: usize,
    /// Patterns of keys that may still be tried on a key.
    pub(crate) patterns_left: usize,
    /// Kinds that the alternatives of several unions may be multiplied into for one key.
    pub(crate) most_kinds: usize,
}

impl<'a, 'r> Reader<'a, 'r> {
    pub(crate) fn new(
        root: &'a Value,
        size: &Size,
        dialect: &'r Dialect,
        options: &'r Options,
        reach: Reach,
    ) -> Self {
        let mut changes = Changes::with_room(size.nodes);
        Self {
            rules: &dialect.schema,
            options,
            root,
            keys: KeyTable::new(&dialect.keys, root),
            resolver: Resolver::new(root, size.has_ids, &mut changes.paths),
            changes,
            chain: Chain::new(reach),
            closed: false,
            declares_required: dialect.schema.required_known,
            conditions: 0,
            branches_left: fold::MOST_BRANCHES,
            patterns_left: MOST_PATTERNS,
            most_kinds: property_sources::MOST_KINDS,
        }
    }

    /// What becomes of defaults.
    pub(crate) fn defaults(&self) -> Defaults {
        self.options.defaults.unwrap_or(self.rules.defaults)
    }

    /// What `reference` names when it is read inside the resource `from`.
    pub(crate) fn resolve(&mut self, reference: &'a str, from: usize) -> Option<Source<'a>> {
        self.resolver.resolve_again(reference, from, &mut self.changes.paths)
    }

    /// The same, for a reference that is asked for once.
    pub(crate) fn resolve_once(&mut self, reference: &str, from: usize) -> Option<Source<'a>> {
        self.resolver.resolve(reference, from, &mut self.changes.paths)
    }

    /// Writes one entry into the report.
    pub(crate) fn change(
        &mut self,
        path: PathId,
        keyword: &'a str,
        value: Option<&'a Value>,
        fate: Fate,
        reason: &'static str,
    ) {
        self.changes.entries.push(Entry { path, keyword, value, fate, reason });
    }

    /// Reports that a keyword is said in another way, with the same meaning.
    pub(crate) fn rewritten(&mut self, path: PathId, name: &'a str, value: Given<'a>, reason: &'static str) {
        self.change(path, name, value, Fate::Rewritten, reason);
    }

    /// Reports that values travel in another form.
    pub(crate) fn encoded(&mut self, path: PathId, name: &'a str, value: Given<'a>, reason: &'static str) {
        self.change(path, name, value, Fate::Encoded, reason);
    }

    /// Reports that a description says what a keyword said; that it went away, where descriptions say no such thing.
    pub(crate) fn described(&mut self, path: PathId, name: &'a str, value: Given<'a>, reason: &'static str) {
        let fate = if self.rules.text == TextStyle::None { Fate::Dropped } else { Fate::Described };
        self.change(path, name, value, fate, reason);
    }

    /// Reports that an annotation went away.
    pub(crate) fn dropped(&mut self, path: PathId, name: &'a str, value: Given<'a>, reason: &'static str) {
        self.change(path, name, value, Fate::Dropped, reason);
    }

    pub(crate) fn step(&mut self, path: PathId, name: &'a str) -> PathId {
        self.changes.paths.name(path, name)
    }

    /// What stands under `name` in `source`: a schema, or a table or list of schemas.
    pub(crate) fn inside(&mut self, source: Source<'a>, name: &'a str, schema: &'a Value) -> Source<'a> {
        Source { schema, path: self.step(source.path, name), ..source }
    }

    /// The schema at `index` of `list`.
    pub(crate) fn item(&mut self, list: Source<'a>, index: usize, schema: &'a Value) -> Source<'a> {
        Source { schema, path: self.changes.paths.index(list.path, index), ..list }
    }

    /// The schema itself.
    pub(crate) fn root_source(&self) -> Source<'a> {
        Source { schema: self.root, path: PathId::ROOT, resource: 0, asked: false }
    }

    /// Whether the dialect takes an amount of this size.
    pub(crate) fn takes_number(&self, keyword: Keyword, value: &Value) -> bool {
        !self.rules.modest_numbers || number::is_modest(keyword, value)
    }

    pub(crate) fn takes_format(&self, format: &str, types: TypeSet) -> bool {
        let formats = &self.rules.formats;
        let list = if types.meets(TypeSet::STRING) {
            &formats.string
        } else if types == TypeSet::INTEGER && formats.integer.is_some() {
            &formats.integer
        } else {
            &formats.number
        };
        list.as_ref().is_none_or(|list| list.iter().any(|known| known == format || known == "*"))
    }

    /// Whether `path` names the root or a member of a table of definitions, so that nothing else stands there.
    pub(crate) fn is_definition(&self, path: PathId) -> bool {
        let table = self.changes.paths.last(path).and_then(|(parent, _)| self.changes.paths.last(parent));
        path == PathId::ROOT || matches!(table, Some((_, Step::Name("$defs" | "definitions"))))
    }

    /// A legal name for the definition at `path` that is neither `taken` nor [`ANYTHING`].
    pub(crate) fn definition_name(&self, path: PathId, taken: impl Fn(&str) -> bool) -> String {
        let mut parts = Vec::new();
        let mut at = path;
        while let Some((parent, step)) = self.changes.paths.last(at) {
            match step {
                Step::Name("$defs" | "definitions" | "properties") => {
                    if !parts.is_empty() {
                        break;
                    }
                }
                Step::Name(name) => parts.push(name.to_owned()),
                Step::Index(index) => parts.push(index.to_string()),
            }
            at = parent;
        }
        parts.reverse();
        let mut name: String = parts
            .join("_")
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() || "_-.".contains(char) { char } else { '_' })
            .take(60)
            .collect();
        if name.is_empty() {
            "root".clone_into(&mut name);
        }
        let taken = |name: &str| name == ANYTHING || taken(name);
        if taken(&name) {
            let number = (2..=usize::MAX).find(|number| !taken(&format!("{name}_{number}"))).unwrap_or(0);
            name = format!("{name}_{number}");
        }
        name
    }
}
