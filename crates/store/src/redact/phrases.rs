//! Secrets in sentences: `the password is hunter2`, `use x as the token`, `Das Passwort lautet x`.

use std::{ops::Range, sync::LazyLock};

use regex::Captures;

use super::{
    expressions::{Finder, Judge, VALUE, any_of, compile, value_of},
    placeholders::{is_harmless_word, is_placeholder},
    secret_names::{Kind, classify},
    value::{
        Setting, is_code_value, is_passphrase, is_plain_word, is_random, is_secret, looks_like_password,
    },
};

pub(super) static FINDERS: LazyLock<Vec<Finder>> = LazyLock::new(|| compile(table()));

/// Nouns for a secret.
const NOUNS: &[&str] = &[
    "password|passwd|requirepass|masterauth|passphrase|passcode|pass ?word|pwd|pass",
    "pin(?: code| number)?|otp|secret(?: key| access key)?|(?:(?:page|next|sync|cursor|continuation|start|end|stop|first|last) )?token",
    "(?:api|access|private|secret|auth|encryption|license|signing|account)[ -]?key",
    "(?:verification|security|access|login|one[- ]time|auth|authentication|2fa|mfa|door|unlock|backup|recovery)[ -]code",
    "credentials?|jwt|cookie|session id|client secret",
    "passwort|kennwort|(?:api|access)[ -]?schlüssel",
    "mot de passe|clé api|contraseña|clave(?: de api)?|senha|wachtwoord|hasło|parola|heslo|salasana|lösenord(?:et)?",
];
/// Nouns without ASCII letters at both ends, where `\b` does not match.
const FOREIGN_NOUNS: &str = "пароль";
/// Verbs between the noun and the secret.
const VERBS: &str = "is|was|are|will be|has been|set to|reset to|changed to|equals|reads|remains|should be|must be|being|is now|now is";
/// Verbs of other languages.
const FOREIGN_VERBS: &str = "lautet|ist|war|est|es|jest|on";
/// Verbs outside ASCII, where `\b` does not match.
const ACCENTED_VERBS: &str = "è|é|är";
/// The longest word before `is the password`.
const LONGEST_WORD: usize = 200;
const ADVERBS: &str = "now|set to|reset to|changed to|still|simply|just|currently|jetzt|maintenant|ahora";

pub(super) fn table() -> Vec<(String, Judge)> {
    let end = format!(r"(?:{})s?", NOUNS.join("|"));
    let noun = format!(r"\b{end}|{FOREIGN_NOUNS}");
    vec![
        // `password is x`, `password for bob was set to x`, `password -> x`
        (
            format!(
                r"(?i)({noun})(?:\s+(?:for|of|on|to|in)\s+(?:the\s+|my\s+|our\s+)?[\w@./-]+(?:\s+\w+)?)?\s*(?:\([^)\n]{{0,40}}\)\s*)?(?:(?:\b(?:{VERBS}|({FOREIGN_VERBS}))\b|({ACCENTED_VERBS}))(?:\s+(?:{ADVERBS}))?\s*[:=]?|->|→|⇒|—|–)\s*{VALUE}"
            ),
            stated,
        ),
        // `password hunter2`, `WITH PASSWORD 'x'`, `| password | x |`
        (
            format!(r"(?i)({noun}|\b[a-z0-9_]+_(?:password|token|secret|key|pass))(?:[ \t]*\|[ \t]*|[ \t]+){VALUE}"),
            beside,
        ),
        // The same in languages that put other words, or nothing, between them.
        (format!(r"(?i)\b(hasło)\s+to:?\s+{VALUE}"), beside),
        (format!(r"(密码|密碼|パスワード|비밀번호)\s*(?:是|为|為|は|는|은)?\s*[:：]?\s*{VALUE}"), beside),
        // `changed the password to x`
        (
            format!(r"(?i)\b(?:chang|set|reset|updat|rotat)\w*\b[^.\n]{{0,40}}?({noun})\s+to\s+{VALUE}"),
            beside,
        ),
        // `use x as the password`, `x is my pin`. The judge reads the word before: an expression for any word would need a
        // hundred times the states.
        (
            format!(
                r"(?i)[ \t](?:is|as|for|was)[ \t]+(?:the|my|your|our|his|her|their|a|an)?[ \t]*(?:[a-z-]+[ \t]+){{0,2}}({end}\b|{FOREIGN_NOUNS})"
            ),
            reversed,
        ),
        // `log in with eva / x`
        (
            r"(?i)\b(?:credentials?|creds|log ?in|sign in|logged in|account|auth)\b[^\n:]{0,30}[: ]\s*[A-Za-z0-9_.@+-]{2,64}\s*(?:/|:|\|)\s*([^\s,;]{4,})"
                .to_owned(),
            login,
        ),
    ]
}

