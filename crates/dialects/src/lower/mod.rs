//! Rewriting one schema into a dialect's subset, with a plan and a report.

mod edit;
mod reader;
mod rebuild;
mod scan;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::{Dialect, Limits, Lowering, RefStyle, SchemaRules};
use crate::json::Json;
use crate::names::KeyTable;
use crate::options::{Defaults, Options};
use crate::plan::{Codec, Guard, Plan};
use crate::report::{Changes, Entry, Fate, PathId};
use crate::schema::{Members, Resolver, Source};
use rebuild::node::Node;

pub(crate) use scan::{Excess, Size, scan};

/// A lowered input schema.
pub(crate) struct LoweredSchema<'a> {
    /// Absent where the tool takes no arguments and the dialect wants that unsaid.
    pub(crate) schema: Option<Json<'a>>,
    pub(crate) plan: Plan,
    pub(crate) changes: Changes<'a>,
    /// What could be said only in the tool's own description.
    pub(crate) tool_notes: Vec<crate::text::Note<'a>>,
    /// What made it impossible to say how arguments travel.
    pub(crate) excess: Option<Excess>,
}

/// How a draft differs in what matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    /// Keywords beside `$ref` say nothing.
    pub(crate) ref_hides_siblings: bool,
}

impl Draft {
    fn of(schema: &Value) -> Self {
        let uri = schema.member("$schema").and_then(Value::as_str).unwrap_or_default();
        Self {
            ref_hides_siblings: uri
                .as_bytes()
                .windows(8)
                .any(|part| matches!(part, b"draft-03" | b"draft-04" | b"draft-06" | b"draft-07")),
        }
    }
}

/// The state of lowering one schema.
pub(crate) struct Lowerer<'a, 'r> {
    pub(crate) rules: &'r SchemaRules,
    pub(crate) limits: &'r Limits,
    pub(crate) options: &'r Options,
    pub(crate) defaults: Defaults,
    pub(crate) changes: Changes<'a>,
    pub(crate) resolver: Resolver<'a>,
    /// What was resolved lately: a reference that is written out many times is looked up once.
    resolved: Vec<Option<Resolved<'a>>>,
    pub(crate) draft: Draft,
    /// Positions that are being lowered, each inside the one before.
    pub(crate) depth: usize,
    /// Definitions that are being made, each inside the one before.
    pub(crate) opened: usize,
    /// Positions among them that only a condition declares.
    pub(crate) conditions: usize,
    /// Nodes after which the rest travels as JSON text.
    pub(crate) node_limit: usize,
    /// How far references are written out.
    pub(crate) reach: Reach,
    /// The most references that have been inside one another.
    pub(crate) longest: usize,
    /// Nodes beyond which the schema is written out less far.
    pub(crate) room: usize,
    /// References that are being written out.
    pub(crate) active: Vec<&'a Value>,
    pub(crate) definitions: Vec<Definition<'a>>,
    /// Nodes written so far.
    pub(crate) nodes: usize,
    pub(crate) keys: KeyTable<'a, 'r>,
    /// Targets of edited references, in the order of their definitions.
    pub(crate) waiting: Vec<Source<'a>>,
    /// Steps left for comparing alternatives.
    pub(crate) comparisons: Cell<usize>,
    /// Branches of unions that may still be looked into for the properties that they declare.
    pub(crate) branches_left: usize,
    /// Patterns of keys that may still be tried on a key.
    pub(crate) patterns_left: usize,
    /// Whether an alternative of the plan looks at definitions.
    pub(crate) guarded: bool,
    /// Edited schemas that take more values than before.
    pub(crate) inexact: Vec<&'a Value>,
    /// What an earlier try has shown.
    pub(crate) known: &'r Findings,
    /// References that stay where they are: what is written, and what it named.
    pub(crate) kept_references: Vec<(Cow<'a, str>, &'a Value)>,
    /// Whether a place that needs an exact sub-schema relied on a reference.
    pub(crate) relied: bool,
    /// Whether something was edited and then left out.
    pub(crate) abandoned: bool,
    /// Whether the result uses what only 2020-12 knows.
    pub(crate) modern: bool,
    root: &'a Value,
}

/// What a reference names.
#[derive(Clone, Copy)]
struct Resolved<'a> {
    /// Where the text of the reference is: there is no other at that place.
    address: usize,
    /// Where it was read.
    from: usize,
    target: Source<'a>,
}

/// References that are remembered.
const MOST_RESOLVED: usize = 128;

/// Levels that are written out; what lies deeper travels as JSON text. References can nest without end.
pub(crate) const DEEPEST: usize = 48;

/// Patterns that are tried on keys, in all of a schema together: each may have to be compiled.
const MOST_PATTERNS: usize = 2_000;

