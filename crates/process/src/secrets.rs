//! Values of a program's environment, kept out of what is reported of its output.

use std::borrow::Cow;
use std::fmt;

/// What stands in place of a secret.
const HIDDEN: &str = "***";
/// Shorter values of a server's environment are no secrets, and would be found everywhere.
const SECRET_CHARACTERS: usize = 6;

/// Values that nobody is to see, the longest first.
#[derive(Default)]
pub struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} secrets", self.0.len())
    }
}

impl Secrets {
    /// The values of an environment that are long enough to be secrets.
    pub fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        // A value of several lines may be cut between them.
        let lines = values.flat_map(str::lines).map(str::trim);
        let mut secrets: Vec<String> =
            lines.filter(|line| line.chars().count() >= SECRET_CHARACTERS).map(str::to_owned).collect();
        // One may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// Hides them in a text, also the rest of one where the text is `cut` at its beginning.
    pub fn hide(&self, mut text: String, cut: bool) -> String {
        for secret in &self.0 {
            let rest = secret.char_indices().filter_map(|(index, _)| secret.get(index..));
            if cut && let Some(rest) = rest.filter(|rest| rest.len() > 1).find(|rest| text.starts_with(rest))
            {
                text.replace_range(..rest.len(), HIDDEN);
            }
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), HIDDEN);
            }
        }
        text
    }

    /// Hides them in bytes; what is no UTF-8 is replaced if there is anything to hide.
    pub fn hide_bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.0.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.hide(String::from_utf8_lossy(text).into_owned(), false).into_bytes())
    }
}
