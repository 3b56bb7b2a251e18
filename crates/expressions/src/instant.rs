//! Instants and durations as strings.

use jiff::{SignedDuration, Timestamp};

/// An instant in RFC 3339, a subset of the formats that jiff accepts.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let (start, rest) = bytes.split_at_checked(shape.len())?;
    let is_of_shape = |(byte, shape): (&u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        shape => byte == shape,
    };
    if !start.iter().zip(shape).all(is_of_shape) || start.ends_with(b":60") {
        return None;
    }
    let rest = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let end = fraction.iter().position(|byte| !byte.is_ascii_digit())?;
            (end > 0).then_some(&fraction[end..])?
        }
        None => rest,
    };
    let is_offset = rest.len() == 6
        && matches!(rest[0], b'+' | b'-')
        && rest[1..].iter().zip(b"dd:dd").all(is_of_shape);
    if rest != b"Z" && !is_offset {
        return None;
    }
    // Nothing is finer than a nanosecond.
    let digits = text.len() - rest.len();
    let seconds = text.get(..digits.min(shape.len() + 10))?;
    [seconds, text.get(digits..)?].concat().parse().ok()
}

/// A duration as Go writes it, such as `1h30m` or `-1.5s`.
pub(crate) fn parse_duration(text: &str) -> Option<SignedDuration> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanoseconds: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|letter: char| letter.is_ascii_digit() || letter == '.');
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        nanoseconds = nanoseconds.checked_add(in_nanoseconds(number, unit)?)?;
        rest = after;
    }
    i64::try_from(sign * nanoseconds).ok().map(SignedDuration::from_nanos)
}

fn in_nanoseconds(number: &str, unit: &str) -> Option<i128> {
    let unit: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { i128::from(whole.parse::<u64>().ok()?) };
    whole.checked_mul(unit)?.checked_add(part_of(unit, fraction))
}

/// A fraction of a unit, with the rounding of Go.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "as Go calculates: a unit has less than 10^13 nanoseconds"
)]
fn part_of(unit: i128, fraction: &str) -> i128 {
    const LARGEST: u64 = 1 << 63;
    let (mut parts, mut scale) = (0_u64, 1.0_f64);
    for digit in fraction.bytes() {
        let digit = u64::from(digit - b'0');
        let longer = parts.checked_mul(10).and_then(|it| it.checked_add(digit));
        // A digit that does not fit no longer changes the result.
        let Some(longer) = longer.filter(|it| *it <= LARGEST && parts <= (LARGEST - 1) / 10) else {
            break;
        };
        (parts, scale) = (longer, scale * 10.0);
    }
    (parts as f64 * (unit as f64 / scale)) as i128
}

/// A duration in seconds, exactly: `5400s`.
pub(crate) fn in_seconds(duration: SignedDuration) -> String {
    let sign = if duration.is_negative() { "-" } else { "" };
    let nanoseconds = duration.as_nanos().unsigned_abs();
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_in_rfc_3339_and_nothing_else() {
        for (text, shown) in [
            ("2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z"),
            ("2026-03-02T12:00:00.25Z", "2026-03-02T12:00:00.25Z"),
            ("2026-03-02T12:00:00+01:30", "2026-03-02T10:30:00Z"),
            ("2026-03-02T12:00:00.1234567899999Z", "2026-03-02T12:00:00.123456789Z"),
        ] {
            assert_eq!(parse(text).map(|it| it.to_string()).as_deref(), Some(shown));
        }
        for bad in [
            "",
            "2026-03-02",
            "2026-03-02 12:00:00Z",
            "2026-03-02T12:00:00",
            "2026-13-02T12:00:00Z",
            "2026-03-02T12:00:00+0130",
            "2026-03-02T12:00:60Z",
            "2026-03-02T12:00:00.Z",
            "2026-03-02T12:00:00Z[UTC]",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_duration_is_a_sum_of_numbers_with_units() {
        for (text, shown) in [
            ("1h30m", "5400s"),
            ("-1.5s", "-1.5s"),
            ("+2ms", "0.002s"),
            ("0", "0s"),
            (".5h", "1800s"),
            ("1µs1ns", "0.000001001s"),
        ] {
            assert_eq!(parse_duration(text).map(in_seconds).as_deref(), Some(shown), "{text}");
        }
        for bad in ["", "-", "1", "1d", "h", "1h 30m", "1.2.3s", "9999999h"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
