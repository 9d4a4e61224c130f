//! Who sends a request over MCP, and what it can do.

use std::sync::Arc;

use gateway_protocol::{RawJson, RawObject, method};

use super::face::Face;
use super::out::Peer;
use crate::runtime::context::RequestContext;

/// Whoever sent a request.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) context: RequestContext,
    /// Whose calls may be taken for each other: a session, or one request of the modern era.
    pub(super) owner: Arc<str>,
    pub(super) face: Face,
    pub(super) can: Can,
    pub(super) reach: Reach,
    /// How calls came to us, for the log.
    pub(super) transport: &'static str,
}

/// How a caller is asked something while its request is at work.
#[derive(Clone, Debug)]
pub(super) enum Reach {
    /// It gets a request and answers it (legacy).
    Asked(Arc<Peer>),
    /// It gets `input_required` and comes back with the answers (modern).
    Returns,
}

impl Caller {
    /// Whether the results that it gets are those of the modern era.
    pub(super) fn is_modern(&self) -> bool {
        matches!(self.reach, Reach::Returns)
    }
}

/// What a caller said that it can do.
#[derive(Clone, Debug)]
pub(super) struct Can {
    raw: RawJson,
    elicitation: bool,
    sampling: bool,
    roots: bool,
}

impl Can {
    /// Reads the capabilities of a client.
    pub(super) fn of(raw: RawJson) -> Self {
        let object = RawObject::parse(&raw).unwrap_or_default();
        let has = |name: &str| object.get(name).is_some_and(|value| value.get() != "null");
        let (elicitation, sampling, roots) = (has("elicitation"), has("sampling"), has("roots"));
        Self { raw, elicitation, sampling, roots }
    }

    /// The capabilities as an upstream of the modern era is told.
    pub(super) fn raw(&self) -> &RawJson {
        &self.raw
    }

    /// Whether it answers a request of this method.
    pub(super) fn answers(&self, asked: &str) -> bool {
        match asked {
            method::ELICIT => self.elicitation,
            method::SAMPLE => self.sampling,
            method::LIST_ROOTS => self.roots,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_by_presence() {
        let raw = |text: &str| RawJson::parse(text.to_owned()).unwrap();
        let can =
            Can::of(raw(r#"{"sampling":{},"elicitation":{"form":{}},"roots":null,"extensions":{"a/b":{}}}"#));
        assert!(can.answers("sampling/createMessage") && can.answers("elicitation/create"));
        assert!(!can.answers("roots/list") && !can.answers("other"));
        assert!(can.raw().as_str().ends_with(r#""extensions":{"a/b":{}}}"#));
        assert!(!Can::of(raw("[]")).answers("sampling/createMessage"));
    }
}
