//! Lengths, bounds and patterns of values.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::{Number, Value, json};

use super::equal;
use crate::arguments::Validator;
use crate::schema::Keyword;

/// Whether `value` keeps the rule; rules about other types say nothing.
pub(crate) fn holds(keyword: Keyword, bound: &Value, value: &Value) -> bool {
    use Keyword as K;
    use Ordering::{Greater, Less};
    match (keyword, value, bound) {
        (K::Pattern, Value::String(text), Value::String(pattern)) => fits(pattern, text).unwrap_or(true),
        (K::MinLength, Value::String(text), Value::Number(least)) => {
            counted(text.chars().count(), least) != Less
        }
        (K::MaxLength, Value::String(text), Value::Number(most)) => {
            counted(text.chars().count(), most) != Greater
        }
        (K::Minimum, Value::Number(number), Value::Number(least)) => compare(number, least) != Less,
        (K::Maximum, Value::Number(number), Value::Number(most)) => compare(number, most) != Greater,
        (K::ExclusiveMinimum, Value::Number(number), Value::Number(below)) => {
            compare(number, below) == Greater
        }
        (K::ExclusiveMaximum, Value::Number(number), Value::Number(above)) => compare(number, above) == Less,
        (K::MultipleOf, Value::Number(number), Value::Number(of)) => is_multiple(number, of),
        (K::MinItems, Value::Array(items), Value::Number(least)) => counted(items.len(), least) != Less,
        (K::MaxItems, Value::Array(items), Value::Number(most)) => counted(items.len(), most) != Greater,
        (K::UniqueItems, Value::Array(items), Value::Bool(true)) => {
            let others = |index: usize| items.iter().skip(index + 1);
            items.iter().enumerate().all(|(index, item)| !others(index).any(|other| equal(item, other)))
        }
        (K::MinProperties, Value::Object(map), Value::Number(least)) => counted(map.len(), least) != Less,
        (K::MaxProperties, Value::Object(map), Value::Number(most)) => counted(map.len(), most) != Greater,
        // A pattern that cannot be read says nothing, and neither does a rule about another type.
        _ => true,
    }
}

/// Which of `values` keep all of `rules`. A pattern is read once for all of them.
pub(crate) fn all_hold(rules: &[(Keyword, Value)], values: &[Value]) -> Vec<bool> {
    let (patterns, others): (Vec<_>, Vec<_>) =
        rules.iter().partition(|(keyword, _)| *keyword == Keyword::Pattern);
    let mut kept: Vec<bool> = values
        .iter()
        .map(|value| others.iter().all(|(keyword, bound)| holds(*keyword, bound, value)))
        .collect();
    for (_, pattern) in patterns {
        if kept.contains(&true) {
            let validator = Validator::new(&json!({ "pattern": pattern }));
            for (kept, value) in kept.iter_mut().zip(values) {
                *kept = *kept && validator.is_valid(value);
            }
        }
    }
    kept
}

fn counted(count: usize, bound: &Number) -> Ordering {
    compare(&Number::from(count), bound)
}

fn compare(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (left.as_i128(), right.as_i128()) {
        return left.cmp(&right);
    }
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    float(left).partial_cmp(&float(right)).unwrap_or(Ordering::Equal)
}

fn is_multiple(number: &Number, of: &Number) -> bool {
    match (number.as_i128(), of.as_i128()) {
        (Some(_), Some(0)) => true,
        (Some(number), Some(of)) => number % of == 0,
        _ => {
            let of = of.as_f64().unwrap_or(1.0);
            of == 0.0 || (number.as_f64().unwrap_or_default() / of).fract() == 0.0
        }
    }
}

/// Whether a text fits a pattern; `None` where the pattern cannot be read.
///
/// Compiling costs a thousand times more than matching, and the values of one list ask for the same few patterns again and
/// again; so each thread keeps the last ones.
pub(crate) fn fits(pattern: &str, text: &str) -> Option<bool> {
    /// A schema that has more patterns side by side is rare, and a compiled one can be large.
    const KEPT: usize = 8;
    thread_local! {
        static COMPILED: RefCell<VecDeque<(String, Rc<Validator>)>> = const { RefCell::new(VecDeque::new()) };
    }
    let compiled = COMPILED.with_borrow_mut(|kept| {
        let found = kept.iter().position(|(known, _)| known == pattern).and_then(|index| kept.remove(index));
        let entry = found
            .unwrap_or_else(|| (pattern.to_owned(), Rc::new(Validator::new(&json!({ "pattern": pattern })))));
        let compiled = Rc::clone(&entry.1);
        kept.truncate(KEPT - 1);
        kept.push_front(entry);
        compiled
    });
    compiled.omissions().is_empty().then(|| compiled.is_valid(&json!(text)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::holds;
    use crate::schema::Keyword;

    #[track_caller]
    fn check(keyword: Keyword, bound: &Value, good: &[Value], bad: &[Value]) {
        for value in good {
            assert!(holds(keyword, bound, value), "{} {bound} takes {value}", keyword.name());
        }
        for value in bad {
            assert!(!holds(keyword, bound, value), "{} {bound} refuses {value}", keyword.name());
        }
    }

    #[test]
    fn every_bound_is_judged() {
        check(Keyword::MinLength, &json!(2), &[json!("äö"), json!(1)], &[json!("ä")]);
        check(Keyword::MaxLength, &json!(2.0), &[json!("ab")], &[json!("abc")]);
        check(Keyword::Pattern, &json!("^a"), &[json!("ab"), json!(5)], &[json!("ba")]);
        check(Keyword::Pattern, &json!("["), &[json!("ba")], &[]);
        check(Keyword::Minimum, &json!(1), &[json!(1), json!(1.5), json!("0")], &[json!(0), json!(0.5)]);
        check(Keyword::Maximum, &json!(u64::MAX), &[json!(u64::MAX)], &[json!(1e300)]);
        check(Keyword::ExclusiveMinimum, &json!(0), &[json!(0.5)], &[json!(0), json!(0.0)]);
        check(Keyword::ExclusiveMaximum, &json!(2), &[json!(-3)], &[json!(2)]);
        check(Keyword::MultipleOf, &json!(0.5), &[json!(2), json!(1.5)], &[json!(0.3)]);
        check(Keyword::MultipleOf, &json!(2), &[json!(-4), json!(4.0)], &[json!(3)]);
        check(Keyword::MinItems, &json!(1), &[json!([1]), json!({})], &[json!([])]);
        check(Keyword::MaxItems, &json!(1), &[json!([1])], &[json!([1, 2])]);
        check(Keyword::UniqueItems, &json!(true), &[json!([1, 2])], &[json!([1, 1.0])]);
        check(Keyword::MinProperties, &json!(1), &[json!({"a": 1}), json!([])], &[json!({})]);
        check(Keyword::MaxProperties, &json!(0), &[json!({})], &[json!({"a": 1})]);
    }
}
