//! International Bank Account Numbers (ISO 13616).

use crate::view::View;

/// What a country's account numbers are made of after the check digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Account {
    Digits,
    Mixed,
}
use Account::{Digits, Mixed};

/// Countries, the lengths of their numbers, and what those are made of, in the order of their codes.
const COUNTRIES: &[(&str, usize, Account)] = &[
    ("AD", 24, Mixed),
    ("AE", 23, Digits),
    ("AL", 28, Mixed),
    ("AT", 20, Digits),
    ("AZ", 28, Mixed),
    ("BA", 20, Digits),
    ("BE", 16, Digits),
    ("BG", 22, Mixed),
    ("BH", 22, Mixed),
    ("BI", 27, Digits),
    ("BR", 29, Mixed),
    ("BY", 28, Mixed),
    ("CH", 21, Mixed),
    ("CR", 22, Digits),
    ("CY", 28, Mixed),
    ("CZ", 24, Digits),
    ("DE", 22, Digits),
    ("DJ", 27, Digits),
    ("DK", 18, Digits),
    ("DO", 28, Mixed),
    ("EE", 20, Digits),
    ("EG", 29, Digits),
    ("ES", 24, Digits),
    ("FI", 18, Digits),
    ("FK", 18, Mixed),
    ("FO", 18, Digits),
    ("FR", 27, Mixed),
    ("GB", 22, Mixed),
    ("GE", 22, Mixed),
    ("GI", 23, Mixed),
    ("GL", 18, Digits),
    ("GR", 27, Mixed),
    ("GT", 28, Mixed),
    ("HN", 28, Mixed),
    ("HR", 21, Digits),
    ("HU", 28, Digits),
    ("IE", 22, Mixed),
    ("IL", 23, Digits),
    ("IQ", 23, Mixed),
    ("IS", 26, Digits),
    ("IT", 27, Mixed),
    ("JO", 30, Mixed),
    ("KW", 30, Mixed),
    ("KZ", 20, Mixed),
    ("LB", 28, Mixed),
    ("LC", 32, Mixed),
    ("LI", 21, Mixed),
    ("LT", 20, Digits),
    ("LU", 20, Mixed),
    ("LV", 21, Mixed),
    ("LY", 25, Digits),
    ("MC", 27, Mixed),
    ("MD", 24, Mixed),
    ("ME", 22, Digits),
    ("MK", 19, Mixed),
    ("MN", 20, Digits),
    ("MR", 27, Digits),
    ("MT", 31, Mixed),
    ("MU", 30, Mixed),
    ("NI", 28, Mixed),
    ("NL", 18, Mixed),
    ("NO", 15, Digits),
    ("OM", 23, Mixed),
    ("PK", 24, Mixed),
    ("PL", 28, Digits),
    ("PS", 29, Mixed),
    ("PT", 25, Digits),
    ("QA", 29, Mixed),
    ("RO", 24, Mixed),
    ("RS", 22, Digits),
    ("RU", 33, Mixed),
    ("SA", 24, Mixed),
    ("SC", 31, Mixed),
    ("SD", 18, Digits),
    ("SE", 24, Digits),
    ("SI", 19, Digits),
    ("SK", 24, Digits),
    ("SM", 27, Mixed),
    ("SO", 23, Digits),
    ("ST", 25, Digits),
    ("SV", 28, Mixed),
    ("TL", 23, Digits),
    ("TN", 24, Digits),
    ("TR", 26, Mixed),
    ("UA", 29, Mixed),
    ("VA", 22, Digits),
    ("VG", 24, Mixed),
    ("XK", 20, Digits),
    ("YE", 30, Mixed),
];

/// Every number has more digits than this after the country; words do not.
const MIN_DIGITS: usize = 8;

/// The end of the IBAN that begins at `start`.
pub(crate) fn end(view: &View<'_>, start: usize) -> Option<usize> {
    let first = view.next(start).filter(|glyph| glyph.folded.is_ascii_alphabetic())?;
    if view.joined_before(start) {
        return None;
    }
    let second = view.next(first.end).filter(|glyph| glyph.folded.is_ascii_alphabetic())?;
    let country = [first.folded, second.folded].map(|letter| letter.to_ascii_uppercase());
    let country: String = country.into_iter().collect();
    let (length, account) = COUNTRIES
        .binary_search_by_key(&country.as_str(), |(code, ..)| code)
        .ok()
        .and_then(|index| COUNTRIES.get(index))
        .map(|(_, length, account)| (*length, *account))?;
    // Codes of other things mix cases; numbers that people type do not.
    let upper = first.folded.is_ascii_uppercase();
    let mut characters = vec![first.folded, second.folded];
    let mut separator = None;
    let mut end = second.end;
    while characters.len() < length {
        let mut glyph = view.next(end)?;
        if matches!(glyph.folded, ' ' | '-') && characters.len() > 3 {
            if *separator.get_or_insert(glyph.folded) != glyph.folded {
                return None;
            }
            glyph = view.next(glyph.end)?;
        }
        let fits = match glyph.folded {
            '0'..='9' => true,
            'A'..='Z' => upper && account == Mixed && characters.len() > 3,
            'a'..='z' => !upper && account == Mixed && characters.len() > 3,
            _ => false,
        };
        if !fits {
            return None;
        }
        characters.push(glyph.folded);
        end = glyph.end;
    }
    let digits = characters.iter().filter(|character| character.is_ascii_digit()).count();
    (upper == second.folded.is_ascii_uppercase()
        && digits >= MIN_DIGITS
        && remainder(&characters) == 1
        && !view.joined_after(end))
    .then_some(end)
}

