//! Hostile and very long text.

use gateway_dialects::calls::text::Notations;
use gateway_dialects::stream::{StreamEvent, TextStream};

use super::{options, outcome, scan, whole};

/// Bytes of one call that wait before they are given up as text.
const LIMIT: usize = 256 * 1024;

/// Reads `text` in small pieces.
fn pieces(text: &str) -> Vec<StreamEvent> {
    let mut stream = TextStream::new(options(&scan(Notations::all())));
    let mut events = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) =
            rest.split_at(rest.floor_char_boundary(7.max(rest.chars().next().map_or(1, char::len_utf8))));
        events.extend(stream.push(piece));
        rest = after;
    }
    events.extend(stream.finish());
    events
}

#[test]
fn openers_without_an_end_are_text() {
    // Were text looked at again from every opener, these would not end within anybody's patience.
    for piece in [
        "<tool_call>",
        "{",
        "[",
        "[{",
        "```json\n",
        "```\n",
        "<",
        "<|",
        "<function=now>",
        "<invoke name=\"now\">",
        "<function=search><parameter=query>",
        "[TOOL_CALLS]",
        "<|python_tag|>",
        "functools[",
        "f",
        "<｜tool▁calls▁begin｜>",
        "<now>",
        "<now/>x",
        "<|tool_calls_section_begin|>",
        "[now(",
        "{\"name\":",
        "{\"name\":{",
        "[now(),",
        "<think",
        "<tool_call>now<arg_key>",
        "```tool_code\nprint(",
        "\n<|channel|>analysis",
        "~~~\n",
        "```",
    ] {
        let text = piece.repeat(LIMIT.div_ceil(piece.len()) + 3);
        let outcome = whole(&scan(Notations::all()), &text);
        assert_eq!((outcome.calls.len(), outcome.text == text), (0, true), "{piece}");
    }
}

#[test]
fn openers_without_an_end_are_text_in_pieces() {
    for piece in [
        "<tool_call>",
        "{",
        "[now(),",
        "<function=search><parameter=query>",
        "```json\n{\"name\": \"now\", \"arguments\": {}}\n```\n",
        "<now>",
    ] {
        let text = format!("{} .", piece.repeat(LIMIT.div_ceil(piece.len()) + 3));
        let outcome = outcome(pieces(&text));
        assert_eq!((outcome.calls.len(), outcome.text == text), (0, true), "{piece}");
    }
}

#[test]
fn one_call_is_bounded() {
    let call = |length: usize| {
        format!(
            "<tool_call>{{\"name\": \"search\", \"arguments\": {{\"query\": \"{}\"}}}}</tool_call>",
            "x".repeat(length)
        )
    };
    assert_eq!(whole(&scan(Notations::all()), &call(LIMIT / 2)).calls.len(), 1);
    let long = call(LIMIT);
    let read = whole(&scan(Notations::all()), &long);
    assert_eq!((read.calls.len(), read.text == long), (0, true));
    assert_eq!(outcome(pieces(&long)), read);
}

#[test]
fn all_that_waits_is_bounded() {
    let call = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
    let blank = " ".repeat(call.len());
    for more in [call, &blank] {
        let mut stream = TextStream::new(options(&scan(Notations::all())));
        let mut events = stream.push(call);
        for _ in 0..(LIMIT * 16).div_ceil(call.len()) {
            events.extend(stream.push(more));
        }
        let given = outcome(events).text.len();
        assert!(given >= LIMIT * 16 - call.len(), "what waited is given as text: {given}");
    }
}

#[test]
fn calls_begin_in_the_first_mebibyte_only() {
    let call = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
    for (before, calls) in [(1 << 20, 0), ((1 << 20) - 1, 1)] {
        let text = format!("{}{call}", ".".repeat(before));
        let read = whole(&scan(Notations::all()), &text);
        assert_eq!((read.calls.len(), read.text.len() + read.source.len()), (calls, text.len()));
        assert_eq!(outcome(pieces(&text)), read);
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = |depth: usize| {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        [
            format!(
                "<tool_call>{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"x\", \"options\": {{\"a\": {value}}}}}}}</tool_call>"
            ),
            format!("[get_weather(city='x', options={{'a': {value}}})]"),
        ]
    };
    for text in deep(80) {
        assert_eq!(whole(&scan(Notations::all()), &text).calls.len(), 1, "{text}");
    }
    for text in deep(100_000) {
        let outcome = whole(&scan(Notations::all()), &text);
        assert_eq!((outcome.calls.len(), outcome.text == text), (0, true));
    }
}
