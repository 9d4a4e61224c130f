//! Which recorded message a message is like, and what differs from the nearest.

use gateway_notation::{pointer, spelling};
use gateway_protocol::{RawJson, method};
use serde_json::{Map, Value, json};

use crate::canonical::canonical;

/// What stands where a secret was. It is like any text, and alone like any value.
pub const REDACTED: &str = "[redacted]";

/// Differences that are named in a message.
const NAMED: usize = 3;
/// Characters of a value that are shown in a message.
const SHOWN: usize = 60;

/// What of a message is compared: not its id and not its `_meta`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subject {
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl Subject {
    pub(crate) fn of(method: &str, params: Option<&RawJson>) -> Self {
        Self { method: method.to_owned(), params: compared(method, params) }
    }

    /// One text for all subjects that are equal.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.method, canonical(&self.params))
    }

    /// What it asks for: a tool or a prompt by its name, a resource by its address.
    fn name(&self) -> Option<&str> {
        ["name", "uri"].into_iter().find_map(|member| self.params.get(member)?.as_str())
    }
}

/// The parameters without what belongs to the client or to one request.
fn compared(wanted: &str, params: Option<&RawJson>) -> Value {
    // Who the client is and which version it prefers; why it gave up.
    if matches!(wanted, method::INITIALIZE | method::DISCOVER | method::CANCELLED) {
        return Value::Null;
    }
    let Some(params) = params else { return Value::Null };
    match params.read() {
        Ok(Value::Object(mut members)) => {
            members.retain(|name, value| {
                let is_empty = value.as_object().is_some_and(Map::is_empty);
                name != "_meta" && !value.is_null() && !(name == "arguments" && is_empty)
            });
            if members.is_empty() { Value::Null } else { Value::Object(members) }
        }
        Ok(other) => other,
        // Too deep for a tree; it is then like nothing but the same text.
        Err(_) => Value::from(params.as_str()),
    }
}

/// Whether a value is like the recorded one, where secrets may have been taken out.
pub(crate) fn fits(recorded: &Value, given: &Value) -> bool {
    match (recorded, given) {
        (Value::String(recorded), _) if recorded == REDACTED => true,
        (Value::String(recorded), Value::String(given)) if recorded.contains(REDACTED) => {
            text_fits(recorded, given)
        }
        (Value::Array(recorded), Value::Array(given)) => {
            recorded.len() == given.len() && recorded.iter().zip(given).all(|(one, other)| fits(one, other))
        }
        (Value::Object(recorded), Value::Object(given)) => {
            recorded.len() == given.len()
                && recorded.iter().all(|(name, one)| given.get(name).is_some_and(|other| fits(one, other)))
        }
        _ => canonical(recorded) == canonical(given),
    }
}

fn text_fits(recorded: &str, given: &str) -> bool {
    let Some((head, last)) = recorded.rsplit_once(REDACTED) else { return recorded == given };
    let mut parts = head.split(REDACTED);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = given.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

/// Where two values differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// A JSON Pointer into the parameters.
    pointer: String,
    given: Option<Value>,
    recorded: Option<Value>,
}

/// Every place where `given` is not like `recorded`.
pub(crate) fn differences(recorded: &Value, given: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(Some(recorded), Some(given), String::new(), &mut found);
    found
}

fn compare(recorded: Option<&Value>, given: Option<&Value>, pointer: String, found: &mut Vec<Difference>) {
    match (recorded, given) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let only_given = other.keys().filter(|name| !one.contains_key(*name));
            for name in one.keys().chain(only_given) {
                compare(one.get(name), other.get(name), pointer::join(&pointer, name), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                compare(one.get(index), other.get(index), format!("{pointer}/{index}"), found);
            }
        }
        (Some(one), Some(other)) if fits(one, other) => {}
        (one, other) => found.push(Difference { pointer, given: other.cloned(), recorded: one.cloned() }),
    }
}

/// The recorded subject that is most like the given one, with its index, and what differs. All have its method.
pub(crate) fn nearest<'a>(
    given: &Subject,
    recorded: impl Iterator<Item = (usize, &'a Subject)>,
) -> Option<(usize, Vec<Difference>)> {
    let mut candidates: Vec<_> = recorded.filter(|(_, subject)| subject.method == given.method).collect();
    if let Some(name) = given.name() {
        let names = candidates.iter().filter_map(|(_, subject)| subject.name());
        let meant = match names.clone().find(|other| *other == name) {
            Some(same) => Some(same),
            None => spelling::nearest_names(name, names).first().copied(),
        };
        if let Some(meant) = meant.map(str::to_owned) {
            candidates.retain(|(_, subject)| subject.name() == Some(&meant));
        }
    }
    let compared =
        candidates.into_iter().map(|(index, subject)| (index, differences(&subject.params, &given.params)));
    compared.min_by_key(|(_, differences)| differences.len())
}

/// The differences in words: `/arguments/b is 41, recorded 40`.
pub(crate) fn described(differences: &[Difference]) -> String {
    let mut words: Vec<String> = differences.iter().take(NAMED).map(Difference::describe).collect();
    if let Some(more) = differences.len().checked_sub(NAMED).filter(|more| *more > 0) {
        words.push(format!("and {more} more"));
    }
    words.join("; ")
}

/// The differences as JSON.
pub(crate) fn listed(differences: &[Difference]) -> Value {
    let list = differences.iter().map(|one| {
        let mut members = Map::new();
        members.insert("pointer".to_owned(), json!(one.pointer));
        members.extend(one.given.clone().map(|value| ("given".to_owned(), value)));
        members.extend(one.recorded.clone().map(|value| ("recorded".to_owned(), value)));
        Value::Object(members)
    });
    Value::Array(list.collect())
}

