//! Tools whose work is done by a program that is started for each call.
//!
//! No shell is involved. The arguments of a call reach the program in one of two ways: as JSON on its standard input, or
//! through placeholders of the template: `["log", "--author={author}", "--", "{path}"]`. A placeholder is one argument of the
//! program or a part of one, whatever its value is. A value never becomes an option by surprise: where it would stand
//! first in its argument and begins with `-`, the call is refused, unless `--` stands before it in the template.
//!
//! Whether the program takes its arguments as data is up to whoever writes the template. A shell or another interpreter
//! may take them for code, which [`CommandHandler::interpreter`] finds, for a warning.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gateway_protocol::RawJson;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::endpoint::ANSWER_BYTES;
use super::handler::{object, result_of, text_result};
use crate::connection::{Process, Program, Secrets};

/// How long the streams of a program are read once it has ended, with all that could be found of what it started.
const STREAMS: Duration = Duration::from_millis(500);
/// How much of standard error is kept.
const STDERR: usize = 16 << 10;
/// How much of it is shown.
const SHOWN: usize = 2_000;

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

/// One argument of the program: texts and placeholders in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(String),
}

impl CommandHandler {
    /// A program with the templates of its arguments. Arguments in one group are left out together where a placeholder in
    /// one of them has no value.
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

    /// Without variables of ours that it would inherit; those of its own environment stay.
    #[must_use]
    pub fn without_variables(mut self, names: Arc<[String]>) -> Self {
        self.withheld = names;
        self
    }

