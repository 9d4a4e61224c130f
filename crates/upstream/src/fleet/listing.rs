//! Reading an upstream's whole list of tools.

use std::collections::HashSet;
use std::time::Duration;

use gateway_protocol::{ListKind, RawJson, code, parse_list};

use crate::connection::{Connection, OutgoingRequest};
use crate::error::CallError;
use crate::spec::{Limits, Timeouts};

/// A whole list.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub(super) entries: Vec<RawJson>,
    /// How long it stays true, where the server says.
    pub(super) ttl: Option<Duration>,
}

/// Why a list could not be read. A part of a list is never kept.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum ListError {
    #[error("listing {what}, page {page}: {cause}")]
    Page { what: &'static str, page: usize, cause: String },
    #[error("MCP_PAGINATION_CURSOR_REPEATED: the cursor of page {page} was given before")]
    CursorRepeated { page: usize },
    #[error("MCP_PAGINATION_LIMIT_EXCEEDED: more than {limit} {what}")]
    LimitExceeded { limit: usize, what: &'static str },
    #[error("listing took more than {waited:?}")]
    Timeout { waited: Duration },
}

/// Reads all pages.
pub(super) async fn list(
    connection: &Connection,
    kind: ListKind,
    timeouts: &Timeouts,
    limits: &Limits,
) -> Result<Listing, ListError> {
    tokio::time::timeout(timeouts.list, pages(connection, kind, timeouts, limits))
        .await
        .unwrap_or(Err(ListError::Timeout { waited: timeouts.list }))
}

async fn pages(
    connection: &Connection,
    kind: ListKind,
    timeouts: &Timeouts,
    limits: &Limits,
) -> Result<Listing, ListError> {
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut ttl: Option<Duration> = None;
    for page_number in 1.. {
        if page_number > limits.pages {
            return Err(ListError::LimitExceeded { limit: limits.pages, what: "pages" });
        }
        let failed = |cause: String| ListError::Page { what: kind.member(), page: page_number, cause };
        let cursor_text = cursor.as_ref().map(|cursor| serde_json::Value::from(cursor.as_str()).to_string());
        let params: Vec<(&str, &[u8])> = cursor_text.iter().map(|text| ("cursor", text.as_bytes())).collect();
        let request =
            OutgoingRequest { params: &params, ..OutgoingRequest::new(kind.method(), timeouts.list) };
        let result = match connection.request(request).await {
            Ok(result) => result,
            // A server without tools need not know the method.
            Err(CallError::Refused { error, .. })
                if error.code == code::METHOD_NOT_FOUND && page_number == 1 =>
            {
                return Ok(Listing { entries, ttl: None });
            }
            Err(error) => return Err(failed(error.to_string())),
        };
        let page = parse_list(kind, &result).map_err(|error| failed(error.to_string()))?;
        entries.extend(page.entries);
        if entries.len() > limits.entries {
            return Err(ListError::LimitExceeded { limit: limits.entries, what: kind.member() });
        }
        if let Some(page_ttl) = page.ttl_ms.map(Duration::from_millis) {
            ttl = Some(ttl.map_or(page_ttl, |ttl| ttl.min(page_ttl)));
        }
        let Some(next) = page.next_cursor else { break };
        if !seen.insert(next.clone()) {
            return Err(ListError::CursorRepeated { page: page_number });
        }
        cursor = Some(next);
    }
    Ok(Listing { entries, ttl })
}
