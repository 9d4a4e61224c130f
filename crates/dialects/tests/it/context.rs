//! Tool lists as text.

use gateway_dialects::context::{
    Detail, group_by, render_context, render_groups, render_groups_within, render_resources,
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
fn tools_are_grouped_by_their_metadata() {
    let tools = tools();
    let tools: Vec<&Value> = tools.iter().collect();
    assert_eq!(
        render_groups(&group_by(&tools, "server"), Detail::Concise),
        "# Available Tools

## a

1. query_nodes(query*: string, limit: number, sort: array of object, any: any) - Query nodes from the graph

## Other

2. get_status() - Tool: get_status

*Parameters marked with * are required."
    );
    let alone = tools.get(1..).unwrap();
    assert!(!render_groups(&group_by(alone, "server"), Detail::Concise).contains("##"));
}

#[test]
fn types_are_those_that_a_model_chooses_among() {
    #[track_caller]
    fn check(schema: &Value, expected: &str) {
        let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": {"p": schema},
            "$defs": {"unit": {"type": "string", "enum": ["C", "F"], "description": "The unit."}}}});
        let text = render_context(&[&tool], Detail::Detailed);
        let line = text.lines().find_map(|line| line.strip_prefix("  - p: ")).unwrap();
        assert_eq!(line, expected);
    }
    check(
        &json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}),
        "string [default null]",
    );
    check(
        &json!({"anyOf": [{"$ref": "#/$defs/unit"}, {"type": "null"}]}),
        "string - The unit. [one of \"C\", \"F\"]",
    );
    check(&json!({"$ref": "#/$defs/unit", "description": "Own."}), "string - Own. [one of \"C\", \"F\"]");
    check(
        &json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
        "array of integer",
    );
    check(&json!({"type": ["integer", "null"], "minimum": 1}), "integer [at least 1]");
    check(&json!({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}), "string | integer");
    check(&json!({"enum": ["a", 1]}), "string | integer [one of \"a\", 1]");
    check(&json!({"type": "null"}), "null");
    check(&json!({"anyOf": [{"type": "string"}, {}]}), "any");
    check(&json!({"properties": {}}), "object");
}

#[test]
fn unions_that_multiply_are_not_all_looked_into() {
    let union = |next: usize| json!({"anyOf": vec![json!({"$ref": format!("#/$defs/d{next}")}); 50]});
    let mut definitions: serde_json::Map<String, Value> =
        (0..12).map(|level| (format!("d{level}"), union(level + 1))).collect();
    definitions.insert("d12".to_owned(), json!({"type": "string"}));
    let tool = json!({"name": "t", "inputSchema": {"type": "object",
        "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": definitions}});
    let text = render_context(&[&tool], Detail::Concise);
    assert!(text.contains("t(p: any)"), "{text}");
}

#[test]
fn a_text_keeps_to_its_bound() {
    let tools: Vec<Value> = (0..30)
        .map(|at| json!({"name": format!("tool_{at:02}"), "description": "Does something.", "rank": at % 3}))
        .collect();
    let all: Vec<&Value> = tools.iter().collect();
    let rank = |tool: &Value| usize::try_from(tool["rank"].as_u64().unwrap()).unwrap();
    for detail in [Detail::Concise, Detail::Standard, Detail::Detailed] {
        for groups in
            [group_by(&all, "server"), all.chunks(7).map(|part| ("G".to_owned(), part.to_vec())).collect()]
        {
            let whole = render_groups(&groups, detail);
            assert_eq!(render_groups_within(&groups, detail, whole.len(), rank), whole);
            let least = render_groups_within(&groups, detail, 0, rank);
            assert!(least.contains("30 more tools are not described here"), "{least}");
            for bytes in least.len()..whole.len() {
                let text = render_groups_within(&groups, detail, bytes, rank);
                assert!(text.len() <= bytes, "{} of {bytes}: {text}", text.len());
                let shown = all.iter().filter(|tool| text.contains(tool["name"].as_str().unwrap()));
                let ranks: Vec<usize> = shown.map(|tool| rank(tool)).collect();
                assert!(text.contains(&format!("{} more tool", 30 - ranks.len())), "{text}");
                // A heading may leave no room for a tool while another of its group fits.
                if groups.len() == 1 {
                    let least_shown = ranks.iter().min().copied().unwrap_or(2);
                    let higher = all.iter().filter(|tool| rank(tool) > least_shown).count();
                    assert_eq!(ranks.iter().filter(|rank| **rank > least_shown).count(), higher, "{text}");
                }
            }
        }
    }
    assert_eq!(render_groups_within(&[], Detail::Standard, 0, rank), "No tools available.");
}

#[test]
fn metadata_counts_with_a_prefix_and_among_annotations() {
    let tools = [
        json!({"name": "a", "_meta": {"example.com/importance": "high"}}),
        json!({"name": "b", "annotations": {"importance": "low"}}),
        json!({"name": "c"}),
    ];
    let all: Vec<&Value> = tools.iter().collect();
    let expected = [("high", &tools[0]), ("low", &tools[1]), ("Other", &tools[2])];
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
