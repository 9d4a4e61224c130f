//! `completions` and `man`: what shells and readers of manuals want to know, written from the definition of the commands.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::Outcome;
use crate::output::did_you_mean;

/// Write a script that completes commands and flags in a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  mcp-tool-gateway completions bash > ~/.local/share/bash-completion/completions/mcp-tool-gateway\n  \
                  mcp-tool-gateway completions zsh > ~/.zfunc/_mcp-tool-gateway\n  \
                  mcp-tool-gateway completions fish > ~/.config/fish/completions/mcp-tool-gateway.fish"
)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut program: Command) -> Result<Outcome> {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, &name, &mut script);
        let mut script = String::from_utf8(script)?;
        if self.shell == Shell::Bash {
            // The generator takes the hyphens of our name for levels of commands, in the labels only.
            script = script.replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__"));
        }
        write(script.as_bytes())
    }
}

/// Write the manual page of the program, or of one command.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  mcp-tool-gateway man | man -l -\n  mcp-tool-gateway man serve > mcp-tool-gateway-serve.1"
)]
pub(crate) struct Manual {
    /// The command, for example `serve` or `servers restart`
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

impl Manual {
    pub(crate) fn run(&self, mut program: Command) -> Result<Outcome> {
        // Names and usage of subcommands are made when the whole is built.
        program.build();
        let mut command = &program;
        for word in &self.words {
            let Some(found) = command.find_subcommand(word) else {
                let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
                let hint = did_you_mean(word, known.iter().copied());
                let hint = hint.unwrap_or_else(|| format!("there are: {}", known.join(", ")));
                bail!("no command is called `{}`; {hint}", self.words.join(" "));
            };
            command = found;
        }
        let title = [&[program.get_name().to_owned()], self.words.as_slice()].concat().join("-");
        let mut page = Vec::new();
        Man::new(command.clone())
            .title(title)
            .source(concat!("mcp-tool-gateway ", env!("CARGO_PKG_VERSION")))
            .render(&mut page)?;
        write(&page)
    }
}

/// Writes our own text as it is: a shell or a formatter reads it.
fn write(text: &[u8]) -> Result<Outcome> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text)?;
    stdout.flush()?;
    Ok(Outcome::Good)
}
