//! Repeated members: what is found, what is rewritten, and that others read the same.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use gateway_protocol::{
    CallResultView, Incoming, ListKind, MessageError, RawJson, RawObject, RequestId, find_id, find_repeated,
    parse_list, parse_message, parse_strict_message, without_repeats,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

#[test]
fn a_repeated_member_is_reported_with_its_object() {
    let cases = [
        (r#"{"a":1,"b":2}"#, None),
        (r#"{"a":{"a":{"a":1}},"b":["a","a",{"a":1},{"a":1}]}"#, None),
        (r#"{"a":1,"a":2}"#, Some(("a", "", 7))),
        (r#"{"":1,"":2}"#, Some(("", "", 6))),
        (r#" [ 0 , { "x" : [ { "t" : 1 , "t" : 1 } ] } ] "#, Some(("t", "/1/x/0", 29))),
        (r#"{"arguments":{"tenant":"a","x":{},"tenant":"b"}}"#, Some(("tenant", "/arguments", 34))),
        (r#"{"description":1,"\u0064escription":2}"#, Some(("description", "", 17))),
        (r#"{"a/b":{"~":{"x":1,"x":1}}}"#, Some(("x", "/a~1b/~0", 19))),
        (r#"{"😀":1,"\ud83d\ude00":2}"#, Some(("😀", "", 10))),
        (r#"{"\ud83d":1,"\uD83D":2}"#, Some(("\u{fffd}\u{fffd}\u{fffd}", "", 12))),
        (r#"{"\ud83d":1,"\ude00":2}"#, None),
        (r#"{"a\"":1,"a":2}"#, None),
        (r#"{"\\":1,"\u005c":2}"#, Some(("\\", "", 8))),
        (r#"{"a":"\"a\":1,\"a\":2"}"#, None),
        (r#"{"a":1,"a":"#, None),
        (r#"say {"a":1,"a":2}"#, None),
        ("}}}", None),
        ("\"", None),
        ("", None),
    ];
    for (text, expected) in cases {
        let found = find_repeated(text.as_bytes());
        let found = found.as_ref().map(|found| (found.member.as_str(), found.object.as_str(), found.offset));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn the_report_says_what_to_do() {
    let text = |json: &str| find_repeated(json.as_bytes()).unwrap().to_string();
    assert_eq!(
        text(r#"{"arguments":{"tenant":1,"tenant":2}}"#),
        "the member \"tenant\" is repeated in the object at /arguments; send each member once"
    );
    assert_eq!(
        text("{\"a\u{1b}\":1,\"a\u{1b}\":1}".replace('\u{1b}', "\\u001b").as_str()),
        "the member \"a\\u{1b}\" is repeated in the outermost object; send each member once"
    );
    let deep = format!("{}{{\"x\":1,\"x\":1}}{}", "{\"level\":".repeat(1_000), "}".repeat(1_000));
    assert!(text(&deep).len() < 400);
}

#[test]
fn the_last_value_takes_the_first_position() {
    let cases = [
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
        (r#"{"a":1,"a":2,"a":3,"b":4,"a":5,"b":6}"#, r#"{"a":5,"b":6}"#),
        (
            r#"{"a":{"x":1,"x":2},"b":0,"a":{"y":{"z":1,"z":2},"y":{"z":3,"z":4}}}"#,
            r#"{"a":{"y":{"z":4}},"b":0}"#,
        ),
        (
            r#"[{"a":1,"\u0061":[{"b":1,"b":12345678901234567890.10}]}]"#,
            r#"[{"a":[{"b":12345678901234567890.10}]}]"#,
        ),
        (r#"{ "a" : 1 , "b" : 2 , "a" : "x, }" }"#, r#"{ "a" : "x, }" , "b" : 2 }"#),
    ];
    for (text, expected) in cases {
        assert_eq!(without_repeats(&raw(text)).as_str(), expected, "{text}");
    }
}

#[test]
fn an_object_holds_every_member_once() {
    let text = raw(r#"{"description":"good","name":"t","\u0064escription":"EVIL"}"#);
    let mut object = RawObject::parse(&text).unwrap();
    assert_eq!(object.get("description").unwrap().get(), "\"EVIL\"");
    object.set("description", &raw("\"SAFE\"")).unwrap();
    assert_eq!(object.to_raw().unwrap().as_str(), r#"{"description":"SAFE","name":"t"}"#);
    assert_eq!(object.remove("description").unwrap().get(), "\"SAFE\"");
    assert_eq!(object.to_raw().unwrap().as_str(), r#"{"name":"t"}"#);
}

#[test]
fn in_an_envelope_of_a_server_the_last_member_counts() {
    let parse = |text: &str| parse_message(text.to_owned().into()).unwrap();
    let Incoming::Response(response) = parse(r#"{"id":1,"result":{"a":1},"result":{"b":1,"b":2},"id":2}"#)
    else {
        panic!("not a response")
    };
    assert_eq!(response.id, RequestId::Number(2));
    assert_eq!(response.outcome.unwrap().as_str(), r#"{"b":1,"b":2}"#, "a result stays as it came");
    let Incoming::Notification(notification) =
        parse(r#"{"method":5,"method":"\u006d","params":{"b":1,"b":2}}"#)
    else {
        panic!("not a notification")
    };
    assert_eq!(notification.method, "m");
    assert_eq!(notification.params.unwrap().as_str(), r#"{"b":2}"#);
    let Incoming::Response(response) =
        parse(r#"{"id":1,"error":{"code":1,"code":2,"message":"m","data":{"x":1,"x":2}}}"#)
    else {
        panic!("not a response")
    };
    let error = response.outcome.unwrap_err();
    assert_eq!((error.code, error.data.unwrap().as_str()), (2, r#"{"x":2}"#));
    assert_eq!(find_id(br#"{"id":1,"result":{"#, br#"},"id":2}"#), Some(2));
}

#[test]
fn a_caller_sends_every_member_once() {
    let refused = |text: &str| match parse_strict_message(text.to_owned().into()) {
        Err(MessageError::Repeated { id, repeated }) => {
            (id.map(|id| id.to_string()), repeated.object, repeated.member)
        }
        other => panic!("{text}: {other:?}"),
    };
    let call = r#"{"id":"x","method":"tools/call","params":{"arguments":{"t":1,"t":2}}}"#;
    assert_eq!(refused(call), (Some("\"x\"".to_owned()), "/params/arguments".to_owned(), "t".to_owned()));
    let ids = r#"{"id":1,"method":"ping","id":2}"#;
    assert_eq!(refused(ids), (None, String::new(), "id".to_owned()));
    let whole = parse_strict_message(r#"{"id":1,"method":"ping"}"#.into());
    assert!(matches!(whole, Ok(Incoming::Request(_))), "{whole:?}");
}

#[test]
fn lists_hold_every_member_once() {
    let page = r#"{"tools":[],"tools":[{"name":"zz","name":"ok","inputSchema":{"type":1,"type":"object"}},{"name":"b"}]}"#;
    let page = parse_list(ListKind::Tools, &raw(page)).unwrap();
    let entries: Vec<&str> = page.entries.iter().map(RawJson::as_str).collect();
    assert_eq!(entries, [r#"{"name":"ok","inputSchema":{"type":"object"}}"#, r#"{"name":"b"}"#]);
}

#[test]
fn a_result_says_with_its_last_word_whether_it_failed() {
    for (text, is_error) in [
        (r#"{"isError":false,"isError":true}"#, true),
        (r#"{"isError":true,"isError":false}"#, false),
        (r#"{"isError":"?","isError":true}"#, true),
    ] {
        assert_eq!(CallResultView::of(&raw(text)).is_error, is_error, "{text}");
    }
}

/// As many members, and as deep, as a quadratic or recursive reader would not survive.
#[test]
fn large_objects_take_no_quadratic_time() {
    let members = |count: usize| {
        (0..count).fold(String::from("{"), |mut text, number| {
            let comma = if number == 0 { "" } else { "," };
            write!(text, "{comma}\"a rather long name that all of them share {number}\":{number}").unwrap();
            text
        })
    };
    let many = format!("{}}}", members(100_000));
    assert_eq!(find_repeated(many.as_bytes()), None);
    assert_eq!(RawObject::parse(&raw(&many)).unwrap().members().len(), 100_000);
    let repeated = format!("{},\"a rather long name that all of them share 7\":true}}", members(100_000));
    assert_eq!(find_repeated(repeated.as_bytes()).unwrap().offset, many.len());
    let rewritten = without_repeats(&raw(&repeated));
    assert_eq!(rewritten.as_str(), many.replacen(" 7\":7,", " 7\":true,", 1));
    let same = format!("{{\"a\":0{}}}", ",\"a\":1".repeat(100_000));
    assert_eq!(without_repeats(&raw(&same)).as_str(), "{\"a\":1}");
    assert_eq!(RawObject::parse(&raw(&same)).unwrap().to_raw().unwrap().as_str(), "{\"a\":1}");
    let nested = |inner: &str| format!("{}{inner}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    assert_eq!(find_repeated(nested("1").as_bytes()), None);
    let deep = nested("{\"x\":1,\"x\":2}");
    assert_eq!(find_repeated(deep.as_bytes()).unwrap().object.len(), 200_000);
    assert_eq!(without_repeats(&raw(&deep)).as_str(), nested("{\"x\":2}"));
    // Every level repeats its member, so that each rewriting holds all the others.
    let levels = format!("{}1{}", "{\"a\":0,\"a\":".repeat(100_000), "}".repeat(100_000));
    assert_eq!(without_repeats(&raw(&levels)).as_str(), nested("1"));
}

/// Names in several spellings; the lists hold those of one name together.
const NAMES: [&str; 18] = [
    "a",
    r"\u0061",
    "",
    "b",
    "key",
    r"k\u0065y",
    "😀",
    r"\ud83d\ude00",
    r"\uD83D\uDE00",
    "é",
    r"\u00e9",
    r#"\""#,
    r"\u0022",
    r"\\",
    r"\u005C",
    "/",
    r"\/",
    "a name longer than eight bytes",
];
/// Halves of pairs, which Rust's texts cannot hold, and Python's can.
const HALVES: [&str; 4] = [r"\ud83d", r"\uD83D", r"\ude00", r"x\ud83d\u0061"];
const SCALARS: [&str; 9] = [
    "0",
    "-1",
    "1.5e3",
    "12345678901234567890123",
    "true",
    "null",
    r#""text""#,
    r#""a\"b\\\u00e9:{""#,
    r#""{\"a\":1,\"a\":2}""#,
];

/// A document as its author might write it.
fn document(names: Vec<&'static str>) -> impl Strategy<Value = String> {
    let space = select(vec!["", "", "", " ", "\n\t ", "\r\n"]);
    let spaced = move |inner: BoxedStrategy<String>| {
        (space.clone(), inner, space.clone())
            .prop_map(|(before, inner, after)| format!("{before}{inner}{after}"))
    };
    let leaf = spaced(select(SCALARS.to_vec()).prop_map(str::to_owned).boxed());
    leaf.prop_recursive(6, 60, 8, move |value| {
        let value = value.boxed();
        let name = spaced(select(names.clone()).prop_map(|name| format!("\"{name}\"")).boxed());
        let member = (name, value.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        let object = vec(member, 0..20).prop_map(|members| format!("{{{}}}", members.join(",")));
        let list = vec(value, 0..6).prop_map(|items| format!("[{}]", items.join(",")));
        spaced(prop_oneof![3 => object, 1 => list].boxed())
    })
}

fn cases() -> u32 {
    let factor = std::env::var("PROPERTY_FACTOR").ok().and_then(|factor| factor.parse::<u32>().ok());
    256 * factor.unwrap_or(1)
}

proptest! {
    #![proptest_config(Config { cases: cases(), failure_persistence: None, ..Config::default() })]

    #[test]
    fn serde_json_reads_the_same(text in document(NAMES.to_vec())) {
        let expected: Value = serde_json::from_str(&text).unwrap();
        let given = raw(&text);
        let rewritten = without_repeats(&given);
        let read: Value = rewritten.read().unwrap();
        // As text, so that the order counts too.
        prop_assert_eq!(read.to_string(), expected.to_string());
        prop_assert_eq!(find_repeated(rewritten.as_bytes()), None);
        if find_repeated(text.as_bytes()).is_none() {
            prop_assert_eq!(rewritten.as_bytes().as_ptr(), given.as_bytes().as_ptr());
        }
        if let Value::Object(expected) = expected {
            let object = RawObject::parse(&given).unwrap();
            let members = object.members().iter();
            let read: Map<String, Value> = members
                .map(|(name, value)| (name.to_string(), serde_json::from_str(value.get()).unwrap()))
                .collect();
            prop_assert_eq!(Value::Object(read).to_string(), Value::Object(expected).to_string());
        }
    }
}

/// What Python's reader says of a document: whether a member is repeated, whether the rewritten text says the same with
/// every member once, and whether the members of the outermost object are those that our reader saw.
const JUDGE: &str = r"
import json, sys

def judge(text, rewritten, members):
    repeats = []
    def hook(pairs):
        repeats.append(len({name for name, _ in pairs}) < len(pairs))
        return dict(pairs)
    seen = json.loads(text, object_pairs_hook=hook)
    found = any(repeats)
    repeats.clear()
    again = json.loads(rewritten, object_pairs_hook=hook)
    view = members is None or [[n, json.loads(v)] for n, v in members] == [[n, v] for n, v in seen.items()]
    return [found, json.dumps(seen) == json.dumps(again) and not any(repeats), view]

json.dump([judge(*case) for case in json.load(sys.stdin)], sys.stdout)
";

#[test]
fn python_reads_the_same() {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let names: Vec<&str> = NAMES.into_iter().chain(HALVES).collect();
    let strategy = document(names);
    let texts: Vec<String> = (0..4_000).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let mut cases = Vec::new();
    let mut expected = Vec::new();
    for text in &texts {
        let given = raw(text);
        let members = RawObject::parse(&given).ok().map(|object| {
            let members = object.members().iter();
            members.map(|(name, value)| json!([name, value.get()])).collect::<Vec<_>>()
        });
        cases.push(json!([text, without_repeats(&given).as_str(), members]));
        expected.push(json!([find_repeated(text.as_bytes()).is_some(), true, true]));
    }
    let repeating = expected.iter().filter(|row| row[0] == true).count();
    assert!((400..3_600).contains(&repeating), "{repeating} of 4,000 documents repeat a member");
    let mut python = Command::new("python3")
        .args(["-c", JUDGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(json!(cases).to_string().as_bytes()).unwrap();
    let mut said = String::new();
    python.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(python.wait().unwrap().success());
    let said: Vec<Value> = serde_json::from_str(&said).unwrap();
    assert_eq!(said.len(), texts.len());
    for ((text, said), expected) in texts.iter().zip(said).zip(expected) {
        assert_eq!(said, expected, "{text}");
    }
}
