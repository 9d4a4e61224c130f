//! Legal names: tool names, property keys, call ids. Always mapped by table, never parsed back.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::dialect::NameRule;

impl NameRule {
    /// Whether `name` can be sent as it is.
    pub fn allows(&self, name: &str) -> bool {
        self.allows_in(self.alphabet(), name)
    }

    /// The legal punctuation, one bit each; `None` where any character is legal.
    fn alphabet(&self) -> Option<u128> {
        let punctuation = self.punctuation.as_ref()?;
        Some(punctuation.bytes().filter(u8::is_ascii).fold(0, |all, byte| all | (1 << byte)))
    }

    /// The same as `allows`, for an `alphabet` that was asked for before.
    fn allows_in(&self, alphabet: Option<u128>, name: &str) -> bool {
        let (length, is_legal) = match alphabet {
            None => (name.chars().count(), true),
            // Every legal character is one byte.
            Some(alphabet) => {
                let is_legal = |byte| is_word(byte) || (byte.is_ascii() && alphabet & (1 << byte) != 0);
                (name.len(), name.bytes().all(is_legal))
            }
        };
        is_legal
            && length >= self.min
            && (self.max == 0 || length <= self.max)
            && (self.any_start || name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_'))
    }

    /// `name` with every illegal character replaced; not yet shortened.
    fn cleaned(&self, name: &str) -> String {
        let Some(punctuation) = &self.punctuation else { return name.to_owned() };
        let filler = if punctuation.contains('_') { "_" } else { "" };
        let mut clean = String::with_capacity(name.len());
        for char in name.chars() {
            if char.is_ascii_alphanumeric() || punctuation.contains(char) {
                clean.push(char);
            } else {
                clean.push_str(filler);
            }
        }
        if !self.any_start && !clean.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') {
            clean.insert_str(0, if filler.is_empty() { "x" } else { filler });
        }
        while clean.len() < self.min.max(1) {
            clean.push_str(if filler.is_empty() { "0" } else { filler });
        }
        clean
    }

    /// `clean` with a hash of `identity`, both fitting the limit.
    fn hashed(&self, clean: &str, identity: &str, attempt: u64) -> String {
        let hash = base32(fingerprint(identity, attempt));
        let separator =
            if self.punctuation.as_deref().is_none_or(|legal| legal.contains('_')) { "_" } else { "" };
        let room = match self.max {
            0 => usize::MAX,
            max => max.saturating_sub(separator.len() + hash.len()),
        };
        let end = clean.char_indices().map(|(at, _)| at).nth(room).unwrap_or(clean.len());
        format!("{}{separator}{hash}", clean.get(..end).unwrap_or_default())
    }
}

/// Letters and digits of ASCII. A table: this is asked for every character of every key.
const fn is_word(byte: u8) -> bool {
    const WORDS: [bool; 256] = {
        let mut all = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            all[byte as usize] = byte.is_ascii_alphanumeric();
            byte += 1;
        }
        all
    };
    WORDS[byte as usize]
}

/// FNV-1a with a final mix: stable across versions and machines.
fn fingerprint(text: &str, attempt: u64) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325 ^ attempt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in text.bytes() {
        hash ^= u64::from(byte);
        hash = hash.wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

fn base32(hash: u64) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    (0..7)
        .filter_map(|digit| {
            DIGITS.get(usize::try_from((hash >> (digit * 5)) & 31).ok()?).copied().map(char::from)
        })
        .collect()
}

/// Legal, distinct names for all of `names`, which are distinct themselves, in the same order.
///
/// Legal names stay as they are. The result for one name depends on the set of names, never on their order.
pub fn legal_names<'n>(rule: &NameRule, names: &[&'n str]) -> Vec<Cow<'n, str>> {
    if names.iter().all(|name| rule.allows(name)) {
        return names.iter().map(|name| Cow::Borrowed(*name)).collect();
    }
    let (mut taken, mut illegal): (Vec<&'n str>, Vec<&'n str>) =
        names.iter().copied().partition(|name| rule.allows(name));
    taken.sort_unstable();
    illegal.sort_unstable();
    let legal: HashMap<&str, String> =
        replacements(rule, &illegal, |name| name, |name| taken.binary_search(&name).is_ok())
            .into_iter()
            .collect();
    names
        .iter()
        .map(|name| legal.get(name).map_or(Cow::Borrowed(*name), |legal| Cow::Owned(legal.clone())))
        .collect()
}

/// Legal names for `illegal` ones, which are sorted and distinct. `part` is the part of a name in which all must differ;
/// `is_taken` knows these parts of the names beside them.
fn replacements<'n>(
    rule: &NameRule,
    illegal: &[&'n str],
    part: impl Fn(&str) -> &str,
    is_taken: impl Fn(&str) -> bool,
) -> Vec<(&'n str, String)> {
    let cleaned: Vec<String> = illegal.iter().map(|name| rule.cleaned(name)).collect();
    let mut wanted: BTreeMap<&str, usize> = BTreeMap::new();
    for clean in &cleaned {
        *wanted.entry(part(clean)).or_default() += 1;
    }
    let mut given: BTreeSet<String> = BTreeSet::new();
    let mut legal = Vec::with_capacity(illegal.len());
    for (name, clean) in illegal.iter().zip(&cleaned) {
        let clashes =
            |name: &str, given: &BTreeSet<String>| given.contains(part(name)) || is_taken(part(name));
        let mut free = wanted.get(part(clean)) == Some(&1) && !clashes(clean, &given) && rule.allows(clean);
        let mut candidate = clean.clone();
        let mut attempt = 0;
        while !free {
            candidate = rule.hashed(clean, name, attempt);
            free = !clashes(&candidate, &given);
            attempt += 1;
        }
        given.insert(part(&candidate).to_owned());
        legal.push((*name, candidate));
    }
    legal
}

