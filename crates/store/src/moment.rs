//! Moments as people write them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Reads a moment: how long ago (`90s`, `15m`, `2h`, `3d`), a day, a time in UTC, or with its zone. The error says what is
/// expected.
pub fn parse_moment(text: &str, now: Timestamp) -> Result<Timestamp, &'static str> {
    if let Some(ago) = ago(text) {
        return now.checked_sub(ago).map_err(|_| "that is too long ago");
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let time = text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from));
    time.and_then(|time| time.to_zoned(TimeZone::UTC))
        .map(|zoned| zoned.timestamp())
        .map_err(|_| "expected 15m, 2h, 3d, 2026-11-03 or 2026-11-03T10:00:00Z")
}

fn ago(text: &str) -> Option<SignedDuration> {
    let (end, unit) = text.char_indices().next_back()?;
    let number: i64 = text.get(..end)?.parse().ok().filter(|number| *number >= 0)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    Some(SignedDuration::from_secs(number.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_many_forms() {
        let now: Timestamp = "2026-11-03T10:00:00Z".parse().unwrap();
        let check = |text: &str, expected: &str| {
            assert_eq!(parse_moment(text, now).unwrap().to_string(), expected, "{text}");
        };
        check("90s", "2026-11-03T09:58:30Z");
        check("15m", "2026-11-03T09:45:00Z");
        check("2h", "2026-11-03T08:00:00Z");
        check("3d", "2026-10-31T10:00:00Z");
        check("2026-11-01", "2026-11-01T00:00:00Z");
        check("2026-11-01T12:30:00", "2026-11-01T12:30:00Z");
        check("2026-11-01T12:30:00+02:00", "2026-11-01T10:30:00Z");
        for wrong in ["", "m", "-5m", "yesterday", "5w", "999999999999999999d", "99999999d", "2026-13-01"] {
            assert!(parse_moment(wrong, now).is_err(), "{wrong}");
        }
    }
}
