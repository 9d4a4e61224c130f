//! Documents with tools: lists, replies, requests and single tools, in the form of MCP or of a provider.
//!
//! ```
//! use gateway_dialects::{ToolDocument, ToolSource as _};
//!
//! let text = r#"{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}"#;
//! let document = ToolDocument::parse(text)?;
//! assert_eq!(document.tools[0].name(), "add");
//! assert_eq!(document.tools[0].pointer, "/function");
//! # Ok::<(), gateway_dialects::DocumentError>(())
//! ```

mod members;

use std::borrow::Borrow;

use gateway_notation::pointer;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json::from_str;
use crate::schema::Members as _;
use crate::tool::{misplaced_schema, provider_tool, schema_of};
use members::{RawMembers, items_of, members_of};

/// The levels of arrays and objects that JSON may have: what is deeper is not read.
pub const JSON_DEPTH: usize = 127;

/// Lists of tools, from the outside: a reply to `tools/list`, the requests of providers.
const LISTS: [&[&str]; 3] = [&["tools"], &["result", "tools"], &["toolConfig", "tools"]];

/// Members that hold a whole tool in a provider's form.
const WRAPPERS: [&str; 3] = ["function", "toolSpec", "tool_spec"];

/// Members that hold several tools in a provider's form.
const GROUPS: [&str; 2] = ["functionDeclarations", "function_declarations"];

/// Members of a tool that has no schema.
const OWN_MEMBERS: [&str; 11] = [
    "name",
    "title",
    "description",
    "annotations",
    "icons",
    "execution",
    "outputSchema",
    "_meta",
    "type",
    "strict",
    "handler",
];

/// Members that choose a dialect, beside those of a single tool.
const CHOICES: [&str; 4] = ["to", "provider", "profile", "model"];

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is not JSON.
    #[error("the text is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// There is nothing that could be a tool.
    #[error("expected a list of tools, {{\"tools\": […]}}, a tools/list reply or one tool")]
    NoTools,
}

/// The tools of a document.
#[derive(Debug, Default)]
pub struct ToolDocument {
    /// The tools, in order.
    pub tools: Vec<GivenTool>,
    /// The members beside the list.
    pub members: Map<String, Value>,
}

/// A tool as a document has it.
#[derive(Clone, Debug)]
pub struct GivenTool {
    /// JSON Pointer to the object that holds its name.
    pub pointer: String,
    definition: Result<Value, UnreadTool>,
}

/// A tool that cannot be read, while the others of its document can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadTool {
    /// Its name; empty if it has none.
    pub name: String,
    /// Why it cannot be read.
    pub reason: String,
}

impl UnreadTool {
    /// A tool that is nested more deeply than JSON may be.
    pub fn too_deep(name: String) -> Self {
        let reason =
            format!("MCP_TOOL_SCHEMA_UNBOUNDED: its JSON is nested more than {JSON_DEPTH} levels deep");
        Self { name, reason }
    }
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOrigin {
    /// A server: the tool is what MCP says of it, and other members count for nothing.
    Server,
    /// A document that somebody wrote, perhaps in a provider's form, whose members count.
    Document,
}

/// Something that can be translated: a definition, or the reason why there is none.
pub trait ToolSource {
    /// The definition, if it can be read.
    fn definition(&self) -> Result<&Value, &UnreadTool>;

    /// Where it comes from.
    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Server
    }

    /// The tool's name; empty if it has none.
    fn name(&self) -> &str {
        match self.definition() {
            Ok(tool) => tool.text("name").unwrap_or_default(),
            Err(unread) => &unread.name,
        }
    }
}

impl<T: Borrow<Value>> ToolSource for T {
    fn definition(&self) -> Result<&Value, &UnreadTool> {
        Ok(self.borrow())
    }
}

impl ToolSource for GivenTool {
    fn definition(&self) -> Result<&Value, &UnreadTool> {
        self.definition.as_ref()
    }

    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Document
    }
}

