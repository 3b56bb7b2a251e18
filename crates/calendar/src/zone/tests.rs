//! Compares the zones with jiff's own reading of the same database, and tests the rule of gaps and
//! folds.

use super::*;

#[test]
fn every_zone_agrees_with_jiff_before_at_and_after_every_clock_change() {
    for zone in Zone::all() {
        let jiff_zone = bundled(zone.name());
        let until: Timestamp = "2150-01-01T00:00:00Z".parse().unwrap();
        let changes: Vec<ClockChange> = zone.changes(Timestamp::MIN, until).collect();
        for change in &changes {
            for seconds in [-86_400, -1, 0, 1, 86_400] {
                let at = change.at + SignedDuration::from_secs(seconds);
                assert_eq!(zone.offset(at), jiff_zone.to_offset(at), "{zone} at {at}");
            }
        }
        let theirs = jiff_zone
            .following(Timestamp::MIN)
            .take_while(|transition| transition.timestamp() < until)
            .fold((0, jiff_zone.to_offset(Timestamp::MIN)), |(count, offset), transition| {
                (count + usize::from(transition.offset() != offset), transition.offset())
            });
        assert_eq!(changes.len(), theirs.0, "{zone}");
    }
}

#[test]
fn a_zone_with_yearly_changes_is_right_long_after_its_table_ends() {
    for name in ["Europe/Berlin", "America/Santiago", "Africa/Cairo", "America/Nuuk"] {
        let (zone, jiff_zone) = (Zone::named(name).unwrap(), bundled(name));
        for year in [2499, 2500, 2501, 2899, 2901, 5000, 9990] {
            let from: Timestamp = format!("{year}-01-01T00:00:00Z").parse().unwrap();
            let to: Timestamp = format!("{}-01-01T00:00:00Z", year + 2).parse().unwrap();
            let ours: Vec<Timestamp> = zone.changes(from, to).map(|change| change.at).collect();
            let theirs: Vec<Timestamp> = jiff_zone
                .following(from)
                .map(|transition| transition.timestamp())
                .take_while(|at| *at < to)
                .collect();
            assert_eq!(ours, theirs, "{name} {year}");
        }
    }
}

#[test]
fn a_later_civil_time_never_resolves_to_an_earlier_instant() {
    for zone in Zone::all() {
        let (from, to) =
            ("1969-12-01T00:00:00Z".parse().unwrap(), "2040-01-01T00:00:00Z".parse().unwrap());
        for change in zone.changes(from, to) {
            let (first, end) = change.affected();
            let mut last = i64::MIN;
            for civil in (first - 7_200..end + 7_200).step_by(60) {
                let at = zone.first_instant(civil);
                assert!(at >= last, "{zone} {change:?}");
                assert!(zone.reached_at(at) >= civil, "{zone} {change:?}: not reached");
                assert!(zone.reached_at(at - 1) < civil, "{zone} {change:?}: not the first");
                last = at;
            }
        }
    }
}

#[test]
fn a_fraction_of_a_second_comes_after_the_whole_second() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    for (civil, at) in [
        ("2026-01-01T00:00:00.25", "2025-12-31T23:00:00.25Z"),
        ("1960-01-01T00:00:00.25", "1959-12-31T23:00:00.25Z"),
        ("2026-03-29T02:30:00.25", "2026-03-29T01:00:00Z"),
    ] {
        assert_eq!(zone.resolve(civil.parse().unwrap()), Some(at.parse().unwrap()), "{civil}");
    }
}

#[test]
fn clocks_work_at_the_ends_of_time_and_there_is_no_instant_beyond() {
    for (name, first, last) in [
        ("UTC", "-009999-01-02T01:59:59", "9999-12-30T22:00:00"),
        ("Europe/Berlin", "-009999-01-02T02:53:27", "9999-12-30T23:00:00"),
        ("Pacific/Kiritimati", "-009999-01-01T15:30:39", "9999-12-31T12:00:00"),
    ] {
        let zone = Zone::named(name).unwrap();
        let shown = [Timestamp::MIN, Timestamp::MAX].map(|at| zone.civil(at).to_string());
        assert_eq!(shown, [first, last], "{name}");
        let beyond = [DateTime::MIN, DateTime::MAX].map(|civil| zone.resolve(civil));
        assert_eq!(beyond, [None; 2], "{name}");
    }
}
