//! Keyword values that are not what JSON Schema asks for, and what they must have meant.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::{Holds, Keyword, TypeSet};
use crate::json::Json;

/// The verdict on a keyword's value.
#[derive(Debug)]
pub(crate) enum Checked<'a> {
    /// As the specification wants it.
    Fine,
    /// Wrong, but only one meaning is likely.
    Repaired(Json<'a>),
    /// Wrong beyond repair.
    Unusable,
}

/// Whether `value` is what `keyword` asks for.
pub(crate) fn check(keyword: Keyword, value: &Value) -> Checked<'_> {
    use Keyword as K;
    match keyword {
        K::Type => check_type(value),
        K::Format | K::Pattern => fine_if(value.is_string()),
        K::Description | K::Title | K::Comment => match value {
            Value::String(_) => Checked::Fine,
            Value::Number(_) | Value::Bool(_) => Checked::Repaired(Json::Text(Cow::Owned(value.to_string()))),
            _ => Checked::Unusable,
        },
        K::Schema | K::Id | K::Ref | K::DynamicRef | K::RecursiveRef | K::Anchor | K::DynamicAnchor => {
            fine_if(value.is_string())
        }
        K::Required => match value {
            Value::Array(names) if distinct_strings(names) => Checked::Fine,
            Value::Array(names) => {
                let mut kept: Vec<&Value> = Vec::new();
                for name in names {
                    if name.is_string() && !kept.contains(&name) {
                        kept.push(name);
                    }
                }
                Checked::Repaired(Json::Array(kept.into_iter().map(Json::Same).collect()))
            }
            _ => Checked::Unusable,
        },
        K::Enum => match value {
            Value::Array(_) => Checked::Fine,
            Value::Null | Value::Object(_) => Checked::Unusable,
            scalar => Checked::Repaired(Json::Array(vec![Json::Same(scalar)])),
        },
        K::Examples => match value {
            Value::Array(_) => Checked::Fine,
            other => Checked::Repaired(Json::Array(vec![Json::Same(other)])),
        },
        K::MinLength
        | K::MaxLength
        | K::MinItems
        | K::MaxItems
        | K::MinProperties
        | K::MaxProperties
        | K::MinContains
        | K::MaxContains => match value {
            Value::Number(number) if number.is_u64() => Checked::Fine,
            other => count(other).map_or(Checked::Unusable, |count| Checked::Repaired(count.into())),
        },
        K::Minimum | K::Maximum | K::ExclusiveMinimum | K::ExclusiveMaximum | K::MultipleOf => match value {
            Value::Number(number) => {
                fine_if(keyword != K::MultipleOf || number.as_f64().is_some_and(|n| n > 0.0))
            }
            Value::String(text) => text
                .trim()
                .parse::<Number>()
                .map_or(Checked::Unusable, |number| Checked::Repaired(Json::Number(number))),
            _ => Checked::Unusable,
        },
        K::UniqueItems | K::Nullable | K::Deprecated | K::ReadOnly | K::WriteOnly => check_flag(value),
        K::AdditionalProperties | K::AdditionalItems | K::UnevaluatedItems | K::UnevaluatedProperties => {
            match value {
                Value::Object(_) | Value::Bool(_) => Checked::Fine,
                other => check_flag(other),
            }
        }
        K::ContentSchema => Checked::Fine,
        K::DependentRequired => fine_if(value.is_object()),
        _ => match keyword.holds() {
            Holds::Table => fine_if(value.is_object()),
            Holds::List => fine_if(value.as_array().is_some_and(|branches| !branches.is_empty())),
            Holds::SchemaOrList => fine_if(value.is_object() || value.is_boolean() || value.is_array()),
            Holds::Schema => fine_if(value.is_object() || value.is_boolean()),
            Holds::Values | Holds::Nothing => Checked::Fine,
        },
    }
}

fn fine_if<'a>(condition: bool) -> Checked<'a> {
    if condition { Checked::Fine } else { Checked::Unusable }
}

fn check_flag<'a>(value: &Value) -> Checked<'a> {
    match value {
        Value::Bool(_) => Checked::Fine,
        Value::String(text) if text.eq_ignore_ascii_case("true") => Checked::Repaired(Json::Bool(true)),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Checked::Repaired(Json::Bool(false)),
        _ => Checked::Unusable,
    }
}

