//! The words of `code`, with the statuses that they come with.

use std::collections::BTreeSet;

#[cfg(feature = "agent")]
use gateway_agent::completions;
use gateway_runtime::failure::code::{self, ErrorCode};
use serde_json::{Map, Value, json};

use super::route::Content;
use super::table::ROUTES;
use crate::openai_errors;

/// A status, what it means, and the words that it comes with.
pub(super) type StatusRow = (u16, &'static str, &'static [&'static str]);

/// What every route may answer with.
pub(super) const EVERYWHERE: &[StatusRow] = &[
    (401, "A key is missing or wrong; only where keys are configured.", &["UNAUTHORIZED"]),
    (403, "The `Host` or `Origin` is not one of ours.", &["FORBIDDEN"]),
    (429, "Too many requests by this caller; see `Retry-After`.", &["OVERLOADED"]),
];

/// What every route with a body may answer with.
pub(super) const WITH_BODY: &[StatusRow] = &[
    (408, "The body took too long to come.", &["TIMEOUT"]),
    (413, "The body is too large.", &["BODY_TOO_LARGE"]),
    (415, "The body is not declared as JSON.", &["UNSUPPORTED_MEDIA_TYPE"]),
    (503, "Too much at once; see `Retry-After`.", &["OVERLOADED"]),
];

/// What no route answers, because there is none, or because it is a mistake of ours.
const WITHOUT_ROUTE: &[(u16, &[&str])] =
    &[(404, &["NOT_FOUND"]), (405, &["METHOD_NOT_ALLOWED"]), (500, &["UNKNOWN"])];

/// Where the two shapes of errors have their words.
const CODE: &str = "/schemas/Error/properties/code";
#[cfg(feature = "agent")]
const COMPLETION_CODE: &str = "/schemas/CompletionError/properties/error/properties/code";

/// Writes all words into the schemas of errors: a closed `enum` would make clients refuse words that come later.
pub(super) fn describe_codes(components: &mut Value) {
    describe(components, CODE, Shape::Ours, code::ALL);
    #[cfg(feature = "agent")]
    describe(components, COMPLETION_CODE, Shape::OpenAi, &completion_codes());
}

fn describe(components: &mut Value, pointer: &str, shape: Shape, codes: &[ErrorCode]) {
    let Some(schema) = components.pointer_mut(pointer) else { return };
    schema["x-extensible-enum"] = codes.iter().map(|code| code.word).collect();
    let rows: Map<String, Value> = codes
        .iter()
        .map(|code| {
            let row = json!({"description": code.meaning, "statuses": statuses(code.word, shape)});
            (code.word.to_owned(), row)
        })
        .collect();
    schema["x-error-codes"] = rows.into();
}

/// The agent's own words, then those of the whole gateway that its routes answer with.
#[cfg(feature = "agent")]
fn completion_codes() -> Vec<ErrorCode> {
    let shared = code::ALL.iter().filter(|code| !statuses(code.word, Shape::OpenAi).is_empty());
    completions::code::ALL.iter().chain(shared).copied().collect()
}

/// The shapes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// `Error`.
    Ours,
    /// `CompletionError`.
    OpenAi,
}

impl Shape {
    fn of(path: &str) -> Self {
        if openai_errors::is_expected(path) { Self::OpenAi } else { Self::Ours }
    }
}

/// The statuses of error answers of a shape with a word.
fn statuses(word: &str, shape: Shape) -> BTreeSet<u16> {
    let shared = EVERYWHERE.iter().chain(WITH_BODY).map(|(status, _, words)| (*status, *words));
    let shared = shared.chain(WITHOUT_ROUTE.iter().copied());
    let all = errors_of_routes(shape).chain(shared);
    all.filter(|(_, words)| words.contains(&word)).map(|(status, _)| status).collect()
}

/// The statuses of error answers of a shape in the table of routes, and their words.
fn errors_of_routes(shape: Shape) -> impl Iterator<Item = (u16, &'static [&'static str])> {
    let routes = ROUTES.iter().filter(move |route| Shape::of(route.path) == shape);
    let answers = routes.flat_map(|route| route.answers.into_iter().flatten());
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
        let shared = EVERYWHERE.iter().chain(WITH_BODY).map(|(_, _, words)| *words);
        let shared = shared.chain(WITHOUT_ROUTE.iter().map(|(_, words)| *words));
        let of_routes = errors_of_routes(Shape::Ours).map(|(_, words)| words);
        for word in of_routes.chain(shared).flatten() {
            assert!(code::ALL.iter().any(|code| code.word == *word), "{word}");
        }
        #[cfg(feature = "agent")]
        for word in errors_of_routes(Shape::OpenAi).flat_map(|(_, words)| words) {
            assert!(completion_codes().iter().any(|code| code.word == *word), "{word}");
        }
    }

    /// What a tool says of itself is a result, and no error answer.
    #[test]
    #[cfg(feature = "agent")]
    fn every_word_but_one_comes_with_a_status() {
        let without: Vec<&str> = code::ALL
            .iter()
            .map(|code| code.word)
            .filter(|word| statuses(word, Shape::Ours).is_empty())
            .collect();
        assert_eq!(without, ["TOOL_ERROR"]);
        for code in completions::code::ALL {
            assert!(!statuses(code.word, Shape::OpenAi).is_empty(), "{}", code.word);
        }
    }

    #[test]
    fn the_schema_names_every_word_once() {
        let components = super::super::document::components();
        let schema = components.pointer(CODE).unwrap();
        assert_eq!(words_of(schema).len(), code::ALL.len());
        assert_eq!(schema["x-error-codes"].as_object().unwrap().len(), code::ALL.len());
        assert_eq!(schema["enum"], Value::Null);
        assert_eq!(schema["x-error-codes"]["TIMEOUT"]["statuses"], json!([408, 500, 504]));
    }

    #[test]
    #[cfg(feature = "agent")]
    fn the_schema_of_the_agent_has_its_words_and_those_of_the_guard() {
        let components = super::super::document::components();
        let schema = components.pointer(COMPLETION_CODE).unwrap();
        let words = words_of(schema);
        assert!(completions::code::ALL.iter().all(|code| words.contains(code.word)), "{words:?}");
        let shared: Vec<&str> = words.into_iter().filter(|word| word.to_uppercase() == *word).collect();
        let expected = [
            "BODY_TOO_LARGE",
            "CONVERSION_ERROR",
            "FORBIDDEN",
            "METHOD_NOT_ALLOWED",
            "NOT_FOUND",
            "OVERLOADED",
            "PERSONAL_DATA",
            "TIMEOUT",
            "UNAUTHORIZED",
            "UNKNOWN",
            "UNSUPPORTED_MEDIA_TYPE",
            "VALIDATION_ERROR",
        ];
        assert_eq!(shared, expected);
        let rows = &schema["x-error-codes"];
        assert_eq!(rows["context_length_exceeded"]["statuses"], json!([400, 413]));
        // A server that answers too late is no error of these routes.
        assert_eq!(rows["TIMEOUT"]["statuses"], json!([408]));
    }

    fn words_of(schema: &Value) -> BTreeSet<&str> {
        schema["x-extensible-enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
    }
}
