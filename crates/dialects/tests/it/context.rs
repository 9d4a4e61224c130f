//! Tool lists as text.

use gateway_dialects::context::{
    Detail, ToolFilter, group_by, render_context, render_groups, render_resources, render_within,
};
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
fn filters_and_groups() {
    let tools = tools();
    let tools: Vec<&Value> = tools.iter().collect();
    let names = |chosen: Vec<&Value>| -> Vec<String> {
        chosen.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    for (filter, expected) in [
        (ToolFilter::default(), vec!["query_nodes", "get_status"]),
        (ToolFilter::by_names(&["get_*"]), vec!["get_status"]),
        (ToolFilter::by_names(&["*_*o*s"]), vec!["query_nodes"]),
        (ToolFilter::by_names(&["*", "x"]), vec!["query_nodes", "get_status"]),
        (ToolFilter::by_names(&["get"]), vec![]),
        (ToolFilter::by_categories(&["ops"]), vec!["get_status"]),
        (ToolFilter::by_servers(&["a", "b"]), vec!["query_nodes"]),
    ] {
        assert_eq!(names(filter.apply(&tools)), expected, "{filter:?}");
    }
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
fn importance_is_a_filter_like_any_other() {
    let tools = [
        json!({"name": "a", "_meta": {"example.com/importance": "high"}}),
        json!({"name": "b", "annotations": {"importance": "low"}}),
        json!({"name": "c"}),
    ];
    let all: Vec<&Value> = tools.iter().collect();
    assert_eq!(ToolFilter::by_importances(&["high", "medium"]).apply(&all), [&tools[0]]);
    assert_eq!(ToolFilter::by_importances(&["low"]).apply(&all), [&tools[1]]);
    assert_eq!(ToolFilter::default().apply(&all).len(), 3);
}

#[test]
fn a_limit_on_tokens_takes_detail_before_tools() {
    let tools: Vec<Value> = (0..20)
        .map(|number| {
            json!({"name": format!("tool_{number}"), "description": "Does it. At length.", "inputSchema": {"type": "object", "properties": {
                "a": {"type": "string", "description": "A long description of what this is for", "enum": ["x", "y"]}
            }}})
        })
        .collect();
    let all: Vec<&Value> = tools.iter().collect();
    let size = |text: &str| text.len().div_ceil(4);
    let detailed = render_context(&all, Detail::Detailed);
    let concise = render_context(&all, Detail::Concise);
    assert_eq!(render_within(&all, Detail::Detailed, size(&detailed)), detailed);
    assert_eq!(render_within(&all, Detail::Detailed, size(&concise)), concise);
    let short = render_within(&all, Detail::Detailed, size(&concise) - 40);
    assert!(size(&short) <= size(&concise) - 40 && short.contains("1. tool_0("), "{short}");
    assert!(short.ends_with(" more tools are not shown.)"), "{short}");
}

#[test]
fn resources_are_told_below_their_servers() {
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
