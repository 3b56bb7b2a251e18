//! Random rules, and random lives of the object that contains them.

use almanac_engine::cron_scaling::{Bounds, DesiredScale};
use jiff::Timestamp;
use proptest::prelude::*;

use crate::support::cron::{Rule, rule};
use crate::support::instant;

/// The fate of a turn's write, and of the policy state after the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// Another field manager wrote the same value just before.
    Unchanged,
    Conflict,
    Refused,
    /// The write was not sent.
    Withdrawn,
    /// The write was applied, and the response was lost.
    UnknownWithEffect,
    /// The request was lost, so that no response arrived.
    UnknownWithoutEffect,
    /// The process ends after the write and before it records the turn.
    CrashWithEffect,
    /// The process ends before the write.
    CrashWithoutEffect,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A turn at the requested instant.
    Wake(Fate),
    /// A turn after some time, requested or not.
    After(i64, i32, Fate),
    /// The same turn again.
    Again(Fate),
    /// The clock is set back by less than the maximum skew, and a turn follows.
    Back(i64, Fate),
    /// A fast clock is corrected, and a turn follows.
    PutRight(i64, Fate),
    /// The process ends, and a new one starts.
    Restart,
    /// The target is deleted, or exists again unchanged.
    HideOrShowTarget,
    /// The target becomes unreachable, or reachable again.
    LoseOrFindTarget,
    /// Another field manager changes the target.
    Meddle(u32),
    /// A rule is changed, by its index.
    Edit(usize, Rule),
    /// The rules change their order.
    Reverse,
    /// A rule becomes invalid, or is fixed.
    BreakOrFix(usize),
    /// The status is lost.
    LoseState,
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) scales_bounds: bool,
    pub(super) start: Timestamp,
    pub(super) rules: Vec<Rule>,
    pub(super) steps: Vec<Step>,
}

/// Expressions, each with the minimum number of seconds between two firings.
const CRONS: [(&str, u32); 7] = [
    ("* * * * *", 60),
    ("*/2 * * * *", 120),
    ("*/5 * * * *", 300),
    ("0,1,30 * * * *", 60),
    ("3 * * * *", 3600),
    ("*/30 1,2 * * *", 1800),
    ("30 2 * * *", 82_800),
];

fn settings(scales_bounds: bool) -> BoxedStrategy<DesiredScale> {
    if !scales_bounds {
        return (0..4_u32).prop_map(DesiredScale::Replicas).boxed();
    }
    let bound = || prop::option::of(1..6_u32);
    (bound(), bound())
        .prop_filter_map("no bounds", |(min, max)| Bounds::new(min, max).ok())
        .prop_map(DesiredScale::Bounds)
        .boxed()
}

/// A rule; with `limits`, any limits of the histories, otherwise the maximum ones.
fn rules(scales_bounds: bool, limits: bool) -> impl Strategy<Value = Rule> {
    let delays = prop_oneof![Just(0_u32), Just(1), Just(30), Just(59), Just(300), Just(3600)];
    let keeps = if limits { (1..4_u8, 0..4_u8).boxed() } else { Just((32, 32)).boxed() };
    let zones = prop_oneof![Just("UTC"), Just("America/New_York")];
    let suspended = prop::bool::weighted(if limits { 0.2 } else { 0.05 });
    (0..CRONS.len(), zones, settings(scales_bounds), delays, keeps, suspended).prop_map(
        |(cron, zone, desired, delay, keeps, suspended)| Rule {
            suspended,
            desired,
            ..rule("", CRONS[cron].0, 0)
                .zone(zone)
                .delay(delay.min(CRONS[cron].1 - 1))
                .keeps(keeps.0, keeps.1)
        },
    )
}

fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Done),
        1 => Just(Fate::Unchanged),
        2 => Just(Fate::Conflict),
        2 => Just(Fate::Refused),
        1 => Just(Fate::Withdrawn),
        2 => Just(Fate::UnknownWithEffect),
        1 => Just(Fate::UnknownWithoutEffect),
        1 => Just(Fate::CrashWithEffect),
        1 => Just(Fate::CrashWithoutEffect),
    ]
}

fn steps(scales_bounds: bool, edits: bool) -> BoxedStrategy<Step> {
    let nanoseconds = || prop_oneof![Just(0_i32), Just(1), Just(999_999_999)];
    let lengths = || prop_oneof![4 => 1..90_i64, 3 => 90..900_i64, 2 => 900..9000_i64, 1 => 9000..400_000_i64];
    let lives = prop_oneof![
        10 => fates().prop_map(Step::Wake),
        5 => (lengths(), nanoseconds(), fates())
            .prop_map(|(seconds, nanosecond, fate)| Step::After(seconds, nanosecond, fate)),
        2 => fates().prop_map(Step::Again),
        2 => (prop_oneof![Just(8_i64), 1..300_i64], fates())
            .prop_map(|(seconds, fate)| Step::Back(seconds, fate)),
        2 => Just(Step::Restart),
        1 => Just(Step::HideOrShowTarget),
        1 => Just(Step::LoseOrFindTarget),
    ];
    if !edits {
        return lives.boxed();
    }
    prop_oneof![
        6 => lives,
        1 => (prop_oneof![299..303_i64, 1..3_000_000_i64], fates())
            .prop_map(|(seconds, fate)| Step::PutRight(seconds, fate)),
        1 => (1..6_u32).prop_map(Step::Meddle),
        2 => (0..4_usize, rules(scales_bounds, true)).prop_map(|(index, rule)| Step::Edit(index, rule)),
        1 => Just(Step::Reverse),
        1 => (0..4_usize).prop_map(Step::BreakOrFix),
        1 => Just(Step::LoseState),
    ]
    .boxed()
}

/// Cases; with `edits`, the rules change and other field managers write; otherwise neither does.
pub(super) fn cases(edits: bool) -> impl Strategy<Value = Case> {
    let starts = prop_oneof![
        // Before the two clock changes in New York, and on an ordinary day.
        Just(instant("2026-03-08T06:30:00Z")),
        Just(instant("2026-11-01T04:45:00Z")),
        Just(instant("2026-06-10T08:59:30Z")),
    ];
    any::<bool>().prop_flat_map(move |scales_bounds| {
        let rules = prop::collection::vec(rules(scales_bounds, edits), 1..5);
        let steps = prop::collection::vec(steps(scales_bounds, edits), 1..40);
        (starts.clone(), rules, steps).prop_map(move |(start, mut rules, steps)| {
            for (index, rule) in rules.iter_mut().enumerate() {
                rule.name = format!("r{index}");
            }
            Case { scales_bounds, start, rules, steps }
        })
    })
}
