//! Dialects that are ready to use: building one from its data costs more than a whole call.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use gateway_dialects::dialect::{Compat, ToolShape};
use gateway_dialects::{Dialect, DialectError, Dialects, Protocol};

use crate::lock::locked;

/// How many choices of callers are kept. Models are free text, so there is no end to them.
const CHOICES: usize = 256;

/// All dialects, and what was built of them.
#[derive(Debug)]
pub struct ReadyDialects {
    /// The dialects as data.
    pub all: Arc<Dialects>,
    built: OnceLock<Built>,
    /// What callers chose. There are few, so comparing costs less than hashing; those in use are in front.
    choices: Mutex<VecDeque<(Choice, Arc<Dialect>)>>,
}

#[derive(Debug, Default)]
struct Built {
    /// The plainest dialect of each protocol.
    plain: HashMap<Protocol, Arc<Dialect>>,
    /// The others of each protocol that write arguments in ways of their own, the one with the provider's guarantee first.
    siblings: HashMap<Protocol, Vec<Arc<Dialect>>>,
    /// The dialect that leaves MCP as it is.
    untouched: Option<Arc<Dialect>>,
}

/// A provider, a model and a layer, as callers name them.
#[derive(Debug)]
struct Choice {
    name: Option<Box<str>>,
    model: Option<Box<str>>,
    compat: Compat,
}

impl ReadyDialects {
    /// From the dialects that are known.
    pub fn new(all: Dialects) -> Self {
        Self { all: Arc::new(all), built: OnceLock::new(), choices: Mutex::default() }
    }

    /// The dialect for calls of a protocol that was recognised. Calls that were found in a text could be anybody's, and are
    /// answered in the protocol that most endpoints speak.
    pub fn detected(&self, protocol: Option<Protocol>) -> Option<&Arc<Dialect>> {
        self.built().plain.get(&protocol.unwrap_or(Protocol::Chat))
    }

    /// The other dialects whose calls look like those of a protocol that was recognised, and whose arguments may not.
    pub fn siblings(&self, protocol: Option<Protocol>) -> &[Arc<Dialect>] {
        self.built().siblings.get(&protocol.unwrap_or(Protocol::Chat)).map_or(&[], Vec::as_slice)
    }

    /// The plainest dialect of each protocol and all that are not built in, by name: those that lists are most likely asked for in.
    pub(super) fn likely(&self) -> Vec<Arc<Dialect>> {
        let plain = self.built().plain.values().filter(|dialect| dialect.tool.shape != ToolShape::Mcp);
        let builtin = Dialects::builtin();
        let own = self.all.names().filter(|name| !builtin.names().any(|known| known == *name));
        let own = own.filter_map(|name| self.choose(Some(name), None, &Compat::Auto).ok());
        let own = own.filter(|dialect| !dialect.layer);
        let mut likely: Vec<Arc<Dialect>> = plain.cloned().chain(own).collect();
        likely.sort_by(|a, b| a.name.cmp(&b.name));
        likely.dedup_by(|a, b| a.name == b.name);
        likely
    }

    /// The dialect that leaves MCP as it is.
    pub fn untouched(&self) -> Option<&Dialect> {
        self.built().untouched.as_deref()
    }

    /// The dialect that a caller asks for by name, by model, or by both.
    pub fn choose(
        &self,
        name: Option<&str>,
        model: Option<&str>,
        compat: &Compat,
    ) -> Result<Arc<Dialect>, DialectError> {
        let is_same = |choice: &Choice| {
            choice.name.as_deref() == name && choice.model.as_deref() == model && choice.compat == *compat
        };
        let mut choices = locked(&self.choices);
        if let Some(index) = choices.iter().position(|(choice, _)| is_same(choice))
            && let Some(hit) = choices.remove(index)
        {
            let dialect = Arc::clone(&hit.1);
            choices.push_front(hit);
            return Ok(dialect);
        }
        // Building takes a while, and others must not wait for it.
        drop(choices);
        let dialect = Arc::new(self.all.choose(name, model, compat)?);
        let choice =
            Choice { name: name.map(Box::from), model: model.map(Box::from), compat: compat.clone() };
        let mut choices = locked(&self.choices);
        choices.truncate(CHOICES - 1);
        choices.push_front((choice, Arc::clone(&dialect)));
        Ok(dialect)
    }

