//! The parts of a tool definition.

use serde_json::{Map, Value, json};

use crate::schema::{Members as _, TypeSet};

/// Members that may hold a tool's schema; the first that is there counts.
const SCHEMA_KEYS: [(&str, &str); 7] = [
    ("inputSchema", "/inputSchema"),
    ("parameters", "/parameters"),
    ("schema", "/schema"),
    ("input_schema", "/input_schema"),
    ("paramSchema", "/paramSchema"),
    ("parametersJsonSchema", "/parametersJsonSchema"),
    ("parameters_json_schema", "/parameters_json_schema"),
];

/// Members that describe something else than the arguments, also where they hold a schema.
const OTHER_SCHEMAS: [&str; 9] = [
    "outputSchema",
    "output_schema",
    "response",
    "responseJsonSchema",
    "response_json_schema",
    "returns",
    "annotations",
    "_meta",
    "handler",
];

/// Members that MCP gives a tool, its schema aside.
pub(crate) const MCP_MEMBERS: [&str; 8] =
    ["name", "title", "description", "annotations", "outputSchema", "icons", "execution", "_meta"];

/// Members of other forms that say nothing which is not said in every form.
const COMMON_MEMBERS: [&str; 3] = ["type", "strict", "handler"];

/// The members of a tool in a provider's form that say more than every form does.
pub(crate) fn special_members(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let is_common = |name: &str| {
        MCP_MEMBERS.contains(&name)
            || COMMON_MEMBERS.contains(&name)
            || SCHEMA_KEYS.iter().any(|(key, _)| *key == name)
    };
    members.keys().map(String::as_str).filter(move |name| !is_common(name))
}

/// Why a definition is no function that every provider could have: it asks for a tool that its provider has by itself. The first text is
/// what such a tool is called.
pub(crate) fn provider_tool(members: &Map<String, Value>) -> Option<(String, String)> {
    if schema_of(members).is_some() || misplaced_schema(members).is_some() {
        return None;
    }
    let is_other = |kind: &&str| *kind != "function" && TypeSet::named(kind).is_none();
    let (name, kind) = match (members.text("name"), members.text("type").filter(is_other)) {
        (name, Some(kind)) => (name.unwrap_or(kind), kind),
        // `{"google_search": {}}`
        (None, None) if !members.has("type") && members.values().all(Value::is_object) => {
            let kind = members.keys().next()?;
            (kind.as_str(), kind.as_str())
        }
        (_, None) => return None,
    };
    let reason =
        format!("it is a `{kind}` tool of its provider, not a function, and other providers have none");
    Some((name.to_owned(), reason))
}

/// The schema of a tool's arguments, and the JSON Pointer to it; `None` if the tool has none.
pub(crate) fn schema_of(members: &Map<String, Value>) -> Option<(&'static str, &Value)> {
    let (key, pointer, schema) = SCHEMA_KEYS.iter().find_map(|(key, pointer)| {
        Some((*key, *pointer, members.member(key).filter(|schema| !schema.is_null())?))
    })?;
    // Bedrock wraps it once more.
    match schema.as_object() {
        Some(wrapper) if key == "inputSchema" && wrapper.len() == 1 => match wrapper.get("json") {
            Some(inner @ Value::Object(_)) => Some(("/inputSchema/json", inner)),
            _ => Some((pointer, schema)),
        },
        _ => Some((pointer, schema)),
    }
}

/// JSON Pointer to the schema of a tool's arguments.
pub fn schema_pointer(tool: &Value) -> &'static str {
    tool.as_object().and_then(schema_of).map_or("/inputSchema", |(pointer, _)| pointer)
}

/// The schema of a tool's arguments; one without parameters if the tool has none.
pub fn input_schema(tool: &Value) -> Value {
    match tool.as_object().and_then(schema_of) {
        None | Some((_, Value::Bool(true))) => json!({"type": "object", "properties": {}}),
        Some((_, schema)) => schema.clone(),
    }
}

/// The members of a tool with its schema under `inputSchema`, whatever name it had.
pub fn with_input_schema(mut members: Map<String, Value>) -> Map<String, Value> {
    let found = schema_of(&members).map(|(pointer, schema)| (pointer, schema.clone()));
    if let Some((pointer, schema)) = found.filter(|(pointer, _)| *pointer != "/inputSchema") {
        let key = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
        members.shift_remove(key);
        members.insert("inputSchema".to_owned(), schema);
    }
    members
}

/// The member that looks like the schema of a tool without one; `None` if no member does.
pub(crate) fn misplaced_schema(members: &Map<String, Value>) -> Option<&str> {
    if schema_of(members).is_some() {
        return None;
    }
    let mut others = members.iter().filter(|(name, _)| !OTHER_SCHEMAS.contains(&name.as_str()));
    others.find(|(_, value)| looks_like_schema(value)).map(|(name, _)| name.as_str())
}

/// Whether a schema has rules beside that arguments are an object, well-formed or not.
pub(crate) fn has_rules(schema: &Value) -> bool {
    let says_nothing = |(name, value): (&String, &Value)| match name.as_str() {
        "type" => value == "object",
        "properties" => value.as_object().is_some_and(Map::is_empty),
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "additionalProperties" => value.is_boolean(),
        "title" | "description" | "$schema" | "$id" | "$comment" | "default" | "examples" => true,
        _ => false,
    };
    !schema.as_object().is_some_and(|members| members.iter().all(says_nothing))
}

/// Whether a value is likely to be the schema of an object.
fn looks_like_schema(value: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    members.get("type").is_some_and(|kind| kind == "object")
        || members.get("properties").is_some_and(Value::is_object)
        || members.get("$ref").is_some_and(Value::is_string)
        || ["anyOf", "oneOf", "allOf"].iter().any(|key| members.get(*key).is_some_and(Value::is_array))
}

/// What to write where a tool's schema has an unknown name; `None` if it has none.
pub(crate) fn misplaced_schema_warning(members: &Map<String, Value>) -> Option<String> {
    if let Some((pointer, schema)) = schema_of(members) {
        let key = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
        let has_parameters = |schema: &Value| {
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.is_some_and(|properties| !properties.is_empty())
        };
        let is_other = |name: &&String| *name != key && !OTHER_SCHEMAS.contains(&name.as_str());
        let mut others = members.iter().filter(|(name, value)| is_other(name) && has_parameters(value));
        let (name, _) = others.next().filter(|_| !has_rules(schema))?;
        let name: String = name.chars().take(60).collect();
        return Some(format!(
            "`{key}` has no parameters, but `{name}`, which is not read, looks like a schema with some"
        ));
    }
    let name: String = misplaced_schema(members)?.chars().take(60).collect();
    Some(format!("the tool has no `inputSchema`, but `{name}` looks like one; rename it to `inputSchema`"))
}
