//! Which numbers a grammar can count to.

use serde_json::Value;

use super::Keyword;

/// The largest number to which every whole number is exact in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// The smallest part that is still written digit by digit.
const FINE: f64 = 1e-9;
/// The most digits of a divisor.
const DIGITS: usize = 9;

/// Whether compilers of grammars take this value of a keyword that speaks of amounts.
pub(crate) fn is_modest(keyword: Keyword, value: &Value) -> bool {
    match keyword {
        Keyword::Minimum | Keyword::Maximum | Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum => {
            value.as_f64().is_some_and(|bound| bound == 0.0 || (FINE..=EXACT).contains(&bound.abs()))
        }
        Keyword::MultipleOf => value.as_f64().is_some_and(|step| {
            let text = step.to_string();
            text.strip_prefix("0.").unwrap_or(&text).chars().filter(char::is_ascii_digit).count() <= DIGITS
        }),
        Keyword::MinLength
        | Keyword::MaxLength
        | Keyword::MinItems
        | Keyword::MaxItems
        | Keyword::MinProperties
        | Keyword::MaxProperties
        | Keyword::MinContains
        | Keyword::MaxContains => value.as_f64().is_some_and(|count| count <= f64::from(i32::MAX)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_modest;
    use crate::schema::Keyword::{MaxLength, Maximum, Minimum, MultipleOf};

    /// Verdicts of llguidance 1.9 and xgrammar 0.2.
    #[test]
    fn grammars_count_so_far() {
        for (keyword, good) in [
            (Minimum, json!(-9_007_199_254_740_991_i64)),
            (Maximum, json!(9_007_199_254_740_991_i64)),
            (Minimum, json!(0)),
            (Minimum, json!(0.1)),
            (MultipleOf, json!(0.01)),
            (MultipleOf, json!(1e-8)),
            (MultipleOf, json!(1_000_000)),
            (MaxLength, json!(65_536)),
            (MaxLength, json!(i32::MAX)),
        ] {
            assert!(is_modest(keyword, &good), "{keyword:?} {good}");
        }
        for (keyword, bad) in [
            (Minimum, json!(i64::MIN)),
            (Maximum, json!(u64::MAX)),
            (Maximum, json!(1e21)),
            (Minimum, json!(1e-320)),
            (MultipleOf, json!(1e-20)),
            (MultipleOf, json!(1e20)),
            (MaxLength, json!(4_294_967_296_u64)),
        ] {
            assert!(!is_modest(keyword, &bad), "{keyword:?} {bad}");
        }
    }
}
