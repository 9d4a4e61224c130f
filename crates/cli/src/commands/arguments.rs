//! `arguments`: one call's arguments → a dialect's form, or back.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use gateway_dialects::arguments::{
    BadArguments, Coercion, FilledArguments, Issue, Repair, Validator, check_numbers, parse_arguments,
    render_issues,
};
use gateway_dialects::{GivenTool, Plan, PlanError, ToolSource as _, Translator, calls, input_schema};
use gateway_notation::pointer;
use gateway_protocol::find_repeated;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Outcome;
use crate::input::{Lines, open};
use crate::options::{Target, TranslationFlags, Words, words};
use crate::output::write_json_line;
use crate::terminal::{Form, output};

/// Turn arguments into a dialect's form, or back.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    direction: Direction,
}

#[derive(Debug, Subcommand)]
enum Direction {
    /// MCP arguments → the dialect's form
    Encode(Encode),
    /// The dialect's arguments → MCP arguments, validated against the server's schema
    Decode(Decode),
}

#[derive(Debug, Args)]
struct Encode {
    #[command(flatten)]
    source: Source,
}

#[derive(Debug, Args)]
struct Decode {
    #[command(flatten)]
    source: Source,
    /// Coerce types to the schema ("5" → 5) if the result is then valid
    #[arg(long)]
    coerce: bool,
    /// Fill in the schema's defaults for what the model left out
    #[arg(long)]
    fill_defaults: bool,
    /// What to do with arguments that are not a JSON object
    #[arg(long, value_parser = words(BAD_ARGUMENTS), default_value = "error")]
    bad_arguments: BadArguments,
}

const BAD_ARGUMENTS: Words<BadArguments> = &[
    ("error", "Refuse them", BadArguments::Error),
    ("raw", "Hand them on as {\"raw\": text}, unchecked", BadArguments::Raw),
    ("repair", "Repair them, and refuse what cannot be repaired", BadArguments::Repair),
];

/// The input, and the dialect that it is for.
#[derive(Debug, Args)]
struct Source {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    flags: TranslationFlags,
    /// Read one {"tool": …, "arguments": …} per line (the only format so far)
    #[arg(long, required = true)]
    jsonl: bool,
    /// The lines; - for standard input
    file: Option<PathBuf>,
}

/// One line of input. The tool stays raw, so that the same tool need not be parsed again.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    tool: Option<&'a RawValue>,
    /// Raw as well: parsing must not change numbers of more than 64 bits.
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// A tool, prepared for its calls.
struct Prepared {
    text: String,
    tool: Value,
    plan: Plan,
    quarantine: Option<String>,
    validator: Option<Validator>,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<Outcome> {
        match &self.direction {
            Direction::Encode(encode) => encode.source.run(|tool, arguments| encoded(tool, &arguments)),
            Direction::Decode(decode) => decode.source.run(|tool, arguments| decode.decoded(tool, arguments)),
        }
    }
}

impl Source {
    fn run(&self, turn: impl Fn(&mut Prepared, Value) -> Value) -> Result<Outcome> {
        debug_assert!(self.jsonl);
        let translator = self.flags.translator(&self.target)?;
        let mut lines = Lines::new(open(self.file.as_deref())?);
        let mut stdout = output(Form::Json);
        let mut outcome = Outcome::Good;
        let mut last: Option<Prepared> = None;
        while let Some((number, line)) = lines.next()? {
            let row = match serde_json::from_slice::<Call<'_>>(line) {
                _ if let Some(repeated) = find_repeated(line) => {
                    json!({"error": {"message": format!("line {number}: {repeated}")}})
                }
                Ok(Call { tool: None, .. }) => {
                    json!({"error": {"message": format!("line {number} has no `tool`")}})
                }
                Ok(Call { tool: Some(tool), arguments }) => {
                    let mut prepared = match last.take() {
                        Some(prepared) if prepared.text == tool.get() => prepared,
                        _ => Prepared::new(&translator, tool.get())?,
                    };
                    let row = match (&prepared.quarantine, read_arguments(arguments)) {
                        (Some(reason), _) => json!({"error": {"message": reason, "code": "QUARANTINED"}}),
                        (None, Err(reason)) => json!({"error": {"message": reason}}),
                        (None, Ok(arguments)) => turn(&mut prepared, arguments),
                    };
                    last = Some(prepared);
                    row
                }
                Err(error) => json!({"error": {
                    "message": format!("line {number} is not {{\"tool\": …, \"arguments\": …}} in JSON: {error}"),
                }}),
            };
            if row.get("error").is_some() {
                outcome = Outcome::Findings;
            }
            write_json_line(&mut stdout, &row)?;
        }
        stdout.flush()?;
        Ok(outcome)
    }
}

