//! A program that a keeper started, as the gateway sees it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::executable;
use crate::keeper::{MODE, Order, REPORT_BYTES, Report};
use crate::program::{LOOK, Program, Streams, prepare};
use crate::reaper::{self, Registration};
use crate::table::kill_below;

/// What process lists show for a keeper.
const NAME: &str = "mcp-tool-gateway";

/// How long a keeper may take to start its program.
const START: Duration = Duration::from_secs(20);

/// A keeper and its program. Dropping it closes the control socket, at which the keeper ends everything.
#[derive(Debug)]
pub(crate) struct Kept {
    keeper: Child,
    registration: Registration,
    control: UnixStream,
    /// The beginning of the next report.
    unread: Vec<u8>,
    /// The number of the program.
    pub(crate) program: Pid,
    status: Option<ExitStatus>,
}

impl Kept {
    pub(crate) async fn start(program: &Program<'_>, mark: &str) -> io::Result<(Self, Streams)> {
        let (ours, theirs) = StdStream::pair()?;
        let (stdin, to_program) = io::pipe()?;
        let (from_program, stdout) = io::pipe()?;
        let (errors, stderr) = io::pipe()?;
        // Only three descriptors can be handed over by starting a process, and the keeper needs one more.
        send_streams(&ours, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        drop((stdin, stdout, stderr));
        ours.set_nonblocking(true)?;
        let control = UnixStream::from_std(ours)?;
        let mut command = Command::new(executable::to_start());
        command
            .arg0(NAME)
            .arg(MODE)
            .arg(program.command)
            .args(program.args)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        prepare(&mut command, program, mark);
        let (keeper, registration) = reaper::spawn(&mut command)?;
        drop(command);
        let streams = Streams {
            stdin: ChildStdin::from_std(OwnedFd::from(to_program).into())?,
            stdout: ChildStdout::from_std(OwnedFd::from(from_program).into())?,
            stderr: ChildStderr::from_std(OwnedFd::from(errors).into())?,
        };
        let unread = Vec::with_capacity(REPORT_BYTES);
        let mut kept = Self { keeper, registration, control, unread, program: Pid::INIT, status: None };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "its keeper did not start it");
        match timeout(START, kept.report()).await.map_err(|_| late())?? {
            Report::Started(number) if number > 1 => {
                kept.program = Pid::from_raw(number).unwrap_or(Pid::INIT);
                Ok((kept, streams))
            }
            Report::Failed(number @ 1..) => Err(io::Error::from_raw_os_error(number)),
            Report::Started(_) | Report::Failed(_) | Report::Ended(_) => {
                Err(io::Error::other("its keeper could not start it"))
            }
        }
    }

    /// Waits for the exit of the program. Cancel-safe.
    pub(crate) async fn exit(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        loop {
            if let Report::Ended(status) = self.report().await? {
                return Ok(*self.status.insert(ExitStatus::from_raw(status)));
            }
        }
    }

    /// The next report of the keeper. Cancel-safe.
    async fn report(&mut self) -> io::Result<Report> {
        loop {
            if let Ok(bytes) = <[u8; REPORT_BYTES]>::try_from(self.unread.as_slice()) {
                self.unread.clear();
                return Report::from_bytes(bytes)
                    .ok_or_else(|| io::Error::other("its keeper reported something unknown"));
            }
            let missing = u64::try_from(REPORT_BYTES.saturating_sub(self.unread.len())).unwrap_or(0);
            if (&mut self.control).take(missing).read_buf(&mut self.unread).await? == 0 {
                return Err(io::Error::other("its keeper was ended"));
            }
        }
    }

    /// Ends the program and everything that it started: asks for it, and kills what is left after `grace`. Whether the
    /// keeper did its work; if not, it was killed, and processes may be left.
    pub(crate) async fn end(&mut self, grace: Duration, patience: Duration) -> bool {
        for (order, patience) in [(Order::Terminate, grace), (Order::Kill, patience)] {
            // A keeper that is gone needs no order: nothing is left below it, or it was killed.
            let _ = self.control.try_write(&[order.to_byte()]);
            self.signal(Signal::CONT);
            // It stays as long as anything is left below it.
            if let Ok(ended) = timeout(patience, self.keeper.wait()).await {
                self.registration.forget();
                return ended.is_ok_and(|status| status.success());
            }
        }
        // Somebody stops it again and again, or something below it cannot be killed.
        if let Some(keeper) = number_of(&self.keeper) {
            // Its number is its own until it is waited for.
            let _ = tokio::task::spawn_blocking(move || kill_with_all(keeper)).await;
        }
        let _ = timeout(patience, self.keeper.wait()).await;
        self.registration.forget();
        false
    }

    /// Orders to kill everything, without waiting.
    pub(crate) fn kill(&self) {
        let _ = self.control.try_write(&[Order::Kill.to_byte()]);
        self.signal(Signal::CONT);
    }

    /// Waits until the keeper has done what [`kill`](Self::kill) orders, and kills it with everything below it if it does
    /// not. Whether it did its work. Blocks.
    pub(crate) fn wait_for_kill(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            match self.keeper.try_wait() {
                Ok(Some(status)) => {
                    self.registration.forget();
                    return status.success();
                }
                Ok(None) => std::thread::sleep(LOOK),
                Err(_) => return false,
            }
        }
        if let Some(keeper) = number_of(&self.keeper) {
            kill_with_all(keeper);
        }
        self.registration.forget();
        false
    }

    fn signal(&self, signal: Signal) {
        if let Some(keeper) = number_of(&self.keeper) {
            let _ = kill_process(keeper, signal);
        }
    }
}

/// The number of a child that nobody has waited for.
fn number_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
}

/// Kills a keeper and everything below it. What it leaves becomes ours.
fn kill_with_all(keeper: Pid) {
    let _ = kill_below(keeper);
    let _ = kill_process(keeper, Signal::KILL);
}

fn send_streams(control: &StdStream, streams: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(streams)) {
        return Err(io::Error::other("its standard streams cannot be handed over"));
    }
    // Descriptors travel only beside data.
    sendmsg(control, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::empty())?;
    Ok(())
}
