//! The virtual clock: every policy takes its turns, and time jumps from one turn to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::cron_scaling::{CronScaling, Ending, Memory, RuleMemory};
use almanac_engine::turn::{self, Reasons, Turn};
use almanac_engine::{Agenda, Identity, World, cron_scaling};
use jiff::{SignedDuration, Timestamp};

use crate::origin::Origins;
use crate::{Assumed, Assumption, Field, Origin};

/// A world in which time passes.
///
/// It begins with what the last firing of every rule before the beginning has left. These firings
/// are replayed by the engine like all others, so that what they leave is what they would have
/// left; older ones of the same rule cannot matter, because a later one sets the same fields.
#[derive(Debug)]
pub struct Clock {
    world: World,
    agenda: Agenda,
    origins: Origins,
    holders: BTreeMap<(Identity, Field), Holder>,
    assumptions: Vec<Assumption>,
}

/// Who set a field last, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The value since then.
    pub value: Option<u32>,
    /// Who, and why.
    pub origin: Arc<Origin>,
    /// The instant of the firing; `None` when no policy has set it.
    pub since: Option<Timestamp>,
}

/// One policy's turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// Whose.
    pub policy: Identity,
    /// What came of it.
    pub turn: Turn,
    /// Which fields it set, whether or not they had the value before.
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
    pub before: Option<u32>,
    /// The value since.
    pub value: u32,
    /// Who, and why.
    pub origin: Arc<Origin>,
}

impl Clock {
    /// Sets a world to `from`. What it remembers is not looked at: whatever a status says, every
    /// firing is taken to have been carried out in its moment.
    #[must_use]
    pub fn start(mut world: World, from: Timestamp, assumed: &Assumed) -> Clock {
        let assumptions = add_missing_targets(&mut world);
        let mut agenda = Agenda::default();
        for (identity, object) in &mut world.cron_scalings {
            let memory = before_last_firings(&object.policy, from);
            agenda.set(identity, cron_scaling::wake_at(&object.policy, &memory, Timestamp::MIN));
            object.memory = Some(memory);
        }
        for (identity, object) in &mut world.scheduled_capacities {
            object.memory = None;
            agenda.set(identity, Some(from));
        }
        let holders = holders_at_first(&world);
        let origins = Origins::default();
        let mut clock = Clock { world, agenda, origins, holders, assumptions };
        let mut replayed = false;
        while clock.step(from).is_some() {
            replayed = true;
        }
        if replayed {
            clock.assumptions.push(Assumption::InForceBefore { from });
        }
        clock.assume(assumed);
        clock
    }

    /// The world as it is now.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Who set each field last.
    #[must_use]
    pub fn holders(&self) -> &BTreeMap<(Identity, Field), Holder> {
        &self.holders
    }

    /// What was taken for granted.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// When the next turn is.
    #[must_use]
    pub fn next(&self) -> Option<Timestamp> {
        self.agenda.next()
    }

    /// Lets the next policy take its turn, if that is earlier than `before`.
    pub fn step(&mut self, before: Timestamp) -> Option<Step> {
        let (at, policy) = self.agenda.first().filter(|(at, _)| *at < before)?;
        let policy = policy.clone();
        let turn = turn::take(&mut self.world, &policy, at)?;
        self.agenda.set(&policy, turn.wake_at);
        let set = self.what_was_set(&policy, at, &turn.reasons);
        Some(Step { at, policy, turn, set })
    }

    fn what_was_set(&mut self, policy: &Identity, at: Timestamp, reasons: &Reasons) -> Vec<Set> {
        let mut set = Vec::new();
        match reasons {
            Reasons::ScheduledCapacity(_) => {
                let object = self.world.scheduled_capacities.get(policy);
                if let Some(published) = object.and_then(|object| object.memory) {
                    let origin =
                        self.origins.of_rule(&self.world, policy, published.winner, reasons);
                    set.extend(
                        origin.map(|it| (policy.clone(), Field::Value, published.value, it)),
                    );
                }
            }
            Reasons::CronScaling(_) => {
                for (rule, field, value) in applied(&self.world, policy, at) {
                    let Some(object) = self.world.cron_scalings.get(policy) else { continue };
                    let target = object.policy.target.identity().clone();
                    let origin = self.origins.of_rule(&self.world, policy, Some(rule), reasons);
                    set.extend(origin.map(|it| (target, field, value, it)));
                }
            }
        }
        set.into_iter().map(|it| self.hold(at, it)).collect()
    }

