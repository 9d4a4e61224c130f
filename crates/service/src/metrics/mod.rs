//! What is counted: requests, calls, conversions, and how long they took.
//!
//! Counting is cheap: atomics, and one short lock for the ring of the last requests. Labels that callers or servers choose
//! (server, tool, provider) are bounded: what comes after the bound is counted as `other`.

mod prometheus;
mod summary;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gateway_mcp::Slot;
use http::StatusCode;

use crate::openapi::ROUTES;
use gateway_runtime::metrics::{CallMetrics, Histogram, Labels};
use window::{Sample, Window};

pub(crate) use prometheus::{Gauges, ServerGauge};

/// A route's index in the table; the last one is for requests that found none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteIndex(u16);

impl RouteIndex {
    pub(crate) const UNKNOWN: Self = Self(u16::MAX);

    pub(crate) fn new(index: usize) -> Self {
        u16::try_from(index).map_or(Self::UNKNOWN, Self)
    }

    /// The method and the pattern, as labels.
    fn names(self) -> (&'static str, &'static str) {
        ROUTES.get(usize::from(self.0)).map_or(("other", "other"), |route| (route.verb.name(), route.path))
    }
}

/// The statuses that are distinguished; all others share the last index.
const STATUSES: [u16; 24] = [
    200, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 422, 429, 431, 499, 500, 501,
    502, 503, 504,
];

/// All counters.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    started_ms: u64,
    in_flight: Arc<AtomicUsize>,
    routes: Box<[RouteCounters]>,
    providers: Labels<ProviderCounters>,
    /// What the runtime counts.
    calls: Arc<CallMetrics>,
    streams: Arc<AtomicUsize>,
    window: Window,
}

#[derive(Debug, Default)]
struct RouteCounters {
    by_status: [AtomicU64; STATUSES.len() + 1],
    errors: AtomicU64,
    durations: Histogram,
}

impl RouteCounters {
    fn total(&self) -> u64 {
        self.by_status.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

#[derive(Debug, Default)]
struct ProviderCounters {
    requests: AtomicU64,
    errors: AtomicU64,
}

impl Metrics {
    /// Counters of requests, beside those of calls.
    pub(crate) fn new(calls: Arc<CallMetrics>) -> Self {
        Self {
            started: Instant::now(),
            started_ms: now_ms(),
            in_flight: Arc::default(),
            routes: (0..=ROUTES.len()).map(|_| RouteCounters::default()).collect(),
            providers: Labels::default(),
            calls,
            streams: Arc::default(),
            window: Window::default(),
        }
    }

    /// Counts a request that was answered.
    pub(crate) fn request(
        &self,
        route: RouteIndex,
        status: StatusCode,
        duration: Duration,
        provider: Option<&str>,
    ) {
        let is_error = status.as_u16() >= 400;
        if let Some(counters) = self.routes.get(usize::from(route.0)).or_else(|| self.routes.last()) {
            let index = STATUSES.binary_search(&status.as_u16()).unwrap_or(STATUSES.len());
            if let Some(count) = counters.by_status.get(index) {
                count.fetch_add(1, Ordering::Relaxed);
            }
            if is_error {
                counters.errors.fetch_add(1, Ordering::Relaxed);
            }
            counters.durations.observe(duration);
        }
        let provider = provider.map(|provider| {
            self.providers.with(provider, |index, counters| {
                counters.requests.fetch_add(1, Ordering::Relaxed);
                if is_error {
                    counters.errors.fetch_add(1, Ordering::Relaxed);
                }
                index
            })
        });
        let at_ms = self.started_ms.saturating_add(millis(self.started.elapsed()));
        let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
        self.window.push(Sample { at_ms, micros, route: route.0, provider, is_error });
    }

    /// Lets a request in, unless `limit` are at work already.
    pub(crate) fn enter(&self, limit: usize) -> Option<Entered> {
        Entered::new(&self.in_flight, limit)
    }

    /// Lets a stream of events in, unless `limit` are open already.
    pub(crate) fn open_stream(&self, limit: usize) -> Option<Entered> {
        Entered::new(&self.streams, limit)
    }

    /// How long the gateway has been there.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A request at work, or an open stream: counted until the last clone is dropped. Work that goes on when its caller has left
/// holds one of its own.
#[derive(Clone, Debug)]
pub(crate) struct Entered(Arc<Counted>);

#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Entered {
    fn new(count: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let counted = Counted(Arc::clone(count));
        (count.fetch_add(1, Ordering::Relaxed) < limit).then(|| Self(Arc::new(counted)))
    }

    /// For whoever need not know what is counted.
    pub(crate) fn slot(&self) -> Slot {
        Arc::clone(&self.0) as Slot
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_sorted() {
        assert!(STATUSES.is_sorted());
    }

    #[test]
    fn places_are_given_back() {
        let metrics = Metrics::new(Arc::default());
        let first = metrics.enter(1);
        assert!(first.is_some() && metrics.enter(1).is_none());
        assert!(metrics.enter(1).is_none(), "a refusal takes no room");
        drop(first);
        assert!(metrics.enter(1).is_some());
    }

    #[test]
    fn work_is_counted_until_it_ends_also_without_its_caller() {
        let metrics = Metrics::new(Arc::default());
        let request = metrics.enter(1).unwrap();
        let work = request.slot();
        drop(request);
        assert!(metrics.enter(1).is_none(), "the work goes on");
        drop(work);
        let request = metrics.enter(1).expect("the work is over");
        drop(request.clone());
        assert!(metrics.enter(1).is_none(), "a clone was dropped, the request is still at work");
        drop(request);
        assert!(metrics.enter(1).is_some());
    }
}
