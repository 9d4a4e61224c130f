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
            Value::String(text) => self.text(text, hints, Location::Value).map(Value::String),
            Value::Number(number) => {
                number.as_u64().and_then(|number| self.number(&number.to_string(), hints)).map(Value::String)
            }
            Value::Array(items) => self.array(items, hints),
            Value::Object(members) => self.object(members),
        }
    }

    fn text(&mut self, text: &str, hints: Hints, location: Location) -> Option<String> {
        let found = self.detector.find_named(text, hints);
        let masked = (!found.is_empty()).then(|| mask(text, &found).into_owned());
        self.report.add(self.path.iter().map(|step| Cow::Borrowed(&**step)), location, found);
        masked
    }

    fn number(&mut self, digits: &str, hints: Hints) -> Option<String> {
        self.text(digits, hints, Location::Value)
    }

    fn array(&mut self, items: &'a [Value], hints: Hints) -> Option<Value> {
        let mut masked: Option<Vec<Value>> = None;
        for (index, item) in items.iter().enumerate() {
            self.path.push(Cow::Owned(index.to_string()));
            let changed = self.value(item, hints);
            self.path.pop();
            if let Some(slot) = changed.is_some().then(|| masked.get_or_insert_with(|| items.to_vec())) {
                slot.splice(index..=index, changed);
            }
        }
        masked.map(Value::Array)
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
