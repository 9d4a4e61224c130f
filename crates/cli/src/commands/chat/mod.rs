//! `chat`: a conversation with a model that has the tools of all servers, at a terminal or through a pipe.

mod approver;
mod conversation;
mod editor;
mod keys;
mod lines;
mod message;
mod models;
mod question;
mod screen;
mod session;
mod slash;
mod tty;

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use gateway_agent::KeptResults;
use gateway_config::ServiceConfig;
use gateway_dialects::stream::Usage;
use gateway_protocol::printable;
use gateway_runtime::Runtime;
use gateway_service::LogLevel;
use gateway_upstream::{ConnectMode, Endpoint, Fleet, UpstreamSpec};

use self::approver::{Approver, Person};
use self::lines::Lines;
use self::models::ChatModels;
use self::screen::Screen;
use self::session::{Session, TurnEnd};
use self::slash::{Next, command, plain};
use self::tty::{Terminal, Typed};
use crate::Outcome;
use crate::adhoc::{AdHocFlags, is_url};
use crate::fleet::{chosen, failures, listed};
use crate::output::{Tone, counted};
use crate::runtime::{EndSignals, Interrupted, block_on_threads};
use crate::seconds::seconds;
use crate::setup::{ConfigFlags, Overrides, Setup};

/// Talk to a model that has the tools of all servers.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a message it is a conversation: at a terminal with a prompt (/help lists its commands), through a pipe with one \
                  message a line. Answers go to standard output, calls and everything else to standard error. Without a configured model, one \
                  is looked for on this machine: Ollama, LM Studio, llama.cpp, vLLM and others.\n\nExit status: 0 answered, 1 a message got no \
                  answer, 2 the conversation could not begin.\n\nExamples:\n  \
                  mcp-tool-gateway chat\n  \
                  mcp-tool-gateway chat 'What is 15 plus 27?'\n  \
                  git diff | mcp-tool-gateway chat --system 'Review this change.' -\n  \
                  mcp-tool-gateway chat -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Chat {
    #[command(flatten)]
    config: ConfigFlags,
    /// The model, as the configuration or the server on this machine calls it
    #[arg(long, short, value_name = "NAME")]
    model: Option<String>,
    /// Only the tools of this configured server, or of this URL (repeatable)
    #[arg(long, value_name = "NAME|URL")]
    server: Vec<String>,
    /// The instructions that the conversation begins with; empty: none [default: a sentence that lists the tools]
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Approve calls of tools whose policy is `ask`: a pattern of `server/tool` (repeatable)
    #[arg(long, value_name = "PATTERN")]
    approve: Vec<String>,
    /// Go on with the conversation in this file
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Write the conversation to this file after every answer
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// The directory of the call log and of what is remembered of servers
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How long to wait for servers that are starting, in seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// One message, whose answer ends the command; `-` reads it from standard input
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
    #[command(flatten)]
    ad_hoc: AdHocFlags,
}

/// How long servers may take to stop.
const END: Duration = Duration::from_secs(5);

