//! The virtual clock: every policy has its turns, and time jumps from one turn to the next.

mod given;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::turn::{self, Effect, Turn};
use almanac_engine::{
    Agenda, Field, Identity, Influences, Outcome, PolicyName, Presumption, PriorWrite, Recorded,
    Target, Value, World, arrive, begin,
};
use jiff::Timestamp;

use crate::last_turn::LastTurn;
use crate::origin::Origins;
use crate::part::Inherited;
use crate::{AssumedValues, Assumption, Origin};

/// A world in which time passes.
///
/// The engine chooses the start: the current state, or the state that earlier firings
/// have left. The time before the start of the period is run through the same turns as the time after it.
#[derive(Debug)]
pub struct Simulation {
    world: World,
    agenda: Agenda,
    /// The policies that were woken at this instant, and have had no turn since.
    woken: BTreeSet<PolicyName>,
    origins: Origins,
    last_writes: BTreeMap<(Identity, Field), LastWrite>,
    /// The policies that depend on an object that other policies change.
    followers: BTreeMap<Identity, Vec<PolicyName>>,
    assumptions: Vec<Assumption>,
    influences: Influences,
    /// Until the start: the instant of the first turn of each policy. A policy has no turn before that.
    first_turns: BTreeMap<PolicyName, Timestamp>,
    /// The values before the first turns of policies whose turns came before everything else at the start.
    earlier_values: BTreeMap<(Identity, Field), LastWrite>,
    watched: Option<LastTurn>,
}

/// The last write of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastWrite {
    /// The value since that write.
    pub value: Option<Value>,
    /// The writer and the reason.
    pub origin: Arc<Origin>,
    /// The instant of the write; `None` when no policy has set the value, or the write is too old to be
    /// known.
    pub since: Option<Timestamp>,
}

/// One turn of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The instant of the turn.
    pub at: Timestamp,
    /// The policy that has the turn.
    pub policy: PolicyName,
    /// The records of the turn.
    pub recorded: Vec<Recorded>,
    /// The fields that the turn set, whether or not they had the value before.
    pub set: Vec<Set>,
}

/// A field that was set in a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// The object.
    pub target: Identity,
    /// The field.
    pub field: Field,
    /// The value before.
    pub before: Option<Value>,
    /// The value after the write.
    pub value: Value,
    /// The writer and the reason.
    pub origin: Arc<Origin>,
}

impl Simulation {
    /// Sets a world to `from`.
    #[must_use]
    pub fn start(world: World, from: Timestamp, assumed: &AssumedValues) -> Simulation {
        Simulation::start_watching(world, from, assumed, None)
    }

    /// Sets a world to `from`, and keeps the world before the last turn of the watched policy.
    pub(crate) fn start_watching(
        world: World,
        from: Timestamp,
        assumed: &AssumedValues,
        watched: Option<&PolicyName>,
    ) -> Simulation {
        Simulation::set_to(from, world, assumed, watched, None)
    }

    /// Sets a world to `from` for a version of the policies that takes over at that instant, with the values that
    /// another version has left.
    pub(crate) fn start_after(
        inherited: Inherited,
        world: World,
        from: Timestamp,
        assumed: &AssumedValues,
    ) -> Simulation {
        Simulation::set_to(from, world, assumed, None, Some(inherited))
    }

    fn set_to(
        from: Timestamp,
        mut world: World,
        assumed: &AssumedValues,
        watched: Option<&PolicyName>,
        inherited: Option<Inherited>,
    ) -> Simulation {
        let mut assumptions = add_missing_targets(&mut world);
        let presumed = world.policies().flat_map(|policy| world.presumptions(&policy));
        let presumed: BTreeSet<Presumption> = presumed.collect();
        assumptions.extend(presumed.into_iter().map(Assumption::Presumed));
        let followers = followers(&world, from);
        let begun = begin(&mut world, from);
        let mut agenda = Agenda::default();
        for (policy, at) in &begun.first_turns {
            agenda.set(policy, Some(*at));
        }
        let replayed = begun.replayed;
        if replayed.predates_state {
            assumptions.push(Assumption::Replayed { from });
        }
        let last_writes = initial_writes(&world);
        let origins = Origins::default();
        let influences = Influences::default();
        let mut simulation = Simulation {
            world,
            agenda,
            woken: BTreeSet::new(),
            origins,
            last_writes,
            followers,
            assumptions,
            influences,
            first_turns: BTreeMap::new(),
            earlier_values: BTreeMap::new(),
            watched: watched.cloned().map(LastTurn::for_policy),
        };
        simulation.take_over_prior_writes(begun.prior_writes);
        simulation.first_turns = begun.first_turns.into_iter().collect();
        while simulation.step(from).is_some() {}
        simulation.first_turns.clear();
        if replayed.as_if_in_force {
            simulation.assumptions.push(Assumption::InForceBefore { from });
        }
        if let Some(inherited) = inherited {
            simulation.assumptions.push(Assumption::TakesOver { from });
            simulation.take_over(inherited, from);
        }
        simulation.assume(assumed, from);
        simulation.settle(&begun.arriving, from, assumed);
        simulation.note_unknown(assumed);
        simulation
    }

