//! What a tool's own text says about it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::Translator;
use crate::arguments::{OmissionKind, Validator};
use crate::dialect::{Dialect, Lowering, NameRule};
use crate::document::ToolSource;
use gateway_notation::pointer;
use serde_json::{Map, Value};

use super::limits::Spend;
use super::{Finding, Rule, ordinal, prose, rules};
use crate::schema::{Keyword, Kind, Members as _, children};
use crate::tokens::value_bytes;
use crate::tool::{input_schema, misplaced_schema_warning, schema_pointer};
use crate::work::node_units;

/// A description shorter than this hardly helps.
const SHORT: usize = 15;

/// Findings that can be had from the tools and the dialects' data, without translating.
pub(super) fn lint(tools: &[impl ToolSource], translators: &[Translator], spend: &mut Spend) -> Vec<Finding> {
    let dialects: Vec<&Dialect> = translators.iter().map(Translator::dialect).collect();
    let mut findings = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut letters: HashMap<String, &str> = HashMap::new();
    for (index, tool) in tools.iter().enumerate() {
        let (name, tool) = (tool.name(), tool.definition());
        let shared = tool.map_or(0, shared_bytes);
        let mut lint = Lint {
            tool: name,
            index,
            dialects: &dialects,
            findings: &mut findings,
            shared,
            spend: &mut *spend,
        };
        let (tool, members) = match tool {
            Ok(tool @ Value::Object(members)) => (tool, members),
            Ok(_) => {
                lint.add(&rules::TOOL_NOT_OBJECT, "", "the entry is not a JSON object");
                continue;
            }
            Err(unread) => {
                // One with a name is reported with the dialects, which all leave it out.
                if name.is_empty() {
                    lint.add(&rules::QUARANTINED, "", unread.reason.clone());
                }
                continue;
            }
        };
        if name.is_empty() {
            lint.add(&rules::NAME_MISSING, "", "the tool has no name");
        } else if let Some(first) = names.insert(name, index) {
            let message = format!("`{name}` is also the name of tool {}", ordinal(first));
            lint.add(&rules::NAME_DUPLICATE, "/name", message);
        } else {
            let plain =
                name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect();
            if let Some(other) = letters.insert(plain, name) {
                let message = format!("`{name}` is nearly `{other}`");
                lint.add(&rules::NAME_CLASH, "/name", message);
            }
        }
        lint.tool(members);
        lint.schema(tool);
    }
    findings
}

struct Lint<'l> {
    tool: &'l str,
    index: usize,
    dialects: &'l [&'l Dialect],
    findings: &'l mut Vec<Finding>,
    /// The size of the definitions that every part of the schema may refer to.
    shared: usize,
    spend: &'l mut Spend,
}

/// What names all of the dialects that refuse one would take.
fn name_help(
    dialects: &[&Dialect],
    refusing: &[String],
    rule: impl Fn(&Dialect) -> &NameRule,
) -> Cow<'static, str> {
    let rules =
        || dialects.iter().filter(|dialect| refusing.contains(&dialect.name)).map(|dialect| rule(dialect));
    let longest = rules().map(|rule| rule.max).filter(|max| *max > 0).min();
    // Punctuation that every one of them takes.
    let taken = |letter: &char| {
        rules().all(|rule| rule.punctuation.as_ref().is_none_or(|letters| letters.contains(*letter)))
    };
    let marks = "_-.:".chars().filter(taken).map(String::from);
    let kinds: Vec<String> = ["letters", "digits"].map(str::to_owned).into_iter().chain(marks).collect();
    let (last, others) = kinds.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    let start = if rules().any(|rule| !rule.any_start) { ", starting with a letter or _" } else { "" };
    let length = longest.map_or_else(String::new, |longest| format!(", at most {longest} characters"));
    Cow::Owned(format!("use {} and {last}{start}{length}", others.join(", ")))
}

/// What checking a schema costs for each of its bytes, in bytes of output.
const VALIDATION: usize = 8;

