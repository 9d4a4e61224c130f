//! Whatever a reply is made of, and wherever it is cut.

use gateway_dialects::calls::text::Notations;
use gateway_dialects::stream::{StreamEvent, TextStream};
use proptest::prelude::*;

use super::{options, outcome, scan, whole};

/// Pieces of calls in all notations, and of prose.
const PIECES: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "{\"name\": \"now\", \"arguments\": {}}",
    "{\"name\": \"search\", \"parameters\": {\"query\": \"x\"}}",
    "{\"name\": \"search\", \"arguments\": {}}",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "\"",
    "\n",
    " ",
    "```json\n",
    "```\n",
    "\n```",
    "```tool_code\n",
    "now()",
    "search(query='x')",
    "print(now())",
    "<function=now>",
    "<function=search>",
    "<parameter=query>",
    "</parameter>",
    "</function>",
    "<invoke name=\"now\">",
    "</invoke>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "[TOOL_CALLS]",
    "now[ARGS]{}",
    "[now()]",
    "<|python_tag|>",
    "now.call()",
    "<|eot_id|>",
    "<|im_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "now<｜tool▁sep｜>{}",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool_call_begin|>",
    "functions.now:0<|tool_call_argument_begin|>{}",
    "<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<tool_call>now</tool_call>",
    "<arg_key>",
    "functools",
    "[{\"name\": \"now\", \"arguments\": {}}]",
    "<|channel|>commentary to=functions.now<|message|>{}",
    "<|call|>",
    "<now>",
    "</now>",
    "<now/>",
    "<|tool_call_start|>[now()]<|tool_call_end|>",
    "{\"type\":\"tool_use\",\"name\":\"now\",\"input\":{}}",
    "prose",
    "é",
    "｜",
    "<",
    "<|",
    "f",
    "`",
];

/// The same text in pieces of these lengths, in turn.
fn pieces(text: &str, lengths: &[usize]) -> Vec<StreamEvent> {
    let mut stream = TextStream::new(options(&scan(Notations::all())));
    let mut events = Vec::new();
    let mut characters = text.chars().peekable();
    for length in lengths.iter().cycle() {
        if characters.peek().is_none() {
            break;
        }
        events.extend(stream.push(&characters.by_ref().take(*length).collect::<String>()));
    }
    events.extend(stream.finish());
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn cuts_do_not_matter_and_no_byte_is_lost(
        parts in proptest::collection::vec(proptest::sample::select(PIECES), 0..12),
        lengths in proptest::collection::vec(1_usize..6, 1..5),
    ) {
        let text = parts.concat();
        let read = whole(&scan(Notations::all()), &text);
        prop_assert_eq!(&outcome(pieces(&text, &lengths)), &read);
        prop_assert_eq!(format!("{}{}", read.text, read.source), text);
        prop_assert_eq!(read.source.is_empty(), read.calls.is_empty() && read.refused.is_empty());
    }
}
