//! Which names denote secrets, by the words in them: `dbPassword`, `AWS_SECRET_ACCESS_KEY`, `api key`.

use super::dictionary::{
    ABOUT, CODE_OWNERS, CODES, FUSED, HARMLESS_TOKENS, KEY_OWNERS, NEUTRAL, PASS_OWNERS, PASSWORDS,
    PLAIN_KEYS, RANDOM, SECRETS, TOKEN_OWNERS, TOKENS,
};

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A password: any value.
    Password,
    /// A secret or a key of a service: any value.
    Secret,
    /// A token, a cookie or a header: text.
    Token,
    /// A PIN or a one-time code: digits.
    Code,
    /// Something that is a secret only if its value looks random: `key`, `signature`, `session`.
    Random,
    /// A URL or DSN that may hold a password.
    Address,
}

/// Longer names are classified by their last bytes.
pub(super) const LONGEST_NAME: usize = 128;

/// What a name says about its value, if anything. A name with spaces is from a sentence.
pub(super) fn classify(name: &str) -> Option<Kind> {
    let from = name.ceil_char_boundary(name.len().saturating_sub(LONGEST_NAME));
    let name = name.get(from..).unwrap_or_default();
    let words = words(name);
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let neutral = |word: &&&str| NEUTRAL.contains(*word) || word.bytes().all(|byte| byte.is_ascii_digit());
    let kept = words.len() - words.iter().rev().take_while(neutral).count();
    let core = words.get(..kept).filter(|core| !core.is_empty()).unwrap_or(&words);
    if let Some(kind) = at_end(core).or_else(|| at_end(&words)) {
        return Some(kind);
    }
    // In an identifier more words may follow the noun: `GITHUB_TOKEN_RO`. In a sentence they mean something else.
    if name.contains(' ') {
        return None;
    }
    (1..core.len()).rev().find_map(|end| {
        let kind = at_end(core.get(..end)?)?;
        let strong = matches!(kind, Kind::Password | Kind::Secret | Kind::Token);
        let about = core.get(end..)?.iter().any(|word| ABOUT.contains(word));
        // Before other words these usually mean something else: `pass_rate`, `auth_provider`, `cookie_banner`.
        let short = matches!(
            core.get(end - 1).copied(),
            Some("pass" | "auth" | "cookie" | "cookies" | "pw" | "cred")
        );
        (strong && !about && !short).then_some(kind)
    })
}

/// What the last words mean.
fn at_end(words: &[&str]) -> Option<Kind> {
    let (last, before) = words.split_last()?;
    let owner = before.last().copied().unwrap_or_default();
    if before.iter().any(|word| matches!(*word, "public" | "pub" | "no" | "without")) {
        return None;
    }
    match *last {
        "key" | "keys" | "schlussel" if KEY_OWNERS.contains(&owner) => return Some(Kind::Secret),
        "keys" => return None,
        "key" if PLAIN_KEYS.contains(&owner) => return None,
        "token" if HARMLESS_TOKENS.contains(&owner) => return None,
        "tokens" if TOKEN_OWNERS.contains(&owner) => return Some(Kind::Token),
        "code" | "codes" if CODE_OWNERS.contains(&owner) => return Some(Kind::Code),
        "phrase" if matches!(owner, "seed" | "recovery" | "backup" | "secret" | "pass") => {
            return Some(Kind::Password);
        }
        "words" | "seed" if matches!(owner, "seed" | "recovery" | "wallet") => return Some(Kind::Password),
        // `mot de passe`
        "passe" if owner == "de" => return Some(Kind::Password),
        // `clé API`, `clave de API`
        "api" if before.iter().any(|word| matches!(*word, "cle" | "clave" | "chave" | "chiave")) => {
            return Some(Kind::Secret);
        }
        "word" if owner == "pass" => return Some(Kind::Password),
        "id" if matches!(owner, "session" | "sess") => return Some(Kind::Token),
        "id" if owner == "key" && before.iter().rev().nth(1) == Some(&"access") => return Some(Kind::Secret),
        "dsn" => return Some(Kind::Address),
        "string" | "str" | "url" | "uri"
            if matches!(
                owner,
                "connection" | "conn" | "database" | "db" | "mongo" | "mongodb" | "redis" | "broker"
            ) =>
        {
            return Some(Kind::Address);
        }
        "sas" if before.is_empty() => return Some(Kind::Token),
        _ => {}
    }
    let lists = [
        (PASSWORDS, Kind::Password),
        (SECRETS, Kind::Secret),
        (TOKENS, Kind::Token),
        (CODES, Kind::Code),
        (RANDOM, Kind::Random),
    ];
    if let Some((_, kind)) = lists.into_iter().find(|(list, _)| list.contains(last)) {
        return Some(kind);
    }
    let fused = FUSED.iter().find(|(end, _)| last.len() > end.len() && last.ends_with(end));
    if let Some((_, kind)) = fused {
        return Some(*kind);
    }
    last.strip_suffix("pass").filter(|owner| PASS_OWNERS.contains(owner)).map(|_| Kind::Password)
}

