//! Starting fixtures from tests.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use crate::modes::{Fault, Mode};
use crate::options::{AnswerKind, SpokenEra, Transport, word};

/// How long a server may take to listen, unless it is slow on purpose.
const START: Duration = Duration::from_secs(30);

/// Why a fixture cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FixtureError {
    /// The binary is absent and could not be built.
    #[error("building a program of the test kit: {0}")]
    Build(String),
    /// The process could not be started or ended.
    #[error("running {path}")]
    Process {
        /// The binary.
        path: PathBuf,
        /// The error.
        #[source]
        cause: io::Error,
    },
    /// It exited or stayed silent instead of listening.
    #[error("the fixture does not listen; it said: {0:?}")]
    NotListening(String),
}

/// The path of the binary `gateway-fixture`, which is built first if it is absent or older than its sources.
pub fn fixture_path() -> Result<PathBuf, FixtureError> {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    program_path("gateway-fixture", &PATH)
}

/// The path of the binary `gateway-attack`, which is built first if it is absent or older than its sources.
pub fn attack_path() -> Result<PathBuf, FixtureError> {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    program_path("gateway-attack", &PATH)
}

/// The path of the binary `gateway-model`, which is built first if it is absent or older than its sources.
pub fn model_path() -> Result<PathBuf, FixtureError> {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    program_path("gateway-model", &PATH)
}

fn program_path(name: &str, known: &OnceLock<PathBuf>) -> Result<PathBuf, FixtureError> {
    if let Some(path) = known.get() {
        return Ok(path.clone());
    }
    let problem = |text: &str| FixtureError::Build(text.to_owned());
    let here = std::env::current_exe().map_err(|error| problem(&error.to_string()))?;
    let mut folder = here.parent().ok_or_else(|| problem("the test has no folder"))?;
    if folder.ends_with("deps") || folder.ends_with("examples") {
        folder = folder.parent().ok_or_else(|| problem("the test has no profile"))?;
    }
    let path = folder.join(name);
    if is_outdated(&path) {
        build(folder, name)?;
    }
    if !path.exists() {
        return Err(problem("cargo built it elsewhere"));
    }
    Ok(known.get_or_init(|| path).clone())
}

fn is_outdated(path: &Path) -> bool {
    let Ok(built) = path.metadata().and_then(|meta| meta.modified()) else { return true };
    let testkit = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [testkit.join("src"), testkit.join("../protocol/src")];
    folders.iter().any(|folder| newest(folder).is_some_and(|changed| changed > built))
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let times = entries.filter_map(|entry| {
        let meta = entry.metadata().ok()?;
        if meta.is_dir() { newest(&entry.path()) } else { meta.modified().ok() }
    });
    times.max()
}