    /// The world at the current instant of the run.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The last write of each field.
    #[must_use]
    pub fn last_writes(&self) -> &BTreeMap<(Identity, Field), LastWrite> {
        &self.last_writes
    }

    /// The value of a field before the first turn of a policy at the start set it, if the policy is one of those
    /// for which nothing changes at the start.
    pub(crate) fn earlier_value(&self, place: &(Identity, Field)) -> Option<&LastWrite> {
        self.earlier_values.get(place)
    }

    /// The world before the last turn of the watched policy, and the instant of that turn. Ends the watching.
    pub(crate) fn take_last_turn(&mut self) -> Option<(World, Timestamp)> {
        self.watched.take()?.into_before()
    }

    /// The assumptions of the run.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// The instant of the next turn.
    #[must_use]
    pub fn next(&self) -> Option<Timestamp> {
        self.agenda.next()
    }

    /// Limits the turns to these policies from now on. Every value that they read must be set by one of them, or by no
    /// policy.
    pub(crate) fn go_on_with(&mut self, policies: &[PolicyName]) {
        let kept: BTreeSet<&PolicyName> = policies.iter().collect();
        for other in self.world.policies().filter(|it| !kept.contains(it)) {
            self.agenda.set(&other, None);
        }
        for followers in self.followers.values_mut() {
            followers.retain(|it| kept.contains(it));
        }
    }

    /// Runs the next turn, if it is earlier than `before`.
    pub fn step(&mut self, before: Timestamp) -> Option<Step> {
        loop {
            let (at, policy) = self.agenda.first().filter(|(at, _)| *at < before)?;
            let policy = policy.clone();
            // A disabled policy has no turn, but can be woken.
            if let Some(step) = self.take_turn(policy, at) {
                return Some(step);
            }
        }
    }

    fn take_turn(&mut self, policy: PolicyName, at: Timestamp) -> Option<Step> {
        if let Some(watched) = &mut self.watched {
            watched.begin_turn(&self.world, &policy, at);
        }
        let turn = turn::take(&mut self.world, &policy, at);
        self.agenda.set(&policy, turn.as_ref().and_then(|it| it.wake_at));
        if let Some(turn) = &turn {
            self.wake_followers(&policy, turn, at);
        }
        self.queue_woken(at);
        let Turn { recorded, effects, .. } = turn?;
        let set: Vec<Set> =
            effects.into_iter().filter_map(|it| self.set_field(&policy, at, it)).collect();
        if let Some(watched) = &mut self.watched {
            let is_change = |it: &Set| it.before.as_ref() != Some(&it.value);
            watched.end_turn(&policy, set.iter().any(is_change));
        }
        Some(Step { at, policy, recorded, set })
    }

    /// Gives another turn to the policies that depend on an object that this policy has changed.
    fn wake_followers(&mut self, policy: &PolicyName, turn: &Turn, at: Timestamp) {
        let mut done = turn.done.iter().filter(|(_, outcome)| *outcome == Outcome::Done).peekable();
        if done.peek().is_none() {
            return;
        }
        for (other, due) in self.influences.after_write(&self.world, policy, at) {
            let due = self.first_turns.get(&other).map_or(due, |first| due.max(*first));
            if due > at {
                self.agenda.bring_forward(&other, due);
            } else if self.agenda.turn_of(&other).is_none_or(|turn| turn > at) {
                self.woken.insert(other);
            }
        }
        for follower in done.filter_map(|(it, _)| self.followers.get(it.target())).flatten() {
            let due = self.world.follows_target(follower, at).filter(|_| follower != policy);
            let first = self.first_turns.get(follower).copied();
            if let Some(due) = due {
                self.agenda.bring_forward(follower, first.map_or(due, |first| due.max(first)));
            }
        }
    }

    /// Woken policies come after all other policies of the same instant, as in the queue of a controller.
    fn queue_woken(&mut self, at: Timestamp) {
        if self.agenda.next().is_none_or(|next| next > at) {
            for policy in std::mem::take(&mut self.woken) {
                self.agenda.bring_forward(&policy, at);
            }
        }
    }

