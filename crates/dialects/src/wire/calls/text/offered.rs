//! Whose calls are taken out of a reply's text.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value};

use super::{Notation, Notations};
use crate::{
    arguments::{Validator, render_issues},
    dialect::TextCalls,
    plan::Plan,
    wire::calls::ToolCall,
};

impl TextCalls {
    /// Whether calls in `notation` are taken from anywhere in the text.
    pub(crate) fn reads(self, notation: Notation) -> bool {
        match self {
            Self::Off | Self::Named(_) => false,
            Self::Auto => true,
            Self::Xml => notation == Notation::Xml,
            Self::Json => notation == Notation::Json,
        }
    }
}

/// Whether, and whose, calls are taken out of a reply's text.
///
/// Text is data: it may quote a call, or repeat one that a tool's result contained. So nothing is taken out of it
/// unless the caller knows that the model writes its calls as text, and then only whole calls of tools that the model was
/// offered, with arguments that the tools accept, in replies without native calls.
#[derive(Clone, Debug, Default)]
pub enum TextScan {
    /// Text is text.
    #[default]
    Off,
    /// A text is taken for calls if it is the whole input and nothing but tool use; any name counts as a tool's. For input
    /// that somebody hands over as a call. Text inside of messages, and of streams, stays text. The tools give types to XML.
    Whole(Arc<dyn OfferedTools>),
    /// Calls of these tools, in XML or in JSON, anywhere in the text: the rule of `/execute`. Other notations that are named are
    /// read as by [`TextScan::AtEnd`], but calls with wrong arguments are always skipped.
    Offered(TextCalls, Arc<dyn OfferedTools>),
    /// Calls of these tools in these notations with which the reply ends: the rule of agents. White space and markers that end
    /// a call or a turn may follow, and nothing else. Prose before them is text.
    AtEnd(Notations, Arc<dyn OfferedTools>),
}

/// The tools that a model was offered.
pub trait OfferedTools: Debug + Send + Sync {
    /// Whether a tool of this name was offered.
    fn is_offered(&self, name: &str) -> bool;

    /// The input schema by which the arguments of a call in XML get their types; null if it is not known.
    fn schema(&self, name: &str) -> Value;

    /// Checks arguments as the model wrote them; the error says why the tool does not accept them.
    fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String>;

    /// The server that has the tool; `None` if it is not known.
    fn server(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Offered tools by name, with their input schemas.
///
/// ```
/// use std::sync::Arc;
/// use gateway_dialects::calls::{ReadOptions, TextScan, parse_reply};
/// use gateway_dialects::calls::text::{TextCalls, ToolSchemas};
/// use serde_json::json;
///
/// let add = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
/// let tools = Arc::new(ToolSchemas::default().with("add", add));
/// let options = ReadOptions { text: TextScan::Offered(TextCalls::Auto, tools), ..ReadOptions::default() };
/// let reply = parse_reply(&json!({"role": "assistant", "content": "I add: <add><a>1</a></add>"}), &options)?;
/// assert_eq!(reply.calls.first().map(|call| call.name.as_str()), Some("add"));
/// # Ok::<(), gateway_dialects::calls::CallError>(())
/// ```
#[derive(Debug, Default)]
pub struct ToolSchemas(BTreeMap<String, Entry>);

#[derive(Debug, Default)]
struct Entry {
    schema: Value,
    plan: Option<Plan>,
    validator: OnceLock<Validator>,
}

impl ToolSchemas {
    /// With a tool whose arguments travel as they are.
    #[must_use]
    pub fn with(mut self, name: &str, schema: Value) -> Self {
        self.0.insert(name.to_owned(), Entry { schema, ..Entry::default() });
        self
    }

    /// With a tool that was translated: `plan` decodes the arguments before they are checked against the original schema.
    #[must_use]
    pub fn with_plan(mut self, name: &str, schema: Value, plan: Plan) -> Self {
        self.0.insert(name.to_owned(), Entry { schema, plan: Some(plan), ..Entry::default() });
        self
    }
}

/// Any name, where it is not known yet which tools were offered.
#[derive(Clone, Copy, Debug)]
pub struct AnyTool;

impl OfferedTools for AnyTool {
    fn is_offered(&self, _name: &str) -> bool {
        true
    }

    fn schema(&self, _name: &str) -> Value {
        Value::Null
    }

    fn check(&self, _name: &str, _arguments: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

impl OfferedTools for ToolSchemas {
    fn is_offered(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn schema(&self, name: &str) -> Value {
        self.0.get(name).map(|entry| entry.schema.clone()).unwrap_or_default()
    }

    fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        let entry = self.0.get(name).ok_or_else(|| "the tool was not offered".to_owned())?;
        let mut value = Value::Object(arguments.clone());
        if let Some(plan) = &entry.plan {
            value = plan.decode(&value).map_err(|error| error.to_string())?;
        }
        let validator = entry.validator.get_or_init(|| Validator::new(&entry.schema));
        if validator.is_valid(&value) {
            return Ok(());
        }
        Err(render_issues(&validator.validate(&value), &str::to_owned))
    }
}

/// Calls of offered tools that are all of a reply, of which this one has arguments that its tool does not take. It must not be run.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedCall {
    /// The call.
    pub call: ToolCall,
    /// Its place among all calls of the reply, good and refused, from zero.
    pub position: usize,
    /// What is wrong with it, for the model.
    pub refusal: String,
}

/// Tool use in a reply's text that stays text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedCall {
    /// The tool's name as the model wrote it.
    pub name: String,
    /// How it is written.
    pub notation: Notation,
    /// Why it is not taken for a call.
    pub reason: String,
}
