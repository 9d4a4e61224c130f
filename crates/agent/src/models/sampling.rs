//! Which settings a chat is sent with: what is configured and asked for, then defaults by model.

use std::sync::LazyLock;

use gateway_config::{ModelSpec, ToolDialect};
use gateway_notation::pattern::matches;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Settings in the words of Chat Completions.
type Settings = Map<String, Value>;

/// Two ways to say the same thing: APIs refuse them together, or advise against it.
const SAMPLING: [&str; 2] = ["temperature", "top_p"];

const MAX_TOKENS: &str = "max_tokens";

/// The names of the bound of an answer.
const BOUNDS: [&str; 2] = [MAX_TOKENS, "max_completion_tokens"];

/// What models take.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    max_tokens: u64,
    model: Vec<Rule>,
}

/// What some models take.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Rule {
    matches: Vec<String>,
    kinds: Vec<String>,
    functions: bool,
    settings: Settings,
    refuses: Vec<String>,
    max_tokens_as: Option<String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the table is part of the binary")]
    toml::from_str(include_str!("../../data/sampling.toml")).expect("data/sampling.toml is a table of models")
});

impl Rule {
    fn applies(&self, spec: &ModelSpec, id: &str) -> bool {
        let is_kind = self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == spec.kind.name());
        let is_sent = !self.functions || spec.tool_dialect == ToolDialect::Functions;
        // Routes to a model stand before its name: `argo:gpt-4o`, `openrouter/openai/o3`.
        let names = || {
            let inner = id.match_indices(['/', ':']).filter_map(|(at, mark)| id.get(at + mark.len()..));
            std::iter::once(id).chain(inner)
        };
        let is_named = || {
            self.matches.is_empty()
                || self.matches.iter().any(|pattern| names().any(|name| matches(pattern, name)))
        };
        is_kind && is_sent && is_named()
    }
}

/// The settings of a chat with a model: those of its entry, replaced by what is asked for, then defaults by model.
///
/// `null` in the entry means that nothing is sent, not even the default. What the entry says is sent even if the model is known to
/// refuse it: the operator knows best.
pub(super) fn chat_settings(spec: &ModelSpec, api_name: &str, asked: &Settings) -> Settings {
    let id = api_name.trim().to_lowercase();
    let none = Rule::default();
    let rule = TABLE.model.iter().find(|rule| rule.applies(spec, &id)).unwrap_or(&none);
    let asked: Vec<(&String, &Value)> =
        asked.iter().filter(|(name, value)| !value.is_null() && !rule.refuses.contains(name)).collect();
    let mut settings = spec.settings.clone();
    for alike in [SAMPLING, BOUNDS] {
        if asked.iter().any(|(name, _)| alike.contains(&name.as_str())) {
            settings.retain(|name, _| !alike.contains(&name.as_str()));
        }
    }
    settings.extend(asked.into_iter().map(|(name, value)| (name.clone(), value.clone())));
    if !SAMPLING.iter().any(|name| settings.contains_key(*name)) {
        let defaults = rule.settings.iter();
        settings.extend(defaults.map(|(name, value)| (name.clone(), value.clone())));
    }
    if !BOUNDS.iter().any(|name| settings.contains_key(*name)) {
        settings.insert(MAX_TOKENS.to_owned(), TABLE.max_tokens.into());
    }
    settings.retain(|_, value| !value.is_null());
    if SAMPLING.iter().all(|name| settings.contains_key(*name)) {
        settings.remove("top_p");
    }
    if let Some(name) = &rule.max_tokens_as
        && let Some(most) = settings.remove(MAX_TOKENS)
    {
        settings.entry(name.clone()).or_insert(most);
    }
    settings
}
