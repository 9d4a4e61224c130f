//! Strict model servers refuse what providers refuse, in the providers' words.

use gateway_testkit::models::{Reply, Script, Wire, check_history};
use serde_json::{Value, json};

use crate::talk_models::{Client, ask_with, question, start_strict};

/// A good request with these members changed; `null` removes one.
fn changed(wire: Wire, change: &Value) -> Value {
    let mut body = question(wire, false).1;
    let object = body.as_object_mut().unwrap();
    for (key, value) in change.as_object().unwrap() {
        object.insert(key.clone(), value.clone());
    }
    object.retain(|_, value| !value.is_null());
    body
}

/// What a strict server says to a request with this change; `None` if it answers.
pub(crate) async fn refusal(wire: Wire, change: &Value) -> Option<String> {
    let server = start_strict(wire, Script::new().last(Reply::new().text("3."))).await;
    let answer = ask_with(&server, wire, false, &changed(wire, change)).await;
    if answer.status == 200 {
        return None;
    }
    assert!(matches!(answer.status, 400 | 422), "{}", answer.status);
    let body = answer.json();
    let detail = &body["message"]["detail"][0]["msg"];
    let text = [&body["error"]["message"], &body["error"], &body["message"], detail];
    Some(text.iter().find_map(|text| text.as_str()).unwrap_or_else(|| panic!("{body}")).to_owned())
}

pub(crate) async fn check_refusals(wire: Wire, cases: &[(Value, &str)]) {
    assert_eq!(refusal(wire, &json!({})).await, None, "{} refuses what is right", wire.name());
    for (change, words) in cases {
        let said = refusal(wire, change).await.unwrap_or_else(|| panic!("{} accepts {change}", wire.name()));
        assert!(said.contains(words), "{}: {change}: {said}", wire.name());
    }
}

/// A change that offers one function with this schema.
pub(crate) fn offer(wire: Wire, name: &str, schema: &Value) -> Value {
    let function = json!({"name": name, "description": "d", "parameters": schema});
    match wire {
        Wire::Chat | Wire::Dial | Wire::Argo | Wire::Ollama | Wire::Mistral | Wire::Cohere => {
            json!({"tools": [{"type": "function", "function": function}]})
        }
        Wire::Converse => {
            json!({"toolConfig": {"tools": [{"toolSpec": {"name": name, "description": "d", "inputSchema": {"json": schema}}}]}})
        }
        Wire::Functions => json!({"functions": [function]}),
        Wire::Responses => {
            json!({"tools": [{"type": "function", "name": name, "parameters": schema, "strict": false}]})
        }
        Wire::Messages => json!({"tools": [{"name": name, "description": "d", "input_schema": schema}]}),
        Wire::GenerateContent => json!({"tools": [{"functionDeclarations": [function]}]}),
    }
}

pub(crate) fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[tokio::test]
async fn every_wire_accepts_a_plain_tool() {
    for wire in Wire::ALL.iter().copied() {
        let tool = offer(
            wire,
            "add",
            &json!({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}),
        );
        assert_eq!(refusal(wire, &tool).await, None, "{}", wire.name());
    }
}

