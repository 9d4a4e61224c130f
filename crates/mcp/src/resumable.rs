//! Streams of events that a caller can come back to.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gateway_runtime::lock::locked;
use gateway_upstream::{FREE_BYTES, Reclaim};
use tokio::sync::Notify;

/// Messages that are kept for a caller who comes back.
const KEPT: usize = 256;

/// Bytes that are kept for a caller who comes back; the newest message is kept whatever its size.
const KEPT_BYTES: usize = 4 << 20;

/// What several streams may keep together for callers who come back.
///
/// This decides what is forgotten first, and counts short messages too. The memory of long ones is counted in the budget for
/// results, like that of every answer, until the last reader has dropped them; there the streams that nobody reads make room
/// as soon as somebody needs it. So it needs no room of its own there, and nothing is counted twice.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    bytes: AtomicUsize,
    /// A wider one that this is part of.
    whole: Option<Arc<Budget>>,
    /// The streams with long messages, in the widest one.
    long: Mutex<Vec<Weak<ResumableStream>>>,
}

impl Reclaim for Budget {
    fn reclaim(&self) {
        let mut streams = Vec::new();
        locked(&self.long).retain(|stream| {
            let found = stream.upgrade();
            let is_kept = found.as_ref().is_some_and(|stream| !stream.is_forgettable());
            streams.extend(found.filter(|_| !is_kept));
            is_kept
        });
        for stream in streams {
            stream.forget_messages();
        }
    }
}

impl Budget {
    pub(crate) fn new(most: usize, whole: Option<Arc<Self>>) -> Self {
        Self { most, bytes: AtomicUsize::new(0), whole, long: Mutex::default() }
    }

    /// Notes a stream with a long message.
    fn note_long(&self, stream: &Arc<ResumableStream>) {
        if let Some(whole) = &self.whole {
            return whole.note_long(stream);
        }
        let mut long = locked(&self.long);
        long.retain(|stream| stream.strong_count() > 0);
        long.push(Arc::downgrade(stream));
    }

    /// How much is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether more is kept than may be.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes() > self.most || self.whole.as_ref().is_some_and(|whole| whole.is_over())
    }

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.add(bytes);
        }
    }

    fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.remove(bytes);
        }
    }
}

/// One stream: what was sent on it, and who reads it.
#[derive(Debug)]
pub(crate) struct ResumableStream {
    pub(crate) number: u64,
    state: Mutex<State>,
    wake: Notify,
    budget: Arc<Budget>,
}

impl Drop for ResumableStream {
    fn drop(&mut self) {
        self.forget();
    }
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<Bytes>,
    bytes: usize,
    /// How many messages were dropped from the front.
    dropped: u64,
    /// How many messages were ever given to a reader.
    delivered: u64,
    /// When it ended.
    ended: Option<Instant>,
    /// Grows with every reader; only the latest reads.
    reader: u64,
    /// How many readers there are.
    readers: usize,
    /// Whether its messages made room for others.
    is_forgotten: bool,
    /// Whether one of its messages was long.
    is_long: bool,
}

impl ResumableStream {
    /// A stream that shares a budget with others.
    pub(crate) fn new(number: u64, budget: &Arc<Budget>) -> Self {
        Self { number, state: Mutex::default(), wake: Notify::new(), budget: Arc::clone(budget) }
    }

    /// Adds a message.
    pub(crate) fn push(&self, message: Bytes) {
        self.add(&mut locked(&self.state), message);
        self.wake.notify_waiters();
    }

    /// Keeps a message, and of the older ones as many as there is room for; the newest is kept whatever its size.
    fn add(&self, state: &mut State, message: Bytes) {
        self.budget.add(message.len());
        state.is_long |= message.len() > FREE_BYTES;
        state.bytes += message.len();
        state.messages.push_back(message);
        while state.messages.len() > 1
            && (state.messages.len() > KEPT || state.bytes > KEPT_BYTES || self.budget.is_over())
        {
            let Some(dropped) = state.messages.pop_front() else { break };
            let counted = dropped.len().min(state.bytes);
            self.budget.remove(counted);
            state.bytes -= counted;
            state.dropped += 1;
        }
    }

