//! Pages of lists.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::raw::RawJson;
use crate::repeated::without_repeats;
use crate::write::method;

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Tools.
    Tools,
    /// Resources.
    Resources,
    /// Resource templates.
    ResourceTemplates,
    /// Prompts.
    Prompts,
}

impl ListKind {
    /// The method that lists it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => method::LIST_TOOLS,
            Self::Resources => method::LIST_RESOURCES,
            Self::ResourceTemplates => method::LIST_RESOURCE_TEMPLATES,
            Self::Prompts => method::LIST_PROMPTS,
        }
    }

    /// The member of the result that holds the entries.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The entries, as received.
    pub entries: Vec<RawJson>,
    /// The cursor of the next page. An empty text is a cursor too.
    pub next_cursor: Option<String>,
    /// How long the list may be cached, in milliseconds.
    pub ttl_ms: Option<u64>,
    /// Who may share it.
    pub scope: CacheScope,
}

/// Who may share a cached list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// All callers.
    Public,
    /// Only callers with the same authorisation.
    #[default]
    Private,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    resources: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, rename = "resourceTemplates")]
    templates: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    prompts: Option<Vec<&'a RawValue>>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
    #[serde(borrow, default, rename = "ttlMs")]
    ttl_ms: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "cacheScope")]
    scope: Option<&'a RawValue>,
}

/// Reads one page of a list; the entries share the memory of `result`. Where members are repeated, the last one counts,
/// and the entries hold it alone.
pub fn parse_list(kind: ListKind, result: &RawJson) -> Result<ListPage, serde_json::Error> {
    let text: Bytes = without_repeats(result).to_bytes();
    let page: Page<'_> = serde_json::from_slice(&text)?;
    let entries = match kind {
        ListKind::Tools => page.tools,
        ListKind::Resources => page.resources,
        ListKind::ResourceTemplates => page.templates,
        ListKind::Prompts => page.prompts,
    };
    let Some(entries) = entries else {
        return Err(serde::de::Error::missing_field(kind.member()));
    };
    Ok(ListPage {
        entries: entries.into_iter().map(|entry| RawJson::part_of(&text, entry)).collect(),
        next_cursor: page.next_cursor,
        // A malformed caching hint is ignored: it must not cost the list.
        ttl_ms: page.ttl_ms.and_then(|ttl| serde_json::from_str(ttl.get()).ok()),
        scope: page.scope.and_then(|scope| serde_json::from_str(scope.get()).ok()).unwrap_or_default(),
    })
}
