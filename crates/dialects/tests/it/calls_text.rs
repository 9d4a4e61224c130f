//! Tool use and reasoning in plain text.

use std::sync::Arc;

use gateway_dialects::calls::{
    Arguments, ReadOptions, Reply, TextScan, parse_reply,
    text::{Notation, OfferedTools, TextCalls, ToolSchemas, render_xml_result},
};
use serde_json::{Map, Value, json};

fn read(text: &str, scan: TextScan) -> Reply {
    let options = ReadOptions { text: scan, ..ReadOptions::default() };
    match parse_reply(&Value::String(text.to_owned()), &options) {
        Ok(reply) => reply,
        Err(error) => unreachable!("without a protocol any text is a reply: {error}"),
    }
}

pub(crate) fn known(tools: Value) -> TextScan {
    let Value::Object(tools) = tools else { unreachable!("tools by name") };
    let offered =
        tools.into_iter().fold(ToolSchemas::default(), |all, (name, schema)| all.with(&name, schema));
    TextScan::Offered(TextCalls::Auto, Arc::new(offered))
}

/// Offers every name but one of HTML, and accepts everything.
#[derive(Debug)]
struct Anything;

impl OfferedTools for Anything {
    fn is_offered(&self, name: &str) -> bool {
        name != "br"
    }

    fn schema(&self, _: &str) -> Value {
        Value::Null
    }

