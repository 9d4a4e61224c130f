//! The three tools that stand for a whole list: search, describe, call.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gateway_dialects::estimate_tokens;
use gateway_protocol::{RawJson, RawObject};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fields::ToolEntry;
use crate::sentences::sentence;

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaTool {
    /// Finds tools by words.
    Search,
    /// Gives the whole definition of one.
    Describe,
    /// Runs one.
    Call,
}

impl MetaTool {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Search, Self::Describe, Self::Call];

    const fn base(self) -> &'static str {
        match self {
            Self::Search => "search_tools",
            Self::Describe => "describe_tool",
            Self::Call => "call_tool",
        }
    }
}

/// What else stands in the list that has the three tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing: they stand for all tools.
    Nothing,
    /// The tools that matter most: they stand for the others.
    SomeTools,
}

/// How many tools a search gives unless it is asked for more, and at most.
const USUAL: usize = 5;
const MOST: usize = 50;
/// How many servers are named; a longer row costs more than it is worth.
const SERVERS: usize = 30;

/// How long a directory of names may be: about 4,000 tokens.
const DIRECTORY_BYTES: usize = 16 << 10;

/// The three tools under the names that they have beside one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaTools {
    /// The same for all three, so that they are seen to belong together.
    suffix: String,
}

impl MetaTools {
    /// The three beside a list. Where a tool of the list has one of the names, all three get a suffix: what an upstream
    /// offers is never hidden.
    pub fn beside(is_taken: impl Fn(&str) -> bool) -> Self {
        let is_free =
            |suffix: &str| !MetaTool::ALL.iter().any(|tool| is_taken(&format!("{}{suffix}", tool.base())));
        let mut suffix = String::new();
        let mut number = 1_u32;
        // It ends: a list is finite.
        while !is_free(&suffix) {
            suffix = if number == 1 { "_gateway".to_owned() } else { format!("_gateway_{number}") };
            number = number.saturating_add(1);
        }
        Self { suffix }
    }

    /// What one of them is called.
    pub fn name(&self, tool: MetaTool) -> String {
        format!("{}{}", tool.base(), self.suffix)
    }

    /// The one that has this name.
    pub fn named(&self, name: &str) -> Option<MetaTool> {
        let base = name.strip_suffix(self.suffix.as_str())?;
        MetaTool::ALL.into_iter().find(|tool| tool.base() == base)
    }

    /// Their definitions, over so many tools of these servers.
    pub fn definitions(&self, tools: usize, servers: &[&str], beside: Beside) -> [Value; 3] {
        let servers = match servers.len() {
            0 => String::new(),
            1..=SERVERS => format!(" of {}", servers.join(", ")),
            many => format!(" of {many} servers"),
        };
        let [search, describe, call] = MetaTool::ALL.map(|tool| self.name(tool));
        let name = json!({"type": "string", "description": format!("A name that {search} gave")});
        let advice = match beside {
            Beside::Nothing => "are available but not listed: search here first, then",
            Beside::SomeTools => {
                "are available, but only some are listed: if none of those fits, search here and"
            }
        };
        [
            json!({
                "name": search,
                "title": "Search tools",
                "description": format!(
                    "Finds tools by what they do. {tools} tools{servers} {advice} \
                     run what you found with {call}. Gives names, servers, descriptions and required \
                     parameters."
                ),
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "query": {
                            "type": "string",
                            "description": "What the tool has to do, in English: a verb and an object, and the server if you know it. \
                                            The name of a server alone lists its tools, an empty text the servers",
                        },
                        "limit": {
                            "type": "integer", "minimum": 1, "maximum": MOST,
                            "description": format!("How many tools to give; {USUAL} unless given"),
                        },
                    },
                    "required": ["query"],
                },
                "annotations": {"readOnlyHint": true, "openWorldHint": false},
            }),
            json!({
                "name": describe,
                "title": "Describe a tool",
                "description": format!(
                    "Gives the whole definition of one tool, with the schema of its arguments. Use it before {call} where \
                     the arguments are not obvious."
                ),
                "inputSchema": {"type": "object", "properties": {"name": name}, "required": ["name"]},
                "annotations": {"readOnlyHint": true, "openWorldHint": false},
            }),
            json!({
                "name": call,
                "title": "Call a tool",
                "description": format!("Runs one tool that {search} found and gives its result."),
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "name": name,
                        "arguments": {
                            "type": "object",
                            "description": format!("The tool's own arguments, as {describe} tells"),
                            "additionalProperties": true,
                        },
                    },
                    "required": ["name"],
                },
            }),
        ]
    }
}

/// What a search was asked.
#[derive(Clone, Debug, Deserialize)]
pub struct SearchArguments {
    /// The words.
    pub query: String,
    limit: Option<f64>,
}

impl SearchArguments {
    /// How many tools to give. Models write `5.0` and `1000` too; neither is worth a refusal.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a small range before"
    )]
    pub fn limit(&self) -> usize {
        self.limit.map_or(USUAL, |limit| limit.clamp(1.0, 50.0) as usize)
    }
}

