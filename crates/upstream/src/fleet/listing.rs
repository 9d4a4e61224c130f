//! Reading an upstream's whole list of tools.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use gateway_config::UpstreamSpec;
use gateway_protocol::{ListKind, RawJson, code, parse_list};

use crate::connection::{Connection, OutgoingRequest};
use crate::error::CallError;

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
    #[error(
        "MCP_LISTING_TOO_LARGE: more than {limit} bytes of {what} in one listing, by page {page}; \
         `limits.listingBytes` of the server sets the bound"
    )]
    TooLarge { limit: usize, what: &'static str, page: usize },
    #[error(
        "MCP_PAGINATION_CURSOR_TOO_LARGE: the cursor of page {page} has {bytes} bytes, at most {CURSOR_BYTES} are taken"
    )]
    CursorTooLarge { page: usize, bytes: usize },
    #[error("listing took more than {waited:?}")]
    Timeout { waited: Duration },
    #[error("the server is configured as `strict`, and these of its tools are malformed: {0}")]
    Malformed(String),
}

/// Bytes of one cursor. It is sent back with the next request.
const CURSOR_BYTES: usize = 64 << 10;

impl ListError {
    /// Whether the server sent more than is taken. The next attempt will hardly end otherwise, and costs as much.
    pub(super) fn is_excess(&self) -> bool {
        match self {
            Self::LimitExceeded { .. } | Self::TooLarge { .. } | Self::CursorTooLarge { .. } => true,
            Self::Page { .. } | Self::CursorRepeated { .. } | Self::Timeout { .. } | Self::Malformed(_) => {
                false
            }
        }
    }
}

/// Reads all pages, within the deadline for lists.
pub(super) async fn list(
    connection: &Connection,
    kind: ListKind,
    spec: &UpstreamSpec,
) -> Result<Listing, ListError> {
    let UpstreamSpec { timeouts, limits, .. } = spec;
    let pages = async {
        let mut entries: Vec<RawJson> = Vec::new();
        // Digests: cursors of a thousand pages would take as much memory as the list.
        let (mut seen, digest) = (HashSet::new(), RandomState::new());
        let mut received = 0_usize;
        let mut cursor: Option<String> = None;
        let mut ttl: Option<Duration> = None;
        for page_number in 1.. {
            if page_number > limits.pages {
                return Err(ListError::LimitExceeded { limit: limits.pages, what: "pages" });
            }
            let failed = |cause: String| ListError::Page { what: kind.member(), page: page_number, cause };
            let cursor_text =
                cursor.as_ref().map(|cursor| serde_json::Value::from(cursor.as_str()).to_string());
            let params: Vec<(&str, &[u8])> =
                cursor_text.iter().map(|text| ("cursor", text.as_bytes())).collect();
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
            received = received.saturating_add(result.as_str().len());
            if received > limits.listing_bytes {
                let (limit, what) = (limits.listing_bytes, kind.member());
                return Err(ListError::TooLarge { limit, what, page: page_number });
            }
            let page = parse_list(kind, &result).map_err(|error| failed(error.to_string()))?;
            if entries.len() + page.entries.len() > limits.entries {
                return Err(ListError::LimitExceeded { limit: limits.entries, what: kind.member() });
            }
            // As they came, they share the memory of the whole message, with everything in it that is not counted.
            entries.extend(RawJson::copied(&page.entries));
            if let Some(page_ttl) = page.ttl_ms.map(Duration::from_millis) {
                ttl = Some(ttl.map_or(page_ttl, |ttl| ttl.min(page_ttl)));
            }
            let Some(next) = page.next_cursor else { break };
            if next.len() > CURSOR_BYTES {
                return Err(ListError::CursorTooLarge { page: page_number, bytes: next.len() });
            }
            if !seen.insert(digest.hash_one(&next)) {
                return Err(ListError::CursorRepeated { page: page_number });
            }
            cursor = Some(next);
        }
        Ok(Listing { entries, ttl })
    };
    let late = Err(ListError::Timeout { waited: timeouts.list });
    tokio::time::timeout(timeouts.list, pages).await.unwrap_or(late)
}
