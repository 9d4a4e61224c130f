//! Whether a value in the position of a secret is one.

use super::{
    placeholders::{is_harmless_word, is_placeholder},
    secret_names::{Kind, classify},
};
use crate::word_list::words;

/// Words that only occur in sentences.
const STOP_WORDS: &[&str] = &[
    "the", "a", "an", "is", "are", "to", "you", "your", "and", "or", "must", "with", "for", "of", "in", "at",
    "it", "that", "this", "be", "was", "not", "can", "will", "should", "has", "have", "from", "on", "we",
    "they", "if", "when", "than", "least",
];

/// Whether a value and the text after it are an amount: `16 bytes`, `8 characters`.
fn is_amount(value: &str, rest: &str) -> bool {
    const UNITS: &[&str] = words!(
        "byte character char digit item entry entries second minute hour day week month year time attempt \
         bit word letter"
    );
    let (number, unit) = match value.split_once(' ') {
        Some((number, unit)) => (number, unit),
        None => (value, rest.split_whitespace().next().unwrap_or_default()),
    };
    let unit = unit.trim_end_matches(|letter: char| !letter.is_alphabetic());
    number.len() <= 6
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && (UNITS.contains(&unit) || unit.strip_suffix('s').is_some_and(|unit| UNITS.contains(&unit)))
}

/// Whether this is an ordinary word: letters only, perhaps with an apostrophe or a hyphen.
pub(super) fn is_plain_word(value: &str) -> bool {
    let word = value.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    let tail = word.chars().skip(1).all(|letter| letter.is_lowercase() || matches!(letter, '\'' | '-' | '’'));
    let capitals = word.chars().all(char::is_uppercase);
    word.chars().next().is_none_or(char::is_alphabetic) && (tail || capitals)
}

/// Whether a text looks like an invented password: letters with digits or special characters, or mixed case.
pub(super) fn looks_like_password(value: &str) -> bool {
    let value = value.trim_end_matches(['.', ',', ';', ':', '?', ')']);
    if value.chars().count() < 4 || is_placeholder(value) || is_known_term(value) {
        return false;
    }
    let letters = value.chars().any(char::is_alphabetic);
    let digits = value.chars().any(|letter| letter.is_ascii_digit());
    let signs = value
        .chars()
        .any(|letter| matches!(letter, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '*' | '+' | '=' | '~'));
    let turns =
        value.chars().zip(value.chars().skip(1)).any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    (letters && (digits || turns || is_hyphenated(value))) || (signs && (letters || digits))
}

/// `blue-Door-Stamp`: capitals after hyphens but not at the beginning, unlike titles and header names.
fn is_hyphenated(value: &str) -> bool {
    let mut pieces = value.split('-');
    let first = pieces.next().is_some_and(|piece| piece.starts_with(char::is_lowercase));
    let capitals = pieces.filter(|piece| piece.starts_with(char::is_uppercase)).count();
    first && capitals >= 2 && value.chars().all(|letter| letter.is_alphanumeric() || letter == '-')
}

/// Names of formats and versions that have digits in them.
fn is_known_term(value: &str) -> bool {
    const TERMS: &[&str] = words!(
        "oauth2 oauth1 sha1 sha256 sha512 utf8 utf-8 base64 ipv4 ipv6 http2 md5 ed25519 x509 python3 pbkdf2 \
         argon2 argon2id rs256 hs256 es256 rfc6749 oauth2.0 bcrypt aes256 aes-256 sha-256 base32 utf-16 \
         saml2 tls1.3 javascript typescript github gitlab openid"
    );
    let lower = value.to_ascii_lowercase();
    let version = lower.strip_prefix('v').unwrap_or(&lower);
    TERMS.contains(&lower.as_str())
        || version.bytes().all(|byte| {
            byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'/' | b':' | b'%' | b'x' | b't' | b'z')
        })
        || ["st", "nd", "rd", "th", "s", "ms", "kb", "mb", "gb", "h", "d"].iter().any(|unit| {
            lower
                .strip_suffix(unit)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        })
}

/// Whether a text looks machine-generated.
pub(super) fn is_random(value: &str) -> bool {
    let token = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'=' | b'.' | b'~' | b'%')
    };
    if value.len() < 16 || !value.bytes().all(token) || value.contains("://") || is_placeholder(value) {
        return false;
    }
    let pieces = || value.split(['-', '_', '.', '/', '~', '%']);
    // URL-safe base64 has hyphens and underscores, which may split a token into short pieces.
    if value.len() >= 24 && pieces().filter(|piece| piece.len() >= 5 && is_mixed(piece)).count() >= 2 {
        return true;
    }
    let longest = pieces().max_by_key(|piece| piece.len()).unwrap_or_default();
    let digits = longest.bytes().filter(u8::is_ascii_digit).count();
    let upper = longest.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = longest.bytes().filter(u8::is_ascii_lowercase).count();
    longest.len() >= 12
        && digits >= 2
        && ((upper >= 2 && lower >= 2) || (upper + lower >= 4 && digits * 6 >= longest.len()))
}

