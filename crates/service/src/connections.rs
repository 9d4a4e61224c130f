//! Connections of callers: how many there are, which of them makes room, and how long one may read nothing.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use gateway_runtime::lock::locked;
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

/// Of so many connections, room for one is kept free: who comes next must not wait until another is closed.
const SPARE: usize = 64;

/// Most bytes that are written at once: the kernel takes them without a pause for others.
const WRITE_BYTES: usize = 64 * 1024;

/// After so many bytes in a row, other connections have their turn.
const TURN_BYTES: usize = 4 * WRITE_BYTES;

/// All connections.
#[derive(Debug)]
pub(crate) struct Connections {
    room: Arc<Semaphore>,
    spare: usize,
    /// Cancelled when no more requests are taken.
    stopping: CancellationToken,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// In the order in which they came.
    links: BTreeMap<u64, Arc<Link>>,
    /// Connections that make room and are not closed yet.
    leaving: usize,
}

/// What is known about one connection.
#[derive(Debug, Default)]
pub(crate) struct Link {
    state: AtomicU8,
    /// Cancelled when the connection has to make room, or the service ends.
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

    /// Waits until the connection has to make room, or the service ends.
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
    pub(crate) fn new(most: usize, stopping: CancellationToken) -> Arc<Self> {
        let room = Arc::new(Semaphore::new(most));
        Arc::new(Self { room, spare: most / SPARE, stopping, open: Mutex::default() })
    }

    /// Waits for room for one more. Where there is little, the oldest connections make room on which nobody has shown anything.
    pub(crate) async fn take(self: &Arc<Self>) -> Option<Taken> {
        self.keep_spare();
        let permit = if let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
            permit
        } else {
            if locked(&self.open).leaving == 0 {
                // Once is enough: where none can be evicted, all are known, and that they stay.
                self.evict_unknown();
            }
            Arc::clone(&self.room).acquire_owned().await.ok()?
        };
        let link = Arc::new(Link { state: AtomicU8::new(SILENT), evicted: self.stopping.child_token() });
        let mut open = locked(&self.open);
        open.next += 1;
        let number = open.next;
        open.links.insert(number, Arc::clone(&link));
        Some(Taken { number, link, connections: Arc::clone(self), _permit: permit })
    }

    /// Closes as many silent connections as are lacking for some room to be free.
    fn keep_spare(&self) {
        let free = self.room.available_permits();
        if free <= self.spare {
            let leaving = locked(&self.open).leaving;
            self.evict(SILENT, (self.spare + 1).saturating_sub(free + leaving));
        }
    }

    /// Closes the oldest connection on which nobody has shown anything. `false` if there is none.
    pub(crate) fn evict_unknown(&self) -> bool {
        EVICTABLE.iter().any(|state| self.evict(*state, 1) > 0)
    }

    /// Closes the oldest connections in a state, at most so many. Gives how many there were.
    fn evict(&self, state: u8, most: usize) -> usize {
        let mut open = locked(&self.open);
        let fitting = open.links.iter().filter(|(_, link)| link.state.load(Ordering::Relaxed) == state);
        let evicted: Vec<u64> =
            fitting.filter(|(_, link)| link.evict()).map(|(number, _)| *number).take(most).collect();
        for number in &evicted {
            open.links.remove(number);
        }
        open.leaving += evicted.len();
        evicted.len()
    }
}

/// Room that a connection takes; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    number: u64,
    pub(crate) link: Arc<Link>,
    connections: Arc<Connections>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut open = locked(&self.connections.open);
        if open.links.remove(&self.number).is_none() {
            open.leaving = open.leaving.saturating_sub(1);
        }
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
    /// Bytes that were written in a row.
    row: usize,
}

impl<S> Wire<S> {
    pub(crate) fn new(stream: S, link: Arc<Link>, patience: Duration) -> Self {
        Self { stream, link, patience, blocked: None, row: 0 }
    }

