//! Which dialect a model id asks for.

use gateway_notation::pattern::matches;
use serde::Deserialize;

use super::providers::provider_named;
use super::{Dialect, DialectError, Dialects, Notations, TextCalls};

/// What a model id chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The dialect's name.
    pub dialect: String,
    /// The layer on top of it, if the model's family has one.
    pub layer: Option<String>,
    /// How the model writes calls as text, if its family has a rule about it.
    pub text_calls: Option<TextCalls>,
}

/// Whether the layer of a model's family applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compat {
    /// The one that the model id chooses.
    #[default]
    Auto,
    /// None.
    Off,
    /// This one.
    Named(String),
}

/// The table of models.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Models {
    #[serde(default)]
    prefix: Vec<Prefix>,
    #[serde(default)]
    model: Vec<Rule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prefix {
    starts: Vec<String>,
    dialect: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    matches: Vec<String>,
    dialect: String,
    layer: Option<String>,
    #[serde(rename = "text-calls")]
    text_calls: Option<TextCalls>,
}

impl Models {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Puts the rules of `other` before these.
    pub(crate) fn prepend(&mut self, other: Self) {
        self.prefix.splice(0..0, other.prefix);
        self.model.splice(0..0, other.model);
    }

    /// A lower-case id without its prefixes.
    pub(super) fn without_prefixes<'i>(&self, id: &'i str) -> &'i str {
        self.strip_prefixes(id).0
    }

    /// A lower-case id without its prefixes, and the dialect of the route that they name.
    fn strip_prefixes<'i>(&self, id: &'i str) -> (&'i str, Option<&str>) {
        let mut rest = id;
        let mut route: Option<&str> = None;
        let starts =
            || self.prefix.iter().flat_map(|prefix| prefix.starts.iter().map(move |start| (prefix, start)));
        // Routes can be nested: `openrouter/anthropic/claude-…`.
        while let Some((prefix, inner)) = starts().find_map(|(prefix, start)| {
            let inner = rest.strip_prefix(start.as_str()).filter(|inner| !inner.is_empty())?;
            Some((prefix, inner))
        }) {
            rest = inner;
            route = route.or(prefix.dialect.as_deref());
        }
        (rest, route)
    }

    /// What `id` chooses.
    fn choose(&self, id: &str) -> Option<Choice> {
        let lower = id.trim().to_lowercase();
        let (rest, route) = self.strip_prefixes(&lower);
        let rule = self.model.iter().find(|rule| rule.matches.iter().any(|pattern| matches(pattern, rest)));
        let dialect = route.or(rule.map(|rule| rule.dialect.as_str()))?;
        Some(Choice {
            dialect: dialect.to_owned(),
            layer: rule.and_then(|rule| rule.layer.clone()),
            text_calls: rule.and_then(|rule| rule.text_calls),
        })
    }
}

impl Dialects {
    /// The dialect and layer that a model id chooses; the name of a provider is one too.
    pub fn for_model(&self, id: &str) -> Result<Choice, DialectError> {
        let of_provider = || {
            let provider = provider_named(&id.trim().to_lowercase())?;
            let (dialect, layer) = (provider.dialect.clone(), provider.layer.clone());
            Some(Choice { dialect, layer, text_calls: None })
        };
        let choice = self.models.choose(id).or_else(of_provider);
        choice.ok_or_else(|| DialectError::UnknownModel { model: id.to_owned() })
    }

    /// The dialect that a caller asks for by name, by model, or by both.
    pub fn choose(
        &self,
        name: Option<&str>,
        model: Option<&str>,
        compat: &Compat,
    ) -> Result<Dialect, DialectError> {
        let choice = match name {
            Some(name) => {
                let of_model = model.and_then(|model| self.for_model(model).ok());
                Choice { dialect: name.to_owned(), ..of_model.unwrap_or_default() }
            }
            None => self.for_model(model.unwrap_or_default())?,
        };
        let layer = match compat {
            Compat::Auto => choice.layer,
            Compat::Off => None,
            Compat::Named(name) => Some(name.clone()),
        };
        let mut dialect = match layer {
            Some(layer) => self.layered(&choice.dialect, &layer)?,
            None => self.get(&choice.dialect)?,
        };
        if *compat == Compat::Off
            && let Some(bare) = &dialect.bare
        {
            dialect = self.get(bare)?;
        }
        if let Some(text_calls) = choice.text_calls {
            dialect.messages.text_calls = text_calls;
        }
        if let Some(model) = model {
            dialect.messages.notations |= Notations::of_model(model);
        }
        Ok(dialect)
    }
}

