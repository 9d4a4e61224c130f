//! The search: from left to right, one decision for each position.

use std::borrow::Cow;

use crate::context::{self, Hints};
use crate::kind::{Applied, Finding, Kind, Mode};
use crate::view::View;
use crate::visible::VisibleText;
use crate::{card, email, iban, number, phone, ssn};

/// Finds chosen kinds of personal data.
///
/// The scanners are written by hand, because most of the rules are checksums and neighbours, which regular expressions cannot state.
/// Each decision looks at a bounded window, so time grows linearly with the text, whatever it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detector {
    chosen: [bool; Kind::ALL.len()],
}

impl Default for Detector {
    /// All kinds.
    fn default() -> Self {
        Self::new(Kind::ALL)
    }
}

/// The digits of the shortest telephone number; cards and Social Security numbers have more.
const MIN_DIGITS: usize = 7;

/// What a position turned out to be.
pub(crate) enum Step {
    /// Nothing begins here; go on at this position.
    Nothing(usize),
    /// Something of a kind begins here, and ends there.
    Found(Kind, usize),
    /// That depends on text that has not come yet.
    NeedsMore,
}

impl Detector {
    /// A detector of these kinds.
    pub fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        let kinds: Vec<Kind> = kinds.into_iter().collect();
        Self { chosen: Kind::ALL.map(|kind| kinds.contains(&kind)) }
    }

    /// Whether a kind is looked for.
    pub fn finds(&self, kind: Kind) -> bool {
        Kind::ALL.iter().zip(self.chosen).any(|(known, chosen)| chosen && *known == kind)
    }

    /// All findings, in the order of the text; none overlaps another.
    pub fn find(&self, text: &str) -> Vec<Finding> {
        self.find_named(text, Hints::default())
    }

    /// Does with `text` what the mode says.
    ///
    /// Masked text has no findings, so applying a detector twice changes nothing.
    pub fn apply<'a>(&self, text: &'a str, mode: Mode) -> Applied<Cow<'a, str>, Vec<Finding>> {
        let report = self.find(text);
        match mode {
            Mode::Block if !report.is_empty() => Applied::Blocked { report },
            Mode::Mask => Applied::Passed { output: mask(text, &report), report },
            Mode::Mark | Mode::Block => Applied::Passed { output: Cow::Borrowed(text), report },
        }
    }

    /// [`Detector::find`] in a text that a name stands beside, which `hints` were read from.
    pub(crate) fn find_named(&self, text: &str, hints: Hints) -> Vec<Finding> {
        let Some(visible) = VisibleText::of(text) else { return self.find_visible(text, hints) };
        let found = self.find_visible(visible.text(), hints).into_iter();
        found.map(|Finding { kind, range }| Finding { kind, range: visible.range(range) }).collect()
    }

    fn find_visible(&self, text: &str, hints: Hints) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut position = 0;
        let mut floor = 0;
        while position < text.len() {
            match self.step(text, position, floor, true, hints) {
                Step::Nothing(next) => position = next,
                Step::Found(kind, end) => {
                    findings.push(Finding { kind, range: position..end });
                    position = end;
                    floor = end;
                }
                Step::NeedsMore => break,
            }
        }
        findings
    }

    /// Decides about one position of a text, whose last finding ended at `floor`. What follows an incomplete text may still come.
    pub(crate) fn step(
        &self,
        text: &str,
        position: usize,
        floor: usize,
        complete: bool,
        hints: Hints,
    ) -> Step {
        let rest = text.get(position..).unwrap_or_default();
        let Some(first) = rest.chars().next() else { return Step::NeedsMore };
        let next = position + first.len_utf8();
        // Inside of a word nothing begins. Most of a text is that, or blank.
        let inside = position > floor
            && first.is_ascii_alphanumeric()
            && text.as_bytes().get(position - 1).is_some_and(u8::is_ascii_alphanumeric);
        if inside || (first.is_ascii() && !first.is_ascii_alphanumeric() && !matches!(first, '+' | '(' | '%'))
        {
            return Step::Nothing(next);
        }
        let view = View::new(text, position, floor, complete);
        let found = self.begins(&view, position, hints);
        if view.needs_more() {
            return Step::NeedsMore;
        }
        found.map_or(Step::Nothing(next), |(kind, end)| Step::Found(kind, end))
    }

    /// The kind and the end of what begins at a position.
    fn begins(&self, view: &View<'_>, start: usize, hints: Hints) -> Option<(Kind, usize)> {
        let first = view.next(start).filter(|glyph| glyph.start == start)?;
        let found = |kind: Kind, end: Option<usize>| end.map(|end| (kind, end));
        match first.folded {
            '+' | '%' if self.finds(Kind::Phone) => {
                let digits = if first.folded == '+' { first.end } else { escaped_plus(view, first.end)? };
                found(Kind::Phone, phone::international_end(view, start, digits))
            }
            '(' if self.finds(Kind::Phone) => {
                found(Kind::Phone, phone::bracketed_end(view, start, first.end))
            }
            '0'..='9' => {
                let words = || context::read(view.before(start)).or(hints);
                let groups = number::read(view, start);
                // Lists of small numbers are long, and no number is written so: the rules need not look at them.
                let is_number =
                    number::count(&groups) >= MIN_DIGITS && groups.iter().any(|group| group.len() > 1);
                let chosen = |kind: &Kind| self.finds(*kind) && (is_number || *kind == Kind::Email);
                Kind::ALL.into_iter().filter(chosen).find_map(|kind| {
                    let end = match kind {
                        Kind::Email => email::end(view, start),
                        Kind::Iban => None,
                        Kind::Card => card::end(view, start, &groups, || words().card),
                        Kind::Ssn => ssn::end(view, start, &groups, || words().ssn),
                        Kind::Phone => phone::end(view, start, &groups, || words().phone),
                    };
                    found(kind, end)
                })
            }
            letter if letter.is_alphabetic() => {
                let address =
                    || found(Kind::Email, email::end(view, start)).filter(|_| self.finds(Kind::Email));
                let account = || found(Kind::Iban, iban::end(view, start)).filter(|_| self.finds(Kind::Iban));
                address().or_else(account)
            }
            _ => None,
        }
    }
}

