//! Models that cannot call tools, asked in two steps: which tool, then with which arguments.
//!
//! The loop sees an ordinary model of Chat Completions. Tools, calls and results are text for the model behind it, and each request
//! begins with the same text as the one before, so that caches of prompts hold.

mod steps;
mod tools;
mod transcript;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gateway_dialects::Dialect;
use gateway_dialects::arguments::Arguments;
use gateway_dialects::calls::{CallId, Reply, TextScan, ToolCall};
use gateway_dialects::history::TranslatedTools;
use gateway_dialects::requests::ToolChoice;
use gateway_dialects::stream::{Outcome, StreamEvent, StreamedCall, Usage};
use serde_json::{Map, Value, json};

use self::steps::{Chosen, arguments_schema, choice_schema, read_arguments, read_choice};
use self::tools::Tools;
use self::transcript::Transcript;
use crate::chat_dialect::chat_dialect;
use crate::error::{ModelError, ModelFailure};
use crate::history::History;
use crate::model::{Answer, Ask, Model};

/// Settings of the caller that are meant for the answer, and would spoil the steps before it.
const OF_THE_ANSWER: [&str; 6] =
    ["response_format", "stop", "stream_options", "n", "logprobs", "top_logprobs"];

/// A model that is asked for tools in two steps.
#[derive(Debug)]
pub(crate) struct PromptedModel {
    inner: Arc<dyn Model>,
    /// How often a step is asked for again after an answer that cannot be used.
    max_retries: u32,
    /// Whether the API takes `response_format`, as far as is known.
    takes_schema: AtomicBool,
}

impl PromptedModel {
    pub(crate) fn new(inner: Arc<dyn Model>, max_retries: u32) -> Self {
        Self { inner, max_retries, takes_schema: AtomicBool::new(true) }
    }

    async fn begin(&self, ask: Ask<'_>) -> Result<Answer, ModelError> {
        let tools = match (ask.tools, ask.tool_choice) {
            (None, _) | (Some(_), ToolChoice::None) => Tools::default(),
            (Some(list), _) => Tools::read(list, ask.offered).map_err(|cause| self.request_error(&cause))?,
        };
        let transcript = Transcript::of(&ask.conversation.messages, &tools);
        let mut steps = Steps { model: self, ask: &ask, transcript: &transcript, usage: Usage::default() };
        if tools.is_empty() {
            return steps.answer().await;
        }
        let Some((chosen, reasoning)) = steps.choose(&tools).await? else { return steps.answer().await };
        let arguments = steps.fill(&tools, &chosen).await?;
        // Small models choose the same call until the loop stops them, and what it does is done again each time. They have what they
        // can have; whoever has to poll needs a model that calls tools by itself.
        if transcript.has_called(&chosen, &arguments) {
            return steps.answer().await;
        }
        let call = ToolCall {
            id: CallId::Given(transcript.next_id()),
            name: chosen,
            arguments,
            item_id: None,
            signature: None,
            extra: Map::new(),
            written: None,
        };
        let mut events = Vec::new();
        if !reasoning.is_empty() {
            events.push(StreamEvent::Reasoning(reasoning));
        }
        events.push(StreamEvent::Call(StreamedCall { call, outcome: Outcome::Complete }));
        events.push(StreamEvent::Stop("tool_calls".to_owned()));
        events.push(StreamEvent::Usage(steps.usage));
        Ok(Answer { events: stream::iter(events.into_iter().map(Ok)).boxed(), ignored: Vec::new() })
    }

    fn request_error(&self, cause: &serde_json::Error) -> ModelError {
        let failure = ModelFailure::Request(format!("the list of tools: {cause}"));
        ModelError { model: self.inner.name().to_owned(), kind: None, failure }
    }
}

impl Model for PromptedModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// What the loop writes and reads. The model behind it gets text in its own messages.
    fn dialect(&self) -> &Arc<Dialect> {
        chat_dialect()
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        self.begin(ask).boxed()
    }
}

/// The requests for one reply.
struct Steps<'a> {
    model: &'a PromptedModel,
    ask: &'a Ask<'a>,
    transcript: &'a Transcript,
    /// What they cost so far.
    usage: Usage,
}

