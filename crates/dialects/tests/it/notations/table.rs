//! Every notation: whole, cut into characters, repeated, after prose, before prose, cut short, unknown, wrong, beside a native call.

use gateway_dialects::calls::text::{Notation, Notations};
use gateway_dialects::calls::{ReadOptions, parse_reply};
use gateway_dialects::{Protocol, stream::Assembler};
use serde_json::{Value, json};

use super::{check_text, notation, options, outcome, read, scan};

/// One form of one notation.
struct Row {
    notation: &'static str,
    /// A call of `get_weather` with the city Oslo and two days.
    good: &'static str,
    /// Two calls: the good one, and `search` for `a "b"`.
    two: &'static str,
    /// A call of `fly`, which was not offered.
    unknown: &'static str,
    /// A call of `get_weather` without a city.
    wrong: &'static str,
    /// The marker at the end of the good call without which it is whole too.
    closed_at: Option<&'static str>,
}

const ROWS: &[Row] = &[
    Row {
        notation: "xml",
        good: "<get_weather><city>Oslo</city><days>2</days></get_weather>",
        two: "<get_weather><city>Oslo</city><days>2</days></get_weather>\n<search><query>a \"b\"</query></search>",
        unknown: "<fly><city>Oslo</city></fly>",
        wrong: "<get_weather><days>2</days></get_weather>",
        closed_at: None,
    },
    Row {
        notation: "json",
        good: r#"{"type":"tool_use","id":"t1","name":"get_weather","input":{"city":"Oslo","days":2}}"#,
        two: r#"{"type":"tool_use","name":"get_weather","input":{"city":"Oslo","days":2}} {"name":"search","input":{"query":"a \"b\""},"type":"tool_use"}"#,
        unknown: r#"{"type":"tool_use","name":"fly","input":{"city":"Oslo"}}"#,
        wrong: r#"{"type":"tool_use","name":"get_weather","input":{"days":2}}"#,
        closed_at: None,
    },
    Row {
        notation: "fenced-json",
        good: "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n```",
        two: "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n{\"name\": \"search\", \"parameters\": {\"query\": \"a \\\"b\\\"\"}}\n```\n",
        unknown: "```json\n{\"name\": \"fly\", \"arguments\": {\"city\": \"Oslo\"}}\n```",
        wrong: "```\n{\"name\": \"get_weather\", \"arguments\": {\"days\": 2}}\n```",
        closed_at: None,
    },
    Row {
        notation: "fenced-json",
        good: "```\n[{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 2}}]\n```",
        two: "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n```\n\n```json\n{\"name\": \"search\", \"arguments\": {\"query\": \"a \\\"b\\\"\"}}\n```",
        unknown: "```\n[{\"name\": \"fly\", \"arguments\": {}}]\n```",
        wrong: "```json\n[{\"name\": \"get_weather\", \"arguments\": {\"city\": 1}}]\n```",
        closed_at: None,
    },
    Row {
        notation: "bare-json",
        good: r#"{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}"#,
        two: "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 2}}\n{\"name\": \"search\", \"arguments\": {\"query\": \"a \\\"b\\\"\"}}",
        unknown: r#"{"name": "fly", "parameters": {"city": "Oslo"}}"#,
        wrong: r#"{"name": "get_weather", "parameters": {"days": 2}}"#,
        closed_at: None,
    },
    Row {
        notation: "bare-json",
        good: r#"[{"name": "get_weather", "arguments": "{\"city\": \"Oslo\", \"days\": 2}"}]"#,
        two: r#"[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}, {"name": "search", "arguments": {"query": "a \"b\""}}]"#,
        unknown: r#"[{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "fly", "arguments": {}}]"#,
        wrong: r#"[{"name": "get_weather", "arguments": "city=Oslo"}]"#,
        closed_at: None,
    },
    Row {
        notation: "bare-json",
        good: r#"{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}<|eot_id|>"#,
        two: r#"{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}; {"name": "search", "parameters": {"query": "a \"b\""}}"#,
        unknown: r#"{"type": "function", "name": "fly", "parameters": {}}<|eot_id|>"#,
        wrong: r#"{"name": "get_weather", "parameters": {"city": "Oslo", "days": 20}}"#,
        closed_at: Some("<|eot_id|>"),
    },
    Row {
        notation: "hermes",
        good: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n</tool_call>",
        two: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n</tool_call>\n<tool_call>\n{\"arguments\": {\"query\": \"a \\\"b\\\"\"}, \"name\": \"search\"}\n</tool_call><|im_end|>",
        unknown: "<tool_call>\n{\"name\": \"fly\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
        wrong: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Oslo\"}}\n</tool_call>",
        closed_at: None,
    },
    Row {
        notation: "qwen3-coder",
        good: "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
        two: "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>2</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=search>\n<parameter=query>a \"b\"</parameter>\n</function>\n</tool_call>",
        unknown: "<tool_call>\n<function=fly>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        wrong: "<tool_call>\n<function=get_weather>\n<parameter=days>\nmany\n</parameter>\n</function>\n</tool_call>",
        closed_at: None,
    },
    Row {
        notation: "qwen3-coder",
        good: "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
        two: "<function=get_weather><parameter=city>Oslo</parameter><parameter=days>2</parameter></function><function=search><parameter=query>a \"b\"</parameter></function>",
        unknown: "<function=fly>\n</function>",
        wrong: "<function=get_weather>\n</function>",
        closed_at: Some("\n</tool_call>"),
    },
    Row {
        notation: "mistral",
        good: "[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}]",
        two: "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}, \"id\": \"abcdefghi\"}, {\"name\": \"search\", \"arguments\": {\"query\": \"a \\\"b\\\"\"}}]</s>",
        unknown: "[TOOL_CALLS] [{\"name\": \"fly\", \"arguments\": {}}]",
        wrong: "[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": {}}]",
        closed_at: None,
    },
    Row {
        notation: "mistral-args",
        good: "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Oslo\", \"days\": 2}",
        two: "[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{\"city\": \"Oslo\", \"days\": 2}[TOOL_CALLS]search{\"query\": \"a \\\"b\\\"\"}",
        unknown: "[TOOL_CALLS]fly[ARGS]{}",
        wrong: "[TOOL_CALLS]get_weather[ARGS]{\"days\": 2}",
        closed_at: None,
    },
    Row {
        notation: "llama-python-tag",
        good: "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 2}}<|eom_id|>",
        two: "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 2}}; <|python_tag|>search.call(query='a \"b\"')",
        unknown: "<|python_tag|>fly.call(city=\"Oslo\")",
        wrong: "<|python_tag|>get_weather(days=2)",
        closed_at: Some("<|eom_id|>"),
    },
    Row {
        notation: "llama-python-tag",
        good: "<|python_tag|>get_weather.call(city=\"Oslo\", days=2)",
        two: "<|python_tag|>get_weather(city='Oslo', days=2)<|python_tag|>search(query='a \"b\"')",
        unknown: "<|python_tag|>{\"name\": \"fly\", \"parameters\": {}}",
        wrong: "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {}}",
        closed_at: None,
    },
    Row {
        notation: "pythonic",
        good: "[get_weather(city=\"Oslo\", days=2)]",
        two: "[get_weather(city='Oslo', days=2), search(query='a \"b\"')]<|eot_id|>",
        unknown: "[fly(city=\"Oslo\")]",
        wrong: "[get_weather(days=2)]",
        closed_at: None,
    },
    Row {
        notation: "pythonic",
        good: "<|python_start|>[get_weather(city=\"Oslo\", days=+2)]<|python_end|><|eom|>",
        two: "<|python_start|>get_weather(city = \"Oslo\", days = 2,)\nsearch(query=\"a \\\"b\\\"\")<|python_end|>",
        unknown: "<|python_start|>[fly()]<|python_end|>",
        wrong: "<|python_start|>[get_weather(city=None)]<|python_end|>",
        closed_at: Some("<|eom|>"),
    },
    Row {
        notation: "deepseek-v3",
        good: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Oslo\", \"days\": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        two: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Oslo\", \"days\": 2}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{\"query\": \"a \\\"b\\\"\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        unknown: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>fly\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        wrong: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": [\"Oslo\"]}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        closed_at: None,
    },
    Row {
        notation: "deepseek-v3.1",
        good: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Oslo\", \"days\": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        two: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Oslo\", \"days\": 2}<｜tool▁call▁end｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{\"query\": \"a \\\"b\\\"\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        unknown: "<｜tool▁call▁begin｜>fly<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        wrong: "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        closed_at: None,
    },
    Row {
        notation: "kimi-k2",
        good: "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\", \"days\": 2}<|tool_call_end|><|tool_calls_section_end|>",
        two: "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0 <|tool_call_argument_begin|> {\"city\": \"Oslo\", \"days\": 2}<|tool_call_end|><|tool_call_begin|>functions.search:1<|tool_call_argument_begin|>{\"query\": \"a \\\"b\\\"\"}<|tool_call_end|><|tool_calls_section_end|><|im_end|>",
        unknown: "<|tool_calls_section_begin|><|tool_call_begin|>functions.fly:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        wrong: "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        closed_at: None,
    },
    Row {
        notation: "glm-4.5",
        good: "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
        two: "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>search<arg_key>query</arg_key><arg_value>a \"b\"</arg_value></tool_call><|observation|>",
        unknown: "<tool_call>fly\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
        wrong: "<tool_call>get_weather\n</tool_call>",
        closed_at: None,
    },
    Row {
        notation: "minimax-m1",
        good: "<tool_calls>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n</tool_calls>",
        two: "<tool_calls>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}\n{\"name\": \"search\", \"arguments\": {\"query\": \"a \\\"b\\\"\"}}\n</tool_calls>",
        unknown: "<tool_calls>\n{\"name\": \"fly\", \"arguments\": {}}\n</tool_calls>",
        wrong: "<tool_calls>\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_calls>",
        closed_at: None,
    },
    Row {
        notation: "minimax-m2",
        good: "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n</minimax:tool_call>",
        two: "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n<invoke name=\"search\">\n<parameter name=\"query\">a \"b\"</parameter>\n</invoke>\n</minimax:tool_call>[e~[",
        unknown: "<minimax:tool_call>\n<invoke name=\"fly\">\n</invoke>\n</minimax:tool_call>",
        wrong: "<minimax:tool_call>\n<invoke name=\"get_weather\">\n</invoke>\n</minimax:tool_call>",
        closed_at: None,
    },
    Row {
        notation: "invoke",
        good: "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n</function_calls>",
        two: "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n<invoke name=\"search\">\n<parameter name=\"query\">a \"b\"</parameter>\n</invoke>\n</function_calls>",
        unknown: "<function_calls>\n<invoke name=\"fly\">\n</invoke>\n</function_calls>",
        wrong: "<invoke name=\"get_weather\">\n<parameter name=\"town\">Oslo</parameter>\n</invoke>",
        closed_at: None,
    },
    Row {
        notation: "lfm2",
        good: "<|tool_call_start|>[get_weather(city=\"Oslo\", days=2)]<|tool_call_end|>",
        two: "<|tool_call_start|>[get_weather(city='Oslo', days=2), search(query='a \"b\"')]<|tool_call_end|><|im_end|>",
        unknown: "<|tool_call_start|>[fly(city=\"Oslo\")]<|tool_call_end|>",
        wrong: "<|tool_call_start|>[get_weather()]<|tool_call_end|>",
        closed_at: None,
    },
    Row {
        notation: "tool-code",
        good: "```tool_code\nget_weather(city=\"Oslo\", days=2)\n```",
        two: "```tool_code\nprint(get_weather(city=\"Oslo\", days=2))\nprint(search(query='a \"b\"'))\n```<end_of_turn>",
        unknown: "```tool_code\nprint(fly(city=\"Oslo\"))\n```",
        wrong: "```tool_code\nget_weather(city=3)\n```",
        closed_at: None,
    },
    Row {
        notation: "functools",
        good: "functools[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}]",
        two: "functools[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}, {\"name\": \"search\", \"arguments\": {\"query\": \"a \\\"b\\\"\"}}]<|end|>",
        unknown: "functools[{\"name\": \"fly\", \"arguments\": {}}]",
        wrong: "functools[{\"name\": \"get_weather\", \"arguments\": {}}]",
        closed_at: None,
    },
    Row {
        notation: "harmony",
        good: "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\":\"Oslo\",\"days\":2}<|call|>",
        two: "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\":\"Oslo\",\"days\":2}<|call|><|start|>assistant to=functions.search<|channel|>commentary json<|message|>{\"query\":\"a \\\"b\\\"\"}<|call|>",
        unknown: "<|channel|>commentary to=functions.fly <|constrain|>json<|message|>{}<|call|>",
        wrong: "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>",
        closed_at: Some("<|call|>"),
    },
];

