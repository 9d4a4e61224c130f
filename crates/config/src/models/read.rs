//! Reading models and the loop.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gateway_notation::spelling::did_you_mean;
use serde_json::{Map, Value, json};

use super::address::ollama_address;
use super::{LoopConfig, ModelKind, ModelSpec, ToolBudget, ToolDialect, ToolUse};
use crate::fields::{DAY, Fields, Item, Setting as _, Unit, any_of, describe};
use crate::key::Secret;
use crate::secret_text::{expanded, secret};

/// How long an API may send nothing, if nobody says otherwise. Local models read long prompts slowly.
const PATIENCE: Duration = Duration::from_mins(5);

/// Repetitions of a request that the API could not take at the moment.
const RETRIES: u32 = 2;

/// Repetitions of a step whose answer cannot be used.
const STEP_RETRIES: u32 = 2;

/// Ends of addresses that the gateway adds itself.
const API_PATHS: [&str; 4] = ["/chat/completions", "/responses", "/messages", "/api/chat"];

/// Where Argo listens if nobody says otherwise, and the key that it wants.
const ARGO: (&str, &str) = ("http://localhost:8000/v1", "not-needed");

/// Reads `models`, and what variables say of them. The names of variables that keys are taken from are added to `taken_from`.
pub(crate) fn read_models(at: &mut Fields<'_>, taken_from: &mut BTreeSet<String>) -> Vec<ModelSpec> {
    let about = "Models by the name that callers send as `model`.";
    let schema = || json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/model"}});
    let mut models = Vec::new();
    for (name, item) in at.item("models", about, schema).iter().flat_map(Item::present_members) {
        let Some(members) = item.object() else { continue };
        if name.trim().is_empty() {
            item.error("needs a name");
            continue;
        }
        let read = |at: &mut Fields<'_>| read_model(name, at, taken_from);
        models.push(Fields::read(item.context, &item.pointer, members, read));
    }
    let environment = at.context.source.environment;
    if let Some(address) = environment.non_empty("ARGO_BASE_URL") {
        match models.iter_mut().find(|model| is_argo(model)) {
            Some(model) => model.base_url = address,
            None => models.push(argo(address)),
        }
    }
    let known: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    for model in &models {
        for unknown in model.fallbacks.iter().filter(|name| !known.contains(name)) {
            let text = format!("`{}`: no model is called `{unknown}`, so it is no fallback", model.name);
            at.warn("models", &text);
        }
    }
    models
}

/// The schema of one entry of `models`.
pub(crate) fn model_schema() -> Value {
    describe(|at| read_model("", at, &mut BTreeSet::new()))
}

fn is_argo(model: &ModelSpec) -> bool {
    model.name == "argo" || model.dialect.as_deref() == Some("argo")
}

/// The models of Argo, as its variables describe them.
fn argo(base_url: String) -> ModelSpec {
    ModelSpec {
        base_url,
        api_key: Some(Secret::new(ARGO.1)),
        lists_models: true,
        dialect: Some("argo".to_owned()),
        ..ModelSpec::new("argo")
    }
}

impl ModelSpec {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: ModelKind::default(),
            base_url: String::new(),
            api_key: None,
            model: None,
            lists_models: false,
            dialect: None,
            tool_dialect: ToolDialect::default(),
            tool_use: ToolUse::default(),
            max_retries: STEP_RETRIES,
            text: None,
            api_version: None,
            headers: BTreeMap::new(),
            fallbacks: Vec::new(),
            retries: RETRIES,
            timeout: PATIENCE,
            settings: Map::new(),
            tools: ToolBudget::default(),
        }
    }

    /// A model of a server that needs no configuration, such as one on this machine.
    pub fn at(name: &str, kind: ModelKind, base_url: &str) -> Self {
        Self { kind, base_url: base_url.to_owned(), ..Self::new(name) }
    }
}