/// The remainder modulo 97 with the first four characters at the end, letters as numbers from 10 on (ISO 7064).
fn remainder(characters: &[char]) -> u32 {
    let (head, tail) = characters.split_at(characters.len().min(4));
    tail.iter().chain(head).filter_map(|character| character.to_digit(36)).fold(0, |sum, value| {
        let shifted = if value < 10 { sum * 10 } else { sum * 100 };
        (shifted + value) % 97
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<&str> {
        let view = View::new(text, 0, 0, true);
        text.get(..end(&view, 0)?)
    }

    #[test]
    fn countries_are_in_order() {
        assert!(COUNTRIES.is_sorted_by(|(a, ..), (b, ..)| a < b));
    }

    /// The examples of the registry, and of the standard of the European banks before it.
    #[test]
    fn published_examples_are_found() {
        for text in [
            "AD1200012030200359100100",
            "AE070331234567890123456",
            "AL47212110090000000235698741",
            "AT611904300234573201",
            "AZ21NABZ00000000137010001944",
            "BA391290079401028494",
            "BE68539007547034",
            "BG80BNBG96611020345678",
            "BH67BMAG00001299123456",
            "BR1800360305000010009795493C1",
            "CH9300762011623852957",
            "CY17002001280000001200527600",
            "CZ6508000000192000145399",
            "DE89370400440532013000",
            "DK5000400440116243",
            "DO28BAGR00000001212453611324",
            "EE382200221020145685",
            "ES9121000418450200051332",
            "FI2112345600000785",
            "FO6264600001631634",
            "FR1420041010050500013M02606",
            "GB29NWBK60161331926819",
            "GE29NB0000000101904917",
            "GI75NWBK000000007099453",
            "GL8964710001000206",
            "GR1601101250000000012300695",
            "GT82TRAJ01020000001210029690",
            "HR1210010051863000160",
            "HU42117730161111101800000000",
            "IE29AIBK93115212345678",
            "IL620108000000099999999",
            "IS140159260076545510730339",
            "IT60X0542811101000000123456",
            "JO94CBJO0010000000000131000302",
            "KW81CBKU0000000000001234560101",
            "KZ86125KZT5004100100",
            "LB62099900000001001901229114",
            "LI21088100002324013AA",
            "LT121000011101001000",
            "LU280019400644750000",
            "LV80BANK0000435195001",
            "MC5811222000010123456789030",
            "MD24AG000225100013104168",
            "ME25505000012345678951",
            "MK07250120000058984",
            "MR1300020001010000123456753",
            "MT84MALT011000012345MTLCAST001S",
            "MU17BOMM0101101030300200000MUR",
            "NL91ABNA0417164300",
            "NO9386011117947",
            "PK36SCBL0000001123456702",
            "PL61109010140000071219812874",
            "PS92PALS000000000400123456702",
            "PT50000201231234567890154",
            "QA58DOHB00001234567890ABCDEFG",
            "RO49AAAA1B31007593840000",
            "RS35260005601001611379",
            "SA0380000000608010167519",
            "SE4550000000058398257466",
            "SI56263300012039086",
            "SK3112000000198742637541",
            "SM86U0322509800000000270100",
            "TN5910006035183598478831",
            "TR330006100519786457841326",
            "UA213223130000026007233566001",
            "VG96VPVG0000012345678901",
            "XK051212012345678906",
        ] {
            assert_eq!(found(text), Some(text));
            let grouped: Vec<String> =
                text.as_bytes().chunks(4).map(|group| String::from_utf8(group.to_vec()).unwrap()).collect();
            let grouped = grouped.join(" ");
            assert_eq!(found(&grouped), Some(grouped.as_str()));
            let lower = text.to_lowercase();
            assert_eq!(found(&lower), Some(lower.as_str()));
        }
    }

    #[test]
    fn other_codes_are_not_found() {
        for text in [
            "DE89370400440532013001",
            "DE8937040044053201300",
            "DE893704004405320130001",
            "De89370400440532013000",
            "ZZ89370400440532013000",
            "DE89 3704-0044 0532 0130 00",
            "DE8937040044053201300a",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