/// Where the digits begin after `%2B`, which is a `+` in a query; `position` is behind the `%`.
fn escaped_plus(view: &View<'_>, position: usize) -> Option<usize> {
    let two = view.next(position).filter(|glyph| glyph.folded == '2')?;
    view.next(two.end).filter(|glyph| matches!(glyph.folded, 'B' | 'b')).map(|glyph| glyph.end)
}

/// The text with each finding replaced by its mask.
pub(crate) fn mask<'a>(text: &'a str, findings: &[Finding]) -> Cow<'a, str> {
    if findings.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for finding in findings {
        masked.push_str(text.get(end..finding.range.start).unwrap_or_default());
        masked.push_str(finding.kind.mask());
        end = finding.range.end;
    }
    masked.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many characters are looked at for a text, all decisions together.
    fn steps(text: &str) -> usize {
        let detector = Detector::default();
        let mut steps = 0;
        let mut position = 0;
        let mut floor = 0;
        while let Some(first) = text.get(position..).and_then(|rest| rest.chars().next()) {
            let view = View::new(text, position, floor, true);
            detector.begins(&view, position, Hints::default());
            steps += view.steps.get();
            position = match detector.step(text, position, floor, true, Hints::default()) {
                Step::Found(_, end) => {
                    floor = end;
                    end
                }
                Step::Nothing(_) | Step::NeedsMore => position + first.len_utf8(),
            };
        }
        steps
    }

    /// Counted, not timed: twice the text costs twice the steps, and no byte more than a few hundred.
    #[test]
    fn hostile_texts_cost_steps_in_proportion_to_their_length() {
        for unit in [
            "1",
            "1 ",
            "12 ",
            "1-",
            "12-",
            "@",
            "a@",
            "a@a.",
            "a.",
            "+",
            "+1",
            "(",
            "(1)",
            "%2B",
            "-",
            "-a",
            ".a",
            "1\u{200B}",
            "\u{200B}1",
            "DE89 ",
            "DE89",
            "4242 ",
            "phone 1234567 ",
            "phone ",
            "a'",
            "://a@",
            "é",
            "4242424242424242 ",
            "a@b.co ",
            "12 34 56 78 ",
            "[card]",
        ] {
            let text = |bytes: usize| unit.repeat(bytes / unit.len());
            let (once, twice) = (steps(&text(20_000)), steps(&text(40_000)));
            assert!(twice <= once * 2 + once / 50 + 1000, "{unit:?}: {once}, then {twice}");
            assert!(once <= 300 * 20_000, "{unit:?}: {} for each byte", once / 20_000);
        }
    }

    #[test]
    fn a_megabyte_of_anything_is_searched() {
        let detector = Detector::default();
        for unit in ["1", "@", "a@", "+", "a@a@a.", "1234 ", "1\u{200B}"] {
            assert_eq!(detector.find(&unit.repeat(1_000_000 / unit.len())).len(), 0, "{unit:?}");
        }
        assert_eq!(detector.find(&"a@b.co ".repeat(100_000)).len(), 100_000);
    }
}
