//! The memory of the clusters that placements select from, counted by the allocator.

#![allow(missing_docs)]

use std::alloc::System;

use almanac_benches::fleet::{cluster, name, object_of, scores_of};
use almanac_fixtures::placements::{add_cluster, add_scores, hub};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CLUSTERS: usize = 10_000;

/// The memory that a value adds, per cluster.
fn bytes<T>(made: impl FnOnce() -> T) -> (T, usize) {
    let region = Region::new(ALLOCATOR);
    let made = made();
    let change = region.change();
    (made, (change.bytes_allocated - change.bytes_deallocated) / CLUSTERS)
}

fn main() {
    let mut world = hub();
    let ((), taken) = bytes(|| {
        for number in 0..CLUSTERS {
            add_cluster(&mut world, &name(number), cluster(number));
        }
    });
    println!("a cluster takes {taken} bytes");
    let ((), taken) = bytes(|| {
        for number in 0..CLUSTERS {
            add_scores(&mut world, &name(number), "default", scores_of(number));
        }
    });
    println!("its scores take {taken} bytes");
    let (objects, taken) = bytes(|| (0..CLUSTERS).map(object_of).collect::<Vec<_>>());
    println!("its object takes {taken} bytes");
    drop(objects);
}
