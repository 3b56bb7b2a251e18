//! The zones in which clock changes are strangest, day by day.

use almanac_calendar::{PatternText, Zone};

use crate::{assert_fires, assert_opens, at, cron, daily, window};

#[test]
fn new_york_runs_a_fixed_time_once_in_the_gap_and_once_in_the_fold() {
    // 2026-03-08: 02:00 EST is 03:00 EDT. 2026-11-01: 02:00 EDT is 01:00 EST.
    let at_half_past_two = cron("America/New_York", "30 2 * * *");
    assert_fires(
        &at_half_past_two,
        ("2026-03-07T00:00-05:00", "2026-03-10T00:00-04:00"),
        &["2026-03-07T02:30-05:00", "2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"],
    );
    let at_half_past_one = cron("America/New_York", "30 1 * * *");
    assert_fires(
        &at_half_past_one,
        ("2026-10-31T00:00-04:00", "2026-11-03T00:00-05:00"),
        &["2026-10-31T01:30-04:00", "2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"],
    );
}

#[test]
fn new_york_merges_all_runs_in_a_gap_with_the_next_one() {
    // 02:00, 02:59 and 03:00 are all reached at 03:00 EDT.
    assert_fires(
        &cron("America/New_York", "0,59 2,3 * * *"),
        ("2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"),
        &["2026-03-08T03:00-04:00", "2026-03-08T03:59-04:00"],
    );
}

#[test]
fn new_york_follows_the_clock_where_an_expression_has_a_step() {
    let spring = cron("America/New_York", "*/15 2 * * *");
    assert_fires(&spring, ("2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"), &[]);
    assert_eq!(spring.next(at("2026-03-08T00:00-05:00")), Some(at("2026-03-09T02:00-04:00")));
    assert_fires(
        &cron("America/New_York", "*/15 1 * * *"),
        ("2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"),
        &[
            "2026-11-01T01:00-04:00",
            "2026-11-01T01:15-04:00",
            "2026-11-01T01:30-04:00",
            "2026-11-01T01:45-04:00",
            "2026-11-01T01:00-05:00",
            "2026-11-01T01:15-05:00",
            "2026-11-01T01:30-05:00",
            "2026-11-01T01:45-05:00",
        ],
    );
}

#[test]
fn berlin_opens_a_window_at_the_first_of_two_and_closes_it_once() {
    // 2026-10-25: 03:00 CEST is 02:00 CET. 02:30 comes first at +02:00, 03:30 only at +01:00.
    assert_opens(
        &daily("Europe/Berlin", "02:30", "03:30"),
        ("2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"),
        &[("2026-10-25T02:30+02:00", "2026-10-25T03:30+01:00")],
    );
    // 02:10 to 02:40 opens and closes on the first pass; the second pass is not a second window.
    assert_opens(
        &daily("Europe/Berlin", "02:10", "02:40"),
        ("2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"),
        &[("2026-10-25T02:10+02:00", "2026-10-25T02:40+02:00")],
    );
}

#[test]
fn berlin_does_not_open_a_window_that_lies_in_the_gap() {
    // 2026-03-29: 02:00 CET is 03:00 CEST; 02:10 and 02:40 are both reached at 03:00.
    let nightly = daily("Europe/Berlin", "02:10", "02:40");
    assert_opens(&nightly, ("2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"), &[]);
    assert!(!nightly.is_open(at("2026-03-29T03:00+02:00")));
    // The other way round it is open all day but for half an hour, and that half hour is skipped.
    let but_for_the_night = daily("Europe/Berlin", "02:40", "02:10");
    assert_opens(&but_for_the_night, ("2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"), &[]);
    assert!(but_for_the_night.is_open(at("2026-03-29T03:00+02:00")));
}

#[test]
fn sao_paulo_has_no_midnight_on_the_fourth_of_november_2018() {
    // 00:00 at -03:00 is 01:00 at -02:00.
    assert_fires(
        &cron("America/Sao_Paulo", "0 0 * * *"),
        ("2018-11-03T00:00-03:00", "2018-11-06T00:00-02:00"),
        &["2018-11-03T00:00-03:00", "2018-11-04T01:00-02:00", "2018-11-05T00:00-02:00"],
    );
    assert_opens(
        &daily("America/Sao_Paulo", "00:00", "00:30"),
        ("2018-11-03T12:00-03:00", "2018-11-05T12:00-02:00"),
        &[("2018-11-05T00:00-02:00", "2018-11-05T00:30-02:00")],
    );
}

#[test]
fn sao_paulo_repeats_the_last_hour_of_the_seventeenth_of_february_2018() {
    // 24:00 at -02:00 is 23:00 at -03:00: midnight is not reached before the second pass is over.
    assert_opens(
        &daily("America/Sao_Paulo", "23:30", "24:00"),
        ("2018-02-17T12:00-02:00", "2018-02-18T12:00-03:00"),
        &[("2018-02-17T23:30-02:00", "2018-02-18T00:00-03:00")],
    );
}

