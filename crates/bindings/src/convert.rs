//! Tools → the value of a provider's request field; schemas alone; what the linter says of both.

use std::sync::Arc;

use gateway_dialects::check::{check, ordinal};
use gateway_dialects::dialect::ToolShape;
use gateway_dialects::{DialectError, GivenTool, LoneSchema, Translation, Translator, holds_tools};
use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::{dialects, translator, warnings};
use crate::error::EngineError;
use crate::read::read_tools;
use crate::settings::{Choice, Settings};
use crate::shield::shielded;

/// Translates tools, with options that were read once.
#[derive(Clone, Debug)]
pub struct Converter {
    choice: Choice,
    translator: Arc<Translator>,
    report: bool,
}

/// A tool that is not in the list as its caller might expect: `name` and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The tool, for people.
    pub tool: String,
    /// Why.
    pub reason: String,
}

impl Converter {
    /// Reads the options, and finds the translator or makes it.
    pub fn new(mut settings: Settings) -> Result<Self, EngineError> {
        shielded(|| {
            let choice = settings.choice()?;
            let report = settings.flag("report")?;
            settings.end()?;
            Ok(Self { translator: translator(&choice)?, choice, report })
        })
    }

    /// Whether the caller wants to know what happened to every tool.
    pub fn reports(&self) -> bool {
        self.report
    }

    /// Translates tools. What is unchanged is borrowed from them.
    pub fn translate<'a>(&self, tools: &'a [GivenTool]) -> Result<Translation<'a>, EngineError> {
        shielded(|| Ok(self.translator.translate(tools)))
    }

    /// Translates the tools of a text.
    pub fn convert_text(&self, text: &str) -> Result<(String, Vec<LeftOut>), EngineError> {
        shielded(|| self.converted(text))
    }

    fn converted(&self, text: &str) -> Result<(String, Vec<LeftOut>), EngineError> {
        let tools = read_tools(text)?;
        let translation = self.translator.translate(&tools);
        let written = if self.report {
            self.answer(&translation).to_string()
        } else {
            // About as long as what came.
            let mut written = String::with_capacity(text.len() + text.len() / 4);
            translation.write_request_field(&mut written);
            written
        };
        Ok((written, left_out(&self.translator, &translation)))
    }

    /// What `POST /convert` answers.
    pub fn answer(&self, translation: &Translation<'_>) -> Value {
        let dialect = self.translator.dialect();
        let rows = translation.tools.iter().enumerate();
        let rows = rows.map(|(index, tool)| tool.report_row(index, json!(tool.changes)));
        let mut answer = json!({
            "dialect": dialect.name,
            dialect.tool.document.as_str(): translation.request_field().to_value(),
            "report": rows.collect::<Vec<_>>(),
        });
        let warnings = warnings(&self.choice);
        if !warnings.is_empty() {
            answer["warnings"] = json!(warnings);
        }
        answer
    }

    /// What the caller should hear of a translation that comes without a report.
    pub fn left_out(&self, translation: &Translation<'_>) -> Vec<LeftOut> {
        left_out(&self.translator, translation)
    }
}

/// The tools that were left out, and that there are more than the provider takes.
fn left_out(translator: &Translator, translation: &Translation<'_>) -> Vec<LeftOut> {
    let mut all = Vec::new();
    for (index, tool) in translation.tools.iter().enumerate() {
        if let Some(reason) = &tool.quarantine {
            let name = if tool.name.is_empty() { ordinal(index) } else { tool.name.to_owned() };
            all.push(LeftOut { tool: name, reason: reason.clone() });
        }
    }
    if translation.over_limit > 0 {
        let (over, limit) = (translation.over_limit, translator.dialect().limits.tools);
        let reason = format!("{over} more than the {limit} that one request takes");
        all.push(LeftOut { tool: String::new(), reason });
    }
    all
}

/// What `POST /transform` answers.
pub(crate) fn transform(schema: Value, mut settings: Settings) -> Result<Value, EngineError> {
    let choice = settings.choice()?;
    let report = settings.flag("report")?;
    settings.end()?;
    if schema.is_object() && holds_tools(&schema.to_string()) {
        return Err(EngineError::invalid("the schema holds tools; `convert` translates tools"));
    }
    let translator = match translator(&choice) {
        // Whoever names only a model of which nothing is known gets the schema back.
        Err(_) if choice.name.is_none() && is_unknown_model(&choice) => {
            let answer = json!({
                "dialect": null, "schema": schema, "strict": false, "changes": [], "warnings": warnings(&choice),
            });
            return Ok(if report { answer } else { schema });
        }
        translator => translator?,
    };
    let schema = LoneSchema::new(schema);
    let transformed = translator.transform(&schema);
    let mut warnings = warnings(&choice);
    warnings.extend(transformed.note);
    if !report {
        return Ok(transformed.schema.unwrap_or(Value::Null));
    }
    let mut answer = json!({
        "dialect": translator.dialect().name,
        "schema": transformed.schema,
        "strict": transformed.strict,
        "tokens": {"before": transformed.tokens.before, "after": transformed.tokens.after},
        "changes": transformed.changes,
    });
    if !warnings.is_empty() {
        answer["warnings"] = json!(warnings);
    }
    Ok(answer)
}

fn is_unknown_model(choice: &Choice) -> bool {
    let model = choice.model.as_deref();
    model.is_some_and(|model| matches!(dialects().for_model(model), Err(DialectError::UnknownModel { .. })))
}

/// What `POST /check` answers: every dialect of a provider where none is named.
pub(crate) fn check_tools(tools: &[GivenTool], mut settings: Settings) -> Result<Value, EngineError> {
    let mut wanted = settings.texts("to")?;
    let (compat, options) = (settings.text("compat")?, settings.options()?);
    settings.end()?;
    if wanted.is_empty() || wanted.iter().any(|name| name == "all") {
        let is_provider = |name: &&str| {
            let dialect = dialects().get(name);
            dialect.is_ok_and(|dialect| !dialect.layer && dialect.tool.shape != ToolShape::Mcp)
        };
        wanted = dialects().names().filter(is_provider).map(str::to_owned).collect();
    }
    let translators = wanted.into_iter().map(|name| {
        let (compat, options) = (compat.clone(), options.clone());
        let choice = Choice { name: Some(name), model: None, compat, options };
        translator(&choice).map(|translator| Translator::clone(&translator))
    });
    let translators = translators.collect::<Result<Vec<_>, _>>()?;
    let report = check("the tools", tools, &translators);
    serde_json::to_value(&report)
        .map_err(|error| EngineError::internal(format!("writing the report: {error}")))
}
