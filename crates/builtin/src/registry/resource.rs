//! Resources that are not an upstream's: fixed ones, and templates in which `{x}` stands for one segment of a path.

use std::fmt;

use gateway_config::{ResourceDefinition, ResourceSpec, StaticContents, TOOL_TIMEOUT, template_values};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::ToolOrigin;
use super::handler::{Function, ToolFunction};
use super::tool::{RegisterError, wrong};

/// What is read where a resource is read.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum ResourceContents {
    /// A text. In that of a template, `{x}` is what the URI has for it.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
    /// What a function gives; it is asked with `uri` and the values of the template. A text is the text; an object may
    /// hold `text`, `blob` and `mimeType`.
    Function(Function),
}

impl ResourceContents {
    /// A function: `|arguments| async move { Ok(json!("hello")) }`.
    pub fn function(function: impl ToolFunction + 'static) -> Self {
        Self::Function(Function::new(function))
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

/// A resource that is not an upstream's, or a template of such.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegisteredResource {
    /// What is said about it.
    pub about: ResourceDefinition,
    contents: ResourceContents,
    /// Where it comes from.
    pub origin: ToolOrigin,
}

impl RegisteredResource {
    /// A resource of this program. `about` holds the members that `resources/list` gives: `uri` and `name`, or `uriTemplate` and
    /// `name` for a template; beside them `title`, `description`, `mimeType` and so on.
    pub fn new(about: &Value, contents: ResourceContents) -> Result<Self, RegisterError> {
        let about = about.as_object().ok_or_else(|| wrong("resource", "must be an object"))?;
        Ok(Self { about: ResourceDefinition::new(about)?, contents, origin: ToolOrigin::Program })
    }

    /// One of the configuration.
    pub(super) fn configured(spec: &ResourceSpec) -> Self {
        let contents = match &spec.contents {
            StaticContents::Text(text) => ResourceContents::Text(text.clone()),
            StaticContents::Blob(blob) => ResourceContents::Blob(blob.clone()),
        };
        Self { about: spec.definition.clone(), contents, origin: ToolOrigin::Configuration }
    }

    /// The bytes of what it was registered with.
    pub(crate) fn bytes(&self) -> usize {
        let contents = match &self.contents {
            ResourceContents::Text(text) | ResourceContents::Blob(text) => text.len(),
            ResourceContents::Function(_) => 0,
        };
        self.about.json.len() + contents
    }

    /// What a URI has for the placeholders of the template, if it comes from it.
    pub(super) fn matched(&self, uri: &str) -> Option<Map<String, Value>> {
        let values = template_values(&self.about.uri, uri)?;
        Some(values.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    }

    /// The answer to `resources/read`.
    pub(super) async fn read(&self, uri: &str, values: Map<String, Value>) -> Result<Value, String> {
        let mut entry = Map::new();
        entry.insert("uri".to_owned(), uri.into());
        if let Some(mime) = &self.about.mime {
            entry.insert("mimeType".to_owned(), mime.as_str().into());
        }
        match &self.contents {
            ResourceContents::Text(text) => {
                let text = if self.about.is_template { filled(text, &values) } else { text.clone() };
                entry.insert("text".to_owned(), text.into());
            }
            ResourceContents::Blob(blob) => drop(entry.insert("blob".to_owned(), blob.as_str().into())),
            ResourceContents::Function(function) => {
                let mut arguments = values;
                arguments.insert("uri".to_owned(), uri.into());
                let answer = timeout(TOOL_TIMEOUT, function.call(arguments)).await;
                match answer.map_err(|_| format!("no answer within {TOOL_TIMEOUT:?}"))?? {
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

/// A text with its placeholders filled, in one pass: what is put in is not looked at again.
fn filled(text: &str, values: &Map<String, Value>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let found = after.split_once('}').and_then(|(name, left)| Some((values.get(name)?.as_str()?, left)));
        if let Some((value, left)) = found {
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
}
