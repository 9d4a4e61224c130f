//! Resources that are not an upstream's: fixed ones, and templates in which `{x}` stands for one segment of a path.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use gateway_protocol::RawJson;
use serde_json::{Map, Value, json};

use super::ToolOrigin;
use super::handler::ToolFunction;
use super::tool::{RegisterError, TIMEOUT, wrong};

/// Most characters of a URI or template.
const LONGEST: usize = 2_048;

/// What is read where a resource is read.
#[derive(Clone)]
#[non_exhaustive]
pub enum ResourceContents {
    /// A text. In that of a template, `{x}` is what stood at its place in the URI.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
    /// What a function gives; it is asked with `uri` and the values of the template. A text is the text; an object may
    /// hold `text`, `blob` and `mimeType`.
    Function(Arc<dyn ToolFunction>),
}

impl ResourceContents {
    /// A function: `|arguments| async move { Ok(json!("hello")) }`.
    pub fn function(function: impl ToolFunction + 'static) -> Self {
        Self::Function(Arc::new(function))
    }
}

impl fmt::Debug for ResourceContents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Text(_) => "Text",
            Self::Blob(_) => "Blob",
            Self::Function(_) => "Function",
        })
    }
}

impl PartialEq for ResourceContents {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) | (Self::Blob(one), Self::Blob(other)) => one == other,
            (Self::Function(one), Self::Function(other)) => Arc::ptr_eq(one, other),
            (Self::Text(_) | Self::Blob(_) | Self::Function(_), _) => false,
        }
    }
}

/// A resource that is not an upstream's, or a template of such.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredResource {
    /// The URI, or the template of one.
    uri: String,
    is_template: bool,
    mime: Option<String>,
    definition: RawJson,
    contents: ResourceContents,
    origin: ToolOrigin,
}

impl RegisteredResource {
    /// A resource of this program. `about` holds what `resources/list` tells of it: `uri` and `name`, or `uriTemplate` and
    /// `name` for a template; beside them `title`, `description`, `mimeType` and so on.
    pub fn new(about: &Value, contents: ResourceContents) -> Result<Self, RegisterError> {
        let about = about.as_object().ok_or_else(|| wrong("resource", "must be an object"))?;
        Self::from(ToolOrigin::Program, about, contents)
    }

    /// One of the configuration: what it holds stands beside what is told of it, as `text` or `blob`.
    pub(crate) fn configured(about: &Map<String, Value>) -> Result<Self, RegisterError> {
        let contents = match (about.get("text"), about.get("blob")) {
            (Some(Value::String(text)), None) => ResourceContents::Text(text.clone()),
            (None, Some(Value::String(blob))) if is_base64(blob) => ResourceContents::Blob(blob.clone()),
            (None, Some(Value::String(_))) => return Err(wrong("blob", "must be base64")),
            (Some(_), Some(_)) => return Err(wrong("blob", "has `text` beside it; keep one of them")),
            (Some(_), None) => return Err(wrong("text", "must be a text")),
            (None, Some(_)) => return Err(wrong("blob", "must be a text")),
            (None, None) => return Err(wrong("text", "or `blob` is missing: what the resource holds")),
        };
        Self::from(ToolOrigin::Configuration, about, contents)
    }

