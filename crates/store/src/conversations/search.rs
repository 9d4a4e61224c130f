//! Finding text in messages whose meaning nobody here knows: in the texts of their JSON, with escapes resolved.
//!
//! Letters are folded here and not by the databases, so that all of them find the same, whatever locale they have.

/// A text that is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Needle(String);

/// Texts of one message that are searched. Pictures in base64 are long, and nobody looks for them.
const SEARCHED_BYTES: usize = 256 << 10;

impl Needle {
    /// `None` if there is nothing to search for.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let folded = fold(text);
        (!folded.is_empty()).then_some(Self(folded))
    }

    /// Whether a title has it.
    pub(crate) fn is_in_title(&self, title: &str) -> bool {
        fold(title).contains(&self.0)
    }

    /// Whether a message has it.
    pub(crate) fn is_in_message(&self, json: &str) -> bool {
        texts_of(json).contains(&self.0)
    }

    /// The pattern of SQL's `LIKE … ESCAPE '\'` for folded texts.
    pub(crate) fn like(&self) -> String {
        let escaped = self.0.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        format!("%{escaped}%")
    }
}

/// The text in lower case. It has no NUL, which not every database can keep.
pub(crate) fn fold(text: &str) -> String {
    text.to_lowercase().replace('\0', "")
}

/// Members whose texts nobody has said: they are in every message.
const NOT_SAID: [&str; 5] = ["role", "type", "id", "tool_call_id", "correlation_id"];

/// The values of all strings in a JSON text that somebody has said, folded, each on a line of its own.
pub(crate) fn texts_of(json: &str) -> String {
    let mut texts = String::new();
    let mut rest = json;
    let mut is_said = true;
    while let Some((_, after)) = rest.split_once('"')
        && texts.len() < SEARCHED_BYTES
    {
        let end = end_of_string(after);
        let (body, after) = after.split_at_checked(end).unwrap_or((after, ""));
        rest = after.get(1..).unwrap_or_default();
        if let Some(value) = rest.trim_start().strip_prefix(':') {
            is_said = !NOT_SAID.contains(&body) || !value.trim_start().starts_with('"');
            continue;
        }
        if std::mem::replace(&mut is_said, true) && !body.is_empty() {
            let room = SEARCHED_BYTES - texts.len();
            let body = body.get(..body.floor_char_boundary(room)).unwrap_or_default();
            push_unescaped(&mut texts, body);
            texts.push('\n');
        }
    }
    fold(&texts)
}

/// Where the quote is that ends a string; the end of the text if there is none.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    let quote = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    quote.unwrap_or(text.len())
}

/// Appends the body of a JSON string. Escapes that mean nothing, such as half of a surrogate pair, become U+FFFD.
fn push_unescaped(out: &mut String, body: &str) {
    let mut rest = body;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut letters = escape.chars();
        let letter = letters.next();
        rest = letters.as_str();
        match letter {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b' | 'f') => out.push(' '),
            Some('u') => rest = push_unicode(out, rest),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out.push_str(rest);
}

/// Appends the character whose digits the text begins with; returns what follows.
fn push_unicode<'a>(out: &mut String, text: &'a str) -> &'a str {
    let digits = |text: &str| text.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(first) = digits(text) else { return text };
    let rest = text.get(4..).unwrap_or_default();
    if (0xd800..0xdc00).contains(&first)
        && let Some(low) = rest.strip_prefix("\\u")
        && let Some(second @ 0xdc00..0xe000) = digits(low)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
        return low.get(4..).unwrap_or_default();
    }
    out.push(char::from_u32(first).unwrap_or('\u{fffd}'));
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(texts_of(json), expected);
    }

    #[test]
    fn texts_are_found_and_names_are_not() {
        check(r#"{"role":"User","content":[{"type" : "text","text":"A \"b\"\n"},7,null,""]}"#, "a \"b\"\n\n");
        check(
            r#"{"id": "x", "name":"id","type":["a"],"tool_call_id":7,"role":{"id":"y","z":"w"}}"#,
            "id\na\nw\n",
        );
        check(r#""Only""#, "only\n");
        check("12345678901234567890", "");
        check(r#"{"a":"\\","b":"x"}"#, "\\\nx\n");
    }

    #[test]
    fn escapes_are_resolved() {
        check(r#"["\u00C9t\u00e9 \ud83d\ude00 \/"]"#, "été 😀 /\n");
        check(r#"["\ud83dx","\udc00","\u0000n\u0000"]"#, "\u{fffd}x\n\u{fffd}\nn\n");
        check(r#"["\u12"#, "12\n");
    }

    #[test]
    fn deep_and_long_messages_are_searched_in_bounds() {
        let deep = format!("{}\"x\"{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, "x\n");
        let long = format!("[\"{}\",\"needle\"]", "é".repeat(1 << 20));
        assert!(texts_of(&long).len() <= SEARCHED_BYTES + 1);
        assert!(!Needle::new("needle").unwrap().is_in_message(&long));
    }

    #[test]
    fn a_needle_is_taken_literally() {
        assert!(Needle::new("").is_none() && Needle::new("\0").is_none());
        assert_eq!(Needle::new("50%_\\É").unwrap().like(), "%50\\%\\_\\\\é%");
        assert!(Needle::new("ÜBER").unwrap().is_in_title("Alles über X"));
    }
}
