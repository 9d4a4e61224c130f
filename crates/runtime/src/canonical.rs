//! One spelling for equal JSON.
//!
//! White space goes, and texts are written in one way. Numbers stay as they came, because they can have more digits than ours,
//! and so do members of the same name: whoever reads them later may take the first or the last.

use std::borrow::Cow;

use gateway_protocol::{RawJson, RawObject};
use serde_json::value::RawValue;

/// The order of an object's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// As they came.
    AsTheyCame,
    /// By name; those of one name as they came.
    ByName,
}

/// What is nested deeper is not read: each level is read once more.
const DEEPEST: usize = 128;

/// JSON in its one spelling; as it came, where it has none.
pub fn canonical(value: &RawJson, members: Members) -> String {
    spelled(value.as_str(), members).unwrap_or_else(|_| value.as_str().to_owned())
}

/// JSON in its one spelling; an error where it is too deep, or its texts are no Unicode.
pub fn spelled(text: &str, members: Members) -> Result<String, serde_json::Error> {
    let mut out = String::with_capacity(text.len());
    write(text, members, DEEPEST, &mut out)?;
    Ok(out)
}

fn write(text: &str, members: Members, left: usize, out: &mut String) -> Result<(), serde_json::Error> {
    let left = left.checked_sub(1).ok_or_else(|| {
        <serde_json::Error as serde::de::Error>::custom(format!("nested deeper than {DEEPEST} levels"))
    })?;
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'{') => {
            let mut object: RawObject<'_> = serde_json::from_str(text)?;
            if members == Members::ByName {
                object.sort();
            }
            out.push('{');
            for (index, (name, value)) in object.members().iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&serde_json::to_string(name)?);
                out.push(':');
                write(value.get(), members, left, out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            out.push('[');
            for (index, item) in serde_json::from_str::<Vec<&RawValue>>(text)?.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(item.get(), members, left, out)?;
            }
            out.push(']');
        }
        // The same text can be written in several ways.
        Some(b'"') => out.push_str(&serde_json::to_string(&serde_json::from_str::<Cow<'_, str>>(text)?)?),
        _ => out.push_str(text),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, as_they_came: &str, by_name: &str) {
        let value = RawJson::parse(text.to_owned()).unwrap();
        let found = [Members::AsTheyCame, Members::ByName].map(|members| canonical(&value, members));
        assert_eq!(found, [as_they_came, by_name], "{text}");
    }

    #[test]
    fn equal_values_have_one_spelling() {
        check(
            " { \"b\" : [ 1 , {\"d\": null, \"c\": true} ],\n\t\"a\" : \"\\u0041\\/\" } ",
            r#"{"b":[1,{"d":null,"c":true}],"a":"A/"}"#,
            r#"{"a":"A/","b":[1,{"c":true,"d":null}]}"#,
        );
        check("12345678901234567890123", "12345678901234567890123", "12345678901234567890123");
        check("[1.0, 1, 1e0]", "[1.0,1,1e0]", "[1.0,1,1e0]");
        check(r#"{"b":1,"a":2,"a":1}"#, r#"{"b":1,"a":1}"#, r#"{"a":1,"b":1}"#);
        check(r#"{"\u0061": "a b"}"#, r#"{"a":"a b"}"#, r#"{"a":"a b"}"#);
    }

    #[test]
    fn what_cannot_be_read_stays_as_it_came() {
        let deep = format!("{}1{}", "[ ".repeat(DEEPEST), " ]".repeat(DEEPEST));
        check(&deep, &deep, &deep);
        check(r#"[ "\ud800" ]"#, r#"[ "\ud800" ]"#, r#"[ "\ud800" ]"#);
    }
}
