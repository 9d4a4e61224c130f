//! What a caller can be asked.

use gateway_protocol::{RawJson, RawObject, method};

/// What a caller said that it can do.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// The capabilities as they are sent to an upstream of the modern era.
    pub raw: RawJson,
    elicitation: bool,
    sampling: bool,
    roots: bool,
}

impl Capabilities {
    /// Reads the capabilities of a client.
    pub fn of(raw: RawJson) -> Self {
        let object = RawObject::parse(&raw).unwrap_or_default();
        let has = |name: &str| object.get(name).is_some_and(|value| value.get() != "null");
        let (elicitation, sampling, roots) = (has("elicitation"), has("sampling"), has("roots"));
        Self { raw, elicitation, sampling, roots }
    }

    /// Whether it answers a request of this method.
    pub fn answers(&self, asked: &str) -> bool {
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
        let can = Capabilities::of(raw(
            r#"{"sampling":{},"elicitation":{"form":{}},"roots":null,"extensions":{"a/b":{}}}"#,
        ));
        assert!(can.answers("sampling/createMessage") && can.answers("elicitation/create"));
        assert!(!can.answers("roots/list") && !can.answers("other"));
        assert!(can.raw.as_str().ends_with(r#""extensions":{"a/b":{}}}"#));
        assert!(!Capabilities::of(raw("[]")).answers("sampling/createMessage"));
    }
}
