//! The oracle itself, compared with instants that were computed by hand.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

use almanac_oracle::{
    Flip, Line, Observation, Rule, Schedule, Unreadable, firing_after, firing_up_to, observe,
    transition_after, transition_up_to, year_start,
};
use jiff::Timestamp;

fn rule(line: &str) -> Rule {
    line.parse::<Schedule>().unwrap().rule().unwrap()
}

fn second(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_second()
}

fn seconds(texts: &[&str]) -> Vec<i64> {
    texts.iter().map(|text| second(text)).collect()
}

/// The events and states in a zone between two instants.
fn observed(zone: &str, (from, to): (&str, &str), schedule: &str) -> Observation {
    let line = Line::named(zone).unwrap();
    observe(&line, second(from), second(to), &[&rule(schedule)]).remove(0)
}

fn firings(zone: &str, period: (&str, &str), schedule: &str) -> Vec<i64> {
    match observed(zone, period, schedule) {
        Observation::Firings(firings) => firings,
        Observation::Window { .. } => panic!("{schedule} does not fire"),
    }
}

/// Checks the number of firings of each schedule in a period in UTC.
#[track_caller]
fn assert_counts(period: (&str, &str), schedules: &[(&str, usize)]) {
    for (schedule, count) in schedules {
        assert_eq!(firings("UTC", period, schedule).len(), *count, "{schedule}");
    }
}

fn flips(zone: &str, period: (&str, &str), schedule: &str) -> (bool, Vec<Flip>) {
    match observed(zone, period, schedule) {
        Observation::Window { open_before, flips } => (open_before, flips),
        Observation::Firings(_) => panic!("{schedule} is no window"),
    }
}

#[test]
fn years_start_on_the_right_weekday() {
    for (year, text) in [
        (1968, "1968-01-01T00:00:00Z"),
        (1970, "1970-01-01T00:00:00Z"),
        (1973, "1973-01-01T00:00:00Z"),
        (2001, "2001-01-01T00:00:00Z"),
        (2101, "2101-01-01T00:00:00Z"),
    ] {
        assert_eq!(year_start(year), second(text));
    }
}

#[test]
fn a_fixed_firing_in_a_gap_happens_once_at_the_first_instant_after_it() {
    // New York, 2026-03-08: 02:00 EST is 03:00 EDT, which is 07:00 UTC. Both runs fall in the gap.
    let day = ("2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z");
    let fired = firings("America/New_York", day, "cron 15,30 2 * * *");
    assert_eq!(fired, seconds(&["2026-03-08T07:00:00Z"]));
}

#[test]
fn a_fixed_firing_in_a_fold_happens_at_the_first_occurrence() {
    // New York, 2026-11-01: 01:30 EDT is 05:30 UTC, 01:30 EST an hour later.
    let day = ("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z");
    let fired = firings("America/New_York", day, "cron 30 1 * * *");
    assert_eq!(fired, seconds(&["2026-11-01T05:30:00Z"]));
}

#[test]
fn a_firing_that_follows_the_clock_is_lost_in_a_gap_and_doubled_in_a_fold() {
    let spring = ("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z");
    assert_eq!(firings("America/New_York", spring, "cron */15 2 * * *"), [0_i64; 0]);
    let autumn = ("2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z");
    let autumn = firings("America/New_York", autumn, "cron */15 1 * * *");
    assert_eq!(autumn.len(), 8);
    assert_eq!(autumn[4], second("2026-11-01T06:00:00Z"));
}

#[test]
fn a_window_that_starts_in_a_gap_opens_after_it() {
    let day = ("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z");
    let (open, flips) = flips("America/New_York", day, "daily 02:30 03:30");
    assert!(!open);
    let expected = [
        Flip { at: second("2026-03-08T07:00:00Z"), opens: true },
        Flip { at: second("2026-03-08T07:30:00Z"), opens: false },
    ];
    assert_eq!(flips, expected);
}

