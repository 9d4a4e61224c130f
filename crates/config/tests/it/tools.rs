//! `tools` and `registry` of a configuration file.

use std::path::Path;

use gateway_config::{Endpoint, GatewayConfig, Problems, ToolHandler, UpstreamId, json_schema, parse};
use serde_json::{Value, json};

use crate::config::environment;

fn read(text: &str) -> Result<GatewayConfig, Problems> {
    parse(
        Path::new("gateway.json"),
        text,
        &environment(&[("TOKEN", "s3cret-token"), ("HOME", "/home/me")], &[]),
    )
}

/// What is wrong with a tool whose entry stands on the third line.
#[track_caller]
fn check_error(entry: &str, expected: &str) {
    let text = format!("{{\"servers\": {{}},\n\"tools\": {{\n\"x\": {entry}}}}}");
    assert_eq!(refused(&text), expected, "{entry}");
}

/// What is wrong with the tools that are left out.
#[track_caller]
fn refused(text: &str) -> String {
    let config = read(text).unwrap_or_else(|errors| panic!("{errors}"));
    let problems: Vec<String> =
        config.registry.refused.iter().map(|refused| refused.problem.to_string()).collect();
    problems.join("\n")
}

const WHOLE: &str = r#"{
    // no servers are needed beside tools
    "tools": {
        "order": {
            "title": "Order", "description": "Costs ${nothing}", "annotations": {"readOnlyHint": true}, "timeout": "5s",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "handler": {"url": "http://127.0.0.1:9000/x", "headers": {"authorization": "Bearer ${TOKEN}"}, "maxBytes": "1KB"},
        },
        "history": {
            "inputSchema": {"type": "object", "properties": {"path": {}, "author": {}}},
            "handler": {
                "command": "~/bin/git", "args": ["log", ["--author", "{author}"], "--", "{path}"], "cwd": "~/src",
                "env": {"GIT_PAGER": "cat"}, "stdin": "json",
            },
        },
    },
    "registry": {"name": "own", "maxTools": 5, "maxDefinitionBytes": "8KB", "allowPrivate": true},
}"#;

#[test]
fn a_schema_is_read_under_each_of_its_names() {
    for name in ["inputSchema", "input_schema", "parameters", "paramSchema"] {
        let text = format!(
            r#"{{"tools": {{"t": {{"{name}": {{"type": "object", "properties": {{"param": {{"type": "string"}}}}}}, "handler": {{"command": "cat", "args": ["{{param}}"]}}}}}}}}"#
        );
        let config = read(&text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(config.warnings, [], "{name}");
        let [tool] = &config.registry.tools[..] else { panic!("{name}: {:?}", config.registry) };
        let definition: Value = tool.definition.read().unwrap();
        assert_eq!(definition["inputSchema"]["properties"], json!({"param": {"type": "string"}}), "{name}");
    }
}

#[test]
fn tools_are_read() {
    let config = read(WHOLE).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.warnings, []);
    let [server] = &config.servers[..] else { panic!("{:?}", config.servers) };
    assert_eq!((&server.id, &server.endpoint), (&UpstreamId::new("own"), &Endpoint::Registry));
    assert!(config.settings.is_empty(), "the service has nothing of it");
    let registry = &config.registry;
    assert_eq!(
        (registry.max_tools, registry.max_definition_bytes, registry.allow_private),
        (5, 8 << 10, true)
    );
    let [order, history] = &registry.tools[..] else { panic!("{registry:?}") };
    assert_eq!(order.timeout.as_secs(), 5);
    let definition: Value = order.definition.read().unwrap();
    assert_eq!(definition["description"], "Costs ${nothing}", "a definition means what it says");
    assert!(
        matches!(&order.handler, ToolHandler::Endpoint(endpoint) if endpoint.shown_url() == "http://127.0.0.1:9000/x")
    );
    assert_eq!(history.name, "history");
    assert!(matches!(history.handler, ToolHandler::Command(_)), "{history:?}");
    assert!(format!("{history:?}").contains("/home/me/bin/git"), "{history:?}");
    assert!(!format!("{config:?}").contains("s3cret"), "secrets are not shown");
}

