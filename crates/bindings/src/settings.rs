//! The options of an operation, by the names that they have in the HTTP API.

use gateway_dialects::dialect::Compat;
use gateway_dialects::{Defaults, EmptyRequired, GivenTool, Growth, Open, Options, Strict, ToolDocument};
use gateway_notation::spelling::nearest_names;
use serde_json::{Map, Value};

use crate::error::EngineError;
use crate::read::read_tools;

/// The options of one operation. Each is taken once; what is left over is misspelt.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    options: Map<String, Value>,
    tools: Option<Vec<GivenTool>>,
}

/// What chooses a dialect, and how it translates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Choice {
    pub(crate) name: Option<String>,
    pub(crate) model: Option<String>,
    /// `auto` where absent.
    pub(crate) compat: Option<String>,
    pub(crate) options: Options,
}

impl Choice {
    pub(crate) fn compat(&self) -> Compat {
        match self.compat.as_deref() {
            None | Some("auto") => Compat::Auto,
            Some("off") => Compat::Off,
            Some(name) => Compat::Named(name.to_owned()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.name.is_none() && self.model.is_none()
    }
}

/// The names under which a dialect is named, and the options of a translation.
const KNOWN: [&str; 26] = [
    "to",
    "provider",
    "profile",
    "model",
    "compat",
    "defaults",
    "open",
    "strict",
    "verbatim",
    "emptyRequired",
    "hide",
    "inject",
    "budget",
    "descriptionFallback",
    "maxDepth",
    "maxNodes",
    "maxBytes",
    "report",
    "tools",
    "coerce",
    "fillDefaults",
    "badArguments",
    "maxCharacters",
    "mode",
    "from",
    "system",
];

impl Settings {
    /// Options as an object; those that are null are absent.
    pub fn new(options: Map<String, Value>) -> Self {
        Self { options: options.into_iter().filter(|(_, value)| !value.is_null()).collect(), tools: None }
    }

    /// The same with tools that were read one by one, instead of the option `tools`.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<GivenTool>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Takes the option `tools`: MCP's definitions, in any form of a document.
    pub(crate) fn tools(&mut self) -> Result<Option<Vec<GivenTool>>, EngineError> {
        if let Some(tools) = self.tools.take() {
            return Ok(Some(tools));
        }
        match self.take("tools") {
            None => Ok(None),
            Some(Value::String(text)) => read_tools(&text).map(Some),
            Some(value) => Ok(Some(ToolDocument::of_value(value)?.tools)),
        }
    }

    /// Takes any value.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.options.shift_remove(name)
    }

    /// Takes a text; an empty one counts as absent.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, EngineError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(other) => Err(expected(name, &other, "a string")),
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, EngineError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(expected(name, &other, "true or false")),
        }
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<Option<usize>, EngineError> {
        let Some(given) = self.take(name) else { return Ok(None) };
        let number = given.as_u64().and_then(|number| usize::try_from(number).ok());
        number.map(Some).ok_or_else(|| expected(name, &given, "a whole number"))
    }

    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, EngineError> {
        let Some(given) = self.text(name)? else { return Ok(None) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given) {
            return Ok(Some(*meaning));
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Err(EngineError::invalid(format!("{name}={given}: expected one of {}", known.join(", "))))
    }

    /// Texts: a list, or one text with commas between them.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>, EngineError> {
        let split = |text: &str| -> Vec<String> {
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(split(&text)),
            Some(Value::Array(items)) => {
                let text = |item: &Value| {
                    item.as_str().map(str::to_owned).ok_or_else(|| expected(name, item, "a list of strings"))
                };
                items.iter().map(text).collect()
            }
            Some(other) => Err(expected(name, &other, "a list of strings")),
        }
    }

    /// Takes everything that chooses a translator.
    pub(crate) fn choice(&mut self) -> Result<Choice, EngineError> {
        let mut name = None;
        for key in ["to", "provider", "profile"] {
            if let Some(given) = self.text(key)? {
                name = name.or(Some(given));
            }
        }
        let (model, compat) = (self.text("model")?, self.text("compat")?);
        Ok(Choice { name, model, compat, options: self.options()? })
    }

    /// Takes the options of a translation.
    pub(crate) fn options(&mut self) -> Result<Options, EngineError> {
        let mut options = Options::default();
        options.defaults = self.word("defaults", &Defaults::WORDS)?;
        options.open = self.word("open", &Open::WORDS)?.unwrap_or_default();
        options.strict = self.word("strict", &Strict::WORDS)?.unwrap_or_default();
        options.verbatim = self.flag("verbatim")?;
        options.empty_required = self.word("emptyRequired", &EmptyRequired::WORDS)?;
        options.hidden = self.texts("hide")?;
        match self.take("inject") {
            None => {}
            Some(Value::Object(values)) => options.injected = values.into_iter().collect(),
            Some(other) => return Err(expected("inject", &other, "an object of values by parameter")),
        }
        if let Some(given) = self.take("budget") {
            let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            let growth = Growth::parse(&text);
            options.budget.growth =
                growth.ok_or_else(|| expected("budget", &given, "a number of tokens, off or auto"))?;
        }
        // An empty fallback asks for no description.
        options.description_fallback = match self.take("descriptionFallback") {
            None => None,
            Some(Value::String(text)) => Some(text),
            Some(other) => return Err(expected("descriptionFallback", &other, "a string")),
        };
        let budget = &mut options.budget;
        budget.depth = self.number("maxDepth")?.unwrap_or(budget.depth);
        budget.nodes = self.number("maxNodes")?.unwrap_or(budget.nodes);
        budget.bytes = self.number("maxBytes")?.unwrap_or(budget.bytes);
        Ok(options)
    }

    /// Refuses what nobody took.
    pub(crate) fn end(self) -> Result<(), EngineError> {
        let unused = self.tools.map(|_| "tools");
        let Some(name) = self.options.keys().map(String::as_str).chain(unused).next() else { return Ok(()) };
        let hint = match nearest_names(name, KNOWN.iter().copied()).first() {
            Some(near) if *near != name => format!("; did you mean `{near}`?"),
            _ => String::new(),
        };
        Err(EngineError::invalid(format!("`{name}` is no option of this operation{hint}")))
    }
}

fn expected(name: &str, given: &Value, what: &str) -> EngineError {
    let given: String = given.to_string().chars().take(100).collect();
    EngineError::invalid(format!("{name}={given}: expected {what}"))
}
