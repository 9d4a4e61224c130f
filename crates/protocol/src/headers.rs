//! The headers of MCP over HTTP.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// Names of headers.
pub mod header {
    use http::HeaderName;

    /// The negotiated protocol version.
    pub static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
    /// The method of a modern request.
    pub static METHOD: HeaderName = HeaderName::from_static("mcp-method");
    /// The tool, prompt or resource of a modern request.
    pub static NAME: HeaderName = HeaderName::from_static("mcp-name");
    /// The session of a legacy connection.
    pub static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
    /// Prefix of the name of a mirrored tool parameter.
    pub const PARAMETER_PREFIX: &str = "mcp-param-";
    /// Where an interrupted legacy stream resumes.
    pub static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
}

/// A tool parameter that is mirrored into a header (MCP 2026-07-28, SEP-2243).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParameter {
    /// The keys that lead to the value in the arguments.
    pub path: Vec<String>,
    /// The header's name, prefix included, in lower case.
    pub header: String,
}

/// Why a tool's annotation is invalid. Clients over HTTP must omit such a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`x-mcp-header` at {path} is invalid: {reason}")]
pub struct InvalidHeaderParameter {
    /// JSON Pointer to the property.
    pub path: String,
    /// What is wrong.
    pub reason: &'static str,
}

const ANNOTATION: &str = "x-mcp-header";

/// The mirrored parameters of a tool's `inputSchema`.
pub fn header_parameters(schema: &Value) -> Result<Vec<HeaderParameter>, InvalidHeaderParameter> {
    let mut found = Vec::new();
    let mut visited = 0;
    collect(schema, &mut Vec::new(), Reached::ByProperties, &mut found, &mut visited)?;
    let mut names: Vec<&str> = found.iter().map(|parameter| parameter.header.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair.first() == pair.get(1)) {
        return Err(InvalidHeaderParameter {
            path: "/".to_owned(),
            reason: "two parameters have the same header",
        });
    }
    Ok(found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    ByProperties,
    ByOtherKeywords,
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    reached: Reached,
    found: &mut Vec<HeaderParameter>,
    visited: &mut usize,
) -> Result<(), InvalidHeaderParameter> {
    /// Deeper or larger schemas are not searched further.
    const DEEPEST: usize = 64;
    const MOST: usize = 20_000;
    *visited += 1;
    if path.len() > DEEPEST || *visited > MOST {
        return Ok(());
    }
    let invalid = |path: &[String], reason| {
        Err(InvalidHeaderParameter { path: format!("/{}", path.join("/")), reason })
    };
    let Value::Object(members) = schema else { return Ok(()) };
    if let Some(annotation) = members.get(ANNOTATION) {
        let Some(name) = annotation.as_str().filter(|name| is_token(name)) else {
            return invalid(path, "the value is not a header name");
        };
        if reached == Reached::ByOtherKeywords || path.is_empty() {
            return invalid(path, "the parameter is not reached by `properties` alone");
        }
        let simple = members.get("type").and_then(Value::as_str);
        if !matches!(simple, Some("string" | "integer" | "boolean")) {
            return invalid(path, "the parameter is not a string, integer or boolean");
        }
        found.push(HeaderParameter {
            path: path.clone(),
            header: format!("{}{}", header::PARAMETER_PREFIX, name.to_ascii_lowercase()),
        });
    }
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    collect(property, path, reached, found, visited)?;
                    path.pop();
                }
            }
            ("items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains", value) => {
                collect(value, path, Reached::ByOtherKeywords, found, visited)?;
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(branches)) => {
                for branch in branches {
                    collect(branch, path, Reached::ByOtherKeywords, found, visited)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// RFC 9110's `token`.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A value as the text of a header: plain if that is safe, else `=?base64?…?=`.
pub fn encode_header_value(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let visible = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let trimmed = text.trim_matches([' ', '\t']) == text;
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if visible && trimmed && !looks_encoded {
        return Some(text);
    }
    Some(format!("=?base64?{}?=", STANDARD.encode(&text)))
}