#[tokio::test]
async fn openai_refuses_names_and_schemas() {
    let chat = |name: &str, schema: &Value| offer(Wire::Chat, name, schema);
    let strict = |schema: Value| json!({"tools": [{"type": "function", "function": {"name": "add", "strict": true, "parameters": schema}}]});
    let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    check_refusals(
        Wire::Chat,
        &[
            (json!({"tools": []}), "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."),
            (chat("a.b", &object(&json!({}))), "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."),
            (chat(&"a".repeat(65), &object(&json!({}))), "string too long. Expected a string with maximum length 64, but got a string with length 65 instead."),
            (chat("add", &json!({"type": "string"})), "Invalid schema for function 'add': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'."),
            (chat("add", &json!({})), "got 'type: \"None\"'."),
            (chat("add", &Value::Null), "Invalid schema for function 'add': None is not of type 'object', 'boolean'."),
            (chat("add", &json!({"type": "object"})), "In context=(), object schema missing properties."),
            (chat("add", &json!({"type": "object", "properties": {}, "oneOf": []})), "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."),
            (chat("add", &object(&json!({"tags": {"type": "array"}}))), "In context=('properties', 'tags'), array schema missing items."),
            (chat("add", &object(&json!({"type": "object"}))), "'object' is not of type 'object', 'boolean'."),
            (strict(object(&json!({}))), "In context=(), 'additionalProperties' is required to be supplied and to be false."),
            (strict(closed(json!({"a": {"type": "number"}}), json!([]))), "In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'a'."),
            (strict(closed(json!({"a": {"type": "number"}}), json!(["a", "b"]))), "Extra required key 'b' supplied."),
            (strict(closed(json!({"a": {"oneOf": []}}), json!(["a"]))), "In context=('properties', 'a'), 'oneOf' is not permitted."),
            (strict(closed(json!({"a": {}}), json!(["a"]))), "In context=('properties', 'a'), schema must have a 'type' key."),
            (json!({"tool_choice": "auto"}), "'tool_choice' is only allowed when 'tools' are specified."),
            (json!({"stream_options": {"include_usage": true}}), "The 'stream_options' parameter is only allowed when 'stream' is enabled."),
            (json!({"model": "o3-mini", "temperature": 0}), "Unsupported parameter: 'temperature' is not supported with this model."),
            (json!({"model": "gpt-5", "temperature": 0.2}), "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."),
            (json!({"model": "o1", "max_tokens": 5}), "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
            (json!({"model": null}), "you must provide a model parameter"),
        ],
    )
    .await;
    // Unknown keywords, and those that only strict schemas may not have, are read over.
    let loose = object(
        &json!({"a": {"type": "string", "x-mine": 1, "oneOf": [{}], "default": 1}, "default": {"type": "string"}}),
    );
    assert_eq!(refusal(Wire::Chat, &chat("add", &loose)).await, None);
    let right = closed(json!({"a": {"type": ["string", "null"]}}), json!(["a"]));
    assert_eq!(refusal(Wire::Chat, &strict(right)).await, None);
    let many: Vec<Value> = (0..129)
        .map(|index| json!({"type": "function", "function": {"name": format!("t{index}")}}))
        .collect();
    assert!(refusal(Wire::Chat, &json!({"tools": many})).await.unwrap().contains("array too long"));
}

#[tokio::test]
async fn openai_refuses_what_its_checkers_refuse() {
    let chat = |properties: Value| offer(Wire::Chat, "add", &object(&properties));
    let mut twice = chat(json!({}));
    let tool = twice["tools"][0].clone();
    twice["tools"].as_array_mut().unwrap().push(tool.clone());
    let (mut noted, mut other) = (tool.clone(), tool);
    noted["function"]["annotations"] = json!({});
    other["type"] = json!("func");
    check_refusals(
        Wire::Chat,
        &[
            (chat(json!({"a": {"type": "strng"}})), "Invalid schema for function 'add': \"strng\" is not"),
            (chat(json!({"a": {"$ref": "#/$defs/A"}})), "reference to undefined schema '#/$defs/A'."),
            (chat(json!({"a": {"$ref": "https://example.com/a.json"}})), "reference to undefined schema"),
            (chat(json!({"a": {"pattern": "^\\p{L}+$"}})), "'^\\p{L}+$' is not a 'regex'."),
            (chat(json!({"a": {"pattern": "(?<year>\\d)"}})), "is not a 'regex'."),
            (twice, "duplicate function name 'add'."),
            (json!({"tools": [noted]}), "Unknown parameter: 'tools[0].function.annotations'."),
            (
                json!({"tools": [other]}),
                "Invalid value: 'func'. Supported values are: 'function' and 'custom'.",
            ),
        ],
    )
    .await;
    let found = json!({"a": {"$ref": "#/properties/b%20c"}, "b c": {"$anchor": "d", "pattern": "^(?!\\d)\\w"}, "e": {"$ref": "#d"}});
    assert_eq!(refusal(Wire::Chat, &chat(found)).await, None);
    let thoughts = json!([{"role": "assistant", "content": "3", "reasoning_content": "Hm."}]);
    let body = |model: &str| json!({"model": model, "messages": thoughts});
    check(Wire::Chat, &body("gpt-4o"), "Unknown parameter: 'messages[0].reasoning_content'.");
    assert_eq!(check_history(Wire::Chat, &body("deepseek-reasoner")), Ok(()));
    let flagged =
        json!([chat_call(&["a"]), {"role": "tool", "tool_call_id": "a", "content": "3", "is_error": true}]);
    check(Wire::Chat, &json!({"messages": flagged}), "Unknown parameter: 'messages[1].is_error'.");
}

#[tokio::test]
async fn anthropic_refuses_what_its_grammar_cannot_say() {
    let strict = |properties: Value, required: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        json!({"tools": [{"name": "add", "strict": true, "input_schema": schema}]})
    };
    let recursive =
        json!({"type": "object", "properties": {"n": {"$ref": "#"}}, "additionalProperties": false});
    let many: Vec<Value> = (0..21).map(|index| json!({"name": format!("t{index}"), "strict": true, "input_schema": {"type": "object", "additionalProperties": false}})).collect();
    let optional: serde_json::Map<String, Value> =
        (0..25).map(|index| (format!("p{index}"), json!({"type": "string"}))).collect();
    check_refusals(
        Wire::Messages,
        &[
            (
                strict(json!({"a": {"type": "integer", "minimum": 1}}), json!(["a"])),
                "property 'minimum' is not supported",
            ),
            (
                strict(json!({"a": {"type": "object"}}), json!(["a"])),
                "'additionalProperties' must be explicitly set to false",
            ),
            (strict(json!({"a": {}}), json!(["a"])), "schemas without a type are not supported"),
            (
                json!({"tools": [{"name": "add", "strict": true, "input_schema": recursive}]}),
                "Recursive schemas are not supported",
            ),
            (json!({"tools": many}), "Too many strict tools (21)."),
            (strict(optional.into(), json!([])), "too many optional parameters (25)"),
            (
                offer(Wire::Messages, "add", &object(&json!({"a": {"type": "strng"}}))),
                "It must match JSON Schema draft 2020-12",
            ),
        ],
    )
    .await;
    let right = strict(json!({"a": {"type": ["string", "null"], "pattern": "^x"}}), json!([]));
    assert_eq!(refusal(Wire::Messages, &right).await, None);
}

