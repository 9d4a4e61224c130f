//! Commands within a conversation: lines that begin with a slash.

use std::path::Path;

use anyhow::{Result, bail};
use gateway_runtime::approvals::policy;
use gateway_upstream::{Approval, CatalogueTool};

use super::conversation::{load, save};
use super::session::Session;
use crate::output::{Table, Tone, counted, did_you_mean};
use crate::terminal::errors;

/// The commands, with what they do.
const COMMANDS: [(&str, &str, &str); 9] = [
    ("help", "", "shows this"),
    ("tools", "[WORD]", "lists the tools, or those with a word in their name"),
    ("model", "[NAME]", "lists the models, or takes another one; the conversation goes on"),
    ("calls", "", "lists the calls of this conversation, with arguments and results"),
    ("usage", "", "says how many tokens were read and written"),
    ("reset", "", "forgets what was said"),
    ("save", "FILE", "writes the conversation to a file"),
    ("load", "FILE", "goes on with a conversation from a file"),
    ("quit", "", "leaves; so do `exit`, `quit` and Ctrl-D"),
];

/// How a conversation goes on after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    Leave,
}

/// The command in a message, with the words behind it; `None` if it is a message for the model. A path such as `/etc/hosts` is one.
pub(super) fn command(message: &str) -> Option<(&str, &str)> {
    let line = message.strip_prefix('/')?;
    let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase());
    (is_name && !message.contains('\n')).then_some((name, words.trim()))
}

/// A message without the slash in front that says that it is no command.
pub(super) fn plain(message: &str) -> &str {
    match message.strip_prefix('/') {
        Some(rest) if command(rest).is_some() => rest,
        Some(_) | None => message,
    }
}

impl Session {
    /// Runs a command.
    pub(super) async fn command(&mut self, name: &str, words: &str) -> Result<Next> {
        match (name, words) {
            ("help", _) => self.help()?,
            ("tools", word) => self.list_tools(word)?,
            ("model", "") => self.list_models().await?,
            ("model", name) => self.switch_model(name).await?,
            ("calls", _) => self.list_calls()?,
            ("usage", _) => {
                let (usage, turns) = (self.usage, counted(self.turns, "answer"));
                let text =
                    format!("{} tokens read, {} written, {turns}", usage.input_tokens, usage.output_tokens);
                self.screen.notice(Tone::Faint, &text)?;
            }
            ("reset", _) => {
                self.messages.clear();
                self.calls.clear();
                self.screen.notice(Tone::Faint, "the conversation begins anew")?;
            }
            ("save" | "load", "") => bail!("/{name} needs the name of a file: /{name} chat.json"),
            ("save", file) => {
                save(Path::new(file), &self.models.name, &self.messages)?;
                let count = counted(self.messages.len(), "message");
                self.screen.notice(Tone::Faint, &format!("{count} written to {file}"))?;
            }
            ("load", file) => self.load(Path::new(file))?,
            ("quit" | "exit", _) => return Ok(Next::Leave),
            (other, _) => {
                let hint = did_you_mean(other, COMMANDS.iter().map(|(name, ..)| *name));
                let hint = hint.unwrap_or_else(|| "/help lists them".to_owned());
                bail!("no command is called /{other}; {hint}");
            }
        }
        Ok(Next::GoOn)
    }

    /// Goes on with a conversation from a file.
    pub(super) fn load(&mut self, file: &Path) -> Result<()> {
        self.messages = load(file)?;
        let count = counted(self.messages.len(), "message");
        self.screen.notice(Tone::Faint, &format!("{count} read from {}", file.display()))
    }

    fn help(&mut self) -> Result<()> {
        for (name, words, about) in COMMANDS {
            let words = format!("/{name} {words}");
            self.screen.notice(Tone::Faint, &format!("{words:<14} {about}"))?;
        }
        let more = "A line that ends with \\ goes on in the next one, and \"\"\" begins and ends a message of several lines; Alt-Enter \
                    begins a line too.\nCtrl-C stops an answer and its calls. A message that begins with two slashes is sent with one.";
        self.screen.notice(Tone::Faint, more)
    }

    fn list_tools(&mut self, word: &str) -> Result<()> {
        let catalogue = self.runtime.fleet().catalogue();
        let config = self.runtime.approval();
        let is_meant = |tool: &&CatalogueTool| {
            let name = format!("{}/{}", tool.server, tool.name);
            self.offers(tool) && name.to_lowercase().contains(&word.to_lowercase())
        };
        let mut tools: Vec<&CatalogueTool> = catalogue.listed().filter(is_meant).collect();
        tools.sort_by(|one, other| one.server.cmp(&other.server));
        if tools.is_empty() {
            return self.screen.notice(Tone::Faint, "no tools");
        }
        let mut table = Table::new(["server", "tool", "calls", "description"]);
        for tool in tools {
            let (calls, tone) = match (tool.unaccepted.is_some(), policy(&config, tool)) {
                (true, _) => ("blocked", Some(Tone::Bad)),
                (false, Approval::Allow) => ("run", None),
                (false, Approval::Ask) => ("ask", Some(Tone::Caution)),
                (false, Approval::Deny) => ("denied", Some(Tone::Bad)),
            };
            let description = tool.value()["description"].as_str().unwrap_or_default().to_owned();
            let first = description.lines().next().unwrap_or_default().to_owned();
            table.row(tone, [tool.server.to_string(), tool.public_name.clone(), calls.to_owned(), first]);
        }
        self.write_table(&table)
    }

    async fn list_models(&mut self) -> Result<()> {
        let mut table = Table::new(["model", "kind", ""]);
        for (name, kind) in self.models.list().await {
            let is_asked = name == self.models.name;
            let mark = if is_asked { "asked now" } else { "" };
            table.row(is_asked.then_some(Tone::Good), [name, kind.to_owned(), mark.to_owned()]);
        }
        self.write_table(&table)
    }

    async fn switch_model(&mut self, name: &str) -> Result<()> {
        let dialects = self.runtime.ready_dialects();
        self.models.switch(name, &dialects).await?;
        self.screen.notice(Tone::Faint, &format!("{name} is asked from now on"))?;
        self.report_left_out().await
    }

    fn list_calls(&mut self) -> Result<()> {
        if self.calls.is_empty() {
            return self.screen.notice(Tone::Faint, "no calls so far");
        }
        for report in std::mem::take(&mut self.calls) {
            self.screen.call_begins(&report.name, &report.arguments)?;
            self.screen.call_ends(&report)?;
            self.calls.push_back(report);
        }
        Ok(())
    }

    fn write_table(&mut self, table: &Table) -> Result<()> {
        table.write(&mut errors(), self.screen.paint, "")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_messages_are_distinguished() {
        for (message, expected) in [
            ("/help", Some(("help", ""))),
            ("/save  my file.json ", Some(("save", "my file.json"))),
            ("/etc/hosts says what?", None),
            ("/", None),
            (" /help", None),
            ("/Help", None),
            ("/help\nme", None),
            ("what is /help?", None),
            ("//help", None),
        ] {
            assert_eq!(command(message), expected, "{message}");
        }
        assert_eq!(
            (plain("//help me"), plain("//x/y"), plain("/etc/hosts")),
            ("/help me", "//x/y", "/etc/hosts")
        );
    }
}
