//! Servers that are child processes.

use std::sync::Arc;

use gateway_process::{Process, Program};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::handshake::{self, Opening};
use super::router::Router;
use super::status::Status;
use super::tasks::Tasks;
use super::{Attempt, Channel, Opened, channel, owner};
use crate::error::ConnectError;

/// Starts the process, and starts it anew where the first way of opening the connection was the wrong one.
pub(super) async fn open(attempt: &Attempt<'_>, program: &Program<'_>) -> Result<Opened, ConnectError> {
    let outcome = start(attempt, program, attempt.opening).await;
    let again = match (&outcome, attempt.opening) {
        // A server may die of a method that it does not know.
        (Err(ConnectError::Ended { .. }), Opening::Probe(_)) => Opening::Legacy,
        // It may be another one by now.
        (
            Err(
                ConnectError::Ended { .. }
                | ConnectError::Handshake { .. }
                | ConnectError::Version { .. }
                | ConnectError::NotMcp { .. },
            ),
            Opening::LegacyAsBefore,
        ) => Opening::Probe(attempt.spec.timeouts.probe),
        _ => return outcome,
    };
    start(attempt, program, again).await
}

/// Starts the process and the task that owns it, and shakes hands.
async fn start(
    attempt: &Attempt<'_>,
    program: &Program<'_>,
    opening: Opening,
) -> Result<Opened, ConnectError> {
    let Attempt { spec, events, .. } = attempt;
    let tasks = Tasks::new();
    let (mut process, streams) = Process::spawn(program).await?;
    let status = Status::new(spec.limits.stderr_bytes, process.id());
    let status = Arc::new(status.hiding(program.env.values().map(String::as_str)));
    let (channel, inbox) = channel::channel(&spec.id, &status);
    let router =
        Router::new(spec.id.clone(), spec.limits.message_bytes, Arc::clone(events), Arc::clone(&status));
    let stop = tasks.stop().clone();
    let (grace, longest_answer) = (spec.timeouts.close, spec.timeouts.call_maximum);
    let drained = Arc::clone(&status);
    tasks.spawn(async move {
        let work = async move {
            let exit = async { process.exit().await.0 };
            owner::run((streams.stdout, streams.stdin), exit, inbox, router, &stop, longest_answer).await;
            process.end(grace).await;
        };
        // Something that escaped may hold the standard error open for ever, so nobody waits for its end.
        tokio::select! {
            () = work => {}
            () = drain(streams.stderr, drained) => {}
        }
    });
    let identity = handshake::shake(&channel, &attempt.who, opening, attempt.until).await?;
    Ok(Opened { transport: "stdio", identity, status, channel: Channel::Stream(Arc::new(channel)), tasks })
}

/// Keeps the last of the standard error. A server whose standard error nobody reads would stand still.
async fn drain(mut stderr: impl AsyncRead + Unpin, status: Arc<Status>) {
    let mut buffer = vec![0_u8; 4 * 1024];
    loop {
        match stderr.read(&mut buffer).await {
            Ok(count) if count > 0 => status.push_stderr(buffer.get(..count).unwrap_or_default()),
            _ => break,
        }
    }
    status.end_stderr();
    // The process may live on without it.
    std::future::pending::<()>().await;
}
