//! A definition as the model sees it, where it is described in words.

use std::borrow::Cow;

use gateway_dialects::{Plan, with_input_schema};
use gateway_notation::pointer;
use serde_json::Value;

/// A definition under the names of the tool and of its parameters that the model sees.
pub(super) fn under_shown_names(definition: Value, name: &str, plan: &Plan) -> Value {
    let Value::Object(members) = definition else { return definition };
    let mut members = with_input_schema(members);
    members.insert("name".to_owned(), name.into());
    let shown = |own: &str| {
        let wire = plan.wire_pointer(&format!("/{}", pointer::escape(own)));
        pointer::steps(&wire).next().map_or_else(|| own.to_owned(), Cow::into_owned)
    };
    if let Some(schema) = members.get_mut("inputSchema") {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            *properties =
                std::mem::take(properties).into_iter().map(|(own, schema)| (shown(&own), schema)).collect();
        }
        for own in schema.get_mut("required").and_then(|names| names.as_array_mut()).into_iter().flatten() {
            if let Some(text) = own.as_str() {
                *own = shown(text).into();
            }
        }
    }
    Value::Object(members)
}