fn distinct_strings(names: &[Value]) -> bool {
    if !names.iter().all(Value::is_string) {
        return false;
    }
    if names.len() < 16 {
        return names
            .iter()
            .enumerate()
            .all(|(index, name)| !names.iter().take(index).any(|other| other == name));
    }
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    names.iter().filter_map(Value::as_str).all(|name| seen.insert(name))
}

/// A count that is written as a whole float or as text.
fn count(value: &Value) -> Option<u64> {
    let float = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => return text.trim().parse().ok(),
        _ => return None,
    };
    (float >= 0.0 && float.fract() == 0.0).then(|| format!("{float}").parse().ok()).flatten()
}

fn check_type(value: &Value) -> Checked<'_> {
    match value {
        Value::String(name) if TypeSet::named(name).is_some() => Checked::Fine,
        Value::String(name) => {
            type_alias(name).map_or(Checked::Unusable, |name| Checked::Repaired(Json::literal(name)))
        }
        Value::Array(names) => {
            if !names.is_empty()
                && distinct_strings(names)
                && names.iter().all(|name| name.as_str().and_then(TypeSet::named).is_some())
            {
                return Checked::Fine;
            }
            let mut kept: Vec<&'static str> = Vec::new();
            for name in names.iter().filter_map(Value::as_str) {
                // A list with `any` in it says nothing.
                let Some(name) = type_alias(name) else { return Checked::Unusable };
                if !kept.contains(&name) {
                    kept.push(name);
                }
            }
            if kept.is_empty() {
                return Checked::Unusable;
            }
            Checked::Repaired(Json::Array(kept.into_iter().map(Json::literal).collect()))
        }
        _ => Checked::Unusable,
    }
}

/// The JSON type that people mean by `name`.
pub(crate) fn type_alias(name: &str) -> Option<&'static str> {
    Some(match name.trim().to_ascii_lowercase().as_str() {
        "string" | "str" | "text" | "uuid" | "date" | "datetime" | "date-time" | "uri" | "url" | "email" => {
            "string"
        }
        "integer" | "int" | "int32" | "int64" | "long" | "short" | "uint" => "integer",
        "number" | "float" | "double" | "decimal" | "numeric" => "number",
        "boolean" | "bool" => "boolean",
        "object" | "dict" | "map" | "struct" | "record" | "dictionary" => "object",
        "array" | "list" | "tuple" | "set" | "sequence" => "array",
        "null" | "none" | "nil" | "nonetype" => "null",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Checked, check};
    use crate::schema::Keyword;

    #[track_caller]
    fn repairs(keyword: Keyword, value: &Value, expected: &Value) {
        match check(keyword, value) {
            Checked::Repaired(json) => assert_eq!(&json.to_value(), expected),
            other => panic!("{keyword:?} {value}: {other:?}"),
        }
    }

    #[test]
    fn likely_meanings_are_taken() {
        repairs(Keyword::Type, &json!("int"), &json!("integer"));
        repairs(Keyword::Type, &json!(["str", "None"]), &json!(["string", "null"]));
        repairs(Keyword::MinLength, &json!("5"), &json!(5));
        repairs(Keyword::MinLength, &json!(5.0), &json!(5));
        repairs(Keyword::Required, &json!(["a", "a", 1]), &json!(["a"]));
        repairs(Keyword::AdditionalProperties, &json!("false"), &json!(false));
        repairs(Keyword::Enum, &json!("only"), &json!(["only"]));
        repairs(Keyword::Maximum, &json!("1.5"), &json!(1.5));
    }

    #[test]
    fn nonsense_is_unusable() {
        for (keyword, value) in [
            (Keyword::Type, json!("any")),
            (Keyword::Type, json!(null)),
            (Keyword::Properties, json!(null)),
            (Keyword::MinLength, json!(-1)),
            (Keyword::MultipleOf, json!(0)),
            (Keyword::AnyOf, json!([])),
            (Keyword::ExclusiveMinimum, json!(true)),
        ] {
            assert!(matches!(check(keyword, &value), Checked::Unusable), "{keyword:?} {value}");
        }
    }
}
