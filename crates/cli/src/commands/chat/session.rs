//! A conversation: messages in, turns of the loop, answers out.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use futures_util::{FutureExt as _, StreamExt as _};
use gateway_agent::{
    Agent, AgentError, AgentRequest, CallReport, Event, Face, Finished, GatewayTools, History, KeptResults,
    Limits, Model, Screen as PrivacyScreen, Stop, ToolSelection, default_system_prompt, end_interrupted,
    with_system_prompt,
};
use gateway_dialects::history::{Content, Message, Role};
use gateway_dialects::stream::Usage;
use gateway_protocol::printable;
use gateway_runtime::Runtime;
use gateway_runtime::context::RequestContext;
use gateway_runtime::progress::{Step, until_done};
use gateway_upstream::CatalogueTool;
use serde_json::Map;
use tokio::sync::mpsc;

use super::approver::{Approver, Asked};
use super::conversation::{Said, save};
use super::keys::Key;
use super::models::ChatModels;
use super::question::{Heard, Listener, Manner};
use super::screen::{FRAME, Screen};
use super::tty::Terminal;
use crate::output::Tone;
use crate::runtime::{EndSignals, Interrupted};

/// Events that wait to be shown before the model has to wait.
const WAITING: usize = 64;

/// Calls that `/calls` lists.
const LISTED_CALLS: usize = 1_000;

/// A conversation.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) runtime: Runtime,
    pub(super) models: ChatModels,
    /// The servers whose tools are offered; empty: all.
    pub(super) servers: Vec<String>,
    /// The instructions, if somebody gave some.
    pub(super) system: Option<String>,
    /// The file that has the conversation after every answer.
    pub(super) kept_in: Option<PathBuf>,
    pub(super) approver: Arc<Approver>,
    /// What the person is asked.
    pub(super) questions: Option<mpsc::Receiver<Asked>>,
    pub(super) results: Arc<KeptResults>,
    pub(super) screen: Screen,
    /// What was said.
    pub(super) messages: Vec<Message>,
    pub(super) calls: VecDeque<CallReport>,
    pub(super) usage: Usage,
    pub(super) turns: usize,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEnd {
    Answered,
    Failed,
    Interrupted,
}

/// What happened last in a turn that goes on.
enum Happened {
    Step(Box<Step<Event, Result<Finished, AgentError>>>),
    Asked(Asked),
    Withdrawn,
    Keys(Vec<Key>),
    Interrupted,
    Tick,
}

impl Session {
    /// Sends a message and shows what comes of it.
    pub(super) async fn turn(
        &mut self,
        message: &str,
        terminal: &mut Option<Terminal>,
        ends: &mut EndSignals,
    ) -> Result<TurnEnd> {
        let context = self.context();
        let privacy = PrivacyScreen::new(&self.runtime, Face::Chat, &context);
        // What is kept is what the model gets.
        let kept = privacy.as_ref().map_or(Ok(Cow::Borrowed(message)), |screen| screen.kept_text(message));
        let message = match kept {
            Ok(message) => message,
            Err(error) => {
                self.screen.notice(Tone::Bad, &format!("error: {error}"))?;
                self.screen.end_turn()?;
                return Ok(TurnEnd::Failed);
            }
        };
        let before = self.messages.len();
        self.add_message(&message);
        let said = Arc::new(Said::default());
        let agent = self.agent(context, privacy);
        let (sender, events) = mpsc::channel(WAITING);
        let run = agent.run(self.request(&said), sender);
        let outcome = self.watch(until_done(run, events), terminal, ends).await?;
        let end = match outcome {
            Watched::Answered(finished) => {
                self.messages.extend(finished.added.iter().cloned());
                self.finish(&finished)?;
                TurnEnd::Answered
            }
            Watched::Failed(error) => {
                let added = said.take();
                if added.is_empty() {
                    // Nothing has happened, so the message can be sent again.
                    self.messages.truncate(before);
                } else {
                    self.messages.extend(added);
                    end_interrupted(&mut self.messages, "", "[no answer: the model failed]");
                }
                self.screen.notice(Tone::Bad, &format!("error: {}", printable(&format!("{error}"))))?;
                TurnEnd::Failed
            }
            Watched::Interrupted(text) => {
                self.messages.extend(said.take());
                end_interrupted(&mut self.messages, &text, "[interrupted by the user]");
                self.screen.notice(Tone::Caution, "stopped; the conversation goes on")?;
                TurnEnd::Interrupted
            }
        };
        self.screen.end_turn()?;
        if let Some(file) = &self.kept_in {
            save(file, &self.models.name, &self.messages)?;
        }
        Ok(end)
    }

