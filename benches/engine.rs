//! The cost of a hundred thousand armed cron rules: the memory of each, and the turns of a minute. It also measures the
//! time to find the number of a schedule of ten behaviors, and its next change.
//!
//! The allocator counts memory, from nothing to a world in which every rule is an object of its own. Each object has a
//! policy, a name, a full history (three successes, three failures) and an entry in the agenda; the scaled workloads
//! are counted separately. A turn removes the due policies from the agenda, decides, applies and settles, and inserts
//! the policies again. The figures of the turns are medians, each turn over a fresh copy of the world.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use almanac_engine::cron_scaling::{
    self, Applied, CronRule, CronScaling, Execution, FiringOutcome, Memory, RuleMemory,
};
use almanac_engine::scheduled_capacity::{self, ScheduledCapacity};
use almanac_engine::{
    Agenda, Family, Identity, PolicyName, PolicyObject, Reach, Target, Workload, World, turn,
};
use almanac_fixtures::rules::rule;
use almanac_fixtures::schedules::Schedule;
use criterion::Criterion;
use jiff::{SignedDuration, Timestamp};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RULES: usize = 100_000;
const TURNS: usize = 15;
/// Three successes and three failures.
const FULL_HISTORY: i64 = 6;

/// The bytes in use, minus those in use at the start of the region.
fn bytes(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

fn noon() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

fn policy_name(index: usize) -> PolicyName {
    let name = format!("shop-{index:06}");
    let object = Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "production", name);
    PolicyName::new(Family::CronScaling, object)
}

fn target_name(index: usize) -> Identity {
    Identity::new("apps", "Deployment", "production", format!("shop-{index:06}"))
}

/// One rule in an object of its own. Rules with `is_due` fire at noon, the others in another hour. The history is full:
/// `executions` entries, successes and failures in turn.
fn object(index: usize, is_due: bool, executions: i64) -> PolicyObject<CronScaling, Memory> {
    let expression =
        if is_due { "0 12 * * *".to_owned() } else { format!("{} 3 * * 1-5", index % 60) };
    let yesterday = noon() - SignedDuration::from_hours(20);
    let history = (0..executions).map(|day| {
        let scheduled = yesterday - SignedDuration::from_hours(24 * day);
        let ending = if day % 2 == 0 {
            FiringOutcome::Done(Applied::Replicas(3))
        } else {
            // As read from a status: each with a message of its own.
            let message = Arc::from("Deployment.apps production/shop not found");
            FiringOutcome::Failed { attempts: 10, message }
        };
        Execution::new(scheduled, scheduled + SignedDuration::from_secs(1), ending)
    });
    let target = Target::Workload(target_name(index));
    let rule = rule("scale-up", &expression, 5).zone("Europe/London").checked(0, &target);
    let memory = RuleMemory::beginning(&rule, yesterday).with_executions(history);
    let policy = CronScaling {
        target,
        target_version: Arc::from("apps/v1"),
        rules: Box::new([rule]),
        unusable_rules: Box::default(),
    };
    let memory = Some(Memory { rules: vec![memory] });
    PolicyObject { created: Some(yesterday), memory, ..PolicyObject::new(policy) }
}

/// A world of [`RULES`] rules, and its agenda. Every `RULES / due`th rule is due at noon.
fn world(due: usize) -> (World, Agenda) {
    let (mut world, mut agenda) = (World::default(), Agenda::default());
    for index in 0..RULES {
        world
            .objects
            .workloads
            .insert(target_name(index), Workload { replicas: Some(3), ..Workload::default() });
        add_policy(&mut world, &mut agenda, index, index % (RULES / due) == 0, FULL_HISTORY);
    }
    (world, agenda)
}

fn add_policy(world: &mut World, agenda: &mut Agenda, index: usize, is_due: bool, executions: i64) {
    let (name, object) = (policy_name(index), object(index, is_due, executions));
    let before_noon = noon() - SignedDuration::from_secs(1);
    let (policy, memory) = (object.policy.as_ref().unwrap(), object.memory.as_ref().unwrap());
    agenda.set(&name, cron_scaling::wake_at(policy, memory, before_noon));
    world.cron_scaling.policies.insert(name.identity, object);
}

/// The bytes of a rule with this number of executions, and the bytes of a workload.
fn measure_memory(executions: i64) -> (usize, usize) {
    let (mut world, mut agenda) = (World::default(), Agenda::default());
    let region = Region::new(ALLOCATOR);
    for index in 0..RULES {
        add_policy(&mut world, &mut agenda, index, index % 100 == 0, executions);
    }
    let rules = bytes(&region);
    let region = Region::new(ALLOCATOR);
    for index in 0..RULES {
        world
            .objects
            .workloads
            .insert(target_name(index), Workload { replicas: Some(3), ..Workload::default() });
    }
    let workloads = bytes(&region);
    black_box((world, agenda));
    (rules / RULES, workloads / RULES)
}

struct TurnFigures {
    due: usize,
    /// Finds the due policies on the agenda, gathers and decides.
    decided: Duration,
    /// Decides, applies and settles the due policies, and inserts them into the agenda again.
    whole: Duration,
}

