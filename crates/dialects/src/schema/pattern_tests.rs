//! Verdicts of others on regular expressions.

use super::PatternStyle::{NoLookaround, Python, Simple};
use super::takes;

/// Verdicts of Python 3.11's `re.compile`.
#[test]
fn python_is_told_apart() {
    for good in [
        "",
        "^[a-z]+$",
        "a{2,3}",
        "a{,3}",
        "x{",
        "[]a]",
        "[a-]",
        "[\\w.-]",
        "(?P<n>a)(?P=n)",
        "(a)\\1",
        "a+?",
        "a++",
        "(?i:a)",
        "\\/",
        "[\\]]",
        "^\\d{4}-\\d{2}$",
        "(?<=a)b",
        "(?=a)",
        "a|b",
        "\\x41",
        "\\u0041",
        "[^\\n]",
        "(?>a)",
        "a{1",
    ] {
        assert!(takes(Python, good), "{good}");
    }
    for bad in [
        "(", ")", "[", "*a", "a**", "(?<n>a)", "\\p{L}", "\\u{41}", "[\\w-.]", "[z-a]", "\\1", "(\\1)",
        "\\k<n>", "[^]", "[]", "a{3,2}", "(?<=a+)b", "\\", "+", "a|*", "(?Pa)", "\\c", "\\x4", "^*", "(?",
    ] {
        assert!(!takes(Python, bad), "{bad}");
    }
}

/// Verdicts of llguidance 1.9 and xgrammar 0.2.
#[test]
fn what_grammars_cannot_say_is_seen() {
    for good in [
        "^(?:a|b)+$",
        "^a|b$",
        "(^a)",
        "(a$)",
        "(?:^a|b$)",
        "^^a$$",
        "(?P<n>a)",
        "a*?",
        "[^\\n]",
        "[a-]",
        "[\\[\\]]",
        "\\{a\\}",
        "a}",
        "[\\x00-\\x1f]",
        "[\\u4e00-\\u9fa5]",
        "",
        "()",
        "a|",
    ] {
        assert!(takes(Simple, good), "{good}");
    }
    for bad in [
        "^(?!a)b",
        "(?<=a)b",
        "\\bword\\b",
        "\\B",
        "(a)\\1",
        "(?P<n>a)(?P=n)",
        "\\Aa\\Z",
        "a^b",
        "a(?:b|$)c",
        "(?:^|a)*b",
        "(?:a$)?",
        "(^a)?b",
        "((^a)b)*",
        "(?:^\\.){2,}",
        "(?m)^a$",
        "[[a]",
        "[a&&b]",
        "[\\b]",
        "a{,3}",
        "x{",
        "x{a}",
        "(?>a)",
        "(?#c)a",
        "\\0",
        "\\<",
        "\\ud83d",
    ] {
        assert!(takes(Python, bad), "{bad}");
        assert!(!takes(NoLookaround, bad), "{bad}");
        assert!(!takes(Simple, bad), "{bad}");
    }
    for flagged in ["(?s).", "(?i:a)", "[\n]", "[^\r]", "[]a]"] {
        assert!(takes(NoLookaround, flagged), "{flagged:?}");
        assert!(!takes(Simple, flagged), "{flagged:?}");
    }
    assert!(!takes(Python, "^(?i)a"));
}
