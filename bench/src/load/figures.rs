//! Rates and percentiles.

use std::time::Duration;

/// The figures of one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// Calls per second.
    pub(super) rate: f64,
    /// The median latency in microseconds.
    pub(super) p50: f64,
    /// The 99th percentile.
    pub(super) p99: f64,
}

impl Figures {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub(super) fn of(mut times: Vec<Duration>, whole: Duration) -> Self {
        times.sort_unstable();
        let rank = |part: usize| {
            let index = (times.len() * part).div_ceil(100).saturating_sub(1);
            times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e6)
        };
        Self { rate: times.len() as f64 / whole.as_secs_f64(), p50: rank(50), p99: rank(99) }
    }
}
