//! Validation against a tool's original schema.

use std::fmt::Write as _;

use jsonschema::Draft;
use serde_json::{Value, json};

use super::{
    bounded::Run,
    coerce::{Coercion, coerce_with},
    graph::Graph,
    issues::{Issue, MAX_ISSUES, collect_issues},
    listing::list_issues,
    risk::{Risk, risk_of},
};

/// With fewer alternatives nothing needs to be counted.
const FEW_BRANCHES: usize = 32;

/// Errors of alternatives that may be made, each of some hundred bytes, before only the first one is looked for.
const MOST_ERRORS: usize = 300_000;

/// How the reason begins where a schema makes sense in another draft.
const READ_AS: &str = "read as";

/// Parts of a broken schema taken out before it is given up.
const MAX_OMISSIONS: usize = 64;

/// A part of the schema that could not be used, so that arguments are not checked against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// Where it stands in the schema, as a JSON Pointer; empty for the whole schema.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A tool's original schema, ready to check arguments.
///
/// References are followed only inside the schema, `format` is not asserted. A schema that is broken in places
/// checks what can be checked; [`Validator::omissions`] says what cannot.
#[derive(Debug)]
pub struct Validator {
    schema: Value,
    checks: Option<Checks>,
    /// The alternatives of all unions in the schema.
    branches: usize,
    omissions: Vec<Omission>,
}

impl Validator {
    /// Compiles `schema`: the draft that `$schema` names, 2020-12 without one.
    pub fn new(schema: &Value) -> Self {
        let mut omissions = Vec::new();
        let checks = compile(schema, &mut omissions);
        Self { schema: schema.clone(), checks, branches: branches(schema), omissions }
    }

    /// The parts of the schema that are not checked.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// The first part of the schema that is not checked at all. A schema that is read as one of another draft is checked.
    pub fn unchecked(&self) -> Option<&Omission> {
        self.omissions.iter().find(|omission| !omission.reason.starts_with(READ_AS))
    }

    /// The schema as it came.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether `value` is valid.
    pub fn is_valid(&self, value: &Value) -> bool {
        match &self.checks {
            None => true,
            Some(Checks::Library(compiled)) => compiled.is_valid(value),
            Some(Checks::Bounded(compiled, graph)) => match affordable(compiled.as_ref(), graph, value) {
                Some(compiled) => compiled.is_valid(value),
                None => Run::new(graph, value).verdict().unwrap_or(false),
            },
        }
    }

    /// Everything that is wrong with `value`, at most a hundred entries.
    pub fn validate(&self, value: &Value) -> Vec<Issue> {
        match &self.checks {
            None => Vec::new(),
            Some(Checks::Library(compiled)) if self.is_wide(value) => self.first(compiled, value),
            Some(Checks::Library(compiled)) => self.collect(compiled, value),
            Some(Checks::Bounded(compiled, graph)) => match affordable(compiled.as_ref(), graph, value) {
                Some(compiled) => self.collect(compiled, value),
                None => list_issues(graph, value),
            },
        }
    }

    /// Whether the library would make very many errors, of which only a few are told.
    fn is_wide(&self, value: &Value) -> bool {
        self.branches > FEW_BRANCHES && parts(value).saturating_mul(self.branches) > MOST_ERRORS
    }

    /// The first thing that is wrong.
    fn first(&self, compiled: &jsonschema::Validator, value: &Value) -> Vec<Issue> {
        let mut issues = Vec::new();
        if let Err(error) = compiled.validate(value) {
            collect_issues(&self.schema, &error, &mut issues);
        }
        issues
    }

    fn collect(&self, compiled: &jsonschema::Validator, value: &Value) -> Vec<Issue> {
        let mut issues = Vec::new();
        for error in compiled.iter_errors(value) {
            collect_issues(&self.schema, &error, &mut issues);
            if issues.len() >= MAX_ISSUES {
                break;
            }
        }
        issues
    }

    /// Mends types by the schema; see [`super::coerce`].
    pub fn coerce(&self, value: &Value) -> (Value, Vec<Coercion>) {
        coerce_with(self, value)
    }
}

/// What checks values.
#[derive(Debug)]
enum Checks {
    /// The library, whose time grows with the size of schema and value.
    Library(jsonschema::Validator),
    /// The library, where it reads the schema in bounded time, for values that it surely checks in bounded time; for
    /// all others the graph.
    Bounded(Option<jsonschema::Validator>, Graph),
}

/// The alternatives of all unions in `schema`.
fn branches(schema: &Value) -> usize {
    match schema {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match (key.as_str(), value) {
                ("anyOf" | "oneOf", Value::Array(items)) => items.len() + branches(value),
                ("const" | "enum" | "default" | "examples", _) => 0,
                (_, value) => branches(value),
            })
            .sum(),
        Value::Array(items) => items.iter().map(branches).sum(),
        _ => 0,
    }
}

/// How many values there are in `value`, itself included.
fn parts(value: &Value) -> usize {
    1 + match value {
        Value::Object(map) => map.values().map(parts).sum(),
        Value::Array(items) => items.iter().map(parts).sum(),
        _ => 0,
    }
}

