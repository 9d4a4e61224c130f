//! One text for each JSON value: members in order of their names, and numbers that are equal written alike.

use serde_json::{Number, Value};

/// Floats hold every whole number up to this.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// The canonical text of a value.
pub(crate) fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => out.push_str(&canonical_number(number)),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, out);
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                separate(index, out);
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

/// `1.0` is `1`: languages differ in how they write it.
fn canonical_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= WHOLE => {
            // Minus zero is zero.
            format!("{:.0}", float + 0.0)
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spelling_does_not_count() {
        let read = |text: &str| canonical(&serde_json::from_str(text).unwrap());
        assert_eq!(read(r#"{"b":[1.0,-0.0,1e2,1.5],"a":"\u0061"}"#), r#"{"a":"a","b":[1,0,100,1.5]}"#);
        assert_ne!(canonical(&json!(1)), canonical(&json!("1")));
        assert_ne!(read("9007199254740993"), read("9007199254740992"));
    }
}
