//! Which request a message answers, read from text that is not kept.

/// Longer than any relevant key or any of our ids.
const CAPTURED: usize = 32;

/// Which request a message answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// It answers the request with this id.
    Request(u64),
    /// It is a request or a notification.
    NoRequest,
    /// It cannot be determined.
    Unknown,
}

/// Finds the id of a message in chunks of its text. The id may be before or after the result, which is skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdScanner {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Whether the next text is the value of a member of the envelope.
    in_value: bool,
    /// Whether that member is the id.
    is_id: bool,
    /// The key, or the value of the id.
    captured: Vec<u8>,
    id: Option<u64>,
    has_method: bool,
}

impl IdScanner {
    /// Takes the next chunk.
    pub fn feed(&mut self, piece: &[u8]) {
        for byte in piece {
            if self.in_string {
                self.take_letter(*byte);
            } else {
                self.take_token(*byte);
            }
        }
    }

    /// Which request the message answers, as far as it was read.
    pub fn addressee(&self) -> Addressee {
        match self.id {
            _ if self.has_method => Addressee::NoRequest,
            Some(id) => Addressee::Request(id),
            None => Addressee::Unknown,
        }
    }

    fn take_letter(&mut self, byte: u8) {
        if self.is_escaped {
            self.is_escaped = false;
            return self.capture(byte);
        }
        match byte {
            b'\\' => {
                self.is_escaped = true;
                self.capture(byte);
            }
            b'"' => self.in_string = false,
            _ => self.capture(byte),
        }
    }

    fn take_token(&mut self, byte: u8) {
        match (byte, self.depth) {
            (b'"', _) => {
                self.in_string = true;
                if self.depth == 1 {
                    self.captured.clear();
                }
            }
            (b'{' | b'[', _) => self.depth += 1,
            (b'}' | b']', depth) => {
                if depth == 1 {
                    self.end_member();
                }
                self.depth = depth.saturating_sub(1);
            }
            (b':', 1) if !self.in_value => {
                self.is_id = self.captured == b"id";
                self.has_method |= self.captured == b"method";
                self.in_value = true;
                self.captured.clear();
            }
            (b',', 1) => self.end_member(),
            (byte, 1) if self.is_id && !byte.is_ascii_whitespace() => self.capture(byte),
            _ => {}
        }
    }

    /// Only keys of the envelope itself, and only the value of the id.
    fn capture(&mut self, byte: u8) {
        if self.depth == 1 && (self.is_id || !self.in_value) && self.captured.len() < CAPTURED {
            self.captured.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.is_id {
            let text = std::str::from_utf8(&self.captured).unwrap_or_default();
            // Of two ids the last one counts, as in a complete message.
            self.id = text.strip_suffix(".0").unwrap_or(text).parse().ok().or(self.id);
        }
        (self.is_id, self.in_value) = (false, false);
        self.captured.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Addressee) {
        for size in [1, 3, text.len().max(1)] {
            let mut scanner = IdScanner::default();
            for piece in text.as_bytes().chunks(size) {
                scanner.feed(piece);
            }
            assert_eq!(scanner.addressee(), expected, "{text} in pieces of {size}");
        }
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"id":1}}"#, Addressee::Request(7));
        check(r#"{"result":{"id":1,"a":["id",2]},"jsonrpc":"2.0","id":7}"#, Addressee::Request(7));
        check(r#"{"result":{"id":1}, "id" : "7" ,"more":{"id":3}}"#, Addressee::Request(7));
        check(r#"{"id":7.0,"result":"\"id\":9}"}"#, Addressee::Request(7));
        check(r#"data: {"result":"}\\","id":7}"#, Addressee::Request(7));
    }

    #[test]
    fn a_message_that_is_not_a_response_answers_no_request() {
        check(r#"{"id":7,"params":{"x":1},"method":"m"}"#, Addressee::NoRequest);
        check(r#"{"method":"notifications/message","params":{"id":7}}"#, Addressee::NoRequest);
        for text in
            [r#"{"result":{"id":7}}"#, r#"{"id":null,"result":1}"#, r#"["id",7]"#, "", "}}}{", "\"id\":7"]
        {
            check(text, Addressee::Unknown);
        }
        check(r#"{"result":1,"id":"#, Addressee::Unknown);
    }
}
