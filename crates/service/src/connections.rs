//! Connections of callers: how many there are, which of them makes room, and how long one may read nothing.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// Nobody has shown on it that it may use the gateway.
const SILENT: u8 = 0;
/// A request is being answered that has not shown it.
const ASKING: u8 = 1;
/// The answer to such a request is given; once it is read on, the connection is silent again.
const ANSWERED: u8 = 2;
/// Somebody has shown a key, or where no keys are configured, has sent a request.
const KNOWN: u8 = 3;
/// It has to make room; nothing changes that any more.
const EVICTED: u8 = 4;

/// Which connections make room, the first ones first. An answer to somebody who has shown nothing is worth less than room for
/// those who have not been heard yet: who always has one more request on the way would never be silent.
const EVICTABLE: [u8; 3] = [SILENT, ANSWERED, ASKING];

/// All connections.
#[derive(Debug)]
pub(crate) struct Connections {
    room: Arc<Semaphore>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// In the order in which they came.
    links: BTreeMap<u64, Arc<Link>>,
}

/// What is known about one connection.
#[derive(Debug, Default)]
pub(crate) struct Link {
    state: AtomicU8,
    /// Cancelled when the connection has to make room.
    evicted: CancellationToken,
}

impl Link {
    /// A request begins.
    pub(crate) fn begin(&self) {
        self.change(|state| matches!(state, SILENT | ANSWERED), ASKING);
    }

    /// The caller may use the gateway. `false` if the connection has to make room, so that nothing may run for it any more.
    pub(crate) fn know(&self) -> bool {
        self.state.load(Ordering::Relaxed) == KNOWN || self.change(|state| state != EVICTED, KNOWN)
    }

    /// The answer to a request is given.
    pub(crate) fn end(&self) {
        self.change(|state| state == ASKING, ANSWERED);
    }

    /// Waits until the connection has to make room.
    pub(crate) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// More of the caller is waited for.
    fn waits(&self) {
        self.change(|state| state == ANSWERED, SILENT);
    }

    /// Goes from a state that fits to another one, in one step: eviction may come at any moment. `false` if none fits.
    fn change(&self, fits: impl Fn(u8) -> bool, to: u8) -> bool {
        let next = |state| fits(state).then_some(to);
        self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Has to make room, unless somebody has shown in the last moment that it may use the gateway.
    fn evict(&self) -> bool {
        let is_evicted = self.change(|state| EVICTABLE.contains(&state), EVICTED);
        if is_evicted {
            self.evicted.cancel();
        }
        is_evicted
    }
}

impl Connections {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { room: Arc::new(Semaphore::new(most)), open: Mutex::default() })
    }

    /// Waits for room for one more. Where there is none, the oldest connection makes room on which nobody has shown anything.
    pub(crate) async fn room(self: &Arc<Self>) -> Option<Room> {
        let permit = if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
            permit
        } else {
            // Once is enough: where none can be evicted, all are known, and that they stay.
            self.evict_unknown();
            Arc::clone(&self.room).acquire_owned().await.ok()?
        };
        Some(Room { connections: Arc::clone(self), _permit: permit })
    }

    /// Closes the oldest connection on which nobody has shown anything. `false` if there is none.
    pub(crate) fn evict_unknown(&self) -> bool {
        let mut open = self.lock();
        let evicted = EVICTABLE.iter().find_map(|state| {
            let mut fitting =
                open.links.iter().filter(|(_, link)| link.state.load(Ordering::Relaxed) == *state);
            fitting.find(|(_, link)| link.evict()).map(|(number, _)| *number)
        });
        evicted.is_some_and(|number| open.links.remove(&number).is_some())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for one connection.
#[derive(Debug)]
pub(crate) struct Room {
    connections: Arc<Connections>,
    _permit: OwnedSemaphorePermit,
}

impl Room {
    /// The connection is there.
    pub(crate) fn taken(self) -> Taken {
        let link = Arc::new(Link::default());
        let mut open = self.connections.lock();
        open.next += 1;
        let number = open.next;
        open.links.insert(number, Arc::clone(&link));
        drop(open);
        Taken { number, link, room: self }
    }
}

/// The place of a connection; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    number: u64,
    pub(crate) link: Arc<Link>,
    room: Room,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.connections.lock().links.remove(&self.number);
    }
}

