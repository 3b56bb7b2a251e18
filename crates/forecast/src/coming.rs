//! What comes next, of everything, in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use almanac_engine::{Identity, World, scheduled_capacity};
use jiff::{SignedDuration, Timestamp};

use crate::origin::behaviour_name;
use crate::{Assumed, Assumption, Clock, Field, Period, Step};

/// The firings and boundaries of a period, found one by one as they are asked for.
#[derive(Debug)]
pub struct Coming {
    clock: Clock,
    period: Period,
    /// Which behaviour of each schedule was last seen to win, and its value.
    winners: BTreeMap<Identity, (Option<u32>, u32)>,
    found: VecDeque<Event>,
}

/// Something that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// Whose rule.
    pub policy: Identity,
    /// The rule by name, or the behaviour as `behaviors[1]`.
    pub rule: Option<Arc<str>>,
    /// What is changed.
    pub target: Identity,
    /// What happens.
    pub what: What,
    /// The fields it sets, each with its value before and after; they may be the same.
    pub sets: Vec<(Field, Option<u32>, u32)>,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A cron rule fires.
    Fires,
    /// A cron rule fires, and another one of the same instant takes its place.
    Superseded,
    /// A behaviour begins to decide.
    Opens,
    /// A behaviour ceases to decide, and no other takes its place by opening.
    Closes,
}

impl What {
    /// The verb.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            What::Fires => "fires",
            What::Superseded => "superseded",
            What::Opens => "opens",
            What::Closes => "closes",
        }
    }
}

impl Coming {
    /// Everything that happens in a world in a period.
    #[must_use]
    pub fn new(world: World, period: Period, assumed: &Assumed) -> Coming {
        let before = period.from().checked_sub(SignedDuration::from_nanos(1));
        let before = before.unwrap_or(Timestamp::MIN);
        let clock = Clock::start(world, period.from(), assumed);
        let schedules = clock.world().scheduled_capacities.keys();
        let winners = schedules.filter_map(|identity| {
            let input = scheduled_capacity::gather(clock.world(), identity)?;
            let published = scheduled_capacity::decide(&input, before).memory;
            Some((identity.clone(), (published.winner, published.value)))
        });
        let winners = winners.collect();
        Coming { clock, period, winners, found: VecDeque::new() }
    }

    /// What was taken for granted.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        self.clock.assumptions()
    }

    fn take_down(&mut self, step: Step) {
        if self.clock.world().scheduled_capacities.contains_key(&step.policy) {
            let event = self.boundary(step);
            self.found.extend(event);
        } else {
            let events = self.firings(&step);
            self.found.extend(events);
        }
    }

    fn boundary(&mut self, step: Step) -> Option<Event> {
        let object = self.clock.world().scheduled_capacities.get(&step.policy)?;
        let published = object.memory?;
        let now = (published.winner, published.value);
        let (winner, value) = self.winners.insert(step.policy.clone(), now)?;
        if winner == published.winner {
            return None;
        }
        let opens_now = |rule: &u32| {
            let behaviour = object.policy.behaviours.get(*rule as usize);
            let opened = behaviour.and_then(|it| it.windows.previous_transition(step.at));
            opened.is_some_and(|it| it.opens && it.at == step.at)
        };
        let (what, rule) = match published.winner.filter(opens_now) {
            Some(rule) => (What::Opens, Some(rule)),
            None => (What::Closes, winner),
        };
        Some(Event {
            at: step.at,
            target: step.policy.clone(),
            policy: step.policy,
            rule: rule.map(behaviour_name),
            what,
            sets: vec![(Field::Value, Some(value), published.value)],
        })
    }

    fn firings(&self, step: &Step) -> Vec<Event> {
        let Some(object) = self.clock.world().cron_scalings.get(&step.policy) else {
            return Vec::new();
        };
        let policy = &object.policy;
        let fired = policy
            .rules
            .iter()
            .filter(|rule| !rule.suspended && rule.firings.previous(step.at) == Some(step.at));
        let events = fired.map(|rule| {
            let by_rule = |name: Option<&Arc<str>>| name == Some(&rule.name);
            let set = step
                .set
                .iter()
                .filter(|set| by_rule(set.origin.writer.as_ref().and_then(|it| it.rule.as_ref())));
            let sets: Vec<_> = set.map(|set| (set.field, set.before, set.value)).collect();
            Event {
                at: step.at,
                policy: step.policy.clone(),
                rule: Some(Arc::clone(&rule.name)),
                target: policy.target.identity().clone(),
                what: if sets.is_empty() { What::Superseded } else { What::Fires },
                sets,
            }
        });
        events.collect()
    }
}

impl Iterator for Coming {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        while self.found.is_empty() {
            let step = self.clock.step(self.period.to())?;
            self.take_down(step);
        }
        self.found.pop_front()
    }
}
