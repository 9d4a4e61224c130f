//! How long things took, in buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds in microseconds.
pub const BOUNDS: [u64; 22] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    15_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
];

/// Durations in buckets; the last one has no bound.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    /// Counts a duration.
    pub fn observe(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let index = BOUNDS.partition_point(|bound| *bound < micros);
        if let Some(bucket) = self.buckets.get(index) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Counts up to each bound and in all, and the sum in microseconds.
    pub fn read(&self) -> ([u64; BOUNDS.len() + 1], u64) {
        let mut sum = 0;
        let mut counts = [0; BOUNDS.len() + 1];
        for (count, bucket) in counts.iter_mut().zip(&self.buckets) {
            sum += bucket.load(Ordering::Relaxed);
            *count = sum;
        }
        (counts, self.micros.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let histogram = Histogram::default();
        for micros in [0, 100, 101, 600_000_000, 600_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let (counts, sum) = histogram.read();
        let last = BOUNDS.len();
        assert_eq!((counts[0], counts[1], counts[last - 1], counts[last]), (2, 3, 4, 5));
        assert_eq!(sum, 1_200_000_202);
    }

    #[test]
    fn no_bucket_is_wide() {
        for pair in BOUNDS.windows(2) {
            assert!(pair[0] < pair[1] && pair[1] * 2 <= pair[0] * 5, "{pair:?}");
        }
    }
}
