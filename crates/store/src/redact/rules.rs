//! The redaction rules in the form in which they are applied.

use std::collections::HashSet;

use super::{Redaction, needles::Needles};
use crate::{error::StoreError, pattern};

/// Keys whose values are secrets. `_` stands for `_`, `-` or nothing, and case does not matter.
const SENSITIVE_KEYS: &[&str] = &[
    "access_key",
    "access_token",
    "api_key",
    "api_secret",
    "api_token",
    "app_secret",
    "auth_key",
    "auth_token",
    "authorization",
    "bearer_token",
    "client_secret",
    "cookie",
    "credentials",
    "csrf_token",
    "encryption_key",
    "id_token",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "proxy_authorization",
    "pwd",
    "refresh_token",
    "secret",
    "secret_access_key",
    "secret_key",
    "session_token",
    "set_cookie",
    "signing_key",
    "ssh_key",
    "token",
    "x_api_key",
    "x_auth_token",
];

/// Beginnings of tokens that are recognised anywhere in a string.
const TOKEN_PREFIXES: &[&str] = &[
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "npm_",
    "pypi-",
    "eyJ",
];

/// Schemes of an `Authorization` header.
pub(super) const SCHEMES: &[&str] = &["bearer ", "basic "];

/// All rules, ready to use.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Text without any of these words holds nothing to take out.
    pub(super) hints: Needles,
    /// Where tokens may begin.
    pub(super) tokens: Needles,
    prefixes: HashSet<String>,
    /// Words whose presence means that there may be a base64 blob.
    pub(super) blobs: Option<Needles>,
    /// A pattern without a literal word in it may match anything.
    always: bool,
    sensitive: HashSet<String>,
    longest_sensitive: usize,
    patterns: Vec<String>,
    paths: Vec<Path>,
}

/// One place in the input or result of some tools.
#[derive(Debug)]
pub(crate) struct Path {
    server: String,
    tool: String,
    pub(super) segments: Vec<String>,
}

impl Rules {
    pub(crate) fn parse(redaction: &Redaction) -> Result<Self, StoreError> {
        let defaults = if redaction.defaults { SENSITIVE_KEYS } else { &[] };
        let prefixes = if redaction.defaults { TOKEN_PREFIXES } else { &[] };
        let schemes = if redaction.defaults { SCHEMES } else { &[] };

        let mut hints: Vec<String> = defaults.iter().flat_map(|key| spellings(key)).collect();
        let mut always = false;
        let patterns: Vec<String> = redaction.keys.iter().map(|key| key.to_ascii_lowercase()).collect();
        for key in &patterns {
            match key.split('*').max_by_key(|piece| piece.len()).filter(|piece| !piece.is_empty()) {
                Some(piece) => hints.push(piece.to_owned()),
                None => always = true,
            }
        }
        let tokens: Vec<&str> = prefixes
            .iter()
            .chain(schemes)
            .copied()
            .chain(redaction.token_prefixes.iter().map(String::as_str))
            .collect();
        hints.extend(tokens.iter().map(|token| (*token).to_owned()));
        if redaction.defaults {
            // User and password in an address; and keys may be spelled with escapes.
            hints.extend(["://".to_owned(), "\\u00".to_owned()]);
        } else if !patterns.is_empty() {
            hints.push("\\u00".to_owned());
        }
        let sensitive: HashSet<String> = defaults.iter().map(|key| folded(key)).collect();
        Ok(Self {
            hints: Needles::new(shortest(&mut hints)),
            prefixes: tokens.iter().map(|token| (*token).to_owned()).collect(),
            tokens: Needles::new(tokens),
            blobs: redaction.blobs.then(|| Needles::new(["\"data\"", "\"blob\"", ";base64,"])),
            always,
            longest_sensitive: defaults.iter().map(|key| key.len() + 4).max().unwrap_or(0),
            sensitive,
            patterns,
            paths: redaction.paths.iter().map(|rule| Path::parse(rule)).collect::<Result<_, _>>()?,
        })
    }

