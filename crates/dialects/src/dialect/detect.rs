//! What a model id says about the model.

use gateway_notation::pattern::matches;
use serde::Serialize;

use super::Dialects;
use super::providers::{Family, PROVIDERS, Route, provider_named};

/// Who serves a model, and what it can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetectedModel {
    /// Who serves it; `unknown` if no rule knows it.
    pub provider: String,
    /// The id, in lower case.
    pub model_id: String,
    /// Whether the provider can hold the model to a schema.
    pub supports_structured_outputs: bool,
    /// Whether it thinks before it answers.
    pub is_reasoning_model: bool,
    /// The dialect that the id chooses; `None` if no rule knows it.
    pub dialect: Option<String>,
    /// The layer of the model's family, if it has one.
    pub layer: Option<String>,
}

impl Dialects {
    /// What is known about a model by its id; `provider` is who serves it, if the caller knows.
    pub fn detect(&self, id: &str, provider: Option<&str>) -> DetectedModel {
        let model_id = id.trim().to_lowercase();
        let rest = self.models.without_prefixes(&model_id);
        let starts = |route: &&Route| route.starts.iter().any(|start| model_id.starts_with(start.as_str()));
        let fits = |family: &&Family| family.matches.iter().any(|pattern| matches(pattern, rest));
        let family = PROVIDERS.family.iter().find(fits);
        let named = provider_named(&model_id);
        let choice = self.for_model(id).ok();
        let given = provider.map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty());
        let found = given
            .or_else(|| PROVIDERS.route.iter().find(starts).map(|route| route.provider.clone()))
            .or_else(|| family.map(|family| family.provider.clone()))
            .or_else(|| named.map(|provider| provider.name.clone()))
            // Rules of the configuration may know it.
            .or_else(|| choice.as_ref().map(|choice| choice.dialect.clone()));
        DetectedModel {
            provider: found.unwrap_or_else(|| "unknown".to_owned()),
            model_id,
            supports_structured_outputs: family.is_some_and(|family| family.structured_outputs)
                || named.is_some_and(|provider| provider.structured_outputs),
            is_reasoning_model: family.is_some_and(|family| family.reasoning),
            dialect: choice.as_ref().map(|choice| choice.dialect.clone()),
            layer: choice.and_then(|choice| choice.layer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, provider: &str, structured: bool, reasoning: bool) {
        let found = Dialects::builtin().detect(id, None);
        let expected = (provider, id.trim().to_lowercase(), structured, reasoning);
        let is_reasoning = found.is_reasoning_model;
        let found = (
            found.provider.as_str(),
            found.model_id.clone(),
            found.supports_structured_outputs,
            is_reasoning,
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn ids_say_who_serves_a_model_and_what_it_can_do() {
        check("gpt-4", "openai", true, false);
        check("GPT-4o", "openai", true, false);
        check("gpt-3.5-turbo", "openai", false, false);
        check("o1", "openai", true, true);
        check("o1-mini", "openai", true, true);
        check("o3", "openai", true, true);
        check("openai/o3-mini", "openai", true, true);
        check("o4-mini", "openai", true, true);
        check("gpt-5", "openai", true, true);
        check("claude-3", "anthropic", true, false);
        check("gemini-pro", "google", true, false);
        check("models/gemini-2.5-flash", "google", true, false);
        check("grok-4", "xai", true, false);
        check("qwen3", "openai-compatible", false, false);
        check("argo:gpt-4o", "argo", true, false);
        check("openrouter/anthropic/claude-sonnet-4", "openrouter", true, false);
        check("proto1", "unknown", false, false);
        check("", "unknown", false, false);
    }

    #[test]
    fn a_provider_is_a_model_too() {
        check("openai", "openai", true, false);
        check("google", "google", true, false);
        let dialects = Dialects::builtin();
        for provider in &PROVIDERS.provider {
            let choice = dialects.for_model(&provider.name).unwrap();
            assert_eq!((&choice.dialect, &choice.layer), (&provider.dialect, &provider.layer));
            assert!(dialects.get(&choice.dialect).is_ok(), "{choice:?}");
        }
    }

    #[test]
    fn a_provider_that_is_given_counts_and_the_model_still_does() {
        let found = Dialects::builtin().detect("o3-mini", Some("openai"));
        assert_eq!((found.provider.as_str(), found.is_reasoning_model), ("openai", true));
        let found = Dialects::builtin().detect("o3-mini", Some("Azure"));
        assert_eq!((found.provider.as_str(), found.is_reasoning_model), ("azure", true));
    }

    #[test]
    fn families_and_rules_of_models_agree() {
        let dialects = Dialects::builtin();
        for pattern in PROVIDERS.family.iter().flat_map(|family| &family.matches) {
            let id = pattern.replace('*', "x");
            assert!(dialects.for_model(&id).is_ok(), "{id} is known here and not in models.toml");
        }
    }
}
