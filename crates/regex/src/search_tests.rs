//! The counted search against the library's own verdicts.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{OutOfSteps, Program};
use crate::expression::Expression;

fn library(pattern: &str) -> Option<jsonschema::Validator> {
    jsonschema::options().offline().build(&json!({ "pattern": pattern })).ok()
}

fn finds(pattern: &str, text: &str) -> Result<bool, OutOfSteps> {
    let program = Program::new(&Expression::read(pattern).unwrap()).unwrap();
    program.finds(text, &mut 10_000_000)
}

#[track_caller]
fn check(pattern: &str, right: &[&str], wrong: &[&str]) {
    let library = library(pattern).unwrap();
    for (texts, expected) in [(right, true), (wrong, false)] {
        for text in texts {
            assert_eq!(finds(pattern, text), Ok(expected), "{pattern} {text:?}");
            assert_eq!(library.is_valid(&json!(text)), expected, "the library: {pattern} {text:?}");
        }
    }
}

#[test]
fn expressions_that_backtrack_find_what_they_say() {
    check("^(?!.*\\.\\.)[a-z.]+$", &["a", "a.b", "."], &["", "a..b", "A"]);
    check("^(?=.*[A-Z])(?=.*\\d).{8,}$", &["Passw0rdx", "A1______"], &["password1", "PASSWORD", "A1"]);
    check("(?<![a-z])foo", &["foo", "xx foo", "Afoo"], &["xfoo", "fo", ""]);
    check("(?<=a|bcd)x", &["ax", "bcdx", "zax"], &["x", "bx", "cdx"]);
    check("^(\\w+) \\1$", &["ab ab"], &["ab a", "ab abc", " "]);
    check("^(?<q>['\"]).*\\1$", &["'a'", "\"\""], &["'a\"", "'"]);
    check(
        "^(?!-)(?:[a-z0-9-]{1,63}\\.)+[a-z]{2,}(?<!-)$",
        &["a.bc", "x-y.example.org"],
        &["-a.bc", "a", "a.b"],
    );
    check("^(a+?)(?=b)(b{2,3}?)\\2$", &["abbbb"], &["abb", "abbb", "bb"]);
    check("^(?:a|ab)(?=c)c$|(?!)", &["ac", "abc"], &["abb", ""]);
    check("\\bcat\\b(?!s)", &["a cat", "cat."], &["cats", "concat", "tcat"]);
    check("^(?:(?=a)a?)*$", &["", "a", "aaa"], &["b", "ab"]);
    check("(?i:^(?=A)ab)c", &["abc", "ABc"], &["abC", "bc"]);
    check("^(?=\\p{Lu})\\p{L}+$", &["Äb", "Éa"], &["äb", "Ä1"]);
    check("^(?=.).$", &["a", "\u{1f600}", "ä"], &["", "\n", "ab"]);
    // A name is as good as a number, though the library does not know it.
    assert_eq!(finds("^(?<n>a+)-\\k<n>$", "aa-aa"), Ok(true));
    assert_eq!(finds("^(?<n>a+)-\\k<n>$", "aa-a"), Ok(false));
}

#[test]
fn a_group_that_took_no_part_is_found_anywhere() {
    for (pattern, right, wrong) in [
        ("^\\d{4}(-)?\\d{2}\\1\\d{2}$", "20240102", "202401-02"),
        ("^\\d{4}(-)?\\d{2}\\1\\d{2}$", "2024-01-02", "2024-0102"),
        ("^(?:(a)|b)\\1$", "b", "ba"),
        ("^(?:(a)|b)\\1$", "aa", "a"),
        ("^\\1(a)$", "a", "aa"),
        ("^(a\\1)+$", "aaa", "aab"),
    ] {
        assert_eq!(finds(pattern, right), Ok(true), "{pattern} {right:?}");
        assert_eq!(finds(pattern, wrong), Ok(false), "{pattern} {wrong:?}");
    }
}

