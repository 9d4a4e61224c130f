//! The five tools.

use serde_json::{Number, Value, json};

use super::store::Store;
use crate::arguments::Arguments;
use crate::server::object_schema;

/// What a tool answers: its JSON, or a text that lets the model correct itself.
type Answer = Result<Value, String>;

/// The definitions, in the order in which they are listed.
pub(super) fn definitions() -> Value {
    json!([
        arithmetic("add", "Add", "Add two numbers."),
        arithmetic("multiply", "Multiply", "Multiply two numbers."),
        {
            "name": "get_weather",
            "title": "Weather",
            "description": "Tell the weather of a place. The report is made up: it is the same for every place.",
            "inputSchema": object(&[("location", json!({"type": "string", "description": "City name"}))]),
            "outputSchema": object(&[
                ("location", json!({"type": "string"})),
                ("temperature", json!({"type": "number", "description": "Degrees Fahrenheit"})),
                ("conditions", json!({"type": "string"})),
                ("humidity", json!({"type": "number", "description": "Percent"})),
            ]),
            "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
        },
        {
            "name": "store_value",
            "title": "Store a value",
            "description": "Store a text under a key, for as long as the server runs. An old value is replaced.",
            "inputSchema": object(&[
                ("key", json!({"type": "string", "description": "Where to store it"})),
                ("value", json!({"type": "string", "description": "What to store"})),
            ]),
            "outputSchema": object(&[
                ("success", json!({"type": "boolean"})),
                ("key", json!({"type": "string"})),
                ("value", json!({"type": "string"})),
            ]),
            "annotations": {
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false
            },
        },
        {
            "name": "get_value",
            "title": "Read a stored value",
            "description": "Read the text that was stored under a key. The value is null if there is none.",
            "inputSchema": object(&[("key", json!({"type": "string", "description": "Where it was stored"}))]),
            "outputSchema": object(&[
                ("key", json!({"type": "string"})),
                ("value", json!({"type": ["string", "null"]})),
            ]),
            "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
        },
    ])
}

fn arithmetic(name: &str, title: &str, description: &str) -> Value {
    let number = |description: &str| json!({"type": "number", "description": description});
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": object(&[("a", number("First number")), ("b", number("Second number"))]),
        "outputSchema": object(&[
            ("result", json!({"type": "number"})),
            ("operation", json!({"type": "string"})),
            ("a", json!({"type": "number"})),
            ("b", json!({"type": "number"})),
        ]),
        "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
    })
}

/// The schema of an object with exactly these members.
fn object(members: &[(&str, Value)]) -> Value {
    let mut schema = object_schema(members, &[]);
    schema["additionalProperties"] = json!(false);
    schema
}

/// Runs a tool; `None` if there is no tool of that name.
pub(super) fn call(name: &str, arguments: Arguments<'_>, store: &Store) -> Option<Answer> {
    Some(match name {
        "add" => two_numbers(name, arguments, i128::checked_add, |a, b| a + b),
        "multiply" => two_numbers(name, arguments, i128::checked_mul, |a, b| a * b),
        "get_weather" => get_weather(arguments),
        "store_value" => store_value(arguments, store),
        "get_value" => get_value(arguments, store),
        _ => return None,
    })
}

fn two_numbers(
    operation: &str,
    arguments: Arguments<'_>,
    whole: fn(i128, i128) -> Option<i128>,
    real: fn(f64, f64) -> f64,
) -> Answer {
    arguments.only(&["a", "b"])?;
    let (a, b) = (arguments.number("a")?, arguments.number("b")?);
    let exact = a.as_i128().zip(b.as_i128()).and_then(|(a, b)| whole(a, b)).and_then(Number::from_i128);
    // A whole result is written without a fraction, as `42`, also where an argument was `15.0`.
    let rounded = || {
        let result = real(a.as_f64()?, b.as_f64()?);
        result.is_finite().then(|| result.to_string().parse().ok())?
    };
    let result: Number = exact.or_else(rounded).ok_or("the result is too large for a number")?;
    Ok(json!({"result": result, "operation": operation, "a": a, "b": b}))
}

fn get_weather(arguments: Arguments<'_>) -> Answer {
    arguments.only(&["location"])?;
    let location = arguments.text("location")?;
    Ok(json!({"location": location, "temperature": 72, "conditions": "sunny", "humidity": 45}))
}

fn store_value(arguments: Arguments<'_>, store: &Store) -> Answer {
    arguments.only(&["key", "value"])?;
    let (key, value) = (arguments.text("key")?, arguments.text("value")?);
    store.set(key, value)?;
    Ok(json!({"success": true, "key": key, "value": value}))
}

fn get_value(arguments: Arguments<'_>, store: &Store) -> Answer {
    arguments.only(&["key"])?;
    let key = arguments.text("key")?;
    Ok(json!({"key": key, "value": store.get(key)}))
}