/// Builds the binary with the profile that `folder` belongs to. Cargo's own lock lets one of many tests build.
fn build(folder: &Path, name: &str) -> Result<(), FixtureError> {
    let problem = |text: String| FixtureError::Build(text);
    let target = folder.parent().ok_or_else(|| problem("no target folder".to_owned()))?;
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        None | Some("debug") => "dev",
        Some(other) => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["build", "--quiet", "-p", "gateway-testkit", "--bin", name, "--profile", profile])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .map_err(|error| problem(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(problem(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The configuration of a fixture.
#[derive(Clone, Debug)]
pub struct Fixture {
    transport: Transport,
    arguments: Vec<String>,
}

impl Fixture {
    /// A server over stdin and stdout.
    pub fn stdio() -> Self {
        Self::new(Transport::Stdio)
    }

    /// A server over Streamable HTTP.
    pub fn http() -> Self {
        Self::new(Transport::Http)
    }

    /// A server over HTTP+SSE.
    pub fn sse() -> Self {
        Self::new(Transport::Sse)
    }

    fn new(transport: Transport) -> Self {
        Self { transport, arguments: Vec::new() }
    }

    /// Which eras it speaks.
    #[must_use]
    pub fn era(self, era: SpokenEra) -> Self {
        self.option("--era", word(&era))
    }

    /// Offers everything that the official conformance suite requires of a server, instead of tools to test clients with.
    #[must_use]
    pub fn everything(self) -> Self {
        self.option("--serve", "everything")
    }

    /// A fault with its default value.
    #[must_use]
    pub fn mode(self, fault: Fault) -> Self {
        self.mode_with(fault, fault.default_value())
    }

    /// A fault.
    #[must_use]
    pub fn mode_with(self, fault: Fault, value: u64) -> Self {
        self.option("--mode", Mode { fault, value })
    }

    /// The faults of answers hit only calls of this tool.
    #[must_use]
    pub fn only_tool(self, name: &str) -> Self {
        self.option("--fault-tool", name)
    }

    /// Limits how many times faults happen, counted in the file `memory` so that the limit survives a restart.
    #[must_use]
    pub fn times(self, times: u64, memory: &Path) -> Self {
        self.option("--fault-times", times).option("--fault-memory", memory.display())
    }

    /// The file in which `count` and `slow` write what they did.
    #[must_use]
    pub fn counter(self, path: &Path) -> Self {
        self.option("--counter", path.display())
    }

    /// Answers over HTTP as events.
    #[must_use]
    pub fn answers(self, kind: AnswerKind) -> Self {
        self.option("--answer", word(&kind))
    }

    /// An option of the command line with its value.
    #[must_use]
    pub fn option(self, name: &str, value: impl std::fmt::Display) -> Self {
        let value = value.to_string();
        self.args([name, value.as_str()])
    }

    /// More words of the command line.
    #[must_use]
    pub fn args(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments.extend(words.into_iter().map(Into::into));
        self
    }

    /// The command and its arguments, for a configuration.
    pub fn command(&self) -> Result<(PathBuf, Vec<String>), FixtureError> {
        let mut arguments = vec![word(&self.transport)];
        arguments.extend(self.arguments.iter().cloned());
        Ok((fixture_path()?, arguments))
    }

    /// Starts a server over HTTP or HTTP+SSE on a free port. Dropping it stops it.
    pub async fn start(self) -> Result<RunningFixture, FixtureError> {
        if self.transport == Transport::Stdio {
            return Err(FixtureError::NotListening(
                "a server over stdio is started by its client".to_owned(),
            ));
        }
        launch(self, 0).await
    }
}

/// A fixture that listens. Dropped, it is killed.
#[derive(Debug)]
pub struct RunningFixture {
    fixture: Fixture,
    child: Child,
    /// Kept apart from the child, which would close it before waiting: closing it stops the server.
    _stdin: Option<ChildStdin>,
    url: String,
}

impl RunningFixture {
    /// The URL of its endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn origin(&self) -> &str {
        self.url.rsplit_once('/').map_or(&self.url, |(origin, _)| origin)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.origin().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_default()
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Kills it and waits until it is gone.
    pub async fn kill(&mut self) -> Result<(), FixtureError> {
        self.child.kill().await.or_else(|error| match error.kind() {
            // It had exited already.
            io::ErrorKind::InvalidInput => Ok(()),
            _ => Err(FixtureError::Process { path: "gateway-fixture".into(), cause: error }),
        })
    }

    /// Waits until it exits by itself; returns its exit code, if any.
    pub async fn wait(&mut self) -> Result<Option<i32>, FixtureError> {
        let status = self.child.wait().await;
        let status =
            status.map_err(|cause| FixtureError::Process { path: "gateway-fixture".into(), cause })?;
        Ok(status.code())
    }

    /// Kills it if it runs, and starts it again on the same port.
    pub async fn restart(&mut self) -> Result<(), FixtureError> {
        self.kill().await?;
        *self = launch(self.fixture.clone(), self.port()).await?;
        Ok(())
    }
}

async fn launch(fixture: Fixture, port: u16) -> Result<RunningFixture, FixtureError> {
    let (path, arguments) = fixture.command()?;
    let process = |cause| FixtureError::Process { path: path.clone(), cause };
    let mut child = Command::new(&path)
        .args(arguments)
        .args(["--exit-with-stdin", "--port", &port.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(process)?;
    let stdout = child.stdout.take().ok_or_else(|| FixtureError::NotListening(String::new()))?;
    let mut line = String::new();
    let mut reader = BufReader::new(stdout);
    match tokio::time::timeout(START, reader.read_line(&mut line)).await {
        Ok(read) => read.map_err(process)?,
        Err(_) => return Err(FixtureError::NotListening("nothing in time".to_owned())),
    };
    match line.trim_end().strip_prefix("listening on ") {
        Some(url) => Ok(RunningFixture { fixture, _stdin: child.stdin.take(), child, url: url.to_owned() }),
        None => Err(FixtureError::NotListening(line)),
    }
}