fn good(notation: &str) -> Value {
    json!([notation, "get_weather", {"city": "Oslo", "days": 2}])
}

/// Read with its notation only, and with all of them.
fn scans(row: &Row) -> [gateway_dialects::calls::TextScan; 2] {
    [scan(notation(row.notation).into()), scan(Notations::all())]
}

#[test]
fn every_notation_has_a_row() {
    let rows: Notations = ROWS.iter().map(|row| notation(row.notation)).collect();
    assert_eq!(rows, Notations::all());
}

#[test]
fn a_call_that_is_all_of_a_reply_is_taken() {
    for row in ROWS {
        for scan in scans(row) {
            for text in [row.good.to_owned(), format!("\n{}\n\n", row.good)] {
                let outcome = read(&scan, &text);
                assert_eq!(outcome.calls, [good(row.notation)], "{text}");
                assert_eq!(format!("{}{}", outcome.text, outcome.source), text);
                assert_eq!(outcome.text.trim(), "");
            }
        }
    }
}

#[test]
fn two_calls_are_two_calls() {
    for row in ROWS {
        for scan in scans(row) {
            let outcome = read(&scan, row.two);
            let search = json!([row.notation, "search", {"query": "a \"b\""}]);
            assert_eq!(outcome.calls, [good(row.notation), search], "{}", row.two);
            assert_eq!((outcome.text.as_str(), outcome.source.as_str()), ("", row.two));
        }
    }
}

