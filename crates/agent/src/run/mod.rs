//! The loop: model → calls → results → model, until the model answers.

mod asking;
mod calling;
mod guards;
mod limits;
mod next_step;
mod reader;
mod request;
mod result_parts;
mod shown;

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_dialects::calls::{Reply, ToolCall};
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{Content, Message, Role, reply_message};
use gateway_dialects::stream::Usage;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

pub use self::calling::CallReport;
pub use self::limits::Limits;
pub use self::request::{AgentRequest, Journal};
pub(crate) use self::shown::result_block;

use self::asking::Asking;
use self::guards::{BadCalls, Repeats, Verdict};
use self::limits::Bound;
use self::shown::{Keeper, READ_RESULT};
use crate::error::AgentError;
use crate::history::{History, WRITTEN_CALLS};
use crate::kept_results::KeptResults;
use crate::model::Model;
use crate::screening::{FoundData, Screen};
use crate::toolbox::{Offer, Toolbox};

/// The loop over one model and one set of tools.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The model, and behind it those that are asked if it gives no answer.
    models: Vec<Arc<dyn Model>>,
    tools: Arc<dyn Toolbox>,
    limits: Limits,
    results: Option<Arc<KeptResults>>,
    screen: Option<Arc<Screen>>,
}

/// What happens while the loop runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// More of the answer.
    Text(String),
    /// More of the model's thoughts.
    Reasoning(String),
    /// A call is about to run.
    CallBegins {
        /// The id that the model gave it.
        id: String,
        /// The tool, as the model calls it.
        name: String,
        /// The arguments, as JSON.
        arguments: String,
    },
    /// A call is over.
    CallEnds(Box<CallReport>),
    /// The model has said all that it says in this round.
    RoundEnds {
        /// Which one, from 1.
        round: usize,
        /// What it cost.
        usage: Usage,
    },
}

/// Why the loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The model answered.
    Answered,
    /// The model's answer was cut off: `length` or `content_filter`, whatever its API calls it.
    Cut(String),
    /// The caller has to run calls of its own.
    CallersTurn,
    /// A bound was reached.
    Limit(String),
    /// The model made no progress.
    Stuck(String),
}

/// What came of a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The answer: what the model said in all rounds, with an empty line between two.
    pub text: String,
    /// What it thought, likewise.
    pub reasoning: String,
    /// Why the loop ended.
    pub stop: Stop,
    /// Tokens of all rounds.
    pub usage: Usage,
    /// Tokens of each round.
    pub rounds: Vec<Usage>,
    /// The calls that ran, in order.
    pub calls: Vec<CallReport>,
    /// The last reply, where the caller has to run calls of it.
    pub handed_back: Vec<ToolCall>,
    /// What was added to the conversation.
    pub added: Vec<Message>,
    /// Whether that is one message of a chat, with nothing in it that its API would not give a caller.
    pub is_plain: bool,
    /// The model that answered.
    pub model: String,
    /// Settings that its API does not have.
    pub ignored: Vec<String>,
    /// What the operator should know.
    pub notices: Vec<String>,
    /// Personal data that was found, and what became of it.
    pub personal_data: Vec<FoundData>,
}

/// How often an empty answer is asked for again.
const NUDGES: usize = 2;

/// What an empty answer is answered with.
const NUDGE: &str = "Your last answer was empty. Answer the question, or use the appropriate tool.";

impl Agent {
    /// The loop over these models, the first of which is asked, and these tools.
    pub fn new(models: Vec<Arc<dyn Model>>, tools: Arc<dyn Toolbox>, limits: Limits) -> Self {
        Self { models, tools, limits, results: None, screen: None }
    }

    /// The same with a place for results that are too long for the model, which it then reads in pieces.
    #[must_use]
    pub fn keeping(mut self, results: Arc<KeptResults>) -> Self {
        self.results = Some(results);
        self
    }

    /// The same with a screen for personal data between the model and all others; `None` is no screen.
    #[must_use]
    pub fn screening(mut self, screen: Option<Arc<Screen>>) -> Self {
        self.screen = screen;
        self
    }

