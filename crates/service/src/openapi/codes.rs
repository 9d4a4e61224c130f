//! The words of `code`, with the statuses that they come with.

use std::collections::BTreeSet;

use gateway_runtime::failure::code;
use serde_json::{Map, Value, json};

use super::route::Content;
use super::table::ROUTES;

/// A status, what it means, and the words that it comes with.
pub(super) type StatusRow = (&'static str, &'static str, &'static [&'static str]);

/// What every route may answer with.
pub(super) const EVERYWHERE: &[StatusRow] = &[
    ("401", "A key is missing or wrong; only where keys are configured.", &["UNAUTHORIZED"]),
    ("403", "The `Host` or `Origin` is not one of ours.", &["FORBIDDEN"]),
    ("429", "Too many requests by this caller; see `Retry-After`.", &["OVERLOADED"]),
];

/// What every route with a body may answer with.
pub(super) const WITH_BODY: &[StatusRow] = &[
    ("408", "The body took too long to come.", &["TIMEOUT"]),
    ("413", "The body is too large.", &["BODY_TOO_LARGE"]),
    ("415", "The body is not declared as JSON.", &["UNSUPPORTED_MEDIA_TYPE"]),
    ("503", "Too much at once; see `Retry-After`.", &["OVERLOADED"]),
];

/// What no route answers, because there is none, or because it is a mistake of ours.
const WITHOUT_ROUTE: &[(&str, &[&str])] =
    &[("404", &["NOT_FOUND"]), ("405", &["METHOD_NOT_ALLOWED"]), ("500", &["UNKNOWN"])];

/// Writes all words into the schema of errors: a closed `enum` would make clients refuse words that come later.
pub(super) fn describe_codes(components: &mut Value) {
    let Some(schema) = components.pointer_mut("/schemas/Error/properties/code") else { return };
    schema["x-extensible-enum"] = code::ALL.iter().map(|code| code.word).collect();
    let rows: Map<String, Value> = code::ALL
        .iter()
        .map(|code| {
            let row = json!({"description": code.meaning, "statuses": statuses(code.word)});
            (code.word.to_owned(), row)
        })
        .collect();
    schema["x-error-codes"] = rows.into();
}

/// The statuses of error answers with a word.
fn statuses(word: &str) -> BTreeSet<u16> {
    let shared = EVERYWHERE.iter().chain(WITH_BODY).map(|(status, _, words)| (*status, *words));
    let shared = shared
        .chain(WITHOUT_ROUTE.iter().copied())
        .filter_map(|(status, words)| Some((status.parse().ok()?, words)));
    let all = errors_of_routes().chain(shared);
    all.filter(|(_, words)| words.contains(&word)).map(|(status, _)| status).collect()
}

/// The statuses of error answers in the table of routes, and their words.
fn errors_of_routes() -> impl Iterator<Item = (u16, &'static [&'static str])> {
    let answers = ROUTES.iter().flat_map(|route| route.answers.into_iter().flatten());
    answers.filter_map(|answer| match answer.content {
        Content::Error(words) => Some((answer.status, words)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_answer_with_known_words_only() {
        let of_routes = errors_of_routes().flat_map(|(_, words)| words);
        let shared = EVERYWHERE.iter().chain(WITH_BODY).flat_map(|(_, _, words)| *words);
        for word in of_routes.chain(shared).chain(WITHOUT_ROUTE.iter().flat_map(|(_, words)| *words)) {
            assert!(code::ALL.iter().any(|code| code.word == *word), "{word}");
        }
    }

    /// What a tool says of itself is a result, and no error answer.
    #[test]
    #[cfg(feature = "agent")]
    fn every_word_but_one_comes_with_a_status() {
        let without: Vec<&str> =
            code::ALL.iter().map(|code| code.word).filter(|word| statuses(word).is_empty()).collect();
        assert_eq!(without, ["TOOL_ERROR"]);
    }

    #[test]
    fn the_schema_names_every_word_once() {
        let components = super::super::document::components();
        let schema = &components["schemas"]["Error"]["properties"]["code"];
        let words: BTreeSet<&str> =
            schema["x-extensible-enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(words.len(), code::ALL.len());
        assert_eq!(schema["x-error-codes"].as_object().unwrap().len(), code::ALL.len());
        assert_eq!(schema["enum"], Value::Null);
        assert_eq!(schema["x-error-codes"]["TIMEOUT"]["statuses"], json!([408, 500, 504]));
    }
}
