//! The calendar compared with the oracle: random schedules, every zone, years 1970 to 2100.
//!
//! - `ALMANAC_ORACLE_ZONES` is the number of random zones (150 by default, all if thorough).
//! - `ALMANAC_ORACLE_YEARS` is the number of random years a zone (1 by default, 3 if thorough).
//! - `ALMANAC_ORACLE_CASE` runs one case alone; every failure prints the command.
//!
//! Add each case that failed once to `regressions.txt`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod case;
mod compare;
mod mutants;
mod run;
mod subject;
mod zones;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use almanac_fixtures::trials::{announce, seed, size};
use almanac_oracle::zone_names;
use fastrand::Rng;

use case::{CASE, Case, cases_of};
use run::{Tally, random_year, run};

/// The maximum number of reported failures.
const SHOWN_FAILURES: usize = 20;

/// Calls `work` for every item, on all cores.
fn on_all_cores<T: Sync>(items: &[T], work: impl Fn(&T) -> Tally + Sync) -> Tally {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Tally::default());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tally = work(item);
                    total.lock().unwrap().add(tally);
                }
            });
        }
    });
    total.into_inner().unwrap()
}

fn assert_agreement(what: &str, started: Instant, mut tally: Tally) {
    announce(&format!(
        "{what}: {} schedules, {} of them rightly rejected, {} events, {} failures, {:.1} s",
        tally.schedules,
        tally.rejected,
        tally.events,
        tally.failures.len(),
        started.elapsed().as_secs_f64()
    ));
    tally.failures.sort();
    let count = tally.failures.len().min(SHOWN_FAILURES);
    assert!(
        tally.failures.is_empty(),
        "{} cases differ, the first {count}:\n\n{}\n",
        tally.failures.len(),
        tally.failures[..count].join("\n\n")
    );
}

#[test]
fn every_zone_agrees_with_the_oracle() {
    let started = Instant::now();
    if let Ok(line) = std::env::var(CASE) {
        let case: Case = line.parse().unwrap_or_else(|error| panic!("{error}"));
        let tally = run(&case.zone, case.year, std::slice::from_ref(&case));
        return assert_agreement(&format!("{CASE} alone"), started, tally);
    }
    let mut zones = zone_names();
    let years = size("ALMANAC_ORACLE_YEARS", 1_u64, 3);
    let count = size("ALMANAC_ORACLE_ZONES", 150, zones.len());
    let seed = seed(&format!("{count} zones, years a zone: {years}"));
    Rng::with_seed(seed).shuffle(&mut zones);
    zones.truncate(count);
    let rounds: Vec<_> =
        (0..years).flat_map(|round| zones.iter().map(move |&zone| (zone, round))).collect();
    let tally = on_all_cores(&rounds, |&(zone, round)| random_year(zone, seed, round));
    assert_agreement(&format!("seed {seed}"), started, tally);
}

#[test]
fn the_cases_of_the_regression_file_agree() {
    let started = Instant::now();
    let cases = cases_of(include_str!("../../regressions.txt"));
    assert!(!cases.is_empty());
    let tally = on_all_cores(&cases, |case| run(&case.zone, case.year, std::slice::from_ref(case)));
    assert_agreement("regressions.txt", started, tally);
}

#[test]
fn the_calendar_has_the_zones_of_the_database_and_no_other() {
    let zones: Vec<_> = almanac_calendar::Zone::all().map(almanac_calendar::Zone::name).collect();
    assert_eq!(zones, zone_names());
}

#[test]
fn a_failure_names_a_command_that_runs_its_case_again() {
    let line = "Europe/Berlin 2026 cron 0 9 * * mon";
    let case: Case = line.parse().unwrap();
    assert_eq!(
        case.rerun(),
        "ALMANAC_ORACLE_CASE='Europe/Berlin 2026 cron 0 9 * * mon' \
         cargo test -p almanac-oracle --test comparison every_zone"
    );
}