fn measure_turns(due: usize) -> TurnFigures {
    let (world, agenda) = world(due);
    let (now, reach) = (noon(), Reach::everything());
    let (mut decided, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let mut agenda_now = agenda.clone();
        let started = Instant::now();
        let mut writes = 0;
        while let Some(policy) = agenda_now.take_due(now) {
            writes += black_box(turn::open(&world, &policy, &reach, now)).unwrap().actions().len();
        }
        decided.push(started.elapsed());
        assert_eq!(writes, due);

        let (mut world_now, mut agenda_now) = (world.clone(), agenda.clone());
        let started = Instant::now();
        let mut writes = 0;
        while let Some(policy) = agenda_now.take_due(now) {
            let turn = turn::take(&mut world_now, &policy, now).unwrap();
            writes += turn.done.len();
            agenda_now.set(&policy, turn.wake_at);
        }
        whole.push(started.elapsed());
        assert_eq!((writes, agenda_now.len()), (due, RULES));
    }
    TurnFigures { due, decided: median(decided), whole: median(whole) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Ten behaviors as a busy team writes them: office hours, nights, weekends, month ends, a sale.
fn ten_behaviors() -> ScheduledCapacity {
    let on = |weekdays: &str, hours: u8| format!("weekdays={weekdays}; hours={hours}");
    let office = |hours| on("Mon,Tue,Wed,Thu,Fri", hours);
    let days = |days: &str, hours: u8| format!("days={days}; hours={hours}");
    let sale = |day, hours| days(day, hours) + "; months=Nov";
    let windows = [
        (on("Fri", 17), on("Mon", 9)),
        (office(9), office(17)),
        (office(17), office(9)),
        (on("Mon", 8), on("Mon", 12)),
        (days("28,29,30,31", 8), days("1", 20)),
        (on("Sat", 10), on("Sun", 16)),
        (sale("27", 6), sale("30", 23)),
        (office(12), office(13)),
        (days("15", 0), days("16", 0)),
        (on("Wed", 20), on("Wed", 22)),
    ];
    let none = Schedule::new("America/Los_Angeles", 2);
    let with = |schedule: Schedule, (value, (start, end)): (u32, (String, String))| {
        schedule.with_priority(i32::try_from(value % 3).unwrap(), value, &start, &end)
    };
    (0..).zip(windows).fold(none, with).checked()
}

fn measure_schedule(criterion: &mut Criterion) -> f64 {
    let policy = ten_behaviors();
    let identity = Identity::new("autoscaling.karpenter.sh", "MetricsProducer", "default", "shop");
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let instants: Vec<Timestamp> = (0..1000_i64)
        .map(|index| start + SignedDuration::from_secs(index * 31_557 + index % 61))
        .collect();
    let mut group = criterion.benchmark_group("schedule of ten behaviors");
    group.bench_function("value and next change", |bencher| {
        let mut index = 0;
        bencher.iter(|| {
            index = if index + 1 == instants.len() { 0 } else { index + 1 };
            let input =
                scheduled_capacity::Input { identity: &identity, policy: &policy, published: None };
            black_box(scheduled_capacity::decide(&input, black_box(instants[index])))
        });
    });
    group.finish();
    estimate("schedule of ten behaviors", "value and next change")
}

/// Criterion's own median of a case of this run, in nanoseconds.
fn estimate(group: &str, name: &str) -> f64 {
    let target = std::env::var("CARGO_TARGET_DIR")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../target").to_owned());
    let path = format!("{target}/criterion/{group}/{name}/new/estimates.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let estimates: serde_json::Value = serde_json::from_str(&text).unwrap();
    estimates["median"]["point_estimate"].as_f64().unwrap()
}

fn main() {
    let (rules, workloads) = measure_memory(FULL_HISTORY);
    let (young_rules, _) = measure_memory(0);
    let turns: Vec<TurnFigures> = [RULES, 10_000, 1_000, 100].map(measure_turns).into();
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let schedule = measure_schedule(&mut criterion);

    println!("\n| {RULES} armed cron rules | figure |\n|---|--:|");
    println!("| memory of each rule: policy, full history (3 + 3), name, agenda | {rules} bytes |");
    println!("| the same without a history | {young_rules} bytes |");
    println!("| memory of each workload in the world | {workloads} bytes |");
    println!("| `CronRule` itself | {} bytes |", size_of::<CronRule>());
    println!("| `RuleMemory` itself | {} bytes |", size_of::<RuleMemory>());
    println!("| `Execution` itself | {} bytes |", size_of::<Execution>());
    for TurnFigures { due, decided, whole } in turns {
        println!("| {due} due: found and decided | {:.2} ms |", decided.as_secs_f64() * 1e3);
        println!("| {due} due: the whole turn, settled | {:.2} ms |", whole.as_secs_f64() * 1e3);
    }
    println!("| schedule of ten behaviors: value and next change | {:.2} µs |", schedule / 1e3);
}