    fn built(&self) -> &Built {
        // Not at the start, which has no time for it.
        self.built.get_or_init(|| Built::of(&self.all))
    }
}

impl Built {
    fn of(dialects: &Dialects) -> Self {
        let mut all: Vec<Dialect> = dialects
            .names()
            .filter_map(|name| dialects.get(name).ok())
            .filter(|dialect| !dialect.layer)
            .collect();
        // The dialect that others of the same protocol extend is the plainest one.
        all.sort_by_key(|dialect| (dialect.extends.is_some(), dialect.name.len()));
        let mut built = Self::default();
        for dialect in all {
            let dialect = Arc::new(dialect);
            let protocol = dialect.messages.protocol;
            match built.plain.get(&protocol) {
                None => drop(built.plain.insert(protocol, Arc::clone(&dialect))),
                Some(plain) => {
                    let is_guaranteed = plain.tool.strict_dialect.as_ref() == Some(&dialect.name);
                    let siblings = built.siblings.entry(protocol).or_default();
                    if dialect.schema.rebuild().is_some() {
                        siblings.insert(if is_guaranteed { 0 } else { siblings.len() }, Arc::clone(&dialect));
                    }
                }
            }
            if dialect.tool.shape == ToolShape::Mcp && built.untouched.is_none() {
                built.untouched = Some(dialect);
            }
        }
        built
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_has_its_plainest_dialect() {
        let ready = ReadyDialects::new(Dialects::builtin());
        let name = |protocol| ready.detected(protocol).map(|dialect| dialect.name.as_str());
        assert_eq!(name(Some(Protocol::Chat)), Some("openai-chat"));
        assert_eq!(name(None), Some("openai-chat"));
        assert_eq!(name(Some(Protocol::Messages)), Some("anthropic"));
        assert_eq!(name(Some(Protocol::GenerateContent)), Some("gemini"));
        assert_eq!(name(Some(Protocol::Converse)), Some("bedrock"));
        assert_eq!(ready.untouched().map(|dialect| dialect.name.as_str()), Some("mcp"));
    }

    #[test]
    fn siblings_write_arguments_in_ways_of_their_own() {
        let ready = ReadyDialects::new(Dialects::builtin());
        let names = |protocol| -> Vec<&str> {
            ready.siblings(Some(protocol)).iter().map(|dialect| dialect.name.as_str()).collect()
        };
        assert_eq!(names(Protocol::Messages), ["anthropic-strict"]);
        assert_eq!(names(Protocol::Responses), ["openai-responses-strict"]);
        let chat = names(Protocol::Chat);
        assert_eq!(chat.first(), Some(&"openai-chat-strict"));
        assert!(chat.contains(&"deepseek-strict") && !chat.contains(&"openai-chat"), "{chat:?}");
        let gemini = names(Protocol::GenerateContent);
        assert!(gemini.contains(&"gemini-json") && !gemini.contains(&"gemini"), "{gemini:?}");
    }

    #[test]
    fn a_choice_is_built_once_and_choices_are_bounded() {
        let ready = ReadyDialects::new(Dialects::builtin());
        let choose = |model: &str| ready.choose(Some("gemini"), Some(model), &Compat::Auto);
        let first = choose("gemini-3-pro").unwrap();
        assert!(Arc::ptr_eq(&first, &choose("gemini-3-pro").unwrap()));
        for number in 0..1_000 {
            choose(&format!("model-{number}")).unwrap();
        }
        assert!(locked(&ready.choices).len() <= CHOICES);
        assert!(ready.choose(Some("nobody"), None, &Compat::Auto).is_err());
    }
}