fn affordable<'a>(
    compiled: Option<&'a jsonschema::Validator>,
    graph: &Graph,
    value: &Value,
) -> Option<&'a jsonschema::Validator> {
    compiled.filter(|_| Run::new(graph, value).is_affordable())
}

fn compile(schema: &Value, omissions: &mut Vec<Omission>) -> Option<Checks> {
    let first = match build(schema, None) {
        Ok(compiled) => return Some(compiled),
        Err(fault) => fault,
    };
    // What the compiler does not read, but means something, is written in another way; places stay the same.
    let mut readable = schema.clone();
    let is_changed = number_groups(&mut readable) | escape_references(&mut readable);
    if is_changed && let Ok(compiled) = build(&readable, None) {
        return Some(compiled);
    }
    let schema = if is_changed { &readable } else { schema };
    if schema.get("$schema").is_none() {
        // Many servers write draft-07 without saying so.
        for (draft, name) in [(Draft::Draft7, "draft-07"), (Draft::Draft4, "draft-04")] {
            if let Ok(compiled) = build(schema, Some(draft)) {
                let reason = format!("{READ_AS} {name}, because it is not valid 2020-12: {}", first.reason);
                omissions.push(Omission { path: first.path, reason });
                return Some(compiled);
            }
        }
    }
    compile_in_part(schema, omissions)
}

/// Percent-encodes what must not stand in a reference as it is, such as the brackets in `#/$defs/List<Pet>`. Whether there
/// was any.
fn escape_references(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => {
            let mut found = false;
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                        let escaped = escaped(target);
                        found |= escaped != *target;
                        *target = escaped;
                    }
                    // Values, not schemas.
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (_, other) => found |= escape_references(other),
                }
            }
            found
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| escape_references(item) | found),
        _ => false,
    }
}

