//! Legal names: tool names, property keys, call ids. Always mapped by table, never parsed back.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::dialect::NameRule;

impl NameRule {
    /// Whether `name` can be sent as it is.
    pub fn allows(&self, name: &str) -> bool {
        let Some(punctuation) = &self.punctuation else {
            return self.max == 0 || name.chars().count() <= self.max;
        };
        let legal = |byte: &u8| byte.is_ascii_alphanumeric() || punctuation.as_bytes().contains(byte);
        name.len() >= self.min
            && (self.max == 0 || name.len() <= self.max)
            && name.as_bytes().iter().all(legal)
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
    let mut taken: HashSet<String> =
        names.iter().filter(|name| rule.allows(name)).map(|name| (*name).to_owned()).collect();
    let mut order: Vec<&str> = names.iter().copied().filter(|name| !rule.allows(name)).collect();
    order.sort_unstable();
    let mut wanted: HashMap<String, usize> = HashMap::new();
    for name in &order {
        *wanted.entry(rule.cleaned(name)).or_default() += 1;
    }
    let mut legal: HashMap<&str, String> = HashMap::new();
    for name in order {
        let clean = rule.cleaned(name);
        let unique = wanted.get(&clean) == Some(&1) && !taken.contains(&clean) && rule.allows(&clean);
        let mut candidate = if unique { clean.clone() } else { rule.hashed(&clean, name, 0) };
        let mut attempt = 0;
        while taken.contains(&candidate) {
            attempt += 1;
            candidate = rule.hashed(&clean, name, attempt);
        }
        taken.insert(candidate.clone());
        legal.insert(name, candidate);
    }
    names
        .iter()
        .map(|name| legal.get(name).map_or(Cow::Borrowed(*name), |legal| Cow::Owned(legal.clone())))
        .collect()
}

/// Property keys of one tool: the same key has the same name wherever it stands.
#[derive(Debug)]
pub(crate) struct KeyTable<'a, 'r> {
    rule: &'r NameRule,
    root: &'a Value,
    renamed: OnceCell<HashMap<&'a str, String>>,
}

impl<'a, 'r> KeyTable<'a, 'r> {
    pub(crate) fn new(rule: &'r NameRule, root: &'a Value) -> Self {
        Self { rule, root, renamed: OnceCell::new() }
    }

    /// Whether every key is legal in this dialect.
    pub(crate) fn is_free(&self) -> bool {
        self.rule.punctuation.is_none() && self.rule.max == 0
    }

    /// The name under which `key` travels.
    pub(crate) fn wire(&self, key: &'a str) -> Cow<'a, str> {
        if self.is_free() || self.rule.allows(key) {
            return Cow::Borrowed(key);
        }
        let renamed = self.renamed.get_or_init(|| self.rename_all());
        renamed.get(key).map_or(Cow::Borrowed(key), |legal| Cow::Owned(legal.clone()))
    }

    /// `key` as it stands in the schema, where it travels under another name.
    pub(crate) fn borrowed(&self, key: &str) -> Option<&'a str> {
        if self.is_free() {
            return None;
        }
        self.renamed.get_or_init(|| self.rename_all()).get_key_value(key).map(|(key, _)| *key)
    }

    /// Whether any key travels under another name.
    pub(crate) fn renames(&self) -> bool {
        self.renamed.get().is_some_and(|renamed| !renamed.is_empty())
    }

    fn rename_all(&self) -> HashMap<&'a str, String> {
        let mut keys: Vec<&'a str> = Vec::new();
        collect_keys(self.root, &mut keys);
        keys.sort_unstable();
        keys.dedup();
        let legal = legal_names(self.rule, &keys);
        keys.into_iter()
            .zip(legal)
            .filter(|(key, legal)| key != legal)
            .map(|(key, legal)| (key, legal.into_owned()))
            .collect()
    }
}

/// Every key that could be a property: all keys of all objects, which is more than needed and never too little.
fn collect_keys<'a>(value: &'a Value, keys: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                keys.push(key);
                collect_keys(child, keys);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_keys(item, keys);
                // Names in `required` may be declared nowhere else.
                if let Value::String(text) = item {
                    keys.push(text);
                }
            }
        }
        _ => {}
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
