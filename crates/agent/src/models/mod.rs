//! The models of the configuration, by the names that callers send.

pub(crate) mod discovery;
mod listing;
mod sampling;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesOrdered;
use gateway_builtin::http_client;
use gateway_config::{ModelKind, ModelSpec, ToolDialect, ToolUse};
use gateway_dialects::calls::text::{Notations, TextCalls};
use gateway_dialects::dialect::{Compat, Protocol};
use gateway_dialects::{Dialect, DialectError};
use gateway_notation::spelling::did_you_mean;
use gateway_runtime::lists::ReadyDialects;
use gateway_runtime::lock::locked;
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::{Map, Value};

use crate::http_model::{HttpModel, ModelDialects, RequestFigures};
use crate::model::Model;
use crate::prompted::PromptedModel;
use listing::Listing;

/// All models that callers may name.
#[derive(Debug)]
pub struct Models {
    entries: Vec<Entry>,
    /// The one that is meant where a request names none.
    usual: Option<String>,
    /// Models of entries that stand for several, as they are asked for.
    built: Mutex<HashMap<String, BuiltModel>>,
    /// How often each of them was asked; kept when it has to be built again.
    figures: Mutex<BTreeMap<String, Arc<RequestFigures>>>,
}

/// A model that can be asked, and the one of its API behind it.
#[derive(Clone, Debug)]
struct BuiltModel {
    model: Arc<dyn Model>,
    http: Arc<HttpModel>,
}

/// One entry of the configuration.
#[derive(Debug)]
struct Entry {
    spec: Arc<ModelSpec>,
    client: Client,
    /// What the API lists, where the entry stands for all of it.
    listing: Listing,
}

impl Entry {
    /// The names of its models.
    async fn names(&self) -> (&Self, Arc<[String]>) {
        let names = if self.spec.lists_models {
            self.listing.get(&self.spec, &self.client, Instant::now()).await
        } else {
            Arc::from([self.spec.name.clone()])
        };
        (self, names)
    }
}

/// A model, and what the configuration says of it.
#[derive(Clone, Debug)]
pub struct ChosenModel {
    /// The model, which takes tools as the loop offers them, whatever its API can do.
    pub model: Arc<dyn Model>,
    /// The model as its API has it.
    pub(crate) http: Arc<HttpModel>,
    /// Its entry.
    pub spec: Arc<ModelSpec>,
    /// What its API calls it.
    pub api_name: String,
}

impl ChosenModel {
    /// The settings of a chat: those of the entry, replaced by what is asked for, then defaults that follow from the model.
    ///
    /// `temperature` and `top_p` are never sent together, nor what the model's API refuses.
    pub fn chat_settings(&self, asked: &Map<String, Value>) -> Map<String, Value> {
        sampling::chat_settings(&self.spec, &self.api_name, asked)
    }
}

/// No model has the name that a request gives.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct UnknownModel {
    /// What to say.
    pub message: String,
    /// The names that are known.
    pub known: Vec<String>,
}

/// Names that an error gives at most. Of more nobody reads a sentence; and clients guess at what an error means by words in it, which
/// may be those of a name.
const NAMED: usize = 10;

impl UnknownModel {
    /// What to say to a caller who cannot look into the configuration: with the names that there are, and when they are read.
    pub(crate) fn with_names(&self) -> String {
        if self.known.is_empty() {
            return self.message.clone();
        }
        let there_are = if self.known.len() > NAMED {
            format!("`GET /v1/models` lists the {} that there are", self.known.len())
        } else {
            format!("there are: {}", self.known.join(", "))
        };
        format!("{}; {there_are}. `models` of the configuration is read at the start", self.message)
    }
}

/// How many models of entries that stand for several are kept ready, and counted by name.
const BUILT: usize = 1_024;

/// What further ones are counted as.
const OTHER: &str = "other";

impl Models {
    /// The models of a configuration; `usual` is meant where a request names none.
    pub fn new(specs: &[ModelSpec], usual: Option<String>) -> Self {
        let entries = specs.iter().map(|spec| Entry {
            spec: Arc::new(spec.clone()),
            client: client(spec),
            listing: Listing::default(),
        });
        let entries: Vec<Entry> = entries.collect();
        let first =
            || entries.iter().find(|entry| !entry.spec.lists_models).map(|entry| entry.spec.name.clone());
        let usual = usual.or_else(first);
        Self { entries, usual, built: Mutex::default(), figures: Mutex::default() }
    }

    /// Whether none are configured.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The name that is meant where a request names none.
    pub fn usual(&self) -> Option<&str> {
        self.usual.as_deref()
    }

