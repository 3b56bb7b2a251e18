//! A forecast, one target after the other.
//!
//! A target and the policies that write it never depend on another target. So each runs under a
//! clock of its own, its series are handed over, and they can be forgotten before the next begins:
//! memory does not grow with the number of policies.

use std::collections::BTreeMap;

use almanac_engine::cron_scaling::Target;
use almanac_engine::{Identity, World};
use jiff::Timestamp;

use crate::{Assumed, Assumption, Clock, Period, Series};

/// What will happen in a period.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    world: &'a World,
    period: Period,
    assumed: Assumed,
    /// Every target, and who writes it, in the order of their names.
    writers: BTreeMap<&'a Identity, Vec<&'a Identity>>,
}

/// One target: its series, and what was taken for granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// A series for each field that can be set, in the order of the fields.
    pub series: Vec<Series>,
    /// What was taken for granted.
    pub assumptions: Vec<Assumption>,
}

impl<'a> Forecast<'a> {
    /// A forecast of everything that policies of this world set.
    #[must_use]
    pub fn new(world: &'a World, period: Period, assumed: Assumed) -> Forecast<'a> {
        let mut writers: BTreeMap<&Identity, Vec<&Identity>> = BTreeMap::new();
        for identity in world.scheduled_capacities.keys() {
            writers.entry(identity).or_default().push(identity);
        }
        for (identity, object) in &world.cron_scalings {
            writers.entry(object.policy.target.identity()).or_default().push(identity);
        }
        Forecast { world, period, assumed, writers }
    }

    /// Leaves only the targets for which this holds: of the target, and of who writes it.
    pub fn narrow(&mut self, keep: impl Fn(&Identity, &[&Identity]) -> bool) {
        self.writers.retain(|target, writers| keep(target, writers));
    }

    /// The period.
    #[must_use]
    pub fn period(&self) -> Period {
        self.period
    }

    /// Every target with the policies that write it, in the order in which the parts come.
    pub fn targets(&self) -> impl Iterator<Item = (&'a Identity, &[&'a Identity])> {
        self.writers.iter().map(|(target, writers)| (*target, writers.as_slice()))
    }

    /// The targets that more than one policy writes.
    pub fn contested(&self) -> impl Iterator<Item = (&'a Identity, &[&'a Identity])> {
        self.targets().filter(|(_, writers)| writers.len() > 1)
    }

    /// The parts, one after the other, each found when it is asked for.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.targets().map(|(target, writers)| {
            run(world_of(self.world, target, writers), self.period, &self.assumed)
        })
    }

    /// What is taken for granted, each once and in order. Found without looking at the period.
    #[must_use]
    pub fn assumptions(&self) -> Vec<Assumption> {
        let mut assumptions: Vec<Assumption> = Vec::new();
        for (target, writers) in self.targets() {
            let world = world_of(self.world, target, writers);
            let clock = Clock::start(world, self.period.from(), &self.assumed);
            assumptions.extend_from_slice(clock.assumptions());
        }
        assumptions.sort();
        assumptions.dedup();
        assumptions
    }
}

/// A clock over one target and who writes it, set to an instant.
pub(crate) fn clock_of(
    world: &World,
    target: &Identity,
    at: Timestamp,
    assumed: &Assumed,
) -> Clock {
    let writers: Vec<&Identity> = world
        .cron_scalings
        .iter()
        .filter(|(_, object)| object.policy.target.identity() == target)
        .map(|(identity, _)| identity)
        .chain(world.scheduled_capacities.get_key_value(target).map(|(identity, _)| identity))
        .collect();
    Clock::start(world_of(world, target, &writers), at, assumed)
}

fn run(world: World, period: Period, assumed: &Assumed) -> Part {
    let mut clock = Clock::start(world, period.from(), assumed);
    let assumptions = clock.assumptions().to_vec();
    let holders = clock.holders().iter();
    let mut series: Vec<Series> = holders
        .map(|((target, field), holder)| Series::start(target.clone(), *field, holder, period))
        .collect();
    while let Some(step) = clock.step(period.to()) {
        for set in &step.set {
            let series =
                series.iter_mut().find(|it| it.field == set.field && it.target == set.target);
            if let Some(series) = series {
                series.change(step.at, set.value, &set.origin);
            }
        }
    }
    Part { series, assumptions }
}

/// A target and its writers as a world of their own.
fn world_of(world: &World, target: &Identity, writers: &[&Identity]) -> World {
    let mut part = World::default();
    for writer in writers {
        if let Some((identity, object)) = world.scheduled_capacities.get_key_value(*writer) {
            part.scheduled_capacities.insert(identity.clone(), object.clone());
        }
        if let Some((identity, object)) = world.cron_scalings.get_key_value(*writer) {
            let mut object = object.clone();
            object.memory = None;
            if let Target::Workload(_) = object.policy.target {
                part.workloads.extend(world.workloads.get(target).map(|it| (target.clone(), *it)));
            } else {
                let found = world.autoscalers.get(target);
                part.autoscalers.extend(found.map(|it| (target.clone(), *it)));
            }
            // Nobody reads the histories of a forecast; what a decision needs is kept anyway.
            for rule in &mut object.policy.rules {
                rule.successful_history_limit = 1;
                rule.failed_history_limit = 0;
            }
            part.cron_scalings.insert(identity.clone(), object);
        }
    }
    part
}
