//! Redaction of JSON that goes into a file instead of the log.

use super::{Redaction, Rules, walk};
use crate::error::StoreError;

/// Finds the secrets of JSON texts, by the rules of the call log. Base64 stays, and nothing is cut.
#[derive(Debug)]
pub struct Redactor {
    rules: Rules,
}

/// A redacted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedJson {
    /// The text, with [`REDACTED`](crate::REDACTED) where secrets were.
    pub text: String,
    /// The parts that were removed, as they stood in the text, without the quotes of whole strings.
    pub removed: Vec<String>,
}

impl Redactor {
    /// Personal data and paths are rules of the log alone and have no effect here.
    pub fn new(redaction: &Redaction) -> Result<Self, StoreError> {
        Ok(Self { rules: Rules::parse(redaction)?.without_blobs() })
    }

    /// The redacted text, or `None` if it has no secrets. The text must be valid JSON.
    pub fn redact(&self, json: &str) -> Option<RedactedJson> {
        if !self.rules.may_hold_secret(json) {
            return None;
        }
        let edits = walk::edits(json, &self.rules, &[], 0);
        let text = super::edits::applied(json, &edits)?;
        let removed = edits.iter().filter_map(|edit| json.get(edit.range.clone()));
        let removed = removed.map(|part| part.trim_matches('"').to_owned()).collect();
        Some(RedactedJson { text, removed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_pictures_stay() {
        let redactor = Redactor::new(&Redaction::default()).unwrap();
        let picture = "iVBORw0KGgo".repeat(40);
        let json = format!(r#"{{"data":"{picture}","password":"hunter2","url":"https://u:pw12345@host/"}}"#);
        let redacted = redactor.redact(&json).unwrap();
        let expected =
            format!(r#"{{"data":"{picture}","password":"[redacted]","url":"https://u:[redacted]@host/"}}"#);
        assert_eq!(redacted.text, expected);
        assert_eq!(redacted.removed, ["hunter2", "pw12345"]);
        assert_eq!(redactor.redact(&format!(r#"{{"data":"{picture}"}}"#)), None);
        assert_eq!(redactor.redact(&redacted.text), None);
    }

    #[test]
    fn schemas_keep_the_parameters_that_hold_secrets() {
        let redactor = Redactor::new(&Redaction::default()).unwrap();
        let tool = r##"{"tools":[{"name":"login","inputSchema":{"type":"object","properties":{"password":{"type":"string"},"token":{"type":["string","null"]},"api_key":{"anyOf":[{"type":"string"}]},"secret":{"$ref":"#/$defs/S"},"auth":{},"credentials":{"description":"The credentials to sign in with."},"access_token":{"title":"Access Token","description":"What the server gave you."}},"required":["password"]}}]}"##;
        assert_eq!(redactor.redact(tool), None);
        for value in [
            r#"{"description":"hunter2"}"#,
            r#"{"title":"hunter2"}"#,
            r#"{"description":"The one to sign in with.","text":"hunter2"}"#,
        ] {
            let redacted = redactor.redact(&format!(r#"{{"password":{value}}}"#));
            assert!(redacted.is_some_and(|redacted| !redacted.text.contains("hunter2")), "{value}");
        }
    }

    #[test]
    fn further_keys_are_redacted() {
        let redaction = Redaction { keys: vec!["*_fin".to_owned()], ..Redaction::default() };
        let redacted = Redactor::new(&redaction).unwrap().redact(r#"{"card_fin":17}"#).unwrap();
        assert_eq!(redacted.text, r#"{"card_fin":"[redacted]"}"#);
    }
}
