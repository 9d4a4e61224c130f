//! Values in the position of a secret that are not secrets: masks, variables, states and ordinary words.

use super::REDACTED;
use crate::word_list::words;

/// Words that are never secrets: states, types, schemes, and the words of sentences.
const HARMLESS: &[&str] = words!(
    "true false yes no none null nil undefined required optional enabled disabled on off string str text \
     number integer int boolean bool bytes object array any char varchar unknown never void basic bearer \
     digest oauth oauth2 jwt saml ldap kerberos ntlm sso oidc mtls iam apikey password token secret key \
     default anonymous public include omit same-origin inherit the a an is are was were be must should \
     shall can cannot may will not and or to for of in at by with from as if it its your my our their this \
     that these please choose enter use see incorrect invalid expired missing reset changed wrong correct \
     weak strong short long empty blank field fields flag option argument parameter policy stored hashed \
     encrypted ok valid new old same only always too now here there has have had does do also then when \
     where which what how why up out set unset based case prompt auto env file hidden redacted filtered \
     masked example self function const let var return await async type oauth1 api_key all safe unique \
     sensitive available needed supported unchanged minimum maximum between session"
);

/// Whether a text is empty, a mask, a variable or a note in angle brackets: what documents show instead of a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let inner = value.trim_matches(is_quote_or_end);
    let (value, inner) = without_schemes(value, inner);
    let is_bracket = |letter: char| matches!(letter, '(' | '[' | '{' | '<');
    if inner.trim_start_matches(is_bracket).is_empty() || inner.contains(REDACTED) {
        return true;
    }
    let bytes = inner.as_bytes();
    let all = |check: fn(&u8) -> bool| bytes.iter().all(check);
    let name = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
    };
    let variable = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    all(|byte| matches!(byte, b'*' | b'#' | b'?' | b'|'))
        || (bytes.len() >= 3 && all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-' | b'_')))
        || inner.chars().all(|letter| letter == '•' || letter == '…')
        || (value.starts_with('<') && value.contains('>'))
        || ["${", "$(", "{{", "%(", "#{", "%{", "<%", "$env:", "%s", "%d"]
            .iter()
            .any(|start| inner.starts_with(start))
        || inner.strip_prefix('$').is_some_and(variable)
        || inner.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')).is_some_and(variable)
        || inner.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(name)
        || (inner.starts_with('[')
            && inner.ends_with(']')
            && name(inner.get(1..inner.len() - 1).unwrap_or_default()))
        || starts_with_your(inner)
}

/// A value with and without quotes, both without a leading scheme of an `Authorization` header.
fn without_schemes<'a>(value: &'a str, inner: &'a str) -> (&'a str, &'a str) {
    let (mut value, mut inner) = (value, inner);
    while let Some(rest) = after_scheme(inner) {
        value = rest.trim();
        inner = value.trim_matches(is_quote_or_end);
    }
    (value, inner)
}

fn is_quote_or_end(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '`' | ',' | ';' | '.' | ')')
}

/// What follows the scheme of an `Authorization` header.
fn after_scheme(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once(' ')?;
    ["bearer", "basic", "token", "digest"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
        .then_some(rest)
}

fn starts_with_your(value: &str) -> bool {
    let head = value.get(..5).unwrap_or(value);
    head.eq_ignore_ascii_case("your-")
        || head.eq_ignore_ascii_case("your_")
        || head.eq_ignore_ascii_case("your ")
}

/// Whether a word is a state, a type or a scheme.
pub(super) fn is_harmless_word(value: &str) -> bool {
    let word = value.trim_matches(|letter: char| !letter.is_alphanumeric());
    word.len() <= 12 && HARMLESS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_no_secrets() {
        for text in [
            "",
            "***",
            "<your key>",
            "${TOKEN}",
            "$TOKEN",
            "{{ token }}",
            "%TOKEN%",
            "{token}",
            "your-api-key",
            "[redacted]",
            "xxxx",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["hunter2", "$ecret1", "a", "{x!}"] {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