#[cfg(test)]
mod tests {
    use gateway_notation::pattern::matches;

    use super::{Choice, Compat};
    use crate::dialect::Dialects;
    use crate::dialect::TextCalls;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(matches("gpt-5*", "gpt-5-mini"));
        assert!(matches("*-davinci-*", "text-davinci-003"));
        assert!(!matches("o1", "o1-mini"));
        assert!(matches("*:*", "llama3.1:8b"));
        assert!(!matches("o1-*", "proto1-x"));
    }

    #[track_caller]
    fn check(id: &str, dialect: &str, layer: Option<&str>) {
        let expected =
            Choice { dialect: dialect.to_owned(), layer: layer.map(str::to_owned), text_calls: None };
        assert_eq!(Dialects::builtin().for_model(id).unwrap(), expected, "{id}");
    }

    #[test]
    fn model_ids_choose_dialects() {
        check("gpt-4", "openai-chat", None);
        check("GPT-4o", "openai-chat", None);
        check("gpt-5", "openai-chat", None);
        check("gpt-3.5-turbo", "openai-chat", Some("openai-legacy"));
        check("o1", "openai-chat", Some("openai-reasoning"));
        check("o3-mini", "openai-chat", Some("openai-reasoning"));
        check("o4-mini", "openai-chat", Some("openai-reasoning"));
        check("openai/o3-mini", "openai-chat", Some("openai-reasoning"));
        check("claude-3", "anthropic", Some("anthropic-compat"));
        check("gemini-pro", "gemini", Some("google-compat"));
        check("gemini-3-pro", "gemini", Some("google-compat"));
        check("models/gemini-2.5-flash", "gemini", Some("google-compat"));
        check("google-generativeai/gemini-1.5-pro", "gemini-legacy", Some("google-compat"));
        check("grok-4", "xai", None);
        check("qwen3", "openai-compatible", None);
        check("llama3.1:8b", "ollama", None);
        check("argo:gpt-4o", "argo", None);
        check("openrouter/anthropic/claude-sonnet-4", "openai-chat", Some("anthropic-compat"));
        check("us.anthropic.claude-3-haiku", "anthropic", Some("anthropic-compat"));
    }

    #[test]
    fn unknown_ids_say_so() {
        for id in ["", "proto1", "acme-large"] {
            let error = Dialects::builtin().for_model(id).unwrap_err().to_string();
            assert_eq!(error, format!("no dialect is known for model `{id}`; name a dialect instead"));
        }
    }

    #[test]
    fn a_model_that_writes_calls_as_text_is_a_matter_of_data() {
        let off = |dialects: &Dialects, name: &str| dialects.get(name).unwrap().messages.text_calls;
        let mut dialects = Dialects::builtin();
        for name in dialects.names().map(str::to_owned).collect::<Vec<_>>() {
            assert_eq!(off(&dialects, &name), TextCalls::Off, "{name}");
        }
        let rules = "[[model]]\nmatches = [\"scribe-*\"]\ndialect = \"ollama\"\ntext-calls = \"xml\"\n";
        dialects.add_models("test", rules).unwrap();
        let chosen = |name: Option<&str>, model: &str| {
            dialects.choose(name, Some(model), &Compat::Auto).unwrap().messages.text_calls
        };
        assert_eq!(chosen(None, "scribe-7b"), TextCalls::Xml);
        assert_eq!(
            chosen(Some("openai-chat"), "ollama/scribe-7b"),
            TextCalls::Xml,
            "the model's, by any route"
        );
        assert_eq!(chosen(None, "gpt-5"), TextCalls::Off);
        let mut dialects = Dialects::builtin();
        dialects
            .add("test", "name = \"scribe\"\nextends = \"ollama\"\n[messages]\ntext-calls = \"json\"\n")
            .unwrap();
        assert_eq!(off(&dialects, "scribe"), TextCalls::Json);
        let wrong = "[[model]]\nmatches = [\"x\"]\ndialect = \"ollama\"\ntext-calls = \"yes\"\n";
        assert!(dialects.add_models("test", wrong).is_err());
    }
}