fn read_model(name: &str, at: &mut Fields<'_>, taken_from: &mut BTreeSet<String>) -> ModelSpec {
    let mut model = ModelSpec::new(name);
    at.set("kind", "Which API it has.", &mut model.kind);
    let about = "The dialect of its tools; it follows from the kind and the model if absent.";
    at.set("dialect", about, &mut model.dialect);
    let argo = is_argo(&model).then_some(ARGO);
    let about = "The address up to the path of the API, such as `http://localhost:8000/v1`.";
    let address = secret(at, "baseUrl", about, taken_from).map(|address| address.expose().to_owned());
    let environment = at.context.source.environment;
    let ollama = || environment.non_empty("OLLAMA_HOST").filter(|_| model.kind == ModelKind::Ollama);
    let usual = || argo.map(|(address, _)| address).or_else(|| model.kind.base_url()).map(str::to_owned);
    match address.or_else(|| ollama().map(|host| ollama_address(&host))).or_else(usual) {
        Some(address) if is_address(&address) => {
            let path = API_PATHS.iter().find(|path| address.trim_end_matches('/').ends_with(**path));
            if let Some(path) = path {
                at.warn("baseUrl", &format!("ends in `{path}`, which the gateway adds itself: leave it out"));
            }
            model.base_url = address;
        }
        Some(_) => {
            at.error("baseUrl", "must be an address with http or https, such as `https://models.example/v1`");
        }
        None => at.error("baseUrl", "is missing"),
    }
    let about = "The key that is sent along; use `${VARIABLE}` or `${file:path}`.";
    model.api_key = secret(at, "apiKey", about, taken_from);
    // Only the vendor's own address gets the vendor's key.
    let is_own = model.kind.base_url().is_none_or(|own| own == model.base_url);
    let variable = model.kind.key_variable().filter(|_| is_own && argo.is_none());
    if model.api_key.is_none() {
        model.api_key = argo.map(|(_, key)| Secret::new(key)).or_else(|| {
            let key = environment.non_empty(variable?)?;
            taken_from.extend(variable.map(str::to_owned));
            Some(Secret::new(key))
        });
    }
    at.set("model", "What the API calls the model; the name if absent.", &mut model.model);
    let about = "`auto`: the entry stands for all models that the API lists.";
    if let Some(item) = at.item("models", about, || json!({"const": "auto"})) {
        model.lists_models = item.value == "auto";
        if !model.lists_models {
            item.error("must be \"auto\"");
        }
    }
    let about = "Whether tools are sent as `tools` or as the `functions` of before.";
    at.set("toolDialect", about, &mut model.tool_dialect);
    let about = "How the model is given tools: as its API has it, or as a question in two steps, for models that cannot call tools.";
    at.set("toolUse", about, &mut model.tool_use);
    let about =
        "How often a model that is asked in two steps is asked again after an answer that cannot be used.";
    at.count("maxRetries", about, 0..=10, &mut model.max_retries);
    let about = "In which notations calls are taken out of its text: `off`, `auto`, or names of notations; by the model's family if absent.";
    let texts = || any_of(&[json!({"type": "boolean"}), Vec::<String>::schema()]);
    model.text = at.item("text", about, texts).and_then(|item| match item.value {
        Value::Bool(on) => Some(vec![if *on { "auto" } else { "off" }.to_owned()]),
        _ => item.read(),
    });
    at.set("apiVersion", "The version of Azure's API.", &mut model.api_version);
    headers(at, &mut model.headers, taken_from);
    // A header may be the key.
    if let (Some(variable), None, true) = (variable, &model.api_key, model.headers.is_empty())
        && !at.has("apiKey")
    {
        at.warn(
            "apiKey",
            &format!("is missing, and `{variable}` is not set, so the API will refuse requests"),
        );
    }
    let about = "Names of models that are asked if this one gives no answer, in order.";
    at.set("fallbacks", about, &mut model.fallbacks);
    let about = "How often a request is repeated that the API could not take at the moment.";
    at.count("retries", about, 0..=10, &mut model.retries);
    let about = "How long the API may send nothing.";
    at.time("timeout", about, Duration::from_millis(100)..=DAY, &mut model.timeout);
    let about =
        "Settings of requests that `chat` and `/conversations` make, in the words of Chat Completions.";
    if let Some(item) = at.item("settings", about, || json!({"type": "object"})) {
        model.settings = item.object().cloned().unwrap_or_default();
    }
    at.object("tools", "Which tools are sent when there are too many.", |at| budget(&mut model.tools, at));
    model
}

