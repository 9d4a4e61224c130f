//! How long to wait before the next attempt.

use std::time::Duration;

use gateway_config::RestartPolicy;

/// The pause after `failures` failures in a row (1 is the first), without jitter: doubling, up to the longest.
pub(super) fn pause(policy: &RestartPolicy, failures: u32) -> Duration {
    if failures > policy.attempts {
        return policy.longest;
    }
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(20));
    policy.first.saturating_mul(doubled).min(policy.longest)
}

/// A pause made up to a tenth longer, so that many gateways do not come back at once.
pub(super) fn with_jitter(pause: Duration, random: u8) -> Duration {
    pause + pause.mul_f64(f64::from(random) / 2550.0)
}

/// A byte of chance; without a source of chance there is no jitter.
pub(super) fn random_byte() -> u8 {
    let mut byte = [0_u8];
    match getrandom::fill(&mut byte) {
        Ok(()) => byte[0],
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_then_stay() {
        let policy = RestartPolicy::default();
        let seconds: Vec<u64> = (1..=7).map(|failures| pause(&policy, failures).as_secs()).collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn jitter_adds_at_most_a_tenth() {
        let two = Duration::from_secs(2);
        assert_eq!(with_jitter(two, 0), two);
        assert_eq!(with_jitter(two, 255), Duration::from_millis(2_200));
    }
}
