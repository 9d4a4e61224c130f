//! Resources of the configuration file itself, and the check of what is said about a resource.

use std::fmt;

use gateway_protocol::RawJson;
use serde_json::{Map, Value};

use crate::definition::DefinitionError;

/// Most characters of a URI or template.
const LONGEST: usize = 2_048;

/// A resource of the configuration file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceSpec {
    /// What is said about it.
    pub definition: ResourceDefinition,
    /// What it holds.
    pub contents: StaticContents,
}

/// What a resource of the configuration file holds.
#[derive(Clone, PartialEq, Eq)]
pub enum StaticContents {
    /// A text. In that of a template, `{x}` is what the URI has in its place.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

impl fmt::Debug for StaticContents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Text(_) => "Text",
            Self::Blob(_) => "Blob",
        })
    }
}

impl ResourceSpec {
    /// What it holds stands beside what is said about it, as `text` or `blob`.
    pub(crate) fn read(about: &Map<String, Value>) -> Result<Self, DefinitionError> {
        let missing = "or `blob` is missing: what the resource holds";
        let contents = match one_of(about, ["text", "blob"], missing)? {
            ("text", text) => StaticContents::Text(text.to_owned()),
            (_, blob) if is_base64(blob) => StaticContents::Blob(blob.to_owned()),
            (member, _) => return Err(DefinitionError::field(member, "must be base64")),
        };
        Ok(Self { definition: ResourceDefinition::new(about)?, contents })
    }

    /// The bytes of what is configured.
    pub(crate) fn bytes(&self) -> usize {
        let (StaticContents::Text(text) | StaticContents::Blob(text)) = &self.contents;
        self.definition.json.len() + text.len()
    }
}

/// What `resources/list` or `resources/templates/list` says about a resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceDefinition {
    /// The URI, or the template of one.
    pub uri: String,
    /// Whether it is a template, which stands for many resources.
    pub is_template: bool,
    /// The media type.
    pub mime: Option<String>,
    /// The definition.
    pub json: RawJson,
}

impl ResourceDefinition {
    /// Checks `uri` and `name`, or `uriTemplate` and `name` for a template; beside them `title`, `description`, `mimeType`
    /// and so on.
    pub fn new(about: &Map<String, Value>) -> Result<Self, DefinitionError> {
        let (member, uri) = one_of(about, ["uri", "uriTemplate"], "or `uriTemplate` is missing")?;
        let is_template = member == "uriTemplate";
        let has_scheme = uri.split_once(':').is_some_and(|(scheme, rest)| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            !scheme.is_empty() && scheme.bytes().all(allowed) && !rest.is_empty()
        });
        if !has_scheme || uri.len() > LONGEST {
            return Err(DefinitionError::field(
                member,
                format!("must be a URI of at most {LONGEST} bytes, such as `notes://today`"),
            ));
        }
        if is_template && uri_pieces(uri).is_none_or(|pieces| pieces.len() < 2) {
            return Err(DefinitionError::field(
                member,
                "must have places such as `{name}`, each closed and with a name of its own",
            ));
        }
        let mut definition = Map::new();
        definition.insert(member.to_owned(), uri.into());
        let name = about.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        definition.insert(
            "name".to_owned(),
            name.ok_or_else(|| DefinitionError::field("name", "must be a text"))?.into(),
        );
        for text in ["title", "description", "mimeType"] {
            match about.get(text) {
                Some(value @ Value::String(_)) => drop(definition.insert(text.to_owned(), value.clone())),
                Some(Value::Null) | None => {}
                Some(_) => return Err(DefinitionError::field(text, "must be a text")),
            }
        }
        for other in ["annotations", "icons", "size", "_meta"] {
            if let Some(value) = about.get(other).filter(|value| !value.is_null()) {
                definition.insert(other.to_owned(), value.clone());
            }
        }
        let mime = about.get("mimeType").and_then(Value::as_str).map(str::to_owned);
        let json = RawJson::of(&definition)
            .map_err(|error| DefinitionError::field("resource", error.to_string()))?;
        Ok(Self { uri: uri.to_owned(), is_template, mime, json })
    }
}

/// The one of two members that is present, and its text.
fn one_of<'a>(
    about: &'a Map<String, Value>,
    [first, second]: [&'static str; 2],
    missing: &str,
) -> Result<(&'static str, &'a str), DefinitionError> {
    let (member, value) = match (about.get(first), about.get(second)) {
        (Some(_), Some(_)) => {
            let message = format!("has `{first}` beside it; keep one of them");
            return Err(DefinitionError::field(second, message));
        }
        (Some(value), None) => (first, value),
        (None, Some(value)) => (second, value),
        (None, None) => return Err(DefinitionError::field(first, missing)),
    };
    let text = value.as_str().ok_or_else(|| DefinitionError::field(member, "must be a text"))?;
    Ok((member, text))
}

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriPiece<'t> {
    /// A text.
    Literal(&'t str),
    /// The name of a place, `{name}`.
    Place(&'t str),
}

/// The parts of a template; `None` if a brace is not closed or two places have one name, or stand side by side.
pub fn uri_pieces(template: &str) -> Option<Vec<UriPiece<'_>>> {
    let mut pieces = Vec::new();
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let (name, left) = after.split_once('}')?;
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name || names.contains(&name) || literal.is_empty() || literal.contains('}') {
            return None;
        }
        names.push(name);
        pieces.extend([UriPiece::Literal(literal), UriPiece::Place(name)]);
        rest = left;
    }
    if rest.contains('}') {
        return None;
    }
    if !rest.is_empty() {
        pieces.push(UriPiece::Literal(rest));
    }
    Some(pieces)
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let field = |about: &Value| match ResourceSpec::read(about.as_object().unwrap()) {
            Err(DefinitionError::Field { field, .. }) => field,
            other => panic!("{about}: {other:?}"),
        };
        for (about, expected) in [
            (json!({"name": "x", "text": ""}), "uri"),
            (json!({"uri": "no-scheme", "name": "x", "text": ""}), "uri"),
            (json!({"uri": "n://1", "text": ""}), "name"),
            (json!({"uri": "n://1", "name": "x"}), "text"),
            (json!({"uri": "n://1", "name": "x", "blob": "%"}), "blob"),
            (json!({"uri": "n://1", "uriTemplate": "n://{a}", "name": "x", "text": ""}), "uriTemplate"),
            (json!({"uriTemplate": "n://1", "name": "x", "text": ""}), "uriTemplate"),
            (json!({"uriTemplate": "n://{a", "name": "x", "text": ""}), "uriTemplate"),
            (json!({"uriTemplate": "n://{a}{b}", "name": "x", "text": ""}), "uriTemplate"),
            (json!({"uri": "n://1", "name": "x", "text": "", "mimeType": 5}), "mimeType"),
        ] {
            assert_eq!(field(&about), expected, "{about}");
        }
    }
}