impl Chat {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let overrides = Overrides { data: self.data.clone(), ..Overrides::default() };
        let mut setup = self.config.load_with(&overrides)?;
        // What a person has to know is shown; events of the service would stand between the answers.
        setup.service.log_level = setup.service.log_level.or(Some(LogLevel::Error));
        setup.install_logs_without_audit()?;
        setup.specs = self.specs(std::mem::take(&mut setup.specs))?;
        block_on_threads(None, self.serve(setup))
    }

    /// The servers of this conversation. They connect before the first message, so that what is wrong shows at the start.
    fn specs(&self, configured: Vec<UpstreamSpec>) -> Result<Vec<UpstreamSpec>> {
        let mut specs = Vec::new();
        for server in &self.server {
            if is_url(server) {
                specs.extend(self.ad_hoc.spec(Some(server.as_str()))?);
            } else {
                specs.extend(chosen(configured.clone(), Some(server.as_str()))?);
            }
        }
        if !self.server.iter().any(|server| is_url(server)) {
            specs.extend(self.ad_hoc.spec(None)?);
        }
        let mut specs = if specs.is_empty() { configured } else { specs };
        // What is wrong with these has been said.
        let is_wanted = |spec: &UpstreamSpec| spec.required || self.is_narrowed();
        let mut invalid = specs.iter().filter(|spec| spec.endpoint == Endpoint::Invalid && !spec.disabled);
        if let Some(spec) = invalid.find(|spec| is_wanted(spec)) {
            bail!("server `{}` is needed, and its entry is invalid", spec.id);
        }
        specs.retain(|spec| spec.endpoint != Endpoint::Invalid);
        for spec in &mut specs {
            spec.connect = ConnectMode::Eager;
        }
        Ok(specs)
    }

    async fn serve(&self, mut setup: Setup) -> Result<Outcome> {
        // First of all: a signal during the start must leave no child process behind.
        let mut ends = EndSignals::listen()?;
        let dialects = setup.dialects()?;
        let fleet = Fleet::start(Vec::new(), setup.remembering_fleet());
        let log = setup.open_shared_log()?;
        let runtime = Runtime::new(setup.service.clone(), fleet, dialects, log);
        let outcome = self.converse(&runtime, &setup, &mut ends).await;
        tokio::select! {
            () = runtime.close(Duration::ZERO) => {}
            // A second signal stops at once.
            _ = ends.next() => {}
            () = tokio::time::sleep(END) => {}
        }
        outcome
    }

    async fn converse(&self, runtime: &Runtime, setup: &Setup, ends: &mut EndSignals) -> Result<Outcome> {
        let mut session = tokio::select! {
            begun = self.begin(runtime, setup) => begun?,
            signal = ends.next() => return Err(Interrupted(signal).into()),
        };
        match &self.message {
            Some(message) => one_message(&mut session, message, ends).await,
            None if tty::is_there() => at_terminal(&mut session, setup.demo_only, ends).await,
            None => through_pipe(&mut session, ends).await,
        }
    }

    /// Finds the model, connects the servers, and says what is wrong.
    async fn begin(&self, runtime: &Runtime, setup: &Setup) -> Result<Session> {
        let config = runtime.config();
        let dialects = runtime.ready_dialects();
        // Before the servers start: without a model they have nothing to do.
        let models = ChatModels::find(config, &self.config, self.model.as_deref(), &dialects).await?;
        listed(runtime.fleet(), setup.specs.clone(), self.timeout).await;
        let person = if tty::is_there() { Person::AtTerminal } else { Person::Absent };
        let (approver, questions) = Approver::new(self.approve.clone(), person);
        let servers = setup.specs.iter().map(|spec| spec.id.to_string());
        let mut session = Session {
            runtime: runtime.clone(),
            models,
            servers: if self.is_narrowed() { servers.collect() } else { Vec::new() },
            system: self.system.clone(),
            kept_in: self.save.clone(),
            approver: Arc::new(approver),
            questions,
            results: Arc::new(KeptResults::new(&without_data(config))),
            screen: Screen::new(),
            messages: Vec::new(),
            calls: VecDeque::new(),
            usage: Usage::default(),
            turns: 0,
        };
        report_failures(&mut session)?;
        session.report_left_out().await?;
        if let Some(file) = &self.load {
            session.load(file)?;
        }
        Ok(session)
    }

    /// Whether only some servers are wanted.
    fn is_narrowed(&self) -> bool {
        !self.server.is_empty() || self.ad_hoc.is_given()
    }
}

/// The settings without a data directory: another gateway may use it at the same time.
fn without_data(config: &ServiceConfig) -> ServiceConfig {
    let mut config = config.clone();
    config.data = None;
    config
}

/// Says which servers failed. One that the gateway is not ready without ends it.
fn report_failures(session: &mut Session) -> Result<()> {
    let failed = failures(session.runtime.fleet());
    for (server, reason) in &failed {
        let text = format!("server `{server}` failed: {}", printable(reason));
        session.screen.notice(Tone::Bad, &text)?;
    }
    let is_required = |server: &str| session.runtime.fleet().spec(server).is_some_and(|spec| spec.required);
    match failed.iter().find(|(server, _)| is_required(server.as_str())) {
        Some((server, _)) => bail!("server `{server}` is required, and failed"),
        None => Ok(()),
    }
}