    /// Runs the loop and gives what came of it. Dropping the future ends the request to the model and the calls that run.
    pub fn answer(&self, request: AgentRequest) -> BoxFuture<'_, Result<Finished, AgentError>> {
        Run::new(self, request, None).finish().boxed()
    }

    /// The same with what happens on the way. Whoever drops the receiver ends the loop.
    pub fn run(
        &self,
        request: AgentRequest,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'_, Result<Finished, AgentError>> {
        Run::new(self, request, Some(events)).finish().boxed()
    }
}

/// One message on its way.
struct Run<'a> {
    agent: &'a Agent,
    request: AgentRequest,
    events: Option<mpsc::Sender<Event>>,
    history: History,
    asking: Asking<'a>,
    deadline: Instant,
    repeats: Repeats,
    bad_calls: BadCalls,
    keeper: Option<Keeper>,
    /// How often results of written calls were added.
    written_results: usize,
    /// What the model had said of a reply when the time was over.
    unfinished: String,
    finished: Finished,
}

impl<'a> Run<'a> {
    fn new(agent: &'a Agent, mut request: AgentRequest, events: Option<mpsc::Sender<Event>>) -> Self {
        let history = std::mem::take(&mut request.history);
        Self {
            agent,
            events,
            history,
            asking: Asking::new(&agent.models, agent.tools.as_ref(), agent.screen.as_ref()),
            deadline: Instant::now() + agent.limits.time,
            repeats: Repeats::new(agent.limits.repeats),
            bad_calls: BadCalls::new(agent.limits.bad_calls),
            keeper: agent.results.clone().map(|results| Keeper { results, owner: request.owner.clone() }),
            written_results: 0,
            unfinished: String::new(),
            finished: Finished {
                text: String::new(),
                reasoning: String::new(),
                stop: Stop::Answered,
                usage: Usage::default(),
                rounds: Vec::new(),
                calls: Vec::new(),
                handed_back: Vec::new(),
                added: Vec::new(),
                is_plain: false,
                model: String::new(),
                ignored: Vec::new(),
                notices: Vec::new(),
                personal_data: Vec::new(),
            },
            request,
        }
    }

    async fn finish(mut self) -> Result<Finished, AgentError> {
        if let Some(screen) = &self.agent.screen {
            screen.history(&mut self.history).await?;
        }
        let mut nudges = 0;
        loop {
            if let Some(bound) = self.reached() {
                self.stop_at(bound).await?;
                break;
            }
            let Some(reply) = self.ask((nudges > 0).then_some(NUDGE)).await? else { continue };
            let is_empty = reply.calls.is_empty() && reply.refused.is_empty() && reply.text.trim().is_empty();
            // An answer that the API withholds or cuts off is not there the next time either.
            if is_empty && reply.stop.as_deref().and_then(cut_by).is_none() {
                if nudges == NUDGES {
                    let model = self.finished.model.clone();
                    return Err(AgentError::Empty { model, times: NUDGES + 1 });
                }
                nudges += 1;
                continue;
            }
            nudges = 0;
            // Boxed: most of the time is spent waiting for the model, and running calls needs far more room than that.
            if Box::pin(self.take(reply)).await? {
                break;
            }
        }
        self.finished.added = std::mem::take(&mut self.history.added);
        let protocol = self.asking.dialect().messages.protocol;
        let is_chat = matches!(protocol, Protocol::Chat | Protocol::Functions);
        self.finished.is_plain = is_chat && self.finished.added.len() == 1;
        self.finished.notices.append(&mut self.asking.notices);
        self.finished.personal_data =
            self.agent.screen.as_ref().map(|screen| screen.found()).unwrap_or_default();
        Ok(self.finished)
    }

    /// The bound that was reached, if one was.
    fn reached(&self) -> Option<Bound> {
        let limits = &self.agent.limits;
        let tokens = self.finished.usage.input_tokens.saturating_add(self.finished.usage.output_tokens);
        if self.finished.rounds.len() >= limits.rounds {
            Some(Bound::Rounds(limits.rounds))
        } else if self.finished.calls.len() > limits.calls {
            Some(Bound::Calls(limits.calls))
        } else if let Some(most) = limits.tokens.filter(|most| tokens >= *most) {
            Some(Bound::Tokens(most))
        } else if Instant::now() >= self.deadline {
            Some(Bound::Time(limits.time))
        } else {
            None
        }
    }

