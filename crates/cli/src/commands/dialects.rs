//! `dialects`: the list, or one dialect's rules.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use gateway_dialects::dialect::{
    Additional, AnyOfStyle, Anything, Defaults, Dialect, EmptyObject, Lowering, NameRule, NullStyle,
    PatternStyle, RebuildRules, RefStyle, StrictField, TextStyle, ToolShape, Verdict,
};
use gateway_dialects::schema::Keyword;
use gateway_dialects::{Dialects, Protocol};
use serde::Serialize;
use serde_json::Value;

use crate::Outcome;
use crate::options::{DialectFiles, explained};
use crate::output::{Paint, Table, Tone, write_pretty_json};
use crate::terminal::{Form, output};

/// List the dialects, or show one dialect's rules.
#[derive(Debug, Args)]
pub(crate) struct ListDialects {
    #[command(flatten)]
    files: DialectFiles,
    /// Write JSON, with the keys and words of the dialect file format
    #[arg(long)]
    json: bool,
    /// The dialect to show
    name: Option<String>,
}

impl ListDialects {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let dialects = self.files.dialects()?;
        let mut stdout = output(Form::json_if(self.json));
        match &self.name {
            Some(name) => {
                let dialect = dialects.get(name).map_err(explained)?;
                if self.json {
                    write_pretty_json(&mut stdout, &dialect)?;
                } else {
                    write_rules(&mut stdout, &dialect, Paint::for_stdout())?;
                }
            }
            None => self.write_list(&mut stdout, &dialects)?,
        }
        stdout.flush()?;
        Ok(Outcome::Good)
    }

    fn write_list(&self, writer: &mut impl Write, dialects: &Dialects) -> Result<()> {
        let all: Vec<Dialect> =
            dialects.names().map(|name| dialects.get(name).map_err(explained)).collect::<Result<_>>()?;
        if self.json {
            let rows: Vec<Value> = all.iter().map(Dialect::heading_json).collect();
            return write_pretty_json(writer, &rows);
        }
        let mut table = Table::new(["name", "extends", "aliases", "title"]);
        for dialect in
            all.iter().filter(|dialect| !dialect.layer).chain(all.iter().filter(|dialect| dialect.layer))
        {
            table.row(
                None,
                [
                    dialect.name.clone(),
                    dialect.extends.clone().unwrap_or_default(),
                    dialect.aliases.join(", "),
                    dialect.title.clone(),
                ],
            );
        }
        table.write(writer, Paint::for_stdout(), "")?;
        Ok(())
    }
}

fn write_rules(writer: &mut impl Write, dialect: &Dialect, paint: Paint) -> Result<()> {
    writeln!(writer, "{}", paint.tone(Tone::Heading, &format!("{}: {}", dialect.name, dialect.title)))?;
    if !dialect.aliases.is_empty() {
        writeln!(writer, "also called {}", dialect.aliases.join(", "))?;
    }
    if let Some(parent) = &dialect.extends {
        writeln!(writer, "{} {parent}", if dialect.layer { "a layer, alone on top of" } else { "extends" })?;
    }
    for (title, rows) in [
        ("Tools", tools(dialect)),
        ("Limits", limits(dialect)),
        ("Schemas", schemas(dialect)),
        ("Keywords", keywords(dialect)),
        ("Messages", messages(dialect)),
    ] {
        if rows.is_empty() {
            continue;
        }
        writeln!(writer, "\n{}", paint.tone(Tone::Heading, title))?;
        let mut table = Table::default();
        for (label, text) in rows {
            table.row(None, [label.to_owned(), text]);
        }
        table.write(writer, paint, "  ")?;
    }
    Ok(())
}