#[tokio::test]
async fn argo_and_azure_refuse_defaults() {
    let schema = object(&json!({"a": {"anyOf": [{"type": "integer", "default": 1}]}}));
    check_refusals(
        Wire::Argo,
        &[(
            offer(Wire::Argo, "add", &schema),
            "In context=('properties', 'a', 'anyOf', '0'), 'default' is not permitted.",
        )],
    )
    .await;
    let named = object(&json!({"default": {"type": "string"}}));
    assert_eq!(
        refusal(Wire::Argo, &offer(Wire::Argo, "add", &named)).await,
        None,
        "a property may be called so"
    );
    assert_eq!(refusal(Wire::Dial, &offer(Wire::Dial, "add", &schema)).await, None);
    let strict = json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}, "required": ["a"], "additionalProperties": false});
    let strict = json!({"tools": [{"type": "function", "function": {"name": "add", "strict": true, "parameters": strict}}]});
    check_refusals(Wire::Dial, &[(strict, "'default' is not permitted.")]).await;
}

#[tokio::test]
async fn azure_wants_a_version() {
    let server = start_strict(Wire::Dial, Script::new().last(Reply::new().text("3."))).await;
    let (path, body) = question(Wire::Dial, false);
    let bare = path.split('?').next().unwrap();
    for (path, status) in [(path.as_str(), 200), (bare, 404)] {
        let line = format!("POST {path}");
        let client = Client::send(server.address(), &line, &[], &body.to_string()).await.unwrap();
        assert_eq!(client.answer().await.unwrap().status, status, "{path}");
    }
}

