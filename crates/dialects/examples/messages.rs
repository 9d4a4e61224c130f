//! Prints generated conversations of every provider, one JSON line each, for `conformance/messages/judge.py`:
//! `{"provider", "kind": "request", "name", "messages"}`.

use std::io::{self, Write};

use gateway_dialects::calls::text::Notation;
use gateway_dialects::history::{
    Conversation, HistoryOptions, Message, TransferMode, TranslatedTools, from_dialect, to_dialect, transfer,
};
use gateway_dialects::results::{IdMap, Outcome, ResultOptions, render_results, render_written_results};
use gateway_dialects::{Dialect, DialectError, Dialects};
use serde_json::{Value, json};

const PROVIDERS: &[&str] = &[
    "openai-chat",
    "openai-functions",
    "openai-responses",
    "anthropic",
    "gemini",
    "vertex",
    "bedrock",
    "cohere",
    "mistral",
    "ollama",
    "groq",
    "dial",
    "deepseek",
    "xai",
    "openai-compatible",
];

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Dialect(#[from] DialectError),
    #[error(transparent)]
    Output(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

fn main() -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let dialects = Dialects::builtin();
    for provider in PROVIDERS {
        let dialect = dialects.get(provider)?;
        let moved = moved_histories(&dialects, &dialect)?;
        let written = written_turns(&dialect)?;
        let turns = result_turns(&dialect)?.into_iter().chain(written);
        for (name, messages) in turns.chain(histories(&dialect)?).chain(moved) {
            let line = json!({"provider": provider, "kind": "request", "name": name, "messages": messages});
            writeln!(out, "{line}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Results by what they hold.
fn results() -> Vec<(&'static str, Value)> {
    let text = json!({"type": "text", "text": "fifteen"});
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let audio = json!({"type": "audio", "data": "UklGRgA=", "mimeType": "audio/wav"});
    let note = json!({"type": "resource", "resource": {"uri": "file:///a/notes.md", "mimeType": "text/markdown", "text": "# Hi"}});
    let pdf = json!({"type": "resource", "resource": {"uri": "file:///a/Report_2026 (1)!.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="}});
    let zip = json!({"type": "resource", "resource": {"uri": "file:///a.zip", "mimeType": "application/zip", "blob": "UEsDBA=="}});
    let link = json!({"type": "resource_link", "uri": "file:///b.txt", "name": "b", "description": "The other", "size": 12});
    let data = json!({"sum": 42, "parts": [15, 27]});
    let data_text = json!({"type": "text", "text": data.to_string()});
    vec![
        ("text", json!({"content": [text]})),
        ("texts", json!({"content": [text, {"type": "text", "text": ""}, text]})),
        ("blank", json!({"content": [{"type": "text", "text": " \n"}]})),
        ("image", json!({"content": [image]})),
        ("jpg", json!({"content": [{"type": "image", "data": "/9j/4AA=", "mimeType": "image/jpg"}]})),
        ("svg", json!({"content": [{"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"}]})),
        (
            "broken image",
            json!({"content": [{"type": "image", "data": "no base64!", "mimeType": "image/png"}]}),
        ),
        ("text and images", json!({"content": [text, image, image]})),
        ("audio", json!({"content": [audio]})),
        ("resource text", json!({"content": [note]})),
        ("pdf", json!({"content": [pdf]})),
        ("two pdfs", json!({"content": [pdf, pdf]})),
        ("zip", json!({"content": [zip]})),
        ("link", json!({"content": [link]})),
        ("structured only", json!({"content": [], "structuredContent": data})),
        ("structured repeated", json!({"content": [data_text], "structuredContent": data})),
        ("structured and text", json!({"content": [text, image], "structuredContent": data})),
        ("structured list", json!({"content": [], "structuredContent": [1, 2]})),
        ("error", json!({"content": [{"type": "text", "text": "disk full"}], "isError": true})),
        ("error with image", json!({"content": [image], "isError": true})),
        ("error with data", json!({"content": [], "structuredContent": data, "isError": true})),
        ("empty error", json!({"content": [], "isError": true})),
        ("empty", json!({"content": []})),
        ("no content", json!({})),
        ("unknown block", json!({"content": [{"type": "hologram", "data": PNG, "size": 3}]})),
        (
            "everything",
            json!({"content": [text, image, audio, note, pdf, zip, link], "structuredContent": data}),
        ),
        ("not a result", json!([1, 2])),
    ]
}

/// One turn with one result of each kind, and turns with several.
fn result_turns(dialect: &Dialect) -> Result<Vec<(String, Vec<Value>)>, Failure> {
    let all = results();
    let mut turns = Vec::new();
    for (name, result) in &all {
        for model in [None, Some("models/gemini-3-pro")] {
            for limit in [None, Some(60)] {
                let mut options = ResultOptions::default();
                options.model = model.map(str::to_owned);
                options.max_characters = limit;
                let title = format!("result: {name}, model {model:?}, limit {limit:?}");
                turns.push((title, turn(dialect, std::slice::from_ref(result), &options)?));
            }
        }
    }
    for (name, result) in pairs() {
        turns.push((format!("blocks: {name}"), turn(dialect, &[result], &ResultOptions::default())?));
    }
    // One message of the older API holds one call.
    let is_older = dialect.messages.protocol == gateway_dialects::Protocol::Functions;
    for several in all.windows(3).filter(|_| !is_older) {
        let (names, results): (Vec<&str>, Vec<Value>) = several.iter().cloned().unzip();
        let title = format!("results: {}", names.join(" + "));
        turns.push((title, turn(dialect, &results, &ResultOptions::default())?));
    }
    Ok(turns)
}

/// Calls that the model wrote as text, and their results.
fn written_turns(dialect: &Dialect) -> Result<Vec<(String, Vec<Value>)>, Failure> {
    let mut turns = Vec::new();
    for (notation, call) in [
        (Notation::Xml, "<get-weather><n>1</n></get-weather>"),
        (Notation::Json, "{\"type\":\"tool_use\",\"name\":\"get-weather\",\"input\":{\"n\":1}}"),
    ] {
        let history = json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": call}]);
        let (conversation, _) = written(dialect, history)?;
        for (name, result) in results() {
            let mut messages = conversation.messages.clone();
            let outcome = Outcome { call_id: None, wire_name: "get-weather", result: &result, kept: None };
            let outcomes = [(notation, outcome), (notation, outcome)];
            messages.extend(render_written_results(dialect, &outcomes, &ResultOptions::default()).messages);
            turns.push((format!("written as {}: {name}", notation.name()), messages));
        }
    }
    Ok(turns)
}

/// Results of two blocks, in every combination of those that [`results`] has alone.
fn pairs() -> Vec<(String, Value)> {
    let blocks: Vec<(&str, Value)> = results()
        .into_iter()
        .filter_map(|(name, mut result)| match result.get_mut("content").map(Value::take) {
            Some(Value::Array(mut blocks)) if blocks.len() == 1 => blocks.pop().map(|block| (name, block)),
            Some(_) | None => None,
        })
        .collect();
    let mut pairs = Vec::new();
    for (first_name, first) in &blocks {
        for (second_name, second) in &blocks {
            let failed = first_name == second_name;
            pairs.push((
                format!("{first_name} + {second_name}"),
                json!({"content": [first, second], "isError": failed}),
            ));
        }
    }
    pairs
}

/// Calls written by the history, and their results rendered as one turn.
fn turn(dialect: &Dialect, results: &[Value], options: &ResultOptions) -> Result<Vec<Value>, Failure> {
    let calls: Vec<Value> = (0..results.len())
        .map(|index| json!({"type": "tool_use", "id": format!("call:{index}"), "name": "get-weather", "input": {"n": index}}))
        .collect();
    let history = json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": calls}]);
    let (conversation, mut ids) = written(dialect, history)?;
    let wire: Vec<String> = (0..results.len()).map(|index| ids.wire(&format!("call:{index}"))).collect();
    let outcome = |(result, id)| {
        let (wire_name, kept) = ("get-weather", Some("log 7"));
        Outcome { call_id: Some(id), wire_name, result, kept }
    };
    let outcomes: Vec<Outcome<'_>> =
        results.iter().zip(wire.iter().map(String::as_str)).map(outcome).collect();
    let mut messages = conversation.messages;
    messages.extend(render_results(dialect, &outcomes, options).messages);
    Ok(messages)
}

/// A neutral conversation in the messages of `dialect`.
fn written(dialect: &Dialect, history: Value) -> Result<(Conversation, IdMap), Failure> {
    let messages: Vec<Message> = serde_json::from_value(history)?;
    let mut ids = IdMap::new(dialect);
    let (conversation, _) =
        to_dialect(&messages, dialect, &TranslatedTools::default(), &mut ids, &HistoryOptions::default());
    Ok((conversation, ids))
}

/// Whole conversations.
fn histories(dialect: &Dialect) -> Result<Vec<(String, Vec<Value>)>, Failure> {
    conversations()
        .into_iter()
        .map(|(name, case)| Ok((format!("history: {name}"), written(dialect, case)?.0.messages)))
        .collect()
}

/// Whole conversations that were held with each other provider and go on with this one.
fn moved_histories(dialects: &Dialects, dialect: &Dialect) -> Result<Vec<(String, Vec<Value>)>, Failure> {
    let (tools, options) = (TranslatedTools::default(), HistoryOptions::default());
    let mut all = Vec::new();
    for provider in PROVIDERS {
        let other = dialects.get(provider)?;
        for (name, case) in conversations() {
            let (held, ids) = written(&other, case)?;
            let (read, _) = from_dialect(&held, other.messages.protocol, &tools, &ids);
            let (moved, _) = to_dialect(&read, dialect, &tools, &mut IdMap::new(dialect), &options);
            all.push((format!("history from {provider}: {name}"), moved.messages));
            for (word, mode) in TransferMode::WORDS {
                let (moved, _) = transfer(&held, (&other, &tools), (dialect, &tools), mode, &options);
                all.push((format!("{word} transfer from {provider}: {name}"), moved.messages));
            }
        }
    }
    Ok(all)
}

fn conversations() -> Vec<(&'static str, Value)> {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}});
    let far = json!({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}});
    let call = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "my-server_get-weather", "input": input});
    let answer =
        |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA"});
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Done.", "annotations": []}]});
    vec![
        (
            "plain",
            json!([
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello", "ts": 1},
                {"role": "assistant", "content": "Hi", "metadata": {"a": 1}},
                {"role": "user", "content": [{"type": "text", "text": "look"}, image, far]},
            ]),
        ),
        (
            "parallel calls in one message",
            json!([
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": [{"type": "text", "text": "Looking."}, call("a", json!({"city": "Rome"})), call("b", json!({}))]},
                {"role": "tool", "content": [answer("a", json!("sunny")), answer("b", json!([{"type": "text", "text": "rain"}, image]))]},
                {"role": "assistant", "content": "Sunny, and rain."},
            ]),
        ),
        (
            "results in wrong order and messages of their own",
            json!([
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": [call("a", json!({})), call("b", json!({}))]},
                {"role": "tool", "content": [answer("b", json!("rain"))]},
                {"role": "tool", "content": [answer("a", json!("sunny"))]},
                {"role": "user", "content": "Thanks"},
            ]),
        ),
        (
            "text before results in one message",
            json!([
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": [call("a", json!({}))]},
                {"role": "user", "content": [{"type": "text", "text": "Go on"}, answer("a", json!([])), {"type": "text", "text": ""}]},
                {"role": "assistant", "content": [{"type": "text", "text": ""}, call("c", json!({"x": [1]}))]},
                {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "boom", "status": "error", "error": {"message": "boom"}}]},
            ]),
        ),
        (
            "odd ids",
            json!([
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [call("functions.get weather:0", json!({})), call(&"long".repeat(40), json!({})), call("", json!({})), call("ü", json!({}))]},
                {"role": "tool", "content": [answer("functions.get weather:0", json!("1")), answer(&"long".repeat(40), json!("2")), answer("", json!("3")), answer("ü", json!("4"))]},
                {"role": "user", "content": "y"},
            ]),
        ),
        (
            "one id twice",
            json!([
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [call("a", json!({})), call("a", json!({}))]},
                {"role": "tool", "content": [answer("a", json!("1")), answer("a", json!("2"))]},
            ]),
        ),
        (
            "lost and stray results",
            json!([
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [call("a", json!({})), call("b", json!({}))]},
                {"role": "tool", "content": [answer("a", json!("1"))]},
                {"role": "user", "content": "y"},
                {"role": "tool", "content": [answer("zz", json!("stray"))]},
                {"role": "assistant", "content": [call("c", json!({}))]},
                {"role": "user", "content": "z"},
            ]),
        ),
        (
            "reasoning of every provider",
            json!([
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "EqQB"},
                    {"type": "opaque", "origin": "messages", "payload": {"type": "redacted_thinking", "data": "abc"}},
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln", "origin": "generate-content"},
                    {"type": "thinking", "thinking": "hm", "origin": "responses", "payload": reasoning},
                    {"type": "thinking", "thinking": "hm", "origin": "chat"},
                    {"type": "tool_use", "id": "a", "name": "f", "input": {}, "signature": "c2ln", "item_id": "fc_1"},
                    {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
                {"role": "tool", "content": [answer("a", json!("1")), answer("b", json!("2"))]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "origin": "responses", "payload": reasoning},
                    {"type": "text", "text": "Done.", "origin": "responses", "payload": said}]},
                {"role": "user", "content": "next"},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "only a thought", "origin": "responses", "payload": reasoning}]},
                {"role": "user", "content": "and"},
            ]),
        ),
        (
            "odd roles and blocks",
            json!([
                {"role": "critic", "content": "Hm."},
                {"role": "user", "content": [{"type": "hologram", "data": PNG}, {"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": "UklGRgA="}}]},
                {"role": "user", "content": [{"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="}}, {"type": "text", "text": "read"}]},
                {"role": "assistant", "content": [image, {"type": "text", "text": "here"}]},
                {"role": "system", "content": "Late advice."},
                {"role": "assistant", "content": "again"},
                {"role": "user", "content": [call("u", json!({})), {"type": "text", "text": ""}]},
            ]),
        ),
        (
            "arguments of every kind",
            json!([
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [call("a", json!(null)), call("b", json!("text")), call("c", json!({"ä": {"b": [1.5, null, true, 12_345_678_901_234_567_890_u64]}}))]},
                {"role": "tool", "content": [answer("a", json!(null)), answer("b", json!({"k": 1})), {"type": "tool_result", "tool_use_id": "c", "content": [], "structuredContent": {"k": 1}}]},
            ]),
        ),
    ]
}
