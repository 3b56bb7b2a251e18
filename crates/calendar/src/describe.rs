//! Schedules in English, in one line. The description is of the meaning, not of the text:
//! `0 9 * * 1,2,3,4,5` and `0 9 * * mon-fri` read the same.

mod dates;
mod lists;
mod times;

use self::dates::date_phrase;
use self::times::{TimePhrase, time_phrase};
use crate::recurrence::{DateSet, Recurrence};

/// A recurring moment, such as `at 08:30, Monday to Friday`.
pub(crate) fn recurrence(recurrence: &Recurrence) -> String {
    match time_phrase(recurrence.times) {
        TimePhrase::At(time) => time + &date_phrase(&recurrence.dates, false),
        TimePhrase::Every(time) => time + &date_phrase(&recurrence.dates, true),
    }
}

/// A window between two recurring moments, such as `open from 22:00 to 06:00 every day`.
pub(crate) fn window(start: &Recurrence, end: &Recurrence) -> String {
    if start.dates == DateSet::EVERY_DAY && end.dates == DateSet::EVERY_DAY {
        let (opens, closes) = (single_time(start), single_time(end));
        if let (Some(opens), Some(closes)) = (opens, closes) {
            return daily(opens, closes);
        }
    }
    format!("opens {}; closes {}", recurrence(start), recurrence(end))
}

fn daily(opens: u16, closes: u16) -> String {
    if opens == closes {
        return "always open".to_owned();
    }
    let (from, to) = (times::clock(opens), times::clock(closes));
    match closes {
        0 => format!("open from {from} to 24:00 every day"),
        _ if closes < opens => format!("open from {from} to {to} the next day, every day"),
        _ => format!("open from {from} to {to} every day"),
    }
}

fn single_time(recurrence: &Recurrence) -> Option<u16> {
    let times = recurrence.times;
    (times.first() == times.last()).then(|| times.first())
}

#[cfg(test)]
mod tests {
    use crate::{Cron, DailyWindow, Pattern, PatternText, Zone};

    #[test]
    fn expressions_are_described_by_what_they_mean() {
        let cases = [
            ("* * * * *", "every minute"),
            ("*/15 * * * *", "every 15 minutes"),
            ("0 * * * *", "every hour, on the hour"),
            ("7 * * * *", "every hour, at minute 7"),
            ("1,2,40 * * * *", "every hour, at minutes 1, 2 and 40"),
            ("*/7 * * * *", "every hour, at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"),
            ("0 */6 * * *", "at 00:00, 06:00, 12:00 and 18:00 every day"),
            ("30 */2 * * *", "every 2 hours from 00:30 to 22:30"),
            ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00, Monday to Friday"),
            ("*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:45, Monday to Friday"),
            ("*/15 2 * * *", "every 15 minutes from 02:00 to 02:45"),
            ("* 4 * * *", "every minute from 04:00 to 04:59"),
            ("*/10 1,5 * * *", "every 10 minutes in the hours 1 and 5"),
            (
                "5,7 1,3,8,12,20 * * *",
                "at minutes 5 and 7 of the hours 1, 3, 8, 12 and 20 every day",
            ),
            ("30 8 * * mon-fri", "at 08:30, Monday to Friday"),
            ("30 8 * * 0,6", "at 08:30 on Saturday and Sunday"),
            ("30 8 * * 3", "at 08:30 every Wednesday"),
            ("0 0 29 2 *", "at 00:00 on 29 February"),
            ("0 0 1 1 *", "at 00:00 on 1 January"),
            ("0 0 1,15 * *", "at 00:00 on the 1st and 15th of every month"),
            ("0 0 31 * *", "at 00:00 on the 31st of every month that has one"),
            ("0 0 29,30 * *", "at 00:00 on the 29th and 30th of every month that has them"),
            ("0 0 1,31 * *", "at 00:00 on the 1st and 31st of every month, where there is a 31st"),
            ("0 0 31 1,3 *", "at 00:00 on the 31st of January and March"),
            ("0 0 31 * 5", "at 00:00 on the 31st of every month that has one and on every Friday"),
            ("0 0 1-7 * *", "at 00:00 on the 1st to 7th of every month"),
            ("0 0 * 6-8 *", "at 00:00 every day from June to August"),
            ("0 0 1,2 1,7 *", "at 00:00 on the 1st and 2nd of January and July"),
            ("0 0 13 * 5", "at 00:00 on the 13th of every month and on every Friday"),
            ("0 0 13 2,3 5", "at 00:00 on the 13th and on every Friday, in February and March"),
            ("0 0 1-31 * 5", "at 00:00 every day"),
            ("0 0 13 6 0-6", "at 00:00 every day in June"),
            ("*/5 * * 12 *", "every 5 minutes in December"),
            ("0 12 * 12 1", "at 12:00 every Monday in December"),
            ("1-59 * * * *", "every hour, at minutes 1 to 59"),
            ("10-20 3 * * *", "every minute from 03:10 to 03:20"),
            ("*/7 3 * * *", "every 7 minutes from 03:00 to 03:56"),
            ("1-4,9 3 * * *", "at minutes 1 to 4 and 9 of hour 3 every day"),
            ("0 0-5,8-20 * * *", "at minute 0 of the hours 0 to 5 and 8 to 20 every day"),
            ("0 1-23/2 * * *", "every 2 hours from 01:00 to 23:00"),
            ("* * * * 1", "every minute, every Monday"),
            ("0 12 * * 1-3,5", "at 12:00 on Monday to Wednesday and Friday"),
            ("0 0 1-7,15-21 * *", "at 00:00 on the 1st to 7th and 15th to 21st of every month"),
            ("0 0 */2 * *", "at 00:00 on every 2nd day from the 1st to the 31st of every month"),
            ("0 0 1 1-11 *", "at 00:00 on the 1st of each month from January to November"),
            ("0 0 1 * 1-5", "at 00:00 on the 1st of every month and from Monday to Friday"),
        ];
        for (text, expected) in cases {
            assert_eq!(Cron::parse(text).unwrap().describe(), expected, "{text}");
        }
    }