    fn from(
        origin: ToolOrigin,
        about: &Map<String, Value>,
        contents: ResourceContents,
    ) -> Result<Self, RegisterError> {
        let (uri, is_template) = match (about.get("uri"), about.get("uriTemplate")) {
            (Some(Value::String(uri)), None) => (uri.clone(), false),
            (None, Some(Value::String(template))) => (template.clone(), true),
            (Some(_), Some(_)) => return Err(wrong("uriTemplate", "has `uri` beside it; keep one of them")),
            (Some(_), None) => return Err(wrong("uri", "must be a text")),
            (None, Some(_)) => return Err(wrong("uriTemplate", "must be a text")),
            (None, None) => return Err(wrong("uri", "or `uriTemplate` is missing")),
        };
        let member = if is_template { "uriTemplate" } else { "uri" };
        let has_scheme = uri.split_once(':').is_some_and(|(scheme, rest)| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            !scheme.is_empty() && scheme.bytes().all(allowed) && !rest.is_empty()
        });
        if !has_scheme || uri.len() > LONGEST {
            return Err(wrong(
                member,
                format!("must be a URI of at most {LONGEST} bytes, such as `notes://today`"),
            ));
        }
        if is_template && pieces(&uri).is_none_or(|pieces| pieces.len() < 2) {
            return Err(wrong(
                member,
                "must have places such as `{name}`, each closed and with a name of its own",
            ));
        }
        let mut definition = Map::new();
        definition.insert(member.to_owned(), uri.as_str().into());
        let name = about.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        definition.insert("name".to_owned(), name.ok_or_else(|| wrong("name", "must be a text"))?.into());
        for text in ["title", "description", "mimeType"] {
            match about.get(text) {
                Some(value @ Value::String(_)) => drop(definition.insert(text.to_owned(), value.clone())),
                Some(Value::Null) | None => {}
                Some(_) => return Err(wrong(text, "must be a text")),
            }
        }
        for other in ["annotations", "icons", "size", "_meta"] {
            if let Some(value) = about.get(other).filter(|value| !value.is_null()) {
                definition.insert(other.to_owned(), value.clone());
            }
        }
        let mime = about.get("mimeType").and_then(Value::as_str).map(str::to_owned);
        let definition = RawJson::of(&definition).map_err(|error| wrong("resource", error.to_string()))?;
        Ok(Self { uri, is_template, mime, definition, contents, origin })
    }

    /// Its URI, or its template.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Whether it stands for many.
    pub fn is_template(&self) -> bool {
        self.is_template
    }

    /// What `resources/list` or `resources/templates/list` tells of it.
    pub fn definition(&self) -> &RawJson {
        &self.definition
    }

    pub(super) fn origin(&self) -> ToolOrigin {
        self.origin
    }

    /// The bytes of what it was registered with.
    pub(crate) fn bytes(&self) -> usize {
        let contents = match &self.contents {
            ResourceContents::Text(text) | ResourceContents::Blob(text) => text.len(),
            ResourceContents::Function(_) => 0,
        };
        self.definition.len() + contents
    }

    /// What stands at the places of the template, if a URI comes from it.
    pub(super) fn matched(&self, uri: &str) -> Option<Map<String, Value>> {
        if !self.is_template {
            return (self.uri == uri).then(Map::new);
        }
        let pieces = pieces(&self.uri)?;
        let mut rest = uri;
        let mut values = Map::new();
        for (place, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Literal(literal) => rest = rest.strip_prefix(literal)?,
                Piece::Place(name) => {
                    let segment = rest.find('/').map_or(rest, |end| rest.get(..end).unwrap_or(rest));
                    let end = match pieces.get(place + 1) {
                        // The shortest text will do, but never none.
                        Some(Piece::Literal(literal)) if !literal.starts_with('/') => {
                            let start = segment.chars().next().map_or(0, char::len_utf8);
                            start + rest.get(start..)?.find(literal)?
                        }
                        Some(_) | None => segment.len(),
                    };
                    let (value, left) = rest.split_at_checked(end)?;
                    if value.is_empty() || value.contains('/') {
                        return None;
                    }
                    values.insert((*name).to_owned(), value.into());
                    rest = left;
                }
            }
        }
        rest.is_empty().then_some(values)
    }

    /// The answer to `resources/read`.
    pub(super) async fn read(&self, uri: &str, values: Map<String, Value>) -> Result<Value, String> {
        let mut entry = Map::new();
        entry.insert("uri".to_owned(), uri.into());
        if let Some(mime) = &self.mime {
            entry.insert("mimeType".to_owned(), mime.as_str().into());
        }
        match &self.contents {
            ResourceContents::Text(text) => {
                let text = if self.is_template { filled(text, &values) } else { text.clone() };
                entry.insert("text".to_owned(), text.into());
            }
            ResourceContents::Blob(blob) => drop(entry.insert("blob".to_owned(), blob.as_str().into())),
            ResourceContents::Function(function) => {
                let mut arguments = values;
                arguments.insert("uri".to_owned(), uri.into());
                let answer = AssertUnwindSafe(async { function.call(arguments).await }).catch_unwind();
                let answer = tokio::time::timeout(TIMEOUT, answer).await;
                let answer = answer.map_err(|_| format!("no answer within {TIMEOUT:?}"))?;
                match answer.map_err(|_| "it panicked".to_owned())?.map_err(|error| error.to_string())? {
                    Value::Object(members)
                        if members.contains_key("text") || members.contains_key("blob") =>
                    {
                        entry.extend(members);
                    }
                    Value::String(text) => drop(entry.insert("text".to_owned(), text.into())),
                    other => drop(entry.insert("text".to_owned(), other.to_string().into())),
                }
            }
        }
        Ok(json!({"contents": [entry]}))
    }
}

