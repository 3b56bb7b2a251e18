//! The marks of a time axis, with their positions and labels.

use almanac_calendar::Zone;
use almanac_forecast::Period;
use jiff::civil::DateTime;
use jiff::{Span, Timestamp, Unit};

use crate::wall_clock::formatted;

/// A mark on the axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) at: Timestamp,
    pub(super) label: String,
}

/// The distance of two marks on the wall clock.
#[derive(Clone, Copy)]
struct Step {
    unit: Unit,
    count: i64,
    /// The approximate length in hours.
    hours: f64,
    /// The width of the widest label, in characters.
    width: f64,
}

const fn step(unit: Unit, count: i64, hours: f64, width: f64) -> Step {
    Step { unit, count, hours, width }
}

const DAY: f64 = 24.0;
const STEPS: [Step; 14] = [
    step(Unit::Minute, 5, 1.0 / 12.0, 6.0),
    step(Unit::Minute, 15, 0.25, 6.0),
    step(Unit::Hour, 1, 1.0, 6.0),
    step(Unit::Hour, 3, 3.0, 6.0),
    step(Unit::Hour, 6, 6.0, 6.0),
    step(Unit::Hour, 12, 12.0, 6.0),
    step(Unit::Day, 1, DAY, 6.0),
    step(Unit::Week, 1, 7.0 * DAY, 6.0),
    step(Unit::Month, 1, 30.4 * DAY, 8.0),
    step(Unit::Month, 3, 91.0 * DAY, 8.0),
    step(Unit::Year, 1, 365.2 * DAY, 5.0),
    step(Unit::Year, 5, 1826.0 * DAY, 5.0),
    step(Unit::Year, 100, 36525.0 * DAY, 5.0),
    step(Unit::Year, 1000, 365_250.0 * DAY, 5.0),
];

/// The marks of a period on an axis of this length in characters. They are as close as their labels allow, and always
/// at round civil times.
pub(super) fn marks(period: Period, zone: Zone, characters: f64) -> Vec<Mark> {
    let hours = period.to().duration_since(period.from()).as_secs_f64() / 3600.0;
    let fits = |step: &&Step| characters * step.hours / hours >= step.width + 2.0;
    let step = STEPS.iter().find(fits).unwrap_or(&STEPS[STEPS.len() - 1]);
    let room = characters * step.hours / hours;
    let mut marks = Vec::new();
    let mut civil = round_down(zone.civil(period.from()), *step);
    while let Some(at) = zone.resolve(civil).filter(|at| *at < period.to()) {
        if at >= period.from() {
            marks.push(Mark { at, label: label(zone, at, *step, room) });
        }
        let Some(next) = span(*step).and_then(|it| civil.checked_add(it).ok()) else { break };
        civil = next;
    }
    marks.dedup_by_key(|mark| mark.at);
    marks
}

fn span(Step { unit, count, .. }: Step) -> Option<Span> {
    let span = match unit {
        Unit::Minute => Span::new().try_minutes(count),
        Unit::Hour => Span::new().try_hours(count),
        Unit::Day => Span::new().try_days(count),
        Unit::Week => Span::new().try_weeks(count),
        Unit::Month => Span::new().try_months(count),
        _ => Span::new().try_years(count),
    };
    span.ok()
}

/// The last round time at or before a civil time.
fn round_down(civil: DateTime, step: Step) -> DateTime {
    let date = civil.date();
    let midnight = date.at(0, 0, 0, 0);
    // Each number divides the next larger unit.
    let floor = |value: i64| value - value.rem_euclid(step.count);
    match step.unit {
        Unit::Minute => {
            let minutes = i64::from(civil.hour()) * 60 + i64::from(civil.minute());
            midnight.saturating_add(Span::new().minutes(floor(minutes)))
        }
        Unit::Hour => midnight.saturating_add(Span::new().hours(floor(civil.hour().into()))),
        Unit::Day => midnight,
        Unit::Week => {
            let since_monday = i64::from(date.weekday().to_monday_zero_offset());
            midnight.saturating_sub(Span::new().days(since_monday))
        }
        Unit::Month => {
            let over = (i64::from(date.month()) - 1).rem_euclid(step.count);
            date.first_of_month().at(0, 0, 0, 0).saturating_sub(Span::new().months(over))
        }
        _ => {
            let over = i64::from(date.year()).rem_euclid(step.count);
            date.first_of_year().at(0, 0, 0, 0).saturating_sub(Span::new().years(over))
        }
    }
}

fn label(zone: Zone, at: Timestamp, step: Step, room: f64) -> String {
    let civil = zone.civil(at);
    let is_midnight = civil.hour() == 0 && civil.minute() == 0;
    let is_january = civil.month() == 1;
    let format = match step.unit {
        Unit::Minute | Unit::Hour if !is_midnight => "%H:%M",
        Unit::Day if room >= 16.0 => "%a %-d %b",
        Unit::Minute | Unit::Hour | Unit::Day => "%a %-d",
        Unit::Week => "%-d %b",
        Unit::Month if is_january => "%b %Y",
        Unit::Month => "%b",
        _ => "%Y",
    };
    formatted(zone, at, format)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: &str, to: &str, zone: &str, characters: f64) -> Vec<String> {
        let period = Period::new(from.parse().unwrap(), to.parse().unwrap()).unwrap();
        let marks = marks(period, Zone::named(zone).unwrap(), characters);
        marks.into_iter().map(|mark| mark.label).collect()
    }

    #[test]
    fn a_week_is_marked_at_every_midnight_of_the_zone() {
        let marks = labels("2026-11-20T12:00:00Z", "2026-11-27T12:00:00Z", "Europe/Berlin", 70.0);
        assert_eq!(marks, ["Sat 21", "Sun 22", "Mon 23", "Tue 24", "Wed 25", "Thu 26", "Fri 27"]);
    }

    #[test]
    fn the_shorter_the_period_the_closer_the_marks() {
        let labels_to = |to| labels("2026-11-20T00:00:00Z", to, "UTC", 70.0);
        assert_eq!(
            labels_to("2026-11-21T00:00:00Z"),
            ["Fri 20", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00"]
        );
        assert_eq!(labels_to("2026-11-20T00:20:00Z")[..2], ["Fri 20", "00:05"]);
        assert_eq!(labels_to("2027-01-02T00:00:00Z")[0], "23 Nov");
        assert_eq!(labels_to("2027-06-02T00:00:00Z")[..2], ["Dec", "Jan 2027"]);
        assert_eq!(labels_to("2046-06-02T00:00:00Z")[0], "2030");
        assert_eq!(labels_to("2800-06-02T00:00:00Z")[..2], ["2100", "2200"]);
        let millennia = ["3000", "4000", "5000", "6000", "7000", "8000", "9000"];
        assert_eq!(labels_to("9000-06-02T00:00:00Z"), millennia);
    }

    #[test]
    fn a_midnight_in_a_gap_is_marked_right_after_the_gap() {
        let marks = labels("2026-04-23T00:00:00Z", "2026-04-26T00:00:00Z", "Africa/Cairo", 40.0);
        assert_eq!(marks, ["Fri 24", "Sat 25", "Sun 26"]);
    }
}