    /// Whether a tool is one of those that are offered.
    pub(super) fn offers(&self, tool: &CatalogueTool) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|server| server == tool.server.as_str())
    }

    /// Connects and converts before the first message, and says what the model cannot be offered.
    pub(super) async fn report_left_out(&mut self) -> Result<()> {
        let Some(first) = self.models.chosen.first() else { return Ok(()) };
        let dialect = Arc::clone(first.model.dialect());
        match self.tools(self.context()).check(&dialect).await {
            Ok(left_out) => {
                for (tool, reason) in left_out {
                    let text = format!("{tool} is left out: {}", printable(&reason));
                    self.screen.notice(Tone::Caution, &text)?;
                }
            }
            Err(failure) => self.screen.notice(Tone::Caution, &printable(&failure.message()))?,
        }
        Ok(())
    }

    fn add_message(&mut self, message: &str) {
        let prompt = match &self.system {
            Some(given) => given.clone(),
            None if self.messages.is_empty() => {
                let catalogue = self.runtime.fleet().catalogue();
                let offered =
                    catalogue.listed().filter(|tool| self.offers(tool) && tool.unaccepted.is_none());
                let names: Vec<&str> = offered.map(|tool| tool.public_name.as_str()).collect();
                default_system_prompt(names)
            }
            None => String::new(),
        };
        self.messages.push(Message::new(Role::User, Content::Text(message.to_owned())));
        with_system_prompt(&mut self.messages, &prompt);
    }

    /// The context of one turn.
    fn context(&self) -> RequestContext {
        let mut context = RequestContext::new(None);
        context.approver = Some(Arc::clone(&self.approver) as _);
        context
    }

    fn tools(&self, context: RequestContext) -> GatewayTools {
        let selection = ToolSelection {
            names: self.servers.iter().map(|server| format!("{server}/*")).collect(),
            budget: self.models.chosen.first().map(|first| first.spec.tools.clone()).unwrap_or_default(),
            ..ToolSelection::default()
        };
        GatewayTools::new(self.runtime.clone(), context, selection)
    }

    fn agent(&self, context: RequestContext, privacy: Option<Arc<PrivacyScreen>>) -> Agent {
        let config = self.runtime.config();
        let limits = Limits::of(&config.agent, config.concurrent_calls_per_turn);
        let models = self.models.chosen.iter().map(|chosen| Arc::clone(&chosen.model) as Arc<dyn Model>);
        Agent::new(models.collect(), Arc::new(self.tools(context)), limits)
            .keeping(Arc::clone(&self.results))
            .screening(privacy)
    }

    fn request(&self, said: &Arc<Said>) -> AgentRequest {
        AgentRequest {
            history: History::of_messages(self.messages.clone()),
            settings: self
                .models
                .chosen
                .first()
                .map(|first| first.chat_settings(&Map::new()))
                .unwrap_or_default(),
            stream: true,
            journal: Some(Arc::clone(said) as _),
            ..AgentRequest::default()
        }
    }

    /// Shows what happens until the turn is over. What was said of the answer is given back if somebody interrupts it.
    async fn watch(
        &mut self,
        steps: impl futures_util::Stream<Item = Step<Event, Result<Finished, AgentError>>>,
        terminal: &mut Option<Terminal>,
        ends: &mut EndSignals,
    ) -> Result<Watched> {
        let mut steps = std::pin::pin!(steps);
        let mut ticks = tokio::time::interval(FRAME);
        self.screen.wait_for(&format!("waiting for {}", self.models.name));
        // The reply that is being written: what is complete is in the conversation already.
        let mut reply = String::new();
        let mut asked: Option<(Asked, Listener)> = None;
        // Events while somebody is asked: only of calls that run at the same time, so there are few.
        let mut held: VecDeque<Event> = VecDeque::new();
        loop {
            if asked.is_none()
                && let Some(event) = held.pop_front()
            {
                self.show(event, &mut reply)?;
                continue;
            }
            let is_asked = asked.is_some();
            let happened = tokio::select! {
                biased;
                signal = ends.next() => {
                    if terminal.is_none() || signal.status != INTERRUPT {
                        return Err(Interrupted(signal).into());
                    }
                    Happened::Interrupted
                }
                pressed = pressed(terminal, is_asked) => pressed,
                () = withdrawn(&mut asked) => Happened::Withdrawn,
                step = steps.next() => match step {
                    Some(step) => Happened::Step(Box::new(step)),
                    None => return Ok(Watched::Interrupted(reply)),
                },
                question = next_question(&mut self.questions), if !is_asked => Happened::Asked(question),
                _ = ticks.tick() => Happened::Tick,
            };
            match happened {
                Happened::Step(step) => match *step {
                    Step::Message(event) if asked.is_some() => held.push_back(event),
                    Step::Message(event) => self.show(event, &mut reply)?,
                    Step::Done(outcome) => {
                        for event in held {
                            self.show(event, &mut reply)?;
                        }
                        return Ok(Watched::of(outcome));
                    }
                },
                Happened::Asked(question) => {
                    // A call is shown before somebody is asked about it.
                    while let Some(Some(step)) = steps.next().now_or_never() {
                        match step {
                            Step::Message(event) => self.show(event, &mut reply)?,
                            Step::Done(outcome) => return Ok(Watched::of(outcome)),
                        }
                    }
                    let manner = self.ask(&question, terminal)?;
                    asked = Some((question, Listener::new(manner, Instant::now())));
                }
                Happened::Withdrawn => {
                    self.screen.answered("too late");
                    if let (Some((_, mut listener)), Some(terminal)) = (asked.take(), terminal.as_mut()) {
                        terminal.set_aside(listener.take_line());
                    }
                }
                Happened::Keys(keys) => {
                    let heard = |listener: &mut Listener| listener.press(keys, Instant::now());
                    if self.hear(&mut asked, heard, terminal)? == Next::Stop {
                        return Ok(Watched::Interrupted(reply));
                    }
                }
                Happened::Interrupted => return Ok(Watched::Interrupted(reply)),
                Happened::Tick => {
                    self.screen.tick();
                    let heard = |listener: &mut Listener| listener.tick(Instant::now());
                    self.hear(&mut asked, heard, terminal)?;
                }
            }
        }
    }

    fn show(&mut self, event: Event, reply: &mut String) -> Result<()> {
        match event {
            Event::Text(text) => {
                reply.push_str(&text);
                self.screen.text(&text)
            }
            Event::Reasoning(text) => self.screen.thought(&text),
            Event::CallBegins { name, arguments, .. } => self.screen.call_begins(&name, &arguments),
            Event::CallEnds(report) => {
                self.screen.call_ends(&report)?;
                if self.calls.len() >= LISTED_CALLS {
                    self.calls.pop_front();
                }
                self.calls.push_back(*report);
                self.screen.wait_for(&format!("waiting for {}", self.models.name));
                Ok(())
            }
            Event::RoundEnds { .. } => {
                reply.clear();
                Ok(())
            }
            // Events of later versions are not shown.
            _ => Ok(()),
        }
    }

    /// Shows a question. Keys that were pressed before it wait for the next message.
    fn ask(&mut self, asked: &Asked, terminal: &mut Option<Terminal>) -> Result<Manner> {
        let manner = if let Some(terminal) = terminal {
            terminal.begin_question()
        } else {
            *terminal = Some(Terminal::open(self.screen.paint)?);
            Manner::OneKey
        };
        self.screen.notice(Tone::Caution, &asked.question.display)?;
        self.screen.ask(question(manner))?;
        Ok(manner)
    }

    /// Takes what the listener has heard, if somebody is asked.
    fn hear(
        &mut self,
        asked: &mut Option<(Asked, Listener)>,
        heard: impl FnOnce(&mut Listener) -> Heard,
        terminal: &mut Option<Terminal>,
    ) -> Result<Next> {
        let Some((_, listener)) = asked else { return Ok(Next::GoOn) };
        let before = listener.manner();
        match heard(listener) {
            Heard::Nothing => {}
            Heard::Ahead(keys) => {
                let manner = listener.manner();
                if let Some(terminal) = terminal {
                    terminal.set_aside(keys);
                }
                if manner != before {
                    self.screen.answered("");
                    self.screen.ask(question(manner))?;
                }
            }
            Heard::Answer(answer) => {
                self.screen.answered(answer.word());
                if let Some((asked, _)) = asked.take() {
                    // Whoever has gone needs no answer.
                    let _ = asked.answer.send(answer);
                }
                self.screen.wait_for("running the call");
            }
            Heard::Interrupt => {
                self.screen.answered("");
                return Ok(Next::Stop);
            }
        }
        Ok(Next::GoOn)
    }

    /// What there is to say behind an answer.
    fn finish(&mut self, finished: &Finished) -> Result<()> {
        self.screen.end_answer()?;
        self.turns += 1;
        self.usage.input_tokens += finished.usage.input_tokens;
        self.usage.output_tokens += finished.usage.output_tokens;
        for notice in &finished.notices {
            self.screen.notice(Tone::Caution, &printable(notice))?;
        }
        for found in &finished.personal_data {
            self.screen.notice(Tone::Caution, &found.to_string())?;
        }
        match &finished.stop {
            Stop::Cut(word) => {
                let text = format!("the model's answer was cut off ({})", printable(word));
                self.screen.notice(Tone::Caution, &text)
            }
            Stop::Limit(bound) => {
                self.screen.notice(Tone::Caution, &format!("{bound}; the next message goes on from here"))
            }
            // The others say it in the answer.
            _ => Ok(()),
        }
    }
}

