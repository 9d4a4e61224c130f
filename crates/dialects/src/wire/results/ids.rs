//! Call ids that a dialect accepts, mapped back by table.

use std::collections::HashMap;

use crate::dialect::{Dialect, NameRule};

/// The length of a derived id where the dialect leaves it open.
const DERIVED_LENGTH: usize = 24;

/// How often an id is derived anew before it may be longer than the dialect likes.
const PATIENCE: u64 = 1000;

/// Letters and digits of an id that stands for a number: as many as the shortest ids that a provider asks for have.
const NUMBERED_LENGTH: usize = 9;

const ALPHABET: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LETTERS: u64 = 52;

/// The call ids of one conversation in one dialect.
///
/// An id that the dialect accepts stays as it is. Any other is replaced by one that is derived from it, the same
/// in every run; no two ids are ever given the same replacement.
#[derive(Clone, Debug)]
pub struct IdMap {
    rule: NameRule,
    wire: HashMap<String, String>,
    original: HashMap<String, String>,
}

impl IdMap {
    /// An empty table for `dialect`.
    pub fn new(dialect: &Dialect) -> Self {
        Self { rule: dialect.ids.clone(), wire: HashMap::new(), original: HashMap::new() }
    }

    /// Whether the dialect accepts `id` as it is.
    pub fn accepts(&self, id: &str) -> bool {
        !id.is_empty() && self.rule.allows(id)
    }

    /// Enters `ids`, those that may stay as they are first, so that no derived id is one of them.
    pub fn reserve<'a>(&mut self, ids: impl Iterator<Item = &'a str> + Clone) {
        for id in ids.clone() {
            if self.accepts(id) {
                self.wire(id);
            }
        }
        for id in ids {
            self.wire(id);
        }
    }

    /// The id that stands for `original` in this dialect.
    pub fn wire(&mut self, original: &str) -> String {
        if let Some(known) = self.wire.get(original) {
            return known.clone();
        }
        let mut wire = original.to_owned();
        let mut attempt = 0;
        while attempt == 0 && !self.accepts(&wire) || self.original.contains_key(&wire) {
            wire = derive(&self.rule, original, attempt);
            attempt += 1;
        }
        self.wire.insert(original.to_owned(), wire.clone());
        self.original.insert(wire.clone(), original.to_owned());
        wire
    }

    /// The id that `wire` stands for; itself when the table does not know it.
    pub fn original<'a>(&'a self, wire: &'a str) -> &'a str {
        self.original.get(wire).map_or(wire, String::as_str)
    }
}

/// The id that stands for a number in `dialect`: the same for the same number, and another for each of 62⁹ numbers in a row.
pub fn numbered_id(dialect: &Dialect, number: u64) -> String {
    let mut rest = number;
    let mut digits = [b'a'; NUMBERED_LENGTH];
    for digit in digits.iter_mut().rev() {
        let index = usize::try_from(rest % 62).unwrap_or_default();
        *digit = ALPHABET.get(index).copied().unwrap_or(b'a');
        rest /= 62;
    }
    let digits: String = digits.iter().copied().map(char::from).collect();
    let id = format!("call_{digits}");
    if dialect.ids.allows(&id) {
        return id;
    }
    // Consecutive numbers differ in the digits at the end.
    let longest = if dialect.ids.max == 0 { NUMBERED_LENGTH } else { dialect.ids.max };
    let cut: String = digits.chars().skip(NUMBERED_LENGTH.saturating_sub(longest)).collect();
    format!("{cut:a>width$}", width = dialect.ids.min)
}

/// Letters and digits from a hash of `original`; a letter comes first. When no id of the right length seems to be
/// left, a longer one is better than none.
fn derive(rule: &NameRule, original: &str, attempt: u64) -> String {
    let longest = if rule.max == 0 { DERIVED_LENGTH } else { rule.max };
    let longer = usize::try_from(attempt / PATIENCE).unwrap_or_default();
    let length = DERIVED_LENGTH.min(longest).max(rule.min) + longer;
    let mut state = attempt;
    for byte in original.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(29);
    }
    (0..length)
        .map(|position| {
            // SplitMix64: one well-mixed number per character.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^= mixed >> 31;
            let choices = if position == 0 { LETTERS } else { 62 };
            let index = usize::try_from(mixed % choices).unwrap_or_default();
            char::from(ALPHABET.get(index).copied().unwrap_or(b'a'))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(punctuation: Option<&str>, min: usize, max: usize) -> NameRule {
        NameRule { punctuation: punctuation.map(str::to_owned), any_start: true, min, max }
    }

    fn map(rule: NameRule) -> IdMap {
        IdMap { rule, wire: HashMap::new(), original: HashMap::new() }
    }

    #[test]
    fn legal_ids_stay() {
        let mut ids = map(rule(Some(""), 9, 9));
        assert_eq!(ids.wire("abcDEF123"), "abcDEF123");
    }

    #[test]
    fn numbers_in_a_row_have_ids_that_every_dialect_takes() {
        let dialects = crate::Dialects::builtin();
        for name in dialects.names() {
            let dialect = dialects.get(name).unwrap();
            let ids: std::collections::HashSet<String> =
                (0..200).map(|number| numbered_id(&dialect, 13_537_086_546_263_500 + number)).collect();
            assert_eq!(ids.len(), 200, "{name}");
            assert!(ids.iter().all(|id| dialect.ids.allows(id)), "{name}: {ids:?}");
        }
        let id = |name: &str, number| numbered_id(&dialects.get(name).unwrap(), number);
        assert_eq!((id("openai-chat", 0), id("mistral", 0)), ("call_aaaaaaaaa".into(), "aaaaaaaaa".into()));
        assert_eq!((id("anthropic", 63), id("mistral", 63)), ("call_aaaaaaabb".into(), "aaaaaaabb".into()));
    }

    #[test]
    fn illegal_ids_are_derived_and_come_back() {
        for (rule, id) in [
            (rule(Some(""), 9, 9), "call_1"),
            (rule(Some("_-"), 1, 64), "functions.add:0"),
            (rule(None, 0, 40), "x".repeat(41).as_str()),
            (rule(None, 0, 0), ""),
        ] {
            let mut ids = map(rule.clone());
            let wire = ids.wire(id);
            assert!(ids.accepts(&wire), "{wire}");
            assert_eq!(ids.original(&wire), id);
            assert_eq!(map(rule).wire(id), wire, "same in every run");
        }
    }

    #[test]
    fn a_rule_with_too_few_ids_ends() {
        let mut ids = map(rule(Some(""), 1, 1));
        let wires: std::collections::HashSet<String> =
            (0..100).map(|n| ids.wire(&format!("id {n}"))).collect();
        assert_eq!(wires.len(), 100);
    }

    #[test]
    fn a_legal_id_that_looks_derived_stays() {
        let rule = rule(Some(""), 9, 9);
        let derived = map(rule.clone()).wire("call_1");
        let mut ids = map(rule);
        ids.reserve(["call_1", derived.as_str()].into_iter());
        assert_eq!(ids.wire(&derived), derived);
        let other = ids.wire("call_1");
        assert_ne!(other, derived);
        assert_eq!(ids.original(&other), "call_1");
    }
}