    /// Asks the model for one reply, and passes it on as it comes. `None` if the time is over.
    async fn ask(&mut self, nudge: Option<&str>) -> Result<Option<Reply>, AgentError> {
        let is_first = self.finished.rounds.is_empty();
        let before =
            Before { text: !self.finished.text.is_empty(), reasoning: !self.finished.reasoning.is_empty() };
        let journal = self.request.journal.as_deref();
        let events = Events { sender: self.events.as_ref(), before, journal };
        let asked = self.asking.ask(&self.history, nudge, &self.request, is_first, events);
        let Ok(reply) = tokio::time::timeout_at(self.deadline, asked).await else {
            // What was passed on was said.
            let Reply { text, reasoning, .. } = self.asking.take_unfinished();
            append(&mut self.finished.text, &text);
            append(&mut self.finished.reasoning, &reasoning);
            self.unfinished = text;
            return Ok(None);
        };
        let reply = reply?;
        let usage = reply.usage.unwrap_or_default();
        self.finished.rounds.push(usage);
        let total = &mut self.finished.usage;
        total.input_tokens = total.input_tokens.saturating_add(usage.input_tokens);
        total.output_tokens = total.output_tokens.saturating_add(usage.output_tokens);
        total.cached_tokens = total.cached_tokens.saturating_add(usage.cached_tokens);
        self.asking.name(&mut self.finished.model, &mut self.finished.ignored);
        self.emit(Event::RoundEnds { round: self.finished.rounds.len(), usage }).await?;
        Ok(Some(reply))
    }

    /// Takes a reply: runs its calls, or ends with its answer. Says whether the loop is over.
    async fn take(&mut self, reply: Reply) -> Result<bool, AgentError> {
        let offer = self.asking.offer().unwrap_or_else(|| Arc::new(Offer::nothing()));
        let (agent, has_reader) = (self.agent, self.asking.is_reader(READ_RESULT));
        let owns =
            |call: &ToolCall| has_reader && call.name == READ_RESULT || agent.tools.owns(&offer, &call.name);
        let is_written = !reply.source.is_empty() && reply.calls.iter().all(owns);
        let message = if is_written {
            // What the model wrote is what it reads again, byte for byte.
            let refused = reply.refused.iter().map(|refused| &refused.call);
            let calls: Vec<Value> = reply.calls.iter().chain(refused).map(written_call).collect();
            let said = Content::Text(format!("{}{}", reply.text, reply.source));
            let metadata = Some(json!({WRITTEN_CALLS: calls}));
            Message { metadata, ..Message::new(Role::Assistant, said) }
        } else {
            reply_message(&reply, self.asking.dialect(), self.asking.codec())
        };
        self.add(message).await?;
        append(&mut self.finished.text, &reply.text);
        append(&mut self.finished.reasoning, &reply.reasoning);
        if is_written {
            let verdict = self.run_written(reply, &offer).await?;
            return self.obey(verdict).await;
        }
        if reply.calls.is_empty() {
            self.asking.note_unread_call(&reply.text);
            let cut = reply.stop.as_deref().and_then(cut_by);
            self.finished.stop = cut.map_or(Stop::Answered, |word| Stop::Cut(word.to_owned()));
            return Ok(true);
        }
        let (own, foreign): (Vec<ToolCall>, Vec<ToolCall>) = reply.calls.into_iter().partition(owns);
        let verdict = self.run_calls(&own, &offer).await?;
        if foreign.is_empty() {
            return self.obey(verdict).await;
        }
        let back = |call| self.agent.tools.handed_back(&offer, call);
        self.finished.handed_back = foreign.into_iter().map(back).collect();
        self.finished.stop = Stop::CallersTurn;
        Ok(true)
    }