    /// The model that a caller names, and behind it those that are asked if it gives no answer.
    pub async fn choose(
        &self,
        name: Option<&str>,
        dialects: &ReadyDialects,
    ) -> Result<Vec<ChosenModel>, UnknownModel> {
        let name = name.filter(|name| !name.is_empty()).or(self.usual());
        let Some(name) = name else { return Err(self.nothing_configured()) };
        let mut chosen = Vec::new();
        let mut names = vec![name.to_owned()];
        let mut index = 0;
        while let Some(name) = names.get(index).cloned() {
            index += 1;
            let found = self.find(&name).await;
            let Some((entry, api_name)) = found else {
                if chosen.is_empty() {
                    return Err(self.unknown(&name).await);
                }
                continue;
            };
            let BuiltModel { model, http } =
                self.build(entry, &name, &api_name, dialects).map_err(|message| UnknownModel {
                    message: format!("model `{name}`: {message}"),
                    known: Vec::new(),
                })?;
            let further = entry.spec.fallbacks.iter().filter(|name| !names.contains(name));
            let further: Vec<String> = further.cloned().collect();
            names.extend(further);
            chosen.push(ChosenModel { model, http, spec: Arc::clone(&entry.spec), api_name });
        }
        Ok(chosen)
    }

    /// The names that callers may send, each once, with the entry that it belongs to.
    pub async fn list(&self) -> Vec<(String, Arc<ModelSpec>)> {
        let mut seen = HashSet::new();
        let mut listed = Vec::new();
        for (entry, names) in join_all(self.entries.iter().map(Entry::names)).await {
            let fresh = names.iter().filter(|name| seen.insert((*name).clone()));
            listed.extend(fresh.map(|name| (name.clone(), Arc::clone(&entry.spec))));
        }
        listed
    }

    /// The entry of a model, and what its API calls it.
    async fn find(&self, name: &str) -> Option<(&Entry, String)> {
        let own = |entry: &&Entry| !entry.spec.lists_models && entry.spec.name == name;
        if let Some(entry) = self.entries.iter().find(own) {
            let api_name = entry.spec.model.clone().unwrap_or_else(|| entry.spec.name.clone());
            return Some((entry, api_name));
        }
        let several: Vec<&Entry> = self.entries.iter().filter(|entry| entry.spec.lists_models).collect();
        // All are asked at once, so that those that do not answer cost their time once; the first that has the name wins.
        let mut lists: FuturesOrdered<_> = several.iter().map(|entry| entry.names()).collect();
        while let Some((entry, names)) = lists.next().await {
            if names.iter().any(|listed| listed == name) {
                return Some((entry, name.to_owned()));
            }
        }
        // An entry's own name leads to its models too: `argo/gpt-4o`.
        let prefixed = several.iter().find_map(|entry| {
            let rest = name.strip_prefix(entry.spec.name.as_str())?.strip_prefix('/')?;
            (!rest.is_empty()).then(|| (*entry, rest.to_owned()))
        });
        if prefixed.is_some() {
            return prefixed;
        }
        // Where the only API cannot be asked for its list, it knows best what it has.
        match several.as_slice() {
            [only] if only.listing.is_unknown() => Some((only, name.to_owned())),
            _ => None,
        }
    }

