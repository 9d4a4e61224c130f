//! Documents with tools, in every form in which people have them.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::{
    Dialects, DocumentError, GivenTool, Options, ToolDocument, ToolSource as _, Translator, holds_tools,
};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({"type": "object", "properties": {"param": {"type": "string", "description": "A test parameter"}},
        "required": ["param"]})
}

/// The tools of a document: pointer, name, and schema as `openai-functions` sends it.
#[track_caller]
fn read(document: &Value) -> Vec<(String, String, Value)> {
    let document = ToolDocument::parse(&document.to_string()).unwrap();
    let translator = Translator::new(&Dialects::builtin(), "openai-functions", Options::default()).unwrap();
    let translated = translator.translate(&document.tools);
    document
        .tools
        .iter()
        .zip(&translated.tools)
        .map(|(given, tool)| {
            let definition = tool.definition.as_ref().map(gateway_dialects::Json::to_value);
            (
                given.pointer.clone(),
                tool.name.to_owned(),
                definition.unwrap_or_default()["parameters"].clone(),
            )
        })
        .collect()
}

#[track_caller]
fn check(document: &Value, pointers: &[&str]) {
    let expected: Vec<_> =
        pointers.iter().map(|pointer| ((*pointer).to_owned(), "t".to_owned(), schema())).collect();
    let found = read(document);
    // Only the first of the same name is sent, and all are the same tool.
    assert_eq!(found.iter().map(|(pointer, ..)| pointer.as_str()).collect::<Vec<_>>(), pointers);
    assert_eq!(found.first(), expected.first(), "{document}");
}

#[test]
fn a_schema_is_read_under_every_usual_name() {
    for key in ["inputSchema", "parameters", "schema", "input_schema", "paramSchema", "parametersJsonSchema"]
    {
        check(&json!([{"name": "t", "description": "d", key: schema()}]), &["/0"]);
    }
    check(&json!([{"name": "t", "inputSchema": null, "parameters": schema()}]), &["/0"]);
}

#[test]
fn tools_in_providers_forms_are_read() {
    let (function, anthropic) =
        (json!({"name": "t", "parameters": schema()}), json!({"name": "t", "input_schema": schema()}));
    check(&json!([{"type": "function", "function": function}]), &["/0/function"]);
    check(
        &json!({"model": "m", "tools": [{"type": "function", "function": function}]}),
        &["/tools/0/function"],
    );
    check(&json!([{"type": "function", "name": "t", "parameters": schema(), "strict": false}]), &["/0"]);
    check(&json!({"tools": [anthropic]}), &["/tools/0"]);
    for key in ["functionDeclarations", "function_declarations"] {
        let pointers = [format!("/tools/0/{key}/0"), format!("/tools/0/{key}/1")];
        let pointers: Vec<&str> = pointers.iter().map(String::as_str).collect();
        check(&json!({"tools": [{key: [function, function]}]}), &pointers);
    }
    check(&json!({"functionDeclarations": [function]}), &["/functionDeclarations/0"]);
    let spec = json!({"toolSpec": {"name": "t", "inputSchema": {"json": schema()}}});
    check(&json!({"toolConfig": {"tools": [spec]}}), &["/toolConfig/tools/0/toolSpec"]);
}

