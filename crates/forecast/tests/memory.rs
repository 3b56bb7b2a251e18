//! A forecast keeps one island in memory at a time, independent of the number of islands.
//!
//! The allocator counts the bytes of the whole process, so this binary has only one test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its builders too")]

#[path = "forecast/builders.rs"]
#[allow(dead_code, reason = "other tests use the rest of the module")]
mod builders;

use std::alloc::System;

use almanac_engine::World;
use almanac_forecast::{AssumedValues, Forecast};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use self::builders::{Building, period, rule, to_workload};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The currently allocated bytes.
fn held() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// A world of islands with this number of policies each. The policies of one island set the same target.
fn world(islands: usize, policies: usize) -> World {
    let mut world = Building::default();
    for island in 0..islands {
        let target = format!("target-{island:04}");
        world = world.workload(&target, 1);
        for policy in 0..policies {
            let name = format!("policy-{island:04}-{policy}");
            let rules = vec![
                rule("more", &format!("{policy} * * * *"), 5),
                rule("less", &format!("{} * * * *", 30 + policy), 2),
            ];
            world = world.scaling(&name, to_workload(&target), rules);
        }
    }
    world.world()
}

/// The maximum bytes of a forecast of a month during the iteration over its parts, and the bytes of
/// all its segments together.
fn most(islands: usize, policies: usize) -> (usize, usize) {
    let world = world(islands, policies);
    let period = period("2026-03-02T00:00:00Z", "2026-04-02T00:00:00Z");
    let forecast = Forecast::new(&world, period, AssumedValues::new());
    assert_eq!(forecast.len(), islands);
    let (before, mut most, mut segments) = (held(), 0, 0);
    for part in forecast.parts() {
        most = most.max(held() - before);
        segments += part.series.iter().map(|it| size_of_val(&*it.segments)).sum::<usize>();
    }
    (most, segments)
}

#[test]
fn memory_grows_with_the_largest_island_and_not_with_their_number() {
    // Makes one-time allocations, such as the table of a time zone.
    most(1, 1);
    let (few, _) = most(10, 2);
    let (many, of_all) = most(40, 2);
    assert!(of_all > 10 * many, "the test cannot detect it: {of_all} bytes in all, {many} at most");
    assert!(many < few + few / 20, "{few} bytes with 10 islands, {many} with 40");
    let (larger, _) = most(10, 8);
    assert!(larger > 2 * few, "{few} bytes with 2 policies an island, {larger} with 8");
}