/// The size of the definitions in a tool's schema.
fn shared_bytes(tool: &Value) -> usize {
    let schema = tool.pointer(schema_pointer(tool));
    let definitions = ["$defs", "definitions"].iter().filter_map(|key| schema?.get(key));
    definitions.map(value_bytes).sum()
}

impl Lint<'_> {
    fn add(&mut self, rule: &'static Rule, pointer: &str, message: impl Into<String>) {
        self.add_for(rule, pointer, message, Vec::new());
    }

    fn add_for(
        &mut self,
        rule: &'static Rule,
        pointer: &str,
        message: impl Into<String>,
        dialects: Vec<String>,
    ) {
        self.add_with(rule, pointer, message, dialects, Cow::Borrowed(rule.help));
    }

    fn add_with(
        &mut self,
        rule: &'static Rule,
        pointer: &str,
        message: impl Into<String>,
        dialects: Vec<String>,
        help: Cow<'static, str>,
    ) {
        let finding = Finding {
            tool: Some(self.tool.to_owned()),
            index: Some(self.index),
            pointer: pointer.to_owned(),
            dialects,
            help,
            ..Finding::new(rule, message)
        };
        self.spend.add(self.findings, finding);
    }

    fn dialects_where(&self, holds: impl Fn(&Dialect) -> bool) -> Vec<String> {
        let refused = self.dialects.iter().filter(|dialect| holds(dialect));
        refused.map(|dialect| dialect.name.clone()).collect()
    }

    /// Dialects that read the schema and say `holds` of it.
    fn readers_where(&self, holds: impl Fn(&Dialect) -> bool) -> Vec<String> {
        self.dialects_where(|dialect| !matches!(dialect.schema.lowering, Lowering::None) && holds(dialect))
    }

    fn tool(&mut self, members: &Map<String, Value>) {
        let name = self.tool;
        if !name.is_empty() {
            let refusing = self.dialects_where(|dialect| !dialect.names.allows(name));
            if !refusing.is_empty() {
                let message =
                    format!("the name `{name}` is not legal here, so the tool travels under another");
                let help = name_help(self.dialects, &refusing, |dialect| &dialect.names);
                self.add_with(&rules::NAME_ILLEGAL, "/name", message, refusing, help);
            }
            if prose::is_vague_tool(name) {
                let message = format!("`{name}` does not say what the tool does");
                self.add(&rules::NAME_UNCLEAR, "/name", message);
            }
        }
        match members.text("description").map(str::trim) {
            None | Some("") => {
                self.add(&rules::DESCRIPTION_MISSING, "", "the tool has no description");
            }
            Some(text) => {
                let length = text.chars().count();
                if length < SHORT {
                    let message = format!("the description is only `{text}`");
                    self.add(&rules::DESCRIPTION_SHORT, "/description", message);
                }
                self.length("/description", length, |dialect| dialect.limits.description);
            }
        }
    }

    /// Adds a finding for every limit that a description of `length` characters breaks.
    fn length(&mut self, pointer: &str, length: usize, limit: impl Fn(&Dialect) -> usize) {
        let over = self.dialects_where(|dialect| limit(dialect) > 0 && length > limit(dialect));
        let tightest = self.dialects.iter().map(|dialect| limit(dialect)).filter(|limit| *limit > 0).min();
        if let Some(limit) = tightest.filter(|_| !over.is_empty()) {
            let message = format!("{length} characters, but only {limit} are taken here");
            self.add_for(&rules::DESCRIPTION_LONG, pointer, message, over);
        }
    }

    fn schema(&mut self, tool: &Value) {
        let base = schema_pointer(tool);
        let schema = match tool.pointer(base) {
            None | Some(Value::Null | Value::Bool(_)) => {
                let misplaced = tool.as_object().and_then(misplaced_schema_warning);
                let message = misplaced.unwrap_or_else(|| "the tool has no input schema".to_owned());
                return self.add(&rules::SCHEMA_MISSING, "", message);
            }
            Some(schema) => schema,
        };
        let Value::Object(members) = schema else { return };
        if !self.spend.takes(value_bytes(schema).saturating_mul(VALIDATION)) {
            return;
        }
        self.validity(tool, base);
        if !members.contains_key("type") {
            self.add(&rules::ROOT_TYPE, base, "the schema does not say that arguments are an object");
        }
        for keyword in ["anyOf", "oneOf", "allOf", "if", "not", "enum", "const"] {
            let value = matches!(keyword, "enum" | "const" | "not");
            let refusing = self.readers_where(|dialect| {
                !(if value { dialect.schema.root_values } else { dialect.schema.root_unions })
            });
            if members.contains_key(keyword) && !refusing.is_empty() {
                let message = format!("`{keyword}` at the root is refused here, so it is folded away");
                self.add_for(&rules::ROOT_UNION, &format!("{base}/{keyword}"), message, refusing);
            }
        }
        self.node(schema, schema, base, Position::Root);
    }

    /// What JSON Schema itself says against the schema.
    fn validity(&mut self, tool: &Value, base: &str) {
        let validator = Validator::new(&input_schema(tool));
        for omission in validator.omissions() {
            let pointer = format!("{base}{}", omission.path);
            let keyword = omission.path.rsplit('/').next().unwrap_or_default();
            // Nothing is wrong with what is only too large to be checked here.
            if omission.kind == OmissionKind::TooLarge {
                continue;
            }
            let rule = if omission.kind == OmissionKind::OtherDraft {
                &rules::SCHEMA_DRAFT
            } else if matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef") {
                &rules::REF_DANGLING
            } else if matches!(keyword, "unevaluatedProperties" | "unevaluatedItems") {
                // Left out only because something else is broken, which has its own finding.
                continue;
            } else {
                &rules::SCHEMA_INVALID
            };
            let written = tool.pointer(&pointer);
            let message = match (keyword, written) {
                ("type", Some(kind)) => format!("{kind} is no type of JSON Schema"),
                _ => omission.reason.clone(),
            };
            self.add(rule, &pointer, message);
        }
    }

    fn node(&mut self, root: &Value, schema: &Value, pointer: &str, position: Position) {
        let Value::Object(members) = schema else { return };
        if !self.spend.takes(node_units(1)) {
            return;
        }
        self.object(root, members, pointer, position);
        self.array(members, pointer);
        // The definitions are read anew for every default, so that many defaults beside long definitions cost their product.
        if let Some(default) = members.get("default").filter(|default| !default.is_null())
            && self.spend.takes((value_bytes(schema) + self.shared).saturating_mul(VALIDATION))
        {
            let mut alone = schema.clone();
            if let (Value::Object(alone), Value::Object(root)) = (&mut alone, root) {
                for key in ["$schema", "$defs", "definitions"] {
                    if let Some(value) = root.get(key) {
                        alone.entry(key).or_insert_with(|| value.clone());
                    }
                }
            }
            let validator = Validator::new(&alone);
            if validator.omissions().is_empty() && !validator.is_valid(default) {
                let message = format!("the default {default} breaks the rules beside it");
                self.add(&rules::DEFAULT_INVALID, &format!("{pointer}/default"), message);
            }
        }
        for child in children(schema) {
            self.node(root, child.schema, &child.pointer(pointer), Position::Inside);
        }
    }

    fn array(&mut self, members: &Map<String, Value>, pointer: &str) {
        let says = |name: &str| match members.get("type") {
            Some(Value::String(kind)) => kind == name,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
            _ => false,
        };
        if says("array") && !members.contains_key("items") && !members.contains_key("prefixItems") {
            let refusing = self.readers_where(|dialect| dialect.schema.items_required);
            let message = "the array does not say what its items are";
            self.add_for(&rules::ITEMS_MISSING, pointer, message, refusing);
        }
    }

    fn object(&mut self, root: &Value, members: &Map<String, Value>, pointer: &str, position: Position) {
        let properties = members.get("properties").and_then(Value::as_object);
        let typed = members.get("type").is_some_and(|kind| kind == "object");
        let has_any = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
        let says_more = has_any(&["patternProperties", "anyOf", "oneOf", "allOf", "$ref", "propertyNames"])
            || members.get("additionalProperties").is_some_and(|value| *value != Value::Bool(true));
        if position == Position::Inside && typed && properties.is_none_or(Map::is_empty) && !says_more {
            self.add(&rules::OBJECT_FREE, pointer, "the object may hold anything, so a model has to guess");
        }
        let Some(properties) = properties else { return };
        let required = members.get("required").and_then(Value::as_array);
        if required.is_none() && !properties.is_empty() && !members.contains_key("required") {
            self.add(&rules::REQUIRED_MISSING, pointer, "no parameter is said to be required");
        }
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let elsewhere = has_any(&["anyOf", "oneOf", "allOf", "$ref"]);
            if !properties.contains_key(name) && !elsewhere {
                let message = format!("`{name}` is required but not declared");
                self.add(&rules::REQUIRED_UNKNOWN, &format!("{pointer}/required"), message);
            }
        }
        let listed: HashSet<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in properties {
            let at = format!("{pointer}/properties/{}", pointer::escape(name));
            let optional = !listed.contains(name.as_str());
            self.parameter(root, name, schema, &at, optional);
        }
    }

    fn parameter(&mut self, root: &Value, name: &str, schema: &Value, pointer: &str, optional: bool) {
        let refusing = self.readers_where(|dialect| !dialect.keys.allows(name));
        if !refusing.is_empty() {
            let message = format!("the key `{name}` is not legal here, so it travels under another");
            let help = name_help(self.dialects, &refusing, |dialect| &dialect.keys);
            self.add_with(&rules::KEY_ILLEGAL, pointer, message, refusing, help);
        }
        if prose::is_vague_parameter(name) {
            let message = format!("`{name}` does not say what goes in");
            self.add(&rules::NAME_UNCLEAR, pointer, message);
        }
        let Value::Object(members) = schema else { return };
        let target = members.text("$ref").and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        let description = [Some(schema), target]
            .into_iter()
            .flatten()
            .find_map(|node| node.text("description"))
            .map(str::trim)
            .filter(|text| !text.is_empty());
        match description {
            None => {
                let message = format!("`{name}` has no description");
                self.add(&rules::PARAMETER_UNDESCRIBED, pointer, message);
            }
            Some(text) => {
                let at = format!("{pointer}/description");
                self.length(&at, text.chars().count(), |dialect| dialect.limits.parameter_description);
                let says = |key: &str| {
                    members.contains_key(key) || target.is_some_and(|node| node.get(key).is_some())
                };
                let listed =
                    ["enum", "const", "anyOf", "oneOf", "items", "pattern"].iter().any(|key| says(key));
                if !listed && prose::lists_values(text) {
                    let message = format!("the description of `{name}` lists values");
                    self.add(&rules::ENUM_IN_PROSE, pointer, message);
                }
                if let Some(value) = prose::named_default(text).filter(|_| optional && !says("default")) {
                    let message = format!("the description of `{name}` names the default {value}");
                    self.add(&rules::DEFAULT_IN_PROSE, pointer, message);
                }
            }
        }
        let says_type = |keyword: Keyword| match keyword {
            Keyword::Then | Keyword::Else | Keyword::Nullable | Keyword::Defs | Keyword::Definitions => false,
            other => other.kind() == Kind::Any,
        };
        if !members.keys().filter_map(|key| Keyword::parse(key)).any(says_type) {
            let message = format!("`{name}` has no type");
            let wanting = self
                .readers_where(|dialect| dialect.schema.rebuild().is_some_and(|rules| rules.type_required));
            self.add_for(&rules::TYPE_MISSING, pointer, message, wanting);
        }
    }
}

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Root,
    Inside,
}