    fn set_field(&mut self, policy: &PolicyName, at: Timestamp, effect: Effect) -> Option<Set> {
        let Effect { target, field, value, reason } = effect;
        let origin = self.origins.for_reason(&self.world, policy, reason)?;
        let place = (target, field);
        let write = self.last_writes.get_mut(&place)?;
        let now =
            LastWrite { value: Some(value.clone()), origin: Arc::clone(&origin), since: Some(at) };
        let before = std::mem::replace(write, now).value;
        let (target, field) = place;
        Some(Set { target, field, before, value, origin })
    }

    /// Adopts the known writes from before the first turn. The current value of a field
    /// outweighs the written value: another field manager may have changed it since.
    fn take_over_prior_writes(&mut self, held: Vec<PriorWrite>) {
        let mut latest: BTreeMap<(Identity, Field), PriorWrite> = BTreeMap::new();
        let date = |it: &PriorWrite| (it.applied, it.since);
        for held in held {
            let place = (held.target.clone(), held.field);
            if latest.get(&place).is_none_or(|known| date(known) <= date(&held)) {
                latest.insert(place, held);
            }
        }
        for (place, held) in latest {
            let origin = self.origins.for_reason(&self.world, &held.policy, held.reason);
            let (Some(origin), Some(write)) = (origin, self.last_writes.get_mut(&place)) else {
                continue;
            };
            if write.value.as_ref() == Some(&held.value) {
                *write = LastWrite { value: Some(held.value), origin, since: held.since };
            } else if let Some(writer) = origin.writer.as_ref().filter(|_| write.value.is_some()) {
                write.origin = Origin::changed_since(writer, &held.value, held.since);
            }
        }
    }

    /// Starts the policies that depend on the values that other policies have left. If nothing changes for them, they
    /// have their first turns, before everything else at this instant.
    fn settle(&mut self, arriving: &[PolicyName], from: Timestamp, assumed: &AssumedValues) {
        let mut settling: Vec<&PolicyName> = Vec::new();
        for policy in arriving {
            let has_arrived = arrive(&mut self.world, policy, from);
            // A value that derives from an assumed value is a change.
            let writes = self.world.footprint(policy).writes;
            if has_arrived && !writes.iter().any(|it| assumed.contains_key(it)) {
                settling.push(policy);
            }
        }
        for policy in settling {
            for place in self.world.footprint(policy).writes {
                if let Some(write) = self.last_writes.get(&place) {
                    self.earlier_values.entry(place).or_insert_with(|| write.clone());
                }
            }
            self.take_turn(policy.clone(), from);
        }
    }
}

/// The policies that depend on an object that other policies change.
fn followers(world: &World, from: Timestamp) -> BTreeMap<Identity, Vec<PolicyName>> {
    let mut followers: BTreeMap<Identity, Vec<PolicyName>> = BTreeMap::new();
    for policy in world.policies() {
        if world.follows_target(&policy, from).is_none() {
            continue;
        }
        for object in world.follows(&policy) {
            followers.entry(object).or_default().push(policy.clone());
        }
    }
    followers
}

/// Adds the targets that the world lacks.
fn add_missing_targets(world: &mut World) -> Vec<Assumption> {
    let mut assumptions = Vec::new();
    let policies: Vec<PolicyName> = world.policies().collect();
    for policy in policies {
        // The target of a policy that never writes need not exist.
        if world.footprint(&policy).writes.is_empty() {
            continue;
        }
        let Some(reference) = world.target_of(&policy) else { continue };
        let target = reference.target.identity();
        let is_new = match &reference.target {
            Target::Workload(_) => {
                let is_new = !world.objects.workloads.contains_key(target);
                world.objects.workloads.entry(target.clone()).or_default();
                is_new
            }
            Target::Autoscaler(_) => {
                let is_new = !world.objects.autoscalers.contains_key(target);
                world.objects.autoscalers.entry(target.clone()).or_default();
                is_new
            }
        };
        if is_new {
            assumptions.push(Assumption::TargetExists { target: target.clone() });
        }
    }
    assumptions
}

/// Every field that a policy can set, with its value in the world.
fn initial_writes(world: &World) -> BTreeMap<(Identity, Field), LastWrite> {
    let (given, unknown) = (Origin::initial(), Origin::unknown());
    let writes = world.policies().flat_map(|policy| world.footprint(&policy).writes);
    let last_writes = writes.map(|(object, field)| {
        let value = field.read(world, &object);
        let origin = match (&value, world.why_unknown(&object, field)) {
            (Some(_), _) => Arc::clone(&given),
            (None, None) => Arc::clone(&unknown),
            (None, Some(why)) => Origin::unknown_because(why),
        };
        ((object, field), LastWrite { value, origin, since: None })
    });
    last_writes.collect()
}

#[cfg(test)]
mod tests;
