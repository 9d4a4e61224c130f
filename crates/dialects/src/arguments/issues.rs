//! What is wrong with arguments, in words that let a model correct itself.

use std::collections::HashSet;
use std::io;

use gateway_notation::pointer;
use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;

use super::kinds::kind_name;

/// Issues reported at once.
pub(super) const MAX_ISSUES: usize = 100;
/// Characters of a value shown.
const MAX_SHOWN: usize = 80;
/// Bytes of listed values in one issue, and of what all issues of a value say is wanted.
const MAX_LISTED: usize = 1 << 20;
pub(super) const MAX_EXPECTED: usize = 4 << 20;
/// Known parameters named beside an unknown one.
const MAX_SIBLINGS: usize = 30;
/// Unions inside unions that are looked into.
const MAX_NESTED: u32 = 8;

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Issue {
    /// Where in the arguments, as a JSON Pointer.
    pub path: String,
    /// What the schema wants there.
    pub expected: String,
    /// What is there.
    pub got: String,
    /// The only values that would do, where the schema lists them.
    pub allowed: Option<Vec<Value>>,
    /// Pointers of the parameters that do exist, beside one that does not.
    pub siblings: Vec<String>,
    /// All of that as one clause without the path.
    pub message: String,
}

/// What a model reads that called a tool that does not exist.
pub fn unknown_tool_text(name: &str, nearest: &[&str]) -> String {
    match nearest {
        [] => format!("Tool not found: {name}"),
        [one] => format!("Tool not found: {name}. Did you mean `{one}`?"),
        several => format!("Tool not found: {name}. Did you mean one of `{}`?", several.join("`, `")),
    }
}

/// One text for the model. `rename` turns a JSON Pointer into the name that the model saw.
pub fn render_issues(issues: &[Issue], rename: &dyn Fn(&str) -> String) -> String {
    let mut text =
        String::from("The arguments do not fit the tool's parameters. Correct this and call it again:");
    for issue in issues {
        text.push_str("\n- ");
        if issue.path.is_empty() {
            text.push_str("the arguments");
        } else {
            text.extend(["`", &rename(&issue.path), "`"]);
        }
        text.push_str(": ");
        text.push_str(&issue.message);
        if !issue.siblings.is_empty() {
            let known: Vec<String> =
                issue.siblings.iter().map(|path| format!("`{}`", rename(path))).collect();
            text.push_str("; known here: ");
            text.push_str(&known.join(", "));
        }
    }
    if issues.len() >= MAX_ISSUES {
        text.push_str("\n- and more");
    }
    text
}

/// Adds what `error` says, leaving out what has been said.
pub(super) fn collect_issues(schema: &Value, error: &ValidationError<'_>, issues: &mut Vec<Issue>) {
    for issue in issues_of(schema, error, 0) {
        if issues.len() < MAX_ISSUES && !issues.contains(&issue) {
            issues.push(issue);
        }
    }
}

