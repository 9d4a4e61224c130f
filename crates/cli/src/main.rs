//! The `mcp-tool-gateway` binary.

mod check;
mod commands;
mod input;
mod layout;
mod options;
mod output;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Translate MCP tools into a provider's format.
    Convert(commands::convert::Convert),
    /// Lint a server's tools for all providers.
    Check(commands::check::Check),
    /// Show a sample tool before and after, for each provider.
    Demo(commands::demo::Demo),
    /// List the dialects, or show one dialect's rules.
    Dialects(commands::dialects::ListDialects),
    /// Count the tokens of texts or tools.
    Tokens(commands::tokens::CountTokens),
    /// Turn arguments into a dialect's form, or back.
    Arguments(commands::arguments::Arguments),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Good,
    /// The command did its work and found something that the caller should look at.
    Findings,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Command::Convert(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Dialects(command) => command.run(),
        Command::Tokens(command) => command.run(),
        Command::Arguments(command) => command.run(),
    };
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether the reader of our output went away, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
