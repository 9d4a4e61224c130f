//! When a request is sent again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::error::ModelFailure;

/// The first pause; each one after it is twice as long.
const FIRST: Duration = Duration::from_millis(500);

/// The longest pause of our own choice.
const LONGEST: Duration = Duration::from_secs(8);

/// The longest pause that an API may ask for. Whoever wants more is not waited for.
const LONGEST_WANTED: Duration = Duration::from_mins(1);

/// Counts how often a request may be sent again.
#[derive(Debug)]
pub(super) struct Patience {
    left: u32,
    pause: Duration,
}

impl Patience {
    pub(super) fn new(retries: u32) -> Self {
        Self { left: retries, pause: FIRST }
    }

    /// How long to wait before the next attempt; `None` if there is none.
    pub(super) fn next_pause(&mut self, failure: &ModelFailure) -> Option<Duration> {
        if !failure.is_passing() {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        let own = self.pause;
        self.pause = (self.pause * 2).min(LONGEST);
        match failure {
            ModelFailure::Status { retry_after: Some(wanted), .. } => {
                (*wanted <= LONGEST_WANTED).then_some(*wanted)
            }
            // Spread, so that those who were refused together do not come back together.
            _ => Some(own.mul_f64(0.5 + fraction() / 2.0)),
        }
    }
}

/// A number from 0 to 1 by chance.
fn fraction() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16, retry_after: Option<Duration>) -> ModelFailure {
        ModelFailure::Status { status, message: String::new(), body: None, retry_after }
    }

    #[test]
    fn pauses_grow_and_end() {
        let mut patience = Patience::new(3);
        for least in [250, 500, 1_000] {
            let pause = patience.next_pause(&status(500, None)).unwrap();
            let range = Duration::from_millis(least)..=Duration::from_millis(2 * least);
            assert!(range.contains(&pause), "{pause:?}");
        }
        assert_eq!(patience.next_pause(&status(500, None)), None);
    }

    #[test]
    fn the_api_says_when_within_reason() {
        let wanted = Duration::from_secs(9);
        assert_eq!(Patience::new(1).next_pause(&status(429, Some(wanted))), Some(wanted));
        assert_eq!(Patience::new(1).next_pause(&status(429, Some(Duration::from_secs(61)))), None);
    }

    #[test]
    fn what_stays_wrong_is_not_repeated() {
        for failure in [status(400, None), status(401, None), ModelFailure::Malformed(String::new())] {
            assert_eq!(Patience::new(9).next_pause(&failure), None, "{failure:?}");
        }
    }
}
