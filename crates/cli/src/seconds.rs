//! Times on the command line.

use std::time::Duration;

/// Reads a number of seconds, such as `5` or `0.5`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.trim_end_matches('s').parse().map_err(|_| "expected a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(number) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("expected a number of seconds above 0".to_owned()),
    }
}
