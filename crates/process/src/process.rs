//! A child process and everything that it starts.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

#[cfg(target_os = "linux")]
use crate::kept::Kept;
use crate::program::{LOOK, Program, Streams, prepare};
use crate::table::tree;
#[cfg(target_os = "linux")]
use crate::{executable, keeper, reaper};

/// How long the kernel may take to end a killed process.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// Whether programs are started by keepers.
static KEEPERS: AtomicBool = AtomicBool::new(false);

/// Does the work of a keeper if this process was started as one, and gives its exit status. To be called first in `main` of
/// a program that calls [`enable_keepers`].
pub fn run_as_keeper() -> Option<ExitCode> {
    #[cfg(target_os = "linux")]
    let status = keeper::run();
    #[cfg(not(target_os = "linux"))]
    let status = None;
    status
}

/// From now on every program is started by a keeper: this executable, in the mode that [`run_as_keeper`] is for. A keeper
/// ends everything that its program started, also when this process is killed. Only on Linux; elsewhere, and where `/proc`
/// is missing, programs are started directly.
///
/// Every child that this process gets later is taken for one that lost its keeper, and ended together with a server. So this
/// is for programs that start no processes of their own. Children that are there already are spared: a shell may have started
/// them before it became this program.
pub fn enable_keepers() {
    #[cfg(target_os = "linux")]
    if executable::remember() {
        reaper::spare_children();
        // What loses its keeper becomes ours. Where that is impossible, it is looked for by its mark.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        KEEPERS.store(true, Ordering::Relaxed);
    }
}

/// Why a program could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("starting `{command}`: {reason}")]
pub struct SpawnError {
    /// The program.
    pub command: String,
    /// Why.
    pub reason: String,
}

/// A running process, leader of its own group. Dropping it kills it with all its descendants.
#[derive(Debug)]
pub struct Process {
    child: Started,
    root: Option<Pid>,
    mark: String,
    over: bool,
}

/// Who started the process.
#[derive(Debug)]
enum Started {
    ByUs(Child),
    #[cfg(target_os = "linux")]
    ByKeeper(Box<Kept>),
    /// By a keeper that somebody else waits for.
    #[cfg(target_os = "linux")]
    Left,
}

impl Process {
    /// Starts a program. Dropped while it is awaited, nothing is left of it.
    pub async fn spawn(program: &Program<'_>) -> Result<(Self, Streams), SpawnError> {
        let spawn_error = |reason: String| SpawnError { command: program.command.to_owned(), reason };
        let mark = new_mark();
        #[cfg(target_os = "linux")]
        if KEEPERS.load(Ordering::Relaxed) {
            let (kept, streams) =
                Kept::start(program, &mark).await.map_err(|error| spawn_error(explain(program, &error)))?;
            let root = Some(kept.program);
            let process = Self { child: Started::ByKeeper(Box::new(kept)), root, mark, over: false };
            return Ok((process, streams));
        }
        let mut command = Command::new(program.command);
        command
            .args(program.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        prepare(&mut command, program, &mark);
        let mut child = command.spawn().map_err(|error| spawn_error(explain(program, &error)))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let root = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let process = Self { child: Started::ByUs(child), root, mark, over: false };
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((process, Streams { stdin, stdout, stderr })),
            _ => Err(spawn_error("its standard streams are missing".to_owned())),
        }
    }

    /// Its number.
    pub fn id(&self) -> Option<u32> {
        self.root.and_then(|root| u32::try_from(root.as_raw_pid()).ok())
    }

    /// Waits for its exit. Gives its description, and whether it was a good one.
    pub async fn exit(&mut self) -> (String, bool) {
        let status = match &mut self.child {
            Started::ByUs(child) => child.wait().await,
            #[cfg(target_os = "linux")]
            Started::ByKeeper(kept) => kept.exit().await,
            #[cfg(target_os = "linux")]
            Started::Left => Err(std::io::Error::other("nobody waits for it any more")),
        };
        match status {
            Ok(status) => (describe(status), status.success()),
            Err(error) => (format!("its exit status is unknown: {error}"), false),
        }
    }

    /// Ends it with all its descendants. Its standard input is closed already, which asks it to end by itself; then it
    /// is asked by a signal, then it is killed; `grace` before each step.
    pub async fn end(mut self, grace: Duration) {
        let _ = timeout(grace, self.exit()).await;
        #[cfg(target_os = "linux")]
        if let Started::ByKeeper(kept) = &mut self.child
            && kept.end(grace, KILL_PATIENCE).await
            && adopted().await.is_empty()
        {
            self.over = true;
            return;
        }
        // No keeper, or one that was ended by somebody else: what is left is looked for.
        for (signal, patience) in [(Signal::TERM, grace), (Signal::KILL, KILL_PATIENCE)] {
            #[cfg(target_os = "linux")]
            if signal == Signal::KILL && self.is_kept() {
                let _ = tokio::task::spawn_blocking(|| reaper::sweep(KILL_PATIENCE)).await;
            }
            let strays = self.members().await;
            if !self.is_running() && strays.is_empty() {
                break;
            }
            signal_all(self.root, signal, &strays);
            self.wait_until_gone(patience).await;
        }
        #[cfg(target_os = "linux")]
        if self.is_kept() {
            // Those that ended when they were asked to, too.
            let _ = tokio::task::spawn_blocking(|| reaper::sweep(KILL_PATIENCE)).await;
        }
        self.over = true;
    }

