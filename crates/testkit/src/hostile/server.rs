//! A hostile MCP server over stdio. Its definitions are files, sent verbatim; its tools misbehave by name.
//!
//! | tool | what it does |
//! | --- | --- |
//! | `big` | a result of `bytes` bytes |
//! | `deep` | a result nested `levels` deep |
//! | `garbled` | an answer that is not UTF-8 |
//! | `hang` | no answer, ever |
//! | `ask` | asks its caller `message` and answers with the reply |
//! | `flood_requests`, `flood_notifications` | `count` messages, then an answer |
//! | `relist` | says that its tools have changed |
//! | `stray` | starts a process in a session of its own, without an environment |
//! | any other | the arguments as received |

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::files::AppendFile;
use crate::message::Message;
use crate::process::sleep_for_ever;

/// Bytes of a cursor and of a tool in listings that are too large.
const HUGE: usize = 20 << 20;

/// The files of a hostile server: what it sends, and what it recorded.
#[derive(Clone, Debug)]
pub struct HostileServer {
    folder: PathBuf,
    name: String,
}

impl HostileServer {
    /// The server of a name, whose files are in a folder.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self { folder: folder.to_owned(), name: name.to_owned() }
    }

    /// A file of this server: `tools`, `info`, `last-words`, `listing`, `stay` or `record`.
    pub(crate) fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name))
    }

    fn read(&self, kind: &str) -> Option<String> {
        std::fs::read_to_string(self.file(kind)).ok()
    }

    /// Serves standard input until it ends.
    pub fn run(&self) -> io::Result<()> {
        let record = AppendFile::open(Some(&self.file("record")))?;
        record.append(&format!("pid {}", std::process::id()));
        if let Some(words) = self.read("last-words") {
            let _ = io::stderr().write_all(words.as_bytes());
            std::process::exit(3);
        }
        let mut open = Open { server: self, record, asked: HashMap::new() };
        for line in io::stdin().lock().lines() {
            let line = line?;
            if let Ok(message) = Message::parse(line.as_bytes()) {
                open.handle(&message, &line)?;
            }
        }
        if self.file("stay").exists() {
            sleep_for_ever();
        }
        Ok(())
    }
}

/// What a stray process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Stray {
    /// Leaves the session, starts one that sleeps, reports its id and exits.
    Leave,
    /// Sleeps.
    Sleep,
}

/// Runs as a stray process.
pub fn run_stray(stray: Stray) -> io::Result<()> {
    match stray {
        Stray::Leave => {
            let _ = rustix::process::setsid();
            let id = run_detached("sleep")?.id();
            writeln!(io::stdout(), "{id}")
        }
        Stray::Sleep => {
            let _ = rustix::process::setsid();
            sleep_for_ever()
        }
    }
}

/// Starts this program as a stray, without an environment.
fn run_detached(stray: &str) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["stray", stray])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if stray == "sleep" {
        command.stdout(Stdio::null());
    }
    command.spawn()
}

struct Open<'s> {
    server: &'s HostileServer,
    record: AppendFile,
    /// Open questions: their id, and the call that they belong to.
    asked: HashMap<String, String>,
}

