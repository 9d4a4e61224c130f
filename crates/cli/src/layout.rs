//! JSON for people: short parts on one line, long ones indented.

use serde_json::Value;

/// The preferred maximum width of a line.
const WIDTH: usize = 100;

/// `value`, indented by two spaces per level.
pub(crate) fn lay_out(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value, 0, 0);
    text
}

/// Writes `value` at `indent`, on a line that is `used` characters long.
fn write_value(text: &mut String, value: &Value, indent: usize, used: usize) {
    let short = one_line(value);
    let broken = match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if !broken || used + short.chars().count() <= WIDTH {
        text.push_str(&short);
        return;
    }
    let inner = indent + 2;
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    text.push(open);
    let mut first = true;
    let mut start = |text: &mut String| {
        text.push_str(if std::mem::take(&mut first) { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(inner));
    };
    match value {
        Value::Array(items) => {
            for item in items {
                start(text);
                write_value(text, item, inner, inner);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                start(text);
                let key = Value::from(key.as_str()).to_string();
                text.push_str(&key);
                text.push_str(": ");
                write_value(text, item, inner, inner + key.chars().count() + 2);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(close);
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(one_line).collect();
            format!("[{}]", parts.join(", "))
        }
        Value::Object(map) => {
            let parts: Vec<String> = map
                .iter()
                .map(|(key, item)| format!("{}: {}", Value::from(key.as_str()), one_line(item)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_parts_stay_on_one_line() {
        assert_eq!(lay_out(&json!({"a": [1, {"b": null}], "c": {}})), r#"{"a": [1, {"b": null}], "c": {}}"#);
    }

    #[test]
    fn long_parts_are_broken_up() {
        let long = "x".repeat(90);
        let expected = format!("{{\n  \"a\": \"{long}\",\n  \"b\": [1, 2]\n}}");
        assert_eq!(lay_out(&json!({"a": long, "b": [1, 2]})), expected);
    }
}
