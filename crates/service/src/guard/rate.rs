//! How many requests a caller may send: one bucket of tokens each.

use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;

use gateway_config::RateLimit;

use gateway_runtime::least_recently_used::LeastRecentlyUsed;
use gateway_runtime::lock::locked;
use gateway_runtime::owner::Owner;

/// Most buckets that are kept. One that is full again says nothing and is thrown away first.
const BUCKETS: usize = 4_096;

/// Whose bucket it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Payer {
    /// The owner of a key.
    Owner(Owner),
    /// A peer that shows no key of ours.
    Peer(IpAddr),
}

/// The buckets of all callers.
#[derive(Debug)]
pub(crate) struct Rates {
    limit: RateLimit,
    buckets: Mutex<LeastRecentlyUsed<Payer, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, limit: &RateLimit, now: Instant) -> Self {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        Self { tokens: (self.tokens + elapsed * limit.per_second).min(limit.burst), at: now }
    }
}

impl Rates {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self { limit, buckets: Mutex::new(LeastRecentlyUsed::new(BUCKETS, usize::MAX)) }
    }

    /// Takes one token; gives the seconds to wait where there is none.
    pub(crate) fn take(&self, payer: &Payer, now: Instant) -> Result<(), u32> {
        let limit = &self.limit;
        let mut buckets = locked(&self.buckets);
        if buckets.get(payer).is_none() {
            if !buckets.has_room(0) {
                buckets.retain(|_, bucket| bucket.filled(limit, now).tokens < limit.burst);
            }
            buckets.insert(payer.clone(), Bucket { tokens: limit.burst, at: now }, 0);
        }
        let Some(bucket) = buckets.get(payer) else { return Ok(()) };
        *bucket = bucket.filled(limit, now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let seconds = ((1.0 - bucket.tokens) / limit.per_second).ceil().clamp(1.0, 3_600.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped above")]
        Err(seconds as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    fn peer(number: u32) -> Payer {
        Payer::Peer(Ipv4Addr::from(number).into())
    }

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let rates = Rates::new(RateLimit { per_second: 2.0, burst: 3.0 });
        let start = Instant::now();
        let taken: Vec<_> = (0..4).map(|_| rates.take(&peer(1), start)).collect();
        assert_eq!(taken, [Ok(()), Ok(()), Ok(()), Err(1)]);
        assert_eq!(rates.take(&peer(2), start), Ok(()), "others have their own");
        assert_eq!(rates.take(&peer(1), start + Duration::from_millis(500)), Ok(()));
        assert_eq!(rates.take(&peer(1), start + Duration::from_millis(501)), Err(1));
    }

    #[test]
    fn slow_rates_say_how_long_to_wait() {
        let rates = Rates::new(RateLimit { per_second: 0.1, burst: 1.0 });
        let start = Instant::now();
        assert_eq!(rates.take(&peer(1), start), Ok(()));
        assert_eq!(rates.take(&peer(1), start), Err(10));
    }

    #[test]
    fn the_buckets_are_bounded() {
        let rates = Rates::new(RateLimit { per_second: 0.001, burst: 1.0 });
        let start = Instant::now();
        for number in 0..10_000 {
            assert_eq!(rates.take(&peer(number), start + Duration::from_micros(number.into())), Ok(()));
        }
        assert!(rates.buckets.lock().unwrap().len() <= BUCKETS);
    }
}