/// The words of a name in lower case, separated by spaces: split at case changes, digits, punctuation and percent-escapes.
fn words(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut previous = ' ';
    let is_mixed = name.chars().any(|letter| letter.is_ascii_alphabetic())
        && name.chars().any(|letter| matches!(letter, 'а'..='я' | 'А'..='Я' | 'і'));
    let plain = |letter: char| if is_mixed { replaced(fold(letter), LOOK_ALIKES) } else { fold(letter) };
    let mut letters = name.chars().map(|letter| replaced(plain(letter), ACCENTED)).peekable();
    while let Some(letter) = letters.next() {
        if letter == '%' && letters.peek().is_some_and(char::is_ascii_hexdigit) {
            // `%5B`: a bracket in a form.
            letters.next();
            letters.next_if(char::is_ascii_hexdigit);
            out.push(' ');
            previous = ' ';
            continue;
        }
        if !letter.is_alphanumeric() {
            if !matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{feff}') {
                out.push(' ');
                previous = ' ';
            }
            continue;
        }
        let next_is_lower = letters.peek().is_some_and(|next| next.is_lowercase());
        let divides = (letter.is_uppercase() && (previous.is_lowercase() || previous.is_ascii_digit()))
            || (letter.is_uppercase() && previous.is_uppercase() && next_is_lower)
            || (letter.is_ascii_digit() && previous.is_alphabetic() && letters.peek().is_none());
        if divides {
            out.push(' ');
        }
        out.extend(letter.to_lowercase());
        previous = letter;
    }
    out
}

/// Letters and what replaces them, in the same order.
type Replacements = (&'static str, &'static str);

/// Letters with an accent, for other languages and `Pässwörd`.
const ACCENTED: Replacements =
    ("àáâãäåÀÁÂÃÄÅçèéêëÈÉÊËìíîïñòóôõöøÒÓÔÕÖØùúûüłş", "aaaaaaAAAAAAceeeeEEEEiiiinooooooOOOOOOuuuuls");
/// Cyrillic letters that look like Latin ones.
const LOOK_ALIKES: Replacements = ("аАеЕоОрРсСухКкТі", "aAeEoOpPcCyxKkTi");

fn replaced(letter: char, (from, to): Replacements) -> char {
    if letter.is_ascii() {
        return letter;
    }
    from.chars().zip(to.chars()).find(|(known, _)| *known == letter).map_or(letter, |(_, plain)| plain)
}

/// The ordinary form of a full-width character.
pub(super) fn fold(letter: char) -> char {
    match u32::from(letter) {
        code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(letter),
        0x3000 => ' ',
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{Redaction, hints::Hint, rules::Rules};

    #[test]
    fn every_word_for_a_secret_lets_a_text_be_searched() {
        let rules = Rules::parse(&Redaction::default()).unwrap();
        let lists = [PASSWORDS, SECRETS, TOKENS, CODES, RANDOM];
        for word in lists.into_iter().flatten().chain(FUSED.iter().map(|(word, _)| word)) {
            for text in [format!("{word}=x"), format!("{word}: x"), format!("{{\"{word}\":1}}")] {
                assert!(rules.hints_in(&text).contains(Hint::NAMES), "{text}");
            }
        }
    }

    #[test]
    fn words_are_divided_by_case_and_punctuation() {
        for (name, expected) in [
            ("dbPassword", "db password"),
            ("OPENAI_API_KEY", "openai api key"),
            ("APIKey", "api key"),
            ("api.key", "api key"),
            ("password2", "password 2"),
            ("ｐａｓｓｗｏｒｄ", "password"),
            ("user%5Bpassword%5D", "user password "),
        ] {
            assert_eq!(words(name), expected, "{name}");
        }
    }

    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in [
            "password",
            "PassWord",
            "db_password",
            "userPassword",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "github_token",
            "jwt",
            "bearer",
            "auth",
            "pass",
            "passcode",
            "pin",
            "otp",
            "apikey ",
            "api.key",
            "API-KEY",
            "X-Api-Key",
            "Set-Cookie",
            "clientSecret",
            "client_secret",
            "private_key",
            "credentials",
            "authorization",
            "session_id",
            "connection_string",
            "dsn",
            "signature",
            "dbpass",
            "requirepass",
            "authtoken",
            "GITHUB_TOKEN_RO",
            "password_for_bob",
            "password2",
            "api_key_prod",
            "verification code",
            "access_tokens",
            "Ocp-Apim-Subscription-Key",
            "AccountKey",
            "seed_phrase",
            "client-key-data",
            "passwordHash",
            "ｔｏｋｅｎ",
        ] {
            assert!(classify(name).is_some(), "{name}");
        }
    }

    #[test]
    fn harmless_neighbours_are_left_alone() {
        for name in [
            "max_tokens",
            "token_count",
            "tokens",
            "pass_rate",
            "author",
            "passenger",
            "pinned",
            "keyboard",
            "nextPageToken",
            "next_page_token",
            "public_key",
            "secretary",
            "session_name",
            "password_policy",
            "passwordLength",
            "secret_name",
            "token_type",
            "authenticate",
            "compass",
            "keys",
            "monkey",
            "api_key_id_count",
            "expires_in",
            "code",
            "status_code",
            "Secret Santa",
            "cookie recipe",
            "tokenizer",
            "id",
            "user",
            "key_count",
            "total_tokens",
            "ssh_public_key",
            "passed",
        ] {
            assert_eq!(classify(name), None, "{name}");
        }
    }
}