#[derive(Default, Deserialize)]
struct Definition {
    description: Option<String>,
    #[serde(rename = "inputSchema")]
    input: Option<Input>,
}

#[derive(Default, Deserialize)]
struct Input {
    required: Option<Vec<String>>,
}

/// How many tools are named where none of them fits.
const NEAREST: usize = 3;

/// The result of a search, for a model to read and for a program. Where nothing fits well it says so, and names the
/// nearest tools only in passing: a list would be taken for an answer.
pub fn search_result(query: &str, found: &[ToolEntry<'_>], fit_well: bool) -> Value {
    if !fit_well {
        return nothing_fits(query, found);
    }
    let mut text = String::new();
    let mut rows = Vec::with_capacity(found.len());
    for tool in found {
        let read: Definition = tool.definition.read().unwrap_or_default();
        let line = sentence(&read.description.unwrap_or_default());
        let required = read.input.and_then(|input| input.required).unwrap_or_default();
        let _ = write!(text, "{} ({})", tool.name, tool.server);
        if !line.is_empty() {
            let _ = write!(text, ": {line}");
        }
        if !required.is_empty() {
            let _ = write!(text, " Required: {}", required.join(", "));
        }
        text.push('\n');
        rows.push(
            json!({"name": tool.name, "server": tool.server, "description": line, "required": required}),
        );
    }
    json!({"content": [{"type": "text", "text": text.trim_end()}], "structuredContent": {"tools": rows}})
}

fn nothing_fits(query: &str, nearest: &[ToolEntry<'_>]) -> Value {
    let mut note = format!(
        "Nothing fits `{query}` well. Try other words for the same thing, in English: a verb and an object; \
         or an empty query, which lists the servers."
    );
    if !nearest.is_empty() {
        let names = nearest.iter().take(NEAREST).map(|tool| format!("{} ({})", tool.name, tool.server));
        let names: Vec<String> = names.collect();
        let _ = write!(note, " The nearest, which may well do something else: {}.", names.join(", "));
    }
    json!({"content": [{"type": "text", "text": note}], "structuredContent": {"tools": [], "note": note}})
}

/// The result of a search without words: the servers, each with the number of its tools.
pub fn servers_result(servers: &BTreeMap<&str, usize>) -> Value {
    let names = servers.iter().map(|(server, tools)| format!("{server} ({tools})"));
    let (text, count) = joined(names);
    let mut note = format!("Servers and how many tools they have: {text}.");
    if count < servers.len() {
        let _ = write!(note, " {} more servers are not named here.", servers.len() - count);
    }
    note.push_str(" The name of one as the query lists its tools.");
    let rows: Vec<Value> =
        servers.iter().take(count).map(|(server, tools)| json!({"server": server, "tools": tools})).collect();
    json!({"content": [{"type": "text", "text": note}], "structuredContent": {"tools": [], "servers": rows, "note": note}})
}

/// The result of a search for a server's own name: the names of its tools.
pub fn server_result(server: &str, tools: &[&str]) -> Value {
    let (text, count) = joined(tools.iter().map(|name| (*name).to_owned()));
    let mut note = format!("Tools of {server}: {text}.");
    if count < tools.len() {
        let _ = write!(
            note,
            " {} more are not named here: search for what they have to do.",
            tools.len() - count
        );
    }
    let rows: Vec<Value> =
        tools.iter().take(count).map(|name| json!({"name": name, "server": server})).collect();
    json!({"content": [{"type": "text", "text": note}], "structuredContent": {"tools": rows, "note": note}})
}

/// Names in one line, as many as a model can be expected to read, and how many they are.
fn joined(names: impl Iterator<Item = String>) -> (String, usize) {
    let (mut text, mut count) = (String::new(), 0);
    for name in names {
        if text.len() + name.len() > DIRECTORY_BYTES {
            break;
        }
        if count > 0 {
            text.push_str(", ");
        }
        text.push_str(&name);
        count += 1;
    }
    (text, count)
}

/// The result of a description: the definition as it would stand in a list.
pub fn describe_result(definition: &RawJson) -> Option<RawJson> {
    let content = RawJson::of(&json!([{"type": "text", "text": definition.as_str()}])).ok()?;
    let mut result = RawObject::default();
    result.set("content", &content).ok()?;
    result.set("structuredContent", definition).ok()?;
    result.to_raw().ok()
}

/// What a model pays for a list of tools, and for the three that stand for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCost {
    /// Estimated tokens of all definitions.
    pub all: usize,
    /// Estimated tokens of the three.
    pub listed: usize,
}

impl TokenCost {
    /// From the definitions.
    pub fn of<'a>(all: impl Iterator<Item = &'a RawJson>, listed: impl Iterator<Item = &'a RawJson>) -> Self {
        Self { all: all.map(tokens).sum(), listed: listed.map(tokens).sum() }
    }

    /// What is saved.
    pub fn saved(self) -> usize {
        self.all.saturating_sub(self.listed)
    }
}

