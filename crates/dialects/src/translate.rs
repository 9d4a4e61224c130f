//! Tool definitions, MCP → dialect.

mod definition;
mod refusal;
mod shape;
mod strict_form;
mod strict_room;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use self::definition::description_of;
use self::refusal::{UNBOUNDED, unusable_root};
use self::shape::{as_mcp, find_description};
use self::strict_form::StrictForm;
pub use self::strict_room::StrictRoom;
use crate::dialect::{Dialect, DialectError, Dialects, StrictField, ToolShape};
use crate::document::{ToolOrigin, ToolSource};
use crate::json::Json;
use crate::limits::over_limit;
use crate::lower::{LoweredSchema, lower, scan};
use crate::names::legal_names;
use crate::options::{Options, Strict};
use crate::plan::Plan;
use crate::report::{Changes, Fate};
use crate::tokens::{Tokens, estimate};
use crate::tool::{misplaced_schema, misplaced_schema_warning, provider_tool, schema_of, special_members};
use crate::work::{TooMuchWork, Work, node_units};

/// Translates tools into one dialect.
///
/// ```
/// use gateway_dialects::{Dialects, Options, Translator};
/// use serde_json::json;
///
/// let tools = [json!({"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}})];
/// let translator = Translator::new(&Dialects::builtin(), "gemini", Options::default())?;
/// let translated = translator.translate(&tools);
/// assert_eq!(translated.tools[0].wire_name, "add");
/// # Ok::<(), gateway_dialects::DialectError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Translator {
    dialect: Arc<Dialect>,
    /// The dialect with the provider's guarantee, for `strict = auto` and tools that are given as strict.
    strict: Option<StrictForm>,
    /// What translates the tools of a list for which there is no room among the strict ones.
    plain: Option<Box<Self>>,
    options: Options,
}

/// A translated list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Translation<'a> {
    /// One entry for each tool that was given, in order.
    pub tools: Vec<ToolTranslation<'a>>,
    /// How many more tools there are than the provider takes in one request.
    pub over_limit: usize,
}

/// One translated tool.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolTranslation<'a> {
    /// The MCP name; empty if the tool has none.
    pub name: &'a str,
    /// The name that the provider sees.
    pub wire_name: String,
    /// The definition; `None` if the tool is quarantined.
    pub definition: Option<Json<'a>>,
    /// Why the tool was left out.
    pub quarantine: Option<String>,
    /// How arguments travel.
    pub plan: Plan,
    /// What happened to every keyword.
    pub changes: Changes<'a>,
    /// Estimated tokens.
    pub tokens: Tokens,
    /// Whether the definition is strict.
    pub strict: bool,
    /// Why it is not strict in this list, though it could be in a shorter one.
    pub not_strict: Option<String>,
    /// What its author should look at, though the tool is in the list.
    pub warnings: Vec<String>,
    /// Why it is not strict, though it was given as strict. It becomes a warning unless the list gives another reason.
    strict_left_out: Option<String>,
}

static NO_SCHEMA: LazyLock<Value> = LazyLock::new(|| json!({"type": "object", "properties": {}}));

impl Translator {
    /// A translator into the dialect called `name`.
    pub fn new(dialects: &Dialects, name: &str, options: Options) -> Result<Self, DialectError> {
        Self::with(dialects, dialects.get(name)?, options)
    }

    /// A translator into `dialect`, which may be layered.
    pub fn with(
        dialects: &Dialects,
        dialect: impl Into<Arc<Dialect>>,
        options: Options,
    ) -> Result<Self, DialectError> {
        let dialect = dialect.into();
        if options.verbatim && !dialect.schema.verbatim {
            let (name, known) = (dialect.name.clone(), dialects.verbatim());
            return Err(DialectError::NoVerbatim { name, known });
        }
        let strict = StrictForm::of(dialects, &dialect).filter(|_| !options.verbatim);
        if let Some(strict) = strict.as_ref().filter(|_| options.strict == Strict::Auto) {
            strict.find()?;
        }
        let plain = Self::plain_of(dialects, &dialect, strict.as_ref(), &options)?;
        Ok(Self { dialect, strict, plain, options })
    }

