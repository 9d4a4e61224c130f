//! Calls out of forms that are whole.

use std::ops::Range;

use serde_json::{Map, Value};

use super::machine::Machine;
use super::python::python_calls;
use super::template::{Kind, Step};
use crate::arguments::{BadArguments, Kinds, accepted_kinds, parse_arguments, resolve};
use crate::dialect::{CallKeys, NotationRule};
use crate::json::from_str;
use crate::wire::calls::Arguments;
use crate::wire::calls::shape::RawCall;
use crate::wire::calls::text::OfferedTools;
use crate::wire::calls::text::element::element_arguments;
use crate::wire::calls::text::typed::{guess, typed_text};

/// A call at the end of a reply.
#[derive(Clone, Debug)]
pub(crate) struct WrittenCall {
    pub(crate) call: RawCall,
    /// Why the tool does not take its arguments, for the model.
    pub(crate) refusal: Option<String>,
}

/// The calls of a form that is whole; `None` if it only looks like calls of offered tools.
pub(super) fn read_calls(
    machine: &Machine,
    text: &str,
    tools: &dyn OfferedTools,
) -> Option<Vec<WrittenCall>> {
    let Kind::Call(notation, rule) = machine.form.kind else { return None };
    let found = Found { machine, rule, text, tools };
    let calls = found.calls()?;
    if calls.is_empty() || calls.iter().any(|call| !tools.is_offered(&call.name)) {
        return None;
    }
    let written = calls.into_iter().map(|call| {
        let refusal = refusal(&call, tools);
        WrittenCall { call: RawCall { written: Some(notation), ..call }, refusal }
    });
    Some(written.collect())
}

/// Why the tool does not take the arguments of `call`.
pub(super) fn refusal(call: &RawCall, tools: &dyn OfferedTools) -> Option<String> {
    match parse_arguments(&call.arguments, BadArguments::Error) {
        Ok(parsed) => tools.check(&call.name, &parsed.object).err(),
        Err(error) => Some(error.to_string()),
    }
}

struct Found<'f> {
    machine: &'f Machine,
    rule: &'static NotationRule,
    text: &'f str,
    tools: &'f dyn OfferedTools,
}

impl<'f> Found<'f> {
    fn calls(&self) -> Option<Vec<RawCall>> {
        let found = &self.machine.found;
        let has = |step| self.machine.form.steps.contains(&step);
        if has(Step::Python) {
            let calls = python_calls(self.at(&found.python))?;
            let suffix = self.rule.suffix.as_str();
            let named = |(name, arguments): (&str, _)| {
                call(name.strip_suffix(suffix).unwrap_or(name), Value::Object(arguments))
            };
            return Some(calls.into_iter().map(named).collect());
        }
        if has(Step::Call) || has(Step::Calls) {
            let mut calls = Vec::new();
            for span in &found.json {
                match from_str(self.at(span)).ok()? {
                    Value::Object(object) => calls.push(object_call(object, &self.rule.keys)?),
                    Value::Array(items) => {
                        for item in items {
                            let Value::Object(object) = item else { return None };
                            calls.push(object_call(object, &self.rule.keys)?);
                        }
                    }
                    _ => return None,
                }
            }
            return Some(calls);
        }
        let name = self.at(&found.name);
        let arguments = if has(Step::Element) {
            Value::Object(element_arguments(self.at(&found.content), Some(&self.tools.schema(name)))?)
        } else if has(Step::Parameters) {
            Value::Object(self.parameters(name)?)
        } else {
            from_str(self.at(found.json.first()?)).ok()?
        };
        Some(vec![RawCall { id: self.id(name), ..call(name, arguments) }])
    }

    fn at(&self, span: &Range<usize>) -> &'f str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    fn id(&self, name: &str) -> Option<String> {
        let id = self.at(&self.machine.found.id);
        let template = self.rule.id.as_deref().filter(|_| !id.is_empty())?;
        Some(template.replace("{name}", name).replace("{id}", id))
    }

    /// Values typed by the tool's schema. A line break after the opening and before the closing marker is layout.
    fn parameters(&self, name: &str) -> Option<Map<String, Value>> {
        let schema = self.tools.schema(name);
        let properties = resolve(&schema, &schema).get("properties");
        let mut arguments = Map::new();
        for (key, value) in &self.machine.found.parameters {
            let (key, value) = (self.at(key), self.at(value));
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            let value = match properties.and_then(|properties| properties.get(key)) {
                None => guess(value.trim()),
                Some(property) => match accepted_kinds(&schema, property) {
                    kinds if kinds.has(Kinds::STRING) && kinds != Kinds::ALL => {
                        Value::String(value.to_owned())
                    }
                    kinds => typed_text(value.trim(), kinds),
                },
            };
            if arguments.insert(key.to_owned(), value).is_some() {
                return None;
            }
        }
        Some(arguments)
    }
}

fn call(name: &str, arguments: Value) -> RawCall {
    RawCall { name: name.to_owned(), arguments: Arguments::Json(arguments), ..RawCall::default() }
}

fn object_call(mut object: Map<String, Value>, keys: &CallKeys) -> Option<RawCall> {
    let kind = object.get("type").and_then(Value::as_str);
    if keys.kind.is_some() && kind != keys.kind.as_deref() {
        return None;
    }
    let Some(Value::String(name)) = object.remove(&keys.name) else { return None };
    let id = object.remove("id").and_then(|id| id.as_str().map(str::to_owned));
    let mut arguments = keys.arguments.iter().filter_map(|key| object.remove(key));
    // Two members for the arguments would leave it open which ones are meant.
    let (Some(first), None) = (arguments.next(), arguments.next()) else { return None };
    let arguments = match first {
        Value::String(text) => Arguments::Text(text),
        other => Arguments::Json(other),
    };
    Some(RawCall { id, name, arguments, ..RawCall::default() })
}
