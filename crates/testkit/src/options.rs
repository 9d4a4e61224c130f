//! The command line of the fixture.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::modes::{Mode, explain_modes};

/// How the fixture is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// Lines on stdin and stdout.
    Stdio,
    /// Streamable HTTP at `/mcp`.
    Http,
    /// HTTP+SSE at `/sse` and `/messages`.
    Sse,
    /// Not a server: starts a new session and sleeps. The grandchild mode starts it.
    #[value(hide = true)]
    Sleep,
}

/// Which eras the fixture speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpokenEra {
    /// Only with `initialize`.
    Legacy,
    /// Only stateless.
    Modern,
    /// Both.
    Both,
}

/// What the fixture offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Serves {
    /// Tools whose effects and faults tests can see.
    Tools,
    /// Everything that the official conformance suite requires of a server, in both eras.
    Everything,
}

/// How requests over HTTP are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerKind {
    /// As JSON, unless there is progress to report.
    Json,
    /// As a stream of events.
    Sse,
}

/// The options of the fixture.
#[derive(Clone, Debug, Parser)]
#[command(name = "gateway-fixture", about = "An MCP server for tests", after_help = explain_modes())]
#[non_exhaustive]
pub struct Options {
    /// How it is reached.
    #[arg(value_enum)]
    pub transport: Transport,
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Which eras it speaks.
    #[arg(long, value_enum, default_value = "both")]
    pub era: SpokenEra,
    /// What it offers.
    #[arg(long, value_enum, default_value = "tools")]
    pub serve: Serves,
    /// What it does wrong.
    #[arg(long = "mode", value_name = "MODE")]
    pub modes: Vec<Mode>,
    /// The method whose requests the faults of answers hit.
    #[arg(long, default_value = "tools/call", value_name = "METHOD")]
    pub fault_method: String,
    /// The only tool whose calls the faults of answers hit.
    #[arg(long, value_name = "NAME")]
    pub fault_tool: Option<String>,
    /// The faults of answers, slow starts and crashes at the start happen only this many times.
    #[arg(long, value_name = "N")]
    pub fault_times: Option<u64>,
    /// Where `--fault-times` is counted, so that it also holds after a restart.
    #[arg(long, value_name = "FILE")]
    pub fault_memory: Option<PathBuf>,
    /// The number of additional generated tools.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub tools: usize,
    /// More tools: one in JSON per line, or documents with a member `tools`.
    #[arg(long, value_name = "FILE")]
    pub corpus: Vec<PathBuf>,
    /// Lists only generated tools and those of the corpus.
    #[arg(long)]
    pub no_builtin: bool,
    /// How many tools one page has.
    #[arg(long, value_name = "N")]
    pub page_size: Option<usize>,
    /// Where `count` and `slow` write what they did, one line each.
    #[arg(long, value_name = "FILE")]
    pub counter: Option<PathBuf>,
    /// Where calls are logged as JSON lines; by default the environment's `MCP_CALL_LOG`.
    #[arg(long, value_name = "FILE")]
    pub call_log: Option<PathBuf>,
    /// Where every incoming message is written with its headers, as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub wire_log: Option<PathBuf>,
    /// Where the process and its children write their ids: `server 17`, `child 18`, `detached 19`.
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,
    /// How requests over HTTP are answered.
    #[arg(long, value_enum, default_value = "json")]
    pub answer: AnswerKind,
    /// Legacy Streamable HTTP without sessions.
    #[arg(long)]
    pub stateless: bool,
    /// The bearer token that HTTP requests must carry.
    #[arg(long, value_name = "TOKEN")]
    pub require_token: Option<String>,
    /// How long a modern list may be cached, in milliseconds.
    #[arg(long, default_value_t = 0, value_name = "MS")]
    pub ttl_ms: u64,
    /// A server over HTTP ends when its stdin ends, so that it never outlives a test.
    #[arg(long)]
    pub exit_with_stdin: bool,
}

/// The word for a choice on the command line.
pub(crate) fn word(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
