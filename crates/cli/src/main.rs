//! The `mcp-tool-gateway` binary.

mod adhoc;
mod check;
mod commands;
mod fleet;
mod input;
mod layout;
mod loopback;
mod options;
mod output;
mod programs;
mod progress;
mod remote;
mod runtime;
mod seconds;
mod setup;
mod terminal;

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand};
use gateway_config::Problems;
use runtime::Interrupted;

use crate::output::log_line;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets any LLM use any MCP server.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-tool-gateway",
    version,
    about,
    after_help = "Exit status: 0 good, 1 findings, 2 wrong usage or unreadable input. Data goes to standard output, errors to standard error."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway.
    Serve(Box<commands::serve::Serve>),
    /// Be an MCP server on standard input and output, with everything that the configured servers offer.
    Mcp(Box<commands::mcp::Mcp>),
    /// List the tools of servers.
    Tools(Box<commands::tools::ListTools>),
    /// Call a tool.
    Call(Box<commands::call::Call>),
    /// Talk to a model that has the tools of all servers.
    #[cfg(feature = "agent")]
    Chat(Box<commands::chat::Chat>),
    /// Show, check or restart servers.
    Servers(Box<commands::servers::Servers>),
    /// Show the format of the configuration file.
    #[command(subcommand)]
    Config(commands::config::Config),
    /// Show the calls that were made.
    Logs(Box<commands::logs::Logs>),
    /// Show the calls that wait for approval, approve or deny them.
    Approvals(Box<commands::approvals::Approvals>),
    /// Translate MCP tools into a provider's format.
    Convert(commands::convert::Convert),
    /// Transform one JSON Schema for a provider or a model.
    Transform(commands::transform::Transform),
    /// Lint a server's tools for all providers.
    Check(commands::check::Check),
    /// Record the session of a server as a cassette.
    Record(commands::record::Record),
    /// Be a recorded server.
    Replay(commands::replay::Replay),
    /// Show a sample tool before and after, for each provider.
    Demo(commands::demo::Demo),
    /// List the dialects, or show one dialect's rules.
    Dialects(commands::dialects::ListDialects),
    /// Say who serves a model and which dialect it takes.
    Detect(commands::detect::Detect),
    /// Count the tokens of texts or tools.
    Tokens(commands::tokens::CountTokens),
    /// Turn arguments into a dialect's form, or back.
    Arguments(commands::arguments::Arguments),
    /// Take the tool calls out of a model's reply, whole or streamed.
    Calls(commands::calls::Calls),
    /// Write a conversation of one dialect as one of another.
    History(commands::history::History),
    /// Write a script that completes commands in a shell.
    Completions(commands::shell::Completions),
    /// Write a manual page.
    Man(commands::shell::Manual),
}

/// How a command ended; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Good,
    /// The command succeeded and found problems.
    Findings,
    /// The input cannot be used; the command has reported why.
    Unusable,
}

fn main() -> ExitCode {
    // Before anything else: a keeper process has to be small and start fast.
    if let Some(status) = gateway_process::run_as_keeper() {
        return status;
    }
    gateway_process::enable_keepers();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| with_command_hint(error).exit());
    let outcome = match &arguments.command {
        Command::Serve(command) => command.run(),
        Command::Mcp(command) => command.run(),
        Command::Tools(command) => command.run(),
        Command::Call(command) => command.run(),
        #[cfg(feature = "agent")]
        Command::Chat(command) => command.run(),
        Command::Servers(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Logs(command) => command.run(),
        Command::Approvals(command) => command.run(),
        Command::Convert(command) => command.run(),
        Command::Transform(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Record(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Dialects(command) => command.run(),
        Command::Detect(command) => command.run(),
        Command::Tokens(command) => command.run(),
        Command::Arguments(command) => command.run(),
        Command::Calls(command) => command.run(),
        Command::History(command) => command.run(),
        Command::Completions(command) => command.run(Arguments::command()),
        Command::Man(command) => command.run(Arguments::command()),
    };
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Ok(Outcome::Unusable) => ExitCode::from(2),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => report(&error, matches!(&arguments.command, Command::Serve(serve) if serve.json)),
    }
}

/// The error of the command line, with a better hint where the flags of a server's command were taken for ours.
fn with_command_hint(mut error: clap::Error) -> clap::Error {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let takes_command =
        matches!(words.first().map(String::as_str), Some("tools" | "check" | "call" | "chat" | "record"));
    if error.kind() != ErrorKind::UnknownArgument || !takes_command || words.iter().any(|word| word == "--") {
        return error;
    }
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(unknown)) => unknown.clone(),
        _ => return error,
    };
    let at = words.iter().position(|word| word.starts_with(&unknown)).unwrap_or_default();
    // A flag of ours that was misspelled stands before any command.
    let Some(program) = at.checked_sub(1).filter(|index| *index > 0).and_then(|index| words.get(index))
    else {
        return error;
    };
    let is_flag_of_command = unknown.starts_with('-') && error.get(ContextKind::SuggestedArg).is_none();
    // A word too many behind `npx` and its like.
    let is_runner =
        matches!(program.as_str(), "npx" | "uvx" | "bunx" | "pnpx" | "node" | "python" | "python3");
    if program.starts_with('-') || !(is_flag_of_command || is_runner) {
        return error;
    }
    let (before, command) = words.split_at(at.saturating_sub(1));
    let hint = format!(
        "a server's command goes after `--`: mcp-tool-gateway {} -- {}",
        before.join(" "),
        command.join(" ")
    );
    error.remove(ContextKind::TrailingArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    error
}

/// Writes the error and returns the exit status.
fn report(error: &anyhow::Error, as_json: bool) -> ExitCode {
    if let Some(Interrupted(signal)) = error.downcast_ref() {
        return ExitCode::from(signal.status);
    }
    if as_json {
        let context = serde_json::json!({"event": "failed"});
        let _ = writeln!(terminal::errors(), "{}", log_line("error", &format!("{error:#}"), &context));
        return ExitCode::from(2);
    }
    // A closed standard error is fine.
    let _ = match error.downcast_ref::<Problems>() {
        // Each on a line that begins with its file, as editors expect.
        Some(problems) => {
            let written = writeln!(terminal::errors(), "{problems}");
            // They may say why: a field that is misspelt is missing under its right name.
            setup::report_warnings(&problems.warnings);
            written
        }
        None => writeln!(terminal::errors(), "error: {error:#}"),
    };
    ExitCode::from(2)
}

/// Whether the reader of our output closed the pipe, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