/// What `error` says, at most as much as is reported at once.
fn issues_of(schema: &Value, error: &ValidationError<'_>, nested: u32) -> Vec<Issue> {
    use ValidationErrorKind as Kind;
    let path = error.instance_path().as_str();
    let got = shown(error.instance());
    let one = |expected: String| vec![issue(path, expected, got.clone())];
    match error.kind() {
        Kind::Type { kind } => one(type_names(kind)),
        Kind::Enum { options } => {
            let values = match options.as_ref() {
                Value::Array(values) => values.iter().collect(),
                other => vec![other],
            };
            vec![listed(path, &values, got)]
        }
        Kind::Constant { expected_value } => vec![listed(path, &[expected_value.as_ref()], got)],
        Kind::Required { property } => vec![missing(schema, error, property.as_str().unwrap_or_default())],
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let siblings = known_siblings(schema, error);
            let (path, instance) = (error.instance_path().as_str(), error.instance());
            let value = |name: &str| instance.get(name).unwrap_or(&Value::Null);
            let unknown = unexpected.iter().take(MAX_ISSUES);
            unknown.map(|name| unknown_parameter(path, name, value(name), &siblings)).collect()
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            if nested < MAX_NESTED {
                nearest_branch(schema, path, context, nested).unwrap_or_else(|| one(error.to_string()))
            } else {
                one("one of the alternatives in the schema".to_owned())
            }
        }
        Kind::OneOfMultipleValid { .. } => one("exactly one of the alternatives, but several fit".to_owned()),
        Kind::Minimum { limit } => one(format!("at least {limit}")),
        Kind::Maximum { limit } => one(format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => one(format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => one(format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => one(format!("a multiple of {multiple_of}")),
        Kind::MinLength { limit } => one(format!("at least {}", counted(*limit, "character"))),
        Kind::MaxLength { limit } => one(format!("at most {}", counted(*limit, "character"))),
        Kind::MinItems { limit } => one(format!("at least {}", counted(*limit, "item"))),
        Kind::MaxItems { limit } => one(format!("at most {}", counted(*limit, "item"))),
        Kind::AdditionalItems { limit } => {
            one(format!("at most {}", counted(u64::try_from(*limit).unwrap_or(u64::MAX), "item")))
        }
        Kind::MinProperties { limit } => one(format!("at least {}", counted(*limit, "entry"))),
        Kind::MaxProperties { limit } => one(format!("at most {}", counted(*limit, "entry"))),
        Kind::Pattern { pattern } => one(wanted_pattern(pattern)),
        // A pattern whose steps are counted.
        Kind::Custom { message, .. } => one(message.clone()),
        Kind::UniqueItems => one("no item twice".to_owned()),
        Kind::Contains => one("an item of the kind that the schema asks for".to_owned()),
        Kind::Not { schema: given } => {
            one(format!("anything but {}", cut(as_written(schema, error).unwrap_or(given))))
        }
        Kind::PropertyNames { error: inner } => {
            let key = shown(inner.instance());
            let wanted = issues_of(schema, inner, nested + 1);
            let expected =
                wanted.first().map_or_else(|| "other keys".to_owned(), |issue| issue.expected.clone());
            vec![issue(path, format!("keys to be {expected}"), format!("the key {key}"))]
        }
        Kind::FalseSchema => one("nothing here".to_owned()),
        _ => one(format!("something else: {}", cut_text(&error.masked().to_string()))),
    }
}

fn issue(path: &str, expected: String, got: String) -> Issue {
    let message = format!("expected {expected}, got {got}");
    Issue { path: path.to_owned(), expected, got, message, ..Issue::default() }
}

/// What is expected of a text without the pattern.
pub(super) fn wanted_pattern(pattern: &str) -> String {
    format!("text that matches the pattern {pattern}")
}

/// What is said where no verdict was found in time.
pub(super) fn unchecked(value: &Value) -> Issue {
    Issue {
        message:
            "could not be checked within the budget, so the call is refused; send fewer, shorter or simpler values"
                .to_owned(),
        ..issue("", "arguments that can be checked in bounded time".to_owned(), shown(value))
    }
}

fn listed(path: &str, values: &[&Value], got: String) -> Issue {
    let mut expected = String::new();
    for (at, value) in values.iter().enumerate() {
        if expected.len() > MAX_LISTED {
            // The same list can be in many issues.
            return issue(
                path,
                format!("one of {} values, such as {}", values.len(), cut_text(&expected)),
                got,
            );
        }
        if at > 0 {
            expected.push_str(", ");
        }
        expected.push_str(&value.to_string());
    }
    if values.len() != 1 {
        expected.insert_str(0, "one of ");
    }
    Issue { allowed: Some(values.iter().copied().cloned().collect()), ..issue(path, expected, got) }
}

fn missing(schema: &Value, error: &ValidationError<'_>, name: &str) -> Issue {
    let declared = owner(schema, error).and_then(|owner| owner.get("properties")?.get(name)?.get("type"));
    let expected = match declared {
        Some(Value::String(kind)) => kind.clone(),
        _ => "a value".to_owned(),
    };
    Issue {
        path: child(error.instance_path().as_str(), name),
        message: format!("required but missing, expected {expected}"),
        expected,
        got: "nothing".to_owned(),
        ..Issue::default()
    }
}

fn unknown_parameter(path: &str, name: &str, value: &Value, siblings: &[String]) -> Issue {
    Issue {
        path: child(path, name),
        expected: "nothing here".to_owned(),
        got: shown(value),
        siblings: siblings.to_vec(),
        message: "no such parameter, leave it out".to_owned(),
        allowed: None,
    }
}

fn known_siblings(schema: &Value, error: &ValidationError<'_>) -> Vec<String> {
    let properties = owner(schema, error).and_then(|owner| owner.get("properties")?.as_object());
    let base = error.instance_path().as_str();
    properties
        .map_or_else(Vec::new, |map| map.keys().take(MAX_SIBLINGS).map(|name| child(base, name)).collect())
}

/// The keyword that failed. The library may have been given another one that means the same.
fn as_written<'a>(schema: &'a Value, error: &ValidationError<'_>) -> Option<&'a Value> {
    schema.pointer(error.schema_path().as_str())
}

/// The schema object whose keyword failed.
fn owner<'a>(schema: &'a Value, error: &ValidationError<'_>) -> Option<&'a Value> {
    let (owner, _) = error.schema_path().as_str().rsplit_once('/')?;
    schema.pointer(owner)
}

pub(super) fn child(path: &str, name: &str) -> String {
    pointer::join(path, name)
}

/// The issues of the branch that was most likely meant; one merged issue when the value fits none in kind.
fn nearest_branch(
    schema: &Value,
    path: &str,
    branches: &[Vec<ValidationError<'static>>],
    nested: u32,
) -> Option<Vec<Issue>> {
    let misfit =
        |error: &ValidationError<'static>| misfit_of(error).at(error.instance_path().as_str() == path);
    let rank =
        |errors: &[ValidationError<'static>]| (errors.iter().map(misfit).max().unwrap_or(0), errors.len());
    let (best, errors) =
        branches.iter().map(|errors| (rank(errors), errors)).min_by_key(|(rank, _)| *rank)?;
    let issues = |error| issues_of(schema, error, nested + 1);
    if best.0 < Misfit::KIND {
        return Some(errors.iter().flat_map(issues).take(MAX_ISSUES).collect());
    }
    let wrong = branches.iter().flatten().filter(|error| misfit(error) == Misfit::KIND);
    merged_kinds(path, wrong.flat_map(issues).take(MAX_ISSUES).collect()).map(|issue| vec![issue])
}

/// One issue for a value that is of none of the kinds that several branches want.
fn merged_kinds(path: &str, issues: Vec<Issue>) -> Option<Issue> {
    let got = issues.first()?.got.clone();
    if issues.iter().all(|issue| issue.allowed.is_some()) {
        let mut known = HashSet::new();
        let values = issues.iter().filter_map(|issue| issue.allowed.as_ref()).flatten();
        let values: Vec<&Value> = values.filter(|value| known.insert(value.to_string())).collect();
        return Some(listed(path, &values, got));
    }
    let mut wanted: Vec<String> = Vec::new();
    for issue in issues {
        if !wanted.contains(&issue.expected) {
            wanted.push(issue.expected);
        }
    }
    Some(issue(path, wanted.join(" or "), got))
}

/// How far an issue speaks against the branch that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misfit {
    /// The value is of another kind than is wanted.
    Kind,
    /// Another constant is wanted, which is how branches are told apart.
    Constant,
    Other,
}

impl Misfit {
    /// The value itself is of another kind than the branch wants.
    const KIND: u8 = 2;

    /// The more, the farther; what is wrong `here`, with the value itself, is worst.
    fn at(self, here: bool) -> u8 {
        match self {
            Self::Kind | Self::Constant if here => Self::KIND,
            Self::Constant => 1,
            Self::Kind | Self::Other => 0,
        }
    }
}

fn misfit_of(error: &ValidationError<'_>) -> Misfit {
    match error.kind() {
        ValidationErrorKind::Constant { .. } => Misfit::Constant,
        ValidationErrorKind::Type { .. } | ValidationErrorKind::Enum { .. } => Misfit::Kind,
        _ => Misfit::Other,
    }
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(single) => single.to_string(),
        TypeKind::Multiple(set) => {
            set.into_iter().map(|single| single.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn counted(count: u64, thing: &str) -> String {
    match (count, thing) {
        (1, _) => format!("1 {thing}"),
        (_, "entry") => format!("{count} entries"),
        (_, _) => format!("{count} {thing}s"),
    }
}

/// The kind of a value and as much of it as helps.
fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        _ => format!("{} {}", kind_name(value), cut(value)),
    }
}

/// The beginning of a value's JSON, which is not written any further: one large value can be in many issues.
fn cut(value: &Value) -> String {
    // No character takes more than four bytes.
    let mut start = Start { bytes: Vec::new(), most: 4 * (MAX_SHOWN + 1) };
    // The only error is that of a start that is full.
    let _ = serde_json::to_writer(&mut start, value);
    cut_text(&String::from_utf8_lossy(&start.bytes))
}

fn cut_text(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Takes bytes until it is full.
struct Start {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
        Ok(room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
