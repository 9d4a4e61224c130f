//! Lists of everything that one endpoint shows, in pages.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use gateway_protocol::{ListKind, RawJson, RawObject, RpcError};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::caller::{Caller, Reach};
use crate::endpoint::Endpoint;
use crate::errors::{internal, invalid};
use crate::offers::offers;
use crate::search;
use crate::view::View;
use gateway_runtime::lists::renamed;

/// How long callers of the modern era may keep a list, in milliseconds, if nobody notifies them of changes.
pub(crate) const LIST_TTL: u64 = 60_000;

fn tools_of(endpoint: &Endpoint, view: &View, is_modern: bool) -> Arc<[RawJson]> {
    let catalogue = endpoint.fleet().catalogue();
    let kept = if is_modern { &endpoint.state().tools } else { &endpoint.state().legacy_tools };
    kept.get(view, catalogue.version(), || {
        let shown = |tool: &gateway_upstream::CatalogueTool| {
            let (shown, name) = (tool.for_clients(is_modern)?, view.name_of(tool));
            let renamed = (name != tool.name).then(|| renamed(&shown, "name", name)).flatten();
            Some(renamed.unwrap_or_else(|| shown.into_owned()))
        };
        view.tools(&catalogue).into_iter().filter_map(shown).collect()
    })
}

/// One page of a list.
pub(crate) async fn list(
    caller: &Caller,
    kind: ListKind,
    params: Option<&RawJson>,
) -> Result<RawJson, RpcError> {
    let mut note = None;
    let entries: Arc<[RawJson]> = match kind {
        ListKind::Tools => {
            caller
                .endpoint
                .fleet()
                .listed_or_stale(caller.view.awaited(), caller.endpoint.config().list_wait)
                .await;
            if let Reach::Asked(peer) = &caller.reach {
                peer.sees(caller.endpoint.fleet().catalogue().version());
            }
            match search::offered(caller, params) {
                Some((shown, said)) => {
                    note = Some(said);
                    shown
                }
                None => tools_of(&caller.endpoint, &caller.view, caller.is_modern()),
            }
        }
        ListKind::Resources | ListKind::ResourceTemplates | ListKind::Prompts => {
            if let Reach::Asked(peer) = &caller.reach {
                peer.looks(kind);
            }
            let found = offers(&caller.endpoint, &caller.view, kind).await;
            found.iter().map(|offer| offer.shown(kind)).collect()
        }
    };
    let page = page(&entries, kind, cursor(params)?, caller.endpoint.config().mcp.page, caller.is_modern())?;
    Ok(note.and_then(|note| noted(&page, &note)).unwrap_or(page))
}

/// A page with something said about the whole list.
fn noted(page: &RawJson, note: &serde_json::Value) -> Option<RawJson> {
    let note = RawJson::of(note).ok()?;
    let mut members = RawObject::parse(page).ok()?;
    members.set("_meta", &note).ok()?;
    members.to_raw().ok()
}

fn cursor(params: Option<&RawJson>) -> Result<Option<String>, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(default)]
        cursor: Option<String>,
    }
    let Some(params) = params else { return Ok(None) };
    let read: Params = params.read().map_err(|error| invalid(format!("reading params: {error}")))?;
    Ok(read.cursor)
}

fn page(
    entries: &[RawJson],
    kind: ListKind,
    cursor: Option<String>,
    size: usize,
    is_modern: bool,
) -> Result<RawJson, RpcError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => read_cursor(entries, &cursor).ok_or_else(|| {
            let message = "this cursor is not known, or the list has changed since; begin again without one";
            invalid(message)
        })?,
    };
    let end = start.saturating_add(size.max(1)).min(entries.len());
    let shown = entries.get(start..end).unwrap_or_default();
    let mut text = Vec::with_capacity(shown.iter().map(|entry| entry.len() + 1).sum::<usize>() + 128);
    text.extend_from_slice(b"{\"");
    text.extend_from_slice(kind.member().as_bytes());
    text.extend_from_slice(b"\":[");
    for (index, entry) in shown.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(entry.as_bytes());
    }
    text.push(b']');
    if end < entries.len() {
        text.extend_from_slice(format!(",\"nextCursor\":\"{}\"", write_cursor(entries, end)).as_bytes());
    }
    if is_modern {
        let hints = format!(",\"resultType\":\"complete\",\"ttlMs\":{LIST_TTL},\"cacheScope\":\"private\"");
        text.extend_from_slice(hints.as_bytes());
    }
    text.push(b'}');
    RawJson::parse(text).map_err(internal)
}

/// A cursor names an index and what stood before it, so that a list that changed is noticed.
fn write_cursor(entries: &[RawJson], index: usize) -> String {
    BASE64.encode(format!("{index}.{}", mark(entries, index)))
}

fn read_cursor(entries: &[RawJson], cursor: &str) -> Option<usize> {
    let text = String::from_utf8(BASE64.decode(cursor).ok()?).ok()?;
    let (index, found) = text.split_once('.')?;
    let index = index.parse().ok().filter(|index| *index <= entries.len())?;
    (found == mark(entries, index)).then_some(index)
}

fn mark(entries: &[RawJson], index: usize) -> String {
    let mut hash = Sha256::new();
    for entry in entries.get(..index).unwrap_or_default() {
        hash.update(entry.as_bytes());
    }
    BASE64.encode(hash.finalize().get(..12).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize) -> Vec<RawJson> {
        (0..count).map(|number| RawJson::parse(format!("{{\"name\":\"t{number}\"}}")).unwrap()).collect()
    }

    fn pages(entries: &[RawJson], size: usize) -> Vec<String> {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let page = page(entries, ListKind::Tools, cursor, size, false).unwrap();
            let value: serde_json::Value = page.read().unwrap();
            for tool in value["tools"].as_array().unwrap() {
                found.push(tool["name"].as_str().unwrap().to_owned());
            }
            cursor = value["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                return found;
            }
        }
    }

    #[test]
    fn pages_hold_every_entry_once() {
        for (count, size) in [(0, 3), (1, 3), (3, 3), (4, 3), (10, 1)] {
            let expected: Vec<String> = (0..count).map(|number| format!("t{number}")).collect();
            assert_eq!(pages(&entries(count), size), expected, "{count} in pages of {size}");
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let many = entries(5);
        let cursor = write_cursor(&many, 2);
        assert_eq!(read_cursor(&many, &cursor), Some(2));
        assert_eq!(read_cursor(&many[1..], &cursor), None);
        for wrong in ["", "x", "Mg", &BASE64.encode("99.abc"), &BASE64.encode("2.abc")] {
            assert_eq!(read_cursor(&many, wrong), None, "{wrong}");
        }
    }
}