/// Property keys of one tool: the same key has the same name wherever it stands.
#[derive(Debug)]
pub(crate) struct KeyTable<'a, 'r> {
    rule: &'r NameRule,
    alphabet: Option<u128>,
    root: &'a Value,
    /// In the order of their keys.
    renamed: OnceCell<Vec<(&'a str, String)>>,
}

impl<'a, 'r> KeyTable<'a, 'r> {
    pub(crate) fn new(rule: &'r NameRule, root: &'a Value) -> Self {
        Self { rule, alphabet: rule.alphabet(), root, renamed: OnceCell::new() }
    }

    /// Whether every key is legal in this dialect.
    pub(crate) fn is_free(&self) -> bool {
        self.rule.punctuation.is_none() && self.rule.max == 0
    }

    /// The name under which `key` travels.
    pub(crate) fn wire(&self, key: &'a str) -> Cow<'a, str> {
        if self.is_free() || self.rule.allows_in(self.alphabet, key) {
            return Cow::Borrowed(key);
        }
        self.renamed(key).map_or(Cow::Borrowed(key), |(_, legal)| Cow::Owned(legal.clone()))
    }

    /// `key` as it stands in the schema, if it travels under another name.
    pub(crate) fn borrowed(&self, key: &str) -> Option<&'a str> {
        if self.is_free() {
            return None;
        }
        self.renamed(key).map(|(key, _)| *key)
    }

    fn renamed(&self, key: &str) -> Option<&(&'a str, String)> {
        let renamed = self.renamed.get_or_init(|| self.rename_all());
        renamed.get(renamed.binary_search_by(|(known, _)| (*known).cmp(key)).ok()?)
    }

    /// Whether any key travels under another name.
    pub(crate) fn renames(&self) -> bool {
        self.renamed.get().is_some_and(|renamed| !renamed.is_empty())
    }

    fn rename_all(&self) -> Vec<(&'a str, String)> {
        let mut keys = Keys { table: self, legal: Vec::new(), illegal: Vec::new() };
        keys.collect(self.root);
        let Keys { mut legal, mut illegal, .. } = keys;
        illegal.sort_unstable();
        illegal.dedup();
        // To look through the keys a few times takes less time than to sort them.
        if illegal.len() <= 8 {
            return replacements(self.rule, &illegal, stem, |name| legal.contains(&name));
        }
        legal.sort_unstable();
        replacements(self.rule, &illegal, stem, |name| legal.binary_search(&name).is_ok())
    }
}

/// A key without the underscores behind it. Undeclared keys that look like a renamed one travel with one more of them, so no
/// two keys of a schema may differ in these alone once one of them is renamed.
pub(crate) fn stem(key: &str) -> &str {
    if key.ends_with('_') { key.trim_end_matches('_') } else { key }
}

/// Every key that could be a property: all keys of all objects, which is more than needed and never too little.
struct Keys<'a, 't> {
    table: &'t KeyTable<'a, 't>,
    /// Stems, in no order, and some of them several times.
    legal: Vec<&'a str>,
    illegal: Vec<&'a str>,
}

impl<'a> Keys<'a, '_> {
    fn add(&mut self, key: &'a str) {
        let legal = self.table.rule.allows_in(self.table.alphabet, key);
        if legal { self.legal.push(stem(key)) } else { self.illegal.push(key) }
    }

    fn collect(&mut self, value: &'a Value) {
        match value {
            Value::Object(map) => {
                for (key, child) in map {
                    self.add(key);
                    self.collect(child);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.collect(item);
                    // Names in `required` may be declared nowhere else.
                    if let Value::String(text) = item {
                        self.add(text);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::legal_names;
    use crate::dialect::NameRule;

    fn rule(max: usize) -> NameRule {
        NameRule { punctuation: Some("_-".to_owned()), any_start: false, min: 1, max }
    }

    #[test]
    fn legal_names_stay() {
        assert_eq!(legal_names(&rule(64), &["a", "b-c", "_d"]), ["a", "b-c", "_d"]);
    }

    #[test]
    fn illegal_characters_are_replaced_without_a_hash() {
        assert_eq!(legal_names(&rule(64), &["user.name", "21st"]), ["user_name", "_21st"]);
    }

    #[test]
    fn clashes_are_found_before_truncation() {
        let long = "a".repeat(70);
        let other = format!("{}b", "a".repeat(69));
        let names = legal_names(&rule(64), &[&long, &other, "a.b", "a:b", "a_b"]);
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), 5);
        assert!(names.iter().all(|name| rule(64).allows(name)), "{names:?}");
        assert_eq!(names[4], "a_b");
    }

    #[test]
    fn order_does_not_matter() {
        let forward = legal_names(&rule(16), &["x.y", "x:y", "a name that is far too long"]);
        let backward = legal_names(&rule(16), &["a name that is far too long", "x:y", "x.y"]);
        assert_eq!(forward, backward.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn exact_length_without_punctuation() {
        let rule = NameRule { punctuation: Some(String::new()), any_start: true, min: 9, max: 9 };
        let names = legal_names(&rule, &["call_abcdefgh", "x", "abc123DEF"]);
        assert!(names.iter().all(|name| rule.allows(name)), "{names:?}");
        assert_eq!(names[2], "abc123DEF");
    }
}