#[test]
fn steps_are_taken_and_run_out() {
    let program = |pattern: &str| Program::new(&Expression::read(pattern).unwrap()).unwrap();
    let text = "a".repeat(18_000);
    for pattern in ["(?=(a*))\\1b", "(?<=a*)b", "^(a|a)*\\1b$", "(?:(?=(?:(?=.*).)*).)*b", "(?=a{1,50}){50}b"]
    {
        let mut steps = 1_000_000;
        assert_eq!(program(pattern).finds(&text, &mut steps), Err(OutOfSteps), "{pattern}");
        assert_eq!(steps, 0, "{pattern}");
    }
    let mut steps = 1_000_000;
    assert_eq!(program("^(?!b)a").finds(&text, &mut steps), Ok(true));
    assert!((999_900..1_000_000).contains(&steps), "{steps} left");
    // One that can only begin at the start is not looked for elsewhere.
    let mut steps = 1_000_000;
    assert_eq!(program("^(?!a)").finds(&text, &mut steps), Ok(false));
    assert!((999_900..1_000_000).contains(&steps), "{steps} left");
}

#[test]
fn what_is_too_long_or_not_known_is_not_written() {
    assert!(Program::new(&Expression::read("(?=(?:a{200}){200})").unwrap()).is_none());
    assert!(Program::new(&Expression::read("(?=(?:){1000000000})").unwrap()).is_none());
    for pattern in
        ["\\Ga", "a\\K", "(?R)", "(?(1)a|b)", "(?x) a", "(*FAIL)", "a**", "(a", "a)", "[a", "\\", "a{2,1}"]
    {
        assert_eq!(Expression::read(pattern), None, "{pattern}");
    }
    assert_eq!(Expression::read(&"(".repeat(100_000)), None);
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "."]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["[ab]", "[^a]", "\\w", "\\W", "\\x61", "ä", "\\s"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["^", "$", "\\b", "\\B"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["\\1", "\\2"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            1 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner.clone(), prop::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{1,}"]))
                .prop_map(|(inner, quantifier)| format!("(?:{inner}){quantifier}")),
            2 => inner.clone().prop_map(|inner| format!("({inner})")),
            1 => (prop::sample::select(vec!["?=", "?!", "?<=", "?<!"]), inner)
                .prop_map(|(kind, inner)| format!("({kind}{inner})")),
        ]
    })
}

/// Whether a group refers to one that is still open, which the library does not take for one that found nothing.
fn refers_to_open(tree: &Expression, open: &mut Vec<usize>) -> bool {
    match tree {
        Expression::Class(_) | Expression::Assert(_) => false,
        Expression::BackReference(number) => open.contains(number),
        Expression::All(parts) | Expression::Any(parts) => {
            parts.iter().any(|part| refers_to_open(part, open))
        }
        Expression::Group(inner, number) => {
            open.push(*number);
            let found = refers_to_open(inner, open);
            open.pop();
            found
        }
        Expression::Repeat { inner, .. } | Expression::Atomic(inner) | Expression::Look { inner, .. } => {
            refers_to_open(inner, open)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn verdicts_are_those_of_the_library(
        pattern in expression(),
        texts in prop::collection::vec("[abc€ \n]{0,6}", 6),
    ) {
        let backtracks = Expression::read(&pattern).is_some_and(|tree| tree.backtracks());
        let pattern = if backtracks { pattern } else { format!("{pattern}(?!é)") };
        prop_assume!(Expression::read(&pattern).is_none_or(|tree| !refers_to_open(&tree, &mut Vec::new())));
        // The library takes a group that found nothing for one that is nowhere.
        let written = pattern.replace("\\1", "(?(1)\\1|)").replace("\\2", "(?(2)\\2|)");
        let Some(library) = library(&format!("(?=){written}")) else { return Ok(()) };
        for text in texts {
            let value = Value::String(text.clone());
            prop_assert_eq!(finds(&pattern, &text), Ok(library.is_valid(&value)), "{} {:?}", pattern, text);
        }
    }
}
