//! Durations in the form of Go programs: `1m30s`, or a number of nanoseconds.

use jiff::SignedDuration;

/// The units, with their nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a string like Go's `time.ParseDuration`; `None` for a string that Go rejects.
pub(crate) fn read(text: &str) -> Option<SignedDuration> {
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanoseconds: u64 = 0;
    while !rest.is_empty() {
        let number_ends = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, after) = rest.split_at(number_ends);
        let unit_ends = after.find(|it: char| it.is_ascii_digit() || it == '.');
        let (unit, after) = after.split_at(unit_ends.unwrap_or(after.len()));
        let (_, of_unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        nanoseconds = nanoseconds.checked_add(amount(number, *of_unit)?)?;
        rest = after;
    }
    let total = i64::try_from(nanoseconds).ok()?;
    Some(SignedDuration::from_nanos(if is_negative { -total } else { total }))
}

/// A number of units in nanoseconds, without fractions.
fn amount(number: &str, of_unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanoseconds = whole.checked_mul(of_unit)?;
    let mut of_digit = of_unit;
    for digit in fraction.bytes() {
        // Digits below a nanosecond add nothing.
        let tenths = of_digit.checked_mul(u64::from(digit - b'0'))? / 10;
        nanoseconds = nanoseconds.checked_add(tenths)?;
        of_digit /= 10;
    }
    Some(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, milliseconds) in [
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("1h", 3_600_000),
            ("1.5h", 5_400_000),
            ("1m0.5s", 60_500),
            (".5s", 500),
            ("5.s", 5_000),
            ("300ms", 300),
            ("+2s", 2_000),
            ("-2s", -2_000),
            ("0", 0),
            ("0s", 0),
            ("2000us", 2),
            ("2000µs", 2),
            ("1s1s", 2_000),
        ] {
            assert_eq!(read(text), Some(SignedDuration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn a_text_that_go_rejects_is_not_a_duration() {
        for text in [
            "",
            "+",
            "-",
            "s",
            "15",
            "1.5",
            "1 s",
            "1d",
            "30 seconds",
            "1S",
            ".s",
            "1..5s",
            "--1s",
            "1e3s",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(read("9223372037s"), None, "it is more than Go can hold");
    }
}
