//! Models that look at the request before they answer.

use serde_json::{Map, Value, json};

use super::record::RecordedRequest;
use super::reply::Reply;

/// How deep arguments are made from a schema.
const DEEPEST: usize = 16;

/// The names of Google's types, by the numbers that some of its clients send instead.
pub(crate) const GOOGLE_TYPES: [&str; 8] =
    ["TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];

/// How a model answers what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Calls the first tool whose name contains this, with arguments made from its schema. Again and again.
    CallTool(String),
    /// The same once; answers with the result when it is there.
    CallToolOnce(String),
    /// Answers with the last result, or says that there is none.
    EchoResult,
}

impl Behaviour {
    /// The turn for a request.
    pub(crate) fn reply(&self, request: &RecordedRequest) -> Reply {
        match self {
            Self::CallTool(name) => call(request, name),
            Self::CallToolOnce(name) => request.last_result().map_or_else(|| call(request, name), say),
            Self::EchoResult => {
                say(request.last_result().unwrap_or_else(|| "There is no result.".to_owned()))
            }
        }
    }
}

fn say(text: String) -> Reply {
    Reply::new().text(text)
}

fn call(request: &RecordedRequest, part_of_name: &str) -> Reply {
    let tools = request.tools();
    let Some(tool) = tools.iter().find(|tool| tool.name.contains(part_of_name)) else {
        return say(format!("No tool is called {part_of_name}."));
    };
    // Nine characters, which every provider takes; another one in every turn.
    let id = format!("call{:05}", request.index % 100_000);
    Reply::new().call(id, tool.name.clone(), example(&tool.schema))
}

/// A value that a schema accepts, as far as a simple reader can tell.
pub fn example(schema: &Value) -> Value {
    example_within(schema, schema, DEEPEST)
}

fn example_within(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    let inner = |schema: &Value| example_within(schema, root, depth - 1);
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return target.strip_prefix('#').and_then(|path| root.pointer(path)).map_or(Value::Null, inner);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = schema.get("enum").and_then(|values| values.get(0)) {
        return value.clone();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branch) = schema.get(key).and_then(|branches| branches.get(0)) {
            return inner(branch);
        }
    }
    let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind));
    let numbered = |kind: &Value| GOOGLE_TYPES.get(usize::try_from(kind.as_u64()?).ok()?).copied();
    let kind = kind.and_then(|kind| kind.as_str().or_else(|| numbered(kind)));
    match kind.unwrap_or("object").to_lowercase().as_str() {
        "string" => text_for(schema),
        "integer" | "number" => number_for(schema),
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).min(8);
            (0..least).map(|_| schema.get("items").map_or(Value::Null, inner)).collect()
        }
        _ => object_for(schema, inner),
    }
}

fn text_for(schema: &Value) -> Value {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(4).min(4096);
    "text".chars().cycle().take(usize::try_from(least.max(1)).unwrap_or(4)).collect::<String>().into()
}

fn number_for(schema: &Value) -> Value {
    let least = schema.get("minimum").or_else(|| schema.get("exclusiveMinimum")).and_then(Value::as_i64);
    json!(least.map_or(1, |least| least.saturating_add(1)))
}

/// Required members only, all of them where nothing is required.
fn object_for(schema: &Value, inner: impl Fn(&Value) -> Value) -> Value {
    let required: Option<Vec<&str>> = schema
        .get("required")
        .and_then(Value::as_array)
        .filter(|names| !names.is_empty())
        .map(|names| names.iter().filter_map(Value::as_str).collect());
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let wanted =
        properties.filter(|(name, _)| required.as_ref().is_none_or(|names| names.contains(&name.as_str())));
    wanted.map(|(name, schema)| (name.clone(), inner(schema))).collect::<Map<_, _>>().into()
}