    fn check(&self, _: &str, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

pub(crate) fn anything() -> TextScan {
    TextScan::Offered(TextCalls::Auto, Arc::new(Anything))
}

/// The calls as `[name, arguments]`, and what is left as text.
#[track_caller]
fn check(scan: TextScan, text: &str, calls: Value, rest: &str) {
    let reply = read(text, scan);
    let got: Vec<Value> = reply
        .calls
        .iter()
        .map(|call| match &call.arguments {
            Arguments::Json(arguments) => json!([call.name, arguments]),
            other => json!([call.name, format!("{other:?}")]),
        })
        .collect();
    assert_eq!((Value::from(got), reply.text.as_str()), (calls, rest), "{text}");
}

#[test]
fn xml_without_a_schema() {
    let any = anything();
    check(any.clone(), "<add><a>1</a><b>-2</b></add>", json!([["add", {"a": 1, "b": -2}]]), "");
    check(
        any.clone(),
        "I add.\n<t><s> two words </s><n>1.50</n><y>true</y><o>{\"k\":[1]}</o><l>[1,2]</l><bad>{no}</bad><e></e></t>\nDone.",
        json!([["t", {"s": "two words", "n": 1.5, "y": true, "o": {"k": [1]}, "l": [1, 2], "bad": "{no}", "e": ""}]]),
        "I add.\n\nDone.",
    );
    check(any.clone(), "<now></now>", json!([["now", {}]]), "");
    check(any.clone(), "<now>\n</now>", json!([["now", {}]]), "");
    check(any.clone(), "<t><a>007</a></t>", json!([["t", {"a": 7}]]), "");
    check(
        any.clone(),
        "<t><a>99999999999999999999</a></t>",
        json!([["t", {"a": "99999999999999999999"}]]),
        "",
    );
    check(
        any.clone(),
        "<t><a>&lt;b&gt; &amp;amp; &quot;&apos;&#65;&#x42; &nope;</a></t>",
        json!([["t", {"a": "<b> &amp; \"'AB &nope;"}]]),
        "",
    );
    check(any.clone(), "<t><a>line 1\nline 2</a></t>", json!([["t", {"a": "line 1\nline 2"}]]), "");
    check(any.clone(), "<t><a><![CDATA[ 5 < 6 </a> ]]></a></t>", json!([["t", {"a": " 5 < 6 </a> "}]]), "");
    // The same name inside itself.
    check(any.clone(), "<q><q>in <q>ner</q></q></q>", json!([["q", {"q": "in <q>ner</q>"}]]), "");
    check(any.clone(), "<w><c><p>hi<br></p></c></w>", json!([["w", {"c": "<p>hi<br></p>"}]]), "");
    check(any.clone(), "<t><i>a</i><i>b</i></t>", json!([["t", {"i": ["a", "b"]}]]), "");
    check(any.clone(), "<t>{\"a\":1}</t>", json!([["t", {"a": 1}]]), "");
    check(
        any.clone(),
        "<a><x>1</x></a> and <b><y>2</y></b>",
        json!([["a", {"x": 1}], ["b", {"y": 2}]]),
        " and ",
    );
    // Not tool use.
    for text in [
        "a < b and c > d",
        "<b>bold</b>",
        "<t><a>1</t>",
        "<t><a>1</a>",
        "<tool_result><a>1</a></tool_result>",
        "<tool_use><a>1</a></tool_use>",
        "<1t><a>1</a></1t>",
        "<br/>",
        "",
        "<",
    ] {
        check(any.clone(), text, json!([]), text);
    }
    check(TextScan::Off, "<add><a>1</a></add>", json!([]), "<add><a>1</a></add>");
}

#[test]
fn xml_typed_by_the_schema() {
    let tools = known(json!({
        "book": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "seats": {"type": "integer"},
                "vip": {"type": "boolean"},
                "names": {"type": "array", "items": {"type": "string"}},
                "at": {"$ref": "#/$defs/at"},
                "note": {"type": ["string", "null"]},
            },
            "$defs": {"at": {"type": "object", "properties": {"row": {"type": "integer"}, "label": {"type": "string"}}}},
        },
    }));
    check(
        tools.clone(),
        "<p><book><code>007</code><seats>2</seats><vip>true</vip><names>1</names><at><row>3</row><label>4</label></at></book></p>",
        json!([["book", {"code": "007", "seats": 2, "vip": true, "names": ["1"], "at": {"row": 3, "label": "4"}}]]),
        "<p></p>",
    );
    let TextScan::Offered(_, schemas) = tools.clone() else { unreachable!("tools are offered") };
    check(
        TextScan::Whole(schemas),
        "<book><names><n>1</n><n>2</n></names><names>[\"3\"]</names><at>{\"row\":1}</at><note>null</note><seats>many</seats></book>",
        json!([["book", {"names": ["1", "2", "3"], "at": {"row": 1}, "note": "null", "seats": "many"}]]),
        "",
    );
    check(tools.clone(), "<book/>", json!([["book", {}]]), "");
    check(tools, "<other><a>1</a></other>", json!([]), "<other><a>1</a></other>");
}

#[test]
fn json_in_prose() {
    let any = anything();
    let one = r#"{"type":"tool_use","id":"1","name":"a","input":{"s":"} \" {"}}"#;
    let two = "{ \"name\" : \"b\",\n \"input\": {}, \"type\": \"tool_use\" }";
    check(
        any.clone(),
        &format!("First {one} then {two}."),
        json!([["a", {"s": "} \" {"}], ["b", {}]]),
        "First  then .",
    );
    check(any.clone(), &format!("[{one},{two}] !"), json!([["a", {"s": "} \" {"}], ["b", {}]]), "[,] !");
    check(
        any.clone(),
        &format!("{{\"calls\":[{one}]}} !"),
        json!([["a", {"s": "} \" {"}]]),
        "{\"calls\":[]} !",
    );
    // Truncated, but the one after it is whole.
    let cut = r#"{"type":"tool_use","name":"x","input":{"#;
    check(any.clone(), &format!("{cut} {two}"), json!([["b", {}]]), &format!("{cut} "));
    for text in [cut, r#"{"type":"other"} x"#, r#"{"type":"tool_use"} x"#, "{ } x", "{\"type", "{{{{"] {
        check(any.clone(), text, json!([]), text);
    }
    let reply = read(&format!("x {one}"), any);
    assert_eq!(reply.written, Some(Notation::Json));
    assert_eq!(reply.calls[0].id.given(), Some("1"));
}