/// A definition that the lowered schema refers to.
pub(crate) struct Definition<'a> {
    /// What it was made from; absent for definitions of ours.
    pub(crate) target: Option<&'a Value>,
    pub(crate) name: String,
    /// Absent while it is being made.
    pub(crate) node: Option<Node<'a>>,
    pub(crate) codec: Codec,
    /// What its values look like; made when an alternative asks for it.
    pub(crate) guard: OnceCell<Box<Guard>>,
    /// The definition where schemas are edited.
    pub(crate) json: Option<Json<'a>>,
    /// Objects and arrays around the place where it was first needed.
    pub(crate) at: usize,
}

/// Lowers `schema`, whose size has been checked, for `dialect`.
pub(crate) fn lower<'a>(
    schema: &'a Value,
    size: &Size,
    dialect: &Dialect,
    options: &Options,
) -> LoweredSchema<'a> {
    // Recursion that branches grows quickly: it is written out only as far as that stays in proportion.
    let room = 256 + 4 * size.nodes;
    let mut reach = Reach { unroll: dialect.schema.unroll, chain: LONGEST_CHAIN };
    let mut known = Findings::default();
    loop {
        let Attempt { lowered, nodes, longest, found, reach: tried } =
            lower_once(schema, size, dialect, options, reach, room, &known);
        // Ends, because what is known only grows.
        if known.learn(found) {
            continue;
        }
        match tried.shorter(longest) {
            Some(shorter) if nodes > room => reach = shorter,
            _ => return lowered,
        }
    }
}

/// References inside one another that are written out at most.
const LONGEST_CHAIN: usize = 64;

/// How far references are written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// How often a definition may contain itself.
    pub(crate) unroll: usize,
    /// How many references may be inside one another. Definitions that all refer to each other make a long chain before one
    /// contains itself; the first way through them would take all the room.
    pub(crate) chain: usize,
}

impl Reach {
    /// The next shorter one, where `longest` chains were met.
    fn shorter(self, longest: usize) -> Option<Self> {
        if let Some(unroll) = self.unroll.checked_sub(1) {
            return Some(Self { unroll, ..self });
        }
        // A chain ends with one reference more than it may have before that: a limit that no chain has met changes nothing.
        let chain = [16, 8, 4, 2, 1].into_iter().find(|chain| *chain < self.chain && chain + 1 < longest)?;
        Some(Self { chain, ..self })
    }
}

/// One try at a schema.
struct Attempt<'a> {
    lowered: LoweredSchema<'a>,
    nodes: usize,
    /// The most references that were inside one another.
    longest: usize,
    /// How far references were written out: not further than was asked for.
    reach: Reach,
    found: Findings,
}

/// What only the whole edited schema shows, so that it is edited once more.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Schemas that came out looser than they were, where something else relied on them.
    pub(crate) inexact: HashSet<*const Value>,
    /// Schemas that references name and that are no longer where they were.
    pub(crate) gone: HashSet<*const Value>,
    /// Schemas whose rules about the look of keys would judge the names under which keys travel.
    pub(crate) misled: HashSet<*const Value>,
}

impl Findings {
    /// Whether `more` has anything new.
    fn learn(&mut self, more: Self) -> bool {
        let before = self.count();
        self.inexact.extend(more.inexact);
        self.gone.extend(more.gone);
        self.misled.extend(more.misled);
        self.count() > before
    }

    fn count(&self) -> usize {
        self.inexact.len() + self.gone.len() + self.misled.len()
    }
}

fn lower_once<'a>(
    schema: &'a Value,
    size: &Size,
    dialect: &Dialect,
    options: &Options,
    reach: Reach,
    room: usize,
    known: &Findings,
) -> Attempt<'a> {
    let mut changes = Changes::with_room(size.nodes);
    let draft = Draft::of(schema);
    let resolver = Resolver::new(schema, size.has_ids, draft.ref_hides_siblings, &mut changes.paths);
    let mut state = Lowerer {
        rules: &dialect.schema,
        limits: &dialect.limits,
        options,
        defaults: options.defaults.unwrap_or(dialect.schema.defaults),
        changes,
        resolver,
        resolved: Vec::new(),
        draft,
        node_limit: options.budget.nodes.min(room),
        depth: 0,
        opened: 0,
        conditions: 0,
        reach,
        longest: 0,
        room,
        active: Vec::new(),
        definitions: Vec::new(),
        nodes: 0,
        keys: KeyTable::new(&dialect.keys, schema),
        waiting: Vec::new(),
        comparisons: Cell::new(rebuild::guard::MOST_COMPARISONS),
        branches_left: reader::fold::MOST_BRANCHES,
        patterns_left: MOST_PATTERNS,
        guarded: false,
        inexact: Vec::new(),
        known,
        kept_references: Vec::new(),
        relied: false,
        abandoned: false,
        modern: false,
        root: schema,
    };
    match dialect.schema.lowering {
        Lowering::None => {
            let lowered = LoweredSchema {
                schema: Some(Json::Same(schema)),
                plan: Plan::default(),
                changes: state.changes,
                tool_notes: Vec::new(),
                excess: None,
            };
            Attempt { lowered, nodes: 0, longest: 0, reach, found: Findings::default() }
        }
        Lowering::Edit => {
            let (lowered, found) = state.edit_root();
            Attempt { lowered, nodes: 0, longest: 0, reach, found }
        }
        Lowering::Rebuild => {
            if size.has_references && dialect.schema.refs == RefStyle::Inline && dialect.limits.depth == 0 {
                state.foresee();
            }
            let reach = state.reach;
            let (lowered, nodes, longest) = state.rebuild_root(dialect.tool.omit_empty_schema);
            Attempt { lowered, nodes, longest, reach, found: Findings::default() }
        }
    }
}