    /// Goes on, or says why not. Says whether the loop is over.
    async fn obey(&mut self, verdict: Verdict) -> Result<bool, AgentError> {
        // Where it was the last round anyway, the bound is the reason.
        let is_last = self.finished.rounds.len() >= self.agent.limits.rounds;
        let Some(text) = verdict.reason().filter(|_| !is_last) else { return Ok(false) };
        self.say(text.clone()).await?;
        self.finished.stop = Stop::Stuck(text);
        Ok(true)
    }

    /// Ends at a bound.
    async fn stop_at(&mut self, bound: Bound) -> Result<(), AgentError> {
        if self.agent.limits.on_limit == gateway_config::OnLimit::Error {
            return Err(AgentError::Limit(bound.error()));
        }
        self.say(bound.message()).await?;
        self.finished.stop = Stop::Limit(bound.error());
        Ok(())
    }

    /// Answers in the model's stead.
    async fn say(&mut self, text: String) -> Result<(), AgentError> {
        let shown = if self.finished.text.is_empty() { text.clone() } else { format!("{BETWEEN}{text}") };
        self.emit(Event::Text(shown)).await?;
        append(&mut self.finished.text, &text);
        // One message: two replies in a row are more than some models take.
        let mut said = std::mem::take(&mut self.unfinished);
        append(&mut said, &text);
        self.add(Message::new(Role::Assistant, Content::Text(said))).await
    }

    /// Adds a message to the conversation, once it is kept.
    async fn add(&mut self, message: Message) -> Result<(), AgentError> {
        if let Some(journal) = &self.request.journal {
            journal.write(&message).await.map_err(AgentError::Journal)?;
        }
        self.history.added.push(message);
        Ok(())
    }

    async fn emit(&self, event: Event) -> Result<(), AgentError> {
        Events { sender: self.events.as_ref(), before: Before::default(), journal: None }.emit(event).await
    }
}

/// Why an answer is not all that the model wanted to say, by its API's word, in that of Chat Completions.
fn cut_by(word: &str) -> Option<&'static str> {
    match word {
        "length"
        | "max_tokens"
        | "MAX_TOKENS"
        | "max_output_tokens"
        | "incomplete"
        | "model_length"
        | "model_context_window_exceeded" => Some("length"),
        "content_filter"
        | "content_filtered"
        | "guardrail_intervened"
        | "refusal"
        | "SAFETY"
        | "RECITATION"
        | "PROHIBITED_CONTENT"
        | "BLOCKLIST"
        | "SPII"
        | "IMAGE_SAFETY"
        | "ERROR_TOXIC" => Some("content_filter"),
        _ => None,
    }
}

/// A call that was written as text, in the form of Chat Completions, for whoever keeps the conversation.
fn written_call(call: &ToolCall) -> Value {
    let arguments = call.arguments.to_text();
    json!({"id": call.id.as_str(), "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// What stands between the texts of two rounds.
const BETWEEN: &str = "\n\n";

fn append(whole: &mut String, text: &str) {
    if !whole.is_empty() && !text.is_empty() {
        whole.push_str(BETWEEN);
    }
    whole.push_str(text);
}

/// What earlier rounds have said.
#[derive(Clone, Copy, Default)]
struct Before {
    text: bool,
    reasoning: bool,
}

/// Who listens, if somebody does.
#[derive(Clone, Copy)]
struct Events<'a> {
    sender: Option<&'a mpsc::Sender<Event>>,
    before: Before,
    /// Who hears what is said before it is complete.
    journal: Option<&'a dyn Journal>,
}

impl Events<'_> {
    /// Passes an event on. What stands between two rounds goes in front of the second.
    async fn emit(&mut self, event: Event) -> Result<(), AgentError> {
        if let (Event::Text(text), Some(journal)) = (&event, self.journal) {
            journal.hear(text);
        }
        let Some(sender) = self.sender else { return Ok(()) };
        let event = match event {
            Event::Text(text) if std::mem::take(&mut self.before.text) => {
                Event::Text(format!("{BETWEEN}{text}"))
            }
            Event::Reasoning(text) if std::mem::take(&mut self.before.reasoning) => {
                Event::Reasoning(format!("{BETWEEN}{text}"))
            }
            other => other,
        };
        sender.send(event).await.map_err(|_| AgentError::Gone)
    }
}
