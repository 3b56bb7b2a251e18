//! Lenient reading of single values, within the limits of the API.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

/// An instant; `None` if it is invalid or before 1970, as no status of Almanac is that old.
pub(crate) fn instant(value: &Value) -> Option<Timestamp> {
    let at: Timestamp = value.as_str()?.parse().ok()?;
    Some(whole_second(at)).filter(|at| *at >= Timestamp::UNIX_EPOCH)
}

/// An instant from another field manager, not rounded; `None` if it is invalid.
pub(crate) fn exact_instant(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// A number of replicas in the range of the API: from 0 to `i32::MAX`.
pub(crate) fn count(value: &Value) -> Option<u32> {
    let number = i32::try_from(value.as_i64()?).ok()?;
    u32::try_from(number).ok()
}

/// A number of replicas in the type of the status fields.
pub(crate) fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The last whole second at or before an instant: times in the API have whole seconds.
pub(crate) fn whole_second(at: Timestamp) -> Timestamp {
    let fraction = SignedDuration::from_nanos(i64::from(at.subsec_nanosecond()));
    let truncated = at.checked_sub(fraction).unwrap_or(at);
    if fraction.is_negative() {
        truncated.checked_sub(SignedDuration::from_secs(1)).unwrap_or(truncated)
    } else {
        truncated
    }
}

/// An instant in the type of the status fields.
pub(crate) fn time(at: Timestamp) -> Time {
    Time(whole_second(at))
}

/// Truncates a string to at most this many characters, and marks the truncation.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_truncated_to_its_second() {
        for (at, second) in [
            ("2026-01-05T09:00:00.999999999Z", "2026-01-05T09:00:00Z"),
            ("2026-01-05T09:00:00Z", "2026-01-05T09:00:00Z"),
            ("1969-12-31T23:59:58.5Z", "1969-12-31T23:59:58Z"),
        ] {
            assert_eq!(whole_second(at.parse().unwrap()), second.parse().unwrap(), "{at}");
        }
    }

    #[test]
    fn a_text_is_truncated_at_a_character_boundary() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(cut(&cut("äöüß", 3), 3), "äö…");
    }
}
