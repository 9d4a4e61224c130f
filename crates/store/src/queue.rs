//! The bounded queue between callers and the writer thread. An accepted entry is never dropped.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{options::Options, record::CallRecord, redact::Shortened, share::Shares};

/// A record on its way to the writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) record: CallRecord,
    pub(crate) shortened: Shortened,
}

/// Shared by the callers and the writer.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) options: Options,
    /// Outstanding permits, queued entries, and entries being written.
    outstanding: AtomicUsize,
    /// Entries queued or being written.
    unwritten: AtomicUsize,
    /// Their bytes.
    bytes: AtomicUsize,
    closing: AtomicBool,
    state: Mutex<State>,
    /// Wakes the writer.
    work: Condvar,
    /// Wakes threads that wait for a flush or for the end.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Queued>,
    /// Each server's entries that are queued or being written.
    shares: Shares,
    /// When the oldest queued entry was added.
    oldest: Option<Instant>,
    queued: u64,
    written: u64,
    flush_up_to: u64,
    stop: bool,
}

/// What the writer does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Write these entries.
    Write(Vec<Queued>),
    /// Nothing was due in the time given.
    Idle,
    /// Close and exit.
    Stop,
}

/// Reserved room for one record. Take it before the call, use it after; dropping it releases the room.
#[derive(Debug)]
#[must_use = "dropping a permit releases the room"]
pub struct Permit {
    /// `None` once the room belongs to a record.
    queue: Option<Arc<Queue>>,
}

impl Permit {
    /// Records the call.
    pub fn record(mut self, record: CallRecord) {
        if let Some(queue) = self.queue.take() {
            queue.push(record);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.outstanding.fetch_sub(1, Ordering::AcqRel);
            // Room became free and, when closing, there is one permit less to wait for.
            let _state = queue.state();
            queue.progress.notify_all();
        }
    }
}

/// How full the queue is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    pub(crate) queued: u64,
    pub(crate) written: u64,
    /// Entries that are not written yet.
    pub(crate) unwritten: usize,
    /// The same plus outstanding permits.
    pub(crate) outstanding: usize,
    pub(crate) bytes: usize,
}

impl Queue {
    pub(crate) fn new(mut options: Options) -> Self {
        // Without room for one nothing would ever be written.
        let sizes = [
            &mut options.queue_entries,
            &mut options.queue_bytes,
            &mut options.max_outstanding,
            &mut options.batch_entries,
        ];
        for size in sizes {
            *size = (*size).max(1);
        }
        Self { options, ..Self::default() }
    }

