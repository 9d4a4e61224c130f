//! The ids of a request in its headers.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use gateway_runtime::context::{Held, RequestContext, random_id, random_uuid};
use gateway_runtime::owner::Owner;

/// The header that carries the correlation id.
pub(crate) const CORRELATION: HeaderName = HeaderName::from_static("x-correlation-id");

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Reads the ids of a request; makes those that are missing.
pub(crate) fn context_of(headers: &HeaderMap, caller: Option<Owner>) -> RequestContext {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let correlation = text(CORRELATION).filter(|text| is_plain(text)).map_or_else(random_uuid, Arc::from);
    let traceparent: Option<Arc<str>> = text(TRACEPARENT).and_then(child_of).map(Arc::from);
    let tracestate = traceparent.as_ref().and_then(|_| text(TRACESTATE)).filter(|text| text.len() <= 512);
    let wants_fresh = headers
        .get_all(header::CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|word| matches!(word.trim(), "no-cache" | "no-store"));
    let (tracestate, progress, held) = (tracestate.map(Arc::from), None, Held::default());
    RequestContext {
        correlation,
        traceparent,
        tracestate,
        caller,
        wants_fresh,
        progress,
        approver: None,
        held,
    }
}

/// The ids as headers of the answer.
pub(crate) fn write_ids(context: &RequestContext, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&context.correlation) {
        headers.insert(CORRELATION, value);
    }
    if let Some(value) = context.traceparent.as_ref().and_then(|text| HeaderValue::from_str(text).ok()) {
        headers.insert(TRACEPARENT, value);
    }
}

/// Whether a caller's id may stand in headers and logs.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.len() <= 128 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The same trace with a parent of ours; `None` if `text` is no W3C trace context.
fn child_of(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = parts.as_slice() else { return None };
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    if !hex(version, 2)
        || *version == "ff"
        || !hex(trace, 32)
        || zero(trace)
        || !hex(parent, 16)
        || zero(parent)
        || !hex(flags, 2)
    {
        return None;
    }
    // Never zero, which would be no id: the second half has the bits of the variant.
    let (_, span) = random_id().as_u64_pair();
    Some(format!("00-{trace}-{span:016x}-{flags}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_ids_are_taken_if_they_are_plain() {
        let mut headers = HeaderMap::new();
        headers.insert(CORRELATION, HeaderValue::from_static("abc-1"));
        headers.insert(
            TRACEPARENT,
            HeaderValue::from_static("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        );
        let context = context_of(&headers, None);
        assert_eq!(&*context.correlation, "abc-1");
        let parent = context.traceparent.as_deref().unwrap_or_default();
        assert!(
            parent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && parent.ends_with("-01"),
            "{parent}"
        );
        assert!(!parent.contains("00f067aa0ba902b7"), "our span is another: {parent}");
        headers.insert(CORRELATION, HeaderValue::from_static("two words"));
        headers.insert(TRACEPARENT, HeaderValue::from_static("00-zz-1-01"));
        let context = context_of(&headers, None);
        assert_eq!((context.correlation.len(), context.traceparent), (36, None));
    }
}
