//! A child process and everything that it starts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::error::ConnectError;

/// A variable in the environment of the child. Whatever the child starts has it too, also what leaves the process
/// group or loses its parent; so all of it can be found again.
const MARK: &str = "GATEWAY_UPSTREAM_MARK";

/// The gateway's own keys, where they have no other names. They open the gateway, so no program gets them that is not
/// meant to.
const OWN_KEYS: [&str; 3] = ["MCP_GATEWAY_API_KEY", "MCP_GATEWAY_ADMIN_KEY", "MCP_GATEWAY_KEY"];

/// How often to look whether killed processes are gone: they are not our children, so nobody tells us.
const LOOK: Duration = Duration::from_millis(20);

/// How long the kernel may take to end a killed process.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// The parent of the kernel's threads.
const KERNEL: i32 = 2;

/// How often, and after which pause, a process is looked at again that may be in the middle of `exec`.
const EXEC_LOOKS: usize = 10;
const EXEC_PAUSE: Duration = Duration::from_millis(5);

/// More than nearly all environments have.
const ENVIRONMENT_BYTES: usize = 64 << 10;

/// How to start a process.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: Option<&'a PathBuf>,
    /// Further variables of ours that it does not inherit.
    pub(crate) withheld: &'a [String],
}

/// The streams of a process.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A running process, leader of its own group. Dropping it kills it with all its descendants.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    root: Option<Pid>,
    mark: String,
    over: bool,
}

impl Process {
    pub(crate) fn spawn(program: &Program<'_>) -> Result<(Self, Streams), ConnectError> {
        let spawn_error =
            |reason: String| ConnectError::Spawn { command: program.command.to_owned(), reason };
        let mark = new_mark();
        let mut child =
            command(program, &mark).spawn().map_err(|error| spawn_error(explain(program, &error)))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let root = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let process = Self { child, root, mark, over: false };
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((process, Streams { stdin, stdout, stderr })),
            _ => Err(spawn_error("its standard streams are missing".to_owned())),
        }
    }

    /// Its number.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for its exit and tells how it was.
    pub(super) async fn exited(&mut self) -> String {
        self.exit().await.0
    }

    /// The same, and whether it was a good one.
    pub(crate) async fn exit(&mut self) -> (String, bool) {
        match self.child.wait().await {
            Ok(status) => (describe(status), status.success()),
            Err(error) => (format!("its exit status is unknown: {error}"), false),
        }
    }

    /// Ends it with all its descendants. Its standard input is closed already, which asks it to end by itself; then it
    /// is asked by a signal, then it is killed; `grace` before each step.
    pub(crate) async fn end(mut self, grace: Duration) {
        let _ = timeout(grace, self.child.wait()).await;
        for (signal, patience) in [(Signal::TERM, grace), (Signal::KILL, KILL_PATIENCE)] {
            let strays = self.members().await;
            if !self.is_running() && strays.is_empty() {
                break;
            }
            self.signal(signal, &strays);
            self.wait_until_gone(patience).await;
        }
        self.over = true;
    }

    async fn wait_until_gone(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            let _ = timeout(LOOK, self.child.wait()).await;
            if !self.is_running() {
                if self.members().await.is_empty() {
                    return;
                }
                sleep(LOOK).await;
            }
        }
    }

    fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its living descendants.
    async fn members(&self) -> Vec<Pid> {
        let (root, mark) = (self.root, self.mark.clone());
        // Hundreds of small files are read.
        tokio::task::spawn_blocking(move || tree(root, &mark)).await.unwrap_or_default()
    }

    fn signal(&self, signal: Signal, strays: &[Pid]) {
        // What is gone meanwhile needs no signal.
        if let Some(root) = self.root {
            let _ = kill_process_group(root, signal);
        }
        for stray in strays {
            let _ = kill_process(*stray, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL, &tree(self.root, &self.mark));
        }
    }
}

fn command(program: &Program<'_>, mark: &str) -> Command {
    let mut command = Command::new(program.command);
    for key in OWN_KEYS.into_iter().chain(program.withheld.iter().map(String::as_str)) {
        command.env_remove(key);
    }
    command
        .args(program.args)
        .envs(program.env)
        .env(MARK, mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(directory) = program.cwd {
        command.current_dir(directory);
    }
    command
}

fn new_mark() -> String {
    let mut bytes = [0_u8; 12];
    let mut mark = format!("{}-", std::process::id());
    // Without randomness the mark is only less unique; the process group is still killed.
    if getrandom::fill(&mut bytes).is_ok() {
        for byte in bytes {
            let _ = write!(mark, "{byte:02x}");
        }
    }
    mark
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it exited".to_owned(),
    }
}

