//! Almanac's placements compared with the second scheduler: random hubs, and a few turns in each.
//!
//! - `ALMANAC_PLACEMENT_WORLDS` is the number of random hubs (10,000 by default).
//! - `ALMANAC_PLACEMENT_WORLD` runs one hub alone, by its seed; every failure prints the command.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod compare;
mod faults;
mod shrink;
mod subject;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use almanac_fixtures::trials::{announce, number_in, seed, size};
use almanac_second_scheduler::generate::{Change, Course, Size, course};
use fastrand::Rng;

use compare::{Difference, Tally, differences};

const WORLDS: u64 = 10_000;
/// One of this number of hubs is large.
const LARGE_ONE_IN: u64 = 100;
/// The maximum number of reported failures.
const SHOWN_FAILURES: usize = 3;

#[test]
fn both_schedulers_decide_the_same_at_every_turn_of_random_hubs() {
    if let Some(seed) = number_in("ALMANAC_PLACEMENT_WORLD") {
        let mut tally = Tally::default();
        if let Some(difference) = differences(&course_of(seed), &mut tally) {
            panic!("{}", described(seed, &difference));
        }
        return;
    }
    let started = Instant::now();
    let worlds = size("ALMANAC_PLACEMENT_WORLDS", WORLDS, 100_000);
    let seed = seed(&format!("placements of {worlds} hubs"));
    let (tally, failures) = on_all_cores(seed, worlds);
    announce(&format!(
        "placements: {tally:?}, {} failures, {:.1} s",
        failures.len(),
        started.elapsed().as_secs_f64()
    ));
    tally.assert_that_everything_occurred(worlds);
    // One failure of each kind is more useful than many of the same kind.
    let mut of_each: BTreeMap<&str, (u64, &Difference)> = BTreeMap::new();
    for (seed, difference) in &failures {
        of_each.entry(difference.what).or_insert((*seed, difference));
    }
    let shown: Vec<_> = of_each.into_values().take(SHOWN_FAILURES).collect();
    let shown: Vec<_> = shown.into_iter().map(|(seed, it)| described(seed, it)).collect();
    assert!(failures.is_empty(), "{} hubs differ:\n\n{}\n", failures.len(), shown.join("\n\n"));
}

/// The course with this seed.
fn course_of(seed: u64) -> Course {
    let mut rng = Rng::with_seed(seed);
    let size = if seed.is_multiple_of(LARGE_ONE_IN) { Size::Large } else { Size::Small };
    course(&mut rng, size)
}

/// Runs this number of courses on all cores.
fn on_all_cores(seed: u64, worlds: u64) -> (Tally, Vec<(u64, Difference)>) {
    let next = AtomicU64::new(0);
    let found = Mutex::new((Tally::default(), Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut tally = Tally::default();
                let mut failures = Vec::new();
                loop {
                    let world = next.fetch_add(1, Ordering::Relaxed);
                    if world >= worlds {
                        break;
                    }
                    let seed = seed.wrapping_add(world);
                    let difference = differences(&course_of(seed), &mut tally);
                    failures.extend(difference.map(|it| (seed, it)));
                }
                let mut found = found.lock().unwrap();
                found.0.add(&tally);
                found.1.extend(failures);
            });
        }
    });
    let (tally, mut failures) = found.into_inner().unwrap();
    failures.sort_by_key(|(seed, _)| *seed);
    (tally, failures)
}

/// A failure with the smallest hub that shows it.
fn described(seed: u64, difference: &Difference) -> String {
    let (course, difference) = shrink::smallest(course_of(seed), difference.clone());
    let mut text = format!(
        "ALMANAC_PLACEMENT_WORLD={seed} cargo test -p almanac-second-scheduler --test comparison\n"
    );
    let _ = writeln!(text, "{}: {}", difference.what, difference.how);
    for object in course.objects.all() {
        let _ = writeln!(text, "  {object}");
    }
    for step in &course.steps {
        for change in &step.changes {
            match change {
                Change::Put(object) => _ = writeln!(text, "  then {object}"),
                Change::Remove(key) => _ = writeln!(text, "  then without {key:?}"),
            }
        }
        let _ = writeln!(text, "  then a turn of {:?} at {}", step.placement, step.now);
    }
    text
}
