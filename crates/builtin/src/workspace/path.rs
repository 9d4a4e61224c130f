//! Paths as callers write them: relative, with `/`, and nothing that any system could take for a way out.
//!
//! This is the first of two walls: it gives clear texts. The second is that files are opened relative to a handle of the
//! root (see `root`), which holds whatever the names are.

use super::limits::DEPTH;

/// Bytes of one name, as file systems have it.
const NAME_BYTES: usize = 255;
/// Bytes of a whole path; the longest that kernels take is 4,096 with its end.
const PATH_BYTES: usize = 4_000;

/// A path beneath the root: names without `.` and `..`. No names mean the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RelativePath {
    text: String,
}

/// What a path must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    File,
    /// A directory, or a file where the tool takes both.
    Place,
}

impl RelativePath {
    pub(super) fn parse(text: &str, wanted: Wanted) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("path {}: {why}", shown(text)));
        if text.is_empty() {
            return refuse("is empty; give a path relative to the workspace, `.` for the workspace itself");
        }
        if text.len() > PATH_BYTES {
            return refuse(&format!("is longer than {PATH_BYTES} bytes"));
        }
        if let Some(why) = forbidden(text) {
            return refuse(why);
        }
        let mut names = Vec::new();
        for name in text.split('/').filter(|name| !name.is_empty() && *name != ".") {
            if let Some(why) = forbidden_name(name) {
                return refuse(why);
            }
            names.push(name);
        }
        if names.len() > DEPTH {
            return refuse(&format!("is more than {DEPTH} directories deep"));
        }
        if wanted == Wanted::File && (names.is_empty() || text.ends_with(['/']) || text.ends_with("/.")) {
            return refuse("is a directory, not a file");
        }
        Ok(Self { text: names.join("/") })
    }

    /// The names with `/` between them; empty for the root.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').filter(|name| !name.is_empty())
    }

    /// The directory and the name in it; `None` for the root.
    pub(super) fn split(&self) -> Option<(Self, &str)> {
        match self.text.rsplit_once('/') {
            Some((directory, name)) => Some((Self { text: directory.to_owned() }, name)),
            None if self.text.is_empty() => None,
            None => Some((Self::default(), &self.text)),
        }
    }

    /// An entry of this directory, with the name that the system gave.
    pub(super) fn entry(&self, name: &str) -> Self {
        let text = if self.text.is_empty() { name.to_owned() } else { format!("{}/{name}", self.text) };
        Self { text }
    }

    pub(super) fn depth(&self) -> usize {
        self.names().count()
    }
}

/// Whether a name is one of the directories that version control keeps its own data in. What stands there can run
/// programs (hooks) and holds credentials (addresses), so it is closed.
pub(super) fn is_closed(name: &str) -> bool {
    [".git", ".hg", ".svn"].iter().any(|closed| name.eq_ignore_ascii_case(closed))
}

/// A path in a message: quoted, without control characters, not too long.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(120).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{dots}`", short.escape_debug())
}

fn forbidden(text: &str) -> Option<&'static str> {
    if text.chars().any(char::is_control) {
        return Some("has a control character");
    }
    if text.contains('\\') {
        return Some("has a backslash; write `/` between directories");
    }
    if text.starts_with('/') {
        return Some("is absolute; give it relative to the workspace");
    }
    if text.starts_with('~') {
        return Some(
            "starts with `~`, which is not the home directory here; give it relative to the workspace",
        );
    }
    if let Some((head, tail)) = text.split_once(':') {
        let is_drive = head.len() == 1 && head.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_drive || tail.starts_with('/') {
            return Some("has a drive or a scheme; give it relative to the workspace");
        }
    }
    let lower = text.to_ascii_lowercase();
    if ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|code| lower.contains(code)) {
        return Some("is percent-encoded; write the characters themselves");
    }
    // Dots and slashes that some systems fold into the plain ones.
    let folded = |letter: char| {
        matches!(
            letter,
            '\u{ff0e}'
                | '\u{2024}'
                | '\u{2025}'
                | '\u{2026}'
                | '\u{fe52}'
                | '\u{ff0f}'
                | '\u{2044}'
                | '\u{2215}'
                | '\u{29f8}'
                | '\u{ff3c}'
                | '\u{fe68}'
                | '\u{29f9}'
        )
    };
    if text.chars().any(folded) {
        return Some("has a character that looks like a dot or a slash; write the plain one");
    }
    None
}

fn forbidden_name(name: &str) -> Option<&'static str> {
    if name.trim() == ".." {
        return Some("has `..`; give it relative to the workspace, without steps upwards");
    }
    if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        return Some("has a name that begins with a space, or ends with a dot or a space");
    }
    if name.len() > NAME_BYTES {
        return Some("has a name of more than 255 bytes");
    }
    if is_closed(name) {
        return Some("is in the data of version control, which is closed here");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Wanted, expected: Result<&str, &str>) {
        let parsed = RelativePath::parse(text, wanted);
        match (&parsed, expected) {
            (Ok(path), Ok(expected)) => assert_eq!(path.as_str(), expected, "{text:?}"),
            (Err(message), Err(expected)) => assert!(message.contains(expected), "{text:?}: {message}"),
            _ => panic!("{text:?}: {parsed:?}"),
        }
    }

    #[test]
    fn plain_paths_are_taken() {
        for (text, expected) in [
            ("a.txt", "a.txt"),
            ("./a//b/./c", "a/b/c"),
            (".hidden/x", ".hidden/x"),
            ("a..b/c~", "a..b/c~"),
            ("with space/ü.txt", "with space/ü.txt"),
            ("50%/time:stamp", "50%/time:stamp"),
            (".gitignore", ".gitignore"),
        ] {
            check(text, Wanted::File, Ok(expected));
        }
        for text in [".", "./", "./."] {
            check(text, Wanted::Place, Ok(""));
            check(text, Wanted::File, Err("is a directory"));
        }
        check("a/", Wanted::Place, Ok("a"));
        check("a/", Wanted::File, Err("is a directory"));
        check("a/.", Wanted::File, Err("is a directory"));
    }

    #[test]
    fn texts_say_what_is_wrong() {
        for (text, expected) in [
            ("", "is empty"),
            ("/etc/passwd", "is absolute"),
            ("a/../b", "has `..`"),
            ("a\\b", "has a backslash"),
            ("a\0b", "has a control character"),
            ("~/x", "starts with `~`"),
            ("C:x", "has a drive"),
            ("file:///x", "has a drive or a scheme"),
            ("%2E%2e/x", "is percent-encoded"),
            (".../x", "ends with a dot"),
            (".. /x", "has `..`"),
            ("a/.GIT/config", "version control"),
            ("\u{ff0e}\u{ff0e}/x", "looks like a dot"),
        ] {
            check(text, Wanted::Place, Err(expected));
        }
        check(&"a/".repeat(65), Wanted::Place, Err("64 directories deep"));
        check(&"a".repeat(256), Wanted::Place, Err("255 bytes"));
        check(&"a/".repeat(2_001), Wanted::Place, Err("longer than 4000 bytes"));
    }

    #[test]
    fn messages_do_not_repeat_control_characters_or_long_texts() {
        assert_eq!(shown("a\nb"), "`a\\nb`");
        assert_eq!(shown(&"x".repeat(500)).chars().count(), 123);
    }
}