#[tokio::test]
async fn ollamas_chat_completions_have_not_openais_rules() {
    let server = start_strict(Wire::Ollama, Script::new().last(Reply::new().text("3."))).await;
    let mut body = json!({"model": "llama3.2", "messages": [{"role": "user", "content": "1"}], "tools": []});
    for status in [200, 400] {
        let line = "POST /v1/chat/completions";
        let client = Client::send(server.address(), line, &[], &body.to_string()).await.unwrap();
        assert_eq!(client.answer().await.unwrap().status, status);
        body["messages"] = json!([chat_call(&["call_1"])]);
    }
}

#[tokio::test]
async fn responses_refuse_the_other_apis_members() {
    check_refusals(
        Wire::Responses,
        &[
            (json!({"messages": []}), "Unknown parameter: 'messages'."),
            (
                json!({"stream_options": {"include_usage": true}}),
                "Unknown parameter: 'stream_options.include_usage'.",
            ),
            (json!({"max_output_tokens": 5}), "Expected a value >= 16, but got 5 instead."),
            (offer(Wire::Chat, "add", &object(&json!({}))), "Missing required parameter: 'tools[0].name'."),
            (json!({"input": null}), "Missing required parameter: 'input'."),
        ],
    )
    .await;
}

#[tokio::test]
async fn anthropic_refuses() {
    let offer = |name: &str, schema: &Value| offer(Wire::Messages, name, schema);
    let mut twice = offer("add", &object(&json!({})));
    let tool = twice["tools"][0].clone();
    twice["tools"].as_array_mut().unwrap().push(tool);
    check_refusals(
        Wire::Messages,
        &[
            (json!({"max_tokens": null}), "max_tokens: Field required"),
            (json!({"n": 1}), "n: Extra inputs are not permitted"),
            (offer("a.b", &object(&json!({}))), "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
            (offer("add", &json!({})), "tools.0.custom.input_schema.type: Field required"),
            (self::offer(Wire::Chat, "add", &object(&json!({}))), "tools.0: Input tag 'function' found using 'type' does not match any of the expected tags"),
            (offer("add", &json!({"type": "object", "anyOf": []})), "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"),
            (offer("add", &object(&json!({"a b": {}}))), "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"),
            (json!({"tools": [{"name": "add", "input_schema": {"type": "object"}, "annotations": {}}]}), "tools.0.custom.annotations: Extra inputs are not permitted"),
            (twice, "tools: Tool names must be unique."),
            (
                json!({"messages": [
                    {"role": "user", "content": "1"},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "add", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "1"}]},
                ]}),
                "Requests which include `tool_use` or `tool_result` blocks must define tools.",
            ),
        ],
    )
    .await;
    let server = start_strict(Wire::Messages, Script::new()).await;
    let body = question(Wire::Messages, false).1.to_string();
    let client = Client::send(server.address(), "POST /v1/messages", &[], &body).await.unwrap();
    assert_eq!(
        client.answer().await.unwrap().json()["error"]["message"],
        "anthropic-version: header is required"
    );
}

