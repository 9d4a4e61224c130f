//! Which searches a text needs, by the words in it: most texts need none, and most others only some.

use crate::word_list::{word_bytes, words};

/// Which searches a text needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint(u8);

impl Hint {
    /// Names of secrets: settings, sentences, markup, code, tables and command lines.
    pub(super) const NAMES: Self = Self(1);
    /// Programs and protocols that take secrets without a name.
    pub(super) const COMMANDS: Self = Self(2);
    /// Prefixes of tokens.
    pub(super) const TOKENS: Self = Self(4);
    /// URLs, which may hold a password.
    pub(super) const ADDRESSES: Self = Self(8);
    /// Secrets recognised by their shape alone.
    pub(super) const SHAPES: Self = Self(16);
    /// JSON members that describe other members; not searched for in plain text.
    pub(super) const MEMBERS: Self = Self(32);
    pub(super) const ALL: Self = Self(63);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// Words of which every text with such a secret contains at least one, possibly as part of a longer word.
pub(super) const HINTS: &[(Hint, &[&str])] = &[
    (
        Hint::NAMES,
        words!(
            "pass pwd secret token key auth bearer jwt cookie sess cred sig pin otp mfa cvv cvc mnemonic \
             code hmac webhook psk phrase sid kennwort contrase senha wachtwoord пароль 密码 密碼 パスワード 비밀번호 \
             xsrf csrf seed _pw pw= pw: pw% %22pw login ssw ароль clave clé chave chiave ifre jelsz haslo \
             hasło senord sas= schl parola heslo salasana securestring masterauth"
        ),
    ),
    (Hint::NAMES, &["\"pw", " pw", "cle "]),
    (
        Hint::COMMANDS,
        words!(
            "-u --user redis curl smbclient ldap mysql mariadb 7z zip sqlplus sudo community openssl /user: \
             :5432: :*:"
        ),
    ),
    (Hint::COMMANDS, &["rar "]),
    // Slashes may be escaped in JSON.
    (Hint::ADDRESSES, &["://", ":\\/\\/", "%3a//"]),
    // Escapes can hide any letter. In a query, Cyrillic, full-width and some other letters are percent-encoded.
    (
        Hint::ALL,
        &["\\u", "%d0%", "%ef%bc%", "%ef%bd%", "%e5%af%86", "%e3%83%91", "%eb%b9%84", "%c3%a9", "%c5%82"],
    ),
    (
        Hint::SHAPES,
        words!(
            "private-lines hooks. webhook 1//0 :aa -us ls0tls1crud $2 $6$ $5$ $1$ $apr1 $argon2 $y$ \
             jdbc:oracle wifi:"
        ),
    ),
    (Hint::SHAPES, &["private key", "1\\/\\/0", "identified by"]),
    (Hint::MEMBERS, &["dsn", "conn", "kty", "sensitive"]),
];

/// The searches whose words a query may hold percent-encoded.
const IN_QUERIES: Hint = Hint::ADDRESSES.and(Hint::SHAPES);

/// A word in all forms that a text may contain.
pub(super) fn forms(hint: Hint, word: &str) -> impl Iterator<Item = String> {
    // A space in a query is `%20` or `+`.
    let spaces: &[&str] = if IN_QUERIES.contains(hint) { &["%20", "+"] } else { &[] };
    let encoded = spaces.iter().map(move |space| {
        let encode = |letter: char| match letter {
            ' ' => (*space).to_owned(),
            ':' | '/' | '$' | '\\' => format!("%{:02x}", u32::from(letter)),
            _ => letter.to_string(),
        };
        word.chars().map(encode).collect()
    });
    std::iter::once(word.to_owned()).chain(encoded)
}

/// The hints of a text's letters and long words.
pub(super) fn of_letters(text: &str) -> Hint {
    // Characters that are normalised before the search can hide any word from this check.
    if (!text.is_ascii() && has_look_alikes(text)) || text.contains('\u{1b}') {
        return Hint::ALL;
    }
    if has_shape(text) { Hint::SHAPES } else { Hint::default() }
}

/// Whether there are letters that look like others: full-width ones, recognised by their first two bytes, and Cyrillic ones
/// next to Latin ones.
fn has_look_alikes(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| match pair {
        [0xef, 0xbc | 0xbd] => true,
        [before, 0xd0 | 0xd1] => before.is_ascii_alphabetic(),
        _ => false,
    })
}

/// Tokens without a known prefix have at least this many characters.
const LONG_RUN: usize = 32;

/// The bytes of tokens. A lookup table, because every call is checked.
const IN_TOKEN: [bool; 256] = word_bytes(b"-_.~");

#[inline]
fn in_token(byte: u8) -> bool {
    IN_TOKEN.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Whether a run of characters has the shape of a token. In ordinary text it reads only every 32nd byte; identifiers,
/// hashes and base64 are long runs too, and lack what every such token has.
fn has_shape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut start = 0;
    while let Some(window) = bytes.get(start..start + LONG_RUN) {
        if let Some(end) = window.iter().rposition(|byte| !in_token(*byte)) {
            start += end + 1;
            continue;
        }
        let rest = bytes.get(start..).unwrap_or_default();
        let run = rest.get(..rest.iter().take_while(|byte| in_token(**byte)).count()).unwrap_or_default();
        if is_shape(run) {
            return true;
        }
        start += run.len();
    }
    false
}

/// Whether a run can be one of the shapes without a characteristic word.
fn is_shape(run: &[u8]) -> bool {
    // Client secrets of Azure AD.
    if run.windows(2).any(|pair| pair == b"Q~") {
        return true;
    }
    // `SK` and a hash.
    let is_hash = |bytes: &[u8]| bytes.len() == 32 && bytes.iter().all(u8::is_ascii_hexdigit);
    if run.windows(34).any(|window| window.starts_with(b"SK") && window.get(2..).is_some_and(is_hash)) {
        return true;
    }
    // Tokens of three parts, of which the middle one has six characters; of two parts after `pat`; and Terraform's.
    let mut before: &[u8] = &[];
    let mut pieces = run.split(|byte| *byte == b'.').peekable();
    while let Some(piece) = pieces.next() {
        let after = pieces.peek().copied().unwrap_or_default();
        if (piece.len() == 6 && before.len() >= 23 && after.len() >= 27)
            || (piece.len() >= 17 && after.len() >= 32 && piece.windows(3).any(|start| start == b"pat"))
            || piece == b"atlasv1"
        {
            return true;
        }
        before = piece;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_long_words_have_no_shape() {
        for text in [
            "9f86d081-884c-7d65-9a2f-eaa0c55ad015",
            "9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015",
            "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODkr",
            "com.example.service.configuration.loader.internal",
            "x86_64-unknown-linux-gnu-1.95.0-nightly-2026-11-03",
            "a short text",
        ] {
            assert_eq!(of_letters(text), Hint::default(), "{text}");
        }
    }

    #[test]
    fn tokens_without_a_word_of_their_own_have_a_shape() {
        for text in [
            "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
            "see SK0123456789abcdef0123456789abcdef.",
            "patAbCdEfGhIjKlMn.0123456789abcdef0123456789abcdef0123",
            "aBcDeFgHiJkLmN.atlasv1.0123456789012345678901234567890123456789",
            "Abc8Q~0123456789012345678901234567890",
        ] {
            assert_eq!(of_letters(text), Hint::SHAPES, "{text}");
        }
        assert_eq!(of_letters("\u{ff50}assword"), Hint::ALL);
        assert_eq!(of_letters("p\u{430}ssword"), Hint::ALL);
    }
}
