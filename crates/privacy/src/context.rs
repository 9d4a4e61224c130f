//! Words that say what a number is: `SSN`, `phone`, `电话`.

use crate::kind::Kind;

/// What the words before a number, or the name of a JSON member, say about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    pub(crate) card: bool,
    pub(crate) ssn: bool,
    pub(crate) phone: bool,
}

impl Hints {
    pub(crate) const fn or(self, other: Self) -> Self {
        Self { card: self.card || other.card, ssn: self.ssn || other.ssn, phone: self.phone || other.phone }
    }
}

const CARD: &[&str] =
    &["amex", "card", "cards", "cc", "mastercard", "pan", "visa", "карты", "carte", "karte", "tarjeta"];

const SSN: &[&str] = &["ssn", "ssns"];

const SSN_PAIRS: &[(&str, &str)] =
    &[("social", "security"), ("seguro", "social"), ("soc", "sec"), ("social", "is"), ("social", "number")];

const PHONE: &[&str] = &[
    "cel",
    "cell",
    "cellphone",
    "cellulare",
    "celular",
    "dial",
    "fax",
    "gsm",
    "handy",
    "handynummer",
    "mob",
    "mobil",
    "mobile",
    "mobilnummer",
    "mobiltelefon",
    "movil",
    "msisdn",
    "móvil",
    "phone",
    "phones",
    "phonenumber",
    "rufnummer",
    "sms",
    "tel",
    "telefon",
    "telefone",
    "telefonnummer",
    "telefono",
    "telefonu",
    "telefoon",
    "telefoonnummer",
    "telephone",
    "teléfono",
    "tlf",
    "tél",
    "téléphone",
    "whatsapp",
    "моб",
    "мобильный",
    "тел",
    "телефон",
    "телефона",
    "τηλέφωνο",
];

const PHONE_PAIRS: &[(&str, &str)] = &[
    ("call", "me"),
    ("call", "us"),
    ("call", "him"),
    ("call", "her"),
    ("meine", "nummer"),
    ("mi", "número"),
    ("mio", "numero"),
    ("mon", "numéro"),
    ("my", "number"),
    ("reach", "me"),
    ("ring", "me"),
    ("text", "me"),
];

/// Words of scripts without spaces, or with prefixes, found wherever they stand.
const PHONE_PARTS: &[&str] = &[
    "电话",
    "電話",
    "手机",
    "手機",
    "携帯",
    "전화",
    "휴대폰",
    "هاتف",
    "جوال",
    "موبايل",
    "טלפון",
    "फ़ोन",
    "फोन",
    "मोबाइल",
];

/// After a word for a telephone these say that the number is something else: `phone_id`, `phone_verified_at`.
const OTHER_NUMBER: &[&str] = &[
    "amount",
    "cost",
    "costs",
    "count",
    "created",
    "hash",
    "id",
    "ids",
    "imei",
    "invoice",
    "kostet",
    "model",
    "order",
    "price",
    "seconds",
    "serial",
    "size",
    "timestamp",
    "uid",
    "updated",
    "uuid",
    "verified",
    "version",
];

/// A run of this many digits ends the reach of a word: it was about that number.
const LONG_RUN: usize = 6;

/// Reads the words of `text`, which ends where a number begins. Nothing before a mask or another long number counts, and of earlier
/// lines only the last, if the number begins its own.
pub(crate) fn read(text: &str) -> Hints {
    let text = reach(text);
    let lower = text.to_lowercase();
    let words = words(text);
    let pair = |pairs: &[(&str, &str)]| {
        words.windows(2).rposition(|pair| matches!(pair, [a, b] if pairs.contains(&(a.as_str(), b.as_str()))))
    };
    let last = |list: &[&str]| words.iter().rposition(|word| list.contains(&word.as_str()));
    let phone = last(PHONE).max(pair(PHONE_PAIRS).map(|index| index + 1));
    let denied = last(OTHER_NUMBER);
    Hints {
        card: last(CARD).is_some(),
        ssn: last(SSN).is_some()
            || pair(SSN_PAIRS).is_some()
            || lower.contains("ss#")
            || lower.contains("ss #"),
        phone: PHONE_PARTS.iter().any(|part| lower.contains(part)) || (phone.is_some() && phone > denied),
    }
}

/// The end of `text` that is near enough to the number.
fn reach(text: &str) -> &str {
    let mut start = 0;
    for mask in Kind::ALL.map(Kind::mask) {
        start = start.max(text.rfind(mask).map_or(0, |found| found + mask.len()));
        // The text may begin inside of a mask.
        if mask.get(1..).is_some_and(|rest| text.starts_with(rest)) {
            start = start.max(mask.len() - 1);
        }
    }
    let own_line = text.trim_end_matches([' ', '\t', '"', '\'']);
    let own_line = own_line.strip_suffix('\n').unwrap_or(text);
    start = start.max(own_line.rfind('\n').map_or(0, |found| found + 1));
    let mut digits = 0;
    for (index, character) in text.char_indices() {
        if character.is_numeric() {
            digits += 1;
        } else {
            if digits >= LONG_RUN {
                start = start.max(index);
            }
            digits = 0;
        }
    }
    text.get(start..).unwrap_or_default()
}

/// The words of a text in lower case; `phoneNumber` and `phone_number` are two.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower_before = false;
    for character in text.chars() {
        if !character.is_alphabetic() || (character.is_uppercase() && lower_before) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if character.is_alphabetic() {
            word.extend(character.to_lowercase());
        }
        lower_before = character.is_lowercase();
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let hints = read(text);
        let found = [(hints.card, "card"), (hints.ssn, "ssn"), (hints.phone, "phone")];
        let found: Vec<&str> = found.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        assert_eq!(found.join(" "), expected, "{text:?}");
    }

    #[test]
    fn words_say_what_a_number_is() {
        check("my SSN is ", "ssn");
        check("customerSsn=", "ssn");
        check("Social-Security number: ", "ssn");
        check("SS# ", "ssn");
        check("{\"phoneNumber\":\"", "phone");
        check("contact_phone: ", "phone");
        check("手机号", "phone");
        check("Visa card or phone ", "card phone");
        check("telephony microphone classnames ", "");
    }

    #[test]
    fn words_about_something_else_do_not_count() {
        check("phone_id: ", "");
        check("phone_verified_at: ", "");
        check("order id, phone: ", "phone");
        check("phone 4155552671 and order ", "");
        check("phone [email] ", "");
        check("[phone] ", "");
        check("[ssn]: ", "");
        check("phone]: ", "");
    }

    #[test]
    fn the_line_before_counts_for_what_begins_a_line() {
        check("phone\n", "phone");
        check("phone\n  ", "phone");
        check("phone\norder ", "");
        check("phone\n\n", "");
    }
}
