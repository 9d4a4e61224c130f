//! Listening, and ending well.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gateway_upstream::FleetEvent;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connections::{Connections, Link, Wire};
use crate::gateway::Gateway;
use crate::guard::Guard;

/// Connections at once. For more, the oldest makes room on which nobody has shown a key or sent a request.
const CONNECTIONS: usize = 8_192;

/// Most connections that wait to be accepted; the system may allow fewer.
const BACKLOG: u32 = 4_096;

/// Most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;

/// Most headers of a request.
const HEADERS: usize = 100;

/// How long to wait when the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Upstreams have at least so long to end, even if all of the drain is used up.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// Why the service does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Everybody who reaches the address could run tools.
    #[error(
        "refusing to listen on {address} without API keys: everybody who reaches it could run your tools; set `apiKeys` in \
         the configuration (or MCP_GATEWAY_API_KEY), or listen on 127.0.0.1"
    )]
    Unprotected {
        /// The address.
        address: SocketAddr,
    },
    /// The store of conversations cannot be used.
    #[cfg(feature = "agent")]
    #[error("opening the store of conversations")]
    Store(#[from] gateway_store::conversations::ConversationError),
    /// The address cannot be had.
    #[error("listening on {address}{}", if cause.kind() == std::io::ErrorKind::AddrInUse { " (another program has it; choose another port with `--port N`)" } else { "" })]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
}

/// Starts to listen. Requests are answered from now on, whether or not servers are connected.
///
/// Must be called inside a tokio runtime.
pub async fn serve(gateway: Gateway) -> Result<Running, ServeError> {
    let config = gateway.config();
    let wanted = config.listen;
    if !wanted.ip().to_canonical().is_loopback() && config.keys.is_empty() {
        return Err(ServeError::Unprotected { address: wanted });
    }
    #[cfg(feature = "agent")]
    gateway.state.conversations.start().await?;
    let failed = |cause| ServeError::Bind { address: wanted, cause };
    let listener = listen(wanted).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let stopping = CancellationToken::new();
    let tasks = TaskTracker::new();
    let shared = Arc::new(Serving {
        guard: Guard::new(gateway.clone(), address, (&tasks, &stopping)),
        read_timeout: config.read_timeout,
        write_timeout: config.write_timeout,
        stopping,
        ended: CancellationToken::new(),
        tasks,
    });
    shared.tasks.spawn(accept(listener, Arc::clone(&shared)));
    shared.tasks.spawn(check_conversions(gateway.clone(), shared.stopping.clone()));
    gateway.mcp().start();
    Ok(Running { gateway, address, shared })
}

/// Checks the tools of eager servers whenever one has listed them, so that what providers cannot take is known before anybody
/// asks for a list.
async fn check_conversions(gateway: Gateway, stopping: CancellationToken) {
    let mut events = gateway.fleet().events();
    loop {
        let check = gateway.lists().check_conversions();
        if stopping.run_until_cancelled(check).await.is_none() {
            return;
        }
        let has_changed = async {
            loop {
                match events.recv().await {
                    Ok(FleetEvent::Listed { .. } | FleetEvent::Reloaded) | Err(RecvError::Lagged(_)) => {
                        return true;
                    }
                    Ok(_) => {}
                    Err(RecvError::Closed) => return false,
                }
            }
        };
        if stopping.run_until_cancelled(has_changed).await != Some(true) {
            return;
        }
    }
}

/// A service that listens. Dropping it does not end it; [`Running::shutdown`] does.
#[derive(Debug)]
pub struct Running {
    gateway: Gateway,
    address: SocketAddr,
    shared: Arc<Serving>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The gateway behind it.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Ends: takes no more connections, lets requests finish for as long as is configured, ends the upstreams, writes the
    /// rest of the log. When this returns, no child is left. Gives whether every request could finish.
    pub async fn shutdown(self) -> bool {
        let deadline = Instant::now() + self.gateway.config().drain;
        self.shared.stopping.cancel();
        self.shared.tasks.close();
        self.gateway.mcp().stop();
        let finish = async {
            self.shared.tasks.wait().await;
            self.gateway.mcp().drain().await;
            self.gateway.state.idempotency.drain().await;
        };
        let is_clean = tokio::time::timeout_at(deadline, finish).await.is_ok();
        if !is_clean {
            tracing::warn!("Requests did not finish in time and are broken off.");
        }
        self.shared.ended.cancel();
        let rest = deadline.saturating_duration_since(Instant::now()).max(LAST_MOMENT);
        self.gateway.fleet().shutdown(rest).await;
        self.shared.tasks.wait().await;
        self.gateway.save_turns().await;
        self.gateway.close_log().await;
        is_clean
    }
}

/// What connections share.
#[derive(Debug)]
struct Serving {
    guard: Guard,
    read_timeout: Duration,
    write_timeout: Duration,
    /// No more requests are taken; those at work may finish.
    stopping: CancellationToken,
    /// Nothing may go on.
    ended: CancellationToken,
    tasks: TaskTracker,
}

/// Listens. Many connections may wait to be accepted: one that finds no room there is tried again by its caller's system only
/// after a second.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(listener: TcpListener, shared: Arc<Serving>) {
    let connections = Connections::new(CONNECTIONS, shared.stopping.clone());
    loop {
        // Nobody makes room before somebody is there who needs it.
        let next = async {
            let accepted = listener.accept().await;
            (accepted, connections.take().await)
        };
        let (accepted, taken) = tokio::select! {
            next = next => next,
            () = shared.stopping.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(taken) = taken else { return };
                let shared = Arc::clone(&shared);
                let tasks = shared.tasks.clone();
                tasks.spawn(async move {
                    if is_heard(&stream, &taken.link, shared.read_timeout).await {
                        Box::pin(connection(stream, peer, Arc::clone(&taken.link), shared)).await;
                    }
                    drop(taken);
                });
            }
            // Out of descriptors, or a connection that ended before it began: neither ends the service.
            Err(error) => {
                drop(taken);
                connections.evict_unknown();
                tracing::warn!(%error, "Connection not accepted.");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Waits until the caller sends something, or leaves. A connection that is silent takes a tenth of the memory of one that is
/// served, and there may be thousands.
async fn is_heard(stream: &TcpStream, link: &Link, patience: Duration) -> bool {
    let mut first = [0];
    tokio::select! {
        heard = tokio::time::timeout(patience, stream.peek(&mut first)) => matches!(heard, Ok(Ok(1))),
        () = link.evicted() => false,
    }
}

async fn connection(stream: TcpStream, peer: SocketAddr, link: Arc<Link>, shared: Arc<Serving>) {
    // Small answers must not wait for more.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (shared, link) = (Arc::clone(&shared), Arc::clone(&link));
        async move { Ok::<_, Infallible>(shared.guard.handle(peer.ip(), &link, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.read_timeout)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(Wire::new(stream, Arc::clone(&link), shared.write_timeout)), service);
    let mut connection = pin!(connection);
    // What goes wrong with a connection is the caller's to notice.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = link.evicted() => {}
    }
    if !shared.stopping.is_cancelled() {
        return;
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = connection => {}
        () = shared.ended.cancelled() => {}
    }
}
