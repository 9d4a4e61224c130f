//! Making checks of a schema, or of as much of it as can be used.

use jsonschema::Draft;
use serde_json::{Value, json};

use super::{
    graph::Graph,
    omit::{has_keyword, relax, take_bad_reference, take_dependents, take_unevaluated},
    patterns::Survey,
    rewrite::{escape_references, number_groups},
    risk::{Risk, risk_of},
    validate::{Checks, Omission, OmissionKind, Source},
};

/// Keywords that draft-04 does not know, and from the fifth on draft-07 neither.
const NEWER: [&str; 13] = [
    "const",
    "contains",
    "if",
    "propertyNames",
    "$anchor",
    "$dynamicRef",
    "dependentRequired",
    "dependentSchemas",
    "maxContains",
    "minContains",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Parts of a broken schema taken out before it is given up.
const MAX_OMISSIONS: usize = 64;

/// The checks of `schema`; what it does not check goes to `omissions`.
pub(super) fn compile(schema: &Value, omissions: &mut Vec<Omission>) -> Option<Checks> {
    let without;
    let patterns = Survey::of(schema);
    let schema = if patterns.too_dear.is_empty() {
        schema
    } else {
        without = without_patterns(schema, &patterns.too_dear, omissions);
        &without
    };
    let first = match build(schema, None, &patterns) {
        Ok(compiled) => return Some(compiled),
        Err(fault) => fault,
    };
    // What the compiler does not read, but means something, is written in another way; places stay the same.
    let mut readable = schema.clone();
    let is_changed = number_groups(&mut readable) | escape_references(&mut readable);
    if is_changed && let Ok(compiled) = build(&readable, None, &patterns) {
        return Some(compiled);
    }
    let schema = if is_changed { &readable } else { schema };
    if schema.get("$schema").is_none() {
        // Many servers write draft-07 without saying so.
        let drafts = [
            (Draft::Draft7, "draft-07", NEWER.get(4..).unwrap_or_default()),
            (Draft::Draft4, "draft-04", &NEWER[..]),
        ];
        for (draft, name, newer) in drafts {
            // Keywords that the draft does not know would be left out without a word.
            if !has_keyword(schema, newer)
                && let Ok(compiled) = build(schema, Some(draft), &patterns)
            {
                let reason = format!("read as {name}, because it is not valid 2020-12: {}", first.reason);
                omissions.push(Omission { path: first.path, kind: OmissionKind::OtherDraft, reason });
                return Some(compiled);
            }
        }
    }
    compile_in_part(schema, &patterns, omissions)
}

/// Takes out patterns that would take too long to be compiled or matched.
fn without_patterns(schema: &Value, paths: &[String], omissions: &mut Vec<Omission>) -> Value {
    let mut rest = schema.clone();
    // What stood in a part that is gone is gone as well.
    let taken: Vec<String> = paths.iter().filter_map(|path| relax(&mut rest, path)).collect();
    let reason = "a regular expression that is too large, or takes a time without bound";
    let kind = OmissionKind::TooLarge;
    omissions.extend(taken.iter().map(|path| Omission {
        path: path.clone(),
        kind,
        reason: reason.to_owned(),
    }));
    take_dependents(&mut rest, taken, kind, omissions);
    rest
}

/// Steps that the library may go back in one text. Patterns that go back are not given to it; this is the net below.
const MOST_STEPS_BACK: usize = 10_000;

/// Bytes of a compiled pattern, or of each part of one that goes back.
const MOST_PATTERN_BYTES: usize = 10 << 20;

/// How schemas are read: only what stands in them, `format` without force, patterns in bounded time.
pub(super) fn library_options<'a>() -> jsonschema::ValidationOptions<'a> {
    let patterns = jsonschema::PatternOptions::fancy_regex()
        .backtrack_limit(MOST_STEPS_BACK)
        .size_limit(MOST_PATTERN_BYTES);
    jsonschema::options().offline().should_validate_formats(false).with_pattern_options(patterns)
}

fn build(schema: &Value, draft: Option<Draft>, known: &Survey) -> Result<Checks, Omission> {
    let patterns = known.again(schema);
    let (risk, states) = risk_of(schema, &patterns);
    // Without a name, a reference to what stands there would lead nowhere.
    let compiled = if risk == Risk::Schema || patterns.has_counted_names {
        check_form(schema, draft)?;
        None
    } else {
        Some(build_all(&patterns.without_counted(schema), draft)?)
    };
    let read_as = draft.unwrap_or_else(|| Draft::default().detect(schema));
    match compiled {
        Some(compiled) if risk == Risk::None && states == 0 => Ok(Checks::Library(compiled)),
        Some(compiled) if risk == Risk::None => {
            let source = Box::new(Source::new(schema.clone(), read_as, patterns));
            Ok(Checks::Priced { compiled, states, source })
        }
        compiled => {
            let graph = Graph::new(schema, read_as, &patterns)
                .map_err(|reason| Omission::unchecked(String::new(), reason))?;
            if compiled.is_none() && !graph.is_sound() {
                return Err(fault_in(schema, draft, &patterns));
            }
            Ok(Checks::Bounded(compiled, graph))
        }
    }
}

/// What is wrong with a keyword of a schema that the library is not given as a whole.
fn fault_in(schema: &Value, draft: Option<Draft>, known: &Survey) -> Omission {
    let unknown = || Omission::unchecked(String::new(), "a keyword that cannot be used");
    // This is what makes reading most of them dear. Places stay the same.
    let mut rest = schema.clone();
    take_unevaluated(&mut rest);
    let patterns = known.again(&rest);
    if risk_of(&rest, &patterns).0 == Risk::Schema {
        return unknown();
    }
    // What stands beneath a name that the library is not given is found here alone.
    let wrong = || {
        let (place, text) = patterns.first_wrong()?;
        Some(Omission::unchecked(place.to_owned(), format!("{} is not a \"regex\"", json!(text))))
    };
    build_all(&patterns.without_counted(&rest), draft).err().or_else(wrong).unwrap_or_else(unknown)
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
        _ => return Err(Omission::unchecked(String::new(), "an unknown draft")),
    };
    let form = build_all(&json!({"$schema": name, "$ref": name}), None)?;
    form.validate(schema).map_err(|error| omission(&error))
}

fn omission(error: &jsonschema::ValidationError<'_>) -> Omission {
    Omission::unchecked(error.instance_path().as_str().to_owned(), error.to_string())
}

/// Takes out what does not compile, bit by bit. Only ever relaxes.
fn compile_in_part(schema: &Value, patterns: &Survey, omissions: &mut Vec<Omission>) -> Option<Checks> {
    let mut rest = schema.clone();
    let unknown_draft = rest.get("$schema").is_some() && build(&Value::Bool(true), None, patterns).is_ok();
    for _ in 0..MAX_OMISSIONS {
        let fault = match build(&rest, None, patterns) {
            Ok(compiled) => return Some(compiled),
            Err(fault) => fault,
        };
        let taken =
            relax(&mut rest, &fault.path).or_else(|| take_bad_reference(&mut rest, schema)).or_else(|| {
                let map = rest.as_object_mut().filter(|_| unknown_draft)?;
                map.shift_remove("$schema").map(|_| "/$schema".to_owned())
            });
        let Some(path) = taken else {
            omissions.push(Omission::unchecked(String::new(), fault.reason));
            return None;
        };
        omissions.push(Omission::unchecked(path.clone(), fault.reason));
        take_dependents(&mut rest, vec![path], OmissionKind::Unchecked, omissions);
    }
    omissions.push(Omission::unchecked(String::new(), "too much of the schema is broken"));
    None
}