    /// The dialect.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The same without a description for tools that have none.
    pub(crate) fn without_fallback(&self) -> Self {
        let options = Options { description_fallback: Some(String::new()), ..self.options.clone() };
        let plain = self.plain.as_ref().map(|plain| Box::new(plain.without_fallback()));
        Self { plain, options, ..self.clone() }
    }

    /// The dialect, to be kept.
    pub fn shared_dialect(&self) -> &Arc<Dialect> {
        &self.dialect
    }

    /// Translates a list of MCP tools.
    pub fn translate<'a>(&self, tools: &'a [impl ToolSource]) -> Translation<'a> {
        let mut translated = Vec::with_capacity(tools.len());
        // Without a bound there is no error.
        let (mut work, room) = (Work::unlimited(), StrictRoom::default());
        let _ = self.each_within(tools, &mut work, room, |tool| translated.push(tool));
        self.list(translated)
    }

    /// Translates a list of MCP tools, as far as the work allows.
    pub fn translate_within<'a>(
        &self,
        tools: &'a [impl ToolSource],
        work: &mut Work,
    ) -> Result<Translation<'a>, TooMuchWork> {
        let mut translated = Vec::with_capacity(tools.len());
        self.each_within(tools, work, StrictRoom::default(), |tool| translated.push(tool))?;
        Ok(self.list(translated))
    }

    /// Translates a list of MCP tools one by one, as far as the work allows. Whoever does not keep them holds one at a time.
    pub(crate) fn each_within<'a>(
        &self,
        tools: &'a [impl ToolSource],
        work: &mut Work,
        mut room: StrictRoom,
        mut visit: impl FnMut(ToolTranslation<'a>),
    ) -> Result<(), TooMuchWork> {
        let names: Vec<&'a str> = tools.iter().map(ToolSource::name).collect();
        let wire = self.wire_names(&names);
        let mut seen = HashSet::with_capacity(names.len());
        tools.iter().zip(names).try_for_each(|(tool, name)| {
            let translated = match tool.definition() {
                Ok(_) if seen.contains(name) => {
                    ToolTranslation::quarantined(name, format!("another tool is called `{name}`"))
                }
                Ok(definition) => {
                    let wire_name = wire.get(name).map_or(name, Cow::as_ref);
                    self.translate_listed(definition, name, wire_name, tool.origin(), &mut room)
                }
                Err(unread) => ToolTranslation::quarantined(name, unread.reason.clone()),
            };
            // A tool that is left out does not take its name from one that can be used.
            if translated.quarantine.is_none() {
                seen.insert(name);
            }
            work.spend(self.work_of(&translated))?;
            visit(translated);
            Ok(())
        })
    }

    /// What translating one tool took. A schema that was given up has cost all that one schema may cost.
    fn work_of(&self, tool: &ToolTranslation<'_>) -> usize {
        let is_given_up = tool.quarantine.as_ref().is_some_and(|reason| reason.starts_with(UNBOUNDED));
        let nodes = if is_given_up { self.options.budget.nodes } else { tool.changes.visited() + 1 };
        node_units(nodes).saturating_add(tool.tokens.after.saturating_mul(4))
    }

    fn list<'a>(&self, tools: Vec<ToolTranslation<'a>>) -> Translation<'a> {
        let sent = tools.iter().filter(|tool| tool.definition.is_some()).count();
        let over_limit = match self.dialect.limits.tools {
            0 => 0,
            limit => sent.saturating_sub(limit),
        };
        Translation { tools, over_limit }
    }

    /// Translates one tool as a list of its own.
    pub fn translate_one<'a>(&self, tool: &'a impl ToolSource) -> ToolTranslation<'a> {
        let name = tool.name();
        let definition = match tool.definition() {
            Ok(definition) => definition,
            Err(unread) => return ToolTranslation::quarantined(name, unread.reason.clone()),
        };
        if self.dialect.names.allows(name) {
            return self.translate_tool(definition, name, name, tool.origin());
        }
        let wire = legal_names(&self.dialect.names, &[name]);
        let wire_name = wire.first().map_or(name, Cow::as_ref);
        self.translate_tool(definition, name, wire_name, tool.origin())
    }

    /// The names of a list that the dialect does not allow, with what they are replaced by; empty if it allows all.
    pub fn wire_names<'a>(&self, names: &[&'a str]) -> HashMap<&'a str, Cow<'a, str>> {
        if names.iter().all(|name| self.dialect.names.allows(name)) {
            return HashMap::new();
        }
        let mut distinct: Vec<&'a str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let legal = legal_names(&self.dialect.names, &distinct);
        distinct.into_iter().zip(legal).collect()
    }

    /// Translates a server's tool under a name that the dialect allows.
    pub fn translate_named<'a>(
        &self,
        tool: &'a Value,
        name: &'a str,
        wire_name: &str,
    ) -> ToolTranslation<'a> {
        self.translate_tool(tool, name, wire_name, ToolOrigin::Server)
    }

    fn translate_tool<'a>(
        &self,
        tool: &'a Value,
        name: &'a str,
        wire_name: &str,
        origin: ToolOrigin,
    ) -> ToolTranslation<'a> {
        let mut translated = self.translate_alone(tool, name, wire_name, origin);
        translated.warnings.extend(translated.strict_left_out.take());
        translated
    }

    /// The same, before a list has its say on what is strict.
    fn translate_alone<'a>(
        &self,
        tool: &'a Value,
        name: &'a str,
        wire_name: &str,
        origin: ToolOrigin,
    ) -> ToolTranslation<'a> {
        let Value::Object(members) = tool else {
            return ToolTranslation::quarantined(name, "the tool is not a JSON object".to_owned());
        };
        if name.is_empty() {
            return ToolTranslation::quarantined(name, "the tool has no name".to_owned());
        }
        let found = schema_of(members);
        let is_given = origin == ToolOrigin::Document;
        let own_tool = (is_given && found.is_none()).then(|| provider_tool(members)).flatten();
        if let Some((_, reason)) = own_tool {
            return ToolTranslation::quarantined(name, reason);
        }
        let given = found.map(|(_, schema)| schema).filter(|schema| *schema != &Value::Bool(true));
        let schema = given.unwrap_or(&NO_SCHEMA);
        let is_mcp = self.dialect.tool.shape == ToolShape::Mcp;
        let is_same = is_mcp && found.is_none_or(|(pointer, _)| pointer == "/inputSchema");
        let mut warnings: Vec<String> = misplaced_schema_warning(members).into_iter().collect();
        if is_given && !is_same {
            warnings.extend(self.left_out(members));
        }
        if let Some(reason) = unusable_root(schema).filter(|_| !is_mcp) {
            return ToolTranslation::quarantined(name, reason);
        }
        let size = match scan(schema, &self.options.budget) {
            Ok(size) => size,
            Err(excess) => return ToolTranslation::quarantined(name, excess.reason(&self.options)),
        };
        let before = estimate(size.bytes + name.len() + description_of(members).map_or(0, str::len) + 40);
        if is_mcp {
            return ToolTranslation {
                name,
                wire_name: name.to_owned(),
                definition: Some(if is_same { Json::Same(tool) } else { as_mcp(members, schema) }),
                tokens: Tokens { before, after: before },
                warnings,
                ..ToolTranslation::default()
            };
        }
        let carried = if is_given { self.dialect.tool.members.as_slice() } else { &[] };
        let write = |dialect: &Dialect, lowered: LoweredSchema<'a>| {
            let has_schema = given.is_some();
            self.finish(dialect, members, name, wire_name, has_schema, carried, lowered, before)
        };
        let wants_strict = is_given && members.get("strict") == Some(&Value::Bool(true));
        let tries_strict = wants_strict || self.options.strict == Strict::Auto;
        let strict = if tries_strict { self.strict() } else { None };
        if let Some(strict) = strict {
            let lowered = lower(schema, &size, strict, &self.options);
            let lossless = lowered.excess.is_none()
                && lowered.changes.entries.iter().all(|entry| entry.fate != Fate::Described);
            let fits =
                lowered.schema.as_ref().is_none_or(|schema| over_limit(schema, &strict.limits).is_none());
            if lossless && fits {
                let written = write(strict, lowered);
                if written.quarantine.is_none() {
                    return ToolTranslation { warnings, ..written };
                }
            }
        }
        let is_loosened = wants_strict && self.dialect.tool.strict != StrictField::True;
        let strict_left_out = is_loosened.then(|| {
            let why = if strict.is_some() { "would lose rules of the schema" } else { "does not exist" };
            format!("`strict` is left out: the strict form of `{}` {why}", self.dialect.name)
        });
        let written = write(&self.dialect, lower(schema, &size, &self.dialect, &self.options));
        ToolTranslation { warnings, strict_left_out, ..written }
    }

    /// Warnings about members that definitions of the dialect do not have.
    fn left_out(&self, members: &Map<String, Value>) -> impl Iterator<Item = String> {
        let has = |name: &str| self.dialect.tool.members.iter().any(|own| own == name);
        let misplaced = misplaced_schema(members);
        let names = special_members(members).filter(move |name| !has(name) && misplaced != Some(*name));
        names.map(|name| {
            let name: String = name.chars().take(60).collect();
            format!("`{name}` is left out: `{}` has no such member", self.dialect.name)
        })
    }
}

