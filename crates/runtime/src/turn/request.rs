//! What a caller wants of a turn.

use gateway_dialects::arguments::BadArguments;
use gateway_dialects::calls::PlainCall;
use gateway_dialects::calls::text::TextCalls;
use gateway_dialects::results::{ResultMode, ResultOptions};
use gateway_protocol::read_json;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::result_mode;
use crate::Runtime;
use crate::call::input::Answerer;
use crate::context::RequestContext;
use crate::failure::{ErrorStyle, Failure};
use crate::parameters::Parameters;

/// What a model said, and how it is to be read, run and answered.
#[derive(Clone, Debug, Default)]
pub struct TurnRequest {
    /// What it said.
    pub call: ModelOutput,
    /// The dialect that is named; found out where absent.
    pub provider: Option<String>,
    /// Everything else.
    pub options: Parameters,
}

/// What a model said.
#[derive(Clone, Debug)]
pub enum ModelOutput {
    /// One call with nothing unusual about it.
    Call(PlainCall),
    /// A call, a message, a response, the chunks of a stream, or a text.
    Json(Value),
}

impl Default for ModelOutput {
    fn default() -> Self {
        Self::Json(Value::Null)
    }
}

impl TurnRequest {
    /// Notes the dialect that is named, for the figures: a turn may fail before it is read.
    pub fn note_provider(&self, runtime: &Runtime, context: &RequestContext) {
        let Some(named) = self.provider.as_deref() else { return };
        if let Some(own) = runtime.dialects().names_of(named).next() {
            context.held.set_provider(own.into());
        }
    }

    /// Reads a body of `/execute` that has one plain call and no options; most have. The query back says nothing about a body.
    pub fn of_plain_body(body: &[u8], query: Parameters) -> Result<Self, Parameters> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct PlainBody {
            provider: Option<String>,
            call: PlainCall,
        }
        // A derived reader takes a list of the members, too.
        let is_object = body.trim_ascii_start().first() == Some(&b'{');
        match if is_object { read_json(body).ok() } else { None } {
            Some(PlainBody { provider, call }) if call.is_whole() && provider.as_deref() != Some("") => {
                Ok(Self { call: ModelOutput::Call(call), provider, options: query })
            }
            Some(_) | None => Err(query),
        }
    }

    /// Reads a body of `/execute`. What it says stands above the query.
    pub fn of_body(body: Map<String, Value>, query: Parameters) -> Result<Self, Failure> {
        let invalid = |name: &str| Failure::request(format!("Missing or invalid \"{name}\" field"));
        let (mut call, mut provider, mut options) = (Value::Null, Value::Null, query);
        let mut is_server_valid = true;
        for (name, value) in body {
            match name.as_str() {
                "call" => call = value,
                "provider" => provider = value,
                _ => {
                    is_server_valid &= name != "server" || value.is_null() || is_word(&value);
                    options.add(name, value);
                }
            }
        }
        let provider = match provider {
            Value::Null => None,
            Value::String(name) if !name.is_empty() => Some(name),
            _ => return Err(invalid("provider")),
        };
        if call.is_null() {
            return Err(invalid("call"));
        }
        if !is_server_valid {
            return Err(invalid("server"));
        }
        options.check(|_| true)?;
        Ok(Self { call: ModelOutput::Json(call), provider, options })
    }
}

fn is_word(value: &Value) -> bool {
    value.as_str().is_some_and(|word| !word.is_empty())
}

/// How the calls of a turn are run, and their results reported.
#[derive(Clone, Debug)]
pub(super) struct TurnOptions {
    pub(super) server: Option<String>,
    /// Whether calls are taken out of text, where the caller says so.
    pub(super) text: Option<TextCalls>,
    pub(super) coerce: bool,
    /// Whether defaults stand for what the model left out.
    pub(super) fill: bool,
    pub(super) bad_arguments: BadArguments,
    pub(super) mode: ResultMode,
    pub(super) style: ErrorStyle,
    pub(super) results: ResultOptions,
    /// What the caller can be asked.
    pub(super) answerer: Option<Answerer>,
}

impl TurnOptions {
    /// For a model that the gateway itself asks.
    pub(super) fn of_model() -> Self {
        Self {
            server: None,
            text: None,
            coerce: true,
            fill: false,
            bad_arguments: BadArguments::RepairWhole,
            mode: ResultMode::Raw,
            style: ErrorStyle::Plain,
            results: ResultOptions::default(),
            answerer: None,
        }
    }

    pub(super) fn read(parameters: &Parameters) -> Result<Self, Failure> {
        let text = parameters.word("text", &TextCalls::WORDS)?;
        let coerce = parameters.flag("coerceArguments")? || parameters.flag("coerce")?;
        let fill = parameters.flag("fillDefaults")?;
        let words =
            [("error", BadArguments::Error), ("raw", BadArguments::Raw), ("repair", BadArguments::Repair)];
        let bad_arguments = parameters.word("onBadArguments", &words)?.unwrap_or_default();
        let style = parameters.error_style()?;
        let mut results = ResultOptions::default();
        if let Some(model) = parameters.get("model") {
            results = results.for_model(model);
        }
        let most = parameters.number("maxCharacters", 100..=100_000_000)?;
        if let Some(most) = most.and_then(|most| usize::try_from(most).ok()) {
            results = results.limited_to(most);
        }
        Ok(Self {
            server: parameters.get("server").map(str::to_owned),
            text,
            coerce,
            fill,
            bad_arguments,
            mode: result_mode(parameters)?,
            style,
            results,
            answerer: Answerer::of(&parameters.all("input"))?,
        })
    }

    /// The server that the caller named.
    pub(super) fn named_server(&self) -> Option<&str> {
        self.server.as_deref().filter(|server| *server != "*")
    }
}
