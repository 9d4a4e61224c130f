//! Pages of lists.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::object::RawObject;
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
}

/// Reads one page of a list; the entries share the memory of `result`. Where members are repeated, the last one counts,
/// and the entries hold it alone.
pub fn parse_list(kind: ListKind, result: &RawJson) -> Result<ListPage, serde_json::Error> {
    let text = without_repeats(result);
    let page = RawObject::parse(&text)?;
    let Some(entries) = page.get(kind.member()) else {
        return Err(serde::de::Error::missing_field(kind.member()));
    };
    let next_cursor: Option<Option<String>> = page.get("nextCursor").map(read).transpose()?;
    Ok(ListPage {
        entries: read::<Vec<&RawValue>>(entries)?.into_iter().map(|entry| text.part(entry)).collect(),
        next_cursor: next_cursor.flatten(),
        // A malformed caching hint is ignored: it must not cost the list.
        ttl_ms: page.get("ttlMs").and_then(|ttl| read(ttl).ok()),
    })
}

fn read<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Result<T, serde_json::Error> {
    serde_json::from_str(value.get())
}
