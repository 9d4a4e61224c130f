//! The fields of an object: each is named once, and that is how it is read, checked for its name and described in the schema.
//!
//! A function that reads an object takes [`Fields`] and names every field with its sentence for people and the setting that it
//! fills, which has the default. The same function, run without an object, makes the JSON Schema: see [`describe`].

mod item;
mod setting;
mod units;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use gateway_notation::pointer;
use gateway_notation::spelling::nearest_names;
use serde_json::{Map, Value, json};

use crate::environment::Environment;
use crate::expand::Source;
use crate::problem::{Problem, Problems};

pub(crate) use item::{Context, Item};
pub(crate) use setting::{Setting, Words};
use units::Bounds;
pub use units::parse_time;
pub(crate) use units::{ANY_SIZE, DAY, Unit};

/// The name of a field.
type Name = &'static str;

/// A type of numbers.
pub(crate) trait Number: TryFrom<u64> + TryInto<u64> + Copy {}

impl<N: TryFrom<u64> + TryInto<u64> + Copy> Number for N {}

/// Reads the fields of one object, or describes them.
pub(crate) struct Fields<'a> {
    pub(crate) context: &'a Context<'a>,
    pointer: String,
    /// All members, as they are.
    pub(crate) members: &'a Map<String, Value>,
    /// The fields that were named so far.
    pub(crate) known: Vec<Name>,
    /// Fields of other programs that mean nothing here.
    ignored: &'static [Name],
    /// Which further members are of other programs.
    is_foreign: fn(&str, &Value) -> bool,
    /// The schema of each field; `None` unless they are described.
    properties: Option<Map<String, Value>>,
}

impl<'a> Fields<'a> {
    /// Reads the members of an object; then warns of those that `read` did not name.
    pub(crate) fn read<T>(
        context: &'a Context<'a>,
        pointer: &str,
        members: &'a Map<String, Value>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let (pointer, known) = (pointer.to_owned(), Vec::new());
        let is_foreign = |_: &str, _: &Value| false;
        let mut fields =
            Self { context, pointer, members, known, ignored: &[], is_foreign, properties: None };
        let before = context.problems.borrow().warnings.len();
        let result = read(&mut fields);
        let unknown: Vec<Problem> = fields.unknown().collect();
        // Before those of objects inside, as they stand in the file.
        drop(context.problems.borrow_mut().warnings.splice(before..before, unknown));
        result
    }

    /// A warning for each member that was not named.
    fn unknown(&self) -> impl Iterator<Item = Problem> {
        let own = self
            .members
            .iter()
            .filter(|(name, value)| self.nested(name).is_some() || !(self.is_foreign)(name, value));
        let names = own.map(|(name, _)| name.as_str());
        names.filter(|name| !self.known.contains(name) && !self.ignored.contains(name)).map(|name| {
            let nearest =
                || nearest_names(name, self.known.iter().copied()).first().map(|name| (*name).to_owned());
            let hint = self
                .nested(name)
                .or_else(nearest)
                .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            self.context.problem(&self.at(name), &format!("unknown field, ignored{hint}"))
        })
    }

    /// How a dotted name that starts with one of the fields is written: fields of fields are nested.
    fn nested(&self, name: &str) -> Option<String> {
        let (first, _) = name.split_once('.')?;
        let is_own = self.known.contains(&first);
        is_own.then(|| {
            name.rsplit('.').fold("…".to_owned(), |inner, name| format!("{{\"{name}\": {inner}}}"))
        })
    }

    /// Fields that are passed over without a warning.
    pub(crate) fn ignore(&mut self, names: &'static [Name]) {
        self.ignored = names;
    }

    /// Members that are passed over without a warning, by name and value.
    pub(crate) fn ignore_if(&mut self, is_foreign: fn(&str, &Value) -> bool) {
        self.is_foreign = is_foreign;
    }

    /// Reports an error of a field; of the whole object if the name is empty.
    pub(crate) fn error(&self, name: &str, message: &str) {
        self.context.error(&self.at(name), message);
    }

    pub(crate) fn warn(&self, name: &str, message: &str) {
        self.context.warn(&self.at(name), message);
    }

    /// Reports an error of a member of a field.
    pub(crate) fn error_within(&self, name: &str, inner: &str, message: &str) {
        self.context.error(&pointer::join(&self.at(name), inner), message);
    }

    pub(crate) fn at(&self, name: &str) -> String {
        if name.is_empty() { self.pointer.clone() } else { pointer::join(&self.pointer, name) }
    }

