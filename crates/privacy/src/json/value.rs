//! The search in a value that is parsed already.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::names::{Names, Taken};
use super::{JsonReport, Location};
use crate::context::{self, Hints};
use crate::detector::{Detector, mask};

/// The value with masks, `None` if nothing is masked, and what was found.
pub(super) fn masked(detector: &Detector, value: &Value) -> (Option<Value>, JsonReport) {
    let mut taken = Taken::default();
    note_names(value, &mut taken);
    let mut walk = Walk { detector, taken, path: Vec::new(), report: JsonReport::default() };
    let masked = walk.value(value, Hints::default());
    (masked, walk.report)
}

fn note_names(value: &Value, taken: &mut Taken) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                taken.note(name);
                note_names(value, taken);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| note_names(item, taken)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Goes as deep as the value is nested, as cloning and dropping it do.
struct Walk<'a> {
    detector: &'a Detector,
    taken: Taken,
    path: Vec<Cow<'a, str>>,
    report: JsonReport,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &'a Value, hints: Hints) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) => None,
            Value::String(text) => self.text(text, hints).map(Value::String),
            Value::Number(number) => {
                let digits = number.as_u64().map(|number| number.to_string());
                digits.and_then(|digits| self.text(&digits, hints)).map(Value::String)
            }
            Value::Array(items) => self.array(items, hints),
            Value::Object(members) => self.object(members),
        }
    }

    fn text(&mut self, text: &str, hints: Hints) -> Option<String> {
        let found = self.detector.find_named(text, hints);
        let masked = (!found.is_empty()).then(|| mask(text, &found).into_owned());
        self.report.add(self.path.iter().map(|step| Cow::Borrowed(&**step)), Location::Value, found);
        masked
    }

    fn array(&mut self, items: &'a [Value], hints: Hints) -> Option<Value> {
        let mut changes = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.path.push(Cow::Owned(index.to_string()));
            changes.push(self.value(item, hints));
            self.path.pop();
        }
        if changes.iter().all(Option::is_none) {
            return None;
        }
        let masked = items.iter().zip(changes).map(|(item, changed)| changed.unwrap_or_else(|| item.clone()));
        Some(masked.collect())
    }

    fn object(&mut self, members: &'a Map<String, Value>) -> Option<Value> {
        let mut names = Names::default();
        let mut changes = Vec::with_capacity(members.len());
        for (name, value) in members {
            let found = self.detector.find(name);
            let masked_name = (!found.is_empty()).then(|| names.unique(&mask(name, &found), &self.taken));
            self.path.push(masked_name.clone().map_or(Cow::Borrowed(name.as_str()), Cow::Owned));
            self.report.add(self.path.iter().map(|step| Cow::Borrowed(&**step)), Location::Name, found);
            let masked_value = self.value(value, context::read(name));
            self.path.pop();
            changes.push((masked_name, masked_value));
        }
        if changes.iter().all(|(name, value)| name.is_none() && value.is_none()) {
            return None;
        }
        let masked = members.iter().zip(changes).map(|((name, value), (masked_name, masked_value))| {
            (masked_name.unwrap_or_else(|| name.clone()), masked_value.unwrap_or_else(|| value.clone()))
        });
        Some(Value::Object(masked.collect()))
    }
}