/// The bytes of a connection. Who reads nothing for too long is cut off: an answer that nobody reads takes memory.
#[derive(Debug)]
pub(crate) struct Wire<S = TcpStream> {
    stream: S,
    link: Arc<Link>,
    patience: Duration,
    /// Runs while the caller reads nothing.
    blocked: Option<Pin<Box<Sleep>>>,
}

impl<S> Wire<S> {
    pub(crate) fn new(stream: S, link: Arc<Link>, patience: Duration) -> Self {
        Self { stream, link, patience, blocked: None }
    }

    /// Goes on after an attempt to write.
    fn written<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.blocked = None;
            return outcome;
        }
        let patience = self.patience;
        let blocked =
            self.blocked.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(blocked.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the caller does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        if outcome.is_pending() {
            self.link.waits();
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.written(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn enter(connections: &Arc<Connections>) -> Taken {
        connections.room().now_or_never().flatten().unwrap().taken()
    }

    #[tokio::test]
    async fn the_oldest_silent_connection_makes_room() {
        let connections = Connections::new(3);
        let (known, first, second) = (enter(&connections), enter(&connections), enter(&connections));
        known.link.begin();
        known.link.know();
        known.link.end();
        let mut waiting = Box::pin(connections.room());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert!(first.link.evicted.is_cancelled(), "it is the oldest that is silent");
        assert!(!known.link.evicted.is_cancelled() && !second.link.evicted.is_cancelled());
        drop(first);
        let third = waiting.await.unwrap().taken();
        second.link.begin();
        assert!(connections.evict_unknown(), "it is silent, the older one is not");
        assert!(third.link.evicted.is_cancelled() && !second.link.evicted.is_cancelled());
    }

    #[tokio::test]
    async fn a_connection_with_one_request_after_the_other_makes_room_too() {
        let connections = Connections::new(3);
        let (asking, answered, known) = (enter(&connections), enter(&connections), enter(&connections));
        asking.link.begin();
        answered.link.begin();
        answered.link.end();
        known.link.begin();
        assert!(known.link.know());
        assert!(connections.evict_unknown() && answered.link.evicted.is_cancelled());
        assert!(!asking.link.evicted.is_cancelled(), "its request is being answered");
        assert!(connections.evict_unknown() && asking.link.evicted.is_cancelled());
        assert!(!connections.evict_unknown(), "who has shown a key stays");
        assert!(!known.link.evicted.is_cancelled());
    }

    #[tokio::test]
    async fn a_connection_that_makes_room_runs_nothing_more() {
        let connections = Connections::new(1);
        let taken = enter(&connections);
        assert!(connections.evict_unknown());
        taken.link.begin();
        assert!(!taken.link.know(), "its key comes too late");
        taken.link.end();
        taken.link.waits();
        assert_eq!(taken.link.state.load(Ordering::Relaxed), EVICTED);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_reads_nothing_is_cut_off() {
        let (mut theirs, ours) = tokio::io::duplex(8);
        let mut wire = Wire::new(ours, Arc::default(), Duration::from_secs(5));
        let began = Instant::now();
        let error = wire.write_all(b"more than fits").await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (io::ErrorKind::TimedOut, 5));
        let mut read = [0; 8];
        theirs.read_exact(&mut read).await.unwrap();
        wire.write_all(b"again").await.unwrap();
        theirs.read_exact(&mut read[..5]).await.unwrap();
        assert_eq!(&read[..5], b"again", "whoever reads is written to");
    }
}