fn stated(found: &Captures<'_>, text: &str) -> Option<Range<usize>> {
    let kind = classify(found.get(1)?.as_str())?;
    let (value, quoted) = value_of(found, 4)?;
    let trimmed = value.as_str().trim_end_matches(['.', ',', ';', ')', '!']);
    let setting = Setting { quoted, is_line: false, is_variable: false, rest: "" };
    let taken = match kind {
        Kind::Code => is_code_value(trimmed),
        _ if quoted => is_secret(kind, value.as_str(), setting),
        _ if looks_like_password(trimmed) || is_random(trimmed) => true,
        Kind::Password if trimmed.len() >= 4 && trimmed.bytes().all(|byte| byte.is_ascii_digit()) => true,
        Kind::Password => any_of(found, 2..4).is_none() && is_lone_word(trimmed, text, value.end()),
        _ => false,
    };
    (taken && !is_placeholder(trimmed)).then(|| value.range())
}

fn beside(found: &Captures<'_>, whole: &str) -> Option<Range<usize>> {
    let noun = found.get(1)?;
    // `/settings/password` is a path.
    if whole.get(..noun.start()).is_some_and(|before| before.ends_with(['/', '#'])) {
        return None;
    }
    let kind = classify(noun.as_str())?;
    let (value, quoted) = value_of(found, 2)?;
    let text = value.as_str();
    let is_made_up = looks_like_password(text) && !is_call(text);
    let taken = match kind {
        Kind::Code => text.bytes().filter(u8::is_ascii_digit).count() >= 4 && is_code_value(text),
        Kind::Password if quoted && text.contains(' ') => {
            let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
            is_passphrase(first, rest) || (is_made_up && !text.contains(['=', ':', ',']))
        }
        Kind::Password => (quoted && !is_placeholder(text) && !is_harmless_word(text)) || is_made_up,
        _ => is_random(text) || (is_made_up && text.len() >= 8 && !text.contains(['=', ':', '/', '.'])),
    };
    (taken && !text.starts_with(['=', ':', '(', '|'])).then(|| value.range())
}

fn reversed(found: &Captures<'_>, text: &str) -> Option<Range<usize>> {
    let kind = classify(found.get(1)?.as_str())?;
    let before = text.get(..found.get(0)?.start())?.trim_end_matches([' ', '\t']);
    let (start, _) = before
        .char_indices()
        .rev()
        .take(LONGEST_WORD)
        .take_while(|(_, letter)| !letter.is_whitespace())
        .last()?;
    let value = before.get(start..)?;
    let trimmed = value.trim_matches(['"', '\'', '`', ',', '“', '”']);
    let taken = if kind == Kind::Code {
        is_code_value(trimmed)
    } else {
        looks_like_password(trimmed) && !is_call(trimmed) && !trimmed.contains("://")
    };
    (taken && value.chars().count() >= 4 && !trimmed.starts_with("--")).then_some(start..before.len())
}

fn login(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    let value = found.get(1)?;
    (looks_like_password(value.as_str()) && !value.as_str().contains(['/', '(', '='])).then(|| value.range())
}

/// A word that ends its sentence and is not a participle: `the password is swordfish.`
fn is_lone_word(word: &str, text: &str, end: usize) -> bool {
    let ends = text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let over = ends.is_empty()
        || ends.starts_with(['\n', '\r', ',', ';', '.', ')'])
        || text.get(..end).is_some_and(|head| head.ends_with(['.', ',', '!']));
    let lower = word.to_lowercase();
    let grammar =
        ["ed", "ing", "ly", "able", "ible", "ent", "ant", "ive", "ful", "less", "ous", "al", "en", "ic"];
    over && word.chars().count() >= 6
        && is_plain_word(word)
        && !is_harmless_word(word)
        && !grammar.iter().any(|end| lower.ends_with(end))
}

/// `varchar(255)`, `get_token()`.
fn is_call(text: &str) -> bool {
    text.contains('(')
}