type Rows = Vec<(&'static str, String)>;

/// For a rule that the engine has and this text does not describe yet; a test finds it in every built-in dialect.
const UNNAMED: &str = "(a rule without a description)";

fn tools(dialect: &Dialect) -> Rows {
    let tool = &dialect.tool;
    let key = &tool.schema_key;
    let shape = match tool.shape {
        ToolShape::Function => format!(r#"{{"type": "function", "function": {{name, description, {key}}}}}"#),
        ToolShape::FlatFunction => format!(r#"{{"type": "function", name, description, {key}}}"#),
        ToolShape::BareFunction | ToolShape::Declaration => format!("{{name, description, {key}}}"),
        ToolShape::ToolSpec => format!(r#"{{"toolSpec": {{name, description, {key}: {{"json": …}}}}}}"#),
        ToolShape::Mcp => "the MCP tool as it came".to_owned(),
        _ => UNNAMED.to_owned(),
    };
    let mut rows = vec![
        ("definition", shape),
        ("in the request", format!("{:?}", tool.document)),
        ("tool names", names(&dialect.names)),
        ("property keys", names(&dialect.keys)),
        ("call ids", names(&dialect.ids)),
    ];
    match tool.strict {
        StrictField::Absent => {}
        StrictField::False => rows.push(("strict", "false".to_owned())),
        StrictField::True => rows.push(("strict", "true".to_owned())),
        _ => rows.push(("strict", UNNAMED.to_owned())),
    }
    if let Some(strict) = &tool.strict_dialect {
        rows.push(("with --strict auto", format!("{strict}, for tools that lose nothing by it")));
    }
    if !tool.description_fallback.is_empty() {
        rows.push(("without description", format!("{:?}", tool.description_fallback)));
    }
    rows
}

fn names(rule: &NameRule) -> String {
    let letters = match rule.punctuation.as_deref() {
        None => "any characters".to_owned(),
        Some("") => "letters and digits".to_owned(),
        Some(signs) => {
            let listed: Vec<String> = signs.chars().map(String::from).collect();
            format!("letters, digits and {}", listed.join(" "))
        }
    };
    let start = if rule.any_start { "" } else { ", starting with a letter or _" };
    let length = match (rule.min, rule.max) {
        (0, 0) => String::new(),
        (min, 0) => format!(", at least {min}"),
        (0 | 1, max) => format!(", at most {max}"),
        (min, max) if min == max => format!(", exactly {max}"),
        (min, max) => format!(", {min} to {max}"),
    };
    format!("{letters}{start}{length}")
}

fn limits(dialect: &Dialect) -> Rows {
    let limits = &dialect.limits;
    [
        ("tools in a request", limits.tools),
        ("strict tools in a request", limits.strict_tools),
        ("optional parameters of its strict tools", limits.strict_optional),
        ("unions in its strict tools", limits.strict_unions),
        ("characters of a tool's description", limits.description),
        ("characters of a parameter's description", limits.parameter_description),
        ("levels of objects and arrays", limits.depth),
        ("properties in a schema", limits.properties),
        ("enum values in a schema", limits.enum_values),
        ("characters in an enum of over 250 values", limits.long_enum_characters),
        ("bytes of a schema", limits.schema_bytes),
    ]
    .into_iter()
    .filter(|(_, limit)| *limit > 0)
    .map(|(label, limit)| (label, limit.to_string()))
    .collect()
}

fn schemas(dialect: &Dialect) -> Rows {
    let schema = &dialect.schema;
    let yes_no = |yes: bool, no: &'static str| if yes { "yes" } else { no };
    let lowering = match &schema.lowering {
        Lowering::None => "none: the schema stays as it came",
        Lowering::Edit(_) => "keyword by keyword, structure and order kept",
        Lowering::Rebuild(_) => "written anew from its meaning",
        _ => UNNAMED,
    };
    let rebuild = match &schema.lowering {
        Lowering::None => return vec![("lowering", lowering.to_owned())],
        Lowering::Rebuild(rules) => rules.clone(),
        // What is edited keeps the structure that it has: nothing of JSON Schema is ruled out.
        _ => RebuildRules::default(),
    };
    let recursion = if rebuild.recursion && schema.refs != RefStyle::Inline {
        "kept".to_owned()
    } else {
        format!("written out {} deep, then as JSON text", rebuild.unroll)
    };
    let rows = [
        ("lowering", lowering),
        ("unions at the root", yes_no(schema.root_unions, "no: folded into one object")),
        ("values at the root", yes_no(schema.root_values, "no: enum, const and not are described")),
        (
            "optional parameters",
            if rebuild.all_required {
                "all are listed as required; null means absent"
            } else {
                "may be left out"
            },
        ),
        (
            "null",
            match rebuild.null {
                NullStyle::TypeList => r#"a list of types, ["string", "null"]"#,
                NullStyle::Branch => r#"a branch of anyOf, {"type": "null"}"#,
                NullStyle::Nullable => r#""nullable": true"#,
                NullStyle::Spelled => "the text (null)",
                _ => UNNAMED,
            },
        ),
        ("lists of types", yes_no(rebuild.type_lists, "no: one branch for each")),
        ("boolean schemas", yes_no(schema.boolean_schemas, "no")),
        ("items of arrays", if schema.items_required { "must be said" } else { "may be left out" }),
        ("enum values", if rebuild.enum_any { "of any type" } else { "strings; others travel as labels" }),
        (
            "undeclared properties",
            match rebuild.additional {
                Additional::Keep => "as in JSON Schema",
                Additional::Explicit => "where the schema says so; silence means declared properties only",
                Additional::Closed => "never: every object is closed, maps travel as lists of entries",
                Additional::Declared => "never written: maps travel as lists of entries",
                Additional::Open => "may be written, the keyword is not read",
                _ => UNNAMED,
            },
        ),
        (
            "objects without properties",
            match rebuild.empty_object {
                EmptyObject::Keep => "taken",
                EmptyObject::Root => "at the root only",
                EmptyObject::Never => "not taken",
                _ => UNNAMED,
            },
        ),
        (
            "references",
            match schema.refs {
                RefStyle::Keep => "kept",
                RefStyle::Defs => "into $defs of the root",
                RefStyle::Inline => "written out",
                _ => UNNAMED,
            },
        ),
        ("recursion", &recursion),
        (
            "beside anyOf",
            match rebuild.any_of {
                AnyOfStyle::Free => "anything",
                AnyOfStyle::Annotated => "title, description, default",
                AnyOfStyle::Alone => "nothing",
                AnyOfStyle::Never => "no such keyword",
                _ => UNNAMED,
            },
        ),
        (
            "patterns",
            match schema.patterns {
                PatternStyle::Any => "any",
                PatternStyle::Python => "those that Python's re compiles",
                PatternStyle::NoLookaround => "without look-around",
                PatternStyle::Simple => "without look-around, back-references and word boundaries",
                _ => UNNAMED,
            },
        ),
        (
            "values of any kind",
            match rebuild.anything {
                Anything::Empty => "{}",
                Anything::Scalars => "scalars as they are, arrays and objects as JSON text",
                Anything::Definition => "a recursive definition",
                Anything::Text => "text, all else as JSON text",
                _ => UNNAMED,
            },
        ),
        (
            "defaults",
            match schema.defaults {
                Defaults::Keep => "kept",
                Defaults::Strip => "taken away",
                Defaults::Describe => "in the description",
                _ => UNNAMED,
            },
        ),
        (
            "constraints in text",
            match schema.text {
                TextStyle::Constraints => "Constraints: …",
                TextStyle::Important => "IMPORTANT: …",
                TextStyle::Json => r#"{"minLength": 5}"#,
                TextStyle::Hints => ". Use ISO 8601 date-time format",
                TextStyle::None => "not written",
                _ => UNNAMED,
            },
        ),
    ];
    let mut rows: Rows = rows.into_iter().map(|(label, text)| (label, text.to_owned())).collect();
    for (label, formats) in [
        ("formats of strings", &schema.formats.string),
        ("formats of numbers", &schema.formats.number),
        ("formats of integers", &schema.formats.integer),
    ] {
        if let Some(formats) = formats {
            rows.push((label, if formats.is_empty() { "none".to_owned() } else { formats.join(", ") }));
        }
    }
    rows
}

fn keywords(dialect: &Dialect) -> Rows {
    let verdicts = &dialect.schema.keywords;
    [
        (Verdict::Keep, "kept"),
        (Verdict::Hint, "kept and described"),
        (Verdict::Describe, "described or rewritten"),
        (Verdict::Drop, "dropped"),
    ]
    .into_iter()
    .filter_map(|(verdict, label)| {
        let mut names: Vec<&str> = Keyword::ALL
            .iter()
            .filter(|keyword| verdicts.of(**keyword) == verdict)
            .map(|keyword| keyword.name())
            .collect();
        if verdicts.unknown == verdict {
            names.push("(others)");
        }
        (!names.is_empty()).then(|| (label, names.join(", ")))
    })
    .collect()
}

fn messages(dialect: &Dialect) -> Rows {
    let messages = &dialect.messages;
    let protocol = match messages.protocol {
        Protocol::Chat => "Chat Completions: tool_calls, role tool",
        Protocol::Responses => "Responses: function_call, function_call_output",
        Protocol::Functions => "Chat Completions with functions: function_call, role function",
        Protocol::Messages => "Messages: tool_use, tool_result",
        Protocol::GenerateContent => "generateContent: functionCall, functionResponse",
        Protocol::Converse => "Converse: toolUse, toolResult",
        Protocol::CohereChat => "Chat v2: tool_calls, documents",
        Protocol::OllamaChat => "/api/chat: tool_calls with objects, no ids",
        Protocol::Mcp => "tools/call",
    };
    vec![
        ("protocol", protocol.to_owned()),
        ("images of results", word(messages.images)),
        ("audio of results", word(messages.audio)),
        ("files of results", word(messages.files)),
        ("failures are reported by", word(messages.errors)),
        ("structured content", word(messages.structured)),
    ]
}

/// The word for a choice in dialect files, to be read as text.
fn word(choice: impl Serialize) -> String {
    let word = serde_json::to_value(choice).unwrap_or_default();
    word.as_str().unwrap_or_default().replace('-', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_a_built_in_dialect_is_described() {
        let dialects = Dialects::builtin();
        for dialect in dialects.names().filter_map(|name| dialects.get(name).ok()) {
            for (label, text) in tools(&dialect).into_iter().chain(schemas(&dialect)) {
                assert!(!text.contains(UNNAMED), "{}: {label}", dialect.name);
            }
        }
    }
}
