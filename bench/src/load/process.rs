//! The programs that are measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::client::{Request, drive_once};
use super::messages;

/// How long a program may take to start or to exit.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program next to this one.
pub(super) fn find_program(name: &str) -> Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program")?.with_file_name(name);
    if !program.exists() {
        bail!("{} is not there: build the workspace first, with the same profile", program.display());
    }
    Ok(program)
}

/// A configuration with one stdio server called `one`.
pub(super) fn stdio_config(fixture: &Path, args: &[&str]) -> Value {
    let args: Vec<&str> = std::iter::once("stdio").chain(args.iter().copied()).collect();
    json!({"mcpServers": {"one": {"command": fixture, "args": args, "connect": "eager"}}})
}

/// A configuration with `one` over stdio and `two` over HTTP.
pub(super) fn two_config(fixture: &Path, url: &str) -> Value {
    let mut config = stdio_config(fixture, &[]);
    if let Some(servers) = config.get_mut("mcpServers").and_then(Value::as_object_mut) {
        servers.insert("two".to_owned(), json!({"url": url, "connect": "eager"}));
    }
    config
}

/// A running gateway.
pub(super) struct Gateway {
    child: Child,
    pub(super) port: u16,
    folder: PathBuf,
    program: PathBuf,
}

impl Gateway {
    /// Starts a gateway on a free port and waits until it is ready.
    pub(super) async fn start(program: &Path, config: &Value) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("gateway-bench-{}-{}", std::process::id(), unique()));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("config.json"), config.to_string())?;
        Self::start_in(program, folder).await
    }

    /// Starts it again in the same folder, with the same log.
    pub(super) async fn start_again(mut self) -> Result<Self> {
        let (program, folder) = (self.program.clone(), std::mem::take(&mut self.folder));
        Self::start_in(&program, folder).await
    }

    async fn start_in(program: &Path, folder: PathBuf) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0", "--config"]).arg(folder.join("config.json"));
        command.arg("--data").arg(folder.join("data")).env("LOG_LEVEL", "error");
        let (child, port) = listening(command, program).await?;
        let gateway = Self { child, port, folder, program: program.to_owned() };
        gateway.ready().await?;
        Ok(gateway)
    }

    async fn ready(&self) -> Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if drive_once(&Request::get(self.port, "/ready", &[]))
                .await
                .is_ok_and(|answer| answer.status == 200)
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        bail!("the gateway is not ready after {PATIENCE:?}")
    }

    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu(self.child.id().context("the gateway has ended")?)
    }

    pub(super) fn id(&self) -> Result<u32> {
        self.child.id().context("the gateway has ended")
    }

    pub(super) fn memory_kb(&self) -> Result<u64> {
        memory_kb(self.id()?)
    }

    /// Kills it as a crash would.
    pub(super) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.context("killing the gateway")
    }

    /// Stops it gracefully.
    pub(super) async fn stop(mut self) -> Result<()> {
        let id = self.child.id().context("the gateway has ended")?;
        let ended = std::process::Command::new("kill").arg("-TERM").arg(id.to_string()).status()?;
        if !ended.success() {
            bail!("asking the gateway to end failed");
        }
        let status = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .map_err(|_| anyhow!("it does not end"))??;
        if !status.success() {
            bail!("the gateway ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if !self.folder.as_os_str().is_empty() {
            // A folder left in the temporary directory is harmless.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The fixture server over HTTP.
pub(super) struct HttpFixture {
    child: Child,
    port: u16,
}

impl HttpFixture {
    pub(super) async fn start(program: &Path, args: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["http", "--port", "0"]).args(args);
        let (child, port) = listening(command, program).await?;
        Ok(Self { child, port })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu(self.child.id().context("the fixture has ended")?)
    }

    /// Opens a legacy session and returns its id.
    pub(super) async fn initialize(&self) -> Result<String> {
        let answer = drive_once(&messages::initialize(self.port)).await?;
        let session = answer.session.context("the fixture gave no session")?;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        drive_once(&messages::message(self.port, Some(&session), &ready)).await?;
        Ok(session)
    }

    /// A small call for the server itself.
    pub(super) fn call(&self, session: &str) -> Request {
        messages::message(self.port, Some(session), &messages::call(1, None))
    }
}

/// Starts a server and waits until it says on which port it listens.
async fn listening(mut command: Command, program: &Path) -> Result<(Child, u16)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
    let port = port_in(child.stdout.take().context("no output")?).await?;
    Ok((child, port))
}

/// The port in the line `listening on http://127.0.0.1:PORT…`; the rest of the output is read and dropped.
async fn port_in(output: tokio::process::ChildStdout) -> Result<u16> {
    let mut lines = BufReader::new(output).lines();
    let found = tokio::time::timeout(PATIENCE, async {
        while let Some(line) = lines.next_line().await? {
            if let Some((_, rest)) = line.split_once("127.0.0.1:") {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                return digits.parse().context("reading the port");
            }
        }
        bail!("the program ended without saying where it listens")
    });
    let port = found.await.map_err(|_| anyhow!("the program does not say where it listens"))??;
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok(port)
}

/// The resident memory of a process.
pub(super) fn memory_kb(id: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    line.trim().trim_end_matches("kB").trim().parse().context("reading VmRSS")
}

/// The CPU time of a process, all threads together, in nanoseconds.
pub(super) fn cpu(id: u32) -> Result<Duration> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{id}/task")).context("reading the threads of a process")? {
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        sum += text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(sum))
}

/// The part of the CPU time between two moments that a process spent outside the kernel. Each moment is what [`ticks`] gave.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(super) fn user_part(before: (u64, u64), after: (u64, u64)) -> f64 {
    let (user, system) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    user as f64 / (user + system).max(1) as f64
}

/// The CPU time of a process in the ticks of the system, outside the kernel and in it.
pub(super) fn ticks(id: u32) -> Result<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).context("reading the CPU time of a process")?;
    // The name of the program, in brackets, may have blanks.
    let mut fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    let mut next = || fields.next().and_then(|word| word.parse().ok()).context("a stat file without times");
    Ok((next()?, next()?))
}

fn unique() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