impl ToolDocument {
    /// Reads a document. A tool that is nested too deeply does not keep the others from being read.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let whole: &RawValue = serde_json::from_str(text)?;
        if let Some(items) = items_of(whole) {
            return Ok(Self::of_items(&items, "", &RawMembers::default())?);
        }
        let members = members_of(whole).ok_or(DocumentError::NoTools)?;
        for path in LISTS {
            let Some(list) = descend(&members, path) else { continue };
            let pointer = format!("/{}", path.join("/"));
            let rest = beside(&members, path);
            if let Some(items) = items_of(list) {
                return Ok(Self::of_items(&items, &pointer, &rest)?);
            }
            if let Some(table) = members_of(list) {
                return Ok(Self::of_table(list, &table, &pointer, &rest)?);
            }
        }
        if let Some(tool) = members.get("tool").filter(|tool| members_of(tool).is_some()) {
            return Ok(Self::of_items_at(&[("/tool".to_owned(), tool)], &beside(&members, &["tool"]))?);
        }
        if !is_tool(whole, &members) {
            return Err(DocumentError::NoTools);
        }
        let rest = members.filtered(|name| CHOICES.contains(&name));
        Ok(Self::of_items_at(&[(String::new(), whole)], &rest)?)
    }

    /// Reads a document that is no text: the forms that most documents have as they are, any other by its text.
    pub fn of_value(document: Value) -> Result<Self, DocumentError> {
        Self::plain(document).or_else(|other| Self::parse(&other.to_string()))
    }

    /// Reads a list of tools, or an object with one under `tools`, in which every tool has its name where MCP has it. Gives any other
    /// document back.
    pub fn plain(document: Value) -> Result<Self, Value> {
        match document {
            Value::Array(items) if items.iter().all(has_name) => Ok(Self::of_list(items, "")),
            Value::Object(mut members) => match members.get("tools") {
                Some(Value::Array(items)) if items.iter().all(has_name) => {
                    let tools = members.shift_remove("tools");
                    let list = if let Some(Value::Array(items)) = tools { items } else { Vec::new() };
                    Ok(Self { members, ..Self::of_list(list, "/tools") })
                }
                _ => Err(Value::Object(members)),
            },
            other => Err(other),
        }
    }

    fn of_list(items: Vec<Value>, pointer: &str) -> Self {
        let tools = items.into_iter().enumerate();
        let tools = tools.map(|(index, item)| GivenTool::checked(Ok(item), format!("{pointer}/{index}")));
        Self { tools: tools.collect(), members: Map::new() }
    }

    fn of_items(
        items: &[&RawValue],
        pointer: &str,
        rest: &RawMembers<'_>,
    ) -> Result<Self, serde_json::Error> {
        let located: Vec<(String, &RawValue)> =
            items.iter().enumerate().map(|(index, item)| (format!("{pointer}/{index}"), *item)).collect();
        Self::of_items_at(&located, rest)
    }

    /// One tool, or tools by name.
    fn of_table(
        raw: &RawValue,
        table: &RawMembers<'_>,
        pointer: &str,
        rest: &RawMembers<'_>,
    ) -> Result<Self, serde_json::Error> {
        if is_tool(raw, table) {
            return Self::of_items_at(&[(pointer.to_owned(), raw)], rest);
        }
        let mut document = Self::of_items_at(&[], rest)?;
        for (name, raw) in table.iter() {
            let mut tool = read(raw, format!("{pointer}/{}", pointer::escape(name)));
            match &mut tool.definition {
                Ok(Value::Object(members)) => {
                    members.entry("name").or_insert_with(|| name.into());
                }
                Err(unread) if unread.name.is_empty() => name.clone_into(&mut unread.name),
                Ok(_) | Err(_) => {}
            }
            document.tools.push(tool);
        }
        Ok(document)
    }

    fn of_items_at(items: &[(String, &RawValue)], rest: &RawMembers<'_>) -> Result<Self, serde_json::Error> {
        let mut tools = Vec::with_capacity(items.len());
        for (pointer, item) in items {
            expand(item, pointer, &mut tools);
        }
        let members = rest
            .iter()
            .map(|(name, value)| Ok((name.to_owned(), serde_json::from_str(value.get())?)))
            .collect::<Result<_, serde_json::Error>>()?;
        Ok(Self { tools, members })
    }
}

/// Whether a JSON text, read as a schema by mistake, is a document with tools.
pub fn holds_tools(text: &str) -> bool {
    let Ok(document) = ToolDocument::parse(text) else { return false };
    let is_schema = match from_str(text) {
        Ok(Value::Object(members)) => {
            members.has("properties") || members.get("type").is_some_and(|kind| kind != "function")
        }
        Ok(_) | Err(_) => false,
    };
    !is_schema && document.tools.iter().any(|tool| !tool.name().is_empty())
}

impl GivenTool {
    /// Reads one tool. Unlike in a document, a group of tools is none.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Ok(read_one(raw, members_of(raw).as_ref(), ""))
    }

    /// A tool that was not read from a text.
    pub fn new(pointer: String, definition: Value) -> Self {
        Self { pointer, definition: Ok(definition) }
    }

    /// A tool that could not be read.
    pub fn unread(pointer: String, tool: UnreadTool) -> Self {
        Self { pointer, definition: Err(tool) }
    }

    /// What was read, unless it is no function.
    fn checked(definition: Result<Value, UnreadTool>, pointer: String) -> Self {
        let definition = definition.and_then(|tool| match tool.as_object().and_then(provider_tool) {
            Some((name, reason)) => Err(UnreadTool { name, reason }),
            None => Ok(tool),
        });
        Self { pointer, definition }
    }
}

