//! Dialects that are ready to use: building one from its data costs more than a whole call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gateway_dialects::dialect::{Compat, ToolShape};
use gateway_dialects::{Dialect, DialectError, Dialects, Protocol};

/// How many choices of callers are kept. Models are free text, so there is no end to them.
const CHOICES: usize = 256;

/// What was built of the dialects.
#[derive(Debug)]
pub(crate) struct ReadyDialects {
    /// The plainest dialect of each protocol.
    plain: HashMap<Protocol, Arc<Dialect>>,
    /// The dialect that leaves MCP as it is.
    untouched: Option<Arc<Dialect>>,
    /// By provider, model and layer, as callers said them.
    choices: Mutex<HashMap<String, Arc<Dialect>>>,
}

impl ReadyDialects {
    pub(crate) fn of(dialects: &Dialects) -> Self {
        let mut all: Vec<Dialect> = dialects
            .names()
            .filter_map(|name| dialects.get(name).ok())
            .filter(|dialect| !dialect.layer)
            .collect();
        // The dialect that others of the same protocol extend is the plainest one.
        all.sort_by_key(|dialect| (dialect.extends.is_some(), dialect.name.len()));
        let mut ready = Self { plain: HashMap::new(), untouched: None, choices: Mutex::default() };
        for dialect in all {
            let dialect = Arc::new(dialect);
            ready.plain.entry(dialect.messages.protocol).or_insert_with(|| Arc::clone(&dialect));
            if dialect.tool.shape == ToolShape::Mcp && ready.untouched.is_none() {
                ready.untouched = Some(dialect);
            }
        }
        ready
    }

    /// The dialect for calls of a protocol that was recognised. Calls that were found in a text could be anybody's, and are
    /// answered in the protocol that most endpoints speak.
    pub(crate) fn detected(&self, protocol: Option<Protocol>) -> Option<&Arc<Dialect>> {
        self.plain.get(&protocol.unwrap_or(Protocol::Chat))
    }

    /// The dialect that leaves MCP as it is.
    pub(crate) fn untouched(&self) -> Option<&Dialect> {
        self.untouched.as_deref()
    }

    /// The dialect that a caller asks for by name, by model, or by both.
    pub(crate) fn choose(
        &self,
        dialects: &Dialects,
        name: Option<&str>,
        model: Option<&str>,
        compat: &Compat,
    ) -> Result<Arc<Dialect>, DialectError> {
        let key = format!("{name:?} {model:?} {compat:?}");
        if let Some(dialect) = self.choices().get(&key) {
            return Ok(Arc::clone(dialect));
        }
        let dialect = Arc::new(dialects.choose(name, model, compat)?);
        let mut choices = self.choices();
        if choices.len() >= CHOICES {
            choices.clear();
        }
        choices.insert(key, Arc::clone(&dialect));
        Ok(dialect)
    }

    fn choices(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Dialect>>> {
        self.choices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_has_its_plainest_dialect() {
        let ready = ReadyDialects::of(&Dialects::builtin());
        let name = |protocol| ready.detected(protocol).map(|dialect| dialect.name.as_str());
        assert_eq!(name(Some(Protocol::Chat)), Some("openai-chat"));
        assert_eq!(name(None), Some("openai-chat"));
        assert_eq!(name(Some(Protocol::Messages)), Some("anthropic"));
        assert_eq!(name(Some(Protocol::GenerateContent)), Some("gemini"));
        assert_eq!(name(Some(Protocol::Converse)), Some("bedrock"));
        assert_eq!(ready.untouched().map(|dialect| dialect.name.as_str()), Some("mcp"));
    }

    #[test]
    fn a_choice_is_built_once_and_choices_are_bounded() {
        let dialects = Dialects::builtin();
        let ready = ReadyDialects::of(&dialects);
        let choose = |model: &str| ready.choose(&dialects, Some("gemini"), Some(model), &Compat::Auto);
        let first = choose("gemini-3-pro").unwrap();
        assert!(Arc::ptr_eq(&first, &choose("gemini-3-pro").unwrap()));
        for number in 0..1_000 {
            choose(&format!("model-{number}")).unwrap();
        }
        assert!(ready.choices().len() <= CHOICES);
        assert!(ready.choose(&dialects, Some("nobody"), None, &Compat::Auto).is_err());
    }
}
