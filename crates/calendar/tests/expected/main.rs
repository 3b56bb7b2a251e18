//! Expected results of the calendar, worked out by hand.
//!
//! Instants are written as people read them, with the offset that the zone has there. The reasons
//! are next to them; the random cases are in the oracle's comparison.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod acceptance;
mod any_text;
mod dialect_firings;
mod dialects;
mod edges_of_time;
mod golden_schedule_table;
mod laws;
mod named_zones;
mod rejected_expressions;
mod rejected_windows;
mod rejected_zones;

use almanac_calendar::{
    Cron, DailyWindow, Firings, Pattern, PatternText, PatternWindow, Windows, Zone,
};
use jiff::Timestamp;

/// An instant: `2026-03-08T03:00-04:00`.
fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn cron(zone: &str, text: &str) -> Firings {
    Cron::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .in_zone(Zone::named(zone).unwrap())
}

fn daily(zone: &str, start: &str, end: &str) -> Windows {
    DailyWindow::parse(start, end).unwrap().in_zone(Zone::named(zone).unwrap())
}

fn window(zone: &str, start: PatternText<'_>, end: PatternText<'_>) -> Windows {
    let start = Pattern::parse(start).unwrap();
    let end = Pattern::parse(end).unwrap();
    PatternWindow::new(start, end).unwrap().in_zone(Zone::named(zone).unwrap())
}

/// All firings in `[from, to)` are these.
#[track_caller]
fn assert_fires(firings: &Firings, (from, to): (&str, &str), expected: &[&str]) {
    let fired: Vec<_> = firings.between(at(from), at(to)).collect();
    assert_eq!(fired, expected.iter().map(|text| at(text)).collect::<Vec<_>>());
}

/// All transitions in `[from, to)`, each as when and whether it opens.
fn turned(windows: &Windows, from: &str, to: &str) -> Vec<(Timestamp, bool)> {
    windows.between(at(from), at(to)).map(|turn| (turn.at, turn.opens)).collect()
}

/// In `[from, to)` the window changes at these instants and no others: it opens and closes at each pair.
#[track_caller]
fn assert_opens(windows: &Windows, (from, to): (&str, &str), expected: &[(&str, &str)]) {
    let of_pair = |(opens, closes): &(&str, &str)| [(at(opens), true), (at(closes), false)];
    let expected: Vec<_> = expected.iter().flat_map(of_pair).collect();
    assert_eq!(turned(windows, from, to), expected);
}
