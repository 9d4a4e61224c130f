//! One schema without a tool around it.
//!
//! ```
//! use gateway_dialects::{Dialects, LoneSchema, Options, Translator};
//! use serde_json::json;
//!
//! let translator = Translator::new(&Dialects::builtin(), "universal", Options::default())?;
//! let schema = LoneSchema::new(json!({"type": "string", "format": "uri", "minLength": 5}));
//! assert_eq!(
//!     translator.transform(&schema).schema,
//!     Some(json!({"type": "string", "description": "{\"format\":\"uri\",\"minLength\":5}"}))
//! );
//! # Ok::<(), gateway_dialects::DialectError>(())
//! ```

use serde_json::{Map, Value, json};

use crate::report::Changes;
use crate::schema::{Holds, Keyword, Kind, Members as _};
use crate::tokens::Tokens;
use crate::tool::has_rules;
use crate::translate::{ToolTranslation, Translator};
use crate::work::{TooMuchWork, Work};

/// The parameter that stands for a schema that does not describe arguments.
const PARAMETER: &str = "value";
/// How a reference to that parameter begins.
const AT_PARAMETER: &str = "#/properties/value";

/// How many schemas are looked at to find out whether one describes an object: references can multiply without end.
const REACH: usize = 64;

/// A schema that is to be transformed. One that describes an object is the schema of a tool's arguments; any other is the
/// schema of a required parameter.
#[derive(Clone, Debug)]
pub struct LoneSchema {
    original: Value,
    tool: Value,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Arguments,
    Parameter,
    /// Not a schema that says anything.
    Nothing,
}

/// A transformed schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransformedSchema<'a> {
    /// The schema; `None` if the dialect wants none where there are no parameters.
    pub schema: Option<Value>,
    /// What happened to every keyword.
    pub changes: Changes<'a>,
    /// Estimated tokens.
    pub tokens: Tokens,
    /// Whether the schema is strict.
    pub strict: bool,
    /// Why the schema is the original, or why there is none.
    pub note: Option<String>,
    /// Whether the schema had to be given up.
    pub is_given_up: bool,
}

impl LoneSchema {
    /// A schema; anything else stays as it is.
    pub fn new(schema: Value) -> Self {
        let role = match &schema {
            Value::Object(_) if describes_object(&schema, &schema, &mut { REACH }) => Role::Arguments,
            Value::Object(_) => Role::Parameter,
            _ => Role::Nothing,
        };
        let arguments = match role {
            Role::Arguments => schema.clone(),
            Role::Parameter => {
                let parameter = with_references(&schema, &|reference| moved_in(&schema, reference));
                json!({"type": "object", "properties": {PARAMETER: parameter}, "required": [PARAMETER]})
            }
            Role::Nothing => Value::Null,
        };
        Self { original: schema, tool: json!({"name": "schema", "inputSchema": arguments}), role }
    }

    /// The schema as it was given.
    pub fn original(&self) -> &Value {
        &self.original
    }
}

impl Translator {
    /// Transforms one schema. What cannot be transformed comes back as it was, with a note.
    pub fn transform<'a>(&self, schema: &'a LoneSchema) -> TransformedSchema<'a> {
        match schema.role {
            Role::Nothing => {
                unchanged(schema, "it is not a JSON object, so it comes back unchanged".to_owned())
            }
            Role::Arguments | Role::Parameter => self.transformed(schema),
        }
    }

    /// Transforms one schema, as far as the work allows.
    pub fn transform_within<'a>(
        &self,
        schema: &'a LoneSchema,
        work: &mut Work,
    ) -> Result<TransformedSchema<'a>, TooMuchWork> {
        let transformed = self.transform(schema);
        work.spend(transformed.tokens.before.saturating_add(transformed.tokens.after).saturating_mul(4))?;
        Ok(transformed)
    }

    fn transformed<'a>(&self, schema: &'a LoneSchema) -> TransformedSchema<'a> {
        // Without a description of its own, that of the tool is what only a tool's description could say.
        let translated = self.without_fallback().translate_one(&schema.tool);
        if let Some(reason) = &translated.quarantine {
            let note = format!("it cannot be transformed, so it comes back unchanged: {reason}");
            return TransformedSchema { is_given_up: true, ..unchanged(schema, note) };
        }
        let lowered = translated.schema(self.dialect());
        let notes = translated.description().filter(|text| !text.is_empty()).map(str::to_owned);
        let ToolTranslation { changes, tokens, strict, .. } = translated;
        let name = &self.dialect().name;
        match (schema.role, lowered) {
            (Role::Parameter, Some(lowered)) => match taken_out(lowered) {
                Some(lowered) => TransformedSchema {
                    schema: Some(lowered),
                    changes: changes.inside("properties", PARAMETER),
                    tokens,
                    strict,
                    note: None,
                    is_given_up: false,
                },
                None => unchanged(schema, format!("`{name}` does not send it, so it comes back unchanged")),
            },
            // Only what says nothing stands for no parameters.
            (_, None) if has_rules(&schema.original) => {
                let note = "nothing in it can be transformed, so it comes back unchanged".to_owned();
                TransformedSchema { is_given_up: true, ..unchanged(schema, note) }
            }
            (_, None) => {
                let note = format!("`{name}` wants no schema where there are no parameters; leave it out");
                let note = Some(note);
                TransformedSchema { schema: None, changes, tokens, strict, note, is_given_up: false }
            }
            (_, Some(mut lowered)) => {
                if let (Some(notes), Value::Object(members)) = (notes, &mut lowered) {
                    let own = members.text("description").unwrap_or_default();
                    let text = if own.is_empty() { notes } else { format!("{own} {notes}") };
                    members.insert("description".to_owned(), text.into());
                }
                let schema = Some(lowered);
                TransformedSchema { schema, changes, tokens, strict, note: None, is_given_up: false }
            }
        }
    }
}