#[tokio::test]
async fn gemini_refuses() {
    let offer = |schema: &Value| offer(Wire::GenerateContent, "add", schema);
    check_refusals(
        Wire::GenerateContent,
        &[
            (json!({"messages": []}), "Invalid JSON payload received. Unknown name \"messages\": Cannot find field."),
            (
                offer(&object(&json!({"x": {"type": "string"}, "a": {"type": "string", "const": "b"}}))),
                "Invalid JSON payload received. Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[1].value': Cannot find field.",
            ),
            (offer(&object(&json!({"a": {"type": ["string", "null"]}}))), "Unknown name \"type\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Proto field is not repeating, cannot start list."),
            (offer(&object(&json!({}))), "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type"),
            (offer(&object(&json!({"tags": {"type": "array"}}))), "parameters.properties[tags].items: missing field."),
            (offer(&object(&json!({"a": {"type": "integer", "enum": ["1"]}}))), "properties[a].enum: only allowed for STRING type"),
            (offer(&object(&json!({"a": {"type": "string", "enum": [1]}}))), "properties[0].value.enum[0]' (TYPE_STRING), 1"),
            (offer(&object(&json!({"a": {"type": "string", "format": "uri"}}))), "only 'enum' and 'date-time' are supported for STRING type"),
            (offer(&json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]})), "parameters.required[0]: property is not defined"),
            (json!({"tools": [{"functionDeclarations": [{"name": "1a"}]}]}), "Invalid function name. Must start with a letter or an underscore."),
            (json!({"tools": [{"functionDeclarations": [{"name": "a", "strict": true}]}]}), "Unknown name \"strict\" at 'tools[0].function_declarations[0]'"),
        ],
    )
    .await;
    let json_schema = |schema: Value| json!({"tools": [{"functionDeclarations": [{"name": "a", "parametersJsonSchema": schema}]}]});
    let defined = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "type": "string"}}, "$defs": {"A": {}}});
    check_refusals(
        Wire::GenerateContent,
        &[
            (json_schema(object(&json!({"a": {"$ref": "#/$defs/A"}}))), "reference to undefined schema '#/$defs/A'"),
            (json_schema(object(&json!({"a": {"$ref": "#/definitions/A"}}))), "reference to undefined schema: #/definitions/A"),
            (json_schema(defined), "`$ref` was set alongside unsupported fields: type."),
            (json_schema(json!({"type": "string"})), "schema should be of type object"),
            (json!({"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "a"}]}]}), "Duplicate function declaration found: a"),
            (offer(&object(&json!({"a": {"type": "strng"}}))), "v1beta.Type), \"strng\""),
            (json!({"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "a", "output": {}}}]}]}), "Unknown name \"output\" at 'contents[0].parts[0].function_response'"),
        ],
    )
    .await;
    // Google's older SDK writes enums as numbers.
    let numbered = json!({"type": 6, "properties": {"a": {"type": 1, "format": "enum", "enum": ["b"]}}});
    assert_eq!(refusal(Wire::GenerateContent, &offer(&numbered)).await, None);
    check_refusals(
        Wire::GenerateContent,
        &[
            (offer(&object(&json!({"a": {"type": 5}}))), "properties[a].items: missing field."),
            (offer(&object(&json!({"a": {"type": 8}}))), "v1beta.Type), 8"),
        ],
    )
    .await;
    let other_door = json!({"tools": [{"functionDeclarations": [{"name": "a", "parametersJsonSchema": {"type": "object", "const": 1}}]}]});
    assert_eq!(refusal(Wire::GenerateContent, &other_door).await, None);
}

#[tokio::test]
async fn ollama_refuses_what_its_types_cannot_hold() {
    check_refusals(
        Wire::Ollama,
        &[
            (json!({"model": null}), "model is required"),
            (offer(Wire::Ollama, "add", &object(&json!({"a": true}))), "json: cannot unmarshal bool into Go struct field"),
            (offer(Wire::Ollama, "add", &object(&json!({"a": {"anyOf": [true]}}))), "json: cannot unmarshal bool into Go struct field"),
            (offer(Wire::Ollama, "add", &json!({"type": ["object"]})), "cannot unmarshal array into Go struct field .tools.function.parameters.type of type string"),
            (offer(Wire::Ollama, "add", &object(&json!({"a": {"$ref": "#/$defs/A"}}))), "a reference is lost here"),
            (json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "1"}]}]}), "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string"),
        ],
    )
    .await;
}

#[track_caller]
pub(crate) fn check(wire: Wire, body: &Value, words: &str) {
    let said = check_history(wire, body).unwrap_err();
    assert!(said.contains(words), "{}: {said}", wire.name());
}

fn chat_call(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": "{}"}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn chat_result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "3"})
}

