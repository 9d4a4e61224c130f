//! The sandbox of an attack: its own directory, home and gateways, all removed afterwards.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::caller::Caller;
use super::server::HostileServer;
use crate::process::{eventually_blocking, is_alive};

/// How long a program may take to start or to exit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The programs that an attack uses.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The gateway under attack.
    pub gateway: PathBuf,
    /// `gateway-attack`, which is the hostile server too.
    pub attack: PathBuf,
}

/// The servers' files: not next to the configuration, because the gateway watches that folder.
const SERVERS: &str = "servers";

/// Starts a program with idle scheduling.
///
/// The lowest priority is not enough: the kernel lets even such a program finish its time slice, which delays the others by
/// milliseconds.
pub(crate) const IN_BACKGROUND: [&str; 6] = ["chrt", "--idle", "0", "nice", "-n", "19"];

/// A directory for one attack.
pub(crate) struct Arena {
    programs: Programs,
    folder: tempfile::TempDir,
    /// What the attack found broken.
    pub(super) breaches: RefCell<Vec<String>>,
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Arena {
    pub(crate) fn new(programs: &Programs) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("gateway-attack-").tempdir()?;
        std::fs::create_dir(folder.path().join("home"))?;
        std::fs::create_dir(folder.path().join(SERVERS))?;
        Ok(Self { programs: programs.clone(), folder, breaches: RefCell::default() })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A hostile server with these definitions, sent verbatim.
    pub(crate) fn server(&self, name: &str, tools: &str) -> Result<Hostile> {
        let folder = self.path(SERVERS);
        let files = HostileServer::new(&folder, name);
        std::fs::write(files.file("tools"), tools)?;
        Ok(Hostile { name: name.to_owned(), files, folder, program: self.programs.attack.clone() })
    }

    fn command(&self, shell: &str) -> Command {
        let mut command = if shell.is_empty() {
            Command::new(&self.programs.gateway)
        } else {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("{shell}; exec \"$0\" \"$@\"")).arg(&self.programs.gateway);
            command
        };
        command.env_clear().env("HOME", self.path("home")).current_dir(self.folder.path());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// Starts a gateway on a free port, with its data here.
    pub(crate) fn serve(&self, config: &Value) -> Result<Gateway> {
        self.serve_after("", config)
    }

    /// Starts a gateway with one hostile server, called `e`, whose entry has `more` members. Waits until a text is in the
    /// list of tools.
    pub(crate) fn serve_one(&self, tools: &str, more: &Value, listed: &str) -> Result<(Hostile, Gateway)> {
        let server = self.server("e", tools)?;
        let gateway = self.serve(&json!({"mcpServers": {"e": server.entry_with(more)}}))?;
        gateway.lists(listed);
        Ok((server, gateway))
    }

    /// Starts a gateway after commands of a shell, such as `umask 022`.
    pub(crate) fn serve_after(&self, shell: &str, config: &Value) -> Result<Gateway> {
        std::fs::write(self.path("config.json"), config.to_string())?;
        let mut command = self.command(shell);
        command.args(["serve", "--port", "0", "--log-level", "warn", "--config"]);
        command.arg(self.path("config.json")).arg("--data").arg(self.path("data"));
        Gateway::start(command, self.folder.path())
    }

    /// A command of the gateway in a folder, not started yet.
    pub(crate) fn command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command("");
        command.args(arguments).current_dir(folder);
        command
    }

    /// Runs a command of the gateway to its end.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Result<Output> {
        std::fs::write(self.path("input"), input)?;
        let mut command = self.command("");
        command.args(arguments).stdin(std::fs::File::open(self.path("input"))?);
        let mut running = Running::start(command)?;
        let status = running.wait(PATIENCE)?;
        Ok(Output { status, stdout: running.stdout.bytes(), stderr: running.stderr.bytes() })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for pid in recorded_pids(&self.path(SERVERS)) {
            end_if_ours(pid);
        }
    }
}

/// A hostile server, from outside.
pub(crate) struct Hostile {
    pub(crate) name: String,
    files: HostileServer,
    folder: PathBuf,
    program: PathBuf,
}

impl Hostile {
    /// Its entry in the configuration.
    pub(crate) fn entry(&self) -> Value {
        json!({"command": self.program, "args": ["server", self.folder, self.name], "connect": "eager",
            "protocol": "legacy"})
    }

    /// Its entry, as a program that runs in the background.
    pub(crate) fn background_entry(&self) -> Value {
        let [command, arguments @ ..] = IN_BACKGROUND;
        let mut arguments: Vec<Value> = arguments.into_iter().map(Value::from).collect();
        arguments.extend([json!(self.program), "server".into(), json!(self.folder), json!(self.name)]);
        json!({"command": command, "args": arguments, "connect": "eager", "protocol": "legacy"})
    }

