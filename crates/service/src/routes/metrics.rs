//! `GET /metrics`: what was counted.

use axum_core::body::Body;
use axum_core::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use crate::errors::{ApiError, accepted, json_response};
use crate::gateway::Gateway;
use crate::metrics::{Gauges, ServerGauge};
use gateway_runtime::parameters::Parameters;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Prometheus text, or JSON where the caller asks for it.
pub(crate) fn metrics(gateway: &Gateway, uri: &Uri, headers: &HeaderMap) -> Result<Response, ApiError> {
    if !wants_json(headers) {
        return Ok(text(gateway));
    }
    let since = Parameters::of_query(uri.query()).number("since", 0..=u64::MAX)?;
    Ok(json_response(StatusCode::OK, gateway.state.metrics.summary(since).to_string()))
}

/// Prometheus text.
pub(crate) fn text(gateway: &Gateway) -> Response {
    let text = gateway.state.metrics.prometheus(&gauges(gateway));
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, TEXT);
    response
}

/// Whether JSON is named before any kind of text. Scrapers name text; a caller who names neither gets text.
fn wants_json(headers: &HeaderMap) -> bool {
    accepted(headers).find(|media| media.starts_with("text/") || media.starts_with("application/"))
        == Some("application/json")
}

fn gauges(gateway: &Gateway) -> Gauges {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let servers = gateway.fleet().health().into_iter().map(|health| ServerGauge {
        name: health.id.as_str().to_owned(),
        state: health.state.name(),
        is_up: health.ok,
        in_flight: count(health.in_flight),
        restarts: health.restarts,
        refused_requests: health.refused_requests,
    });
    let log = gateway.log().status();
    let mode = gateway.config().privacy.log.map_or("off", |mode| mode.name());
    Gauges {
        servers: servers.collect(),
        log_waiting: count(log.waiting),
        log_written: log.written,
        log_failures: log.failures,
        log_bytes: log.database_bytes,
        log_personal_data: log
            .personal_data
            .iter()
            .map(|(kind, times)| (kind.name(), mode, count(times)))
            .collect(),
        #[cfg(feature = "agent")]
        model_requests: gateway.state.completions.models().request_counts(),
        #[cfg(not(feature = "agent"))]
        model_requests: Vec::new(),
        cache: gateway.cache().figures(),
        result_bytes: count(gateway.fleet().results().used()),
        body_bytes: count(gateway.state.bodies.used()),
        tools: count(gateway.fleet().catalogue().tools().len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_for_those_who_ask() {
        let scraper =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        for (accept, expected) in [
            ("application/json", true),
            ("application/json, text/plain;q=0.5", true),
            ("application/json;q=0.9", true),
            ("*/*", false),
            ("text/plain, application/json", false),
            ("text/html,application/xhtml+xml,*/*", false),
            (scraper, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(wants_json(&headers), expected, "{accept}");
        }
        assert!(!wants_json(&HeaderMap::new()));
    }
}
