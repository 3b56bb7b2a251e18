//! The family's implementation of the interface that all families share.

use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::reasons::behaviour_name;
use super::{
    Behaviour, Decision, Published, ScheduledCapacity, decide, explain, gather, render, settle,
};
use crate::answers::RuleExplanation;
use crate::beginning::{Beginning, RunStart};
use crate::families::{Logic, OpenDecision, Recorded};
use crate::schedules::{RuleSchedule, Schedule};
use crate::seam::{Policies, PolicyFamily, PolicyObject};
use crate::turn::{Closed, PolicyDecision};
use crate::{
    Exempt, Field, Footprint, Identity, Outcome, Reach, Slim, TargetReference, Verdict, World,
};

/// Schedules, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Schedules;

impl PolicyFamily for Schedules {
    type Policy = ScheduledCapacity;
    type Memory = Published;
    type Extra = ();
}

impl Logic for Schedules {
    fn names<'w>(&self, world: &'w World) -> Box<dyn Iterator<Item = &'w Identity> + 'w> {
        Box::new(world.scheduled_capacity.policies.keys())
    }

    fn footprint(&self, world: &World, policy: &Identity) -> Option<Footprint> {
        gather(world, policy)?;
        Some(Footprint { reads: Vec::new(), writes: vec![(policy.clone(), Field::Value)] })
    }

    fn target(&self, _: &World, _: &Identity) -> Option<TargetReference> {
        None
    }

    fn zones(&self, world: &World, policy: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        gather(world, policy).map(|input| (None, input.policy.zone)).into_iter().collect()
    }

    fn schedules(&self, world: &World, policy: &Identity) -> Vec<RuleSchedule> {
        let behaviours = gather(world, policy).map(|input| input.policy.behaviours.iter());
        let of_behaviour = |(position, behaviour): (u32, &Behaviour)| RuleSchedule {
            rule: behaviour_name(position),
            position,
            is_off: false,
            schedule: Schedule::Windows(behaviour.windows.clone()),
            ranked: Some((behaviour.priority, behaviour.value)),
            asks_for: Some(behaviour.value.into()),
            sets: Vec::new(),
        };
        (0..).zip(behaviours.into_iter().flatten()).map(of_behaviour).collect()
    }

    fn follows_schedules(&self) -> bool {
        true
    }

    fn open(
        &self,
        world: &World,
        policy: &Identity,
        _: &Reach,
        now: Timestamp,
    ) -> Option<OpenDecision> {
        let decision = decide(&gather(world, policy)?, now);
        let policy = Arc::clone(world.scheduled_capacity.policies.get(policy)?.policy.as_ref()?);
        Some(OpenDecision::ScheduledCapacity(PolicyDecision { policy, decision }))
    }

    fn explain(
        &self,
        world: &World,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        if let Some(exempt) = Exempt::of(&world.objects.exempt, policy, None) {
            return vec![RuleExplanation {
                rule: None,
                position: None,
                verdict: Verdict::Excluded,
                message: format!("not published; {exempt}"),
                since: None,
                until: None,
                scored: None,
                answered: None,
            }];
        }
        let Some(input) = gather(world, policy) else { return Vec::new() };
        let mut reasons = explain(&input, now);
        reasons.sort_by_key(|reason| reason.rule);
        let explained = reasons.iter().map(|reason| RuleExplanation {
            rule: reason.rule.map(behaviour_name),
            position: reason.rule,
            verdict: reason.verdict,
            message: render(input.policy, reason),
            since: reason.since,
            until: reason.until,
            scored: None,
            answered: None,
        });
        explained.collect()
    }

    fn begin(&self, world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
        super::begin::begin(world, policies, beginning)
    }

    fn skip_stopped(
        &self,
        _: &mut World,
        _: &Identity,
        _: Timestamp,
        _: Timestamp,
    ) -> Option<Closed> {
        None
    }

    fn known_until(&self, _: &World, _: &Identity) -> Option<Timestamp> {
        None
    }

    fn slim(&self, world: &World, policy: &Identity) -> Option<Slim> {
        world.scheduled_capacity.policies.get(policy).cloned().map(Slim::ScheduledCapacity)
    }

    fn remove(&self, world: &mut World, policy: &Identity) {
        world.scheduled_capacity.policies.remove(policy);
    }
}

/// Stores an object, and keeps what it published last.
pub(crate) fn upsert(
    objects: &mut Policies<ScheduledCapacity, Published>,
    identity: Identity,
    mut object: PolicyObject<ScheduledCapacity, Published>,
) {
    let remembered = objects.remove(&identity).and_then(|before| before.memory);
    // An invalid schedule publishes nothing.
    object.memory = remembered.or(object.memory).filter(|_| object.policy.is_some());
    objects.insert(identity, object);
}

/// Settles an open turn in the world.
pub(crate) fn close(
    world: &mut World,
    identity: &Identity,
    open: PolicyDecision<ScheduledCapacity, Decision>,
    outcomes: &[Outcome],
    opened_at: Timestamp,
) -> Closed {
    let wake_at = open.decision.wake_at;
    let object = world.scheduled_capacity.policies.get_mut(identity);
    let before = object.as_ref().and_then(|object| object.memory);
    let settled = settle(identity, before, open.decision, outcomes, opened_at);
    if let Some(object) = object.filter(|object| object.policy.is_some()) {
        object.memory = settled.memory;
    }
    let recorded = settled.recorded.into_iter().map(Recorded::ScheduledCapacity).collect();
    Closed { recorded, effects: settled.effects, wake_at }
}