fn explain(program: &Program<'_>, error: &std::io::Error) -> String {
    if let Some(directory) = program.cwd.filter(|directory| !directory.is_dir()) {
        return format!("the working directory `{}` is no directory", directory.display());
    }
    let is_path = program.command.contains('/');
    match error.kind() {
        ErrorKind::NotFound if is_path => "there is no such file, or its interpreter is missing".to_owned(),
        ErrorKind::NotFound => "not found on PATH; install it, or give its whole path".to_owned(),
        ErrorKind::PermissionDenied => format!("it may not be run: {error}"),
        ErrorKind::ArgumentListTooLong => "its arguments and environment are too long".to_owned(),
        _ => error.to_string(),
    }
}

/// What one line of the process table tells.
struct Entry {
    pid: i32,
    parent: i32,
    group: i32,
}

/// The living processes that descend from `root`, are in its group, or carry `mark`; without `root` itself.
///
/// Where there is no process table to read, the group itself stands for its members.
fn tree(root: Option<Pid>, mark: &str) -> Vec<Pid> {
    let Ok(directory) = std::fs::read_dir("/proc") else {
        return root.filter(|root| test_kill_process_group(*root).is_ok()).into_iter().collect();
    };
    let root = root.map(Pid::as_raw_pid);
    let needle = format!("{MARK}={mark}");
    let mut entries: Vec<Entry> = directory
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(living)
        .filter(|entry| Some(entry.pid) != root)
        .collect();
    let mut found: Vec<i32> = Vec::new();
    for look in 1..=EXEC_LOOKS {
        let mut is_unclear = false;
        entries.retain(|entry| {
            let carried = carries(entry, &needle);
            is_unclear |= carried.is_none();
            let is_near = root.is_some_and(|root| entry.group == root || entry.parent == root);
            let belongs = is_near || carried == Some(true);
            if belongs {
                found.push(entry.pid);
            }
            !belongs
        });
        if !is_unclear || look == EXEC_LOOKS {
            break;
        }
        std::thread::sleep(EXEC_PAUSE);
    }
    // Children of what was found, until nothing is added.
    let mut known = 0;
    while known < found.len() {
        let parent = found.get(known).copied().unwrap_or_default();
        known += 1;
        entries.retain(|entry| {
            if entry.parent == parent {
                found.push(entry.pid);
            }
            entry.parent != parent
        });
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

fn living(pid: i32) -> Option<Entry> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may have any letters.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Entry { pid, parent, group })
}

/// The environment of a process, read at once as far as it goes: between two readings it may be another's, or none.
fn environment(pid: i32) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(Path::new("/proc").join(pid.to_string()).join("environ"))?;
    let mut text = vec![0; ENVIRONMENT_BYTES];
    let length = file.read(&mut text)?;
    text.truncate(length);
    if length == ENVIRONMENT_BYTES {
        file.read_to_end(&mut text)?;
    }
    Ok(text)
}

/// Whether a process carries the mark; nothing while that cannot be told. In the middle of `exec` a process has no
/// environment; threads of the kernel never have one.
fn carries(entry: &Entry, needle: &str) -> Option<bool> {
    let Ok(text) = environment(entry.pid) else { return Some(false) };
    if text.is_empty() && entry.pid != KERNEL && entry.parent != KERNEL {
        return None;
    }
    Some(text.split(|byte| *byte == 0).any(|variable| variable == needle.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// A process that is in the middle of `exec` most of the time.
    #[test]
    fn what_is_being_executed_is_found_too() {
        let mark = new_mark();
        let again = r#"if [ "$1" -gt 0 ]; then exec sh -c "$0" "$0" "$(($1 - 1))"; fi; exec sleep 1000"#;
        let mut child = std::process::Command::new("setsid")
            .args(["sh", "-c", again, again, "400"])
            .env(MARK, &mark)
            .spawn()
            .unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let command = || std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap_or_default();
        let (mut looks, mut found) = (0, 0);
        while !command().starts_with(b"sleep") {
            found += usize::from(tree(None, &mark).contains(&pid));
            looks += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, looks);
        assert!(looks > 0 && tree(None, &mark).is_empty());
    }

    #[test]
    fn the_gateways_keys_go_only_where_they_are_configured() {
        let env = BTreeMap::from([("MCP_GATEWAY_KEY".to_owned(), "meant for it".to_owned())]);
        let withheld = ["TEAM_KEY".to_owned()];
        let program = Program { command: "x", args: &[], env: &env, cwd: None, withheld: &withheld };
        let command = command(&program, "mark");
        let value = |name: &str| {
            command.as_std().get_envs().find(|(key, _)| *key == OsStr::new(name)).map(|(_, value)| value)
        };
        assert_eq!(value("MCP_GATEWAY_API_KEY"), Some(None), "it is removed");
        assert_eq!(value("TEAM_KEY"), Some(None), "so is what the configuration takes keys from");
        assert_eq!(value("MCP_GATEWAY_KEY"), Some(Some(OsStr::new("meant for it"))));
    }
}
