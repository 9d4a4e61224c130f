//! The redaction rules, compiled.

use std::collections::HashSet;

use gateway_notation::{pattern, pointer::unescape};

use super::{
    Redaction,
    hints::{self, HINTS, Hint},
    needles::Needles,
    shapes,
};
use crate::error::StoreError;

/// Schemes of an `Authorization` header.
pub(super) const SCHEMES: &[&str] = &["bearer ", "basic "];

/// All rules, ready to use.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Text without any of these words needs no redaction.
    pub(super) hints: Needles,
    /// Prefixes of tokens.
    pub(super) tokens: Needles,
    prefixes: HashSet<&'static str>,
    /// Words without which a text has no base64 blob.
    pub(super) blobs: Needles,
    /// Whether a pattern has no literal part, so that any text may match.
    always: bool,
    patterns: Vec<String>,
    paths: Vec<Path>,
    /// Whether long base64 stays.
    pub(super) keeps_blobs: bool,
}

/// A location in the input or result of some tools.
#[derive(Debug)]
pub(crate) struct Path {
    server: String,
    tool: String,
    pub(super) segments: Vec<String>,
}

impl Rules {
    pub(crate) fn parse(redaction: &Redaction) -> Result<Self, StoreError> {
        let mut hints: Vec<(String, Hint)> = HINTS
            .iter()
            .flat_map(|(hint, words)| words.iter().map(move |word| (*hint, *word)))
            .flat_map(|(hint, word)| hints::forms(hint, word).map(move |form| (form, hint)))
            .collect();
        let mut always = false;
        let patterns: Vec<String> = redaction.keys.iter().map(|key| key.to_ascii_lowercase()).collect();
        for key in &patterns {
            match pattern::longest_literal(key) {
                "" => always = true,
                piece => hints.push((piece.to_owned(), Hint::NAMES)),
            }
        }
        let tokens = || shapes::TOKEN_PREFIXES.iter().chain(SCHEMES).copied();
        hints.extend(tokens().map(|token| (token.to_owned(), Hint::TOKENS)));
        Ok(Self {
            hints: Needles::with_hints(shortest(&mut hints)),
            prefixes: tokens().collect(),
            tokens: Needles::new(tokens()),
            blobs: Needles::new(["\"data\"", "\"blob\"", ";base64,"]),
            always,
            patterns,
            paths: redaction.paths.iter().map(|rule| Path::parse(rule)).collect::<Result<_, _>>()?,
            keeps_blobs: false,
        })
    }

    /// The same rules for what is to be used again: long base64 stays.
    pub(super) fn without_blobs(self) -> Self {
        Self { keeps_blobs: true, ..self }
    }

    /// The locations that apply to one tool.
    pub(crate) fn paths_of(&self, server: &str, tool: &str) -> Vec<&Path> {
        let holds =
            |path: &&Path| pattern::matches(&path.server, server) && pattern::matches(&path.tool, tool);
        self.paths.iter().filter(holds).collect()
    }

    /// Whether a text may hold a secret at all.
    pub(super) fn may_hold_secret(&self, text: &str) -> bool {
        self.always || self.hints.found_in(text) || !hints::of_letters(text).is_none()
    }

    /// Which secrets a text may hold.
    pub(super) fn hints_in(&self, text: &str) -> Hint {
        if self.always {
            return Hint::ALL;
        }
        self.hints.hints_in(text).and(hints::of_letters(text))
    }

    /// Whether this is a prefix of tokens.
    pub(super) fn is_token_prefix(&self, prefix: &str) -> bool {
        self.prefixes.contains(prefix)
    }

    /// Whether the configuration marks every value of this key as a secret.
    pub(super) fn is_configured(&self, key: &str) -> bool {
        !self.patterns.is_empty() && {
            let key = key.to_ascii_lowercase();
            self.patterns.iter().any(|pattern| pattern::matches(pattern, &key))
        }
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
        let segments = path.split('/').map(|segment| unescape(segment).into_owned()).collect();
        Ok(Self { server: server.to_owned(), tool: tool.to_owned(), segments })
    }
}

/// The words without those that contain another word with the same hint: the shorter one finds the longer one too.
fn shortest(words: &mut Vec<(String, Hint)>) -> impl Iterator<Item = (&str, Hint)> {
    for (word, _) in words.iter_mut() {
        word.make_ascii_lowercase();
    }
    words.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
    words.dedup_by(|(word, hint), (kept, all)| {
        let is_same = word == kept;
        if is_same {
            *all = all.and(*hint);
        }
        is_same
    });
    words.iter().enumerate().filter_map(|(index, (word, hint))| {
        let shorter = words.get(..index).unwrap_or_default();
        // A token prefix matches only at the beginning of a word.
        let holds = |other: &str| {
            if *hint == Hint::TOKENS { word.starts_with(other) } else { word.contains(other) }
        };
        let is_found = shorter.iter().any(|(other, all)| holds(other) && all.contains(*hint));
        (!is_found).then_some((word.as_str(), *hint))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_keys_are_patterns() {
        let redaction = Redaction { keys: vec!["*_fin".to_owned()], ..Redaction::default() };
        let rules = Rules::parse(&redaction).unwrap();
        assert!(rules.is_configured("card_FIN") && !rules.is_configured("fin"));
        assert!(rules.may_hold_secret("card_fin"));
    }

    #[test]
    fn ordinary_calls_do_not_pass_the_quick_look() {
        let rules = Rules::parse(&Redaction::default()).unwrap();
        for text in [
            r#"{"a":1,"b":2}"#,
            r#"{"name":"colour","value":"blue"}"#,
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