/// Answers one message.
async fn one_message(session: &mut Session, message: &str, ends: &mut EndSignals) -> Result<Outcome> {
    let message = match message {
        "-" => {
            let mut input = Lines::open();
            tokio::select! {
                whole = input.whole() => whole?,
                signal = ends.next() => return Err(Interrupted(signal).into()),
            }
        }
        given => Some(given.trim().to_owned()).filter(|given| !given.is_empty()),
    };
    let Some(message) = message else { bail!("the message is empty") };
    let mut terminal = None;
    match session.turn(&message, &mut terminal, ends).await? {
        TurnEnd::Answered => Ok(Outcome::Good),
        TurnEnd::Failed | TurnEnd::Interrupted => Ok(Outcome::Findings),
    }
}

/// Answers each message that comes through a pipe.
async fn through_pipe(session: &mut Session, ends: &mut EndSignals) -> Result<Outcome> {
    if std::io::stdin().is_terminal() {
        let text = "each line is a message, and Ctrl-D leaves";
        session.screen.notice(Tone::Faint, text)?;
    }
    let mut input = Lines::open();
    let mut outcome = Outcome::Good;
    loop {
        let next = tokio::select! {
            message = input.next_message() => message?,
            signal = ends.next() => return Err(Interrupted(signal).into()),
        };
        let Some(message) = next else { return Ok(outcome) };
        match obey(session, &message, &mut None, ends).await? {
            Obeyed::Left => return Ok(outcome),
            Obeyed::Failed => outcome = Outcome::Findings,
            Obeyed::Done => {}
        }
    }
}

/// Talks to the person at the terminal until they leave.
async fn at_terminal(session: &mut Session, is_demo: bool, ends: &mut EndSignals) -> Result<Outcome> {
    greet(session, is_demo)?;
    let mut terminal = Some(Terminal::open(session.screen.paint)?);
    loop {
        let Some(open) = terminal.as_mut() else { return Ok(Outcome::Good) };
        let typed = tokio::select! {
            typed = open.read_message() => typed?,
            signal = ends.next() => return Err(Interrupted(signal).into()),
        };
        match typed {
            Typed::Left => return Ok(Outcome::Good),
            Typed::Interrupted => session.screen.notice(Tone::Faint, "Ctrl-D or /quit leaves")?,
            // Nobody says that to a model.
            Typed::Message(message) if matches!(message.as_str(), "exit" | "quit") => {
                return Ok(Outcome::Good);
            }
            Typed::Message(message) => {
                if obey(session, &message, &mut terminal, ends).await? == Obeyed::Left {
                    return Ok(Outcome::Good);
                }
            }
        }
    }
}

/// What came of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obeyed {
    Done,
    Failed,
    Left,
}

/// Runs a command, or sends a message.
async fn obey(
    session: &mut Session,
    message: &str,
    terminal: &mut Option<Terminal>,
    ends: &mut EndSignals,
) -> Result<Obeyed> {
    let Some((name, words)) = command(message) else {
        return Ok(match session.turn(plain(message), terminal, ends).await? {
            TurnEnd::Answered => Obeyed::Done,
            TurnEnd::Failed | TurnEnd::Interrupted => Obeyed::Failed,
        });
    };
    match session.command(name, words).await {
        Ok(Next::GoOn) => Ok(Obeyed::Done),
        Ok(Next::Leave) => Ok(Obeyed::Left),
        Err(error) => {
            session.screen.notice(Tone::Bad, &format!("error: {error:#}"))?;
            Ok(Obeyed::Failed)
        }
    }
}

/// Says who is there.
fn greet(session: &mut Session, is_demo: bool) -> Result<()> {
    let catalogue = session.runtime.fleet().catalogue();
    let offered: Vec<_> = catalogue.listed().filter(|tool| session.offers(tool)).collect();
    let mut servers: Vec<&str> = offered.iter().map(|tool| tool.server.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    let (tools, from) = (counted(offered.len(), "tool"), counted(servers.len(), "server"));
    let model = printable(&session.models.name).into_owned();
    let at = session.models.found_at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
    let text = format!("{model}{at}, with {tools} of {from}; /help lists commands, Ctrl-D leaves");
    session.screen.notice(Tone::Faint, &text)?;
    if is_demo {
        session
            .screen
            .notice(Tone::Faint, "no server is configured, so these are the tools of the built-in demo")?;
    }
    session.screen.end_turn()
}
