//! `tokens`

use serde_json::json;

use crate::run;

#[test]
fn texts_are_estimated_without_a_vocabulary() {
    let run = run(&["tokens", "--text"], "twelve bytes");
    assert_eq!(run.json(), json!({"encoding": "estimate", "texts": 1, "tokens": 3, "budget": 5}));
}

#[test]
#[cfg(feature = "exact-tokens")]
fn text_blocks_are_counted_exactly_and_others_not() {
    let result = json!({"content": [
        {"type": "text", "text": "hello world"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "text", "text": "Hello, world!"},
    ]});
    let run = run(&["tokens", "--exact"], &result.to_string());
    assert_eq!(run.json(), json!({"encoding": "o200k_base", "texts": 2, "tokens": 6, "budget": 9}));
}

#[test]
fn input_without_text_is_unreadable() {
    let run = run(&["tokens"], "{}");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("holds no text blocks"), "{}", run.stderr);
}