#[test]
fn lord_howe_changes_by_half_an_hour() {
    // 2026-10-04: 02:00 at +10:30 is 02:30 at +11:00.
    assert_fires(
        &cron("Australia/Lord_Howe", "15,45 2 * * *"),
        ("2026-10-04T00:00+10:30", "2026-10-05T00:00+11:00"),
        &["2026-10-04T02:30+11:00", "2026-10-04T02:45+11:00"],
    );
    // 2026-04-05: 02:00 at +11:00 is 01:30 at +10:30. Only the half hour comes twice.
    assert_fires(
        &cron("Australia/Lord_Howe", "*/15 1 * * *"),
        ("2026-04-05T00:00+11:00", "2026-04-06T00:00+10:30"),
        &[
            "2026-04-05T01:00+11:00",
            "2026-04-05T01:15+11:00",
            "2026-04-05T01:30+11:00",
            "2026-04-05T01:45+11:00",
            "2026-04-05T01:30+10:30",
            "2026-04-05T01:45+10:30",
        ],
    );
}

#[test]
fn casablanca_leaves_summer_time_for_ramadan() {
    // 2026-02-15: 03:00 at +01:00 is 02:00 at +00:00. 2026-03-22: 02:00 at +00:00 is 03:00 at +01:00.
    let nightly = cron("Africa/Casablanca", "30 2 * * *");
    assert_fires(
        &nightly,
        ("2026-02-14T12:00Z", "2026-02-16T12:00Z"),
        &["2026-02-15T02:30+01:00", "2026-02-16T02:30+00:00"],
    );
    assert_fires(
        &nightly,
        ("2026-03-21T12:00Z", "2026-03-23T12:00Z"),
        &["2026-03-22T03:00+01:00", "2026-03-23T02:30+01:00"],
    );
}

#[test]
fn cairo_has_no_midnight_on_the_last_friday_of_april() {
    // 2026-04-24: 00:00 at +02:00 is 01:00 at +03:00.
    assert_fires(
        &cron("Africa/Cairo", "0 0 * * fri"),
        ("2026-04-20T00:00+02:00", "2026-05-02T00:00+03:00"),
        &["2026-04-24T01:00+03:00", "2026-05-01T00:00+03:00"],
    );
    // The hour from midnight to one does not exist that day.
    assert_opens(
        &daily("Africa/Cairo", "00:00", "01:00"),
        ("2026-04-23T12:00+02:00", "2026-04-24T12:00+03:00"),
        &[],
    );
    // What begins in the gap begins at its end.
    assert_opens(
        &daily("Africa/Cairo", "00:20", "01:30"),
        ("2026-04-23T12:00+02:00", "2026-04-24T12:00+03:00"),
        &[("2026-04-24T01:00+03:00", "2026-04-24T01:30+03:00")],
    );
}

#[test]
fn cairo_reaches_the_last_thursday_of_october_only_once() {
    // 2026-10-29: 24:00 at +03:00 is 23:00 at +02:00, still the same day.
    assert_fires(
        &cron("Africa/Cairo", "30 23 * * *"),
        ("2026-10-29T12:00+03:00", "2026-10-31T12:00+02:00"),
        &["2026-10-29T23:30+03:00", "2026-10-30T23:30+02:00"],
    );
    assert_opens(
        &daily("Africa/Cairo", "23:00", "24:00"),
        ("2026-10-29T12:00+03:00", "2026-10-30T12:00+02:00"),
        &[("2026-10-29T23:00+03:00", "2026-10-30T00:00+02:00")],
    );
}

#[test]
fn santiago_has_no_midnight_on_a_sunday_of_september() {
    // 2026-09-06: 00:00 at -04:00 is 01:00 at -03:00.
    assert_fires(
        &cron("America/Santiago", "0 0 * * sun"),
        ("2026-09-01T00:00-04:00", "2026-09-15T00:00-03:00"),
        &["2026-09-06T01:00-03:00", "2026-09-13T00:00-03:00"],
    );
    let quarter_past = daily("America/Santiago", "00:15", "00:45");
    assert_eq!(
        quarter_past.next_transition(at("2026-09-05T12:00-04:00")).map(|turn| turn.at),
        Some(at("2026-09-07T00:15-03:00"))
    );
}

#[test]
fn apia_skips_a_friday() {
    // 2011-12-29 24:00 at -10:00 is 2011-12-31 00:00 at +14:00: Friday the 30th did not happen.
    // A fixed run of the 30th is caught up at the first instant after the gap.
    assert_fires(
        &cron("Pacific/Apia", "0 9 * * *"),
        ("2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00"),
        &["2011-12-29T09:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T09:00+14:00"],
    );
    // One that follows the clock is not.
    let expected = Some(at("2012-12-30T00:00+14:00"));
    assert_eq!(cron("Pacific/Apia", "*/30 * 30 12 *").next(at("2011-12-01T00:00-10:00")), expected);
}