#[test]
fn a_window_wholly_in_a_gap_does_not_open_and_one_around_it_does_not_close() {
    let day = ("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z");
    assert_eq!(flips("America/New_York", day, "daily 02:10 02:40"), (false, Vec::new()));
    // From 02:40 to the next day's 02:10: end and start fall on one instant, the start later.
    assert_eq!(flips("America/New_York", day, "daily 02:40 02:10"), (true, Vec::new()));
}

#[test]
fn an_all_day_window_never_changes() {
    let day = ("2026-03-08T05:00:00Z", "2026-03-12T04:00:00Z");
    assert_eq!(flips("America/New_York", day, "daily 00:00 24:00"), (true, Vec::new()));
}

#[test]
fn a_skipped_day_collapses_into_one_instant() {
    // Apia had no 30 December 2011: 29 December 24:00 (UTC-10) is 31 December 00:00 (UTC+14), at 2011-12-30T10:00Z. The
    // run of the 30th is caught up then; the run of the 31st is at 19:00Z.
    let days = ("2011-12-29T11:00:00Z", "2011-12-31T10:00:00Z");
    assert_eq!(
        firings("Pacific/Apia", days, "cron 0 9 * * *"),
        seconds(&["2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"])
    );
    let thirtieth = ("2011-12-29T20:00:00Z", "2011-12-30T19:00:00Z");
    assert_eq!(firings("Pacific/Apia", thirtieth, "cron 0 */9 30 * *"), [0_i64; 0]);
}

#[test]
fn odd_seconds_of_monrovia_are_walked_on_a_finer_grid() {
    // Until 1972-01-07 Monrovia was 44 minutes 30 seconds behind UTC; then the clock jumped from
    // 00:00:00 to 00:44:30.
    let days = ("1972-01-05T12:00:00Z", "1972-01-08T00:00:00Z");
    let fired = firings("Africa/Monrovia", days, "cron 30 0 * * *");
    assert_eq!(fired, seconds(&["1972-01-06T01:14:30Z", "1972-01-07T00:44:30Z"]));
    let line = Line::named("Africa/Monrovia").unwrap();
    // 1971-06-01 00:00:07 on the wall.
    assert_eq!(line.first_reaching(second("1971-06-01T00:00:07Z")), second("1971-06-01T00:44:37Z"));
}

#[test]
fn the_day_fields_of_cron_are_either_or_and_those_of_patterns_both() {
    // April 2026: the 13th is a Monday, Fridays are 3, 10, 17, 24.
    let month = ("2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z");
    assert_counts(month, &[("cron 0 0 13 * fri", 5)]);
    let (_, both) = flips(
        "UTC",
        month,
        "pattern hours=9; days=1,2,3,4,5,6,7; weekdays=Thursday -> hours=17; days=1,2,3,4,5,6,7; weekdays=4",
    );
    let expected = [
        Flip { at: second("2026-04-02T09:00:00Z"), opens: true },
        Flip { at: second("2026-04-02T17:00:00Z"), opens: false },
    ];
    assert_eq!(both, expected);
}

#[test]
fn fields_match_as_they_read() {
    // One hour of a Tuesday, 2026-12-01.
    let schedules = [
        ("cron * 9 * * *", 60),
        ("cron */7 9 * * *", 9),
        ("cron 5/20 9 * * *", 3),
        ("cron 10-20/5 9 * * *", 3),
        ("cron 0,0,7-8,?/30 9 * * *", 4),
        ("cron 0 9 1 dec *", 1),
        ("cron 0 9 2 DEC ?", 0),
        ("cron 0 9 * nov-dec Tue", 1),
        ("cron 0 9 * * 3-7", 0),
        ("cron 0 9 * * 1/3", 0),
        ("cron 0 9 * * 2/3", 1),
        ("cron 0 9 3 * */2", 1),
        ("cron 0 9 3 * */1", 0),
        ("cron 0 9 3 * 0-6", 1),
        ("cron @hourly", 1),
        ("cron @daily", 0),
    ];
    assert_counts(("2026-12-01T09:00:00Z", "2026-12-01T10:00:00Z"), &schedules);
}