    /// The places that hold for one tool.
    pub(crate) fn paths_of(&self, server: &str, tool: &str) -> Vec<&Path> {
        let holds =
            |path: &&Path| pattern::matches(&path.server, server) && pattern::matches(&path.tool, tool);
        self.paths.iter().filter(holds).collect()
    }

    /// Whether a text may hold a secret at all.
    pub(super) fn may_hold_secret(&self, text: &str) -> bool {
        self.always || self.hints.found_in(text)
    }

    /// Whether a token begins with exactly this.
    pub(super) fn is_token_prefix(&self, prefix: &str) -> bool {
        self.prefixes.contains(prefix)
    }

    /// Whether the value of this key is a secret.
    pub(super) fn is_sensitive(&self, key: &str) -> bool {
        (key.len() <= self.longest_sensitive && self.sensitive.contains(&folded(key)))
            || (!self.patterns.is_empty() && {
                let key = key.to_ascii_lowercase();
                self.patterns.iter().any(|pattern| pattern::matches(pattern, &key))
            })
    }
}

impl Path {
    fn parse(rule: &str) -> Result<Self, StoreError> {
        let problem = |problem| StoreError::Rule { rule: rule.to_owned(), problem };
        let (names, path) =
            rule.split_once(":/").ok_or_else(|| problem("write it as `server/tool:/path`"))?;
        let (server, tool) =
            names.split_once('/').ok_or_else(|| problem("name the server and the tool before `:`"))?;
        if server.is_empty() || tool.is_empty() || path.is_empty() {
            return Err(problem("server, tool and path must not be empty; use `*` for any"));
        }
        let segments = path.split('/').map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self { server: server.to_owned(), tool: tool.to_owned(), segments })
    }
}

/// The words that contain no other word of the list: a longer one is found by the shorter one in it.
fn shortest(words: &mut Vec<String>) -> impl Iterator<Item = &str> {
    for word in words.iter_mut() {
        word.make_ascii_lowercase();
    }
    words.sort_by_key(String::len);
    words.dedup();
    words.iter().enumerate().filter_map(|(index, word)| {
        let shorter = words.get(..index).unwrap_or_default();
        (!shorter.iter().any(|other| word.contains(other.as_str()))).then_some(word.as_str())
    })
}

fn spellings(key: &str) -> [String; 3] {
    [key.to_owned(), key.replace('_', "-"), key.replace('_', "")]
}

fn folded(key: &str) -> String {
    key.chars()
        .filter(|character| !matches!(character, '_' | '-'))
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sensitive_in_every_spelling_and_not_by_part() {
        let redaction = Redaction { keys: vec!["*_pin".to_owned()], ..Redaction::default() };
        let rules = Rules::parse(&redaction).unwrap();
        for (key, expected) in [
            ("password", true),
            ("PassWord", true),
            ("api_key", true),
            ("apiKey", true),
            ("API-KEY", true),
            ("X-Api-Key", true),
            ("Set-Cookie", true),
            ("max_tokens", false),
            ("tokens", false),
            ("nextPageToken", false),
            ("key", false),
            ("card_PIN", true),
            ("pin", false),
        ] {
            assert_eq!(rules.is_sensitive(key), expected, "{key}");
            if expected {
                assert!(rules.may_hold_secret(key), "{key} must pass the quick look");
            }
        }
    }

    #[test]
    fn ordinary_calls_do_not_pass_the_quick_look() {
        let rules = Rules::parse(&Redaction::default()).unwrap();
        for text in [
            r#"{"a":1,"b":2}"#,
            r#"{"key":"colour","value":"blue"}"#,
            r#"{"content":[{"type":"text","text":"The weather in Oslo is fine."}],"isError":false}"#,
        ] {
            assert!(!rules.may_hold_secret(text), "{text}");
        }
    }

    #[test]
    fn a_wrong_path_rule_is_refused() {
        for rule in ["", "demo", "demo/add", "demo:/a", "/add:/a", "demo/add:/"] {
            let redaction = Redaction { paths: vec![rule.to_owned()], ..Redaction::default() };
            assert!(matches!(Rules::parse(&redaction), Err(StoreError::Rule { .. })), "{rule}");
        }
    }
}
