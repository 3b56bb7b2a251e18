//! Stretches of time in civil time and in words.

use almanac_calendar::Zone;
use almanac_forecast::{Edge, Period};
use jiff::Timestamp;

use crate::wall_clock::{formatted, offset};

/// The start or the end of a stretch, as an edge in civil time.
pub(crate) fn edge(at: Timestamp, period: Period, zone: Zone) -> Edge {
    let civil = zone.civil(at);
    if at == period.from() || at == period.to() {
        Edge::Open
    } else if zone.resolve(civil) == Some(at) {
        Edge::At(civil)
    } else {
        Edge::Unclear
    }
}

/// The time of a single stretch.
pub(crate) fn once((from, to): (Timestamp, Timestamp), period: Period, zone: Zone) -> String {
    let (begins, ends) = (from > period.from(), to < period.to());
    let same_day = zone.civil(from).date() == zone.civil(to).date();
    match (begins, ends) {
        (false, false) => "throughout".to_owned(),
        (false, true) => format!("until {}", at(to, zone, true)),
        (true, false) => format!("from {} on", at(from, zone, true)),
        (true, true) => format!("{} to {}", at(from, zone, true), at(to, zone, !same_day)),
    }
}

/// A civil time such as `Fri 2026-11-27 17:00`, with the offset in a repeated hour.
fn at(at: Timestamp, zone: Zone, with_date: bool) -> String {
    let civil = zone.civil(at);
    let time = if civil.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
    let format = if with_date { format!("%a %Y-%m-%d {time}") } else { time.to_owned() };
    let text = formatted(zone, at, &format);
    if zone.resolve(civil) == Some(at) { text } else { format!("{text} {}", offset(zone, at)) }
}
