//! What a tool is remembered by.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use sha2::{Digest as _, Sha256};

/// Bytes of the longest name that is its own key. MCP recommends at most 128 characters.
const WHOLE_BYTES: usize = 128;

/// Bytes of a longer name that its key begins with, for people.
const PREFIX_BYTES: usize = 64;

/// Stands between the beginning of a long name and its digest.
const SEPARATOR: &str = "…sha256:";

/// Digits of a digest.
const DIGITS: usize = 64;

/// The key of a tool: its name, or the beginning and the digest of a long name.
///
/// Every key of a long name is longer than the longest name that is its own key, so no two tools share one.
pub(super) fn tool_key(name: &str) -> Cow<'_, str> {
    if name.len() <= WHOLE_BYTES {
        return Cow::Borrowed(name);
    }
    let (prefix, _) = name.split_at(name.floor_char_boundary(PREFIX_BYTES));
    Cow::Owned(format!("{prefix}{SEPARATOR}{:x}", Sha256::digest(name)))
}

/// Reads a map by keys. Older files have long names as they are.
pub(super) fn read_by_key<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let mut entries = BTreeMap::<String, T>::deserialize(deserializer)?;
    let long: Vec<_> = entries.extract_if(.., |key, _| key.len() > WHOLE_BYTES && !is_digest(key)).collect();
    entries.extend(long.into_iter().map(|(name, value)| (tool_key(&name).into_owned(), value)));
    Ok(entries)
}

fn is_digest(key: &str) -> bool {
    let Some((start, digits)) = key.rsplit_once(SEPARATOR) else { return false };
    start.len() <= PREFIX_BYTES
        && digits.len() == DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_names_have_another_key() {
        let (short, long) = ("n".repeat(128), "n".repeat(129));
        assert_eq!(tool_key(&short), short);
        let key = tool_key(&long);
        let digest = "0bf2917cc7e3d671a8cb2cea35cfffbc6586cfda9f0ae830a6e1f2295b74fc8c";
        assert_eq!(key, format!("{}…sha256:{digest}", "n".repeat(64)));
        assert!(key.len() > 128, "no name that is its own key is as long");
        // The digest covers all of the name, and a key is not its own key.
        assert_ne!(tool_key(&format!("{long}x")), key);
        assert_ne!(tool_key(&key), key);
        // No letter is cut.
        assert!(tool_key(&format!("n{}", "ü".repeat(100))).starts_with(&format!("n{}…", "ü".repeat(31))));
    }

    #[test]
    fn long_names_of_older_files_are_found() {
        let long = "n".repeat(1_000);
        let key = tool_key(&long).into_owned();
        let read = |name: &str| {
            let text = serde_json::json!({name: 1, "t": 2}).to_string();
            read_by_key(&mut serde_json::Deserializer::from_str(&text)).unwrap()
        };
        let expected = BTreeMap::from([(key.clone(), 1), ("t".to_owned(), 2)]);
        assert_eq!((read(&long), read(&key)), (expected.clone(), expected));
    }
}
