//! The document as bytes, and the page that shows it.

use std::sync::LazyLock;

use axum_core::response::Response;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::errors::json_response;

const PAGE: &str = include_str!("../openapi/page.html");

/// `GET /openapi.json`.
pub(crate) fn json() -> Response {
    static BYTES: LazyLock<Bytes> = LazyLock::new(|| crate::openapi::document().to_string().into());
    json_response(StatusCode::OK, BYTES.clone())
}

/// `GET /docs`.
pub(crate) fn page() -> Response {
    static POLICY: LazyLock<Option<HeaderValue>> =
        LazyLock::new(|| HeaderValue::from_str(&policy(PAGE)).ok());
    let mut response = Response::new(axum_core::body::Body::from(PAGE));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if let Some(policy) = &*POLICY {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    }
    response
}

/// `GET /`: people and `curl` are led to the page.
pub(crate) fn root() -> Response {
    let mut response = Response::new(axum_core::body::Body::from("see docs\n"));
    *response.status_mut() = StatusCode::FOUND;
    let headers = response.headers_mut();
    // Relative, so that it also holds behind a prefix.
    headers.insert(header::LOCATION, HeaderValue::from_static("docs"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Only the page's own script and style run, and they speak to this gateway only.
fn policy(page: &str) -> String {
    let hash = |tag: &str| {
        let text = element(page, tag).unwrap_or_default();
        format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        hash("script"),
        hash("style")
    )
}

/// The text of the page's only element of this name.
fn element<'p>(page: &'p str, tag: &str) -> Option<&'p str> {
    let (_, rest) = page.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        assert!(element(PAGE, "script").is_some_and(|text| text.len() > 500));
        assert!(element(PAGE, "style").is_some_and(|text| text.len() > 100));
        assert_eq!((PAGE.matches("<script").count(), PAGE.matches("<style").count()), (1, 1));
        for foreign in
            ["http://", "https://", "//cdn", "@import", "url(", "style=\"", "onclick=", "innerHTML"]
        {
            assert!(!PAGE.contains(foreign), "{foreign}");
        }
    }
}
