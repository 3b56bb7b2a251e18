//! Acceptance never depends on the time of day: what is accepted has a next event at every minute.

use almanac_calendar::{Cron, DailyWindow, Pattern, PatternText, PatternWindow, Zone};
use jiff::{SignedDuration, Timestamp};

use crate::at;

const ODD_EXPRESSIONS: [&str; 24] = [
    "0 0 29 2 *",
    "59 23 31 12 *",
    "0 0 31 1,3,5 ?",
    "0 0 30 2 mon",
    "0 0 13 * fri",
    "*/59 */23 * * *",
    "59/59 23/23 31/31 12/12 7/7",
    "0-59 0-23 1-31 1-12 0-7",
    "? ? ? ? ?",
    "*/1 ?/1 */1 ?/1 */1",
    "5,5,5 5,5 5,5 5,5 5,5",
    "00 09 01 01 07",
    "0 2 * * 7",
    "0 2 * * sun-tue",
    "0 2 * JAN-mar,Dec Mon,5-7",
    "1-59/2,*/2 * * * *",
    "  0   9  * *\t* ",
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// A day with a clock change, so that its minutes are not all alike.
fn every_minute_of_a_day() -> impl Iterator<Item = Timestamp> {
    (0..24 * 60).map(|minute| at("2026-03-08T00:00-05:00") + SignedDuration::from_mins(minute))
}

#[test]
fn every_odd_expression_is_accepted_and_has_a_next_run_at_every_minute_of_a_day() {
    let zone = Zone::named("America/New_York").unwrap();
    for text in ODD_EXPRESSIONS {
        for now in every_minute_of_a_day() {
            let cron = Cron::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let next = cron.in_zone(zone).next(now);
            assert!(next.is_some_and(|next| next > now), "{text} at {now}: {next:?}");
        }
    }
}

#[test]
fn every_odd_window_is_accepted_and_answers_at_every_minute_of_a_day() {
    let zone = Zone::named("America/New_York").unwrap();
    for (start, end) in
        [("00:00", "00:01"), ("23:59", "24:00"), ("02:30", "02:29"), ("02:00", "03:00")]
    {
        for now in every_minute_of_a_day() {
            let window = DailyWindow::parse(start, end).unwrap().in_zone(zone);
            let next = window.next_transition(now).unwrap();
            assert!(next.at > now, "{start}-{end} at {now}");
            assert_eq!(next.opens, !window.is_open(now), "{start}-{end} at {now}");
        }
    }
}

#[test]
fn the_rarest_pattern_is_accepted_and_has_a_next_transition_at_every_minute_of_a_day() {
    let zone = Zone::named("America/New_York").unwrap();
    let start = PatternText {
        days: Some("29"),
        months: Some("february"),
        weekdays: Some("MONDAY"),
        ..PatternText::default()
    };
    let end = PatternText { hours: Some("23"), ..start };
    for now in every_minute_of_a_day() {
        let window =
            PatternWindow::new(Pattern::parse(start).unwrap(), Pattern::parse(end).unwrap())
                .unwrap()
                .in_zone(zone);
        let next = window.next_transition(now).unwrap();
        assert_eq!((next.at, next.opens), (at("2044-02-29T00:00-05:00"), true));
    }
}
