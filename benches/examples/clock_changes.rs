//! The first runs around clock changes according to Almanac, `croner` and `cron`, side by side.
//!
//! `cargo run --package almanac-benches --example clock_changes`. Their speed is measured by the
//! benchmark `calendar`.

#![expect(clippy::unwrap_used, reason = "a comparison that cannot be made has to end")]

use std::str::FromStr as _;

use almanac_calendar::{Cron, Zone};
use chrono::TimeZone as _;
use jiff::Timestamp;

/// A zone, an expression, and the instant from which runs are listed.
const CASES: [(&str, &str, &str); 7] = [
    ("America/New_York", "30 2 * * *", "2026-03-07T12:00:00Z"),
    ("America/New_York", "*/30 2 * * *", "2026-03-07T12:00:00Z"),
    ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00Z"),
    ("Africa/Cairo", "30 0 * * *", "2026-04-23T12:00:00Z"),
    ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00:00Z"),
    ("America/New_York", "30 1 * * *", "2026-10-31T12:00:00Z"),
    ("Pacific/Apia", "0 9 * * *", "2011-12-29T12:00:00Z"),
];
const RUNS: usize = 2;

fn main() {
    for (zone, expression, from) in CASES {
        let from: Timestamp = from.parse().unwrap();
        let theirs: chrono_tz::Tz = zone.parse().unwrap();
        let mut at = theirs.timestamp_opt(from.as_second(), 0).unwrap();
        println!("{expression} in {zone}");

        let firings = Cron::parse(expression).unwrap().in_zone(Zone::named(zone).unwrap());
        let ours: Vec<String> =
            firings.between(from, Timestamp::MAX).take(RUNS).map(|run| run.to_string()).collect();
        println!("  almanac  {}", ours.join("  "));

        let schedule = cron::Schedule::from_str(&format!("0 {expression}")).unwrap();
        let runs = schedule.after(&at).take(RUNS).map(|run| utc(&run));
        println!("  cron     {}", runs.collect::<Vec<_>>().join("  "));

        let croner = croner::Cron::from_str(expression).unwrap();
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            match croner.find_next_occurrence(&at, false) {
                Ok(run) => {
                    runs.push(utc(&run));
                    at = run;
                }
                Err(error) => {
                    runs.push(format!("{error:?}"));
                    break;
                }
            }
        }
        println!("  croner   {}", runs.join("  "));
    }
}

fn utc(at: &chrono::DateTime<chrono_tz::Tz>) -> String {
    at.to_utc().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