/// A part of a template.
enum Piece<'t> {
    Literal(&'t str),
    Place(&'t str),
}

/// The parts of a template; nothing where a brace is not closed or two places have one name, or stand side by side.
fn pieces(template: &str) -> Option<Vec<Piece<'_>>> {
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
        pieces.extend([Piece::Literal(literal), Piece::Place(name)]);
        rest = left;
    }
    if rest.contains('}') {
        return None;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest));
    }
    Some(pieces)
}

/// A text with its places filled, in one pass: what is put in is not looked at again.
fn filled(text: &str, values: &Map<String, Value>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let place = after.split_once('}').and_then(|(name, left)| Some((values.get(name)?.as_str()?, left)));
        if let Some((value, left)) = place {
            out.push_str(value);
            rest = left;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(uri: &str) -> RegisteredResource {
        let about = json!({"uriTemplate": uri, "name": "x"});
        RegisteredResource::new(&about, ResourceContents::Text("{a}-{b}-{c}".to_owned())).unwrap()
    }

    #[track_caller]
    fn check(pattern: &str, uri: &str, expected: Option<&Value>) {
        assert_eq!(template(pattern).matched(uri).map(Value::Object).as_ref(), expected, "{pattern} {uri}");
    }

    #[test]
    fn a_place_is_one_segment() {
        check("n://{a}", "n://1", Some(&json!({"a": "1"})));
        check("n://{a}", "n://", None);
        check("n://{a}", "n://1/2", None);
        check("n://{a}/x", "n://1/x", Some(&json!({"a": "1"})));
        check("n://{a}/x", "n://1/y", None);
        check("n://{a}/{b}", "n://1/2", Some(&json!({"a": "1", "b": "2"})));
        check("n://{a}.{b}/c", "n://x.y.z/c", Some(&json!({"a": "x", "b": "y.z"})));
        check("n://{a}.txt", "n://ä.txt", Some(&json!({"a": "ä"})));
        check("n://{a}.txt", "n://.txt", None);
        check("n://{a}.txt", "n://1/2.txt", None);
    }

    #[tokio::test]
    async fn what_is_put_in_is_not_read_again() {
        let resource = template("n://{a}/{b}");
        let uri = "n://{b}/{a}";
        let values = resource.matched(uri).unwrap();
        let read = resource.read(uri, values).await.unwrap();
        assert_eq!(read, json!({"contents": [{"uri": uri, "text": "{b}-{a}-{c}"}]}));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let field = |about: &Value| match RegisteredResource::configured(about.as_object().unwrap()) {
            Err(RegisterError::Field { field, .. }) => field,
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