#[test]
fn reasoning_is_set_apart() {
    let reply = read(
        "<think>Hm <add><a>1</a></add></think>Hi <b>!</b> {\"type\":\"thinking\",\"content\":\" more\"}.",
        anything(),
    );
    assert_eq!(
        reply,
        Reply {
            text: "Hi <b>!</b> .".into(),
            reasoning: "Hm <add><a>1</a></add> more".into(),
            ..Reply::default()
        }
    );
    // In a message, with a native call beside it.
    let message = json!({
        "role": "assistant", "content": "<think>Hm</think>Adding.",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
    });
    let reply = parse_reply(&message, &ReadOptions::default()).unwrap();
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str(), reply.calls.len()), ("Adding.", "Hm", 1));
}

#[test]
fn content_is_searched_only_without_native_calls() {
    let tools = || known(json!({"add": {"type": "object"}, "sum": {"type": "object"}}));
    let message =
        |content: &str, calls: Value| json!({"role": "assistant", "content": content, "tool_calls": calls});
    let native = json!([{"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}]);
    let xml = "<add><a>1</a></add>";
    let cases = [
        (message("", native.clone()), vec!["now"]),
        (message(xml, json!(null)), vec!["add"]),
        (message(r#"{"type":"tool_use","name":"sum","input":{}}"#, json!(null)), vec!["sum"]),
        (message("plain", json!(null)), vec![]),
        (message(xml, native), vec!["now"]),
    ];
    for (message, names) in cases {
        let reply = parse_reply(&message, &ReadOptions { text: tools(), ..ReadOptions::default() }).unwrap();
        assert_eq!(reply.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), names, "{message}");
    }
    // Where the tools are not known, a tag in a message is markup.
    let reply = parse_reply(&message(xml, json!(null)), &ReadOptions::default()).unwrap();
    assert_eq!((reply.calls.len(), reply.text.as_str()), (0, xml));
}

#[test]
fn hostile_text_ends_soon() {
    for piece in ["{\"type\":", "<a>", "<a ", "{", "<a><![CDATA[", "</a>", "&#", "<think>"] {
        let text = piece.repeat(400_000);
        let reply = read(&text, anything());
        assert!(reply.calls.is_empty(), "{piece}");
    }
    let deep = format!("{}{}", "<a>".repeat(5_000), "</a>".repeat(5_000));
    assert_eq!(read(&deep, anything()).calls.len(), 1);
}

#[test]
fn xml_results() {
    let result = json!({
        "tool_use_id": "t\"1", "status": "error",
        "content": [
            {"type": "text", "text": "<a> & 'b' \"c\""},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
            {"type": "image", "source": {"type": "url", "url": "https://x.example/?a=1&b=2"}},
            {"type": "tool_use", "id": "u", "name": "n", "input": {"a": 1}},
            {"type": "tool_result", "tool_use_id": "u", "content": "in"},
            {"type": "hologram"},
        ],
        "error": {"message": "no <luck>", "details": {"code": 7}},
    });
    let expected = "<tool_result tool_use_id=\"t&quot;1\" status=\"error\">\n\
        &lt;a&gt; &amp; &apos;b&apos; &quot;c&quot;\n\
        <image type=\"image/png\" data=\"AA==\" />\n\
        <image url=\"https://x.example/?a=1&amp;b=2\" />\n\
        <tool_use id=\"u\" name=\"n\">{&quot;a&quot;:1}</tool_use>\n\
        <tool_result tool_use_id=\"u\" status=\"success\">\nin\n</tool_result>\n\
        <unknown type=\"hologram\" />\n\
        <error message=\"no &lt;luck&gt;\" details=\"{&quot;code&quot;:7}\" />\n\
        </tool_result>";
    assert_eq!(render_xml_result(&result), expected);
}
