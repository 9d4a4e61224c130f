//! The document of the configuration and the published schema name the same fields.

use std::collections::BTreeSet;
use std::path::Path;

use gateway_config::jsonc::to_json;
use gateway_config::{json_schema, parse};
use serde_json::Value;

use crate::config::{FILE, environment};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The part of the document under a heading.
fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let start = document.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}")) + 1;
    let rest = &document[start..];
    &rest[..rest[1..].find("\n## ").map_or(rest.len(), |end| end + 1)]
}

/// Adds the fields that the schema allows below a path, in every alternative. `*` is the name of an entry.
fn collect(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect(root, property, &inner(name), found);
        found.insert(inner(name));
    }
    for alternative in schema["anyOf"].as_array().into_iter().flatten() {
        collect(root, alternative, path, found);
    }
    for entry in
        [&schema["additionalProperties"], &schema["items"]].into_iter().filter(|entry| entry.is_object())
    {
        let definition =
            entry["$ref"].as_str().and_then(|target| root.pointer(target.trim_start_matches('#')));
        collect(root, definition.unwrap_or(entry), &inner("*"), found);
    }
}

fn of_schema(pointer: &str) -> BTreeSet<String> {
    let (schema, mut found) = (json_schema(), BTreeSet::new());
    collect(&schema, schema.pointer(pointer).unwrap(), "", &mut found);
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '$')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '$'))
}

/// The texts in backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The fields that tables of fields name: in the first column, and in the second as `{a, b: 1}` of one of these.
fn documented(section: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut parent = None;
    let lines: Vec<&str> = section.lines().collect();
    for (line, next) in lines.iter().zip(lines.iter().skip(1).chain([&""])) {
        let mut cells = line.strip_prefix("| ").unwrap_or_default().split(" | ");
        let (first, second) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        if next.starts_with("| ---") {
            let inside = match first {
                first if first.contains("`tools`") => "tools.",
                first if first.contains("`models`") => "models.",
                _ => "",
            };
            parent = first.starts_with("field").then_some(inside);
            continue;
        }
        let Some(parent) = parent else { continue };
        let names: Vec<&str> = code(first).filter(|name| is_name(name)).collect();
        found.extend(names.iter().map(|name| format!("{parent}{name}")));
        let mut owner = names.last().copied().unwrap_or_default();
        for text in code(second) {
            if names.contains(&text) {
                owner = text;
            } else if let Some(group) = text.strip_prefix('{') {
                let inner = group.trim_end_matches('}').split(',').filter_map(|part| part.split(':').next());
                found.extend(inner.map(|name| format!("{parent}{owner}.{}", name.trim())));
            }
        }
    }
    found
}

/// All words in backticks, in braces or in examples: wherever a reader can find a field.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '$')).collect()
}

#[test]
fn every_documented_field_is_in_the_schema() {
    let document = read("reference/configuration.md");
    let sections = [
        ("## A server", "/$defs/server", 70),
        ("## Tools of several servers", "", 5),
        ("## Tools of the gateway itself", "", 11),
        ("## The service", "", 40),
        ("## Models", "", 30),
    ];
    for (heading, pointer, least) in sections {
        let (documented, known) = (documented(section(&document, heading)), of_schema(pointer));
        let is_known = |field: &str| known.contains(field) || known.contains(&field.replacen('.', ".*.", 1));
        let unknown: Vec<&String> = documented.iter().filter(|field| !is_known(field)).collect();
        assert_eq!(unknown, [""; 0], "{heading}");
        assert!(documented.len() >= least, "{heading}: {documented:?}");
    }
}

#[test]
fn every_field_of_the_schema_is_documented() {
    let (document, registry, mcp) =
        (read("reference/configuration.md"), read("guides/registry.md"), read("guides/mcp.md"));
    let check = |pointer: &str, texts: &[&str]| {
        let known: BTreeSet<&str> = texts.iter().flat_map(|text| words(text)).collect();
        let of_schema = of_schema(pointer);
        let names = of_schema.iter().map(|field| field.rsplit('.').next().unwrap_or_default());
        let missing: Vec<&str> = names.filter(|name| *name != "*" && !known.contains(name)).collect();
        assert_eq!(missing, [""; 0], "{pointer}");
    };
    check("/$defs/server", &[section(&document, "## A server")]);
    check("/$defs/tool", &[&registry, section(&document, "## A server")]);
    check("", &[&document, &registry, &mcp]);
}

/// What the document shows can be pasted.
#[test]
fn examples_are_valid() {
    let document = read("reference/configuration.md");
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    let environment =
        environment(&[("SEARCH_TOKEN", "token"), ("GITHUB_TOKEN", "token"), ("DOCS_KEY", "key")], &[]);
    let mut count = 0;
    for block in document.split("```jsonc\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let plain = to_json(block).unwrap();
        let text = match plain.trim() {
            server if server.starts_with("\"search\"") => {
                format!("{{\"servers\": {{{}}}}}", server.trim_end_matches(','))
            }
            member if member.starts_with('"') => format!("{{\"servers\": {{}}, {member}}}"),
            objects => objects.to_owned(),
        };
        for example in serde_json::Deserializer::from_str(&to_json(&text).unwrap()).into_iter::<Value>() {
            let example = example.unwrap_or_else(|error| panic!("{error}: {text}"));
            let complaints: Vec<String> =
                schema.iter_errors(&example).map(|error| error.to_string()).collect();
            assert_eq!(complaints, [""; 0], "{example}");
            let config = parse(Path::new(FILE), &example.to_string(), &environment)
                .unwrap_or_else(|errors| panic!("{errors}"));
            let unknown = config.warnings.iter().find(|warning| warning.message.starts_with("unknown"));
            assert_eq!(unknown, None, "{example}");
            count += 1;
        }
    }
    assert!(count >= 9, "{count}");
}
