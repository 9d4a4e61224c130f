//! Streams of every family, as a list of chunks and as text, beside the whole reply that says the same.
//!
//! The files under `tests/streams` are written after the shapes that the providers document.

use gateway_dialects::{
    arguments::BadArguments,
    calls::{Arguments, CallError, ReadOptions, Reply, parse_reply},
    stream::parse_chunks,
};
use serde_json::{Value, json};

macro_rules! stream {
    ($name:literal, $ending:literal) => {
        (
            $name,
            include_str!(concat!("../streams/", $name, ".", $ending)),
            include_str!(concat!("../streams/", $name, ".json")),
        )
    };
}

const STREAMS: [(&str, &str, &str); 8] = [
    stream!("chat", "sse"),
    stream!("functions", "sse"),
    stream!("responses", "sse"),
    stream!("messages", "sse"),
    stream!("generate_content", "sse"),
    stream!("converse", "ndjson"),
    stream!("cohere", "sse"),
    stream!("ollama", "ndjson"),
];

/// The reply with arguments as objects: text in one form of it is an object in the other.
fn read(value: &Value) -> Reply {
    let mut reply = parse_reply(value, &ReadOptions::default()).unwrap();
    for call in &mut reply.calls {
        call.arguments =
            Arguments::Json(call.arguments_object("", BadArguments::Error).unwrap().object.into());
    }
    reply
}

fn refused(value: &Value) -> String {
    match parse_reply(value, &ReadOptions::default()) {
        Err(error) => error.to_string(),
        Ok(reply) => panic!("{reply:?}"),
    }
}

#[test]
fn a_stream_says_what_the_whole_reply_says() {
    for (name, text, whole) in STREAMS {
        let whole = read(&serde_json::from_str(whole).unwrap());
        assert!(!whole.calls.is_empty(), "{name}");
        assert_eq!(read(&json!(text)), whole, "{name} as text");
        assert_eq!(read(&json!(text.replace('\n', "\r\n"))), whole, "{name} with other line ends");
        let chunks = Value::from(parse_chunks(text).unwrap());
        assert_eq!(read(&chunks), whole, "{name} as a list");
        assert_eq!(read(&json!(chunks.to_string())), whole, "{name} as the text of a list");
    }
}

#[test]
fn a_stream_that_breaks_off_runs_nothing() {
    let cut = ["chat", "functions", "responses", "messages", "converse", "cohere"];
    for (name, text, _) in STREAMS.iter().filter(|(name, ..)| cut.contains(name)) {
        let mut chunks = parse_chunks(text).unwrap();
        // The first piece of the first call's arguments is the last chunk that arrives.
        let last = chunks.iter().position(|chunk| chunk.to_string().contains("{\\\"a")).unwrap();
        chunks.truncate(last + 1);
        let error = "the stream cannot be read: it ends in the middle of the call of `add`";
        assert_eq!(refused(&chunks.into()), error, "{name}");
    }
}

#[test]
fn a_stream_without_calls_is_its_text() {
    for (text, said) in [
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]",
            "Hello",
        ),
        (
            "{\"message\":{\"role\":\"assistant\",\"content\":\"Hel\"},\"done\":false}\n{\"message\":{\"role\":\"assistant\",\"content\":\"lo\"},\"done\":true}\n",
            "Hello",
        ),
    ] {
        let reply = read(&json!(text));
        assert_eq!((reply.text.as_str(), reply.calls), (said, Vec::new()), "{text}");
    }
}

#[test]
fn what_is_no_stream_is_refused_as_one() {
    for (text, cause) in [
        ("", "it has no chunk"),
        ("data: [DONE]\n\n", "it has no chunk"),
        (
            "data: {\"choices\": [\n\n",
            "line 1 holds no JSON document: EOF while parsing a list at line 1 column 13",
        ),
        ("data: {\"a\": 1, \"b\": 2}\n\n", "no known API sends chunks with a, b"),
        (
            "{\"message\":{},\"done\":false}\noops\n",
            "line 2 holds no JSON document: expected value at line 1 column 1",
        ),
        ("7", "it is a JSON value that is neither a chunk nor a list of chunks"),
        ("[]", "it has no chunk"),
    ] {
        assert_eq!(parse_chunks(text), Err(CallError::Stream { cause: cause.to_owned() }), "{text}");
    }
    let error = json!([
        "data: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
    ]);
    assert_eq!(refused(&error[0]), "the stream cannot be read: it brings an error: Overloaded");
}

#[test]
fn lists_of_calls_and_plain_text_are_no_streams() {
    let calls = json!([{"type": "tool_use", "id": "a", "name": "add", "input": {}}, {"type": "tool_use", "id": "b", "name": "add", "input": {}}]);
    assert_eq!(read(&calls).calls.len(), 2);
    for text in ["data: none of it is JSON", "event: a party\n\nat eight", "id: 7"] {
        assert_eq!(read(&json!(text)).text, text);
    }
}
