//! The command of a tool: a program and the templates of its arguments.
//!
//! No shell is involved. A place such as `{path}` in `["log", "--author={author}", "--", "{path}"]` is one argument of the
//! program or a part of one, whatever its value is. A place in what a shell or another interpreter is told to run, or for a
//! program, is refused, so that a value never becomes code.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::endpoint::ANSWER_BYTES;
use crate::interpreter::{Misplaced, misplaced};
use crate::template::Template;

/// A program that does the work of a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandHandler {
    command: String,
    groups: Vec<Vec<Template>>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    withheld: Arc<[String]>,
    stdin: CommandInput,
    max_bytes: usize,
}

/// What a program reads on its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandInput {
    /// Nothing.
    Nothing,
    /// The arguments as a JSON object.
    Json,
}

impl CommandHandler {
    /// A program with the templates of its arguments. Arguments in one group are left out together where a place in one
    /// of them has no value.
    pub fn new(command: &str, groups: &[Vec<String>]) -> Result<Self, String> {
        if command.trim().is_empty() {
            return Err("the program must have a name".to_owned());
        }
        let read = |group: &Vec<String>| group.iter().map(|text| Template::parse(text)).collect();
        let groups: Vec<Vec<Template>> = groups.iter().map(read).collect::<Result<_, String>>()?;
        if let Some(misplaced) = misplaced(command, groups.iter().flatten()) {
            return Err(match misplaced {
                Misplaced::Code(place) => format!(
                    "`{{{place}}}` stands in code, so that whoever calls could run anything; give it as an argument behind \
                     the code, which a shell knows as \"$1\""
                ),
                Misplaced::Joined(place) => format!(
                    "`{{{place}}}` stands in a command line that a shell reads, so that whoever calls could run anything; \
                     give it on the standard input (`\"stdin\": \"json\"`), or call the program without that shell"
                ),
                Misplaced::Program(place) => format!(
                    "`{{{place}}}` stands for a program, so that whoever calls could run anything; write the program out"
                ),
            });
        }
        let has_places = groups.iter().flatten().any(|template| template.places().next().is_some());
        let stdin = if has_places { CommandInput::Nothing } else { CommandInput::Json };
        Ok(Self {
            command: command.to_owned(),
            groups,
            env: BTreeMap::new(),
            cwd: None,
            withheld: Arc::default(),
            stdin,
            max_bytes: ANSWER_BYTES,
        })
    }

    /// With variables beside ours, and a working directory.
    #[must_use]
    pub fn in_environment(mut self, env: BTreeMap<String, String>, cwd: Option<PathBuf>) -> Self {
        (self.env, self.cwd) = (env, cwd);
        self
    }

    /// Takes variables of ours away that it would inherit; those of its own environment stay.
    pub(crate) fn withhold(&mut self, names: Arc<[String]>) {
        self.withheld = names;
    }

    /// With another standard input than follows from the template: JSON where it has no places, else nothing.
    #[must_use]
    pub fn with_input(mut self, stdin: CommandInput) -> Self {
        self.stdin = stdin;
        self
    }

    /// With another bound on the bytes of its output.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The parameters that the template names.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flatten().flat_map(Template::places)
    }
    /// The program.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The templates of its arguments, in groups that are left out together.
    pub fn groups(&self) -> &[Vec<Template>] {
        &self.groups
    }

    /// Its variables, beside ours.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// Its working directory.
    pub fn cwd(&self) -> Option<&PathBuf> {
        self.cwd.as_ref()
    }

    /// Names of variables of ours that it does not inherit.
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// What it reads on its standard input.
    pub fn input(&self) -> CommandInput {
        self.stdin
    }

    /// Most bytes of its output.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }
}

/// Secrets stand in environments and arguments, so only names are shown.
impl std::fmt::Debug for CommandHandler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CommandHandler")
            .field("command", &self.command)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}