    /// With another standard input than follows from the template: JSON where it has no placeholders, else nothing.
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
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flatten().flat_map(Template::placeholders)
    }

    /// The shell or other interpreter that gets values of callers among its arguments and may take them for code. It may
    /// stand behind another program: `env`, `sudo`, `docker exec`.
    pub(crate) fn interpreter(&self) -> Option<&str> {
        self.placeholders().next()?;
        let fixed = self.groups.iter().flatten().filter_map(|template| match template.0.as_slice() {
            [Piece::Text(text)] => Some(text.as_str()),
            _ => None,
        });
        std::iter::once(self.command.as_str()).chain(fixed).find(|word| {
            let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
            let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
            INTERPRETERS.contains(&name)
        })
    }

    pub(super) async fn run(&self, arguments: &RawJson) -> Result<RawJson, String> {
        let args = self.args(&object(arguments)?)?;
        let program = Program {
            command: &self.command,
            args: &args,
            env: &self.env,
            cwd: self.cwd.as_ref(),
            withheld: &self.withheld,
        };
        let (mut process, streams) = Process::spawn(&program).await.map_err(|error| error.to_string())?;
        let mut stdin = streams.stdin;
        let input = match self.stdin {
            CommandInput::Nothing => &[][..],
            CommandInput::Json => arguments.as_bytes(),
        };
        let feed = async move {
            // A program that does not read its input has what it needs.
            let _ = stdin.write_all(input).await;
            let _ = stdin.shutdown().await;
            drop(stdin);
        };
        let too_much = || format!("`{}` wrote more than {} bytes", self.command, self.max_bytes);
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let (how, is_good) = {
            let reading = async {
                tokio::try_join!(
                    async {
                        feed.await;
                        Ok(())
                    },
                    async {
                        let is_whole = read_within(streams.stdout, &mut output, self.max_bytes).await;
                        if is_whole { Ok(()) } else { Err(too_much()) }
                    },
                    async {
                        read_last(streams.stderr, &mut errors, STDERR).await;
                        Ok(())
                    },
                )
            };
            tokio::pin!(reading);
            // Dropped while it is awaited, or left by an error, the process ends with all that it started.
            let (read, exit) = tokio::select! {
                read = &mut reading => (Some(read), process.exit().await),
                exit = process.exit() => (None, exit),
            };
            // What it left running has nobody to talk to any more, and may hold its streams open.
            process.end(Duration::ZERO).await;
            match read {
                Some(read) => read?,
                // What hid so well that it was not ended may hold them for ever; what came so far is all then.
                None => timeout(STREAMS, reading).await.unwrap_or(Ok(((), (), ())))?,
            };
            exit
        };
        let output = String::from_utf8_lossy(&output);
        let is_cut = errors.len() >= STDERR;
        let errors =
            String::from_utf8_lossy(errors.get(errors.len().saturating_sub(STDERR)..).unwrap_or_default());
        if !is_good {
            let said = [errors.trim(), output.trim()].into_iter().find(|text| !text.is_empty());
            // Before it is cut, because half a secret is not found any more.
            let secrets = Secrets::of(self.env.values().map(String::as_str));
            let said = said.map_or_else(String::new, |said| {
                let said = secrets.hide(said.to_owned(), is_cut);
                format!(": {}", said.chars().take(SHOWN).collect::<String>())
            });
            return Err(format!("`{}`: {how}{said}", self.command));
        }
        match RawJson::parse(output.trim().to_owned()) {
            Ok(value) if value.as_str().starts_with('{') => result_of(&value),
            _ => Ok(text_result(&output)),
        }
    }

    /// What the program is given.
    fn args(&self, arguments: &Map<String, Value>) -> Result<Vec<String>, String> {
        let mut args = Vec::new();
        let mut options_are_over = false;
        for group in &self.groups {
            let filled: Option<Vec<String>> = group.iter().map(|template| template.fill(arguments)).collect();
            let Some(filled) = filled else { continue };
            for (template, text) in group.iter().zip(filled) {
                if text.contains('\0') {
                    return Err("a value holds the character NUL, which no argument can".to_owned());
                }
                if let (Some(Piece::Placeholder(name)), true, false) =
                    (template.0.first(), text.starts_with('-'), options_are_over)
                {
                    return Err(format!(
                        "`{name}` begins with `-` and would be taken for an option of `{}`",
                        self.command
                    ));
                }
                options_are_over |= template.0 == [Piece::Text("--".to_owned())];
                args.push(text);
            }
        }
        Ok(args)
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

impl Template {
    /// Reads `text {placeholder} text`; `{{` and `}}` are braces.
    fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '{' if letters.next_if_eq(&'{').is_some() => plain.push('{'),
                '}' if letters.next_if_eq(&'}').is_some() => plain.push('}'),
                '{' => {
                    let mut name = String::new();
                    loop {
                        match letters.next() {
                            Some('}') => break,
                            Some('{') | None => {
                                return Err(format!("`{text}` has a `{{` without `}}`; `{{{{` is a brace"));
                            }
                            Some(letter) => name.push(letter),
                        }
                    }
                    if name.is_empty() {
                        return Err(format!(
                            "`{text}` has a placeholder without a name; `{{{{}}}}` are braces"
                        ));
                    }
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Placeholder(name));
                }
                '}' => return Err(format!("`{text}` has a `}}` without `{{`; `}}}}` is a brace")),
                other => plain.push(other),
            }
        }
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        if let [Piece::Text(first), Piece::Placeholder(name), ..] = pieces.as_slice()
            && first.bytes().all(|byte| byte == b'-')
        {
            return Err(format!("`{text}` lets `{name}` choose the option; write the option out"));
        }
        Ok(Self(pieces))
    }

    fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Placeholder(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The text; `None` if a placeholder has no value.
    fn fill(&self, arguments: &Map<String, Value>) -> Option<String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Placeholder(name) => match arguments.get(name)? {
                    Value::Null => return None,
                    Value::String(value) => text.push_str(value),
                    other => text.push_str(&other.to_string()),
                },
            }
        }
        Some(text)
    }
}

/// Reads all that a stream gives; whether that is not more than `limit`.
async fn read_within(stream: impl AsyncRead + Unpin, bytes: &mut Vec<u8>, limit: usize) -> bool {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    // A stream that breaks has given what it could.
    let _ = stream.take(most).read_to_end(bytes).await;
    bytes.len() <= limit
}

/// Keeps at least the last `limit` bytes of what a stream gives, and at most twice as many.
async fn read_last(mut stream: impl AsyncRead + Unpin, bytes: &mut Vec<u8>, limit: usize) {
    let mut piece = vec![0; 4 << 10];
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
        if bytes.len() > limit * 2 {
            bytes.drain(..bytes.len() - limit);
        }
    }
}
