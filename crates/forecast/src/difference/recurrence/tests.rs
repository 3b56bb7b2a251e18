//! Recurrences in words. Each recurrence stands for exactly the stretches that it groups.

use jiff::civil::date;
use proptest::prelude::*;

use super::*;

/// A Monday.
const BEGIN: DateTime = date(2026, 11, 23).at(0, 0, 0, 0);

/// The stretches of the hours of a period for which a condition is true.
fn stretches(period: CivilPeriod, holds: impl Fn(DateTime) -> bool) -> Vec<CivilStretch> {
    let hours: Vec<DateTime> =
        period.0.series(1.hour()).take_while(|hour| *hour < period.1).collect();
    let mut all: Vec<CivilStretch> = Vec::new();
    let mut held = false;
    for hour in hours {
        let holds = holds(hour);
        let edge = if hour == period.0 { Edge::Open } else { Edge::At(hour) };
        match (held, holds) {
            (false, true) => all.push(CivilStretch { from: edge, to: Edge::Open }),
            (true, false) => all.last_mut().unwrap().to = edge,
            _ => {}
        }
        held = holds;
    }
    all
}

fn weeks(weeks: i32) -> CivilPeriod {
    (BEGIN, BEGIN + (7 * weeks).days())
}

fn described_times(period: CivilPeriod, holds: impl Fn(DateTime) -> bool) -> Vec<String> {
    let all = recurrences(&stretches(period, holds), period);
    let describe = |group| match group {
        StretchGroup::Recurring(recurrence, _) => recurrence.to_string(),
        StretchGroup::Once(position) => format!("#{position}"),
    };
    all.into_iter().map(describe).collect()
}

fn is_weekend(at: DateTime) -> bool {
    match number(at.date()) {
        4 => at.hour() >= 17,
        5 | 6 => true,
        0 => at.hour() < 9,
        _ => false,
    }
}

fn is_work(at: DateTime) -> bool {
    number(at.date()) < 5 && (9..17).contains(&at.hour())
}

#[test]
fn a_weekly_recurrence_is_described_by_its_days_and_times() {
    assert_eq!(described_times(weeks(5), is_weekend), ["Fri 17:00 to Mon 09:00, each week"]);
    assert_eq!(described_times(weeks(5), is_work), ["Mon to Fri, 09:00 to 17:00"]);
    assert_eq!(described_times(weeks(1), is_work), ["Mon to Fri, 09:00 to 17:00"]);
    let night = |at: DateTime| !(6..22).contains(&at.hour());
    assert_eq!(described_times(weeks(2), night), ["every day, 22:00 to 06:00 the next day"]);
    let rest = |at: DateTime| !is_work(at);
    assert_eq!(
        described_times(weeks(3), rest),
        ["Fri 17:00 to Mon 09:00, each week", "Mon to Thu, 17:00 to 09:00 the next day"]
    );
    let twice =
        |at: DateTime| [0, 2, 4].contains(&number(at.date())) && [8, 9, 18].contains(&at.hour());
    assert_eq!(
        described_times(weeks(2), twice),
        ["Mon, Wed and Fri, 08:00 to 10:00 and 18:00 to 19:00"]
    );
    let evening = |at: DateTime| at.hour() >= 22;
    assert_eq!(described_times(weeks(1), evening), ["every day, 22:00 to midnight"]);
}

#[test]
fn exceptions_and_a_start_are_named() {
    let holiday = date(2026, 12, 25);
    let open = |at: DateTime| is_work(at) && at.date() != holiday;
    assert_eq!(
        described_times(weeks(5), open),
        ["Mon to Fri, 09:00 to 17:00, except Fri 2026-12-25"]
    );
    let from = date(2026, 12, 2);
    let later = |at: DateTime| is_work(at) && at.date() >= from;
    assert_eq!(
        described_times(weeks(5), later),
        ["Mon to Fri, 09:00 to 17:00, from Wed 2026-12-02"]
    );
    let short = |at: DateTime| is_work(at) && at.date() < from;
    assert_eq!(
        described_times(weeks(5), short),
        ["Mon to Fri, 09:00 to 17:00, until Tue 2026-12-01"]
    );
}

#[test]
fn a_day_of_each_month_is_described_as_one() {
    let first = |at: DateTime| at.day() == 1 && at.hour() < 6;
    let period = (BEGIN, date(2027, 11, 23).at(0, 0, 0, 0));
    assert_eq!(described_times(period, first), ["on day 1 of each month, 00:00 to 06:00"]);
}

#[test]
fn stretches_without_a_recurrence_are_listed_one_by_one() {
    let days = [date(2026, 11, 25), date(2026, 12, 3), date(2026, 12, 19)];
    assert_eq!(described_times(weeks(5), |at| days.contains(&at.date())), ["#0", "#1", "#2"]);
    assert_eq!(described_times(weeks(5), |_| true), ["#0"]);
}

#[test]
fn many_times_of_a_day_are_counted() {
    let even = |at: DateTime| at.hour() % 2 == 0;
    assert_eq!(
        described_times(weeks(2), even),
        ["every day, 00:00 to 01:00, 02:00 to 03:00, 04:00 to 05:00, 06:00 to 07:00, … and \
          22:00 to 23:00 (12 in all)"]
    );
}

proptest! {
    #[test]
    fn a_recurrence_stands_for_the_very_stretches_it_was_found_from(
        // The hours of a week, the length, and the hours that deviate.
        on in prop::collection::vec((0..168_i64, 1..60_i64), 0..6),
        otherwise in prop::collection::vec((0..1200_i64, 1..30_i64), 0..4),
        monthly in prop::option::of(1..29_i8),
        (begin, length) in (0..400_i64, 30..1500_i64),
    ) {
        let start = BEGIN + begin.hours();
        let period = (start, start + length.hours());
        let is_in = |hour: i64, (from, length): &(i64, i64)| (*from..from + length).contains(&hour);
        let holds = |at: DateTime| {
            let hour = i64::from(at.since((jiff::Unit::Hour, BEGIN)).unwrap().get_hours());
            let of_week = on.iter().any(|it| is_in(hour % 168, it) || is_in(hour % 168 + 168, it));
            let usual = of_week || monthly == Some(at.day()) && at.hour() == 3;
            usual != otherwise.iter().any(|it| is_in(hour, it))
        };
        let all = stretches(period, holds);
        let cut = |(from, to): (DateTime, DateTime)| (from.max(period.0), to.min(period.1));
        let civil = |stretch: &CivilStretch| {
            let at = |edge, open| if let Edge::At(at) = edge { at } else { open };
            (at(stretch.from, period.0), at(stretch.to, period.1))
        };
        let (mut found, mut positions) = (Vec::new(), Vec::new());
        for group in recurrences(&all, period) {
            match group {
                StretchGroup::Recurring(recurrence, of) => {
                    found.extend(recurrence.occurrences(period).into_iter().map(cut));
                    positions.extend(of);
                }
                StretchGroup::Once(position) => {
                    found.push(civil(&all[position]));
                    positions.push(position);
                }
            }
        }
        found.sort_unstable();
        positions.sort_unstable();
        prop_assert_eq!(positions, (0..all.len()).collect::<Vec<_>>());
        prop_assert_eq!(found, all.iter().map(civil).collect::<Vec<_>>());
    }
}
