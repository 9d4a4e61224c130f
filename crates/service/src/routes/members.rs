//! Members of a body that its route does not know.
//!
//! They are refused where all members are ours. What a provider or a server wrote may have any member, so that the value of
//! `call`, tool use for `/route`, messages of MCP and documents with tools are not searched for unknown ones.

use crate::errors::ApiError;
use crate::openapi::{Action, Route, route_of};

/// Longer names are cut in messages.
const SHOWN: usize = 64;

/// Refuses a body with a member that its route does not know.
pub(super) fn check<'n>(action: Action, names: impl IntoIterator<Item = &'n str>) -> Result<(), ApiError> {
    let Some(route) = route_of(action) else { return Ok(()) };
    match names.into_iter().find(|name| !route.has_member(name)) {
        None => Ok(()),
        Some(unknown) => Err(ApiError::bad_request(refusal(route, unknown))),
    }
}

/// Whether the names that a route does not know most likely stand for a member that is missing. With others among them the
/// body is not one of ours.
pub(super) fn misspells<'n>(action: Action, names: impl IntoIterator<Item = &'n str>, member: &str) -> bool {
    let Some(route) = route_of(action) else { return false };
    let mut unknown = names.into_iter().filter(|name| !route.has_member(name)).peekable();
    unknown.peek().is_some() && unknown.all(|name| route.nearest_member(name) == Some(member))
}

/// What to say of a document with tools that has members like one of our options, as it may have any other.
pub(super) fn hint<'n>(action: Action, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let route = route_of(action)?;
    // `_meta` and its like are not meant for us.
    let mut unknown = names.into_iter().filter(|name| !name.starts_with('_') && !route.has_member(name));
    unknown.find_map(|name| {
        if route.is_option_of_lists_only(name) {
            let means = "is an option of lists of servers' tools, and means nothing here";
            return Some(format!("\"{name}\" beside the tools {means}"));
        }
        // Where the tools are is known: `tool_choice` is a provider's.
        let meant = route.nearest_member(name).filter(|meant| !matches!(*meant, "tool" | "tools"))?;
        Some(format!("\"{}\" beside the tools is no option; did you mean \"{meant}\"?", shown(name)))
    })
}

fn refusal(route: &Route, name: &str) -> String {
    let unknown = format!("unknown member \"{}\" of the body", shown(name));
    if route.has_parameter(name) {
        let path = route.path;
        return format!("{unknown}: it is a parameter of the query here, {path}?{name}=…");
    }
    if route.belongs_in_call(name) {
        return format!("{unknown}: it belongs in \"call\", in the form in which the model sent it");
    }
    match route.nearest_member(name) {
        Some(meant) => format!("{unknown}: did you mean \"{meant}\"?"),
        None => format!("{unknown}; it may have {}", route.described_members().join(", ")),
    }
}

fn shown(name: &str) -> &str {
    name.char_indices().nth(SHOWN).map_or(name, |(end, _)| name.get(..end).unwrap_or(name))
}