/// Estimated tokens of what a model is shown of a tool; schemas of results and hints are for programs.
fn tokens(definition: &RawJson) -> usize {
    let Ok(members) = RawObject::parse(definition) else { return estimate_tokens(definition.len()) };
    let bytes = ["name", "description", "inputSchema"]
        .iter()
        .filter_map(|key| Some(key.len() + 4 + members.get(key)?.get().len()))
        .sum::<usize>();
    estimate_tokens(bytes + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_way_to_those_of_a_server() {
        let names = |taken: &[&str]| {
            let tools = MetaTools::beside(|name| taken.contains(&name));
            MetaTool::ALL.map(|tool| tools.name(tool))
        };
        assert_eq!(names(&[]), ["search_tools", "describe_tool", "call_tool"]);
        assert_eq!(
            names(&["call_tool"]),
            ["search_tools_gateway", "describe_tool_gateway", "call_tool_gateway"]
        );
        assert_eq!(
            names(&["call_tool", "search_tools_gateway"]),
            ["search_tools_gateway_2", "describe_tool_gateway_2", "call_tool_gateway_2"]
        );
        let tools = MetaTools::beside(|name| name == "call_tool");
        assert_eq!(tools.named("call_tool_gateway"), Some(MetaTool::Call));
        assert_eq!((tools.named("call_tool"), tools.named("_gateway")), (None, None));
    }

    #[test]
    fn limits_are_taken_as_models_write_them() {
        let limit = |text: &str| serde_json::from_str::<SearchArguments>(text).unwrap().limit();
        assert_eq!(limit(r#"{"query":"x"}"#), 5);
        assert_eq!(limit(r#"{"query":"x","limit":null}"#), 5);
        assert_eq!(limit(r#"{"query":"x","limit":3.0}"#), 3);
        assert_eq!(limit(r#"{"query":"x","limit":0}"#), 1);
        assert_eq!(limit(r#"{"query":"x","limit":1e9}"#), 50);
    }

    #[test]
    fn a_search_says_what_it_takes_to_call() {
        let definition = RawJson::parse(
            r#"{"name":"a","description":"Adds two numbers. More.","inputSchema":{"required":["x","y"]}}"#
                .to_owned(),
        )
        .unwrap();
        let bare = RawJson::parse(r#"{"name":"b"}"#.to_owned()).unwrap();
        let found = [
            ToolEntry { name: "a", server: "s", definition: &definition },
            ToolEntry { name: "b", server: "t", definition: &bare },
        ];
        assert_eq!(
            search_result("sum", &found, true),
            json!({
                "content": [{"type": "text", "text": "a (s): Adds two numbers. Required: x, y\nb (t)"}],
                "structuredContent": {"tools": [
                    {"name": "a", "server": "s", "description": "Adds two numbers.", "required": ["x", "y"]},
                    {"name": "b", "server": "t", "description": "", "required": []},
                ]},
            })
        );
    }

    #[test]
    fn a_search_says_that_nothing_fits() {
        let bare = RawJson::parse(r#"{"name":"b"}"#.to_owned()).unwrap();
        let names = ["a", "b", "c", "d"];
        let found = names.map(|name| ToolEntry { name, server: "s", definition: &bare });
        let advice = "Nothing fits `sum` well. Try other words for the same thing, in English: a verb and an object; \
             or an empty query, which lists the servers.";
        let note = format!("{advice} The nearest, which may well do something else: a (s), b (s), c (s).");
        assert_eq!(
            search_result("sum", &found, false),
            json!({"content": [{"type": "text", "text": note}], "structuredContent": {"tools": [], "note": note}})
        );
        assert_eq!(search_result("sum", &[], false)["content"][0]["text"], advice);
    }

    #[test]
    fn servers_and_their_tools_can_be_read_like_a_directory() {
        let servers = BTreeMap::from([("files", 2), ("web", 1)]);
        let note = "Servers and how many tools they have: files (2), web (1). The name of one as the query lists its tools.";
        assert_eq!(
            servers_result(&servers),
            json!({"content": [{"type": "text", "text": note}], "structuredContent": {
                "tools": [], "servers": [{"server": "files", "tools": 2}, {"server": "web", "tools": 1}], "note": note,
            }})
        );
        let note = "Tools of files: read, write.";
        assert_eq!(
            server_result("files", &["read", "write"]),
            json!({"content": [{"type": "text", "text": note}], "structuredContent": {
                "tools": [{"name": "read", "server": "files"}, {"name": "write", "server": "files"}], "note": note,
            }})
        );
        let long = "x".repeat(10_000);
        let cut = server_result("files", &[&long, &long, &long]);
        let text = cut["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("2 more are not named here: search for what they have to do."), "{text}");
    }

    #[test]
    fn the_query_is_asked_for_in_english_and_without_an_example_to_copy() {
        let [search, ..] = MetaTools::beside(|_| false).definitions(3, &["a"], Beside::Nothing);
        let text = search["inputSchema"]["properties"]["query"]["description"].as_str().unwrap().to_owned();
        assert!(text.contains("in English") && text.contains("a verb and an object"), "{text}");
        assert!(!text.contains(['`', ':', '"']) || !text.contains("slack"), "{text}");
    }
}
