//! Where a model is asked, and with which headers.

use gateway_config::{ModelKind, ModelSpec, Secret};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// The version of the Messages API that requests are written for.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The version of Azure's API where the configuration names none.
const AZURE_VERSION: &str = "2024-10-21";

/// Where the models of one API are asked.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    kind: ModelKind,
    base: Url,
    api_version: Option<String>,
}

impl Endpoint {
    pub(crate) fn new(spec: &ModelSpec) -> Result<Self, String> {
        let base = Url::parse(spec.base_url.trim_end_matches('/'));
        let base = base.map_err(|error| format!("`baseUrl` is no address: {error}"))?;
        if base.cannot_be_a_base() {
            return Err("`baseUrl` is no address with a path".to_owned());
        }
        let usual = match spec.kind {
            ModelKind::Azure => Some(AZURE_VERSION.to_owned()),
            // It wants the parameter, and takes any.
            ModelKind::Dial => Some(String::new()),
            _ => None,
        };
        Ok(Self { kind: spec.kind, base, api_version: spec.api_version.clone().or(usual) })
    }

    /// Where `model` is asked.
    pub(crate) fn url(&self, model: &str, stream: bool) -> Url {
        let (path, query): (Vec<&str>, Option<(&str, &str)>) = match self.kind {
            ModelKind::OpenAi => (vec!["chat", "completions"], None),
            ModelKind::Responses => (vec!["responses"], None),
            ModelKind::Dial | ModelKind::Azure => (
                vec!["openai", "deployments", model, "chat", "completions"],
                self.api_version.as_deref().map(|version| ("api-version", version)),
            ),
            ModelKind::Ollama => (vec!["api", "chat"], None),
            ModelKind::Anthropic => (vec!["messages"], None),
            ModelKind::Gemini => {
                let (method, query) = if stream {
                    ("streamGenerateContent", Some(("alt", "sse")))
                } else {
                    ("generateContent", None)
                };
                let model = model.strip_prefix("models/").unwrap_or(model);
                return self.joined(&["models", &format!("{model}:{method}")], query);
            }
        };
        self.joined(&path, query)
    }

    /// Where the models of the API are listed.
    pub(crate) fn list_url(&self) -> Url {
        match self.kind {
            ModelKind::OpenAi | ModelKind::Responses | ModelKind::Anthropic | ModelKind::Gemini => {
                self.joined(&["models"], None)
            }
            ModelKind::Dial | ModelKind::Azure => {
                let version = self.api_version.as_deref().map(|version| ("api-version", version));
                self.joined(&["openai", "models"], version)
            }
            ModelKind::Ollama => self.joined(&["api", "tags"], None),
        }
    }

    fn joined(&self, path: &[&str], query: Option<(&str, &str)>) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if let Some((name, value)) = query {
            url.query_pairs_mut().append_pair(name, value);
        }
        url
    }
}

/// The headers of every request to the models of `spec`.
pub(crate) fn headers(spec: &ModelSpec) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if spec.kind == ModelKind::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    if let Some(key) = &spec.api_key {
        let (name, value) = match spec.kind {
            ModelKind::OpenAi | ModelKind::Responses | ModelKind::Ollama => {
                (AUTHORIZATION, format!("Bearer {}", key.expose()))
            }
            ModelKind::Dial | ModelKind::Azure => {
                (HeaderName::from_static("api-key"), key.expose().to_owned())
            }
            ModelKind::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            ModelKind::Gemini => (HeaderName::from_static("x-goog-api-key"), key.expose().to_owned()),
        };
        headers.insert(name, secret_value("apiKey", &value)?);
    }
    for (name, value) in &spec.headers {
        let header =
            name.parse::<HeaderName>().map_err(|_| format!("`headers.{name}` is no name of a header"))?;
        headers.insert(header, secret_value(&format!("headers.{name}"), Secret::expose(value))?);
    }
    Ok(headers)
}

fn secret_value(field: &str, text: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(text.trim())
        .map_err(|_| format!("`{field}` has characters that a header cannot have"))?;
    value.set_sensitive(true);
    Ok(value)
}