/// The exit status for Ctrl-C.
const INTERRUPT: u8 = 130;

/// How a turn went.
enum Watched {
    Answered(Box<Finished>),
    Failed(AgentError),
    /// Somebody stopped it, with so much of a reply.
    Interrupted(String),
}

impl Watched {
    fn of(outcome: Result<Finished, AgentError>) -> Self {
        outcome.map_or_else(Self::Failed, |finished| Self::Answered(Box::new(finished)))
    }
}

/// How a turn goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

/// The question behind what a call would do.
fn question(manner: Manner) -> &'static str {
    match manner {
        Manner::OneKey => "[y]es, [n]o, or [a]lways this tool?",
        Manner::Line => {
            "(what you type waits for the next message; answer with a letter and Enter) [y]es, [n]o, or [a]lways this tool?"
        }
    }
}

/// What somebody at the terminal does: answers a question, or stops the turn.
async fn pressed(terminal: &mut Option<Terminal>, is_asked: bool) -> Happened {
    match terminal {
        // A terminal that is gone says no.
        Some(terminal) if is_asked => {
            Happened::Keys(terminal.fresh_keys().await.unwrap_or_else(|| vec![Key::Escape]))
        }
        Some(terminal) => {
            terminal.interrupted().await;
            Happened::Interrupted
        }
        None => std::future::pending().await,
    }
}

async fn next_question(questions: &mut Option<mpsc::Receiver<Asked>>) -> Asked {
    let next = match questions {
        Some(questions) => questions.recv().await,
        None => None,
    };
    match next {
        Some(asked) => asked,
        None => std::future::pending().await,
    }
}

/// Waits until nobody needs the answer any more.
async fn withdrawn(asked: &mut Option<(Asked, Listener)>) {
    match asked {
        Some((asked, _)) => asked.answer.closed().await,
        None => std::future::pending().await,
    }
}
