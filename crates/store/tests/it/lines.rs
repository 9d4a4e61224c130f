//! Logs that servers write themselves.

use std::{fmt::Write as _, io::Write as _, path::PathBuf};

use gateway_store::jsonl::{Lines, Tail, read_from, read_tail};
use proptest::prelude::*;
use serde_json::{Value, json};

struct File {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn file(content: &[u8]) -> File {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("calls.jsonl");
    std::fs::write(&path, content).unwrap();
    File { _directory: directory, path }
}

fn tail(change: impl FnOnce(&mut Tail)) -> Tail {
    let mut tail = Tail::default();
    change(&mut tail);
    tail
}

fn values(lines: &Lines) -> Vec<Value> {
    lines.entries.iter().map(|entry| serde_json::from_slice(entry).unwrap()).collect()
}

fn numbers(lines: &Lines) -> Vec<i64> {
    values(lines).iter().map(|value| value["input"]["n"].as_i64().unwrap()).collect()
}

/// Line `n` is from `n` seconds after the start of a day.
fn many(count: i64) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let time = format!("2026-11-03T{:02}:{:02}:{:02}Z", n / 3600, n / 60 % 60, n % 60);
        let tool = if n % 2 == 0 { "add" } else { "multiply" };
        writeln!(text, r#"{{"timestamp":"{time}","tool":"{tool}","arguments":{{"n":{n}}},"result":{n}}}"#)
            .unwrap();
        text
    })
}

#[test]
fn a_file_of_ten_thousand_lines() {
    let file = file(many(10_000).as_bytes());
    let time = |text: &str| Some(text.parse().unwrap());
    for (name, tail, expected) in [
        ("the newest hundred", Tail::default(), (9900..10_000).collect::<Vec<i64>>()),
        ("limit", tail(|t| t.limit = 3), vec![9997, 9998, 9999]),
        ("since is inclusive", tail(|t| t.since = time("2026-11-03T02:46:37Z")), vec![9997, 9998, 9999]),
        (
            "since, then limit",
            tail(|t| (t.since, t.limit) = (time("2026-11-03T00:00:10Z"), 2)),
            vec![9998, 9999],
        ),
        ("since after the end", tail(|t| t.since = time("2027-01-01T00:00:00Z")), vec![]),
        ("tool", tail(|t| (t.tool, t.limit) = (Some("mul*".into()), 2)), vec![9997, 9999]),
        ("all", tail(|t| t.limit = 20_000), (0..10_000).collect()),
    ] {
        let lines = read_tail(&file.path, &tail).unwrap();
        assert_eq!(numbers(&lines), expected, "{name}");
        assert!(!lines.cut, "{name}");
    }
}

#[test]
fn arguments_become_input_and_the_rest_stays() {
    let file = file(
        concat!(
            r#"{"timestamp":"2026-11-03T10:00:00Z", "tool":"add", "arguments":{"a": 12345678901234567890123}, "x":null}"#,
            "\r\n\n",
            r#"{"tool":"b","input":1,"arguments":2,"error":"no"}"#,
            "\n"
        )
        .as_bytes(),
    );
    let lines = read_tail(&file.path, &Tail::default()).unwrap();
    assert_eq!(
        lines.entries,
        [
            r#"{"timestamp":"2026-11-03T10:00:00Z","tool":"add","input":{"a": 12345678901234567890123},"x":null}"#,
            r#"{"tool":"b","input":1,"arguments":2,"error":"no"}"#,
        ]
    );
}

#[test]
fn unreadable_lines_are_shown_as_such() {
    let long = "y".repeat(3 << 20);
    let content =
        [b"{\"tool\":\"a\"}\nnot json\n[1]\n\xff\n".as_slice(), long.as_bytes(), b"\n{\"tool\":"].concat();
    let file = file(&content);
    let expected = vec![
        json!({"tool": "a"}),
        json!({"parse_error": "not json"}),
        json!({"parse_error": "[1]"}),
        json!({"parse_error": "\u{fffd}"}),
        json!({"parse_error": format!("{}…", "y".repeat(1024))}),
        json!({"parse_error": "{\"tool\":"}),
    ];
    assert_eq!(values(&read_tail(&file.path, &Tail::default()).unwrap()), expected);
}

