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
#[cfg(not(feature = "exact-tokens"))]
fn without_the_vocabulary_exact_counts_are_refused_with_a_way_to_get_it() {
    let run = run(&["tokens", "--exact", "--text"], "hello world");
    let expected = "error: --exact needs the vocabulary, which this binary does not have: build one with `cargo build --release \
                    --features exact-tokens`, or leave --exact out for an estimate\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, expected));
}

#[test]
fn input_without_text_is_unreadable() {
    let run = run(&["tokens"], "{}");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("holds no text blocks"), "{}", run.stderr);
}