    fn hold(
        &mut self,
        at: Timestamp,
        (target, field, value, origin): (Identity, Field, u32, Arc<Origin>),
    ) -> Set {
        let holder = Holder { value: Some(value), origin: Arc::clone(&origin), since: Some(at) };
        let before = self.holders.insert((target.clone(), field), holder);
        Set { target, field, before: before.and_then(|it| it.value), value, origin }
    }

    /// Lets fields be what whoever asked says, and notes those of which nobody knows.
    fn assume(&mut self, assumed: &Assumed) {
        for ((target, field), holder) in &mut self.holders {
            if let Some(&value) = assumed.get(&(target.clone(), *field)) {
                field.write(&mut self.world, target, value);
                *holder = Holder { value: Some(value), origin: Origin::assumed(), since: None };
                let (target, field) = (target.clone(), *field);
                self.assumptions.push(Assumption::Given { target, field, value });
            } else if holder.value.is_none() && *field != Field::Value {
                let (target, field) = (target.clone(), *field);
                self.assumptions.push(Assumption::UnknownAtStart { target, field });
            }
        }
    }
}

/// Adds what policies change and the world lacks.
fn add_missing_targets(world: &mut World) -> Vec<Assumption> {
    let mut assumptions = Vec::new();
    for object in world.cron_scalings.values() {
        let target = object.policy.target.identity();
        let is_new = match &object.policy.target {
            cron_scaling::Target::Workload(_) => {
                let is_new = !world.workloads.contains_key(target);
                world.workloads.entry(target.clone()).or_default();
                is_new
            }
            cron_scaling::Target::Autoscaler(_) => {
                let is_new = !world.autoscalers.contains_key(target);
                world.autoscalers.entry(target.clone()).or_default();
                is_new
            }
        };
        if is_new {
            assumptions.push(Assumption::TargetExists { target: target.clone() });
        }
    }
    assumptions
}

/// A memory to which the last firing of every rule before `from` is the next to be handled.
fn before_last_firings(policy: &CronScaling, from: Timestamp) -> Memory {
    let moment = SignedDuration::from_nanos(1);
    let before = |at: Timestamp| at.checked_sub(moment).unwrap_or(Timestamp::MIN);
    let rules = policy.rules.iter().map(|rule| RuleMemory {
        name: Arc::clone(&rule.name),
        fingerprint: rule.fingerprint,
        handled: before(rule.firings.previous(before(from)).unwrap_or(from)),
        pending: None,
        executions: Arc::default(),
    });
    Memory { rules: rules.collect() }
}

/// Every field that a policy can set, with what the world says about it.
fn holders_at_first(world: &World) -> BTreeMap<(Identity, Field), Holder> {
    let (given, unknown) = (Origin::given(), Origin::unknown());
    let mut holders = BTreeMap::new();
    for object in world.cron_scalings.values() {
        let target = object.policy.target.identity();
        for &field in Field::of_target(&object.policy.target) {
            let value = field.read(world, target);
            let origin = Arc::clone(if value.is_some() { &given } else { &unknown });
            holders.insert((target.clone(), field), Holder { value, origin, since: None });
        }
    }
    for identity in world.scheduled_capacities.keys() {
        let holder = Holder { value: None, origin: Arc::clone(&unknown), since: None };
        holders.insert((identity.clone(), Field::Value), holder);
    }
    holders
}

/// What the firings of a policy at an instant set, by the history the engine keeps of them.
fn applied(world: &World, policy: &Identity, at: Timestamp) -> Vec<(u32, Field, u32)> {
    let memory = world.cron_scalings.get(policy).and_then(|object| object.memory.as_ref());
    let mut set = Vec::new();
    for (rule, memory) in (0..).zip(memory.map_or(&[][..], |memory| &memory.rules)) {
        let Some(execution) = memory.executions.first().filter(|it| it.executed() == at) else {
            continue;
        };
        let Ending::Done(applied) = execution.ending else { continue };
        let fields = [
            (Field::Replicas, applied.replicas()),
            (Field::MinReplicas, applied.min()),
            (Field::MaxReplicas, applied.max()),
        ];
        set.extend(fields.into_iter().filter_map(|(field, value)| Some((rule, field, value?))));
    }
    set
}
