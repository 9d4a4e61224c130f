//! Regular expressions with a judge: the expression finds candidates, the judge decides.

use std::ops::Range;

use regex::{Captures, Match, Regex};

use super::{
    placeholders::{is_harmless_word, is_placeholder},
    secrets::Secrets,
};

/// Returns the range of the secret in a match, if there is one. It gets the whole text too.
pub(super) type Judge = fn(&Captures<'_>, &str) -> Option<Range<usize>>;

pub(super) struct Finder {
    pub(super) expression: Regex,
    judge: Judge,
}

/// A value in quotes of any kind, or up to the next space: the five groups that [`value_of`] reads. A quote that is
/// never closed ends at the next one of its kind, so that the search does not run to the end of the text for each quote.
pub(super) const VALUE: &str =
    r#"(?:"([^"\n]+)"|'([^'\n]+)'|`([^`\n]+)`|[“«„]\s*([^”»“«„\n]+)[”»“]|([^\s"'`“«„]+))"#;

/// An expression that does not compile is skipped; a test compares the number of expressions with each table.
///
/// `\b` is an ASCII word boundary. The library supports Unicode ones too, but only with its slowest engine as soon as a
/// text has a letter outside ASCII.
pub(super) fn compile(table: Vec<(String, Judge)>) -> Vec<Finder> {
    table
        .into_iter()
        .filter_map(|(text, judge)| Some(Finder { expression: Regex::new(&in_ascii(&text)).ok()?, judge }))
        .collect()
}

/// The expression with ASCII word boundaries.
pub(super) fn in_ascii(text: &str) -> String {
    text.replace(r"\b", r"(?-u:\b)").replace(r"\B", r"(?-u:\B)")
}

pub(super) fn find(finders: &[Finder], text: &str, secrets: &mut Secrets) {
    for Finder { expression, judge } in finders {
        let found = expression.captures_iter(text).filter_map(|found| judge(&found, text));
        secrets.ranges.extend(found.filter(|range| !range.is_empty()));
    }
}

/// The value in one of the forms of [`VALUE`], and whether it has quotes.
pub(super) fn value_of<'t>(found: &Captures<'t>, first: usize) -> Option<(Match<'t>, bool)> {
    (first..first + 4)
        .find_map(|group| found.get(group).map(|value| (value, true)))
        .or_else(|| found.get(first + 4).map(|value| (value, false)))
}

/// Where the value is, if it is neither a placeholder nor an ordinary word.
pub(super) fn unless_harmless(value: Match<'_>) -> Option<Range<usize>> {
    (!is_placeholder(value.as_str()) && !is_harmless_word(value.as_str())).then(|| value.range())
}

/// The group that matched, of several alternatives.
pub(super) fn any_of<'t>(found: &Captures<'t>, groups: Range<usize>) -> Option<Match<'t>> {
    groups.into_iter().find_map(|group| found.get(group))
}

#[cfg(test)]
mod tests {
    use crate::redact::{code, commands, markup, phrases, shapes};

    #[test]
    fn every_expression_compiles() {
        assert_eq!(
            [&code::FINDERS, &commands::FINDERS, &markup::FINDERS, &phrases::FINDERS, &shapes::FINDERS]
                .map(|finders| finders.len()),
            [code::table(), commands::table(), markup::table(), phrases::table(), shapes::table()]
                .map(|table| table.len())
        );
        assert!(code::INSERT.is_some());
    }
}
