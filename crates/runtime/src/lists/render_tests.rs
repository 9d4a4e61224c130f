//! Lists that cannot hold all tools, in a dialect that takes only some strict ones.

use gateway_dialects::dialect::Compat;
use gateway_dialects::{Dialects, Options};
use gateway_upstream::{CatalogueRules, Endpoint, UpstreamSpec, UpstreamTools};
use serde_json::{Value, json};

use super::*;
use crate::lists::MostTools;
use crate::scope::Scope;

/// The list of `tools` for `anthropic-strict`, of which the first is wanted most.
fn render_strict(tools: &[Value], most_tools: MostTools, most_tokens: Option<usize>) -> Rendered {
    let mut spec = UpstreamSpec::new("files", Endpoint::Demo);
    spec.tools.pin = vec![tools[0]["name"].as_str().unwrap().to_owned()];
    let tools: Vec<RawJson> = tools.iter().map(|tool| RawJson::of(tool).unwrap()).collect();
    let parts = [UpstreamTools { spec: &spec, tools: &tools }];
    let catalogue = Catalogue::build(1, &parts, &CatalogueRules::default());
    let chosen = (Some("anthropic-strict"), None, Compat::Auto);
    let mut request = ListRequest::in_dialect(Scope::All, chosen, Options::default());
    (request.most_tools, request.most_tokens) = (most_tools, most_tokens);
    let translator = Translator::new(&Dialects::builtin(), "anthropic-strict", Options::default()).unwrap();
    render(&request, &translator, Arc::new(catalogue), &LeftOutServers::new()).unwrap()
}

/// The names in the list, each with whether the tool is strict.
fn listed(list: &Rendered) -> Vec<(String, bool)> {
    let tools: Vec<Value> = serde_json::from_slice(&list.list()).unwrap();
    let shown = |tool: &Value| (tool["name"].as_str().unwrap().to_owned(), tool["strict"] == true);
    tools.iter().map(shown).collect()
}

fn tool(name: &str, properties: &Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

#[test]
fn tools_that_are_left_out_take_no_room_from_those_of_search() {
    let tools: Vec<Value> = (0..30).map(|number| tool(&format!("t{number}"), &json!({}))).collect();
    let list = render_strict(&tools, MostTools::Number(10), None);
    let strict: Vec<bool> = listed(&list).into_iter().map(|(_, strict)| strict).collect();
    assert_eq!((strict, list.omitted, list.not_strict), (vec![true; 10], 23, 0));
    assert!(list.finder.is_some());
}

#[test]
fn a_tool_that_is_too_long_takes_no_room_from_those_behind_it() {
    let words = "word ".repeat(200);
    let long = |number: usize| (format!("p{number}"), json!({"type": "string", "description": words}));
    let long = Value::Object((0..24).map(long).collect());
    let labels = json!({"labels": {"type": "object", "additionalProperties": {"type": "string"}}});
    let tools = [tool("long", &long), tool("label", &labels)];
    let whole = render_strict(&tools, MostTools::Unlimited, None);
    assert_eq!(listed(&whole), [("long".to_owned(), true), ("label".to_owned(), false)]);
    let list = render_strict(&tools, MostTools::Unlimited, Some(3_000));
    let [label, search @ ..] = listed(&list).try_into().map(|all: [_; 4]| all).unwrap();
    assert_eq!(label, ("label".to_owned(), true));
    assert!(search.iter().all(|(_, strict)| *strict), "{search:?}");
    assert!(list.tokens <= 3_000, "{}", list.tokens);
    // Calls are read in the form that the list shows.
    let plan = |list: &Rendered| list.tool("label").unwrap().1.clone();
    assert!(plan(&whole).is_identity() && !plan(&list).is_identity());
    let arguments = json!({"labels": {"a": "b"}});
    let encoded = plan(&list).encode(&arguments).unwrap();
    assert_eq!(plan(&list).decode(&encoded).unwrap(), arguments);
    assert_ne!(encoded, arguments);
}