#[test]
fn one_tool_is_a_document() {
    let tool = json!({"name": "t", "inputSchema": schema()});
    check(&tool, &[""]);
    check(&json!({"type": "function", "function": tool}), &["/function"]);
    check(&json!({"tool": tool, "to": "gemini"}), &["/tool"]);
    check(&json!({"tools": tool}), &["/tools"]);
    check(&json!({"tools": {"t": {"inputSchema": schema()}}}), &["/tools/t"]);
    let simple = ToolDocument::parse(r#"{"name":"t","description":"d","to":"gemini"}"#).unwrap();
    assert_eq!((simple.tools[0].name(), &simple.members["to"]), ("t", &json!("gemini")));
}

#[test]
fn other_json_holds_no_tools() {
    for text in ["7", "{}", r#"{"name":"package","version":"1.0.0","scripts":{}}"#, r#"{"tools":7}"#] {
        assert!(matches!(ToolDocument::parse(text), Err(DocumentError::NoTools)), "{text}");
    }
    assert!(matches!(ToolDocument::parse("{"), Err(DocumentError::Json(_))));
}

#[test]
fn a_schema_is_not_taken_for_tools() {
    for (text, expected) in [
        (r#"{"tools":[{"name":"t"}]}"#, true),
        (r#"[{"name":"t"}]"#, true),
        (r#"{"type":"function","function":{"name":"t"}}"#, true),
        (r#"{"name":"t","inputSchema":{}}"#, true),
        (r#"{"type":"object","properties":{"tools":{"type":"array"}}}"#, false),
        (r#"{"type":"string","name":"t"}"#, false),
        ("[]", false),
        ("true", false),
        ("7", false),
    ] {
        assert_eq!(holds_tools(text), expected, "{text}");
    }
}

#[test]
fn a_schema_under_an_unknown_name_is_a_warning() {
    let translator = Translator::new(&Dialects::builtin(), "openai", Options::default()).unwrap();
    let warnings = |tool: Value| translator.translate(&[tool]).tools.remove(0).warnings;
    assert_eq!(
        warnings(json!({"name": "t", "args_schema": schema()})),
        ["the tool has no `inputSchema`, but `args_schema` looks like one; rename it to `inputSchema`"]
    );
    assert_eq!(
        warnings(
            json!({"name": "t", "inputSchema": {"type": "object", "properties": {}}, "parameters": schema()})
        ),
        [
            "`inputSchema` has no parameters, but `parameters`, which is not read, looks like a schema with some"
        ]
    );
    for quiet in [
        json!({"name": "t", "outputSchema": schema()}),
        json!({"name": "t", "inputSchema": schema(), "args_schema": schema()}),
        json!({"name": "t", "annotations": {"readOnlyHint": true}}),
    ] {
        assert_eq!(warnings(quiet), Vec::<String>::new());
    }
}

/// A tool whose schema has properties nested `levels` deep.
fn deep(name: &str, levels: usize) -> String {
    let (open, close) = (r#"{"type":"object","properties":{"a":"#, "}}");
    format!(r#"{{"name":"{name}","inputSchema":{}{{}}{}}}"#, open.repeat(levels), close.repeat(levels))
}

#[test]
fn a_tool_that_is_too_deep_is_the_only_one_that_is_lost() {
    let good = json!({"name": "t", "inputSchema": schema()}).to_string();
    let translator = Translator::new(&Dialects::builtin(), "openai-functions", Options::default()).unwrap();
    for levels in [40, 100, 20_000] {
        let deep = deep("deep", levels);
        for text in [
            format!("[{good},{deep}]"),
            format!(r#"{{"result":{{"tools":[{good},{deep}]}}}}"#),
            format!(r#"{{"tools":[{{"functionDeclarations":[{good},{deep}]}}]}}"#),
            format!(r#"[{good},{{"type":"function","function":{deep}}}]"#),
        ] {
            let document = ToolDocument::parse(&text).unwrap();
            let translated = translator.translate(&document.tools);
            let names: Vec<&str> = translated.tools.iter().map(|tool| tool.name).collect();
            assert_eq!(names, ["t", "deep"]);
            assert_eq!(translated.tools[0].quarantine, None);
            let reason = translated.tools[1].quarantine.as_deref().unwrap();
            assert!(reason.starts_with("MCP_TOOL_SCHEMA_UNBOUNDED: "), "{levels}: {reason}");
        }
        let alone = GivenTool::parse(&deep).unwrap();
        assert_eq!((alone.name(), alone.definition().is_err()), ("deep", levels >= 100));
    }
}

#[test]
fn brackets_in_texts_are_no_levels() {
    let text = json!([{"name": "t", "description": "[".repeat(500) + "\\\"{{", "inputSchema": schema()}]);
    let document = ToolDocument::parse(&text.to_string()).unwrap();
    assert!(document.tools[0].definition().is_ok());
}

#[test]
fn a_tool_that_is_left_out_does_not_take_the_name_of_a_good_one() {
    let translator = Translator::new(&Dialects::builtin(), "openai", Options::default()).unwrap();
    let (bad, good) =
        (json!({"name": "s", "inputSchema": []}), json!({"name": "s", "inputSchema": schema()}));
    let reasons = |tools: &[Value]| -> Vec<Option<String>> {
        translator.translate(tools).tools.into_iter().map(|tool| tool.quarantine).collect()
    };
    let list = Some("the input schema is a list, not an object".to_owned());
    let another = Some("another tool is called `s`".to_owned());
    assert_eq!(reasons(&[bad.clone(), good.clone(), good.clone()]), [list.clone(), None, another.clone()]);
    assert_eq!(reasons(&[good, bad]), [None, another]);
}

#[test]
fn another_form_becomes_that_of_mcp() {
    let translator = Translator::new(&Dialects::builtin(), "mcp", Options::default()).unwrap();
    let (annotations, output) = (json!({"readOnlyHint": true}), json!({"type": "object"}));
    let tool = json!({"name": "t", "annotations": annotations, "description": "d", "parameters": schema(), "outputSchema": output});
    let translated = translator.translate_one(&tool).definition.unwrap().to_value();
    let expected = json!({"name": "t", "description": "d", "inputSchema": schema(), "annotations": annotations, "outputSchema": output});
    assert_eq!(translated.to_string(), expected.to_string());
}

/// What a dialect makes of a tool in a document: the definition, whether it is strict, and the warnings.
fn given(dialect: &str, item: &Value) -> (Value, bool, Vec<String>) {
    let document = ToolDocument::parse(&json!([item]).to_string()).unwrap();
    let translator = Translator::new(&Dialects::builtin(), dialect, Options::default()).unwrap();
    let tool = translator.translate(&document.tools).tools.remove(0);
    let alone = GivenTool::parse(&item.to_string()).unwrap();
    let alone = translator.translate_one(&alone);
    assert_eq!((&alone.warnings, alone.strict), (&tool.warnings, tool.strict));
    assert_eq!(tool.quarantine, None, "{item}");
    (tool.definition.unwrap().to_value(), tool.strict, tool.warnings)
}

#[test]
fn members_of_a_providers_form_are_carried_or_named() {
    let cached = json!({"name": "t", "description": "d", "input_schema": schema(), "cache_control": {"type": "ephemeral"}});
    for dialect in ["anthropic", "anthropic-strict"] {
        let (definition, _, warnings) = given(dialect, &cached);
        assert_eq!(
            (&definition["cache_control"], warnings.as_slice()),
            (&json!({"type": "ephemeral"}), [].as_slice())
        );
    }
    for dialect in ["openai-chat", "bedrock", "mcp", "gemini"] {
        let (definition, _, warnings) = given(dialect, &cached);
        assert!(!definition.to_string().contains("ephemeral"), "{definition}");
        assert_eq!(warnings, [format!("`cache_control` is left out: `{dialect}` has no such member")]);
    }
    let function = json!({"type": "function", "function": {"name": "t", "parameters": schema()}, "cache_control": {"type": "ephemeral"}});
    assert_eq!(given("anthropic", &function).0["cache_control"], json!({"type": "ephemeral"}));
    let answering =
        json!({"name": "t", "description": "d", "parameters": schema(), "response": {"type": "STRING"}});
    assert_eq!(given("gemini", &answering).0["response"], json!({"type": "STRING"}));
    for dialect in ["gemini-legacy", "gemini-bare"] {
        let (definition, _, warnings) = given(dialect, &answering);
        assert_eq!(definition.get("response"), None, "{definition}");
        assert_eq!(warnings, [format!("`response` is left out: `{dialect}` has no such member")]);
    }
    // A server could make requests fail with them.
    let translator = Translator::new(&Dialects::builtin(), "anthropic", Options::default()).unwrap();
    let served = translator.translate_one(&cached);
    assert_eq!(
        (served.definition.unwrap().to_value().get("cache_control"), served.warnings.len()),
        (None, 0)
    );
    let plain = json!({"type": "custom", "name": "t", "title": "T", "input_schema": schema(), "annotations": {}, "_meta": {}});
    assert_eq!(given("openai-chat", &plain).2, Vec::<String>::new());
}

#[test]
fn a_tool_that_is_given_as_strict_stays_so_where_nothing_is_lost() {
    let mut closed = schema();
    closed["additionalProperties"] = json!(false);
    let chat = |schema: &Value| json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": schema, "strict": true}});
    let (definition, is_strict, warnings) = given("openai-chat", &chat(&closed));
    assert_eq!((definition, is_strict, warnings), (chat(&closed), true, Vec::new()));
    let (definition, is_strict, _) = given("anthropic", &chat(&closed));
    assert_eq!(
        (&definition["strict"], &definition["input_schema"], is_strict),
        (&json!(true), &closed, true)
    );
    let mut lossy = closed;
    lossy["properties"]["param"]["minLength"] = json!(1);
    let left_out =
        |dialect: &str, why: &str| format!("`strict` is left out: the strict form of `{dialect}` {why}");
    for (dialect, schema, why) in [
        ("openai-chat", &lossy, "would lose rules of the schema"),
        ("gemini", &lossy, "does not exist"),
        // Their shapes are not those of the strict dialects that they inherit.
        ("bedrock", &schema(), "does not exist"),
        ("openai-functions", &schema(), "does not exist"),
    ] {
        let (definition, is_strict, warnings) = given(dialect, &chat(schema));
        assert_eq!((is_strict, warnings), (false, vec![left_out(dialect, why)]), "{definition}");
        assert!(!definition.to_string().contains("\"strict\":true"), "{definition}");
    }
    // A strict form that is too long does not take the tool with it.
    let short =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false});
    let document = ToolDocument::parse(&json!([chat(&short)]).to_string()).unwrap();
    for (bytes, is_strict) in [(1_000, true), (short.to_string().len() + 4, false)] {
        let mut options = Options::default();
        options.budget.bytes = bytes;
        let translator = Translator::new(&Dialects::builtin(), "openai-chat", options).unwrap();
        let tool = translator.translate(&document.tools).tools.remove(0);
        assert_eq!((tool.quarantine, tool.strict), (None, is_strict), "{bytes}");
    }
    let loose = json!({"type": "function", "name": "t", "parameters": schema(), "strict": false});
    assert_eq!((given("openai-chat", &loose).1, given("gemini", &loose).2), (false, Vec::new()));
}

#[test]
fn a_tool_without_room_among_the_strict_ones_has_that_reason_only() {
    let tool = |number: usize| json!({"name": format!("t{number}"), "parameters": schema(), "strict": true});
    let document = ToolDocument::parse(&json!((0..21).map(tool).collect::<Vec<_>>()).to_string()).unwrap();
    let translator = Translator::new(&Dialects::builtin(), "anthropic", Options::default()).unwrap();
    let translated = translator.translate(&document.tools);
    let last = translated.tools.last().unwrap();
    assert_eq!(translated.tools.iter().filter(|tool| tool.strict).count(), 20);
    let reason = Some("one request takes 20 strict tools");
    assert_eq!(
        (last.strict, last.not_strict.as_deref(), last.warnings.as_slice()),
        (false, reason, [].as_slice())
    );
}

#[test]
fn tools_that_a_provider_has_by_itself_are_left_out_by_name() {
    let function = json!({"name": "t", "parameters": schema()});
    let documents = [
        (
            json!([{"type": "web_search"}, {"type": "function", "name": "t", "parameters": schema()}]),
            "web_search",
            "web_search",
        ),
        (
            json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, function]),
            "web_search",
            "web_search_20250305",
        ),
        (json!([{"type": "custom", "name": "sql", "format": {"type": "text"}}, function]), "sql", "custom"),
        (
            json!([{"type": "mcp", "server_label": "x", "server_url": "https://example.com"}, function]),
            "mcp",
            "mcp",
        ),
        (
            json!([{"google_search": {}}, {"functionDeclarations": [function]}]),
            "google_search",
            "google_search",
        ),
        (json!([{"cachePoint": {"type": "default"}}, {"toolSpec": function}]), "cachePoint", "cachePoint"),
        (
            json!({"tools": [{"codeExecution": {}, "functionDeclarations": [function]}]}),
            "codeExecution",
            "codeExecution",
        ),
    ];
    for (document, name, kind) in documents {
        let read = ToolDocument::parse(&document.to_string()).unwrap();
        for dialect in ["openai-chat", "openai-responses", "anthropic", "gemini", "mcp"] {
            let translator = Translator::new(&Dialects::builtin(), dialect, Options::default()).unwrap();
            let tools = translator.translate(&read.tools).tools;
            let (own, functions): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| tool.quarantine.is_some());
            let reason = format!(
                "it is a `{kind}` tool of its provider, not a function, and other providers have none"
            );
            let left_out: Vec<_> =
                own.iter().map(|tool| (tool.name, tool.quarantine.clone().unwrap())).collect();
            assert_eq!(left_out, [(name, reason)], "{dialect}: {document}");
            assert_eq!(
                functions.iter().map(|tool| tool.name).collect::<Vec<_>>(),
                ["t"],
                "{dialect}: {document}"
            );
        }
    }
    // A function needs no parameters, and a tool needs no type.
    for tool in [
        json!({"type": "function", "name": "t"}),
        json!({"name": "t"}),
        json!({"name": "t", "description": "d"}),
    ] {
        let document = ToolDocument::parse(&json!([tool]).to_string()).unwrap();
        assert!(document.tools[0].definition().is_ok(), "{tool}");
    }
    let schema_by_mistake = ToolDocument::parse(r#"[{"type":"object"}]"#).unwrap();
    assert!(schema_by_mistake.tools[0].definition().is_ok());
}