fn read_arguments(text: Option<&RawValue>) -> Result<Value, String> {
    let Some(text) = text.map(RawValue::get) else { return Ok(Value::Null) };
    check_numbers(text).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| format!("the arguments cannot be read: {error}"))
}

impl Prepared {
    fn new(translator: &Translator, text: &str) -> Result<Self> {
        let given = GivenTool::parse(text)?;
        let (tool, plan, quarantine) = match given.definition() {
            Ok(tool) => {
                let translated = translator.translate_one(&given);
                (tool.clone(), translated.plan, translated.quarantine)
            }
            Err(unread) => (Value::Null, Plan::default(), Some(unread.reason.clone())),
        };
        Ok(Self { text: text.to_owned(), tool, plan, quarantine, validator: None })
    }

    /// The tool's own schema, compiled when the first call needs it.
    fn validator(&mut self) -> &Validator {
        self.validator.get_or_insert_with(|| Validator::new(&input_schema(&self.tool)))
    }
}

fn encoded(tool: &Prepared, arguments: &Value) -> Value {
    match tool.plan.encode(arguments) {
        Ok(encoded) => json!({ "arguments": encoded }),
        Err(error) => json!({"error": {"message": error.to_string(), "path": error.path}}),
    }
}

impl Decode {
    fn decoded(&self, tool: &mut Prepared, arguments: Value) -> Value {
        let parsed = match parse_arguments(&calls::Arguments::Json(arguments), self.bad_arguments) {
            Ok(parsed) => parsed,
            Err(error) => {
                let issue = json!({"path": "", "message": error.to_string()});
                return json!({"error": {"message": error.to_string(), "issues": [issue]}});
            }
        };
        let given = Value::Object(parsed.object);
        if parsed.raw {
            return json!({"arguments": given, "raw": true});
        }
        let mut decoded = match tool.plan.decode(&given) {
            Ok(decoded) => decoded,
            Err(error) => return refused_by_plan(&error),
        };
        let mut coercions = Vec::new();
        if self.coerce {
            (decoded, coercions) = tool.validator().coerce(&decoded);
        }
        let validator = tool.validator();
        let mut issues = validator.validate(&decoded);
        if !issues.is_empty() {
            if self.coerce {
                issues = validator.validate(&validator.coerce_partly(&decoded));
            }
            return refused_by_schema(&tool.plan, &issues);
        }
        let filled = if self.fill_defaults {
            validator.fill_defaults(&decoded)
        } else {
            FilledArguments { arguments: decoded, filled: Vec::new(), unfilled: Vec::new() }
        };
        answer(&filled, &parsed.repairs, &coercions)
    }
}

fn refused_by_plan(error: &PlanError) -> Value {
    let issue = json!({"path": error.path, "message": error.message});
    json!({"error": {"message": error.to_string(), "path": error.path, "issues": [issue]}})
}

/// The issues, in the names that the model saw.
fn refused_by_schema(plan: &Plan, issues: &[Issue]) -> Value {
    let rename = |path: &str| plan.wire_pointer(path);
    let listed: Vec<Value> = issues
        .iter()
        .map(|issue| {
            let mut row = json!({
                "path": rename(&issue.path),
                "expected": issue.expected,
                "got": issue.got,
                "message": issue.message,
            });
            if let (Value::Object(row), Some(allowed)) = (&mut row, &issue.allowed) {
                row.insert("allowed".to_owned(), Value::Array(allowed.clone()));
            }
            row
        })
        .collect();
    json!({"error": {"message": render_issues(issues, &|path| pointer::dotted(&rename(path))), "issues": listed}})
}

fn answer(decoded: &FilledArguments, repairs: &[Repair], coercions: &[Coercion]) -> Value {
    let FilledArguments { arguments, filled, unfilled } = decoded;
    let mut row = json!({ "arguments": arguments });
    if let Value::Object(row) = &mut row {
        if !repairs.is_empty() {
            let names = repairs.iter().map(|repair| Value::from(repair.name())).collect();
            row.insert("repairs".to_owned(), Value::Array(names));
        }
        if !coercions.is_empty() {
            let done = coercions.iter();
            let rows = done.map(|one| json!({"path": one.path, "rule": one.rule.name()})).collect();
            row.insert("coercions".to_owned(), Value::Array(rows));
        }
        if !filled.is_empty() {
            row.insert("filled".to_owned(), json!(filled));
        }
        if !unfilled.is_empty() {
            let reasons = unfilled.iter().map(|one| json!({"path": one.path, "reason": one.reason.text()}));
            row.insert("notFilled".to_owned(), reasons.collect());
        }
    }
    row
}