#[test]
fn conversations_of_chat_completions_pair_calls_and_results() {
    let user = json!({"role": "user", "content": "1 + 2?"});
    let body = |messages: &[&Value]| json!({"model": "gpt-4o", "messages": messages});
    let (two, one) = (chat_call(&["call_1", "call_2"]), chat_call(&["call_1"]));
    let (first, second) = (chat_result("call_1"), chat_result("call_2"));
    assert_eq!(
        check_history(Wire::Chat, &body(&[&user, &two, &second, &first, &user, &one, &first])),
        Ok(())
    );
    let unanswered = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_2";
    for messages in
        [vec![&user, &two, &first], vec![&user, &two, &first, &user], vec![&two, &first, &one, &first]]
    {
        check(Wire::Chat, &body(&messages), unanswered);
    }
    check(
        Wire::Chat,
        &body(&[&user, &first]),
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    );
    check(Wire::Chat, &body(&[&one, &first, &user, &first]), "must be a response to a preceeding message");
    check(
        Wire::Chat,
        &body(&[&one, &second]),
        "'tool_call_id' of 'call_2' not found in 'tool_calls' of previous message.",
    );
    check(Wire::Chat, &body(&[&one, &first, &first]), "Duplicate value for 'tool_call_id' of 'call_1'");
    check(Wire::Chat, &body(&[&chat_call(&[])]), "Invalid 'messages[0].tool_calls': empty array.");
    check(
        Wire::Chat,
        &body(&[&json!({"role": "assistant", "content": null})]),
        "Invalid value for 'content': expected a string, got null.",
    );
    check(Wire::Chat, &body(&[]), "Invalid 'messages': empty array.");
    check(
        Wire::Chat,
        &body(&[&json!({"role": "model", "content": "1"})]),
        "Invalid value: 'model'. Supported values are",
    );
    let image = json!({"role": "tool", "tool_call_id": "call_1", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]});
    check(Wire::Chat, &body(&[&one, &image]), "this message with role 'tool' contains an image URL.");
    let mut object = one.clone();
    object["tool_calls"][0]["function"]["arguments"] = json!({});
    check(
        Wire::Chat,
        &body(&[&object, &first]),
        "Invalid type for 'messages[0].tool_calls[0].function.arguments': expected a string, but got an object instead.",
    );
}

#[test]
fn mistral_has_its_own_ids_and_words() {
    let body = |messages: &[Value]| json!({"model": "mistral-large-latest", "messages": messages});
    let id = "abc123XYZ";
    assert_eq!(check_history(Wire::Chat, &body(&[chat_call(&[id]), chat_result(id)])), Ok(()));
    check(
        Wire::Chat,
        &body(&[chat_call(&["call_1"]), chat_result("call_1")]),
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    );
    check(Wire::Chat, &body(&[chat_call(&[id])]), "Not the same number of function calls and responses");
}

#[tokio::test]
async fn mistrals_errors_are_flat() {
    let server = start_strict(Wire::Chat, Script::new()).await;
    let body =
        json!({"model": "codestral-latest", "messages": [chat_call(&["call_1"]), chat_result("call_1")]});
    assert_eq!(
        ask_with(&server, Wire::Chat, false, &body).await.json(),
        json!({
            "object": "error", "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            "type": "invalid_function_call", "param": null, "code": "3280",
        })
    );
}

#[test]
fn conversations_with_functions_pair_by_name() {
    let body = |messages: &[&Value]| json!({"messages": messages});
    let call =
        json!({"role": "assistant", "content": null, "function_call": {"name": "add", "arguments": "{}"}});
    let result = json!({"role": "function", "name": "add", "content": "3"});
    assert_eq!(check_history(Wire::Functions, &body(&[&call, &result, &call, &result])), Ok(()));
    check(Wire::Functions, &body(&[&call]), "the call of the function `add` is followed by no result");
    check(Wire::Functions, &body(&[&result]), "the result of the function `add` follows no call of it");
    check(
        Wire::Functions,
        &body(&[&call, &json!({"role": "function", "content": "3"})]),
        "messages with role 'function' must have a 'name'.",
    );
    check(
        Wire::Functions,
        &body(&[&chat_call(&["call_1"]), &chat_result("call_1")]),
        "a conversation with functions has no tools",
    );
}