fn escaped(target: &str) -> String {
    let mut written = String::with_capacity(target.len());
    for byte in target.bytes() {
        // RFC 3986: these and the percent sign of what is escaped already.
        if byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=%".contains(&byte) {
            written.push(char::from(byte));
        } else {
            // Writing to a text cannot go wrong.
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

/// Writes back-references by name as back-references by number, which the compiler reads. Whether there were any.
fn number_groups(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => {
            let mut found = false;
            for (key, value) in map {
                match value {
                    Value::String(pattern) if key == "pattern" && pattern.contains("\\k<") => {
                        *pattern = numbered(pattern);
                        found = true;
                    }
                    other => found |= number_groups(other),
                }
            }
            found
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| number_groups(item) | found),
        _ => false,
    }
}

fn numbered(pattern: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let group = rest.strip_prefix("(?<").filter(|inner| !inner.starts_with(['=', '!']));
        if let Some((name, after)) = group.and_then(|inner| inner.split_once('>')) {
            names.push(name);
            written.push('(');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix("\\k<").and_then(|inner| inner.split_once('>'))
        {
            let number = names.iter().position(|known| *known == name).map_or(0, |index| index + 1);
            written.push('\\');
            written.push_str(&number.to_string());
            rest = after;
        } else {
            if char == '(' && !rest.starts_with("(?") {
                names.push("");
            }
            // An escape and what it escapes belong together.
            let length = match char {
                '\\' => 1 + rest.get(1..).and_then(|more| more.chars().next()).map_or(0, char::len_utf8),
                other => other.len_utf8(),
            };
            written.push_str(rest.get(..length).unwrap_or_default());
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    written
}

/// Steps that a pattern may go back in one text. Honest patterns need few; one that needs more finds nothing.
const MOST_STEPS_BACK: usize = 100_000;

/// How schemas are read: only what stands in them, `format` without force, patterns in bounded time.
pub(super) fn library_options<'a>() -> jsonschema::ValidationOptions<'a> {
    let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(MOST_STEPS_BACK);
    jsonschema::options().offline().should_validate_formats(false).with_pattern_options(patterns)
}

fn build(schema: &Value, draft: Option<Draft>) -> Result<Checks, Omission> {
    let risk = risk_of(schema);
    let compiled = if risk == Risk::Schema {
        check_form(schema, draft)?;
        None
    } else {
        Some(build_all(schema, draft)?)
    };
    match compiled {
        Some(compiled) if risk == Risk::None => Ok(Checks::Library(compiled)),
        compiled => {
            let graph = Graph::new(schema, draft.unwrap_or_else(|| Draft::default().detect(schema)))
                .map_err(|reason| Omission { path: String::new(), reason })?;
            if compiled.is_none() && !graph.is_sound() {
                let reason = "a keyword that cannot be used".to_owned();
                return Err(Omission { path: String::new(), reason });
            }
            Ok(Checks::Bounded(compiled, graph))
        }
    }
}

fn build_all(schema: &Value, draft: Option<Draft>) -> Result<jsonschema::Validator, Omission> {
    let mut options = library_options();
    if let Some(draft) = draft {
        options = options.with_draft(draft);
    }
    options.build(schema).map_err(|error| omission(&error))
}

/// Whether a schema that is not compiled as a whole is what its draft calls a schema.
fn check_form(schema: &Value, draft: Option<Draft>) -> Result<(), Omission> {
    let name = match draft.unwrap_or_else(|| Draft::default().detect(schema)) {
        Draft::Draft4 => "http://json-schema.org/draft-04/schema#",
        Draft::Draft6 => "http://json-schema.org/draft-06/schema#",
        Draft::Draft7 => "http://json-schema.org/draft-07/schema#",
        Draft::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
        Draft::Draft202012 => "https://json-schema.org/draft/2020-12/schema",
        _ => return Err(Omission { path: String::new(), reason: "an unknown draft".to_owned() }),
    };
    let form = build_all(&json!({"$schema": name, "$ref": name}), None)?;
    form.validate(schema).map_err(|error| omission(&error))
}

fn omission(error: &jsonschema::ValidationError<'_>) -> Omission {
    Omission { path: error.instance_path().as_str().to_owned(), reason: error.to_string() }
}

/// Takes out what does not compile, bit by bit. Only ever relaxes.
fn compile_in_part(schema: &Value, omissions: &mut Vec<Omission>) -> Option<Checks> {
    let mut rest = schema.clone();
    let unknown_draft = rest.get("$schema").is_some() && build(&Value::Bool(true), None).is_ok();
    for _ in 0..MAX_OMISSIONS {
        let fault = match build(&rest, None) {
            Ok(compiled) => return Some(compiled),
            Err(fault) => fault,
        };
        take_unevaluated(&mut rest, omissions);
        if let Some(path) = relax(&mut rest, &fault.path) {
            omissions.push(Omission { path, reason: fault.reason });
        } else if let Some(path) = take_bad_reference(&mut rest, schema) {
            omissions.push(Omission { path, reason: fault.reason });
        } else if unknown_draft && rest.as_object_mut().and_then(|map| map.shift_remove("$schema")).is_some()
        {
            omissions.push(Omission { path: "/$schema".to_owned(), reason: fault.reason });
        } else {
            omissions.push(Omission { path: String::new(), reason: fault.reason });
            return None;
        }
    }
    omissions.push(Omission { path: String::new(), reason: "too much of the schema is broken".to_owned() });
    None
}

/// Removes what stands at `pointer`; climbs out of keywords in which less would mean stricter.
fn relax(schema: &mut Value, pointer: &str) -> Option<String> {
    let segments: Vec<&str> = pointer.split('/').skip(1).collect();
    if segments.is_empty() {
        return None;
    }
    let strict = segments.iter().position(|name| matches!(*name, "not" | "if" | "oneOf" | "contains"));
    let kept = strict.map_or(segments.len(), |at| at + 1);
    let path: String = segments.iter().take(kept).flat_map(|name| ["/", name]).collect();
    let (parent, last) = path.rsplit_once('/')?;
    let owner = parent.rsplit('/').next().unwrap_or_default().to_owned();
    match schema.pointer_mut(parent)? {
        Value::Object(map) => {
            map.shift_remove(&last.replace("~1", "/").replace("~0", "~"))?;
        }
        Value::Array(items) => {
            let at: usize = last.parse().ok()?;
            if matches!(owner.as_str(), "anyOf" | "allOf" | "prefixItems" | "items") {
                let item = items.get_mut(at)?;
                if *item == Value::Bool(true) {
                    return None;
                }
                *item = Value::Bool(true);
            } else if at < items.len() {
                items.remove(at);
            } else {
                return None;
            }
        }
        _ => return None,
    }
    Some(path)
}

/// Takes out one reference that leads out of the document or nowhere.
fn take_bad_reference(schema: &mut Value, root: &Value) -> Option<String> {
    let path = find_keyword(schema, "", &|key, value| {
        let reference = matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef");
        let local =
            |target: &str| target.strip_prefix('#').is_some_and(|pointer| root.pointer(pointer).is_some());
        reference && value.as_str().is_some_and(|target| !local(target))
    })?;
    relax(schema, &path)
}

/// Takes out what counts on every other keyword having been looked at.
fn take_unevaluated(schema: &mut Value, omissions: &mut Vec<Omission>) {
    let unevaluated = |key: &str, _: &Value| matches!(key, "unevaluatedProperties" | "unevaluatedItems");
    for _ in 0..MAX_OMISSIONS {
        let Some(path) = find_keyword(schema, "", &unevaluated).and_then(|path| relax(schema, &path)) else {
            return;
        };
        omissions.push(Omission { path, reason: "means nothing beside a part that is left out".to_owned() });
    }
}

/// The first member that `wanted` picks.
fn find_keyword(node: &Value, path: &str, wanted: &dyn Fn(&str, &Value) -> bool) -> Option<String> {
    match node {
        Value::Object(map) => map.iter().find_map(|(key, value)| {
            let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
            if wanted(key, value) { Some(below) } else { find_keyword(value, &below, wanted) }
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, value)| find_keyword(value, &format!("{path}/{at}"), wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
