//! Texts of the file that are secrets: keys, headers and addresses that may hold a password.
//!
//! The variables that they are taken from are noted, and withheld from every program that the gateway starts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::expand::Source;
use crate::fields::{Fields, Item, Setting as _};
use crate::key::Secret;

/// Settings with a secret in them, whose own variables (`MCP_GATEWAY_…`) are withheld too.
pub(crate) const SECRET_SETTINGS: [&str; 4] =
    ["/apiKeys", "/adminKeys", "/log/store", "/conversations/store"];

/// A field with a secret; `None` if it is absent or empty. The names of the variables in it are added to `taken_from`.
pub(crate) fn secret(
    at: &mut Fields<'_>,
    name: &'static str,
    about: &str,
    taken_from: &mut BTreeSet<String>,
) -> Option<Secret> {
    let item = at.item(name, about, String::schema)?;
    expanded(&item, taken_from).filter(|text| !text.expose().is_empty())
}

/// A text with its variables, whose value is a secret.
pub(crate) fn expanded(item: &Item<'_>, taken_from: &mut BTreeSet<String>) -> Option<Secret> {
    let text: String = item.read()?;
    // A key is a secret: neither the default of an input, which is in the file for all to read, nor a path makes one.
    let source = Source { inputs: &Value::Null, folder: None, ..item.context.source };
    let expanded = item.context.expand(source, &text).map_err(|message| item.error(&message)).ok()?;
    taken_from.extend(expanded.variables);
    Some(Secret::new(expanded.text))
}
