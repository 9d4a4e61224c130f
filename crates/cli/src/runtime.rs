//! The async runtime, built only for the commands that need one.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The default limit of a service's threads: calls are forwarded, not computed, so few are enough and each costs memory.
const MOST_THREADS: usize = 4;

/// The usual variable of tokio programs.
const THREADS_VARIABLE: &str = "TOKIO_WORKER_THREADS";

/// Runs a short command on this thread.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build().context("starting the async runtime")?;
    survive_long_files(&runtime)?;
    runtime.block_on(work)
}

/// Runs a service on several threads.
pub(crate) fn block_on_threads<T>(
    threads: Option<usize>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(worker_threads(threads)?)
        .enable_all()
        .build()
        .context("starting the async runtime")?;
    survive_long_files(&runtime)?;
    let outcome = runtime.block_on(work);
    // Spawned tasks are dropped, which kills remaining child processes; blocking threads are not awaited.
    runtime.shutdown_timeout(LAST_MOMENT);
    outcome
}

/// SIGXFSZ, sent to a process that exceeds the file size limit; by default it kills the process.
const FILE_TOO_LONG: i32 = 25;

/// Turns a file that is too large into an error of its writer, like a full disk. The signal is handled, not ignored, because
/// child processes would inherit that.
fn survive_long_files(runtime: &tokio::runtime::Runtime) -> Result<()> {
    let _entered = runtime.enter();
    // The handler stays when its stream is dropped.
    signal(SignalKind::from_raw(FILE_TOO_LONG)).map(drop).context("listening for the limit on files")
}

/// How long blocking threads may delay the exit.
const LAST_MOMENT: Duration = Duration::from_secs(2);

fn worker_threads(wanted: Option<usize>) -> Result<usize> {
    if let Some(threads) = wanted {
        return Ok(threads.max(1));
    }
    match std::env::var(THREADS_VARIABLE) {
        Ok(text) => match text.trim().parse() {
            Ok(threads) if threads > 0 => Ok(threads),
            _ => bail!("{THREADS_VARIABLE}={text}: expected a number above 0"),
        },
        Err(_) => Ok(std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)),
    }
}

/// The signals that ask a program to stop.
#[derive(Debug)]
pub(crate) struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    /// From now on these signals no longer kill the program.
    pub(crate) fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("listening for signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.terminate.recv() => EndSignal { name: "SIGTERM", status: 143 },
            _ = self.interrupt.recv() => EndSignal { name: "SIGINT", status: 130 },
        }
    }
}

/// Which signal it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndSignal {
    pub(crate) name: &'static str,
    /// The exit status that shells use for a program killed by this signal.
    pub(crate) status: u8,
}

/// A signal arrived before the work was done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted(pub(crate) EndSignal);

impl std::fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ended by {}", self.0.name)
    }
}

impl std::error::Error for Interrupted {}
