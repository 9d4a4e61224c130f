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
        if member == "uriTemplate" && !is_template(uri) {
            return Err(DefinitionError::field(
                member,
                "must have placeholders such as `{name}`, each closed and with a name of its own",
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
        Ok(Self { uri: uri.to_owned(), is_template: member == "uriTemplate", mime, json })
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

/// Whether a URI has placeholders such as `{name}`: each closed, with a name of its own, and not side by side.
fn is_template(uri: &str) -> bool {
    let mut names = Vec::new();
    let mut rest = uri;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((name, left)) = after.split_once('}') else { return false };
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name || names.contains(&name) || literal.is_empty() || literal.contains('}') {
            return false;
        }
        names.push(name);
        rest = left;
    }
    !names.is_empty() && !rest.contains('}')
}

/// What a URI has for the placeholders of a template, in their order; `None` if it cannot come from it. `{x}` stands for
/// some text without slashes, `{+path}` and the like for any text.
pub fn template_values<'a>(template: &'a str, uri: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let mut values = Vec::new();
    let Some((literal, mut template)) = template.split_once('{') else {
        return (template == uri).then_some(values);
    };
    let mut uri = uri.strip_prefix(literal)?;
    loop {
        let (name, rest) = template.split_once('}')?;
        let is_wide = name.starts_with(['+', '#', '/', '?', '&', '.', ';']);
        let stands_for = |text: &&str| is_wide || !text.is_empty() && !text.contains('/');
        let Some((literal, next)) = rest.split_once('{') else {
            values.push((name, uri.strip_suffix(rest).filter(stands_for)?));
            return Some(values);
        };
        // The shortest text will do: what follows may then stand for more.
        let least = if is_wide { 0 } else { uri.chars().next().map_or(0, char::len_utf8) };
        let (text, left) = uri.split_at_checked(least + uri.get(least..)?.find(literal)?)?;
        values.push((name, Some(text).filter(stands_for)?));
        uri = left.get(literal.len()..)?;
        template = next;
    }
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

    #[track_caller]
    fn check_values(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        assert_eq!(template_values(template, uri).as_deref(), expected, "{template} {uri}");
    }

    #[test]
    fn templates_give_the_values_of_uris() {
        check_values("test://{id}", "test://7", Some(&[("id", "7")]));
        check_values("test://{id}", "test://", None);
        check_values("test://{id}", "test://7/8", None);
        check_values("test://{id}/data", "test://7/data", Some(&[("id", "7")]));
        check_values("test://{id}/data", "test://7/other", None);
        check_values("test://{id}/data", "test://7/8/data", None);
        check_values("file:///{+path}", "file:///a/b/c", Some(&[("+path", "a/b/c")]));
        check_values("a{x}b{y}c", "a1b2c", Some(&[("x", "1"), ("y", "2")]));
        check_values("a{x}b", "aäb", Some(&[("x", "ä")]));
        check_values("a{x}b{y}", "aäb", None);
        check_values("a{x}b{y}", "aäböb", Some(&[("x", "ä"), ("y", "öb")]));
        check_values("plain://x", "plain://x", Some(&[]));
        check_values("plain://x", "plain://y", None);
        check_values("broken://{x", "broken://1", None);
        check_values("list://{?page}", "list://", Some(&[("?page", "")]));
    }
}