#[test]
fn a_missing_file_is_empty() {
    let missing = file(b"").path.with_file_name("missing");
    let lines = read_tail(&missing, &Tail::default()).unwrap();
    assert_eq!((lines.entries.len(), lines.offset, lines.cut), (0, 0, false));
    assert_eq!(read_from(&missing, 77, &Tail::default()).unwrap().offset, 0);
    assert_eq!(read_tail(&file(b"").path, &Tail::default()).unwrap().entries.len(), 0);
}

#[test]
fn only_the_end_of_a_file_is_read() {
    // A sparse file: reading all of its ten gigabytes would take minutes.
    let file = file(b"");
    let mut handle = std::fs::File::options().write(true).open(&file.path).unwrap();
    handle.set_len(10 << 30).unwrap();
    std::io::Seek::seek(&mut handle, std::io::SeekFrom::End(0)).unwrap();
    handle.write_all(format!("\n{}", many(500)).as_bytes()).unwrap();
    assert_eq!(numbers(&read_tail(&file.path, &Tail::default()).unwrap()), (400..500).collect::<Vec<_>>());
    let lines = read_tail(&file.path, &tail(|t| (t.limit, t.max_bytes) = (1000, 1 << 20))).unwrap();
    assert_eq!(numbers(&lines), (0..500).collect::<Vec<_>>());
    assert!(lines.cut);
}

#[test]
fn a_file_is_followed_line_by_line_and_over_its_replacement() {
    let file = file(many(3).as_bytes());
    let mut offset = read_tail(&file.path, &Tail::default()).unwrap().offset;
    let mut handle = std::fs::File::options().append(true).open(&file.path).unwrap();
    for (added, expected) in [
        (r#"{"input":{"n":3}}"#, vec![]),
        ("\n", vec![3]),
        ("", vec![]),
        ("{\"input\":{\"n\":4}}\n{\"arguments\":{\"n\":5}}\n{\"inp", vec![4, 5]),
        ("ut\":{\"n\":6}}\n", vec![6]),
    ] {
        handle.write_all(added.as_bytes()).unwrap();
        let lines = read_from(&file.path, offset, &Tail::default()).unwrap();
        assert_eq!(numbers(&lines), expected, "after {added:?}");
        offset = lines.offset;
    }
    std::fs::write(&file.path, "{\"input\":{\"n\":0}}\n").unwrap();
    assert_eq!(numbers(&read_from(&file.path, offset, &Tail::default()).unwrap()), [0]);
}

#[test]
fn a_followed_file_is_filtered_like_one_that_is_read() {
    let old = r#"{"timestamp":"2026-11-01T00:00:00Z","tool":"add","input":{"n":0}}"#;
    let new = r#"{"timestamp":"2026-11-03T00:00:00Z","tool":"add","input":{"n":1}}"#;
    let other = r#"{"timestamp":"2026-11-03T00:00:00Z","tool":"other","input":{"n":2}}"#;
    let timeless = r#"{"tool":"add","input":{"n":3}}"#;
    let file = file([old, timeless, new, other, timeless, ""].join("\n").as_bytes());
    let since = Some("2026-11-02T00:00:00Z".parse().unwrap());
    let chosen = |choose: &dyn Fn(&mut Tail)| numbers(&read_from(&file.path, 0, &tail(choose)).unwrap());
    assert_eq!(chosen(&|_| {}), [0, 3, 1, 2, 3]);
    assert_eq!(chosen(&|t| t.tool = Some("a*".to_owned())), [0, 3, 1, 3]);
    assert_eq!(chosen(&|t| t.since = since), [1, 2, 3], "a line without a time goes with the one before it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn reading_backwards_gives_the_same_lines(lengths in prop::collection::vec(0_usize..200_000, 0..12), limit in 1_usize..14) {
        let lines: Vec<String> = lengths.iter().enumerate().map(|(n, length)| format!(r#"{{"n":{n},"x":"{}"}}"#, "x".repeat(*length))).collect();
        let file = file(lines.join("\n").as_bytes());
        let read = read_tail(&file.path, &tail(|t| t.limit = limit)).unwrap();
        let expected = lines.get(lines.len().saturating_sub(limit)..).unwrap();
        prop_assert_eq!(read.entries, expected);
    }
}