    /// A member that is present and not `null`.
    pub(crate) fn get(&self, name: &str) -> Option<Item<'a>> {
        let value = self.members.get(name).filter(|value| !value.is_null())?;
        Some(Item { context: self.context, pointer: self.at(name), value })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A field that the caller reads.
    pub(crate) fn item(
        &mut self,
        name: Name,
        about: &str,
        schema: impl FnOnce() -> Value,
    ) -> Option<Item<'a>> {
        self.known.push(name);
        if let Some(properties) = &mut self.properties {
            let mut schema = schema();
            schema["description"] = about.into();
            properties.insert(name.to_owned(), schema);
        }
        self.get(name)
    }

    /// Reads fields only if they are used. They are known in any case, but need not be right: files of other clients have
    /// all kinds of values in fields that do not count.
    pub(crate) fn read_if<T>(&mut self, used: bool, read: impl FnOnce(&mut Self) -> T) -> T {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        let members = self.members;
        if !used {
            self.members = &NONE;
        }
        let result = read(self);
        self.members = members;
        result
    }

    /// Reads fields only if they are used; they are unknown if not.
    pub(crate) fn read_or_warn<T>(&mut self, used: bool, read: impl FnOnce(&mut Self) -> T) -> T {
        let known = self.known.len();
        let result = self.read_if(used, read);
        if !used {
            self.known.truncate(known);
        }
        result
    }

    /// A field of the type of its setting.
    pub(crate) fn set<V: Setting>(&mut self, name: Name, about: &str, setting: &mut V) {
        let item = self.item(name, about, || with_default(V::schema(), setting.shown()));
        if let Some(value) = item.and_then(|item| item.read::<V>()) {
            value.put(setting);
        }
    }

    /// Texts by name, beside those that are there; numbers and flags are taken as texts.
    pub(crate) fn text_map(&mut self, name: Name, about: &str, setting: &mut BTreeMap<String, String>) {
        let schema = || {
            json!({
                "type": ["object", "null"],
                "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
            })
        };
        let Some(item) = self.item(name, about, schema) else { return };
        for (name, item) in item.present_members() {
            let text = setting::scalar_text(item.value).or_else(|| item.expected("a text"));
            setting.extend(text.map(|text| (name.clone(), text)));
        }
    }

    /// A time within bounds.
    pub(crate) fn time(
        &mut self,
        name: Name,
        about: &str,
        bounds: RangeInclusive<Duration>,
        setting: &mut Duration,
    ) {
        let item = self.item(name, about, || with_default(Duration::schema(), setting.shown()));
        if let Some(time) = item.and_then(|item| time_within(&item, bounds)) {
            *setting = time;
        }
    }

    /// A number within bounds.
    pub(crate) fn count<N: Number>(&mut self, name: Name, about: &str, bounds: Bounds, setting: &mut N) {
        let usual = (*setting).try_into().ok();
        *setting = self.number(name, about, Unit::One, bounds, usual).unwrap_or(*setting);
    }

    /// A number of bytes within bounds.
    pub(crate) fn bytes<N: Number>(&mut self, name: Name, about: &str, bounds: Bounds, setting: &mut N) {
        let usual = (*setting).try_into().ok();
        *setting = self.number(name, about, Unit::Byte, bounds, usual).unwrap_or(*setting);
    }

    /// A number within bounds; `usual` is the default, if there is one.
    pub(crate) fn number<N: TryFrom<u64>>(
        &mut self,
        name: Name,
        about: &str,
        unit: Unit,
        bounds: Bounds,
        usual: Option<u64>,
    ) -> Option<N> {
        let schema = || with_default(unit.schema(&bounds), usual.map(Value::from));
        let item = self.item(name, about, schema)?;
        let number = unit.read(item.value).filter(|number| bounds.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.or_else(|| item.expected(&unit.expected(&bounds)))
    }

    /// A number above 0.
    pub(crate) fn positive(&mut self, name: Name, about: &str, most: f64) -> Option<f64> {
        let schema = || json!({"type": "number", "exclusiveMinimum": 0, "maximum": most});
        let item = self.item(name, about, schema)?;
        let number = item.value.as_f64().filter(|number| *number > 0.0 && *number <= most);
        number.or_else(|| item.expected(&format!("a number above 0, up to {most}")))
    }

    /// An object, whose fields `read` names.
    pub(crate) fn object(&mut self, name: Name, about: &str, read: impl FnOnce(&mut Fields<'_>)) {
        if let Some(item) = self.object_or(name, about, None, read) {
            item.object();
        }
    }

    /// An object, whose fields `read` names, or a value of another schema, which is returned.
    pub(crate) fn object_or(
        &mut self,
        name: Name,
        about: &str,
        other: Option<Value>,
        read: impl FnOnce(&mut Fields<'_>),
    ) -> Option<Item<'a>> {
        if self.properties.is_some() {
            let object = describe(read);
            return self.item(name, about, || other.map_or(object.clone(), |other| any_of(&[object, other])));
        }
        let item = self.item(name, about, || Value::Null)?;
        let Value::Object(members) = item.value else { return Some(item) };
        Fields::read(self.context, &item.pointer, members, read);
        None
    }
}

/// The JSON Schema of an object, by the function that reads it.
pub(crate) fn describe<T>(read: impl FnOnce(&mut Fields<'_>) -> T) -> Value {
    let environment = Environment::new(|_| None, |_| Err(std::io::ErrorKind::NotFound.into()));
    let context = Context {
        file: "",
        directory: Path::new(""),
        document: None,
        source: Source { environment: &environment, inputs: &Value::Null, folder: None },
        problems: &RefCell::new(Problems::default()),
        secrets: RefCell::default(),
        variables: BTreeMap::new(),
    };
    let mut fields = Fields {
        context: &context,
        pointer: String::new(),
        members: &Map::new(),
        known: Vec::new(),
        ignored: &[],
        is_foreign: |_, _| false,
        properties: Some(Map::new()),
    };
    read(&mut fields);
    json!({"type": "object", "properties": fields.properties})
}

/// The schema of what has one of these schemas.
pub(crate) fn any_of(schemas: &[Value]) -> Value {
    json!({"anyOf": schemas})
}

/// A time within bounds, or `None` after reporting what is wrong.
pub(crate) fn time_within(item: &Item<'_>, bounds: RangeInclusive<Duration>) -> Option<Duration> {
    units::time(item.value).filter(|time| bounds.contains(time)).or_else(|| {
        let (least, most) = (bounds.start().as_secs_f64(), bounds.end().as_secs_f64());
        item.expected(&format!(
            "a time from {least} to {most} seconds: a number of seconds, or a text such as \"500ms\""
        ))
    })
}

fn with_default(mut schema: Value, usual: Option<Value>) -> Value {
    if let Some(usual) = usual {
        schema["default"] = usual;
    }
    schema
}
