//! A world in which time passes, turn by turn, with the last writer of each field.

use std::collections::BTreeMap;

use almanac_checker::check_cron_scaling;
use almanac_engine::cron_scaling::{Cause, CronRules, CronScaling, gather};
use almanac_engine::turn;
use almanac_engine::{
    Agenda, EffectReason, Field, Identity, PolicyName, PolicyObject, PriorWrite, Reach, RunStart,
    Slim, Target, Value, World, begin,
};
use almanac_fixtures::names;
use jiff::Timestamp;

use super::cron::{Rule, checked, close};
use super::decision_of;

/// The last writer of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LastWrite {
    pub(crate) value: Option<u32>,
    pub(crate) policy: PolicyName,
    /// The rule, by its index.
    pub(crate) rule: Option<u32>,
    pub(crate) cause: Cause,
    pub(crate) since: Option<Timestamp>,
}

/// Policies of cron rules in a world, and their turns.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) world: World,
    pub(crate) start: RunStart,
    pub(crate) last_writes: BTreeMap<(Identity, Field), LastWrite>,
    /// All effects so far, in order.
    pub(crate) effects: Vec<(Timestamp, PolicyName, turn::Effect)>,
    agenda: Agenda,
}

impl Run {
    /// Starts at the instant that the engine determines.
    pub(crate) fn beginning(mut world: World, from: Timestamp) -> Run {
        let start = begin(&mut world, from);
        let mut run =
            Run::from_turns(world, start.first_turns.iter().cloned(), &start.prior_writes);
        run.start = start;
        run.until(from);
        run
    }

    /// Starts with a turn of every policy.
    pub(crate) fn from_turns_at(world: World, at: Timestamp, held: &[PriorWrite]) -> Run {
        let all: Vec<PolicyName> = world.policies().collect();
        Run::from_turns(world, all.into_iter().map(|policy| (policy, at)), held)
    }

    /// Starts with a turn of every policy at its creation.
    pub(crate) fn from_creations(world: World) -> Run {
        let created = |policy: &PolicyName| world.cron_scaling.policies[&policy.identity].created;
        let turns: Vec<(PolicyName, Timestamp)> =
            world.policies().filter_map(|it| created(&it).map(|at| (it, at))).collect();
        Run::from_turns(world, turns, &[])
    }

    fn from_turns(
        world: World,
        first_turns: impl IntoIterator<Item = (PolicyName, Timestamp)>,
        held: &[PriorWrite],
    ) -> Run {
        let mut agenda = Agenda::default();
        for (policy, at) in first_turns {
            agenda.set(&policy, Some(at));
        }
        let mut last_writes: BTreeMap<_, LastWrite> = BTreeMap::new();
        for held in held {
            let place = (held.target.clone(), held.field);
            if last_writes.get(&place).is_none_or(|known| known.since <= held.since) {
                last_writes
                    .insert(place, holder(&held.policy, &held.value, held.reason, held.since));
            }
        }
        Run { world, start: RunStart::default(), last_writes, effects: Vec::new(), agenda }
    }

    /// Runs the turns before an instant, each checked.
    pub(crate) fn until(&mut self, before: Timestamp) {
        while let Some((at, policy)) = self.agenda.first().filter(|(at, _)| *at < before) {
            let policy = policy.clone();
            let reach = Reach::everything();
            let open = turn::open(&self.world, &policy, &reach, at).unwrap();
            let input = gather(self.world.view(), &policy.identity, &reach).unwrap();
            check_cron_scaling(&input, at, decision_of::<CronRules>(&open)).stop();
            let outcomes: Vec<_> =
                open.actions().iter().map(|action| self.world.apply(action)).collect();
            let (turn, violations) = close(open, &mut self.world, &outcomes, at, &|_| {});
            violations.stop();
            self.agenda.set(&policy, turn.wake_at);
            for effect in turn.effects {
                let holder = holder(&policy, &effect.value, effect.reason, Some(at));
                self.last_writes.insert((effect.target.clone(), effect.field), holder);
                self.effects.push((at, policy.clone(), effect));
            }
        }
    }

    pub(crate) fn last_write_of(&self, target: &Target, field: Field) -> Option<&LastWrite> {
        self.last_writes.get(&(target.identity().clone(), field))
    }

    /// The current bounds of an autoscaler.
    pub(crate) fn bounds_of(&self, target: &Target) -> (Option<u32>, Option<u32>) {
        let autoscaler = self.world.objects.autoscalers[target.identity()];
        (autoscaler.min_replicas, autoscaler.max_replicas)
    }
}

fn holder(
    policy: &PolicyName,
    value: &Value,
    reason: EffectReason,
    since: Option<Timestamp>,
) -> LastWrite {
    let EffectReason::CronScaling(reason) = reason else { panic!("only cron rules run here") };
    let (rule, cause) = (reason.rule, reason.cause);
    LastWrite { value: value.number(), policy: policy.clone(), rule, cause, since }
}

/// The name of an object of cron rules.
pub(crate) fn object_name(name: &str) -> Identity {
    names::cron_federated_hpa(name).identity
}

/// Adds an object of cron rules to a world.
pub(crate) fn add_rules(world: &mut World, name: &str, target: Target, rules: &[Rule]) {
    let object: PolicyObject<CronScaling, _> = PolicyObject::new(checked(target, rules, &[]));
    world.upsert(object_name(name), Slim::CronScaling(object));
}
