//! Making checks of a schema, or of as much of it as can be used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jsonschema::{Draft, Retrieve, ValidationError, json::Json};
use serde_json::Value;

use super::{
    estimate::{Risk, risk_of},
    metered::MeteredValidator,
    omit::{has_keyword, relax, take_bad_reference, take_dependents, take_unevaluated},
    patterns::Survey,
    rewrite::escape_references,
    validate::{Checks, Omission, OmissionKind},
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
    let schema = if patterns.too_expensive.is_empty() {
        schema
    } else {
        without = without_patterns(schema, &patterns.too_expensive, omissions);
        &without
    };
    let first = match build(schema, None, &patterns) {
        Ok(compiled) => return Some(compiled),
        Err(fault) if fault.kind == OmissionKind::TooLarge => {
            return compile_without_unevaluated(schema, fault, omissions);
        }
        Err(fault) => fault,
    };
    // What the compiler does not read, but means something, is written in another way; paths stay the same.
    let mut readable = schema.clone();
    let is_changed = escape_references(&mut readable);
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
    // What was in a part that is gone is gone as well.
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

/// Takes out what makes reading a schema take too long. If that does not help, nothing of it is checked.
fn compile_without_unevaluated(
    schema: &Value,
    fault: Omission,
    omissions: &mut Vec<Omission>,
) -> Option<Checks> {
    let mut rest = schema.clone();
    let taken = take_unevaluated(&mut rest);
    if taken.is_empty() {
        omissions.push(fault);
        return None;
    }
    omissions.extend(taken.into_iter().map(|path| Omission { path, ..fault.clone() }));
    compile(&rest, omissions)
}

/// How often the library may backtrack in one text. Patterns that backtrack are not given to it; this is the net below.
const MOST_BACKTRACKS: usize = 10_000;

/// Bytes of a compiled pattern, or of each part of one that backtracks.
const MOST_PATTERN_BYTES: usize = 10 << 20;

/// How schemas are read: only what is in them, `format` without force, patterns in bounded time.
pub(super) fn library_options<'a, F: Json>(
    draft: Option<Draft>,
) -> jsonschema::ValidationOptions<'a, Arc<dyn Retrieve>, F> {
    let patterns = jsonschema::PatternOptions::fancy_regex()
        .backtrack_limit(MOST_BACKTRACKS)
        .size_limit(MOST_PATTERN_BYTES);
    let options =
        jsonschema::options_for().offline().should_validate_formats(false).with_pattern_options(patterns);
    match draft {
        Some(draft) => options.with_draft(draft),
        None => options,
    }
}

fn build(schema: &Value, draft: Option<Draft>, known: &Survey) -> Result<Checks, Omission> {
    let patterns = known.again(schema);
    let (risk, states) = risk_of(schema, &patterns);
    let library = || compiled(&library_options(draft), schema).map_err(|error| omission(&error));
    match risk {
        Risk::None if states == 0 => Ok(Checks::Library(library()?)),
        Risk::None => {
            let metered = Box::new(MeteredValidator::new(schema.clone(), draft, patterns));
            Ok(Checks::Priced { compiled: library()?, states, metered })
        }
        // Without unwinding the library could not be stopped.
        Risk::Arguments if cfg!(panic = "unwind") => {
            let metered = MeteredValidator::new(schema.clone(), draft, patterns).compile()?;
            Ok(Checks::Metered(Box::new(metered)))
        }
        Risk::Arguments | Risk::Schema => Err(Omission {
            path: String::new(),
            kind: OmissionKind::TooLarge,
            reason: "parts that refer to each other in too many ways to be read".to_owned(),
        }),
    }
}

/// Compiles a schema. The library may panic over names that two documents have.
pub(super) fn compiled<F: Json>(
    options: &jsonschema::ValidationOptions<'_, Arc<dyn Retrieve>, F>,
    schema: &Value,
) -> Result<jsonschema::Validator<F>, ValidationError<'static>> {
    catch_unwind(AssertUnwindSafe(|| options.build(schema)))
        .unwrap_or_else(|_| Err(ValidationError::custom("the schema contradicts itself")))
}

pub(super) fn omission(error: &ValidationError<'_>) -> Omission {
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