impl<'a> Lowerer<'a, '_> {
    /// Whether this try is too large and another one follows.
    pub(crate) fn is_repeated(&self) -> bool {
        self.nodes > self.room && self.reach.shorter(self.longest).is_some()
    }

    /// The same, and it is known which one follows: nothing more has to be found out.
    pub(crate) fn is_in_vain(&self) -> bool {
        self.nodes > self.room && self.next_is_known()
    }

    #[cold]
    #[inline(never)]
    fn next_is_known(&self) -> bool {
        let next = self.reach.shorter(self.longest);
        next.is_some() && next == self.reach.shorter(usize::MAX)
    }

    /// What `reference` names when it is read inside the resource `from`.
    pub(crate) fn resolve(&mut self, reference: &'a str, from: usize) -> Option<Source<'a>> {
        let address = reference.as_ptr().addr();
        let slot = (address / 16) % MOST_RESOLVED;
        if let Some(Some(known)) = self.resolved.get(slot)
            && known.address == address
            && known.from == from
        {
            return Some(known.target);
        }
        let target = self.resolver.resolve(reference, from, &mut self.changes.paths)?;
        if self.resolved.is_empty() {
            self.resolved.resize(MOST_RESOLVED, None);
        }
        if let Some(place) = self.resolved.get_mut(slot) {
            *place = Some(Resolved { address, from, target });
        }
        Some(target)
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

    pub(crate) fn step(&mut self, path: PathId, name: &'a str) -> PathId {
        self.changes.paths.name(path, name)
    }

    pub(crate) fn source(
        &mut self,
        schema: &'a Value,
        parent: PathId,
        name: &'a str,
        resource: usize,
    ) -> Source<'a> {
        Source { schema, path: self.step(parent, name), resource, asked: false }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Findings, Reach, lower_once, scan};
    use crate::dialect::Dialects;
    use crate::options::Options;

    #[track_caller]
    fn check_first_try(schema: &serde_json::Value, expected: Reach) {
        let dialect = Dialects::builtin().get("gemini").unwrap();
        let options = Options::default();
        let size = scan(schema, &options.budget).unwrap();
        let room = 256 + 4 * size.nodes;
        let whole = Reach { unroll: 1, chain: 64 };
        let tried = lower_once(schema, &size, &dialect, &options, whole, room, &Findings::default());
        assert_eq!(tried.reach, expected);
    }

    #[test]
    fn what_would_be_too_large_is_not_tried() {
        let again = json!({"$ref": "#/$defs/node"});
        let narrow = json!({"type": "object", "properties": {"next": again}});
        let wide: serde_json::Map<_, _> =
            (0..20).map(|number| (format!("next{number}"), again.clone())).collect();
        let wide = json!({"type": "object", "properties": wide});
        let rooted = |node| json!({"type": "object", "properties": {"root": again}, "$defs": {"node": node}});
        check_first_try(&rooted(narrow), Reach { unroll: 1, chain: 64 });
        check_first_try(&rooted(wide), Reach { unroll: 0, chain: 64 });
    }

    #[test]
    fn a_shorter_reach_changes_something() {
        let whole = Reach { unroll: 1, chain: 64 };
        let once = Reach { unroll: 0, chain: 64 };
        let chain = |chain| Some(Reach { unroll: 0, chain });
        assert_eq!(whole.shorter(1), Some(once));
        assert_eq!(once.shorter(18), chain(16));
        assert_eq!(once.shorter(17), chain(8));
        assert_eq!(once.shorter(3), chain(1));
        assert_eq!(once.shorter(2), None);
        assert_eq!(Reach { unroll: 0, chain: 2 }.shorter(64), chain(1));
        assert_eq!(Reach { unroll: 0, chain: 1 }.shorter(64), None);
    }
}
