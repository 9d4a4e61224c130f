//! TOML as a document: the values of JSON, and the line of each of them.

use std::collections::HashMap;

use gateway_notation::pointer;
use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::jsonc::{Document, JsoncError};

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Document, JsoncError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        JsoncError::at(text, at, error.message())
    })?;
    let mut offsets = HashMap::from([(String::new(), 0)]);
    let value = read_table(table.get_ref(), "", &mut offsets);
    // The parser refuses keys that stand twice.
    Ok(Document::located(text, value, offsets, Vec::new()))
}

/// Reads a table and all in it. The parser's bound on depth bounds this recursion.
fn read_table(table: &DeTable<'_>, at: &str, offsets: &mut HashMap<String, usize>) -> Value {
    let mut members = Map::new();
    // As they stand in the file: the order of servers means something.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let name: &str = key.get_ref().as_ref();
        let pointer = pointer::join(at, name);
        offsets.insert(pointer.clone(), key.span().start);
        members.insert(name.to_owned(), read(value, &pointer, offsets));
    }
    Value::Object(members)
}

fn read(value: &Spanned<DeValue<'_>>, at: &str, offsets: &mut HashMap<String, usize>) -> Value {
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            number.map_or(Value::Null, Value::Number)
        }
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().enumerate().map(|(index, item)| {
                let pointer = format!("{at}/{index}");
                offsets.insert(pointer.clone(), item.span().start);
                read(item, &pointer, offsets)
            });
            items.collect()
        }
        DeValue::Table(table) => read_table(table, at, offsets),
    }
}