impl Steps<'_> {
    /// The first step: the tool that is needed next, and why; `None` if none is.
    async fn choose(&mut self, tools: &Tools) -> Result<Option<(String, String)>, ModelError> {
        if let ToolChoice::Named(name) = self.ask.tool_choice {
            return Ok(Some((name.clone(), String::new())));
        }
        let must_call = *self.ask.tool_choice == ToolChoice::Required;
        let read = |text: &str| read_choice(text, tools, must_call);
        let schema = choice_schema(tools);
        let chosen = self.object(self.transcript.with(steps::WHICH), &schema, read).await?;
        Ok(match chosen {
            Ok(Chosen::Tool { name, reasoning }) => Some((name, reasoning)),
            // A model that cannot choose can still answer.
            Ok(Chosen::None) | Err(_) => None,
        })
    }

    /// The second step: the arguments. Those that stay wrong go to the loop as they are, which says what is wrong with them.
    async fn fill(&mut self, tools: &Tools, name: &str) -> Result<Arguments, ModelError> {
        let read = |text: &str| read_arguments(text, tools, name);
        let schema = arguments_schema(tools.schema(name));
        let question = steps::with_what(tools, name);
        let filled = self.object(self.transcript.with(&question), &schema, read).await?;
        Ok(filled.map_or_else(Arguments::Text, |object| Arguments::Json(object.into())))
    }

    /// The answer in words, as it comes.
    async fn answer(&mut self) -> Result<Answer, ModelError> {
        let messages = self.transcript.for_answer();
        let conversation = self.model.rendered(messages);
        let ask = Ask {
            conversation: &conversation,
            tools: None,
            tool_choice: &ToolChoice::Auto,
            settings: self.ask.settings,
            stream: self.ask.stream,
            text: TextScan::Off,
            offered: None,
            calls_so_far: self.ask.calls_so_far,
        };
        let Answer { events, ignored } = self.model.inner.ask(ask).await?;
        let before = self.usage;
        let events = events.map(move |event| {
            event.map(|event| match event {
                StreamEvent::Usage(usage) => StreamEvent::Usage(sum(before, usage)),
                other => other,
            })
        });
        Ok(Answer { events: events.boxed(), ignored })
    }

    /// Asks for an object until `read` accepts it. Gives the last answer if it never does.
    async fn object<T>(
        &mut self,
        mut messages: Vec<Value>,
        schema: &Value,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Result<T, String>, ModelError> {
        let mut left = self.model.max_retries;
        loop {
            let text = self.step(&messages, schema).await?;
            let problem = match read(&text) {
                Ok(found) => return Ok(Ok(found)),
                Err(problem) => problem,
            };
            if left == 0 {
                return Ok(Err(text));
            }
            left -= 1;
            tracing::debug!(model = self.model.name(), problem, "Model is asked for a step again.");
            messages.push(json!({"role": "assistant", "content": text}));
            messages.push(json!({"role": "user", "content": steps::feedback(&problem)}));
        }
    }

    /// One request of a step, held to its schema where the API can do that.
    async fn step(&mut self, messages: &[Value], schema: &Value) -> Result<String, ModelError> {
        let conversation = self.model.rendered(messages.to_vec());
        let plain: Map<String, Value> = self
            .ask
            .settings
            .iter()
            .filter(|(name, _)| !OF_THE_ANSWER.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut settings = plain.clone();
        let takes_schema = self.model.takes_schema.load(Ordering::Relaxed);
        if takes_schema {
            let format = json!({"type": "json_schema", "json_schema": {"name": "step", "schema": schema}});
            settings.insert("response_format".to_owned(), format);
        }
        let ask = |settings| Ask {
            conversation: &conversation,
            tools: None,
            tool_choice: &ToolChoice::Auto,
            settings,
            stream: false,
            text: TextScan::Off,
            offered: None,
            calls_so_far: self.ask.calls_so_far,
        };
        let answer = match self.model.inner.ask(ask(&settings)).await {
            Err(error) if takes_schema && is_refusal(&error.failure) => {
                let answer = self.model.inner.ask(ask(&plain)).await?;
                tracing::warn!(%error, "The model's API takes no `response_format`; it is left out.");
                self.model.takes_schema.store(false, Ordering::Relaxed);
                answer
            }
            answer => answer?,
        };
        let mut reply = Reply::default();
        let mut events = answer.events;
        while let Some(event) = events.next().await {
            reply.take(event?).map_err(|error| ModelError {
                model: self.model.name().to_owned(),
                kind: None,
                failure: ModelFailure::Malformed(error.to_string()),
            })?;
        }
        self.usage = sum(self.usage, reply.usage.unwrap_or_default());
        Ok(reply.text)
    }
}

impl PromptedModel {
    /// Messages of a chat in the model's own form.
    fn rendered(&self, messages: Vec<Value>) -> gateway_dialects::history::Conversation {
        let none = TranslatedTools::default();
        History::of_chat(messages).render(self.inner.dialect(), &none, Some(self.inner.name()))
    }
}

/// Whether an API may have refused a request because of its `response_format`.
fn is_refusal(failure: &ModelFailure) -> bool {
    matches!(failure, ModelFailure::Status { status: 400 | 422, .. })
}

fn sum(one: Usage, other: Usage) -> Usage {
    let mut total = one;
    total.input_tokens += other.input_tokens;
    total.output_tokens += other.output_tokens;
    total.cached_tokens += other.cached_tokens;
    total
}