impl<'a> Translation<'a> {
    /// The value of the provider's request field for tools.
    pub fn request_field(&self) -> Json<'a> {
        Json::Array(self.tools.iter().filter_map(|tool| tool.definition.clone()).collect())
    }

    /// Appends the JSON text of the request field, which takes no copy of the definitions.
    pub fn write_request_field(&self, out: &mut String) {
        out.push('[');
        let definitions = self.tools.iter().filter_map(|tool| tool.definition.as_ref());
        for (index, definition) in definitions.enumerate() {
            if index > 0 {
                out.push(',');
            }
            definition.write(out);
        }
        out.push(']');
    }

    /// The tool that the provider calls `wire_name`.
    pub fn by_wire_name(&self, wire_name: &str) -> Option<&ToolTranslation<'a>> {
        self.tools.iter().find(|tool| tool.definition.is_some() && tool.wire_name == wire_name)
    }
}

impl<'a> ToolTranslation<'a> {
    /// A tool that is left out of the list.
    pub fn quarantined(name: &'a str, reason: String) -> Self {
        Self { name, wire_name: name.to_owned(), quarantine: Some(reason), ..Self::default() }
    }

    /// What became of it, as one row of the report of a list. A tool without a name is known by `index`, its place in the list; `changes` are
    /// those that the report has room for.
    pub fn report_row(&self, index: usize, changes: Value) -> Value {
        let mut row = json!({
            "name": self.name,
            "wireName": self.wire_name,
            "quarantine": self.quarantine,
            "strict": self.strict,
            "tokens": {"before": self.tokens.before, "after": self.tokens.after},
        });
        row["changes"] = changes;
        if self.name.is_empty() {
            row["index"] = index.into();
        }
        if let Some(reason) = &self.not_strict {
            row["notStrict"] = reason.as_str().into();
        }
        if !self.warnings.is_empty() {
            row["warnings"] = json!(self.warnings);
        }
        row
    }

    /// The description inside the definition.
    pub(crate) fn description(&self) -> Option<&str> {
        self.definition.as_ref().and_then(find_description)
    }

    /// The schema inside the definition; `None` if the tool was left out, or if the dialect sends none.
    pub fn schema(&self, dialect: &Dialect) -> Option<Value> {
        let definition = self.definition.as_ref()?.to_value();
        let key = dialect.tool.schema_key.as_str();
        let schema = match dialect.tool.shape {
            ToolShape::Function => definition.get("function")?.get(key),
            ToolShape::ToolSpec => definition.get("toolSpec")?.get(key)?.get("json"),
            ToolShape::Mcp => definition.get("inputSchema"),
            ToolShape::FlatFunction | ToolShape::BareFunction | ToolShape::Declaration => definition.get(key),
        };
        schema.cloned()
    }
}