impl Difference {
    fn describe(&self) -> String {
        let place = if self.pointer.is_empty() { "the whole" } else { &self.pointer };
        match (&self.given, &self.recorded) {
            (Some(given), Some(recorded)) => {
                format!("{place} is {}, recorded {}", shown(given), shown(recorded))
            }
            (Some(given), None) => format!("{place} is {}, not recorded", shown(given)),
            (None, Some(recorded)) => format!("{place} is missing, recorded {}", shown(recorded)),
            (None, None) => place.to_owned(),
        }
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Small JSON values.
    pub(crate) fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..3i64).prop_map(Value::from),
            (-3..3i32).prop_map(|number| json!(f64::from(number) / 2.0)),
            "[ab~/\"\\\\é]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                proptest::collection::vec(("[ab/]{1,2}", inner), 0..3)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn call(params: &Value) -> Subject {
        Subject::of(method::CALL_TOOL, Some(&RawJson::of(params).unwrap()))
    }

    #[test]
    fn what_belongs_to_the_client_does_not_count() {
        let one = json!({"name": "a", "arguments": {}, "_meta": {"progressToken": 1}});
        assert_eq!(call(&one), call(&json!({"name": "a"})));
        let init = |version: &str| {
            Subject::of(method::INITIALIZE, Some(&RawJson::of(&json!({"protocolVersion": version})).unwrap()))
        };
        assert_eq!(init("1"), init("2"));
        let list = |params: Value| Subject::of(method::LIST_TOOLS, Some(&RawJson::of(&params).unwrap()));
        assert_eq!(list(json!({"cursor": null})), Subject::of(method::LIST_TOOLS, None));
        assert_ne!(list(json!({"cursor": "1"})), Subject::of(method::LIST_TOOLS, None));
    }

    #[test]
    fn a_secret_that_was_taken_out_is_like_any() {
        let recorded =
            json!({"token": REDACTED, "header": "Bearer [redacted]!", "two": "a[redacted]b[redacted]c"});
        let given = json!({"token": {"any": 1}, "header": "Bearer abc!", "two": "aXbYc"});
        assert!(fits(&recorded, &given));
        for wrong in [
            json!({"token": 1, "header": "bearer abc!", "two": "abc"}),
            json!({"token": 1, "header": "Bearer !", "two": "ac"}),
            json!({"token": 1, "header": "Bearer abc!"}),
        ] {
            assert!(!fits(&recorded, &wrong), "{wrong}");
            assert_eq!(differences(&recorded, &wrong).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn the_nearest_is_that_of_the_same_tool_with_the_fewest_differences() {
        let recorded: Vec<Subject> = [
            json!({"name": "echo", "arguments": {"a": 1, "b": 2}}),
            json!({"name": "get-sum", "arguments": {"a": 1, "b": 1}}),
            json!({"name": "get-sum", "arguments": {"a": 1, "b": [1, {"c/d": "x"}]}}),
        ]
        .iter()
        .map(call)
        .collect();
        let near = |params: Value| {
            let (index, differences) = nearest(&call(&params), recorded.iter().enumerate()).unwrap();
            (index, described(&differences))
        };
        let same = near(json!({"name": "get-sum", "arguments": {"a": 1, "b": 2}}));
        assert_eq!(same, (1, "/arguments/b is 2, recorded 1".to_owned()));
        let nested = near(json!({"name": "get-sum", "arguments": {"a": 1, "b": [1, {"c/d": "y"}, 3]}}));
        let shown = "/arguments/b/1/c~1d is \"y\", recorded \"x\"; /arguments/b/2 is 3, not recorded";
        // One whole value differs from the first of them, two parts from the second.
        assert_eq!(nested.0, 1);
        assert_eq!(
            described(&differences(
                &recorded[2].params,
                &call(&json!({"name": "get-sum", "arguments": {"a": 1, "b": [1, {"c/d": "y"}, 3]}})).params
            )),
            shown
        );
        let misspelt = near(json!({"name": "get_sum", "arguments": {"a": 1}}));
        let shown = "/name is \"get_sum\", recorded \"get-sum\"; /arguments/b is missing, recorded 1";
        assert_eq!(misspelt, (1, shown.to_owned()));
        assert_eq!(nearest(&Subject::of("x", None), recorded.iter().enumerate()), None);
    }

    #[test]
    fn long_differences_are_shortened() {
        let many = json!({"a": "x".repeat(200), "b": 2, "c": 3, "d": 4});
        let text = described(&differences(&json!({}), &many));
        assert!(text.ends_with("/c is 3, not recorded; and 1 more") && text.contains("xxx…,"), "{text}");
    }

    proptest! {
        #[test]
        fn equal_values_have_no_differences_and_others_have(one in json(), other in json()) {
            prop_assert_eq!(differences(&one, &one), vec![]);
            let found = differences(&one, &other);
            prop_assert_eq!(found.is_empty(), canonical(&one) == canonical(&other), "{:?}", found);
            prop_assert_eq!(found.len(), differences(&other, &one).len());
            for difference in found {
                let place = |value: &Value| value.pointer(&difference.pointer).cloned();
                prop_assert_eq!(&difference.recorded, &place(&one));
                prop_assert_eq!(&difference.given, &place(&other));
            }
        }

        #[test]
        fn what_was_redacted_still_fits(value in json(), hidden in json(), name in "[a-c]") {
            let with = |secret: Value| json!({"name": name, "arguments": {"value": value, "secret": secret}});
            prop_assert!(fits(&call(&with(json!(REDACTED))).params, &call(&with(json!([hidden]))).params));
        }
    }
}