#[test]
fn apia_keeps_windows_in_order_over_the_skipped_day() {
    assert_opens(
        &daily("Pacific/Apia", "09:00", "17:00"),
        ("2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00"),
        &[
            ("2011-12-29T09:00-10:00", "2011-12-29T17:00-10:00"),
            ("2011-12-31T09:00+14:00", "2011-12-31T17:00+14:00"),
        ],
    );
    // One night from the 29th to the 31st: the end at 06:00 of the 30th and its start at 22:00
    // are reached together, the start being the later civil time.
    assert_opens(
        &daily("Pacific/Apia", "22:00", "06:00"),
        ("2011-12-29T12:00-10:00", "2011-12-31T12:00+14:00"),
        &[("2011-12-29T22:00-10:00", "2011-12-31T06:00+14:00")],
    );
    // All of Friday is the skipped day itself.
    let friday = PatternText { weekdays: Some("Fri"), ..PatternText::default() };
    let saturday = PatternText { weekdays: Some("Sat"), ..PatternText::default() };
    assert_opens(
        &window("Pacific/Apia", friday, saturday),
        ("2011-12-25T00:00-10:00", "2012-01-08T00:00+14:00"),
        &[("2012-01-06T00:00+14:00", "2012-01-07T00:00+14:00")],
    );
}

#[test]
fn kathmandu_is_a_quarter_of_an_hour_off_and_once_jumped_by_as_much() {
    let expected = Some(at("2026-01-01T03:15Z"));
    assert_eq!(cron("Asia/Kathmandu", "0 9 * * *").next(at("2026-01-01T00:00Z")), expected);
    // 1986-01-01: 00:00 at +05:30 is 00:15 at +05:45.
    assert_fires(
        &cron("Asia/Kathmandu", "5,10,20 0 1 1 *"),
        ("1985-12-31T00:00+05:30", "1986-01-02T00:00+05:45"),
        &["1986-01-01T00:15+05:45", "1986-01-01T00:20+05:45"],
    );
}

#[test]
fn troll_changes_by_two_hours() {
    // 2026-03-29: 01:00 at +00:00 is 03:00 at +02:00.
    assert_fires(
        &cron("Antarctica/Troll", "30 1,2,3 * * *"),
        ("2026-03-29T00:00Z", "2026-03-29T12:00Z"),
        &["2026-03-29T03:00+02:00", "2026-03-29T03:30+02:00"],
    );
    // 2026-10-25: 03:00 at +02:00 is 01:00 at +00:00.
    assert_fires(
        &cron("Antarctica/Troll", "*/30 1,2 * * *"),
        ("2026-10-25T00:00+02:00", "2026-10-25T12:00Z"),
        &[
            "2026-10-25T01:00+02:00",
            "2026-10-25T01:30+02:00",
            "2026-10-25T02:00+02:00",
            "2026-10-25T02:30+02:00",
            "2026-10-25T01:00+00:00",
            "2026-10-25T01:30+00:00",
            "2026-10-25T02:00+00:00",
            "2026-10-25T02:30+00:00",
        ],
    );
    assert_opens(
        &daily("Antarctica/Troll", "01:30", "02:30"),
        ("2026-10-25T00:00+02:00", "2026-10-25T12:00Z"),
        &[("2026-10-25T01:30+02:00", "2026-10-25T02:30+02:00")],
    );
}

#[test]
fn a_zone_has_its_clock_changes_and_resolves_civil_times() {
    let zone = Zone::named("America/New_York").unwrap();
    let changes: Vec<_> = zone
        .changes(at("2026-01-01T00:00Z"), at("2027-01-01T00:00Z"))
        .map(|change| (change.at, change.before.seconds(), change.after.seconds(), change.is_gap()))
        .collect();
    let expected = [
        (at("2026-03-08T07:00Z"), -5 * 3600, -4 * 3600, true),
        (at("2026-11-01T06:00Z"), -4 * 3600, -5 * 3600, false),
    ];
    assert_eq!(changes, expected);
    for (civil, instant) in [
        ("2026-03-08T01:59:59", "2026-03-08T01:59:59-05:00"),
        ("2026-03-08T02:00", "2026-03-08T03:00-04:00"),
        ("2026-03-08T02:59:59", "2026-03-08T03:00-04:00"),
        ("2026-03-08T03:00", "2026-03-08T03:00-04:00"),
        ("2026-11-01T01:00", "2026-11-01T01:00-04:00"),
        ("2026-11-01T01:59:59", "2026-11-01T01:59:59-04:00"),
        ("2026-11-01T02:00", "2026-11-01T02:00-05:00"),
    ] {
        assert_eq!(zone.resolve(civil.parse().unwrap()), Some(at(instant)), "{civil}");
    }
}
