//! The upcoming firings and window boundaries of all policies, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use almanac_engine::{Field, Identity, Occurrence, PolicyName, Value, World};
use jiff::Timestamp;

use crate::{AssumedValues, Assumption, Period, Simulation, Step};

/// The firings and boundaries of a period, computed lazily.
#[derive(Debug)]
pub struct Upcoming {
    simulation: Simulation,
    period: Period,
    found: VecDeque<Event>,
}

/// A firing or a boundary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The instant of the event.
    pub at: Timestamp,
    /// The policy of the rule.
    pub policy: PolicyName,
    /// The rule by name, or the behavior as `behaviors[1]`.
    pub rule: Option<Arc<str>>,
    /// The target.
    pub target: Identity,
    /// The kind of event.
    pub what: Occurrence,
    /// The fields that the event sets, each with its value before and after; the two may be equal.
    pub sets: Vec<(Field, Option<Value>, Value)>,
}

impl Upcoming {
    /// The upcoming events of a world in a period.
    #[must_use]
    pub fn new(world: World, period: Period, assumed: &AssumedValues) -> Upcoming {
        let simulation = Simulation::start(world, period.from(), assumed);
        Upcoming { simulation, period, found: VecDeque::new() }
    }

    /// The assumptions.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        self.simulation.assumptions()
    }

    fn record(&mut self, step: &Step) {
        let has_objects = step.recorded.iter().all(|it| it.object().is_some());
        let footprint = || self.simulation.world().footprint(&step.policy);
        let target_of_write = || footprint().writes.into_iter().map(|(object, _)| object).next();
        let target_of_write = if has_objects { None } else { target_of_write() };
        let target = target_of_write.unwrap_or_else(|| step.policy.identity.clone());
        let world = self.simulation.world();
        for recorded in &step.recorded {
            let occurrence = recorded.occurrence(world, &step.policy.identity);
            let Some((what, rule)) = occurrence else { continue };
            let object = recorded.object();
            self.found.push_back(Event {
                at: step.at,
                policy: step.policy.clone(),
                target: object.unwrap_or(&target).clone(),
                sets: sets(step, what, rule.as_ref(), object),
                rule,
                what,
            });
        }
    }
}

/// The fields that a rule has set in a turn. A closing behavior sets nothing itself; the new
/// winner does.
fn sets(
    step: &Step,
    what: Occurrence,
    rule: Option<&Arc<str>>,
    object: Option<&Identity>,
) -> Vec<(Field, Option<Value>, Value)> {
    let by_rule = |writer: Option<&Arc<str>>| match what {
        Occurrence::Closes | Occurrence::Selects | Occurrence::Overflows | Occurrence::Suffices => {
            true
        }
        Occurrence::Fires
        | Occurrence::Superseded
        | Occurrence::Missed
        | Occurrence::Opens
        | Occurrence::Scales => writer == rule,
    };
    let set =
        step.set.iter().filter(|set| object.is_none_or(|object| set.target == *object)).filter(
            |set| by_rule(set.origin.writer.as_ref().and_then(|writer| writer.rule.as_ref())),
        );
    set.map(|set| (set.field, set.before.clone(), set.value.clone())).collect()
}

impl Iterator for Upcoming {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        while self.found.is_empty() {
            let step = self.simulation.step(self.period.to())?;
            self.record(&step);
        }
        self.found.pop_front()
    }
}