    async fn wait_until_gone(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if let Started::ByUs(child) = &mut self.child {
                let _ = timeout(LOOK, child.wait()).await;
            }
            if !self.is_running() {
                if self.members().await.is_empty() {
                    return;
                }
                sleep(LOOK).await;
            }
        }
    }

    /// Whether it is a child of ours that runs.
    fn is_running(&mut self) -> bool {
        match &mut self.child {
            Started::ByUs(child) => matches!(child.try_wait(), Ok(None)),
            #[cfg(target_os = "linux")]
            Started::ByKeeper(_) | Started::Left => false,
        }
    }

    /// Its living descendants.
    async fn members(&self) -> Vec<Pid> {
        let (root, mark) = (self.root, self.mark.clone());
        let is_kept = self.is_kept();
        // Hundreds of small files are read.
        tokio::task::spawn_blocking(move || strays(root, &mark, is_kept)).await.unwrap_or_default()
    }

    fn is_kept(&self) -> bool {
        match self.child {
            Started::ByUs(_) => false,
            #[cfg(target_os = "linux")]
            Started::ByKeeper(_) | Started::Left => true,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        #[cfg(target_os = "linux")]
        if self.is_kept() {
            if let Started::ByKeeper(kept) = std::mem::replace(&mut self.child, Started::Left) {
                kept.kill();
                let (root, mark) = (self.root, std::mem::take(&mut self.mark));
                // A keeper that was stopped or killed may leave something, and who is dropped cannot wait. Without a thread
                // the keeper ends everything all the same: its control socket is closed.
                let _ = std::thread::Builder::new().spawn(move || finish_off(*kept, root, &mark));
            }
            return;
        }
        signal_all(self.root, Signal::KILL, &strays(self.root, &self.mark, self.is_kept()));
    }
}

/// What lost its keeper.
#[cfg(target_os = "linux")]
async fn adopted() -> Vec<Pid> {
    tokio::task::spawn_blocking(reaper::adopted).await.unwrap_or_default()
}

/// Waits until nothing is left of a program that is being killed, not even a zombie.
#[cfg(target_os = "linux")]
fn finish_off(mut kept: Kept, root: Option<Pid>, mark: &str) {
    if kept.wait_for_kill(KILL_PATIENCE) && reaper::adopted().is_empty() {
        return;
    }
    let until = std::time::Instant::now() + KILL_PATIENCE;
    loop {
        reaper::sweep(KILL_PATIENCE);
        let left = strays(root, mark, true);
        if left.is_empty() || std::time::Instant::now() >= until {
            return;
        }
        signal_all(root, Signal::KILL, &left);
        std::thread::sleep(LOOK);
    }
}

fn signal_all(root: Option<Pid>, signal: Signal, strays: &[Pid]) {
    // What is gone meanwhile needs no signal.
    if let Some(root) = root {
        let _ = kill_process_group(root, signal);
    }
    for stray in strays {
        let _ = kill_process(*stray, signal);
    }
}

/// What is left of a program: its descendants as far as they can be found, and what lost its keeper.
fn strays(root: Option<Pid>, mark: &str, is_kept: bool) -> Vec<Pid> {
    let mut found = tree(root, mark);
    #[cfg(target_os = "linux")]
    if is_kept {
        // A signal that is sent twice does no harm.
        found.extend(reaper::adopted());
    }
    found
}

fn new_mark() -> String {
    // Without randomness the mark is only less unique; the process group is still killed.
    let [high, low] = [(); 2].map(|()| getrandom::u64().unwrap_or(0));
    format!("{}-{high:016x}{low:016x}", std::process::id())
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
        ErrorKind::NotFound if program.command.trim().contains(char::is_whitespace) => {
            "no program has this name; no shell splits it, so its arguments belong into `args`".to_owned()
        }
        ErrorKind::NotFound if is_path => "there is no such file, or its interpreter is missing".to_owned(),
        ErrorKind::NotFound => "not found on PATH; install it, or give its whole path".to_owned(),
        ErrorKind::PermissionDenied => format!("it may not be run: {error}"),
        ErrorKind::ArgumentListTooLong => "its arguments and environment are too long".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn the_gateways_keys_go_only_where_they_are_configured() {
        let env = BTreeMap::from([("MCP_GATEWAY_KEY".to_owned(), "meant for it".to_owned())]);
        let hidden = ["TEAM_KEY".to_owned()];
        let program = Program { command: "x", args: &[], env: &env, cwd: None, hidden_env: &hidden };
        let mut command = Command::new("x");
        prepare(&mut command, &program, "mark");
        let value = |name: &str| {
            command.as_std().get_envs().find(|(key, _)| *key == OsStr::new(name)).map(|(_, value)| value)
        };
        assert_eq!(value("MCP_GATEWAY_API_KEY"), Some(None), "it is removed");
        assert_eq!(value("TEAM_KEY"), Some(None), "so is what the configuration takes keys from");
        assert_eq!(value("MCP_GATEWAY_KEY"), Some(Some(OsStr::new("meant for it"))));
    }
}