    /// Lets others run after many bytes in a row.
    fn turn(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.row < TURN_BYTES {
            return Poll::Ready(());
        }
        self.row = 0;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Goes on after an attempt to write.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = &outcome {
            self.blocked = None;
            self.row += written.as_ref().map_or(0, |bytes| *bytes);
            return outcome;
        }
        self.row = 0;
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
        } else {
            // The caller asks again: what is written from now on is another answer.
            self.row = 0;
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
        ready!(self.turn(context));
        let some = bytes.get(..WRITE_BYTES).unwrap_or(bytes);
        let outcome = Pin::new(&mut self.stream).poll_write(context, some);
        self.written(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.turn(context));
        // A short head and its long body come together; the body is cut.
        let outcome = match buffers {
            [head, body, ..] if body.len() > WRITE_BYTES && head.len() <= WRITE_BYTES => {
                let some = io::IoSlice::new(body.get(..WRITE_BYTES).unwrap_or(body));
                let head = io::IoSlice::new(head);
                Pin::new(&mut self.stream).poll_write_vectored(context, &[head, some])
            }
            [long, ..] if long.len() > WRITE_BYTES => {
                let some = long.get(..WRITE_BYTES).unwrap_or(long);
                Pin::new(&mut self.stream).poll_write(context, some)
            }
            _ => Pin::new(&mut self.stream).poll_write_vectored(context, buffers),
        };
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
    use std::pin::pin;

    use futures_util::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn enter(connections: &Arc<Connections>) -> Taken {
        connections.take().now_or_never().flatten().unwrap()
    }

    #[tokio::test]
    async fn the_oldest_silent_connection_makes_room() {
        let connections = Connections::new(3, CancellationToken::new());
        let (known, first, second) = (enter(&connections), enter(&connections), enter(&connections));
        known.link.begin();
        known.link.know();
        known.link.end();
        let mut waiting = Box::pin(connections.take());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert!(first.link.evicted.is_cancelled(), "it is the oldest that is silent");
        assert!(!known.link.evicted.is_cancelled() && !second.link.evicted.is_cancelled());
        drop(first);
        let third = waiting.await.unwrap();
        second.link.begin();
        assert!(connections.evict_unknown(), "it is silent, the older one is not");
        assert!(third.link.evicted.is_cancelled() && !second.link.evicted.is_cancelled());
    }

    #[tokio::test]
    async fn a_connection_with_one_request_after_the_other_makes_room_too() {
        let connections = Connections::new(3, CancellationToken::new());
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
        let connections = Connections::new(1, CancellationToken::new());
        let taken = enter(&connections);
        assert!(connections.evict_unknown());
        taken.link.begin();
        assert!(!taken.link.know(), "its key comes too late");
        taken.link.end();
        taken.link.waits();
        assert_eq!(taken.link.state.load(Ordering::Relaxed), EVICTED);
    }

    #[tokio::test]
    async fn room_is_made_before_it_is_needed() {
        let connections = Connections::new(128, CancellationToken::new());
        let mut taken: Vec<Taken> = (0..126).map(|_| enter(&connections)).collect();
        assert!(taken.iter().all(|taken| !taken.link.evicted.is_cancelled()), "two are kept free");
        taken.push(enter(&connections));
        taken.push(enter(&connections));
        let evicted = taken.iter().take_while(|taken| taken.link.evicted.is_cancelled()).count();
        assert_eq!(evicted, 2, "those that leave count as room");
    }

    #[tokio::test]
    async fn a_long_answer_leaves_turns_to_others() {
        let (theirs, ours) = tokio::io::duplex(16 << 20);
        let mut wire = Wire::new(ours, Arc::default(), Duration::from_secs(5));
        let body = vec![b'a'; 3 * TURN_BYTES];
        let (mut sent, mut turns) = (0, 0);
        while let Some(rest) = body.get(sent..).filter(|rest| !rest.is_empty()) {
            let head = io::IoSlice::new(&rest[..1]);
            let parts = [head, io::IoSlice::new(&rest[1..])];
            match futures_util::poll!(pin!(wire.write_vectored(&parts))) {
                Poll::Ready(written) => {
                    let written = written.unwrap();
                    assert!(written <= WRITE_BYTES + 1, "{written}");
                    sent += written;
                }
                Poll::Pending => turns += 1,
            }
        }
        assert_eq!((sent, turns), (body.len(), 2));
        drop(theirs);
    }

    #[tokio::test]
    async fn many_short_answers_are_no_long_one() {
        let (mut theirs, ours) = tokio::io::duplex(16 << 20);
        let mut wire = Wire::new(ours, Arc::default(), Duration::from_secs(5));
        let answer = vec![b'a'; WRITE_BYTES];
        for number in 0..2 * TURN_BYTES / WRITE_BYTES {
            theirs.write_all(b"?").await.unwrap();
            wire.read_exact(&mut [0]).await.unwrap();
            let written = futures_util::poll!(pin!(wire.write(&answer)));
            assert!(matches!(written, Poll::Ready(Ok(WRITE_BYTES))), "answer {number}: {written:?}");
        }
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
