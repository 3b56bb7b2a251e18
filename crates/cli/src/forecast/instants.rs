//! Instants as programs read them: RFC 3339 in UTC, as the calendar library writes them but faster.

use jiff::Timestamp;
use jiff::tz::Offset;

/// A writer of instants. There are millions of instants, and most are on the same day as the previous instant, so the
/// last date is cached. Whole seconds of years with four digits have a fast path.
#[derive(Default)]
pub(crate) struct Instants {
    day: Option<i64>,
    /// `2026-03-06T`.
    date: [u8; 11],
}

const SECONDS_A_DAY: i64 = 86_400;

impl Instants {
    pub(crate) fn append(&mut self, at: Timestamp, line: &mut Vec<u8>) {
        let second = at.as_second();
        let day = second.div_euclid(SECONDS_A_DAY);
        if at.subsec_nanosecond() != 0 || (self.day != Some(day) && !self.begin(day, at)) {
            return line.extend_from_slice(at.to_string().as_bytes());
        }
        line.extend_from_slice(&self.date);
        let second = second.rem_euclid(SECONDS_A_DAY);
        let [h1, h2] = digits(second / 3600);
        let [m1, m2] = digits(second / 60 % 60);
        let [s1, s2] = digits(second % 60);
        line.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2, b'Z']);
    }

    /// Caches the day of an instant, unless its year is before the year 0.
    fn begin(&mut self, day: i64, at: Timestamp) -> bool {
        let date = Offset::UTC.to_datetime(at).date();
        let Ok(year) = u16::try_from(date.year()) else { return false };
        let ([y1, y2], [y3, y4]) = (digits(i64::from(year / 100)), digits(i64::from(year % 100)));
        let ([m1, m2], [d1, d2]) = (digits(date.month().into()), digits(date.day().into()));
        self.date = [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T'];
        self.day = Some(day);
        true
    }
}

/// Two digits of a number of at most 99.
fn digits(number: i64) -> [u8; 2] {
    let number = u8::try_from(number).unwrap_or(0);
    [b'0' + number / 10, b'0' + number % 10]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_the_calendar_library_writes_them() {
        let mut instants = Instants::default();
        for text in [
            "2026-03-06T00:00:00Z",
            "2026-03-06T23:59:59Z",
            "2026-03-06T12:34:56.789Z",
            "2026-03-07T07:08:09Z",
            "1969-12-31T23:59:59Z",
            "0000-01-01T00:00:00Z",
            "-000001-12-31T23:59:59Z",
            "2026-03-07T07:08:09Z",
            "-009999-02-03T01:02:03Z",
            "9999-12-30T22:00:00Z",
        ] {
            let at: Timestamp = text.parse().unwrap();
            let mut line = Vec::new();
            instants.append(at, &mut line);
            assert_eq!(String::from_utf8(line).unwrap(), at.to_string());
        }
    }
}
