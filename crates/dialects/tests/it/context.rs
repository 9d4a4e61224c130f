//! Tool lists as text.

use gateway_dialects::context::{Detail, group_by, render_context, render_groups, render_resources};
use serde_json::{Value, json};

fn tools() -> Vec<Value> {
    vec![
        json!({"name": "query_nodes", "description": "Query nodes from the graph. Slow.", "_meta": {"org.example/category": "graph", "server": "a"},
            "inputSchema": {"type": "object", "properties": {
                "query": {"type": "string", "description": "Search query", "minLength": 1},
                "limit": {"type": "number", "description": "Maximum results", "default": 10},
                "sort": {"type": "array", "items": {"$ref": "#/$defs/key"}},
                "any": {}},
            "required": ["query"],
            "$defs": {"key": {"type": "object", "properties": {
                "by": {"type": "string", "enum": ["name", "age"]}}, "required": ["by"]}}}}),
        json!({"name": "get_status", "inputSchema": {"type": "object", "properties": {}}, "annotations": {"category": "ops"}}),
    ]
}

#[track_caller]
fn check(tools: &[Value], detail: Detail, expected: &str) {
    let tools: Vec<&Value> = tools.iter().collect();
    assert_eq!(render_context(&tools, detail), expected);
}

#[test]
fn standard() {
    check(
        &tools(),
        Detail::Standard,
        "# Available Tools

1. **query_nodes**
Query nodes from the graph. Slow.
  - query*: string - Search query
  - limit: number - Maximum results
  - sort: array
  - any: any

2. **get_status**
Tool: get_status
  (no parameters)

*Parameters marked with * are required.",
    );
    check(&[], Detail::Standard, "No tools available.");
}

#[test]
fn concise() {
    check(
        &tools(),
        Detail::Concise,
        "# Available Tools

1. query_nodes(query*: string, limit: number, sort: array of object, any: any) - Query nodes from the graph
2. get_status() - Tool: get_status

*Parameters marked with * are required.",
    );
}

#[test]
fn detailed() {
    check(
        &tools(),
        Detail::Detailed,
        "# Available Tools

1. **query_nodes**
Query nodes from the graph. Slow.
  - query*: string - Search query [min length 1]
  - limit: number - Maximum results [default 10]
  - sort: array of object
    - by*: string [one of \"name\", \"age\"]
  - any: any

2. **get_status**
Tool: get_status
  (no parameters)

*Parameters marked with * are required.",
    );
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": {
        "a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#"}, "d": {"$ref": "#"}}}});
    let text = render_context(&[&tool], Detail::Detailed);
    assert!(text.lines().count() < 3000, "{}", text.lines().count());
}

#[test]
fn tools_are_grouped_by_their_metadata() {
    let tools = tools();
    let tools: Vec<&Value> = tools.iter().collect();
    assert_eq!(
        render_groups(&group_by(&tools, "server"), Detail::Concise),
        "# Available Tools

## a

1. query_nodes(query*: string, limit: number, sort: array of object, any: any) - Query nodes from the graph

2. get_status() - Tool: get_status

*Parameters marked with * are required."
    );
}

#[test]
fn metadata_counts_with_a_prefix_and_among_annotations() {
    let tools = [
        json!({"name": "a", "_meta": {"example.com/importance": "high"}}),
        json!({"name": "b", "annotations": {"importance": "low"}}),
        json!({"name": "c"}),
    ];
    let all: Vec<&Value> = tools.iter().collect();
    let expected = [("high", &tools[0]), ("low", &tools[1]), ("", &tools[2])];
    let expected: Vec<_> = expected.map(|(title, tool)| (title.to_owned(), vec![tool])).into();
    assert_eq!(group_by(&all, "importance"), expected);
}

#[test]
fn resources_stand_below_their_servers() {
    let resources = [
        json!({"uri": "file:///a", "name": "A", "description": "The first."}),
        json!({"uriTemplate": "file:///{x}"}),
    ];
    let groups = [
        ("files (connected)".to_owned(), resources.iter().collect::<Vec<&Value>>()),
        ("empty (idle)".to_owned(), Vec::new()),
    ];
    let expected = "# Available Resources\n\n## files (connected)\n\n- file:///a (A): The first.\n\
                    - file:///{x}: No description available";
    assert_eq!(render_resources(&groups), expected);
    assert_eq!(render_resources(&[]), "# Available Resources\n\nNo resources available.");
}
