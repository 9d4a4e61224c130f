//! The command of a tool: a program and the templates of its arguments.
//!
//! No shell is involved. A placeholder such as `{path}` in `["log", "--author={author}", "--", "{path}"]` is one argument of
//! the program or a part of one, whatever its value is. Whether the program takes its arguments as data is up to whoever
//! writes the template. A shell or another interpreter may take them for code, which [`CommandHandler::interpreter`] finds,
//! for a warning.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::endpoint::ANSWER_BYTES;
use crate::fields::Words;
use crate::template::{Piece, Template};

/// Programs that run code which stands in their arguments; a version may follow the name. Those that are met most, for a
/// warning: no list of such programs is complete.
const INTERPRETERS: [&str; 21] = [
    "sh",
    "ash",
    "bash",
    "dash",
    "fish",
    "ksh",
    "zsh",
    "pwsh",
    "powershell",
    "cmd",
    "python",
    "perl",
    "ruby",
    "lua",
    "node",
    "deno",
    "bun",
    "php",
    "awk",
    "sed",
    "ssh",
];

/// A program that does the work of a tool.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandHandler {
    /// The program.
    pub command: String,
    /// The templates of its arguments, in groups that are left out together.
    pub groups: Vec<Vec<Template>>,
    /// Its variables, beside ours.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub cwd: Option<PathBuf>,
    /// Names of variables of ours that it does not inherit; those of its own environment stay.
    pub hidden_env: Arc<[String]>,
    /// What it reads on its standard input: JSON if the templates have no placeholders, else nothing.
    pub stdin: CommandInput,
    /// Most bytes of its output.
    pub max_bytes: usize,
}

/// What a program reads on its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandInput {
    /// Nothing.
    Nothing,
    /// The arguments as a JSON object.
    Json,
}

impl Words for CommandInput {
    const WORDS: &'static [(&'static str, Self)] = &[("none", Self::Nothing), ("json", Self::Json)];
}

impl CommandHandler {
    /// A program with the templates of its arguments. Arguments in one group are left out together if a placeholder
    /// in one of them has no value.
    pub fn new(command: &str, groups: &[Vec<String>]) -> Result<Self, String> {
        if command.trim().is_empty() {
            return Err("the program must have a name".to_owned());
        }
        let read = |group: &Vec<String>| group.iter().map(|text| Template::parse(text)).collect();
        let groups: Vec<Vec<Template>> = groups.iter().map(read).collect::<Result<_, String>>()?;
        let has_placeholders =
            groups.iter().flatten().any(|template| template.placeholders().next().is_some());
        let stdin = if has_placeholders { CommandInput::Nothing } else { CommandInput::Json };
        Ok(Self {
            command: command.to_owned(),
            groups,
            env: BTreeMap::new(),
            cwd: None,
            hidden_env: Arc::default(),
            stdin,
            max_bytes: ANSWER_BYTES,
        })
    }

    /// The parameters that the template names.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flatten().flat_map(Template::placeholders)
    }

    /// The shell or other interpreter that gets values of callers among its arguments and may take them for code. It may
    /// stand behind another program: `env`, `sudo`, `docker exec`.
    pub(crate) fn interpreter(&self) -> Option<&str> {
        self.placeholders().next()?;
        let fixed = self.groups.iter().flatten().filter_map(|template| match template.pieces() {
            [Piece::Text(text)] => Some(text.as_str()),
            _ => None,
        });
        std::iter::once(self.command.as_str()).chain(fixed).find(|word| {
            let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
            let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
            INTERPRETERS.contains(&name)
        })
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