    /// Its entry, with more members.
    pub(crate) fn entry_with(&self, more: &Value) -> Value {
        let mut entry = self.entry();
        if let (Some(entry), Some(more)) = (entry.as_object_mut(), more.as_object()) {
            entry.extend(more.clone());
        }
        entry
    }

    /// Writes one of its files.
    pub(crate) fn write(&self, kind: &str, text: &str) -> Result<()> {
        std::fs::write(self.files.file(kind), text).context("writing a file of the server")
    }

    /// What it recorded.
    pub(crate) fn record(&self) -> String {
        std::fs::read_to_string(self.files.file("record")).unwrap_or_default()
    }

    /// The calls that reached it, each `"tool" {arguments}`.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.record().lines().filter_map(|line| line.strip_prefix("call ")).map(str::to_owned).collect()
    }

    /// The calls of one tool that reached it.
    pub(crate) fn calls_of(&self, tool: &str) -> usize {
        let start = format!("{} ", Value::from(tool));
        self.calls().iter().filter(|call| call.starts_with(&start)).count()
    }

    /// The processes that it is or has started.
    pub(crate) fn pids(&self) -> Vec<u32> {
        pids_in(&self.record()).collect()
    }
}

fn recorded_pids(folder: &Path) -> BTreeSet<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeSet::new() };
    let records = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        (path.extension()? == "record").then(|| std::fs::read_to_string(path).ok())?
    });
    records.flat_map(|record| pids_in(&record).collect::<Vec<_>>()).collect()
}

fn pids_in(record: &str) -> impl Iterator<Item = u32> {
    record.lines().filter_map(|line| line.strip_prefix("pid ")?.parse().ok())
}

/// Kills a process that a hostile server recorded, unless its id belongs to another program by now.
fn end_if_ours(pid: u32) {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let name: &[u8] = b"gateway-attack";
    if is_alive(pid) && command.windows(name.len()).any(|window| window == name) {
        signal(pid, Signal::KILL);
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have exited meanwhile.
        let _ = kill_process(pid, signal);
    }
}

/// The output of a program: a file, so that nobody has to read along.
pub(crate) struct Written(NamedTempFile);

impl Written {
    /// What was written so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.0.path()).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

/// A running program; dropping this kills it.
pub(crate) struct Running {
    child: Child,
    pub(crate) stdout: Written,
    pub(crate) stderr: Written,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        if super::started::is_interrupted() {
            bail!("interrupted");
        }
        let (stdout, stderr) = (NamedTempFile::new()?, NamedTempFile::new()?);
        command.stdout(stdout.reopen()?).stderr(stderr.reopen()?);
        let child = command.spawn().context("starting the gateway")?;
        super::started::add(child.id());
        Ok(Self { child, stdout: Written(stdout), stderr: Written(stderr) })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Waits for its exit; kills it at the deadline.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<Option<i32>> {
        let ended = eventually_blocking(patience, "the end of the gateway", || self.has_ended());
        if ended.is_err() {
            let _ = self.child.kill();
        }
        let status = self.child.wait()?;
        super::started::remove(self.child.id());
        ended.context("ending the gateway")?;
        Ok(status.code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended() {
            signal(self.pid(), Signal::TERM);
        }
        let _ = self.wait(Duration::from_secs(15));
    }
}

/// A gateway that listens. What is asked of it comes from a caller without a key.
pub(crate) struct Gateway {
    pub(crate) running: Running,
    pub(crate) caller: Caller,
}

impl Deref for Gateway {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Gateway {
    pub(crate) fn start(mut command: Command, folder: &Path) -> Result<Self> {
        command.stdin(Stdio::null());
        let mut running = Running::start(command)?;
        let mut port = None;
        let _ = eventually_blocking(PATIENCE, "its port", || {
            port = port_in(&running.stdout.text());
            port.is_some() || running.has_ended()
        });
        let Some(port) = port else {
            let (folder, said) = (folder.display(), running.stderr.text());
            bail!("the gateway in {folder} does not listen: {said}");
        };
        Ok(Self { running, caller: Caller::new(port) })
    }

    /// Peak resident memory.
    pub(crate) fn peak(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.running.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) << 10
    }

    /// Stops it as an operator does.
    pub(crate) fn stop(&mut self) -> Result<Option<i32>> {
        signal(self.running.pid(), Signal::TERM);
        self.running.wait(PATIENCE)
    }

    /// Kills it as a crash would.
    pub(crate) fn kill(&mut self) -> Result<()> {
        signal(self.running.pid(), Signal::KILL);
        self.running.wait(PATIENCE).map(|_| ())
    }
}

fn port_in(output: &str) -> Option<u16> {
    let (_, rest) = output.split_once("http://127.0.0.1:")?;
    let end = rest.find(|character: char| !character.is_ascii_digit())?;
    rest.get(..end)?.parse().ok()
}
