//! When two JSON values are the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// A number that is the same for [`equal`] values.
pub(crate) fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(flag) => (1_u8, flag).hash(&mut hasher),
        // Zero and minus zero are equal.
        Value::Number(number) => {
            (2_u8, (number.as_f64().unwrap_or_default() + 0.0).to_bits()).hash(&mut hasher);
        }
        Value::String(text) => (3_u8, text).hash(&mut hasher),
        Value::Array(items) => {
            4_u8.hash(&mut hasher);
            for item in items {
                digest(item).hash(&mut hasher);
            }
        }
        Value::Object(map) => {
            // The order of members does not matter.
            let sum = map.iter().fold(0_u64, |sum, (key, value)| {
                let mut member = DefaultHasher::new();
                (key, digest(value)).hash(&mut member);
                sum.wrapping_add(member.finish())
            });
            (5_u8, sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Equality of JSON values in the sense of JSON Schema: 1 and 1.0 are the same number.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{digest, equal};

    #[test]
    fn values_are_the_same_whatever_the_spelling() {
        for (left, right, same) in [
            (json!({"a": 1, "b": [2.0]}), json!({"b": [2], "a": 1.0}), true),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
            (json!("1"), json!(1), false),
            (json!(u64::MAX), json!(u64::MAX - 1), false),
        ] {
            assert_eq!(equal(&left, &right), same, "{left} {right}");
            assert!(!same || digest(&left) == digest(&right), "{left} {right}");
        }
    }
}