#[test]
fn prose_before_a_call_is_text() {
    for row in ROWS {
        for scan in scans(row) {
            for prose in [
                "I will look at the weather.\n\n",
                "Sure! Steps:\n1. `get_weather`\n```sh\nls {}\n```\n\n",
                "Grüße, a < b && [x]\n",
            ] {
                let outcome = read(&scan, &format!("{prose}{}", row.good));
                assert_eq!(outcome.calls, [good(row.notation)], "{}", row.good);
                assert_eq!((outcome.text.as_str(), outcome.source.as_str()), (prose, row.good));
            }
        }
    }
}

#[test]
fn prose_after_a_call_makes_it_text() {
    for row in ROWS {
        for scan in scans(row) {
            for text in [row.good, row.two, row.wrong] {
                check_text(&scan, &format!("{text} is how a call looks."));
                check_text(&scan, &format!("{text}\n\nI have not called it."));
                check_text(&scan, &format!("Like this:\n{text}\n."));
            }
        }
    }
}

#[test]
fn a_call_that_is_cut_short_is_text() {
    for row in ROWS {
        let whole = row.closed_at.and_then(|marker| row.good.rfind(marker));
        for scan in scans(row) {
            let ends = row.good.char_indices().map(|(end, _)| end);
            for end in ends.filter(|end| whole.is_none_or(|whole| *end < whole || *end > whole + 1)) {
                check_text(&scan, &row.good[..end]);
            }
        }
    }
}