#[test]
fn sunday_is_zero_and_seven_and_no_step_reaches_an_eighth_day() {
    // 2026-11-29 is a Sunday.
    let schedules = [
        ("cron 0 9 * * 7", 1),
        ("cron 0 9 * * sun", 1),
        ("cron 0 9 * * 5-7/2", 1),
        ("cron 0 9 * * 1/2", 0),
        ("cron 0 9 * * 7/2", 1),
    ];
    assert_counts(("2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"), &schedules);
}

#[test]
fn the_rarest_firings_are_found_across_2100() {
    let line = Line::named("UTC").unwrap();
    // 2096 is the last leap year before 2104, because 2100 is not one.
    let leap = rule("cron 0 0 29 2 *");
    let now = second("2096-02-29T00:00:00Z");
    assert_eq!(firing_after(&line, &leap, now), Some(second("2104-02-29T00:00:00Z")));
    assert_eq!(firing_up_to(&line, &leap, now), Some(now));
    assert_eq!(firing_up_to(&line, &leap, now - 1), Some(second("2092-02-29T00:00:00Z")));

    // 29 February is a Monday in 2072 and 2112: 28 years and 12 more for the missing leap day.
    let window = rule("pattern days=29; months=feb; weekdays=mon -> days=1; months=mar");
    let from = second("2072-03-01T00:00:00Z");
    let expected = Some(Flip { at: second("2112-02-29T00:00:00Z"), opens: true });
    assert_eq!(transition_after(&line, &window, from), expected);
    let expected = Some(Flip { at: from, opens: false });
    assert_eq!(transition_up_to(&line, &window, second("2112-02-28T00:00:00Z")), expected);
}

#[test]
fn a_printed_schedule_reads_back() {
    for line in [
        "cron 0  9 * * mon",
        "daily 22:00 24:00",
        "pattern minutes=0, 30; weekdays=Mon -> years=2026",
        "pattern  -> hours=9",
    ] {
        let schedule: Schedule = line.parse().unwrap();
        assert_eq!(schedule.to_string(), line);
    }
}

#[test]
fn an_unreadable_schedule_is_quoted() {
    let unreadable = |line: &str| Unreadable(line.to_owned());
    for line in ["", "weekly 9", "daily 22:00", "pattern hours=9", "pattern hour=9 -> hours=17"] {
        assert_eq!(line.parse::<Schedule>(), Err(unreadable(line)));
    }
    for line in ["cron 0 9 * *", "cron 0 9 * * * *", "daily 22:00 6"] {
        let schedule: Schedule = line.parse().unwrap();
        assert_eq!(schedule.rule().unwrap_err(), unreadable(line));
    }
}

#[test]
fn a_schedule_that_never_fires_or_whose_start_always_equals_its_end_is_rejected() {
    for line in [
        "cron 0 0 30 2 *",
        "cron 0 0 31 4,6 *",
        "pattern days=31; months=feb -> hours=9",
        "pattern hours=9 -> hours=9",
        "pattern hours=9; weekdays=0,7 -> hours=09; weekdays=sun",
        "pattern days=29; months=2; years=2023,2025 -> hours=9",
    ] {
        let schedule: Schedule = line.parse().unwrap();
        assert!(!schedule.rule().unwrap().is_acceptable(false), "{line}");
    }
    for line in
        ["cron 0 0 30 2 mon", "cron 0 0 29 2 *", "pattern days=29; months=2; weekdays=1 -> "]
    {
        let schedule: Schedule = line.parse().unwrap();
        assert!(schedule.rule().unwrap().is_acceptable(false), "{line}");
    }
}