#[test]
fn problems_have_their_location() {
    let at = |field: &str, message: &str| format!("gateway.json:3: tools.x{field}: {message}");
    check_error("{}", &at("", "Tool \"x\": needs a \"handler\" with \"url\" or \"command\""));
    check_error("5", &at("", "must be an object"));
    check_error(
        r#"{"handler": {}}"#,
        &at(".handler", "Tool \"x\": the handler needs \"url\" or \"command\""),
    );
    check_error(
        r#"{"handler": {"url": "http://a", "command": "b"}}"#,
        &at(".handler.command", "has \"url\" beside it; keep one of them"),
    );
    check_error(
        r#"{"handler": {"url": "ftp://a"}}"#,
        &at(".handler.url", "the address must begin with http:// or https://"),
    );
    check_error(
        r#"{"handler": {"url": "http://a", "headers": {"b c": "d"}}}"#,
        &(at(".handler.headers.b c", "is no name of a header")
            + "\n"
            + &at(".handler.headers", "`b c` is no name of a header")),
    );
    check_error(
        r#"{"handler": {"url": "http://${NOT_SET}/"}}"#,
        &(at(".handler.url", "variable `NOT_SET` is not set; set it, or give a default: `${NOT_SET:-...}`")),
    );
    check_error(
        r#"{"handler": {"command": "c", "env": {"LD_PRELOAD": "x.so"}}}"#,
        &at(
            ".handler.env.LD_PRELOAD",
            "Tool \"x\": variable LD_PRELOAD is refused: it can load a library into the server. \
             If you mean it, name it in \"allowUnsafeEnv\"",
        ),
    );
    check_error(
        r#"{"handler": {"command": "{c}"}}"#,
        &at(".handler.command", "must be the program itself; values go into \"args\""),
    );
    check_error(
        r#"{"handler": {"command": "c", "args": ["{nobody}"]}}"#,
        &at(".handler.args", "`{nobody}` is no property of \"inputSchema\"; `{{` is a brace"),
    );
    check_error(
        r#"{"handler": {"command": "c", "args": ["-{v}"]}, "inputSchema": {"properties": {"v": {}}}}"#,
        &at(".handler.args", "`-{v}` lets `v` choose the option; write the option out"),
    );
    check_error(
        r#"{"handler": {"command": "c", "args": "a b"}}"#,
        &at(".handler.args", "must be a list of texts, or of lists of texts that belong together"),
    );
    check_error(
        r#"{"handler": {"command": "c", "stdin": "yaml"}}"#,
        &at(".handler.stdin", "must be one of \"none\", \"json\""),
    );
    check_error(
        r#"{"handler": {"command": "c"}, "inputSchema": {"type": "array"}}"#,
        &at(".inputSchema", "must describe an object: its `type` must be \"object\""),
    );
    check_error(
        r#"{"handler": {"command": "c"}, "timeout": "2h"}"#,
        &at(".timeout", "must be an hour at most"),
    );
    check_error("null", &at("", "must be an object"));
    check_error(r#"{"handler": {"command": " "}}"#, &at("", "Tool \"x\": the handler is empty"));
    let errors = refused("{\"tools\": {\"a b\": {\"handler\": {\"command\": \"c\"}}}}");
    assert!(errors.contains("Tool \"a b\": `a b` is no name of a tool"), "{errors}");
}

#[test]
fn fields_of_the_other_kind_of_handler_are_unknown() {
    for (handler, fields) in [
        (
            r#"{"url": "http://a", "env": [], "stdin": 1}"#,
            ["tools.x.handler.env", "tools.x.handler.stdin"].as_slice(),
        ),
        (r#"{"command": "c", "headers": 1}"#, &["tools.x.handler.headers"]),
    ] {
        let text = format!(r#"{{"tools": {{"x": {{"handler": {handler}}}}}}}"#);
        assert_eq!(refused(&text), "", "{handler}");
        let warnings = read(&text).unwrap().warnings;
        let found: Vec<&str> = warnings.iter().map(|warning| warning.field.as_str()).collect();
        assert_eq!(found, fields, "{handler}");
    }
}

#[test]
fn a_wrong_tool_leaves_the_others_alone() {
    let text = r#"{"registry": {"maxDefinitionBytes": 200}, "tools": {
        "good": {"handler": {"command": "c"}},
        "handlerless": {"description": "x"},
        "elsewhere": {"handler": {"url": "ftp://a"}},
        "a b": {"handler": {"command": "c"}},
        "long": {"handler": {"command": "c"}, "description": "DESCRIPTION"}}}"#
        .replace("DESCRIPTION", &"x".repeat(300));
    let config = read(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let names: Vec<&str> = config.registry.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let refused: Vec<(&str, Option<usize>)> =
        config.registry.refused.iter().map(|refused| (refused.name.as_str(), refused.problem.line)).collect();
    let expected = [("handlerless", Some(3)), ("elsewhere", Some(4)), ("a b", Some(5)), ("long", Some(6))];
    assert_eq!(refused, expected);
    // Where nothing can be used at all, everything is told.
    let text = "{\"servers\": {\"s\": {}}, \"tools\": {\"x\": {}}}";
    assert_eq!(read(text).map(|_| ()).unwrap_err().errors.len(), 2);
}

const RESOURCES: &str = r#"{"resources": [
    {"uri": "notes://today", "name": "today", "mimeType": "text/plain", "text": "hello"},
    {"uriTemplate": "notes://{day}", "name": "notes", "text": "notes of {day}"},
    {"uri": "dot://1", "name": "dot", "blob": "aGk="}]}"#;

