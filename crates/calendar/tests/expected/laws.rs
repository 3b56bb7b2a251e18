//! Properties of every schedule at every instant.

use almanac_calendar::{ClockChange, DailyWindow, Firings, Windows, Zone};
use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;

use crate::{at, cron, daily};

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

fn zone_name() -> impl Strategy<Value = &'static str> {
    select(Zone::all().map(Zone::name).collect::<Vec<_>>())
}

fn instant() -> impl Strategy<Value = Timestamp> {
    (at("1960-01-01T00:00Z").as_nanosecond()..at("2110-01-01T00:00Z").as_nanosecond())
        .prop_map(|nanosecond| Timestamp::from_nanosecond(nanosecond).unwrap())
}

fn firings() -> impl Strategy<Value = Firings> {
    let minute = select(vec!["0", "30", "*/15", "7/20", "0,59", "5-10"]);
    let hour = select(vec!["*", "2", "0", "1-3", "*/5", "23", "2,3"]);
    let day = select(vec!["*", "29", "31", "1-7", "*/10"]);
    let month = select(vec!["*", "2", "3,11", "oct"]);
    let weekday = select(vec!["*", "sun", "1-5", "7", "fri"]);
    (zone_name(), minute, hour, day, month, weekday)
        .prop_filter("31 February", |fields| {
            !(fields.3 == "31" && fields.4 == "2" && fields.5 == "*")
        })
        .prop_map(|(zone, minute, hour, day, month, weekday)| {
            cron(zone, &format!("{minute} {hour} {day} {month} {weekday}"))
        })
}

fn windows() -> impl Strategy<Value = Windows> {
    let time = || (0..24, select(vec![0, 15, 30, 59]));
    (zone_name(), time(), time())
        .prop_filter("an empty window", |(_, start, end)| start != end)
        .prop_map(|(zone, start, end)| {
            let text = |(hour, minute)| format!("{hour:02}:{minute:02}");
            daily(zone, &text(start), &text(end))
        })
}

/// A gap of any zone.
fn gap() -> impl Strategy<Value = (Zone, ClockChange)> {
    let (from, to) = (at("1970-01-01T00:00Z"), at("2040-01-01T00:00Z"));
    let gaps = move |zone: Zone| {
        zone.changes(from, to).filter(ClockChange::is_gap).map(move |change| (zone, change))
    };
    select(Zone::all().flat_map(gaps).collect::<Vec<_>>())
}

/// A window of which both ends lie in or near a gap.
fn gap_and_window() -> impl Strategy<Value = (Zone, ClockChange, DailyWindow)> {
    (gap(), -6_i64..=10, -6_i64..=10)
        .prop_filter("an empty window", |(_, start, end)| start != end)
        .prop_map(|((zone, change), start, end)| {
            let quarters_later = |quarters: i64| {
                let time = change.shown_before() + SignedDuration::from_mins(15 * quarters);
                format!("{:02}:{:02}", time.hour(), time.minute())
            };
            let window = DailyWindow::parse(&quarters_later(start), &quarters_later(end));
            (zone, change, window.unwrap())
        })
}

proptest! {
    #[test]
    fn a_gap_is_reported_if_a_window_would_be_open_or_change_in_it(
        (zone, change, window) in gap_and_window()
    ) {
        // A clock that is never set shows what would have been.
        let unset = window.in_zone(Zone::utc());
        let on_unset = |time: DateTime| Offset::UTC.to_timestamp(time).unwrap();
        let (from, to) = (on_unset(change.shown_before()), on_unset(change.shown_after()));
        let meets = unset.is_open(from) || unset.between(from, to).next().is_some();
        let windows = window.in_zone(zone);
        let named = windows.clock_effects(change.at, change.at + NANOSECOND).next().is_some();
        prop_assert_eq!(named, meets, "{} {:?} {}", zone, change, window.describe());
    }

    #[test]
    fn the_firing_before_the_next_one_is_no_later_than_now(firings in firings(), now in instant()) {
        let next = firings.next(now).unwrap();
        prop_assert!(next > now);
        prop_assert_eq!(firings.previous(next), Some(next));
        prop_assert!(firings.previous(next - NANOSECOND).unwrap() <= now);
        prop_assert_eq!(firings.previous(next - NANOSECOND), firings.previous(now));
    }

    #[test]
    fn the_firing_after_the_previous_one_is_later_than_now(firings in firings(), now in instant()) {
        let previous = firings.previous(now).unwrap();
        prop_assert!(previous <= now);
        prop_assert_eq!(firings.next(previous - NANOSECOND), Some(previous));
        prop_assert_eq!(firings.next(previous), firings.next(now));
    }

    #[test]
    fn the_iterator_repeats_next(firings in firings(), now in instant()) {
        let listed: Vec<_> = firings.between(now + NANOSECOND, Timestamp::MAX).take(10).collect();
        let mut requested = Vec::new();
        let mut from = now;
        while requested.len() < 10 {
            from = firings.next(from).unwrap();
            requested.push(from);
        }
        prop_assert_eq!(listed, requested);
    }

    #[test]
    fn the_shortest_interval_matches_the_listed_firings(firings in firings(), from in instant()) {
        let to = from + SignedDuration::from_hours(24 * 20);
        let listed: Vec<_> = firings.between(from, to).collect();
        let smallest = listed.windows(2).map(|pair| pair[0].duration_until(pair[1])).min();
        prop_assert_eq!(firings.shortest_interval(from, to), smallest);
    }

    #[test]
    fn the_state_is_that_of_the_last_transition(windows in windows(), now in instant()) {
        let previous = windows.previous_transition(now).unwrap();
        let next = windows.next_transition(now).unwrap();
        prop_assert!(previous.at <= now && now < next.at);
        prop_assert_eq!(windows.is_open(now), previous.opens);
        prop_assert_eq!(next.opens, !previous.opens);
        prop_assert_eq!(windows.previous_transition(next.at), Some(next));
        prop_assert_eq!(windows.previous_transition(next.at - NANOSECOND), Some(previous));
        prop_assert_eq!(windows.next_transition(previous.at - NANOSECOND), Some(previous));
        prop_assert_eq!(windows.next_transition(previous.at), Some(next));
    }

    #[test]
    fn transitions_alternate(windows in windows(), now in instant()) {
        let listed: Vec<_> = windows.between(now, Timestamp::MAX).take(10).collect();
        prop_assert_eq!(listed.len(), 10);
        for pair in listed.windows(2) {
            prop_assert!(pair[0].at < pair[1].at);
            prop_assert_ne!(pair[0].opens, pair[1].opens);
        }
    }
}

#[test]
fn there_is_no_interval_between_fewer_than_two_firings() {
    let yearly = cron("UTC", "0 0 1 1 *");
    assert_eq!(yearly.shortest_interval(at("2026-01-01T00:00Z"), at("2027-01-01T00:00Z")), None);
    assert_eq!(
        yearly.shortest_interval(at("2026-01-01T00:00Z"), at("2030-01-01T00:00Z")),
        Some(SignedDuration::from_hours(365 * 24))
    );
    // The clock change makes a shorter interval than the expression says: 01:30 EST, then 03:00 EDT.
    let twice = cron("America/New_York", "30 1,2 * * *");
    let expected = Some(SignedDuration::from_mins(30));
    assert_eq!(twice.shortest_interval(at("2026-03-01T00:00Z"), at("2026-04-01T00:00Z")), expected);
}
