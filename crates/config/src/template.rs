//! The template of one argument of a program.

/// One argument of the program: texts and placeholders in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

/// A part of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A text.
    Text(String),
    /// The value of a parameter, by its name.
    Placeholder(String),
}

impl Template {
    /// Reads `text {placeholder} text`; `{{` and `}}` are braces.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '{' if letters.next_if_eq(&'{').is_some() => plain.push('{'),
                '}' if letters.next_if_eq(&'}').is_some() => plain.push('}'),
                '{' => {
                    let mut name = String::new();
                    loop {
                        match letters.next() {
                            Some('}') => break,
                            Some('{') | None => {
                                return Err(format!("`{text}` has a `{{` without `}}`; `{{{{` is a brace"));
                            }
                            Some(letter) => name.push(letter),
                        }
                    }
                    if name.is_empty() {
                        return Err(format!(
                            "`{text}` has a placeholder without a name; `{{{{}}}}` are braces"
                        ));
                    }
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Placeholder(name));
                }
                '}' => return Err(format!("`{text}` has a `}}` without `{{`; `}}}}` is a brace")),
                other => plain.push(other),
            }
        }
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        if let [Piece::Text(first), Piece::Placeholder(name), ..] = pieces.as_slice()
            && first.bytes().all(|byte| byte == b'-')
        {
            return Err(format!("`{text}` lets `{name}` choose the option; write the option out"));
        }
        Ok(Self(pieces))
    }

    /// The names of the parameters in it.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Placeholder(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// Its parts in turn; at least one.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }
}