#[test]
fn an_unknown_tool_makes_it_text() {
    for row in ROWS {
        for scan in scans(row) {
            check_text(&scan, row.unknown);
            check_text(&scan, &format!("I call it.\n{}", row.unknown));
        }
    }
}

#[test]
fn wrong_arguments_are_refused_where_there_is_nothing_but_calls() {
    for row in ROWS {
        for scan in scans(row) {
            let outcome = read(&scan, row.wrong);
            let [(call, 0, refusal)] = outcome.refused.as_slice() else {
                unreachable!("refused: {outcome:?}")
            };
            assert_eq!((&call[0], &call[1]), (&json!(row.notation), &json!("get_weather")));
            assert!(!refusal.is_empty());
            assert_eq!(
                (outcome.calls.len(), outcome.text.as_str(), outcome.source.as_str()),
                (0, "", row.wrong)
            );
            // With prose it may be an example.
            let text = format!("I look.\n{}", row.wrong);
            check_text(&scan, &text);
            assert_eq!(read(&scan, &text).skipped, ["get_weather"]);
        }
    }
}

#[test]
fn a_reply_with_a_native_call_has_no_other() {
    let native =
        json!([{"index": 0, "id": "n1", "type": "function", "function": {"name": "now", "arguments": "{}"}}]);
    for row in ROWS {
        for scan in scans(row) {
            for text in [row.good.to_owned(), format!("I look.\n{}", row.two), row.wrong.to_owned()] {
                let message = json!({"role": "assistant", "content": text, "tool_calls": native});
                let read = ReadOptions { text: scan.clone(), ..ReadOptions::default() };
                let reply = parse_reply(&message, &read).unwrap();
                let names: Vec<&str> = reply.calls.iter().map(|call| call.name.as_str()).collect();
                assert_eq!(
                    (names, reply.text.as_str(), reply.refused.len()),
                    (vec!["now"], text.as_str(), 0)
                );
                let mut assembler = Assembler::new(Protocol::Chat, options(&scan));
                let said = json!({"choices": [{"delta": {"content": text}}]});
                let called = json!({"choices": [{"delta": {"tool_calls": native}}]});
                let mut events = assembler.push(&said);
                events.extend(assembler.push(&called));
                events.extend(assembler.finish());
                let outcome = outcome(events);
                assert_eq!((outcome.text.as_str(), outcome.calls.len()), (text.as_str(), 1));
                assert_eq!(outcome.calls[0][1], "now");
            }
        }
    }
}

#[test]
fn a_notation_that_is_not_read_is_text() {
    for row in ROWS {
        let others: Notations = Notation::all().filter(|other| other.name() != row.notation).collect();
        check_text(&scan(Notations::NONE), row.good);
        let calls = read(&scan(others), row.good).calls;
        assert!(calls.iter().all(|call| call[0] != row.notation), "{}", row.good);
    }
}