/// Whether a short piece has digits between letters, and letters of both cases.
fn is_mixed(piece: &str) -> bool {
    let inner = piece.trim_matches(|letter: char| letter.is_ascii_digit());
    inner.bytes().any(|byte| byte.is_ascii_digit())
        && piece.bytes().any(|byte| byte.is_ascii_uppercase())
        && piece.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// The context of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) quoted: bool,
    /// Whether name and value are a line of a configuration file.
    pub(super) is_line: bool,
    /// Whether the name is in capitals, like environment variables.
    pub(super) is_variable: bool,
    /// What follows the value on its line.
    pub(super) rest: &'a str,
}

impl Setting<'_> {
    /// A value whose beginning and end are certain: in quotes, in an element, in a cell.
    pub(super) const DELIMITED: Self = Self { quoted: true, is_line: true, is_variable: false, rest: "" };
}

/// Whether the value of a name of this kind is a secret.
pub(super) fn is_secret(kind: Kind, value: &str, setting: Setting<'_>) -> bool {
    let phrase = kind == Kind::Password && !setting.quoted && is_passphrase(value, setting.rest);
    if phrase && setting.is_line {
        return true;
    }
    if is_placeholder(value)
        || is_harmless_word(value.trim_start_matches('&'))
        || is_amount(value, setting.rest)
    {
        return false;
    }
    if !setting.quoted && !setting.is_variable && is_code(value, setting.rest) {
        return false;
    }
    let goes_on = setting.rest.trim_start().starts_with(char::is_alphabetic) && setting.rest.starts_with(' ');
    let is_prose = !setting.quoted && is_plain_word(value) && goes_on;
    match kind {
        Kind::Password => {
            let in_pwd = value.starts_with('/') || value.starts_with("~/");
            !in_pwd && (!is_prose || phrase)
        }
        // A short number is an amount.
        Kind::Token if value.len() < 6 && value.bytes().all(|byte| byte.is_ascii_digit()) => false,
        Kind::Secret | Kind::Token => {
            if setting.quoted || setting.is_line {
                !is_prose
            } else {
                !is_prose && (!is_plain_word(value) || setting.is_variable)
            }
        }
        Kind::Code => is_code_value(value),
        Kind::Random => is_random(value),
        Kind::Address => false,
    }
}

/// Whether several words make a sentence.
pub(super) fn is_sentence(value: &str) -> bool {
    value.split_whitespace().count() >= 3
        && value.split_whitespace().any(|word| STOP_WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

/// Whether a value can be a PIN or a one-time code, or several of them.
pub(super) fn is_code_value(value: &str) -> bool {
    if value.contains(' ') && value.len() <= 256 {
        let longest = value.split_whitespace().map(str::len).max().unwrap_or_default();
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        return longest <= 24
            && digits >= 4
            && value.split_whitespace().all(|piece| {
                piece.bytes().any(|byte| byte.is_ascii_digit())
                    && (looks_like_password(piece) || piece.len() >= 2)
            });
    }
    let value = value.trim_end_matches(['.', ',', ';']);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (3..=64).contains(&value.len())
        && !value.contains(' ')
        && (digits >= 4
            || (digits >= 3 && value.len() == digits)
            || (digits >= 1 && looks_like_password(value) && value.len() >= 5))
}

/// Several words that are not a sentence.
pub(super) fn is_passphrase(first: &str, rest: &str) -> bool {
    let words = || std::iter::once(first).chain(rest.split_whitespace()).take(25);
    words().all(|word| word.chars().all(char::is_lowercase) && !STOP_WORDS.contains(&word))
        && (3..=24).contains(&words().count())
}

/// Whether an unquoted value is program code: a call, a member, another name.
fn is_code(value: &str, rest: &str) -> bool {
    let value = value.trim_start_matches(['&', '*', '(']).trim_end_matches([',', ';', ')']);
    let name = value
        .bytes()
        .take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b':'))
        .count();
    let after = value.as_bytes().get(name).copied().or_else(|| rest.bytes().next());
    let Some(identifier) = value.get(..name).filter(|text| !text.is_empty()) else { return false };
    if matches!(after, Some(b'(' | b'[' | b'<')) {
        return true;
    }
    let is_path =
        words!("self. this. os. process. config. request. settings. env. var. secrets. args. params.")
            .iter()
            .any(|start| identifier.starts_with(start));
    name == value.len() && (is_path || classify(identifier).is_some_and(|kind| kind != Kind::Random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_texts_differ_from_names() {
        for text in ["Zk39fJq0aLx81mNb", "9f86d081884c7d659a2feaa0c55ad015", "abCD12efGH34ijKL56"] {
            assert!(is_random(text), "{text}");
        }
        for text in [
            "user-profile-settings",
            "photos/2024/img_0001.jpg",
            "colour",
            "2024-01-15T10:00:00Z",
            "fn_add_a_to_b_and_c",
        ] {
            assert!(!is_random(text), "{text}");
        }
    }
}
