//! Stretches of time as a wall clock shows them, and in words.

use almanac_calendar::Zone;
use almanac_forecast::{Edge, Period};
use jiff::Timestamp;

use crate::wall_clock::{offset, shown};

/// Where a stretch of a period begins or ends.
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

/// When a single stretch is.
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

/// `Fri 2026-11-27 17:00`, with the offset where the clock shows that time twice.
fn at(at: Timestamp, zone: Zone, with_date: bool) -> String {
    let civil = zone.civil(at);
    let time = if civil.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
    let format = if with_date { format!("%a %Y-%m-%d {time}") } else { time.to_owned() };
    let said = shown(zone, at, &format);
    if zone.resolve(civil) == Some(at) { said } else { format!("{said} {}", offset(zone, at)) }
}