    /// Room for one record, if there is any.
    pub(crate) fn try_reserve(self: &Arc<Self>) -> Option<Permit> {
        let is_refused = self.closing.load(Ordering::Acquire)
            || self.unwritten.load(Ordering::Relaxed) >= self.options.queue_entries
            || self.bytes.load(Ordering::Relaxed) >= self.options.queue_bytes;
        if is_refused {
            return None;
        }
        let more = |taken: usize| (taken < self.options.max_outstanding).then_some(taken + 1);
        self.outstanding.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more).ok()?;
        Some(Permit { queue: Some(Arc::clone(self)) })
    }

    /// Whether this server may make one more call. A server may have as much queued as is still free, so that however many
    /// flood the log, some room is left for the others; a server with nothing queued always may.
    pub(crate) fn has_share(&self, server: &str) -> bool {
        let unwritten = self.unwritten.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        // While less than half is used, no server can have more than is free.
        if unwritten < self.options.queue_entries / 2 && bytes < self.options.queue_bytes / 2 {
            return true;
        }
        let own = self.state().shares.of(server);
        own.entries == 0
            || (own.entries < self.options.queue_entries.saturating_sub(unwritten)
                && own.bytes < self.options.queue_bytes.saturating_sub(bytes))
    }

    fn push(&self, mut record: CallRecord) {
        let shortened = self.options.caps().shorten(&mut record);
        let weight = record.weight();
        // Counted before the record is queued, so that the writer never subtracts what was not added.
        self.unwritten.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(weight, Ordering::Relaxed);
        let mut state = self.state();
        state.shares.add(&record.server, weight);
        state.entries.push_back(Queued { record, shortened });
        state.queued += 1;
        // The writer sleeps indefinitely while the queue is empty, and until the interval is over while the batch is not
        // full; in between it needs no wake-up, which saves a system call per record.
        let waiting = state.entries.len();
        if waiting == 1 {
            state.oldest = Some(Instant::now());
        }
        drop(state);
        if waiting == 1 || waiting == self.options.batch_entries {
            self.work.notify_one();
        }
    }

    /// What to do next; waits for it at most until `idle_until`.
    pub(crate) fn next(&self, idle_until: Instant) -> Work {
        let mut state = self.state();
        loop {
            let waiting = state.entries.len();
            let due = state.oldest.map(|oldest| oldest + self.options.commit_interval);
            let flush = state.flush_up_to > state.written || state.stop;
            let now = Instant::now();
            if waiting > 0
                && (flush || waiting >= self.options.batch_entries || due.is_none_or(|due| due <= now))
            {
                let count = self.batch_length(&state.entries);
                let batch = state.entries.drain(..count).collect();
                // The remaining entries keep the old time, so that they are written next.
                if state.entries.is_empty() {
                    state.oldest = None;
                }
                return Work::Write(batch);
            }
            if state.stop && waiting == 0 {
                return Work::Stop;
            }
            let until = due.unwrap_or(idle_until).min(idle_until);
            if until <= now {
                return Work::Idle;
            }
            state = self.work.wait_timeout(state, until - now).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many entries the next batch takes: at least one, and no more bytes than the log can take in at once.
    fn batch_length(&self, entries: &VecDeque<Queued>) -> usize {
        let most = self.options.retention.batch_bytes();
        let mut bytes: usize = 0;
        let fits = |queued: &&Queued| {
            bytes = bytes.saturating_add(queued.record.weight());
            bytes <= most
        };
        entries.iter().take(self.options.batch_entries).take_while(fits).count().max(1)
    }

    /// Reports that a batch with these shares is committed.
    pub(crate) fn written(&self, shares: &Shares) {
        let (entries, bytes) = shares.total();
        self.unwritten.fetch_sub(entries, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.outstanding.fetch_sub(entries, Ordering::AcqRel);
        let mut state = self.state();
        state.shares.subtract(shares);
        state.written = state.written.saturating_add(u64::try_from(entries).unwrap_or(u64::MAX));
        drop(state);
        self.progress.notify_all();
    }

    /// Sleeps after a failed write; returns early, and says so, if the queue is stopped.
    pub(crate) fn back_off(&self, pause: Duration) -> Stopping {
        let deadline = Instant::now() + pause;
        let mut state = self.state();
        loop {
            let now = Instant::now();
            if state.stop || now >= deadline {
                return if state.stop { Stopping::Yes } else { Stopping::No };
            }
            state = self.work.wait_timeout(state, deadline - now).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Requests that everything queued so far is written and waits for it. Returns how many entries are left.
    pub(crate) fn flush(&self, deadline: Instant) -> usize {
        let mut state = self.state();
        let target = state.queued;
        state.flush_up_to = state.flush_up_to.max(target);
        self.work.notify_one();
        while state.written < target && Instant::now() < deadline {
            state = self.await_progress(state, deadline);
        }
        usize::try_from(target.saturating_sub(state.written)).unwrap_or(usize::MAX)
    }

    /// Issues no more permits; waits for outstanding ones and for queued entries.
    pub(crate) fn drain(&self, deadline: Instant) {
        self.closing.store(true, Ordering::Release);
        let mut state = self.state();
        while self.outstanding.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            state.flush_up_to = state.queued;
            self.work.notify_one();
            state = self.await_progress(state, deadline);
        }
    }

    /// Makes the writer write what is queued and exit.
    pub(crate) fn stop(&self) {
        self.closing.store(true, Ordering::Release);
        self.state().stop = true;
        self.work.notify_all();
        self.progress.notify_all();
    }

    pub(crate) fn depth(&self) -> Depth {
        let state = self.state();
        Depth {
            queued: state.queued,
            written: state.written,
            unwritten: self.unwritten.load(Ordering::Relaxed),
            outstanding: self.outstanding.load(Ordering::Acquire),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is atomic, so it is consistent even if a holder panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn await_progress<'a>(&self, state: MutexGuard<'a, State>, deadline: Instant) -> MutexGuard<'a, State> {
        let left = deadline.saturating_duration_since(Instant::now());
        // A record pushed with a permit while draining signals no progress by itself, so poll now and then.
        let pause = left.min(self.options.commit_interval.max(Duration::from_millis(1)));
        self.progress.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Whether the queue was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    fn queue(outstanding: usize, bytes: usize) -> Arc<Queue> {
        Arc::new(Queue::new(Options {
            queue_entries: 5,
            max_outstanding: outstanding,
            queue_bytes: bytes,
            batch_entries: 3,
            commit_interval: Duration::from_hours(1),
            ..Options::default()
        }))
    }

    fn queued(tool: &str) -> Queued {
        Queued { record: record("demo", tool), shortened: Shortened::default() }
    }

    /// So many written entries of one server.
    fn written(entries: usize) -> Shares {
        let mut shares = Shares::default();
        for _ in 0..entries {
            shares.add(&"demo".into(), 0);
        }
        shares
    }

    #[test]
    fn a_server_never_takes_all_of_the_queue() {
        let queue = queue(100, usize::MAX);
        for _ in 0..3 {
            assert!(queue.has_share("a"));
            queue.try_reserve().unwrap().record(record("a", "x"));
        }
        assert!(!queue.has_share("a") && queue.has_share("b"));
        queue.try_reserve().unwrap().record(record("b", "x"));
        assert!(!queue.has_share("b") && queue.has_share("c"));
        let mut shares = Shares::default();
        for _ in 0..3 {
            shares.add(&"a".into(), record("a", "x").weight());
        }
        queue.written(&shares);
        assert!(queue.has_share("a") && queue.has_share("b"));
    }

    #[test]
    fn a_server_never_takes_all_of_the_bytes() {
        let weight = record("a", "x").weight();
        let queue = queue(100, 3 * weight);
        for _ in 0..2 {
            assert!(queue.has_share("a"));
            queue.try_reserve().unwrap().record(record("a", "x"));
        }
        assert!(!queue.has_share("a") && queue.has_share("b"));
    }

    #[test]
    fn a_long_result_costs_the_queue_its_cap() {
        let queue = queue(100, usize::MAX);
        let mut long = record("a", "x");
        long.outcome = crate::Outcome::Result(format!("\"{}\"", "x".repeat(30 << 20)).into());
        queue.try_reserve().unwrap().record(long);
        let bytes = queue.depth().bytes;
        assert!((1 << 16..80 << 10).contains(&bytes), "{bytes}");
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    #[test]
    fn permits_and_entries_share_the_room() {
        let queue = queue(2, usize::MAX);
        let permit = queue.try_reserve().unwrap();
        queue.try_reserve().unwrap().record(record("demo", "add"));
        assert!(queue.try_reserve().is_none());
        drop(permit);
        queue.try_reserve().unwrap().record(record("demo", "late"));
        assert_eq!(queue.depth().outstanding, 2);
    }

    #[test]
    fn entries_are_bounded_apart_from_calls_that_run() {
        let queue = queue(100, usize::MAX);
        let running: Vec<_> = (0..10).map(|_| queue.try_reserve().unwrap()).collect();
        for _ in 0..5 {
            queue.try_reserve().unwrap().record(record("demo", "add"));
        }
        assert!(queue.try_reserve().is_none());
        for permit in running {
            permit.record(record("demo", "add"));
        }
        assert_eq!((queue.depth().unwritten, queue.depth().outstanding), (15, 15));
        queue.written(&written(11));
        assert!(queue.try_reserve().is_some());
    }

    #[test]
    fn bytes_are_bounded_but_a_permit_always_fits() {
        let weight = record("demo", "add").weight();
        let queue = queue(100, weight);
        let early = queue.try_reserve().unwrap();
        queue.try_reserve().unwrap().record(record("demo", "add"));
        assert!(queue.try_reserve().is_none());
        early.record(record("demo", "add"));
        assert_eq!(queue.depth().bytes, 2 * weight);
        let mut shares = Shares::default();
        shares.add(&"demo".into(), weight);
        shares.add(&"demo".into(), weight);
        queue.written(&shares);
        assert!(queue.try_reserve().is_some());
    }

    #[test]
    fn a_full_batch_is_given_at_once_and_a_part_of_one_on_flush() {
        let queue = queue(100, usize::MAX);
        assert_eq!(queue.next(Instant::now()), Work::Idle);
        for tool in ["a", "b", "c", "d"] {
            queue.try_reserve().unwrap().record(record("demo", tool));
        }
        assert_eq!(queue.next(soon()), Work::Write(["a", "b", "c"].map(queued).into()));
        queue.written(&written(3));
        assert_eq!(queue.next(Instant::now()), Work::Idle, "one entry waits for the interval");
        assert_eq!(queue.flush(Instant::now()), 1);
        assert_eq!(queue.next(soon()), Work::Write(vec![queued("d")]));
        queue.stop();
        assert_eq!(queue.next(soon()), Work::Stop);
    }

    #[test]
    fn an_entry_is_due_when_the_interval_is_over() {
        let options = Options { commit_interval: Duration::from_millis(5), ..Options::default() };
        let queue = Arc::new(Queue::new(options));
        let start = Instant::now();
        queue.try_reserve().unwrap().record(record("demo", "a"));
        assert_eq!(queue.next(soon()), Work::Write(vec![queued("a")]));
        assert!(start.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn there_is_room_when_a_batch_is_written() {
        let queue = queue(1, usize::MAX);
        queue.try_reserve().unwrap().record(record("demo", "a"));
        assert!(queue.try_reserve().is_none());
        queue.written(&written(1));
        assert!(queue.try_reserve().is_some());
    }

    #[test]
    fn closing_waits_for_permits() {
        let queue = queue(5, usize::MAX);
        let permit = queue.try_reserve().unwrap();
        queue.drain(Instant::now());
        assert_eq!(queue.depth().outstanding, 1);
        assert!(queue.try_reserve().is_none());
        let waiting = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.drain(soon())
        });
        drop(permit);
        waiting.join().unwrap();
        assert_eq!(queue.depth().outstanding, 0);
    }
}