    /// Adds the last message, if there is one; nobody can see it without seeing that it is the last.
    pub(crate) fn end(self: &Arc<Self>, last: Option<Bytes>) {
        self.end_at(last, Instant::now());
    }

    pub(crate) fn end_at(self: &Arc<Self>, last: Option<Bytes>, moment: Instant) {
        let is_long = {
            let mut state = locked(&self.state);
            if let Some(message) = last {
                self.add(&mut state, message);
            }
            state.ended = Some(moment);
            state.is_long
        };
        if is_long {
            self.budget.note_long(self);
        }
        self.wake.notify_waiters();
    }

    /// Counts it no more among what is kept.
    pub(crate) fn forget(&self) {
        let mut state = locked(&self.state);
        self.budget.remove(state.bytes);
        // Whoever still reads it gets the rest, which counts no more.
        state.bytes = 0;
    }

    /// Whether it is over and nobody reads it.
    fn is_forgettable(&self) -> bool {
        let state = locked(&self.state);
        state.ended.is_some() && state.readers == 0
    }

    /// Drops its messages, unless somebody has come back to read them.
    fn forget_messages(&self) {
        let mut state = locked(&self.state);
        if state.readers > 0 {
            return;
        }
        let messages = std::mem::take(&mut state.messages);
        self.budget.remove(state.bytes);
        (state.bytes, state.is_forgotten) = (0, true);
        drop(state);
        drop(messages);
    }

    /// Whether its messages made room for others.
    pub(crate) fn is_forgotten(&self) -> bool {
        locked(&self.state).is_forgotten
    }

    /// Whether it ended so long ago that nobody will come back to it.
    pub(crate) fn is_over(&self, patience: Duration) -> bool {
        locked(&self.state).ended.is_some_and(|ended| ended.elapsed() > patience)
    }

    /// How many messages were ever given to a reader.
    pub(crate) fn delivered(&self) -> u64 {
        locked(&self.state).delivered
    }

    /// A reader of what comes after message number `after`, as far as it is kept. Another reader ends.
    pub(crate) fn reader(self: Arc<Self>, after: u64) -> Reader {
        let number = {
            let mut state = locked(&self.state);
            state.reader += 1;
            state.readers += 1;
            state.reader
        };
        self.wake.notify_waiters();
        Reader { stream: self, number, next: after }
    }

    /// The next message for a reader.
    async fn next(&self, reader: u64, next: u64) -> Option<StreamEvent> {
        loop {
            let woken = self.wake.notified();
            {
                let mut state = locked(&self.state);
                if state.reader != reader {
                    return None;
                }
                // What was dropped cannot be made up for; the answer at the end matters more than the gap.
                let next = next.max(state.dropped);
                let index = usize::try_from(next - state.dropped).unwrap_or(usize::MAX);
                if let Some(message) = state.messages.get(index).cloned() {
                    let is_last = state.ended.is_some() && index + 1 == state.messages.len();
                    let number = next + 1;
                    state.delivered = state.delivered.max(number);
                    return Some(StreamEvent { id: event_id(self.number, number), number, message, is_last });
                }
                if state.ended.is_some() {
                    return None;
                }
            }
            woken.await;
        }
    }
}

/// Reads one stream.
#[derive(Debug)]
pub(crate) struct Reader {
    stream: Arc<ResumableStream>,
    number: u64,
    next: u64,
}

impl Reader {
    /// The next message; `None` once the stream is over or somebody else reads it.
    pub(crate) async fn next(&mut self) -> Option<StreamEvent> {
        let heard = self.stream.next(self.number, self.next).await?;
        self.next = heard.number;
        Some(heard)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = locked(&self.stream.state);
        state.readers = state.readers.saturating_sub(1);
    }
}

