//! Times and sizes as people write them.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};

/// A time above zero, and a day at most: a number of seconds, or a text with its unit.
pub fn parse_time(value: &Value) -> Option<Duration> {
    time(value).filter(|time| !time.is_zero() && *time <= DAY)
}

/// Nothing that is configured takes longer.
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// What a number must be within.
pub(super) type Bounds = RangeInclusive<u64>;

/// Any number of bytes but none.
pub(crate) const ANY_SIZE: Bounds = 1..=1 << 50;

/// What a number counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    One,
    Byte,
}

impl Unit {
    pub(super) fn read(self, value: &Value) -> Option<u64> {
        match self {
            Self::One => value.as_u64(),
            Self::Byte => bytes(value),
        }
    }

    pub(super) fn schema(self, bounds: &Bounds) -> Value {
        let number = json!({"type": "integer", "minimum": bounds.start(), "maximum": bounds.end()});
        let text = || json!({"type": "string", "pattern": "^\\s*[0-9.]+\\s*([KkMmGg]?[Ii]?[Bb]?)\\s*$"});
        match self {
            Self::One => number,
            Self::Byte => json!({"anyOf": [number, text()]}),
        }
    }

    pub(super) fn expected(self, bounds: &Bounds) -> String {
        let (least, most) = (bounds.start(), bounds.end());
        match self {
            Self::One => format!("a whole number from {least} to {most}"),
            Self::Byte if *bounds == ANY_SIZE => "a number of bytes, such as 65536 or \"32MB\"".to_owned(),
            Self::Byte => format!("a number of bytes from {least} to {most}, such as 65536 or \"32MB\""),
        }
    }
}

/// A number of seconds, or a text with a unit: `500ms`, `10s`, `5m`, `2h`, `7d`.
pub(super) fn time(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => {
            let (number, unit) = split(text)?;
            let factor = match unit {
                "ms" => 0.001,
                "s" | "" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
            number * factor
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// A number of bytes, or a text with a unit: `64KB`, `1MiB`, `2 GB`. Units count in 1024.
fn bytes(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => {
            let (number, unit) = split(text)?;
            let shift = match unit.to_ascii_lowercase().as_str() {
                "" | "b" => 0,
                "k" | "kb" | "kib" => 10,
                "m" | "mb" | "mib" => 20,
                "g" | "gb" | "gib" => 30,
                _ => return None,
            };
            let bytes = number * f64::from(1_u32 << shift);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
            (0.0..9e18).contains(&bytes).then_some(bytes as u64)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_have_units() {
        let check = |value: Value, millis: Option<u64>| {
            assert_eq!(time(&value), millis.map(Duration::from_millis), "{value}");
        };
        check(json!(2), Some(2_000));
        check(json!(0.5), Some(500));
        check(json!("250ms"), Some(250));
        check(json!(" 1.5 s "), Some(1_500));
        check(json!("2m"), Some(120_000));
        check(json!("1d"), Some(86_400_000));
        for wrong in
            [json!(-1), json!("soon"), json!("1y"), json!(""), json!(true), json!(1e300), json!("-1s")]
        {
            check(wrong, None);
        }
    }

    #[test]
    fn sizes_have_units() {
        let check = |value: Value, expected: Option<u64>| assert_eq!(bytes(&value), expected, "{value}");
        check(json!(10), Some(10));
        check(json!("64KB"), Some(65_536));
        check(json!("1.5 MiB"), Some(1_572_864));
        check(json!("2g"), Some(2 << 30));
        for wrong in [json!(-1), json!(1.5), json!("1TB"), json!("x"), json!(null)] {
            check(wrong, None);
        }
    }
}
