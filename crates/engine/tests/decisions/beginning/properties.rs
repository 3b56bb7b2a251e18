//! Properties over random rules of one or two objects on one autoscaler: the state that a run starts with is the one
//! that a longer run has reached, including the last writes.

use almanac_engine::cron_scaling::{Cause, CronScaling, DesiredScale, Execution, Memory};
use almanac_engine::{
    Autoscaler, EffectReason, Family, Field, PolicyName, PolicyObject, Replayed, World,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::support::cron::{Rule, autoscaler, bounds};
use crate::support::instant;
use crate::support::property::holds;
use crate::support::run::{LastWrite, Run, add_rules, object_name};

/// Every firing repeats within a week.
const CRONS: [&str; 10] = [
    "0 8 * * *",
    "0 20 * * *",
    "0 9 * * 1",
    "30 8 * * 1-5",
    "0 0 * * 0",
    "0 8 * * 6",
    "0 */6 * * *",
    "0 */6 * * 1-6",
    "0,30 8-9 * * *",
    "0 9 * * 2-5",
];

#[derive(Clone, Debug)]
struct Case {
    live: (Option<u32>, Option<u32>),
    /// The rules of each object.
    objects: Vec<Vec<Rule>>,
    /// Minutes after the earliest start.
    from: i64,
    /// Minutes after `from`.
    until: i64,
}

fn cases() -> impl Strategy<Value = Case> {
    let bound = || prop::option::of(1..8_u32);
    let desired = prop_oneof![
        (1..8_u32).prop_map(|min| (Some(min), None)),
        (1..8_u32).prop_map(|max| (None, Some(max))),
        (1..8_u32, 0..4_u32).prop_map(|(min, more)| (Some(min), Some(min + more))),
    ];
    // Objects whose rules all name the lower bound, or the upper one, are drawn as often as others.
    let named = prop_oneof![2 => Just(None), 1 => Just(Some(true)), 1 => Just(Some(false))];
    let rule = (0..CRONS.len(), desired, prop::bool::weighted(0.1));
    let objects = prop::collection::vec(prop::collection::vec(rule, 0..4), 1..3);
    let minutes =
        || prop_oneof![0..20_160_i64, (0..336_i64).prop_map(|half_hours| half_hours * 30)];
    (bound(), bound(), named, objects, minutes(), minutes()).prop_map(
        |(min, max, named, objects, from, until)| {
            let rules = |rules: Vec<Drawn>| {
                (0..).zip(rules).map(|(index, drawn)| written(index, drawn, named)).collect()
            };
            Case {
                live: (min, max),
                objects: objects.into_iter().map(rules).collect(),
                from,
                until,
            }
        },
    )
}

/// A schedule by its index, both bounds, and whether it is suspended.
type Drawn = (usize, (Option<u32>, Option<u32>), bool);

/// A rule as written; if only one bound is ever named, whether that is the lower one.
fn written(index: usize, (cron, (min, max), suspended): Drawn, named: Option<bool>) -> Rule {
    let either = min.or(max);
    let (min, max) = match named {
        None => (min, max),
        Some(true) => (either, None),
        Some(false) => (None, either),
    };
    let rule = bounds(&format!("r{index}"), CRONS[cron], min, max);
    if suspended { rule.suspended() } else { rule }
}

impl Case {
    fn world(&self) -> World {
        let mut world = World::default();
        let (min_replicas, max_replicas) = self.live;
        let live = Autoscaler { min_replicas, max_replicas };
        world.objects.autoscalers.insert(autoscaler("shop").identity().clone(), live);
        for (index, rules) in self.objects.iter().enumerate() {
            add_rules(&mut world, &format!("object-{index}"), autoscaler("shop"), rules);
        }
        world
    }

    fn from(&self) -> Timestamp {
        instant("2026-03-05T00:00:00Z") + SignedDuration::from_mins(self.from)
    }

    fn until(&self) -> Timestamp {
        self.from() + SignedDuration::from_mins(self.until)
    }

    fn names(&self, field: Field) -> bool {
        let rules = self.objects.iter().flatten().filter(|rule| !rule.suspended);
        rules.into_iter().any(|rule| named_by(rule, field).is_some())
    }
}

fn named_by(rule: &Rule, field: Field) -> Option<u32> {
    let DesiredScale::Bounds(bounds) = rule.desired else { return None };
    if field == Field::MinReplicas { bounds.min() } else { bounds.max() }
}

const BOUNDS: [Field; 2] = [Field::MinReplicas, Field::MaxReplicas];

fn same(one: &Run, other: &Run, fields: &[Field]) -> TestCaseResult {
    let target = autoscaler("shop");
    prop_assert_eq!(one.bounds_of(&target), other.bounds_of(&target));
    for field in fields {
        let (one, other) =
            (one.last_write_of(&target, *field), other.last_write_of(&target, *field));
        prop_assert_eq!(one, other, "{} is held by another one, or for another reason", field);
    }
    Ok(())
}

/// By the convention: of the rules that have had an effect at all, the first one that moves the bound furthest beyond
/// its previous value.
fn furthest(case: &Case, long: &Run, field: Field) -> Option<LastWrite> {
    let (live, other) = match field {
        Field::MaxReplicas => (case.live.1?, Field::MinReplicas),
        _ => (case.live.0?, Field::MaxReplicas),
    };
    let mut furthest: Option<LastWrite> = None;
    for (object, rules) in case.objects.iter().enumerate() {
        let policy = PolicyName::new(Family::CronScaling, object_name(&format!("object-{object}")));
        for (index, rule) in (0..).zip(rules) {
            let has_had_an_effect = long.effects.iter().any(|(_, of, effect)| {
                let EffectReason::CronScaling(reason) = effect.reason else { return false };
                *of == policy && reason.rule == Some(index)
            });
            let Some(value) = named_by(rule, other).filter(|_| has_had_an_effect) else { continue };
            let known = furthest.as_ref().and_then(|it| it.value).unwrap_or(live);
            let is_further =
                if field == Field::MaxReplicas { value > known } else { value < known };
            if is_further {
                furthest = Some(LastWrite {
                    value: Some(value),
                    policy: policy.clone(),
                    rule: Some(index),
                    cause: Cause::MovedOtherBound,
                    since: None,
                });
            }
        }
    }
    furthest
}

#[test]
fn a_replayed_past_ends_in_the_same_state_as_a_long_run() {
    let name = "a_replayed_past_ends_in_the_same_state_as_a_long_run";
    holds(name, 150, cases(), |case| {
        // Three weeks before: every rule has fired more than once.
        let mut long = Run::from_turns_at(case.world(), instant("2026-02-12T00:00:00Z"), &[]);
        long.until(case.from());
        let mut short = Run::beginning(case.world(), case.from());
        let named: Vec<Field> = BOUNDS.into_iter().filter(|field| case.names(*field)).collect();
        same(&short, &long, &named)?;
        for field in BOUNDS.into_iter().filter(|field| !case.names(*field)) {
            let found = short.last_write_of(&autoscaler("shop"), field).cloned();
            prop_assert_eq!(found, furthest(&case, &long, field), "{} is held by another", field);
        }
        long.until(case.until());
        short.until(case.until());
        same(&short, &long, &named)
    });
}

#[test]
fn a_later_run_starts_with_the_state_that_an_earlier_one_reached() {
    let name = "a_later_run_starts_with_the_state_that_an_earlier_one_reached";
    holds(name, 100, cases(), |case| {
        let mut whole = Run::beginning(case.world(), case.from());
        whole.until(case.until());
        let part = Run::beginning(case.world(), case.until());
        same(&part, &whole, &BOUNDS)
    });
}

/// The known state of an object when the world is observed.
#[derive(Clone, Copy, Debug)]
enum Evidence {
    Status,
    /// The minutes since its creation.
    Created(i64),
    Nothing,
}

/// The observed world of a case, with the known state of each object.
fn known_world(case: &Case, known: [Evidence; 2], is_dated: bool) -> World {
    let seen_at = case.from();
    let mut life = Run::from_turns_at(case.world(), seen_at - SignedDuration::from_hours(50), &[]);
    life.until(seen_at);
    let mut world = life.world;
    world.objects.seen_at = is_dated.then_some(seen_at);
    for (object, known) in world.cron_scaling.policies.values_mut().zip(known) {
        match known {
            Evidence::Status => {}
            Evidence::Created(minutes) => {
                object.created = Some(seen_at - SignedDuration::from_mins(minutes));
                object.memory = None;
            }
            Evidence::Nothing => object.memory = None,
        }
    }
    world
}

/// The instant of the observed state of the world, as far as it is known. A creation time does not state it.
fn known_until(world: &World) -> Option<Timestamp> {
    let of_object = |object: &PolicyObject<CronScaling, Memory>| {
        let is_usable = object.policy.as_ref().is_some_and(|policy| !policy.rules.is_empty());
        let memory = object.memory.iter().filter(|_| is_usable);
        let rules = memory.flat_map(|memory| &memory.rules);
        let executed =
            rules.clone().flat_map(|rule| rule.executions.iter().map(Execution::executed));
        executed.chain(rules.map(|rule| rule.handled)).max()
    };
    world
        .objects
        .seen_at
        .or_else(|| world.cron_scaling.policies.values().filter_map(of_object).max())
}

#[test]
fn skipping_firings_that_are_sure_to_be_repeated_changes_nothing() {
    let name = "skipping_firings_that_are_sure_to_be_repeated_changes_nothing";
    let known = || {
        prop_oneof![
            2 => Just(Evidence::Status),
            2 => (0..240_i64).prop_map(Evidence::Created),
            1 => Just(Evidence::Nothing)
        ]
    };
    let known = (known(), known(), any::<bool>(), 0..20_160_i64);
    holds(name, 200, (cases(), known), |(case, (one, other, is_dated, between))| {
        let world = known_world(&case, [one, other], is_dated);
        let short = Run::beginning(world.clone(), case.until());
        let (at, mut through) = match known_until(&world) {
            Some(at) => (at, Run::from_turns_at(world.clone(), at, &short.start.prior_writes)),
            None if world.cron_scaling.policies.values().all(|object| object.created.is_some()) => {
                (case.from(), Run::from_creations(world.clone()))
            }
            // The state of some is unknown; another property covers the effects of their past.
            None => return Ok(()),
        };
        prop_assert_eq!(short.start.replayed, Replayed::default());
        through.until(case.until());
        same(&short, &through, &BOUNDS)?;
        // The same is true of a start at any instant between the two.
        let between = at + SignedDuration::from_mins(between);
        let mut whole = Run::beginning(world, between.min(case.until()));
        whole.until(case.until());
        same(&short, &whole, &BOUNDS)
    });
}