    #[test]
    fn patterns_are_described_by_what_they_mean() {
        let any = PatternText::default();
        let cases = [
            (any, "at 00:00 every day"),
            (
                PatternText { days: Some("29"), months: Some("2"), weekdays: Some("mon"), ..any },
                "at 00:00 on the 29th of February where it is a Monday",
            ),
            (
                PatternText { days: Some("1,2,3,4,5,6,7"), weekdays: Some("Thu,Fri"), ..any },
                "at 00:00 on the 1st to 7th of every month where it is a Thursday or Friday",
            ),
            (PatternText { years: Some("2026"), ..any }, "at 00:00 every day in 2026"),
            (
                PatternText { days: Some("27"), months: Some("Nov"), years: Some("2026"), ..any },
                "at 00:00 on 27 November 2026",
            ),
            (
                PatternText { days: Some("1"), years: Some("2026,2027"), ..any },
                "at 00:00 on the 1st of every month in 2026 and 2027",
            ),
            (
                PatternText { weekdays: Some("Fri"), years: Some("2026"), ..any },
                "at 00:00 every Friday in 2026",
            ),
            (
                PatternText {
                    days: Some("1,8"),
                    weekdays: Some("1,2,5"),
                    years: Some("2026"),
                    ..any
                },
                "at 00:00 on the 1st and 8th of every month in 2026 where it is a Monday, Tuesday \
                 or Friday",
            ),
            (
                PatternText { months: Some("6,7,8"), years: Some("2026,2027,2028"), ..any },
                "at 00:00 every day from June to August in 2026 to 2028",
            ),
            (
                PatternText { weekdays: Some("7,1"), months: Some("5"), ..any },
                "at 00:00 on Monday and Sunday in May",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Pattern::parse(text).unwrap().describe(), expected, "{text:?}");
        }
    }

    #[test]
    fn daily_windows_are_described_by_what_they_mean() {
        let cases = [
            ("08:00", "20:00", "open from 08:00 to 20:00 every day"),
            ("22:00", "06:00", "open from 22:00 to 06:00 the next day, every day"),
            ("22:00", "24:00", "open from 22:00 to 24:00 every day"),
            ("22:00", "00:00", "open from 22:00 to 24:00 every day"),
            ("00:00", "24:00", "always open"),
        ];
        for (start, end, expected) in cases {
            let window = DailyWindow::parse(start, end).unwrap();
            assert_eq!(window.describe(), expected);
            let in_zone = window.in_zone(Zone::utc()).describe();
            assert_eq!(in_zone, format!("{expected} (UTC)"));
        }
    }
}