fn unchanged(schema: &LoneSchema, note: String) -> TransformedSchema<'_> {
    TransformedSchema {
        schema: Some(schema.original.clone()),
        changes: Changes::default(),
        tokens: Tokens::default(),
        strict: false,
        note: Some(note),
        is_given_up: false,
    }
}

/// Whether a schema can describe the arguments of a tool. One that says nothing can, and one that is not looked at.
fn describes_object(root: &Value, schema: &Value, reach: &mut usize) -> bool {
    let (Value::Object(members), Some(rest)) = (schema, reach.checked_sub(1)) else { return true };
    *reach = rest;
    match members.get("type") {
        Some(Value::String(name)) => return name.eq_ignore_ascii_case("object"),
        Some(Value::Array(names)) => return names.iter().any(|name| name == "object"),
        _ => {}
    }
    let values = members.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    if let Some(values) = values.or_else(|| members.get("const").map(std::slice::from_ref)) {
        return values.iter().any(Value::is_object);
    }
    let kinds = || members.keys().filter_map(|name| Keyword::parse(name)).map(Keyword::kind);
    if kinds().any(|kind| kind == Kind::Object) {
        return true;
    }
    if kinds().any(|kind| matches!(kind, Kind::String | Kind::Number | Kind::Array)) {
        return false;
    }
    let target = members.text("$ref").and_then(|link| root.pointer(link.strip_prefix('#')?));
    if let Some(target) = target.filter(|target| !std::ptr::eq(*target, schema)) {
        return describes_object(root, target, reach);
    }
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| members.get(*key)?.as_array());
    let mut alternatives = alternatives.flatten().peekable();
    alternatives.peek().is_none() || alternatives.any(|schema| describes_object(root, schema, reach))
}

/// A reference as it reads where the whole schema has become a parameter. A schema with an id is its own document.
fn moved_in(root: &Value, reference: &str) -> Option<String> {
    let rest = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    (!root.has("$id") && !root.has("id")).then(|| format!("{AT_PARAMETER}{rest}"))
}

/// The parameter's schema, with the definitions that it refers to.
fn taken_out(mut arguments: Value) -> Option<Value> {
    let parameter = arguments.get_mut("properties")?.get_mut(PARAMETER)?.take();
    let moved_out = |reference: &str| Some(format!("#{}", reference.strip_prefix(AT_PARAMETER)?));
    let mut parameter = with_references(&parameter, &moved_out);
    for key in ["$defs", "definitions"] {
        let Some(Value::Object(shared)) = arguments.get(key) else { continue };
        let Value::Object(members) = &mut parameter else { break };
        let own = members.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(own) = own {
            let moved =
                |(name, schema): (&String, &Value)| (name.clone(), with_references(schema, &moved_out));
            own.extend(shared.iter().map(moved));
        }
    }
    Some(parameter)
}

/// The schema with every reference replaced for which `replaced` has something else. What is no schema stays as it is.
fn with_references(schema: &Value, replaced: &impl Fn(&str) -> Option<String>) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut copy = Map::with_capacity(members.len());
    for (name, value) in members {
        let inside = |value: &Value| with_references(value, replaced);
        let value = match (Holds::of(name), value) {
            (_, Value::String(reference)) if name == "$ref" => {
                replaced(reference).map_or_else(|| value.clone(), Value::String)
            }
            (Holds::List | Holds::SchemaOrList, Value::Array(list)) => list.iter().map(inside).collect(),
            (Holds::Schema | Holds::SchemaOrList, _) => inside(value),
            (Holds::Table, Value::Object(table)) => {
                table.iter().map(|(name, schema)| (name.clone(), inside(schema))).collect()
            }
            (Holds::List | Holds::Table | Holds::Values | Holds::Nothing, _) => value.clone(),
        };
        copy.insert(name.clone(), value);
    }
    Value::Object(copy)
}