/// A message that a reader heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    /// The id of its event.
    pub(crate) id: String,
    /// Its number in the stream, from one.
    number: u64,
    pub(crate) message: Bytes,
    /// Nothing comes after it.
    pub(crate) is_last: bool,
}

/// The id of an event: its stream, and its number there.
pub(crate) fn event_id(stream: u64, message: u64) -> String {
    format!("{stream}-{message}")
}

/// The stream and the number of the message that an id names.
pub(crate) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, message) = id.split_once('-')?;
    Some((stream.parse().ok()?, message.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn stream(number: u64) -> Arc<ResumableStream> {
        Arc::new(ResumableStream::new(number, &Arc::new(Budget::new(1 << 30, None))))
    }

    #[test]
    fn a_reader_who_comes_back_misses_nothing_and_hears_nothing_twice() {
        let stream = stream(3);
        for text in ["one", "two", "three"] {
            stream.push(text.into());
        }
        let mut first = Arc::clone(&stream).reader(0);
        let StreamEvent { id, is_last, .. } = first.next().now_or_never().flatten().unwrap();
        assert!(!is_last);
        assert_eq!(id, "3-1");
        let (_, after) = parse_event_id(&id).unwrap();
        let mut second = Arc::clone(&stream).reader(after);
        assert!(first.next().now_or_never().flatten().is_none(), "only the latest reads");
        let mut heard = Vec::new();
        while let Some(Some(next)) = second.next().now_or_never() {
            heard.push(next.message);
        }
        assert_eq!(heard, ["two", "three"]);
        assert!(second.next().now_or_never().is_none(), "it waits for more");
        stream.end(Some("four".into()));
        assert!(second.next().now_or_never().flatten().unwrap().is_last);
        assert_eq!(second.next().now_or_never(), Some(None));
    }

    #[test]
    fn a_long_answer_that_nobody_reads_makes_room() {
        let whole = Arc::new(Budget::new(1 << 20, None));
        let budget = Arc::new(Budget::new(1 << 20, Some(Arc::clone(&whole))));
        let [left, read, short, open] =
            [1, 2, 3, 4].map(|number| Arc::new(ResumableStream::new(number, &budget)));
        let long = Bytes::from(vec![b'x'; FREE_BYTES + 1]);
        let mut reader = Arc::clone(&read).reader(0);
        for (stream, message) in [(&left, long.clone()), (&read, long.clone()), (&short, "short".into())] {
            stream.end(Some(message));
        }
        open.push(long.clone());
        let forgotten = || [&left, &read, &short, &open].map(|stream| stream.is_forgotten());
        whole.reclaim();
        assert_eq!(forgotten(), [true, false, false, false]);
        assert_eq!(whole.bytes(), 2 * long.len() + 5);
        assert_eq!(reader.next().now_or_never().flatten().unwrap().message, long);
        drop(reader);
        whole.reclaim();
        assert_eq!(forgotten(), [true, true, false, false], "its reader has left");
        open.end(Some("short".into()));
        whole.reclaim();
        assert_eq!(forgotten(), [true, true, false, true], "what came before the answer was long");
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_rest_is_heard() {
        let stream = stream(1);
        for number in 0..KEPT + 5 {
            stream.push(number.to_string().into());
        }
        for after in [0, 5] {
            let mut reader = Arc::clone(&stream).reader(after);
            for number in 5..8 {
                let heard = reader.next().now_or_never().flatten().unwrap();
                assert_eq!((heard.message, heard.id), (number.to_string().into(), event_id(1, number + 1)));
            }
        }
        assert_eq!(stream.delivered(), 8);
        stream.push(Bytes::from(vec![b'x'; KEPT_BYTES + 1]));
        assert_eq!(locked(&stream.state).messages.len(), 1);
    }
}
