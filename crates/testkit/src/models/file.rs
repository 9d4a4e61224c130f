//! Scripts as JSON, with the words of the library.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::behaviour::Behaviour;
use super::delivery::{Delivery, Pieces, Quirk};
use super::faults::Fault;
use super::gate::{Gate, Moment};
use super::reply::{Arguments, Call, Finish, Part, Reply, Usage};
use super::script::{Script, Step};
use super::server::ServerOptions;
use super::words::UnknownWord;

/// A script that was read.
#[derive(Clone, Debug)]
pub struct ScriptFile {
    /// Its steps.
    pub script: Script,
    /// What it says beside them; the port and the record are nobody's.
    pub options: ServerOptions,
    /// Its gates by name.
    pub gates: BTreeMap<String, Gate>,
}

/// Why a script cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is no JSON, or has a member that no script has.
    #[error("the script cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// It has a word that nothing is called.
    #[error("the script cannot be read: {0}")]
    Word(#[from] UnknownWord),
    /// A step says nothing, or too much.
    #[error(
        "step {0} of the script needs one of `reply`, `fault`, `raw`, `call_tool`, `call_tool_once`, `echo_result`"
    )]
    Step(usize),
}

/// Reads a script:
///
/// ```
/// # fn main() -> Result<(), gateway_testkit::models::ScriptError> {
/// let file = gateway_testkit::models::read_script(r#"{
///     "steps": [
///         {"fault": "rate-limited-seconds", "retry_after": 2},
///         {"reply": {"reasoning": "Hm.", "text": "Adding.", "calls": [{"id": "call_1", "name": "add", "arguments": {"a": 1}}]},
///          "delivery": ["single-bytes", "crlf"], "gates": [{"before": {"chunk": 1}, "name": "second"}]}
///     ],
///     "last": {"echo_result": true},
///     "strict": true
/// }"#)?;
/// assert!(file.options.strict && file.gates.contains_key("second"));
/// # Ok(())
/// # }
/// ```
pub fn read_script(text: &str) -> Result<ScriptFile, ScriptError> {
    let file: File = serde_json::from_str(text)?;
    let mut gates = BTreeMap::new();
    let mut script = Script::new();
    let count = file.steps.len();
    for (index, step) in file.steps.into_iter().enumerate() {
        script = script.step(step.read(index, &mut gates)?);
    }
    if let Some(last) = file.last {
        script = script.last(last.read(count, &mut gates)?);
    }
    let options =
        ServerOptions { strict: file.strict, key: file.key, models: file.models, ..ServerOptions::default() };
    Ok(ScriptFile { script, options, gates })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    steps: Vec<StepFile>,
    last: Option<StepFile>,
    #[serde(default)]
    strict: bool,
    key: Option<String>,
    #[serde(default)]
    models: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFile {
    reply: Option<ReplyFile>,
    fault: Option<String>,
    raw: Option<RawFile>,
    call_tool: Option<String>,
    call_tool_once: Option<String>,
    #[serde(default)]
    echo_result: bool,
    #[serde(default)]
    delivery: Vec<String>,
    #[serde(default)]
    gates: Vec<GateFile>,
    retry_after: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    status: u16,
    content_type: String,
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GateFile {
    before: MomentFile,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MomentFile {
    Headers,
    Chunk(usize),
    End,
}

/// Thoughts, text and calls are the usual order; `parts` is any.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyFile {
    reasoning: Option<String>,
    signature: Option<String>,
    text: Option<String>,
    #[serde(default)]
    calls: Vec<CallFile>,
    #[serde(default)]
    parts: Vec<PartFile>,
    finish: Option<String>,
    usage: Option<UsageFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartFile {
    Reasoning { text: String, signature: Option<String> },
    Text(String),
    Call(CallFile),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallFile {
    id: Option<String>,
    name: String,
    /// Text is taken as it is.
    #[serde(default)]
    arguments: Value,
    signature: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UsageFile {
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
}

impl Default for UsageFile {
    fn default() -> Self {
        let Usage { input, cached, output, reasoning } = Usage::default();
        Self { input, cached, output, reasoning }
    }
}

impl StepFile {
    fn read(self, index: usize, gates: &mut BTreeMap<String, Gate>) -> Result<Step, ScriptError> {
        let echo = self.echo_result.then_some(Behaviour::EchoResult);
        let once = self.call_tool_once.map(Behaviour::CallToolOnce);
        let behaviours: Vec<Behaviour> =
            [self.call_tool.map(Behaviour::CallTool), once, echo].into_iter().flatten().collect();
        let step = match (self.reply, self.fault, self.raw, behaviours.as_slice()) {
            (Some(reply), None, None, []) => Step::reply(reply.read()),
            (None, Some(fault), None, []) => Step::fault(fault.parse()?),
            (Some(reply), Some(fault), None, []) => Step::spoiled(fault.parse::<Fault>()?, reply.read()),
            (None, None, Some(raw), []) => Step::raw(raw.status, raw.content_type, raw.body),
            (None, None, None, [behaviour]) => Step::behave(behaviour.clone()),
            _ => return Err(ScriptError::Step(index)),
        };
        let mut step = step.delivered(read_delivery(&self.delivery)?);
        if let Some(seconds) = self.retry_after {
            step = step.retry_after(seconds);
        }
        for gate in self.gates {
            let moment = match gate.before {
                MomentFile::Headers => Moment::Headers,
                MomentFile::Chunk(chunk) => Moment::Chunk(chunk),
                MomentFile::End => Moment::End,
            };
            step = step.wait(moment, gates.entry(gate.name).or_default());
        }
        Ok(step)
    }
}

/// A word is a way to cut or a habit.
fn read_delivery(words: &[String]) -> Result<Delivery, UnknownWord> {
    let mut delivery = Delivery::usual();
    for word in words {
        match word.parse::<Pieces>() {
            Ok(pieces) => delivery.pieces = pieces,
            Err(_) => delivery.quirks.push(word.parse::<Quirk>()?),
        }
    }
    Ok(delivery)
}

impl ReplyFile {
    fn read(self) -> Reply {
        let mut reply = Reply::new();
        if let Some(text) = self.reasoning {
            reply = reply.part(Part::Reasoning { text, signature: self.signature });
        }
        if let Some(text) = self.text {
            reply = reply.text(text);
        }
        for call in self.calls {
            reply = reply.part(Part::Call(call.read()));
        }
        for part in self.parts {
            reply = reply.part(match part {
                PartFile::Reasoning { text, signature } => Part::Reasoning { text, signature },
                PartFile::Text(text) => Part::Text(text),
                PartFile::Call(call) => Part::Call(call.read()),
            });
        }
        if let Some(word) = self.finish {
            reply = reply.finish(match word.as_str() {
                "stop" => Finish::Stop,
                "calls" => Finish::Calls,
                "length" => Finish::Length,
                "content-filter" => Finish::ContentFilter,
                _ => Finish::Other(word),
            });
        }
        if let Some(UsageFile { input, cached, output, reasoning }) = self.usage {
            reply = reply.usage(Usage { input, cached, output, reasoning });
        }
        reply
    }
}

impl CallFile {
    fn read(self) -> Call {
        let arguments = match self.arguments {
            Value::String(text) => Arguments::Text(text),
            Value::Null => Arguments::Json(Value::Object(serde_json::Map::new())),
            other => Arguments::Json(other),
        };
        Call { id: self.id, name: self.name, arguments, signature: self.signature }
    }
}
