//! Characters as the scanners see them: look-alikes of ASCII are folded, invisible ones are skipped.

/// The zero of each script with decimal digits (general category Nd, Unicode 16), in order; the others follow it.
const ZEROS: &[u32] = &[
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0,
    0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x1_04A0, 0x1_0D30, 0x1_0D40, 0x1_1066,
    0x1_10F0, 0x1_1136, 0x1_11D0, 0x1_12F0, 0x1_1450, 0x1_14D0, 0x1_1650, 0x1_16C0, 0x1_16D0, 0x1_16DA,
    0x1_1730, 0x1_18E0, 0x1_1950, 0x1_1BF0, 0x1_1C50, 0x1_1D50, 0x1_1DA0, 0x1_1F50, 0x1_6A60, 0x1_6AC0,
    0x1_6B50, 0x1_6D70, 0x1_CCF0, 0x1_D7CE, 0x1_D7D8, 0x1_D7E2, 0x1_D7EC, 0x1_D7F6, 0x1_E140, 0x1_E2F0,
    0x1_E4F0, 0x1_E5F1, 0x1_E950, 0x1_FBF0,
];

/// The ASCII character that `character` stands for in numbers and addresses, or itself. `None` if it is invisible, so that a number
/// with a zero-width space in it is still one number.
pub(crate) fn fold(character: char) -> Option<char> {
    if character.is_ascii() {
        return Some(character);
    }
    if is_invisible(character) {
        return None;
    }
    let code = u32::from(character);
    match character {
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => Some(' '),
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{FE63}' => Some('-'),
        // Full-width forms stand in the order of ASCII.
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(code - 0xFF01 + 0x21),
        _ => Some(digit(code).unwrap_or(character)),
    }
}

/// The ASCII digit of the same value.
fn digit(code: u32) -> Option<char> {
    let after = ZEROS.partition_point(|zero| *zero <= code);
    let zero = ZEROS.get(after.checked_sub(1)?)?;
    char::from_digit(code - zero, 10)
}

/// Whether nothing is seen of a character: those with the property `Default_Ignorable_Code_Point`, among them soft hyphens, zero-width
/// characters, marks of direction and selectors of variants.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFF8}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Whether a number or an address cannot begin or end beside this character. Letters count only in scripts that are written with
/// spaces between words: a number stands right beside a Chinese character.
pub(crate) fn is_word(character: char) -> bool {
    character == '_' || is_letter_or_digit(character)
}

/// A letter or digit of a script before Hebrew in Unicode: Latin, Greek, Cyrillic, Armenian.
pub(crate) fn is_letter_or_digit(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || (!character.is_ascii() && character < '\u{590}' && character.is_alphanumeric())
}

/// Signs of money, beside which a number is an amount.
pub(crate) fn is_currency(character: char) -> bool {
    matches!(character, '$' | '£' | '¥' | '\u{20A0}'..='\u{20C0}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_folded_and_invisible_characters_skipped() {
        let folded = |text: &str| text.chars().filter_map(fold).collect::<String>();
        assert_eq!(
            folded("４２\u{A0}٠٩\u{202F}۵\u{2013}Ａ＠\u{200B}\u{FEFF}\u{AD}x\u{2212}"),
            "42 09 5-A@x-"
        );
        assert_eq!(folded("é是—½²"), "é是—½²");
        assert_eq!(folded("𝟒𝟚४২๔᠔\u{1FBF9}\u{1FBFA}"), "4242449\u{1FBFA}");
        assert_eq!(folded("4\u{34F}2\u{FE0F}\u{E0100}4\u{3164}"), "424");
    }

    #[test]
    fn only_scripts_with_spaces_have_word_characters() {
        let words = |text: &str| text.chars().filter(|letter| is_word(*letter)).collect::<String>();
        assert_eq!(words("aZ0_éЖ是です한-.@"), "aZ0_éЖ");
    }
}
