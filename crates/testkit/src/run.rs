//! The process of a fixture.

use std::io::{self, Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::modes::Fault;
use crate::options::{Options, Transport};
use crate::process::sleep_for_ever;
use crate::server::Server;
use crate::{http, job, stdio};

/// Runs the fixture until it exits.
pub fn run(options: Options) -> ExitCode {
    match try_run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // If stderr is closed, the error cannot be reported.
            let _ = writeln!(io::stderr(), "gateway-fixture: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(options: Options) -> Result<()> {
    if options.transport == Transport::Sleep {
        let _ = rustix::process::setsid();
        sleep_for_ever();
    }
    let server = Arc::new(Server::new(options)?);
    server.pids.append(&format!("server {}", std::process::id()));
    let runtime = start_runtime(server.options.transport)?;
    if server.modes.has(Fault::IgnoresSigterm) {
        ignore_sigterm(&server, &runtime)?;
    }
    if server.modes.has(Fault::CrashBeforeInitialize) && server.fault_happens() {
        bail!("crashes before initialize, as asked");
    }
    if let Some(bytes) = server.modes.get(Fault::NoisyStderr) {
        job::make_noise(bytes);
    }
    if server.modes.has(Fault::Grandchild) {
        start_children(&server)?;
    }
    if let Some(ms) = server.modes.get(Fault::SlowStart).filter(|_| server.fault_happens()) {
        std::thread::sleep(Duration::from_millis(ms));
    }
    match server.options.transport {
        Transport::Stdio => stdio::serve(&server, runtime.handle())?,
        Transport::Http | Transport::Sse => {
            if server.options.exit_with_stdin {
                exit_with_stdin();
            }
            runtime.block_on(http::serve(Arc::clone(&server)))?;
        }
        Transport::Sleep => {}
    }
    if server.modes.has(Fault::IgnoresSigterm) {
        sleep_for_ever();
    }
    runtime.shutdown_background();
    Ok(())
}

/// HTTP runs on this thread alone; stdio reads on this thread and has one more for what takes time.
fn start_runtime(transport: Transport) -> io::Result<Runtime> {
    let mut builder = match transport {
        Transport::Http | Transport::Sse => Builder::new_current_thread(),
        Transport::Stdio | Transport::Sleep => Builder::new_multi_thread(),
    };
    if transport == Transport::Stdio {
        builder.worker_threads(1);
    }
    builder.enable_all().build()
}

fn ignore_sigterm(server: &Server, runtime: &Runtime) -> io::Result<()> {
    let _context = runtime.enter();
    let mut terminations = signal(SignalKind::terminate())?;
    server.tasks.spawn_on(async move { while terminations.recv().await.is_some() {} }, runtime.handle());
    Ok(())
}

fn start_children(server: &Server) -> io::Result<()> {
    // They inherit stdout and stderr on purpose: a pipe that a grandchild keeps open is part of the fault.
    let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn()?;
    server.pids.append(&format!("child {}", child.id()));
    let detached = Command::new(std::env::current_exe()?).arg("sleep").stdin(Stdio::null()).spawn()?;
    server.pids.append(&format!("detached {}", detached.id()));
    Ok(())
}

/// Exits when the other end of stdin is closed.
fn exit_with_stdin() {
    std::thread::spawn(|| {
        let mut sink = [0_u8; 256];
        let mut stdin = io::stdin().lock();
        while matches!(stdin.read(&mut sink), Ok(read) if read > 0) {}
        std::process::exit(0);
    });
}
