//! A series in one sentence: its values and their times, and the value otherwise.
//!
//! `30 Mon to Fri, 08:00 to 20:00, except Fri 2026-11-27; 200 Fri 2026-11-27 08:00 to 20:00; else 4`. Repetitions are
//! found from the series alone, exactly: the rules do not matter.

use std::collections::BTreeMap;

use almanac_engine::Value;
use almanac_forecast::{CivilStretch, Segment, Series, StretchGroup, recurrences};
use jiff::{SignedDuration, Timestamp};

use super::question::View;
use crate::stretches::{edge, once};

/// The maximum number of pieces of the sentence.
const MAX_PIECES: usize = 5;

/// The maximum period that is drawn with characters; in a longer period, daily changes are too narrow.
const MAX_DRAWN_PERIOD: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The sentence for a period over which a drawing of characters would show nothing.
pub(super) fn for_long(series: &Series, view: View) -> Option<String> {
    let length = view.period.to().duration_since(view.period.from());
    sentence(series, view).filter(|_| length > MAX_DRAWN_PERIOD)
}

/// The sentence about a series; `None` for a series without changes.
pub(super) fn sentence(series: &Series, view: View) -> Option<String> {
    let stretches = stretches(series);
    let mut lengths: BTreeMap<Option<&Value>, i128> = BTreeMap::new();
    for (value, from, to) in &stretches {
        *lengths.entry(*value).or_default() += to.as_nanosecond() - from.as_nanosecond();
    }
    // Of several values with the same total duration, the first in the order of values.
    let most = lengths.iter().rev().max_by_key(|(_, length)| **length);
    let usual = *most?.0;
    if lengths.len() < 2 {
        return None;
    }
    let mut values: Vec<Option<&Value>> = Vec::new();
    for (value, ..) in &stretches {
        if *value != usual && !values.contains(value) {
            values.push(*value);
        }
    }
    let mut pieces: Vec<String> =
        values.into_iter().flat_map(|value| pieces_of(value, &stretches, view)).collect();
    let more = pieces.len().saturating_sub(MAX_PIECES);
    if more > 1 {
        pieces.truncate(MAX_PIECES);
        pieces.push(format!("and {more} more"));
    }
    pieces.push(format!("else {}", value_text(usual)));
    Some(pieces.join("; "))
}

/// A value from an instant to another.
type ValueStretch<'a> = (Option<&'a Value>, Timestamp, Timestamp);

/// The stretches of a series. Neighbors with the same value are merged, even with different writers.
fn stretches(series: &Series) -> Vec<ValueStretch<'_>> {
    let mut all: Vec<ValueStretch<'_>> = Vec::new();
    for Segment { from, to, value, .. } in &series.segments {
        match all.last_mut() {
            Some(last) if last.0 == value.as_ref() => last.2 = *to,
            _ => all.push((value.as_ref(), *from, *to)),
        }
    }
    all
}

fn pieces_of(value: Option<&Value>, all: &[ValueStretch<'_>], view: View) -> Vec<String> {
    let spans: Vec<(Timestamp, Timestamp)> =
        all.iter().filter(|it| it.0 == value).map(|(_, from, to)| (*from, *to)).collect();
    let value = value_text(value);
    times(&spans, view).into_iter().map(|when| format!("{value} {when}")).collect()
}

/// The times of these stretches. Recurring stretches are one text.
pub(super) fn times(stretches: &[(Timestamp, Timestamp)], view: View) -> Vec<String> {
    let View { period, zone } = view;
    let civil = |(from, to): &(Timestamp, Timestamp)| CivilStretch {
        from: edge(*from, period, zone),
        to: edge(*to, period, zone),
    };
    let civil: Vec<CivilStretch> = stretches.iter().map(civil).collect();
    let shown = (zone.civil(period.from()), zone.civil(period.to()));
    let when = |group| match group {
        StretchGroup::Recurring(recurrence, _) => Some(recurrence.to_string()),
        StretchGroup::Once(position) => stretches.get(position).map(|it| once(*it, period, zone)),
    };
    recurrences(&civil, shown).into_iter().filter_map(when).collect()
}

fn value_text(value: Option<&Value>) -> String {
    value.map_or_else(|| "unknown".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use almanac_calendar::Zone;
    use almanac_forecast::Period;

    use super::*;
    use crate::forecast::kinds::series;

    /// Four weeks with 30 replicas on working days, except for one with 200.
    #[test]
    fn a_repetition_is_listed_once_and_each_exception_alone() {
        let from: Timestamp = "2026-11-09T00:00:00Z".parse().unwrap();
        let period = Period::new(from, from + SignedDuration::from_hours(28 * 24)).unwrap();
        let mut one = series("Deployment", "shop", vec![(0, Some(Value::Number(4)))]);
        let template = one.segments[0].clone();
        one.segments.clear();
        let mut at = from;
        let mut add = |hours: i64, number: u32| {
            let to = at + SignedDuration::from_hours(hours);
            let value = Some(Value::Number(number));
            one.segments.push(Segment { from: at, to, value, ..template.clone() });
            at = to;
        };
        for day in 0..28 {
            let is_weekend = day % 7 > 4;
            // Day 18 after 9 November is 27 November.
            let number = if is_weekend {
                4
            } else if day == 18 {
                200
            } else {
                30
            };
            add(8, 4);
            add(12, number);
            add(4, 4);
        }
        let lines = sentence(&one, View { period, zone: Zone::utc() });
        let expected = "30 Mon to Fri, 08:00 to 20:00, except Fri 2026-11-27; \
                        200 Fri 2026-11-27 08:00 to 20:00; else 4";
        assert_eq!(lines.as_deref(), Some(expected));
    }

    #[test]
    fn a_series_without_changes_has_no_story() {
        let one = series("Deployment", "shop", vec![(0, Some(Value::Number(4)))]);
        assert_eq!(sentence(&one, crate::forecast::kinds::view()), None);
    }
}