/// Whether an item of a list is a tool as it is: what has a name is neither wrapped nor a group.
fn has_name(item: &Value) -> bool {
    item.as_object().is_some_and(|members| members.contains_key("name"))
}

/// The tools in one item of a list: usually itself.
fn expand(item: &RawValue, pointer: &str, tools: &mut Vec<GivenTool>) {
    let members = members_of(item).filter(|members| members.get("name").is_none());
    let groups = || GROUPS.iter().filter_map(|group| Some((group, items_of(members.as_ref()?.get(group)?)?)));
    for (group, declared) in groups() {
        for (index, declaration) in declared.iter().enumerate() {
            tools.push(read(declaration, format!("{pointer}/{group}/{index}")));
        }
    }
    if groups().next().is_none() {
        return tools.push(read_one(item, members.as_ref(), pointer));
    }
    // Beside functions a provider takes tools of its own.
    for (name, value) in members.iter().flat_map(RawMembers::iter) {
        if !GROUPS.contains(&name) && members_of(value).is_some() {
            let own = Value::Object(Map::from_iter([(name.to_owned(), Value::Object(Map::new()))]));
            tools.push(GivenTool::checked(Ok(own), format!("{pointer}/{}", pointer::escape(name))));
        }
    }
}

/// A tool by itself or in a provider's wrapper, whose other members count as the tool's own.
fn read_one(raw: &RawValue, members: Option<&RawMembers<'_>>, pointer: &str) -> GivenTool {
    let Some((wrapper, inner)) = members.and_then(wrapped) else { return read(raw, pointer.to_owned()) };
    let mut tool = read(inner, format!("{pointer}/{wrapper}"));
    if let Ok(Value::Object(own)) = &mut tool.definition {
        for (name, value) in members.iter().flat_map(|members| members.iter()) {
            if name != wrapper
                && name != "type"
                && let Ok(value) = from_str(value.get())
            {
                own.entry(name).or_insert(value);
            }
        }
    }
    tool
}

/// The tool inside a provider's wrapper, and the wrapper's name.
fn wrapped<'t>(members: &RawMembers<'t>) -> Option<(&'static str, &'t RawValue)> {
    if members.get("name").is_some() {
        return None;
    }
    let inner = |wrapper: &&'static str| Some((*wrapper, members.get(wrapper)?));
    WRAPPERS.iter().find_map(inner).filter(|(_, tool)| tool.get().starts_with('{'))
}

fn read(raw: &RawValue, pointer: String) -> GivenTool {
    let definition = from_str(raw.get()).map_err(|error| {
        let name = members_of(raw).and_then(|members| serde_json::from_str(members.get("name")?.get()).ok());
        let name: String = name.unwrap_or_default();
        if depth(raw.get()) > JSON_DEPTH {
            return UnreadTool::too_deep(name);
        }
        UnreadTool { name, reason: format!("it cannot be read: {error}") }
    });
    GivenTool::checked(definition, pointer)
}

/// How deeply the arrays and objects of a JSON text are nested.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether an object is a tool, rather than any other JSON with a name.
fn is_tool(raw: &RawValue, members: &RawMembers<'_>) -> bool {
    if GROUPS.iter().any(|group| members.get(group).is_some()) || wrapped(members).is_some() {
        return true;
    }
    if !members.get("name").is_some_and(|name| name.get().starts_with('"')) {
        return false;
    }
    let own = members.iter().all(|(name, _)| OWN_MEMBERS.contains(&name) || CHOICES.contains(&name));
    own || match from_str(raw.get()) {
        Ok(Value::Object(tool)) => schema_of(&tool).is_some() || misplaced_schema(&tool).is_some(),
        // One that cannot be read is reported as such.
        Ok(_) | Err(_) => true,
    }
}

fn descend<'t>(members: &RawMembers<'t>, path: &[&str]) -> Option<&'t RawValue> {
    let (first, rest) = path.split_first()?;
    let value = members.get(first)?;
    if rest.is_empty() { Some(value) } else { descend(&members_of(value)?, rest) }
}

/// The members beside the list at `path`.
fn beside<'t>(members: &RawMembers<'t>, path: &[&str]) -> RawMembers<'t> {
    members.filtered(|name| Some(&name) != path.first())
}