impl Open<'_> {
    fn handle(&mut self, message: &Message, line: &str) -> io::Result<()> {
        let Some(id) = message.id.map(RawValue::get) else { return Ok(()) };
        let Some(method) = message.method.as_deref() else {
            if let Some(call) = self.asked.remove(id) {
                return reply(&call, &text_result(line));
            }
            return Ok(());
        };
        match method {
            "initialize" => self.initialize(id),
            "tools/list" => self.list(id, message),
            "tools/call" => {
                let (tool, arguments) = (message.name().unwrap_or_default(), message.arguments());
                self.record.append(&format!("call {} {arguments}", Value::from(tool)));
                self.call(id, tool, arguments)
            }
            "ping" => reply(id, "{}"),
            "resources/list" => reply(id, r#"{"resources":[{"uri":"note://a","name":"a"}]}"#),
            "resources/templates/list" => reply(id, r#"{"resourceTemplates":[]}"#),
            "resources/read" => reply(id, r#"{"contents":[{"uri":"note://a","text":"a note"}]}"#),
            "prompts/list" => reply(id, r#"{"prompts":[{"name":"greet"}]}"#),
            "prompts/get" => {
                reply(id, r#"{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}"#)
            }
            _ => write_line(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no such method"}}}}"#
            )),
        }
    }

    fn initialize(&self, id: &str) -> io::Result<()> {
        let info =
            self.server.read("info").unwrap_or_else(|| r#"{"name":"hostile","version":"1"}"#.to_owned());
        let offers = r#"{"tools":{"listChanged":true},"resources":{},"prompts":{}}"#;
        let result =
            format!(r#"{{"protocolVersion":"2025-06-18","capabilities":{offers},"serverInfo":{info}}}"#);
        reply(id, &result)
    }

    fn list(&self, id: &str, message: &Message) -> io::Result<()> {
        let tools = self.server.read("tools").unwrap_or_else(|| "[]".to_owned());
        let cursor = message.params.as_ref().and_then(|params| params.cursor.as_deref()).unwrap_or_default();
        let page = cursor.bytes().filter(|byte| *byte == b'+').count();
        self.record.append("list");
        match self.server.read("listing").as_deref().map(str::trim) {
            Some("cursors") => {
                let cursor = "+".repeat(page + 1) + &"c".repeat(HUGE);
                reply(id, &format!(r#"{{"tools":[],"nextCursor":"{cursor}"}}"#))
            }
            Some("pages") if page < 30 => {
                let filler = "d".repeat(HUGE);
                let cursor = "+".repeat(page + 1);
                let tool = format!(
                    r#"{{"name":"t{page}","description":"{filler}","inputSchema":{{"type":"object"}}}}"#
                );
                reply(id, &format!(r#"{{"tools":[{tool}],"nextCursor":"{cursor}"}}"#))
            }
            _ => reply(id, &format!(r#"{{"tools":{}}}"#, tools.trim())),
        }
    }

    fn call(&mut self, id: &str, tool: &str, arguments: &str) -> io::Result<()> {
        let given: Value = serde_json::from_str(arguments).unwrap_or_default();
        let number =
            |name: &str| given.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        match tool {
            "big" => {
                let text = "x".repeat(number("bytes").unwrap_or(1 << 20));
                reply(id, &format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#))
            }
            "deep" => {
                let levels = number("levels").unwrap_or(5_000);
                let nested = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
                reply(id, &format!(r#"{{"content":[],"structuredContent":{nested}}}"#))
            }
            "garbled" => {
                let start =
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
                let mut line = start.into_bytes();
                line.extend_from_slice(b"\xff\xfe\"}]}}\n");
                io::stdout().lock().write_all(&line)
            }
            "hang" => Ok(()),
            "ask" => {
                let message = given.get("message").and_then(Value::as_str).unwrap_or("who are you?");
                let question = format!("\"ask-{}\"", self.asked.len() + 1);
                self.asked.insert(question.clone(), id.to_owned());
                let params =
                    json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}});
                request(&question, "elicitation/create", &params.to_string())
            }
            "flood_requests" => {
                let sampling = r#"{"messages":[],"maxTokens":1}"#;
                let count = number("count").unwrap_or(1_000);
                flood(id, count, move |index| {
                    request(&format!("\"q{index}\""), "sampling/createMessage", sampling)
                });
                Ok(())
            }
            "flood_notifications" => {
                let count = number("count").unwrap_or(1_000);
                let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"noise"}}"#;
                flood(id, count, move |_| write_line(log));
                Ok(())
            }
            "relist" => {
                write_line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)?;
                reply(id, &text_result("changed"))
            }
            "stray" => {
                // Its parent exits at once, so that it is not a descendant of the server.
                let pid = run_detached("leave")?.wait_with_output()?.stdout;
                self.record.append(&format!("pid {}", String::from_utf8_lossy(&pid).trim()));
                reply(id, &text_result("started"))
            }
            _ => reply(id, &text_result(arguments)),
        }
    }
}

/// Sends many messages concurrently with reading, and answers at the end.
fn flood(id: &str, count: usize, send: impl Fn(usize) -> io::Result<()> + Send + 'static) {
    let id = id.to_owned();
    std::thread::spawn(move || {
        for index in 0..count {
            send(index)?;
        }
        reply(&id, &text_result("done"))
    });
}

fn text_result(text: &str) -> String {
    json!({"content": [{"type": "text", "text": text}]}).to_string()
}

fn request(id: &str, method: &str, params: &str) -> io::Result<()> {
    write_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
}

fn reply(id: &str, result: &str) -> io::Result<()> {
    write_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

fn write_line(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}
