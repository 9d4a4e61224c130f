//! What is configured of models and of the loop that runs their calls.

mod address;
mod read;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::fields::Words;
use crate::key::Secret;

pub use address::{ollama_address, server_address};
pub(crate) use read::{model_schema, read_loop, read_models};

/// A model that can be asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelSpec {
    /// The name that callers send as `model`.
    pub name: String,
    /// Which API it has.
    pub kind: ModelKind,
    /// The address up to the path of the API.
    pub base_url: String,
    /// The key that is sent along.
    pub api_key: Option<Secret>,
    /// What the API calls the model; the name if absent.
    pub model: Option<String>,
    /// Whether the entry stands for all models that the API lists.
    pub lists_models: bool,
    /// The dialect; it follows from the kind and the model if absent.
    pub dialect: Option<String>,
    /// Whether tools are sent as `tools` or as the `functions` of before.
    pub tool_dialect: ToolDialect,
    /// How the model is given tools.
    pub tool_use: ToolUse,
    /// How often a step of [`ToolUse::Prompt`] is asked for again after an answer that cannot be used.
    pub max_retries: u32,
    /// In which notations calls are taken out of its text: `off`, `auto` or names; by the model's family if absent.
    pub text: Option<Vec<String>>,
    /// The version of Azure's API.
    pub api_version: Option<String>,
    /// Further headers; their values are secrets.
    pub headers: BTreeMap<String, Secret>,
    /// Models that are asked if this one gives no answer, in order.
    pub fallbacks: Vec<String>,
    /// How often a request is repeated that the API could not take at the moment.
    pub retries: u32,
    /// How long the API may send nothing.
    pub timeout: Duration,
    /// Settings of requests that `chat` and `/conversations` make, in the words of Chat Completions.
    pub settings: Map<String, Value>,
    /// Which tools are sent when there are too many.
    pub tools: ToolBudget,
}

/// Which API a model has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelKind {
    /// Chat Completions, of anybody.
    #[default]
    OpenAi,
    /// The Responses API.
    Responses,
    /// Chat Completions below the path of a deployment, as DIAL has it.
    Dial,
    /// The same, as Azure has it.
    Azure,
    /// Ollama's own API.
    Ollama,
    /// The Messages API.
    Anthropic,
    /// `generateContent`.
    Gemini,
}

impl Words for ModelKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("openai", Self::OpenAi),
        ("responses", Self::Responses),
        ("dial", Self::Dial),
        ("azure", Self::Azure),
        ("ollama", Self::Ollama),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
    ];
}

impl ModelKind {
    /// The word for it in the configuration.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    /// The address if nobody says otherwise.
    fn base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::Responses => Some("https://api.openai.com/v1"),
            Self::Ollama => Some("http://localhost:11434"),
            Self::Anthropic => Some("https://api.anthropic.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::Dial | Self::Azure => None,
        }
    }

    /// The variable that has the key if nobody says otherwise.
    fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::Responses => Some("OPENAI_API_KEY"),
            Self::Dial => Some("DIAL_API_KEY"),
            Self::Azure => Some("AZURE_OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }
}

/// How tools are sent in Chat Completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolDialect {
    /// As `tools`.
    #[default]
    Tools,
    /// As `functions`, for servers from before there were tools.
    Functions,
}

impl Words for ToolDialect {
    const WORDS: &'static [(&'static str, Self)] = &[("tools", Self::Tools), ("functions", Self::Functions)];
}

/// How a model is given tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolUse {
    /// As its API has it.
    #[default]
    Native,
    /// As a question in two steps, for models that cannot call tools: which one, then with what.
    Prompt,
}

impl Words for ToolUse {
    const WORDS: &'static [(&'static str, Self)] = &[("native", Self::Native), ("prompt", Self::Prompt)];
}

/// Whether a model is sent the three tools of search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchTools {
    /// Where tools are left out, and there is ample room.
    #[default]
    Auto,
    /// Always, and nothing else.
    Only,
    /// Never.
    Off,
}

impl Words for SearchTools {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("only", Self::Only), ("off", Self::Off)];
}

/// How many tools a model is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolBudget {
    /// Tools in one request; as many as the provider takes if absent.
    pub most: Option<usize>,
    /// Estimated tokens of all definitions.
    pub tokens: Option<usize>,
    /// Bytes of all definitions.
    pub bytes: Option<usize>,
    /// `server/tool` patterns of tools that are always sent.
    pub pinned: Vec<String>,
    /// Whether the tools of search are sent.
    pub search: SearchTools,
}

/// Bounds of the loop: model, calls, results, model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoopConfig {
    /// The model that is asked if a request names none.
    pub model: Option<String>,
    /// Replies of the model to one message.
    pub rounds: usize,
    /// What happens at a bound.
    pub on_limit: OnLimit,
    /// Calls for one message.
    pub calls: usize,
    /// Time for one message.
    pub time: Duration,
    /// Tokens for one message, read and written; no bound if absent.
    pub tokens: Option<u64>,
    /// Bytes of text of one result that the model is shown, as JSON writes them.
    pub result_characters: usize,
    /// Bad calls in a row before the loop stops.
    pub bad_calls: usize,
    /// Equal calls with equal results before the loop stops.
    pub repeats: usize,
    /// The system prompt of conversations.
    pub system_prompt: Option<String>,
    /// How long a result that the model was shown a part of stays readable.
    pub keep_results: Duration,
    /// Most bytes of such results.
    pub kept_result_bytes: u64,
}

/// What happens at a bound of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLimit {
    /// The answer says so.
    #[default]
    Message,
    /// The request fails.
    Error,
}

impl Words for OnLimit {
    const WORDS: &'static [(&'static str, Self)] = &[("message", Self::Message), ("error", Self::Error)];
}

impl Default for LoopConfig {
    fn default() -> Self {
        Self {
            model: None,
            rounds: 10,
            on_limit: OnLimit::Message,
            calls: 100,
            time: Duration::from_mins(10),
            tokens: None,
            result_characters: 32 << 10,
            bad_calls: 3,
            repeats: 10,
            system_prompt: None,
            keep_results: Duration::from_hours(1),
            kept_result_bytes: 1 << 30,
        }
    }
}
