//! `demo`

use crate::run;

#[test]
fn the_demonstration_is_plain_text_without_a_terminal() {
    let run = run(&["demo"], "");
    assert_eq!(run.status, 0);
    assert!(!run.stdout.contains('\u{1b}'));
    for heading in [
        "== before",
        "== openai-chat:",
        "== openai-chat-strict:",
        "== anthropic:",
        "== gemini:",
        "== ollama:",
    ] {
        assert!(run.stdout.contains(heading), "{heading}");
    }
}

#[test]
fn before_and_after_are_shown() {
    insta::assert_snapshot!(run(&["demo", "--to", "anthropic,gemini,openai-chat-strict"], "").stdout);
}

#[test]
fn every_dialect_can_be_shown() {
    let run = run(&["demo", "--to", "all"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(!run.stdout.contains("left out"));
}
