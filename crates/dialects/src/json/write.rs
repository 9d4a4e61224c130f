//! Writing JSON text, byte for byte as `serde_json` does.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::Json;
use super::scan::find_special;

impl Json<'_> {
    /// Appends the JSON text.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Same(value) => write_value(value, out),
            Self::Null => out.push_str("null"),
            Self::Bool(flag) => write_flag(*flag, out),
            Self::Number(number) => write_number(number, out),
            Self::Text(text) => write_text(text, out),
            Self::Array(items) => write_items(items, out, Self::write),
            Self::Object(entries) => {
                write_members(entries.iter().map(|(name, value)| (&**name, value)), out, Self::write);
            }
        }
    }
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => write_flag(*flag, out),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => write_items(items, out, write_value),
        Value::Object(members) => {
            write_members(members.iter().map(|(name, value)| (name.as_str(), value)), out, write_value);
        }
    }
}

fn write_items<T>(items: &[T], out: &mut String, write: impl Fn(&T, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

fn write_members<'m, T: 'm>(
    members: impl Iterator<Item = (&'m str, &'m T)>,
    out: &mut String,
    write: impl Fn(&T, &mut String),
) {
    out.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

fn write_flag(flag: bool, out: &mut String) {
    out.push_str(if flag { "true" } else { "false" });
}

fn write_number(number: &Number, out: &mut String) {
    // A string takes everything.
    let _ = write!(out, "{number}");
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(index) = find_special(rest.as_bytes()) {
        // A special byte is a character of its own.
        let (Some(plain), Some(byte), Some(behind)) =
            (rest.get(..index), rest.as_bytes().get(index), rest.get(index + 1..))
        else {
            break;
        };
        out.push_str(plain);
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            other => {
                let _ = write!(out, "\\u{other:04x}");
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::json::Json;

    #[track_caller]
    fn check(value: &Value) {
        let mut text = "before ".to_owned();
        Json::Same(value).write(&mut text);
        assert_eq!(text, format!("before {value}"));
    }

    #[test]
    fn every_character_is_written_as_the_library_does() {
        for code in (0..0x250u32).chain([0x2028, 0x2029, 0xfeff, 0xffff, 0x1f600]) {
            let Some(character) = char::from_u32(code) else { continue };
            check(&json!(format!("{character}")));
            check(
                &json!({format!("name {character}"): format!("a long text with {character} in it{character}")}),
            );
        }
    }

    #[test]
    fn numbers_are_written_as_the_library_does() {
        check(&json!([
            0,
            -1,
            u64::MAX,
            i64::MIN,
            0.1,
            -0.0,
            1e300,
            1e-7,
            1.0,
            100_000_000_000_000_000_000.0
        ]));
        check(&json!([[], {}, null, true, false, ""]));
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_the_library_does(value in crate::json::arbitrary::value()) {
            check(&value);
        }
    }

    #[test]
    fn parts_of_our_own_are_written_like_those_of_the_input() {
        let same = json!({"a": [1]});
        let json = Json::object([
            ("same", Json::Same(&same)),
            ("null", Json::Null),
            ("flag", Json::Bool(false)),
            ("number", Json::from(7)),
            ("text", Json::literal("a \"b\"")),
            ("list", Json::Array(vec![Json::Bool(true), Json::Array(Vec::new()), Json::object([])])),
        ]);
        let mut text = String::new();
        json.write(&mut text);
        assert_eq!(
            text,
            r#"{"same":{"a":[1]},"null":null,"flag":false,"number":7,"text":"a \"b\"","list":[true,[],{}]}"#
        );
    }
}
