//! Between a client on our standard streams and a server that we start.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use gateway_cassette::Channel;
use gateway_process::{Process, Program};
use gateway_protocol::{Line, LineSplitter};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::ChildStderr;
use tokio::task::JoinSet;

use super::tape::Tape;
use crate::Outcome;
use crate::loopback::LONGEST_MESSAGE;
use crate::runtime::EndSignals;
use crate::terminal::errors;

/// How long a server may take to end once its input has ended.
const GRACE: Duration = Duration::from_secs(2);
const CHUNK: usize = 1 << 16;

/// Who ended the session.
enum End {
    Client,
    Server,
}

/// Starts the server and passes everything on, until one side ends.
pub(super) async fn record(tape: Tape, command: &str, args: &[String]) -> Result<Outcome> {
    let mut signals = EndSignals::listen()?;
    let env = BTreeMap::new();
    let program = Program { command, args, env: &env, cwd: None, hidden_env: &[] };
    let (mut process, mut streams) = Process::spawn(&program).await?;
    let mut showing = JoinSet::new();
    showing.spawn(show(streams.stderr));
    let mut from_server = pin!(pass(&mut streams.stdout, tokio::io::stdout(), &tape, |line| {
        tape.messages(line, |recorder, message| recorder.server(0, &Channel::Shared, message));
    }));
    let end = tokio::select! {
        // The server's input is closed when its client's has ended.
        passed = pass(tokio::io::stdin(), streams.stdin, &tape, |line| {
            tape.messages(line, |recorder, message| recorder.client(0, message));
        }) => passed.map(|()| End::Client).context("passing messages to the server"),
        passed = &mut from_server => passed.map(|()| End::Server).context("passing messages to the client"),
        never = tape.keep_saving() => match never {},
        _ = signals.next() => Ok(End::Client),
    };
    // Before the server is asked to end: nobody knows how long that takes, and how long we are let live. What fails here is
    // tried again below.
    let _ = tape.save().await;
    let mut outcome = Outcome::Good;
    match end {
        // A server that dies while it is written to has ended by itself, too.
        Ok(End::Server) | Err(_) => {
            if let Err(error) = &end {
                let _ = writeln!(errors(), "{error:#}");
            }
            let exit = tokio::time::timeout(GRACE, process.exit()).await.map(|(exit, _)| exit);
            let exit = exit.unwrap_or_else(|_| "it closed its streams".to_owned());
            let _ = writeln!(errors(), "the server ended by itself: {exit}");
            outcome = Outcome::Findings;
        }
        // It may still answer what it was asked.
        Ok(End::Client) => drop(tokio::time::timeout(GRACE, from_server).await),
    }
    process.end(GRACE).await;
    showing.shutdown().await;
    tape.finish().await?;
    Ok(outcome)
}

/// Copies one stream to another as it comes. Each complete line is noted before it is passed on.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    tape: &Tape,
    note: impl Fn(&[u8]),
) -> std::io::Result<()> {
    let mut lines = LineSplitter::new(LONGEST_MESSAGE);
    let mut chunk = vec![0_u8; CHUNK];
    loop {
        let count = from.read(&mut chunk).await?;
        let read = chunk.get(..count).unwrap_or_default();
        // The last line may have no end.
        lines.push(if read.is_empty() { b"\n" } else { read });
        while let Some(line) = lines.next_line() {
            match line {
                Line::Whole(line) if !line.trim_ascii().is_empty() => note(&line),
                Line::TooLongBegins { .. } => tape.pass_over("it is too long"),
                Line::Whole(_) | Line::TooLongEnds { .. } => {}
            }
        }
        if read.is_empty() {
            return Ok(());
        }
        to.write_all(read).await?;
        to.flush().await?;
    }
}

/// Shows what the server says on its standard error.
async fn show(mut stderr: ChildStderr) {
    let mut chunk = vec![0_u8; CHUNK];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let _ = errors().write_all(chunk.get(..count).unwrap_or_default());
    }
}
