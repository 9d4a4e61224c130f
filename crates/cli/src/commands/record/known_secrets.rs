//! The secrets on the command line, which the recorder takes out of messages.

use std::collections::BTreeMap;

use reqwest::Url;

/// What the name of a header or of a value in a URL holds if its value is a secret.
const PARTS: [&str; 9] =
    ["authorization", "cookie", "key", "token", "secret", "passw", "passphrase", "credential", "signature"];
/// The same for whole words of a name: these stand by chance in others.
const WORDS: [&str; 10] = ["auth", "bearer", "jwt", "otp", "pass", "pin", "pwd", "session", "sig", "sid"];
/// Below this, a value without a telling name is no secret.
const LONG: usize = 8;

/// The values that are secrets, in each way in which a server may repeat them.
pub(super) fn of(url: &str, headers: &BTreeMap<String, String>) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, value) in headers.iter().filter(|(name, _)| is_secret_name(name)) {
        secrets.push(value.clone());
        if name.to_ascii_lowercase().contains("cookie") {
            let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
            secrets
                .extend(pairs.map(|(_, value)| value.trim().to_owned()).filter(|value| value.len() >= LONG));
        } else if let Some((_scheme, credentials)) = value.split_once(' ') {
            secrets.extend(credentials.split_whitespace().map(str::to_owned));
        }
    }
    if let Ok(url) = Url::parse(url) {
        let user = url.username();
        match url.password() {
            Some(password) => secrets.extend([password.to_owned(), decoded(password)]),
            // A user without a password is a token.
            None => secrets.extend([user.to_owned(), decoded(user)]),
        }
        // As it was given, and as it is meant.
        let raw = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        let raw = raw.map(|(name, value)| (decoded(name), value.to_owned()));
        let meant = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()));
        let is_secret = |(name, value): &(String, String)| is_secret_name(name) || is_unlike_a_word(value);
        secrets.extend(raw.chain(meant).filter(is_secret).map(|(_, value)| value));
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

/// The URL as it may be shown.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Only URLs that cannot have them refuse this.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    PARTS.iter().any(|part| name.contains(part)) || words.any(|word| WORDS.contains(&word))
}

/// Whether a value is long and has letters and digits, as keys have.
fn is_unlike_a_word(value: &str) -> bool {
    value.len() >= LONG
        && value.chars().any(|letter| letter.is_ascii_digit())
        && value.chars().any(char::is_alphabetic)
}

/// The text without percent-escapes.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped = behind
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        out.push(escaped.unwrap_or(*first));
        rest = behind.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, headers: &[(&str, &str)], secrets: &[&str]) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut found = of(url, &headers);
        found.sort();
        found.dedup();
        assert_eq!(found, secrets, "{url} {headers:?}");
    }

    #[test]
    fn names_say_which_values_are_secrets() {
        let url = "http://127.0.0.1:1/mcp";
        check(url, &[("MCP-Protocol-Version", "2025-06-18"), ("Accept", "application/json")], &[]);
        check(url, &[("X-Pin", "ab12"), ("X-Spinning", "ab13"), ("User-Agent", "curl/8.5.0")], &["ab12"]);
        check(url, &[("authorization", "Bearer a:b")], &["Bearer a:b", "a:b"]);
        check(url, &[("X-API-Key", "k1"), ("x-auth", "q w")], &["k1", "q w", "w"]);
        check(
            url,
            &[("Cookie", "theme=dark; sid=0123456789")],
            &["0123456789", "theme=dark; sid=0123456789"],
        );
    }

    #[test]
    fn urls_have_secrets_before_the_host_and_in_the_query() {
        check("https://ada:p%40ss@h/mcp", &[], &["p%40ss", "p@ss"]);
        check("https://ghp_x1@h/mcp", &[], &["ghp_x1"]);
        check(
            "https://h/mcp?api_key=a%20b1&version=2025-06-18&profile=dev&id=9f8e7d6c",
            &[],
            &["9f8e7d6c", "a b1", "a%20b1"],
        );
        let url = Url::parse("https://ada:p%40ss@h:81/mcp?api_key=x#y").unwrap();
        assert_eq!(shown(&url), "https://h:81/mcp");
    }
}