    /// Requests to the models that were asked so far, each by what came of it.
    pub fn request_counts(&self) -> Vec<(String, [(&'static str, u64); 3])> {
        locked(&self.figures).iter().map(|(name, figures)| (name.clone(), figures.by_outcome())).collect()
    }

    /// The counts of a model. An API may list any number of them, and each is a line of the metrics.
    fn figures_of(&self, name: &str) -> Arc<RequestFigures> {
        let mut figures = locked(&self.figures);
        let name = if figures.len() < BUILT || figures.contains_key(name) { name } else { OTHER };
        Arc::clone(figures.entry(name.to_owned()).or_default())
    }

    fn build(
        &self,
        entry: &Entry,
        name: &str,
        api_name: &str,
        dialects: &ReadyDialects,
    ) -> Result<BuiltModel, String> {
        let mut built = locked(&self.built);
        if let Some(model) = built.get(name) {
            return Ok(model.clone());
        }
        let spoken = model_dialects(&entry.spec, api_name, dialects)?;
        let model = HttpModel::new(&entry.spec, (name, api_name), spoken, entry.client.clone())?;
        let http = Arc::new(model.counted(self.figures_of(name)));
        let model: Arc<dyn Model> = match entry.spec.tool_use {
            ToolUse::Native => Arc::clone(&http) as Arc<dyn Model>,
            ToolUse::Prompt => {
                let inner = Arc::clone(&http) as Arc<dyn Model>;
                Arc::new(PromptedModel::new(inner, entry.spec.max_retries))
            }
        };
        let model = BuiltModel { model, http };
        if built.len() >= BUILT {
            built.clear();
        }
        built.insert(name.to_owned(), model.clone());
        Ok(model)
    }

    fn nothing_configured(&self) -> UnknownModel {
        let message = if self.entries.is_empty() {
            "no model is configured: add one under \"models\" in the configuration file and start the gateway again; \
             docs/guides/agent.md shows how"
        } else {
            "the request names no model, and \"loop.model\" is not set"
        };
        UnknownModel { message: message.to_owned(), known: Vec::new() }
    }

    async fn unknown(&self, name: &str) -> UnknownModel {
        if self.entries.is_empty() {
            return self.nothing_configured();
        }
        let known: Vec<String> = self.list().await.into_iter().map(|(name, _)| name).collect();
        let question = did_you_mean(name, known.iter().map(String::as_str));
        let hint = question.map_or_else(String::new, |question| format!("; {question}"));
        UnknownModel { message: format!("no model is called `{name}`{hint}"), known }
    }
}

/// A client for one API. It follows no redirect: the key is meant for this address only.
fn client(spec: &ModelSpec) -> Client {
    let mut builder = http_client::builder().redirect(Policy::none()).tcp_nodelay(true);
    if url::Url::parse(&spec.base_url).is_ok_and(|url| http_client::is_loopback(&url)) {
        builder = builder.no_proxy();
    }
    builder.build().unwrap_or_default()
}

/// How a model is spoken to: by its entry, else by its kind and its own name.
fn model_dialects(
    spec: &ModelSpec,
    api_name: &str,
    dialects: &ReadyDialects,
) -> Result<ModelDialects, String> {
    let choose = |name: Option<&str>, compat: &Compat| dialects.choose(name, Some(api_name), compat);
    let usual = match &spec.dialect {
        Some(name) => choose(Some(name), &Compat::Auto),
        None => usual_dialect(spec, &choose),
    };
    let usual = usual.map_err(|error| error.to_string())?;
    let (spoken, wanted) = (usual.messages.protocol, protocols(spec));
    if !wanted.contains(&spoken) {
        return Err(format!(
            "dialect `{}` is of the API `{}`, but kind `{}` speaks another one",
            usual.name,
            spoken.name(),
            spec.kind.name(),
        ));
    }
    let careful = if spoken == Protocol::Chat {
        choose(Some("ollama-openai"), &Compat::Auto)
    } else {
        // The name of a layered dialect is no name that can be chosen.
        let base = usual.name.split('+').next().unwrap_or(&usual.name);
        choose(Some(base), &Compat::Named("universal".to_owned()))
    };
    let careful =
        careful.ok().filter(|careful| careful.messages.protocol == spoken && careful.name != usual.name);
    let asked = spec.text.as_ref().map(|words| words.join(",").parse::<TextCalls>()).transpose();
    let asked = asked.map_err(|error| format!("`text`: {error}"))?;
    let notations = usual.messages.written_notations(asked);
    let is_unsaid = asked.is_none() && notations.is_empty();
    let unread = if is_unsaid { Notations::all() } else { Notations::NONE };
    Ok(ModelDialects { usual, careful, notations, unread })
}

/// The APIs that a kind speaks.
fn protocols(spec: &ModelSpec) -> &'static [Protocol] {
    match spec.kind {
        ModelKind::OpenAi | ModelKind::Dial | ModelKind::Azure => &[Protocol::Chat, Protocol::Functions],
        ModelKind::Responses => &[Protocol::Responses],
        ModelKind::Ollama => &[Protocol::OllamaChat],
        ModelKind::Anthropic => &[Protocol::Messages],
        ModelKind::Gemini => &[Protocol::GenerateContent],
    }
}

/// The dialect that follows from a kind and a model's own name.
fn usual_dialect(
    spec: &ModelSpec,
    choose: &impl Fn(Option<&str>, &Compat) -> Result<Arc<Dialect>, DialectError>,
) -> Result<Arc<Dialect>, DialectError> {
    let named = |name| choose(Some(name), &Compat::Auto);
    if spec.tool_dialect == ToolDialect::Functions {
        return named("openai-functions");
    }
    match spec.kind {
        ModelKind::OpenAi => match choose(None, &Compat::Auto) {
            Ok(dialect) if dialect.messages.protocol == Protocol::Chat => Ok(dialect),
            Ok(_) => named("openai-chat"),
            // Nobody knows the model, so the server may be anybody's.
            Err(_) => named("openai-compatible"),
        },
        ModelKind::Responses => named("openai-responses"),
        ModelKind::Dial => named("dial"),
        ModelKind::Azure => named("azure-openai"),
        ModelKind::Ollama => named("ollama"),
        ModelKind::Anthropic => named("anthropic"),
        ModelKind::Gemini => named("gemini"),
    }
}
