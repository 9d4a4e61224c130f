//! The keeper: a small process between the gateway and one program.
//!
//! The gateway starts its own executable in this mode. The keeper starts the program, whose standard streams it hands over
//! and does not touch. It is a child subreaper: whatever the program starts stays below it, also what forks twice, opens a
//! session of its own and clears its environment. So it knows the program's descendants exactly, and ends all of them when
//! it is ordered to, and when the gateway is gone, however that ended: the control socket closes then.

use std::ffi::OsString;
use std::io::{self, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, wait, waitpid,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::table::{descendants, kill_below, listed_children};

/// The first argument of our executable in this mode; no command has such a name.
pub(crate) const MODE: &str = "__keep";

/// How soon killed processes are looked at again: they may have started others meanwhile.
const AGAIN: Duration = Duration::from_millis(10);

/// How often the keeper's own children are looked at each time.
const CHILD_LOOKS: usize = 50;

/// How long the keeper tries to end what cannot be ended, for example because it runs as another user.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the gateway orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ask everything to end.
    Terminate,
    /// End everything.
    Kill,
}

impl Order {
    pub(crate) const fn to_byte(self) -> u8 {
        match self {
            Self::Terminate => b't',
            Self::Kill => b'k',
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Terminate, Self::Kill].into_iter().find(|order| order.to_byte() == byte)
    }
}

/// What the keeper reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The program runs, with this number.
    Started(i32),
    /// The program could not be started, for this reason of the system; 0 if there is none.
    Failed(i32),
    /// The program ended with this wait status. Processes that it started may be left.
    Ended(i32),
}

/// How long a report is.
pub(crate) const REPORT_BYTES: usize = 5;

impl Report {
    fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let (kind, number) = match self {
            Self::Started(number) => (b's', number),
            Self::Failed(number) => (b'f', number),
            Self::Ended(number) => (b'e', number),
        };
        let [first, second, third, fourth] = number.to_le_bytes();
        [kind, first, second, third, fourth]
    }

    pub(crate) fn from_bytes(bytes: [u8; REPORT_BYTES]) -> Option<Self> {
        let [kind, first, second, third, fourth] = bytes;
        let number = i32::from_le_bytes([first, second, third, fourth]);
        match kind {
            b's' => Some(Self::Started(number)),
            b'f' => Some(Self::Failed(number)),
            b'e' => Some(Self::Ended(number)),
            _ => None,
        }
    }
}

/// Does the keeper's work if this process was started as one.
pub(crate) fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != MODE {
        return None;
    }
    let outcome = arguments
        .next()
        .ok_or_else(|| io::Error::other("no program is named"))
        .and_then(|program| keep(program, arguments));
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Only who tries this mode by hand has a standard error here.
            let _ = writeln!(io::stderr(), "error: {MODE} is for the gateway's own use: {error}");
            ExitCode::from(2)
        }
    })
}

fn keep(program: OsString, arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let control = StdStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // One that is stopped when the gateway ends could end nothing. Where this is impossible, only that is lost.
    let _ = set_parent_process_death_signal(Some(Signal::CONT));
    let [stdin, stdout, stderr] = receive_streams(&control)?;
    // Before anything is started, so that nothing escapes.
    set_child_subreaper(Some(getpid()))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        control.set_nonblocking(true)?;
        let mut control = UnixStream::from_std(control)?;
        watch(command, &mut control).await
    })
}

/// The standard streams of the program, which the gateway sent.
fn receive_streams(control: &StdStream) -> io::Result<[Stdio; 3]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut streams: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            streams.extend(descriptors);
        }
    }
    let streams: [OwnedFd; 3] =
        streams.try_into().map_err(|_| io::Error::other("the program's standard streams are missing"))?;
    Ok(streams.map(Stdio::from))
}

/// Starts the program and stays until nothing is left of it.
async fn watch(mut command: Command, control: &mut UnixStream) -> io::Result<()> {
    // Before the program is started: no end of it may be missed.
    let mut children = signal(SignalKind::child())?;
    let mut asked = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    let started = command.spawn();
    // The streams are the program's alone: nobody sees their end while we hold them.
    drop(command);
    let server = match started.map(|child| i32::try_from(child.id()).ok().and_then(Pid::from_raw)) {
        Ok(Some(server)) => server,
        Ok(None) => return Err(io::Error::other("the program has no number")),
        Err(error) => return report(control, Report::Failed(error.raw_os_error().unwrap_or(0))).await,
    };
    let _ = report(control, Report::Started(server.as_raw_pid())).await;
    let mut is_gateway_there = true;
    // While everything is being killed: when to look again, and when to give up.
    let mut killing: Option<(Instant, Instant)> = None;
    loop {
        let mut byte = [0];
        let next_look = killing.map_or_else(Instant::now, |(next, _)| next);
        let order = tokio::select! {
            _ = children.recv() => {
                if reap(server, control).await == Left::Nothing {
                    return Ok(());
                }
                None
            }
            // Somebody ends the keeper as if it were the program.
            _ = asked.recv() => Some(Order::Terminate),
            _ = interrupted.recv() => Some(Order::Terminate),
            _ = hung_up.recv() => Some(Order::Terminate),
            read = control.read(&mut byte), if is_gateway_there => if let Ok(1..) = read { Order::from_byte(byte[0]) } else {
                is_gateway_there = false;
                Some(Order::Kill)
            },
            () = sleep_until(next_look), if killing.is_some() => Some(Order::Kill),
        };
        match order {
            Some(Order::Terminate) => send(server, Signal::TERM),
            Some(Order::Kill) => {
                let now = Instant::now();
                let until = killing.map_or(now + PATIENCE, |(_, until)| until);
                if now >= until {
                    return Ok(());
                }
                kill_all(server);
                killing = Some((now + AGAIN, until));
            }
            None => {}
        }
    }
}

async fn report(control: &mut UnixStream, report: Report) -> io::Result<()> {
    control.write_all(&report.to_bytes()).await
}

/// Whether processes are left below us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Something,
    Nothing,
}

/// Takes the status of all children that ended: the program, and orphans below it, which became ours.
async fn reap(server: Pid, control: &mut UnixStream) -> Left {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == server => {
                // A gateway that is gone needs no report.
                let _ = report(control, Report::Ended(status.as_raw())).await;
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Left::Something,
            // There are no children, and every descendant without a living parent would be one.
            Err(_) => return Left::Nothing,
        }
    }
}

fn send(server: Pid, signal: Signal) {
    // What is gone meanwhile needs no signal.
    match descendants(getpid()) {
        Some(below) => {
            for pid in below {
                let _ = kill_process(pid, signal);
            }
        }
        None => {
            let _ = kill_process_group(server, signal);
        }
    }
}

/// Kills everything below us.
fn kill_all(server: Pid) {
    if kill_below(getpid()).is_none() {
        let _ = kill_process_group(server, Signal::KILL);
    }
    // A process that forks and ends is gone before the process table is read. What it leaves is our child.
    for _ in 0..CHILD_LOOKS {
        let mut children = listed_children().unwrap_or_default();
        // Its status is reported by who waits for all.
        children.retain(|pid| *pid != server);
        if children.is_empty() {
            break;
        }
        for pid in children {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}
