//! Characters as the scanners see them: look-alikes of ASCII are folded, invisible ones are skipped.

/// The ASCII character that `character` stands for in numbers and addresses, or itself. `None` if it is invisible, so that a number
/// with a zero-width space in it is still one number.
pub(crate) fn fold(character: char) -> Option<char> {
    if character.is_ascii() {
        return Some(character);
    }
    let code = u32::from(character);
    match character {
        // Soft hyphen, zero-width characters, word joiners, and the marks of direction that copied contacts have around them.
        '\u{AD}'
        | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}'
        | '\u{FEFF}' => None,
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => Some(' '),
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{FE63}' => Some('-'),
        // Full-width forms stand in the order of ASCII.
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(code - 0xFF01 + 0x21),
        // Arabic-Indic digits, and those of Persian and Urdu.
        '\u{660}'..='\u{669}' => char::from_u32(code - 0x660 + 0x30),
        '\u{6F0}'..='\u{6F9}' => char::from_u32(code - 0x6F0 + 0x30),
        _ => Some(character),
    }
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
        assert_eq!(folded("é是—"), "é是—");
    }

    #[test]
    fn only_scripts_with_spaces_have_word_characters() {
        let words = |text: &str| text.chars().filter(|letter| is_word(*letter)).collect::<String>();
        assert_eq!(words("aZ0_éЖ是です한-.@"), "aZ0_éЖ");
    }
}
