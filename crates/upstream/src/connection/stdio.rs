//! Servers that are child processes.

use std::sync::Arc;

use gateway_config::UpstreamSpec;
use gateway_process::{Process, Program};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::channel::{self, StreamChannel};
use super::events::EventSink;
use super::owner;
use super::router::Router;
use super::status::Status;
use super::tasks::Tasks;
use crate::error::ConnectError;

/// Starts the process and the task that owns it.
pub(super) async fn start(
    spec: &UpstreamSpec,
    program: &Program<'_>,
    events: &Arc<EventSink>,
    tasks: &Tasks,
) -> Result<(StreamChannel, Arc<Status>), ConnectError> {
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
            let exit = process.exited();
            owner::run((streams.stdout, streams.stdin), exit, inbox, router, &stop, longest_answer).await;
            process.end(grace).await;
        };
        // Something that escaped may hold the standard error open for ever, so nobody waits for its end.
        tokio::select! {
            () = work => {}
            () = drain(streams.stderr, drained) => {}
        }
    });
    Ok((channel, status))
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