fn budget(tools: &mut ToolBudget, at: &mut Fields<'_>) {
    let about = "Tools in one request; as many as the provider takes if absent.";
    tools.most = at.number("max", about, Unit::One, 1..=100_000, None);
    let about = "Estimated tokens of all definitions.";
    tools.tokens = at.number("maxTokens", about, Unit::One, 1..=100_000_000, None);
    tools.bytes = at.number("maxBytes", "Bytes of all definitions.", Unit::Byte, 1..=1 << 30, None);
    at.set("pinned", "`server/tool` patterns of tools that are always sent.", &mut tools.pinned);
    let about = "Whether the tools of search are sent: where tools are left out, alone, or never.";
    at.set("search", about, &mut tools.search);
}

/// Reads `loop`, for a file with these models.
pub(crate) fn read_loop(config: &mut LoopConfig, models: &[ModelSpec], at: &mut Fields<'_>) {
    at.set("model", "The model that is asked if a request names none.", &mut config.model);
    // What an API lists is not known here.
    let is_known = |name: &str| models.iter().any(|model| model.lists_models || model.name == name);
    if let Some(name) = config.model.as_deref().filter(|name| !models.is_empty() && !is_known(name)) {
        let hint = did_you_mean(name, models.iter().map(|model| model.name.as_str()));
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        at.warn("model", &format!("no model is called `{name}`{hint}"));
    }
    let about = "Replies of the model to one message.";
    at.count("maxRounds", about, 1..=1_000, &mut config.rounds);
    at.count("maxTurns", "The same as `maxRounds`.", 1..=1_000, &mut config.rounds);
    at.set(
        "onLimit",
        "What happens at a bound: the answer says so, or the request fails.",
        &mut config.on_limit,
    );
    at.count("maxCalls", "Calls for one message.", 1..=100_000, &mut config.calls);
    at.time("maxTime", "Time for one message.", Duration::from_secs(1)..=DAY, &mut config.time);
    let about = "Tokens for one message, read and written.";
    config.tokens = at.number("maxTokens", about, Unit::One, 1..=1 << 40, None);
    let about = "Text of one result that the model is shown, in bytes as JSON writes it.";
    at.count("resultCharacters", about, 200..=100_000_000, &mut config.result_characters);
    at.count("maxBadCalls", "Bad calls in a row before the loop stops.", 1..=1_000, &mut config.bad_calls);
    let about = "Equal calls with equal results before the loop stops.";
    at.count("maxRepeats", about, 1..=10_000, &mut config.repeats);
    at.set("systemPrompt", "The system prompt of conversations.", &mut config.system_prompt);
    let about = "How long a result that the model was shown a part of stays readable.";
    at.time("keepResults", about, Duration::ZERO..=DAY, &mut config.keep_results);
    let about = "Bytes of such results.";
    at.bytes("keptResultBytes", about, 1 << 20..=1 << 50, &mut config.kept_result_bytes);
}

/// Headers, whose values are secrets.
fn headers(at: &mut Fields<'_>, headers: &mut BTreeMap<String, Secret>, taken_from: &mut BTreeSet<String>) {
    let schema = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    let item = at.item("headers", "Headers of every request; values may be `${VARIABLE}`.", schema);
    for (name, item) in item.iter().flat_map(Item::present_members) {
        headers.extend(expanded(&item, taken_from).map(|value| (name.clone(), value)));
    }
}

fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace))
}
