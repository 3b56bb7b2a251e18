//! Instants as programs read them: RFC 3339 in UTC, as the calendar library writes them but faster.

use jiff::Timestamp;

/// There are millions of them, and most lie on the day of the one before: its date is kept. The
/// time of day is written by hand when it is a whole second.
#[derive(Default)]
pub(super) struct Instants {
    day: Option<i64>,
    /// `2026-03-06T`.
    date: Vec<u8>,
}

const SECONDS_A_DAY: i64 = 86_400;

impl Instants {
    pub(super) fn append(&mut self, at: Timestamp, line: &mut Vec<u8>) {
        if at.subsec_nanosecond() != 0 {
            return line.extend_from_slice(at.to_string().as_bytes());
        }
        let second = at.as_second();
        let day = second.div_euclid(SECONDS_A_DAY);
        if self.day != Some(day) {
            let text = at.to_string();
            let Some((date, _)) = text.split_once('T') else {
                return line.extend_from_slice(text.as_bytes());
            };
            self.day = Some(day);
            self.date = format!("{date}T").into_bytes();
        }
        line.extend_from_slice(&self.date);
        let second = second.rem_euclid(SECONDS_A_DAY);
        let digits = |number: i64| {
            // At most 59, so that two digits hold it.
            let number = u8::try_from(number).unwrap_or(0);
            [b'0' + number / 10, b'0' + number % 10]
        };
        let [h1, h2] = digits(second / 3600);
        let [m1, m2] = digits(second / 60 % 60);
        let [s1, s2] = digits(second % 60);
        line.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2, b'Z']);
    }
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
