//! The tools that a model was given: how their arguments travel, and what their servers take.

use std::collections::HashMap;
use std::sync::OnceLock;

use gateway_dialects::arguments::{BadArguments, Issue, Validator, render_issues, unknown_tool_text};
use gateway_dialects::calls::ToolCall;
use gateway_dialects::{GivenTool, Plan, ToolSource as _, Translator, input_schema};
use gateway_notation::pointer;
use gateway_notation::spelling::nearest_names;
use serde_json::{Map, Value, json};

use crate::error::EngineError;
use crate::settings::Settings;

/// How calls are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallOptions {
    pub(crate) bad: BadArguments,
    pub(crate) coerce: bool,
    pub(crate) fill: bool,
}

const BAD_ARGUMENTS: [(&str, BadArguments); 3] =
    [("error", BadArguments::Error), ("raw", BadArguments::Raw), ("repair", BadArguments::Repair)];

impl CallOptions {
    pub(crate) fn take(settings: &mut Settings) -> Result<Self, EngineError> {
        let bad = settings.word("badArguments", &BAD_ARGUMENTS)?.unwrap_or_default();
        Ok(Self { bad, coerce: settings.flag("coerce")?, fill: settings.flag("fillDefaults")? })
    }
}

/// One list of tools, as a model saw it.
#[derive(Debug, Default)]
pub(crate) struct Toolset {
    tools: HashMap<String, Tool>,
}

#[derive(Debug)]
struct Tool {
    /// The name in MCP.
    name: String,
    plan: Plan,
    definition: Value,
    validator: OnceLock<Validator>,
}

impl Toolset {
    pub(crate) fn new(tools: &[GivenTool], translator: &Translator) -> Self {
        let translation = translator.translate(tools);
        let mut own = HashMap::with_capacity(tools.len());
        for (given, translated) in tools.iter().zip(translation.tools) {
            let Ok(definition) = given.definition() else { continue };
            if translated.quarantine.is_none() {
                let (name, definition) = (translated.name.to_owned(), definition.clone());
                let tool = Tool { name, plan: translated.plan, definition, validator: OnceLock::new() };
                own.insert(translated.wire_name, tool);
            }
        }
        Self { tools: own }
    }

    /// A call in the neutral format, with the tool's own name and the arguments that its server takes.
    pub(crate) fn neutral(&self, call: &ToolCall, options: CallOptions) -> Value {
        let Some(tool) = self.tools.get(&call.name) else {
            let known = self.tools.keys().map(String::as_str);
            let message = unknown_tool_text(&call.name, &nearest_names(&call.name, known));
            return call.to_neutral(Err(json!({"code": "TOOL_NOT_FOUND", "message": message})));
        };
        let mut facts = Map::new();
        let mut row = call.to_neutral(tool.arguments(call, options, &mut facts));
        if tool.name != call.name {
            row["name"] = tool.name.as_str().into();
            row["wireName"] = call.name.as_str().into();
        }
        if let Value::Object(row) = &mut row {
            row.extend(facts);
        }
        row
    }
}

impl Tool {
    fn arguments(
        &self,
        call: &ToolCall,
        options: CallOptions,
        facts: &mut Map<String, Value>,
    ) -> Result<Map<String, Value>, Value> {
        let parsed = parsed(call, options.bad, facts)?;
        if facts.contains_key("raw") {
            return Ok(parsed);
        }
        let decoded = self.plan.decode(&Value::Object(parsed)).map_err(|error| {
            let issue = json!({"path": error.path, "message": error.message});
            refusal(&format!("The arguments cannot be read: {error}"), vec![issue])
        })?;
        let validator = self.validator.get_or_init(|| Validator::new(&input_schema(&self.definition)));
        let mut arguments = decoded;
        if !validator.is_valid(&arguments) {
            if options.coerce {
                let (coerced, done) = validator.coerce(&arguments);
                if !validator.is_valid(&coerced) {
                    return Err(self.refused(&validator.validate(&validator.coerce_partly(&arguments))));
                }
                let done = done.iter().map(|one| json!({"path": one.path, "rule": one.rule.name()}));
                facts.insert("coercions".to_owned(), done.collect());
                arguments = coerced;
            } else {
                return Err(self.refused(&validator.validate(&arguments)));
            }
        }
        if options.fill {
            let filled = validator.fill_defaults(&arguments);
            if !filled.filled.is_empty() {
                facts.insert("filled".to_owned(), json!(filled.filled));
            }
            arguments = filled.arguments;
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => Ok(Map::new()),
        }
    }

    /// What is wrong, in the names that the model saw.
    fn refused(&self, issues: &[Issue]) -> Value {
        let listed = issues.iter().map(|issue| {
            json!({
                "path": self.plan.wire_pointer(&issue.path),
                "expected": issue.expected,
                "got": issue.got,
                "message": issue.message,
            })
        });
        let message = render_issues(issues, &|path| pointer::dotted(&self.plan.wire_pointer(path)));
        refusal(&message, listed.collect())
    }
}

/// The arguments as an object; what it took goes into the facts.
pub(crate) fn parsed(
    call: &ToolCall,
    bad: BadArguments,
    facts: &mut Map<String, Value>,
) -> Result<Map<String, Value>, Value> {
    let parsed = call.arguments_object("", bad).map_err(|error| refusal(&error.to_string(), Vec::new()))?;
    if parsed.raw {
        facts.insert("raw".to_owned(), Value::Bool(true));
    }
    if !parsed.repairs.is_empty() {
        let names = parsed.repairs.iter().map(|repair| Value::from(repair.name()));
        facts.insert("repairs".to_owned(), names.collect());
    }
    Ok(parsed.object)
}

fn refusal(message: &str, issues: Vec<Value>) -> Value {
    let mut error = json!({"code": "VALIDATION_ERROR", "message": message});
    if !issues.is_empty() {
        error["issues"] = issues.into();
    }
    error
}
