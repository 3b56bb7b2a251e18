//! The cost of a thousand autoscalers over a thousand Deployments: the memory of each, and the turns of the boundary at
//! which all autoscalers scale. Each autoscaler scales by the number of its own schedule, and the process evaluates the
//! schedule.
//!
//! As in `engine.rs`, memory is counted by the allocator, and the figures of the turns are medians, each over a
//! fresh copy of the world.

#![allow(missing_docs, clippy::unwrap_used)]

use std::alloc::System;
use std::hint::black_box;
use std::time::{Duration, Instant};

use almanac_engine::{Agenda, PolicyName, PolicyObject, Reach, Workload, World, turn};
use almanac_fixtures::autoscalers::{Autoscaler, scheduled};
use almanac_fixtures::names;
use almanac_fixtures::schedules::Schedule;
use jiff::{SignedDuration, Timestamp};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const AUTOSCALERS: u32 = 1_000;
const COUNT: usize = AUTOSCALERS as usize;
const RUNS: usize = 15;

/// The bytes in use, minus those in use at the start of the region.
fn bytes(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

fn nine() -> Timestamp {
    "2026-03-02T09:00:00Z".parse().unwrap()
}

fn all() -> impl Iterator<Item = PolicyName> {
    (0..AUTOSCALERS).map(|number| names::horizontal_autoscaler(&format!("shop-{number}")))
}

/// The schedules and the targets: two replicas, and seven from nine to ten.
fn surroundings() -> World {
    let mut world = World::default();
    let schedule = Schedule::new("UTC", 2).with(7, "hours=9", "hours=10").checked();
    for policy in all() {
        let name = policy.identity.name();
        let object = PolicyObject::new(schedule.clone());
        world.scheduled_capacity.policies.insert(names::metrics_producer(name).identity, object);
        let workload = Workload { replicas: Some(2), current: Some(2) };
        world.objects.workloads.insert(names::deployment(name), workload);
    }
    world
}

fn add_autoscalers(world: &mut World) {
    for policy in all() {
        let name = policy.identity.name().to_owned();
        let autoscaler = Autoscaler::for_deployment(&name, 1, 10).by(scheduled(&name)).checked();
        world.metric_scaling.policies.insert(policy.identity, PolicyObject::new(autoscaler));
    }
}

/// Runs a turn of every policy at an instant; returns the number of policies that scale.
fn take_turns(world: &mut World, agenda: &mut Agenda, now: Timestamp) -> usize {
    let mut writes = 0;
    while let Some(policy) = agenda.take_due(now) {
        let turn = turn::take(world, &policy, now).unwrap();
        writes += turn.done.len();
        agenda.set(&policy, turn.wake_at);
    }
    writes
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn report(what: &str, time: Duration) {
    let each = f64::from(AUTOSCALERS) / time.as_secs_f64();
    println!("| {what} | {:.2} ms, {each:.0} a second |", time.as_secs_f64() * 1e3);
}

fn main() {
    let mut world = surroundings();
    let mut agenda = Agenda::default();
    let before = nine() - SignedDuration::from_mins(10);
    let region = Region::new(ALLOCATOR);
    add_autoscalers(&mut world);
    for policy in all() {
        agenda.set(&policy, Some(before));
    }
    // Includes the policy state of each autoscaler, and its entry in the agenda.
    assert_eq!(take_turns(&mut world, &mut agenda, before), 0);
    let memory = bytes(&region) / COUNT;
    assert_eq!(agenda.next(), Some(nine()));

    let (mut decided, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut agenda_now = agenda.clone();
        let started = Instant::now();
        let mut writes = 0;
        while let Some(policy) = agenda_now.take_due(nine()) {
            let open = turn::open(&world, &policy, &Reach::everything(), nine());
            writes += black_box(open).unwrap().actions().len();
        }
        decided.push(started.elapsed());
        assert_eq!(writes, COUNT);

        let (mut world_now, mut agenda_now) = (world.clone(), agenda.clone());
        let started = Instant::now();
        assert_eq!(take_turns(&mut world_now, &mut agenda_now, nine()), COUNT);
        whole.push(started.elapsed());
    }
    println!("\n| {AUTOSCALERS} autoscalers | figure |\n|---|--:|");
    println!("| memory of each: policy, its state, name, agenda | {memory} bytes |");
    report("all due: found and decided", median(decided));
    report("all due: the whole turn, settled", median(whole));
}
