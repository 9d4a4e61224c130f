//! The last requests, one by one.

use gateway_runtime::lock::locked;
use std::collections::VecDeque;
use std::sync::Mutex;

/// How many requests are remembered.
pub(super) const SIZE: usize = 10_000;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) at_ms: u64,
    pub(super) micros: u32,
    pub(super) route: u16,
    pub(super) provider: Option<u16>,
    pub(super) is_error: bool,
}

/// The last samples.
#[derive(Debug, Default)]
pub(super) struct Window {
    samples: Mutex<VecDeque<Sample>>,
}

impl Window {
    pub(super) fn push(&self, sample: Sample) {
        let mut samples = locked(&self.samples);
        if samples.len() == SIZE {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// The samples from `since_ms` on.
    pub(super) fn samples(&self, since_ms: u64) -> Vec<Sample> {
        let samples = locked(&self.samples);
        samples.iter().filter(|sample| sample.at_ms >= since_ms).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept() {
        let window = Window::default();
        let count = u64::try_from(SIZE).unwrap() + 5;
        for at_ms in 0..count {
            window.push(Sample { at_ms, micros: 1, route: 0, provider: None, is_error: false });
        }
        let samples = window.samples(0);
        assert_eq!((samples.len(), samples.iter().map(|sample| sample.at_ms).min()), (SIZE, Some(5)));
        assert_eq!(window.samples(count - 3).len(), 3);
    }
}
