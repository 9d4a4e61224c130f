//! A directory of its own for the binary, and gateways that run in it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use gateway_testkit::Fixture;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Run;

/// How long anything may take. Nothing comes near it, unless it is broken.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// An empty directory and an empty environment.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file as editors do: a temporary file first, then a rename.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let draft = self.path(&format!("{name}.draft"));
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(draft, self.path(name)).unwrap();
    }

    /// Writes the configuration that is found without being named.
    pub(crate) fn configure(&self, config: &Value) {
        self.write("mcp-gateway-config.json", &config.to_string());
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("mcp-tool-gateway"));
        command.args(arguments).env_clear().current_dir(self.folder.path());
        command
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "", &[])
    }

    /// Runs the binary with standard input and variables.
    #[track_caller]
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Run {
        let output = assert_cmd::Command::from_std(self.command(arguments))
            .envs(variables.iter().copied())
            .write_stdin(input)
            .timeout(DEADLINE)
            .output()
            .unwrap();
        Run {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts `serve` on a free port, with a data directory here.
    #[track_caller]
    pub(crate) fn serve(&self, arguments: &[&str]) -> Gateway {
        let data = self.path("data");
        let mut all = vec!["serve", "--port", "0", "--data", data.to_str().unwrap()];
        all.extend(arguments);
        Gateway::start(self.command(&all))
    }
}

/// The entry of a fixture over stdio, started at once.
pub(crate) fn fixture(fixture: &Fixture) -> Value {
    let (command, arguments) = fixture.command().unwrap();
    json!({"command": command, "args": arguments, "connect": "eager"})
}

/// The words with which a fixture over stdio is started.
pub(crate) fn words(fixture: &Fixture) -> Vec<String> {
    let (command, arguments) = fixture.command().unwrap();
    std::iter::once(command.to_str().unwrap().to_owned()).chain(arguments).collect()
}

/// `arguments`, `--`, and the words of a fixture.
pub(crate) fn ad_hoc<'a>(arguments: &[&'a str], words: &'a [String]) -> Vec<&'a str> {
    arguments.iter().copied().chain(["--"]).chain(words.iter().map(String::as_str)).collect()
}

/// A port that is free at the moment.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// A program that runs, with the lines of its standard output.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// What was read so far.
    pub(crate) seen: Vec<String>,
}

impl Running {
    #[track_caller]
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, seen: Vec::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with `part` that was not waited for before.
    #[track_caller]
    pub(crate) fn line(&mut self, part: &str) -> String {
        let until = Instant::now() + DEADLINE;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
        let _ = self.child.kill();
        let errors = self.errors();
        panic!("no line with {part:?}: {:#?} {errors}", self.seen);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its exit: the exit status and the rest of its output.
    #[track_caller]
    pub(crate) fn end(&mut self) -> (Option<i32>, Vec<String>) {
        let until = Instant::now() + DEADLINE;
        let mut rest = Vec::new();
        // The channel closes when the program has closed its output.
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            rest.push(line);
        }
        assert!(Instant::now() < until, "it does not end: {rest:#?}");
        (self.child.wait().unwrap().code(), rest)
    }

    /// What it wrote to standard error; only once it has ended.
    pub(crate) fn errors(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut text).unwrap();
        }
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gateway that listens.
pub(crate) struct Gateway {
    pub(crate) running: Running,
    pub(crate) port: u16,
}

/// Calls a tool of the gateway at a port.
#[track_caller]
pub(crate) fn call(port: u16, server: &str, tool: &str, arguments: &Value) -> Value {
    post(port, "/call_tool", &json!({"server": server, "tool": tool, "arguments": arguments}))
}

#[track_caller]
fn post(port: u16, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    request(port, &(head + &body))
}

impl Gateway {
    #[track_caller]
    pub(crate) fn start(command: Command) -> Self {
        let mut running = Running::start(command);
        let line = running.line("http://127.0.0.1:");
        let digits: String =
            line.split("127.0.0.1:").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
        Self { running, port: digits.parse().unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    #[track_caller]
    pub(crate) fn line(&mut self, part: &str) -> String {
        self.running.line(part)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        request(self.port, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
    }

    #[track_caller]
    pub(crate) fn call(&self, server: &str, tool: &str, arguments: &Value) -> Value {
        call(self.port, server, tool, arguments)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        post(self.port, path, body)
    }

    /// Ends it as an operator does; the exit status and what it said meanwhile.
    #[track_caller]
    pub(crate) fn stop(&mut self) -> (Option<i32>, Vec<String>) {
        self.running.signal(Signal::TERM);
        self.running.end()
    }
}

#[track_caller]
fn request(port: u16, text: &str) -> Value {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(!head.contains("transfer-encoding"), "{head}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