#[test]
fn resources_are_read() {
    let config = read(RESOURCES).unwrap_or_else(|errors| panic!("{errors}"));
    let [server] = &config.servers[..] else { panic!("{:?}", config.servers) };
    assert_eq!(server.endpoint, Endpoint::Registry);
    assert!(config.settings.is_empty(), "the service has nothing of it");
    let uris: Vec<&str> =
        config.registry.resources.iter().map(|resource| resource.definition.uri.as_str()).collect();
    assert_eq!(uris, ["notes://today", "notes://{day}", "dot://1"]);
    let wrong = "{\"resources\": [\n{\"uri\": \"n://1\", \"name\": \"x\"},\n5]}";
    let errors = read(wrong).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        errors,
        "gateway.json:2: resources.0.text: `text` or `blob` is missing: what the resource holds\n\
         gateway.json:3: resources.1: must be an object"
    );
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    let document = gateway_config::jsonc::Document::parse(RESOURCES).unwrap();
    assert!(schema.is_valid(&document.value));
}

#[test]
fn names_and_bounds_are_kept() {
    let taken = "{\"servers\": {\"registry\": {\"command\": \"c\"}}, \"tools\": {\"x\": {\"handler\": {\"command\": \"c\"}}}}";
    let errors = read(taken).map(|_| ()).unwrap_err().to_string();
    assert!(errors.contains("set \"registry.name\""), "{errors}");
    let many = "{\"registry\": {\"maxTools\": 1}, \"tools\": {\"x\": {\"handler\": {\"command\": \"c\"}}, \"y\": {\"handler\": {\"command\": \"c\"}}}}";
    assert!(read(many).map(|_| ()).unwrap_err().to_string().contains("has more than 1 tools"));
    let warnings = read(
        "{\"tools\": {\"x\": {\"handler\": {\"command\": \"c\", \"cmd\": 1}, \"descripton\": \"\"}}, \"registry\": {\"size\": 1}}",
    );
    let warnings: Vec<String> =
        warnings.unwrap().warnings.iter().map(|warning| warning.field.clone()).collect();
    assert_eq!(warnings, ["registry.size", "tools.x.descripton", "tools.x.handler.cmd"]);
}

#[test]
fn the_published_schema_knows_them() {
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    let document = gateway_config::jsonc::Document::parse(WHOLE).unwrap();
    assert!(schema.is_valid(&document.value), "{:?}", schema.iter_errors(&document.value).next());
    assert!(!schema.is_valid(&json!({"tools": {"x": {}}})), "a tool needs a handler");
    assert!(!schema.is_valid(&json!({"tools": {"x": {"handler": {"url": 5}}}})));
}

/// The fields that are warned about, for a command with these arguments and the parameter `x`.
fn warned(command: &str, args: &str) -> Vec<(String, String)> {
    let text = format!(
        r#"{{"tools": {{"t": {{"inputSchema": {{"properties": {{"x": {{}}}}}}, "handler": {{"command": "{command}", "args": {args}}}}}}}}}"#
    );
    let warnings = read(&text).unwrap().warnings;
    warnings.into_iter().map(|warning| (warning.field, warning.message)).collect()
}

#[test]
fn values_in_the_arguments_of_an_interpreter_are_warned_about() {
    let check = |command: &str, args: &str, interpreter: Option<&str>| {
        let expected: Vec<(String, String)> = interpreter
            .map(|name| {
                let message = format!(
                    "`{name}` may run what stands in its arguments as code, so that whoever calls could run anything; \
                     with \"stdin\": \"json\" and no placeholders the values are data"
                );
                ("tools.t.handler.args".to_owned(), message)
            })
            .into_iter()
            .collect();
        assert_eq!(warned(command, args), expected, "{command} {args}");
    };
    check("sh", r#"["-c", "grep {x} notes"]"#, Some("sh"));
    check("/bin/bash", r#"["script.sh", "{x}"]"#, Some("/bin/bash"));
    check("python3.12", r#"["-c", "print({x})"]"#, Some("python3.12"));
    check("docker", r#"["exec", "box", "sh", "-c", "{x}"]"#, Some("sh"));
    check("env", r#"["LD_PRELOAD={x}", "gawk5", "awk", "1"]"#, Some("awk"));
    check("sh", r#"["-c", "grep word notes"]"#, None);
    check("git", r#"["log", "--", "{x}"]"#, None);
    check("grep", r#"["sh{x}"]"#, None);
}