#[test]
fn conversations_of_responses_pair_by_call_id() {
    let body = |input: &[&Value]| json!({"input": input});
    let user = json!({"role": "user", "content": "1 + 2?"});
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let call =
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "call_1", "output": "3"});
    assert_eq!(check_history(Wire::Responses, &body(&[&user, &thought, &call, &result])), Ok(()));
    assert_eq!(check_history(Wire::Responses, &json!({"input": "1 + 2?"})), Ok(()));
    let continued = json!({"input": [result], "previous_response_id": "resp_1"});
    assert_eq!(check_history(Wire::Responses, &continued), Ok(()));
    check(Wire::Responses, &body(&[&user, &call]), "No tool output found for function call call_1.");
    check(Wire::Responses, &body(&[&call, &user, &result]), "No tool output found for function call call_1.");
    check(
        Wire::Responses,
        &body(&[&user, &result]),
        "No tool call found for function call output with call_id call_1.",
    );
    check(
        Wire::Responses,
        &body(&[&call, &result, &result]),
        "No tool call found for function call output with call_id call_1.",
    );
    check(
        Wire::Responses,
        &body(&[&thought, &user]),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    );
    check(Wire::Responses, &body(&[&call, &result, &call, &result]), "Duplicate item found with id fc_1.");
    let mut other = call.clone();
    other["id"] = json!("call_1");
    check(
        Wire::Responses,
        &body(&[&other, &result]),
        "Invalid 'input[0].id': 'call_1'. Expected an ID that begins with 'fc'.",
    );
}

#[test]
fn conversations_of_messages_pair_in_the_next_message() {
    let body = |messages: &[&Value]| json!({"messages": messages});
    let user = json!({"role": "user", "content": "1 + 2?"});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "add", "input": {"a": 1}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "3"});
    let said = |blocks: &[Value]| json!({"role": "assistant", "content": blocks});
    let told = |blocks: &[Value]| json!({"role": "user", "content": blocks});
    let words = json!({"type": "text", "text": "And?"});
    let (one, answer) = (said(&[call("t1")]), told(&[result("t1"), words.clone()]));
    assert_eq!(check_history(Wire::Messages, &body(&[&user, &one, &answer])), Ok(()));
    let unanswered = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
    for messages in [vec![&user, &one], vec![&user, &one, &user], vec![&user, &one, &user, &answer]] {
        check(Wire::Messages, &body(&messages), unanswered);
    }
    check(Wire::Messages, &body(&[&user, &one, &told(&[words, result("t1")])]), unanswered);
    check(
        Wire::Messages,
        &body(&[&told(&[result("t1")])]),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    );
    check(
        Wire::Messages,
        &body(&[&user, &one, &told(&[result("t1"), result("t1")])]),
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: t1",
    );
    check(Wire::Messages, &body(&[&one, &answer]), "first message must use the \"user\" role");
    check(
        Wire::Messages,
        &body(&[&json!({"role": "system", "content": "s"})]),
        "messages: Unexpected role \"system\".",
    );
    check(
        Wire::Messages,
        &body(&[&told(&[json!({"type": "text", "text": ""})])]),
        "messages: text content blocks must be non-empty",
    );
    check(Wire::Messages, &body(&[&told(&[])]), "messages.0: all messages must have non-empty content");
    check(
        Wire::Messages,
        &body(&[&user, &said(&[call("t.1")])]),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    );
    let unsigned = said(&[json!({"type": "thinking", "thinking": "Hm.", "signature": ""}), call("t1")]);
    check(Wire::Messages, &body(&[&user, &unsigned, &answer]), "Invalid `signature` in `thinking` block");
    let mut thinking = body(&[&user, &one, &answer]);
    thinking["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    check(
        Wire::Messages,
        &thinking,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    );
}

#[test]
fn conversations_of_gemini_pair_by_turn() {
    let body = |contents: &[&Value]| json!({"model": "gemini-2.5-flash", "contents": contents});
    let user = json!({"role": "user", "parts": [{"text": "1 + 2?"}]});
    let call = json!({"role": "model", "parts": [{"functionCall": {"name": "add", "args": {}}}, {"functionCall": {"name": "now"}}]});
    let response = |name: &str| json!({"functionResponse": {"name": name, "response": {"output": 3}}});
    let both = json!({"role": "user", "parts": [response("now"), response("add")]});
    assert_eq!(check_history(Wire::GenerateContent, &body(&[&user, &call, &both])), Ok(()));
    let count = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    check(Wire::GenerateContent, &body(&[&user, &call]), count);
    check(
        Wire::GenerateContent,
        &body(&[&user, &call, &json!({"role": "user", "parts": [response("add")]})]),
        count,
    );
    check(
        Wire::GenerateContent,
        &body(&[&user, &both]),
        "Please ensure that function response turn comes immediately after a function call turn.",
    );
    check(
        Wire::GenerateContent,
        &body(&[&call, &both]),
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    );
    let wrong = json!({"role": "user", "parts": [response("add"), response("add")]});
    check(
        Wire::GenerateContent,
        &body(&[&user, &call, &wrong]),
        "the function response `add` answers no function call of the turn before it",
    );
    let text = json!({"role": "user", "parts": [{"functionResponse": {"name": "add", "response": "3"}}]});
    check(
        Wire::GenerateContent,
        &body(&[&user, &text]),
        "Invalid value at 'contents[1].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), \"3\"",
    );
    check(
        Wire::GenerateContent,
        &body(&[&json!({"role": "assistant", "parts": [{"text": "1"}]})]),
        "Please use a valid role: user, model.",
    );
    check(
        Wire::GenerateContent,
        &body(&[&json!({"role": "user", "parts": []})]),
        "contents[0].parts: contents.parts must not be empty.",
    );
}

#[test]
fn gemini_3_wants_its_signatures_back() {
    let user = json!({"role": "user", "parts": [{"text": "1 + 2?"}]});
    let call = |signature: Value| {
        let mut part = json!({"functionCall": {"name": "add", "args": {}}});
        if !signature.is_null() {
            part["thoughtSignature"] = signature;
        }
        json!({"role": "model", "parts": [part]})
    };
    let result =
        json!({"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"output": 3}}}]});
    let body = |contents: &[&Value]| json!({"model": "gemini-3-pro", "contents": contents});
    let (signed, unsigned) = (call(json!("c2ln")), call(Value::Null));
    assert_eq!(check_history(Wire::GenerateContent, &body(&[&user, &signed, &result])), Ok(()));
    assert_eq!(
        check_history(Wire::GenerateContent, &body(&[&user, &unsigned, &result, &user])),
        Ok(()),
        "an earlier turn"
    );
    check(
        Wire::GenerateContent,
        &body(&[&user, &unsigned, &result]),
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:add` , position 2.",
    );
}

#[test]
fn conversations_of_ollama_pair_too() {
    let body = |messages: &[&Value]| json!({"messages": messages});
    let call = json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {}}}]});
    let result = json!({"role": "tool", "tool_name": "add", "content": "3"});
    assert_eq!(check_history(Wire::Ollama, &body(&[&call, &result, &call, &result])), Ok(()));
    check(Wire::Ollama, &body(&[&call]), "the call of `add` is followed by no result");
    check(Wire::Ollama, &body(&[&result]), "messages[0]: the result of `add` follows no call of it");
    check(
        Wire::Ollama,
        &body(&[&call, &json!({"role": "tool", "tool_name": "now", "content": "3"})]),
        "the result of `now` follows no call of it",
    );
    let text = json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": "{}"}}]});
    check(Wire::Ollama, &body(&[&text, &result]), "json: cannot unmarshal string into Go struct field");
    check(Wire::Ollama, &body(&[&json!({"role": "function", "content": "3"})]), "invalid role: function");
}
