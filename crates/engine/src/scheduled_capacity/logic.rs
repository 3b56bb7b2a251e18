//! The family's implementation of the interface that all families share.

use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::reasons::behavior_name;
use super::{
    Behavior, Cause, Decision, Input, PublishedNumber, Recorded, ScheduledCapacity, decide,
    explain, gather, next_change, render, settle, value_at,
};
use crate::seam::{
    Beginning, FamilyState, Happened, ObjectOf, Opening, PolicyDecision, PolicyFamily,
    PublishesNumber, ReasonText, Settlement, Start, Times, View, ViewMut,
};
use crate::{
    Exempt, Field, Footprint, Identity, Outcome, Reason, RuleExplanation, RuleSchedule, Schedule,
    Verdict,
};

/// Schedules, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Schedules;

impl PolicyFamily for Schedules {
    const FOLLOWS_SCHEDULES: bool = true;
    const PUBLISHES: bool = true;

    type Policy = ScheduledCapacity;
    type Memory = PublishedNumber;
    type Extra = ();
    type Input<'w> = Input<'w>;
    type Decision = Decision;
    type Cause = Cause;
    type Record = Recorded;

    fn gather<'w>(view: View<'w, Self>, policy: &Identity, _: Opening<'w>) -> Option<Input<'w>> {
        gather(view, policy)
    }

    fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
        decide(input, now)
    }

    fn settle(
        state: &mut FamilyState<Self>,
        policy: &Identity,
        open: PolicyDecision<Self>,
        outcomes: &[Outcome],
        times: Times,
    ) -> Settlement<Self> {
        let wake_at = open.decision.wake_at;
        let object = state.policies.get_mut(policy);
        let before = object.as_ref().and_then(|object| object.memory);
        let settled = settle(policy, before, open.decision, outcomes, times.opened_at);
        if let Some(object) = object.filter(|object| object.policy.is_some()) {
            object.memory = settled.memory;
        }
        Settlement { recorded: settled.recorded, effects: settled.effects, wake_at }
    }

    fn footprint(view: View<'_, Self>, policy: &Identity) -> Option<Footprint> {
        gather(view, policy)?;
        Some(Footprint { reads: Vec::new(), writes: vec![(policy.clone(), Field::Value)] })
    }

    fn describe(
        view: View<'_, Self>,
        policy: &Identity,
        reason: &Reason<Cause>,
    ) -> Option<ReasonText> {
        let policy = gather(view, policy)?.policy;
        Some((reason.rule.map(behavior_name), render(policy, reason)))
    }

    fn explain(
        view: View<'_, Self>,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        if let Some(exempt) = Exempt::for_policy(&view.objects.exempt, policy, None) {
            let message = format!("not published; {exempt}");
            return vec![RuleExplanation::new(None, Verdict::Excluded, message)];
        }
        let Some(input) = gather(view, policy) else { return Vec::new() };
        let mut reasons = explain(&input, now);
        reasons.sort_by_key(|reason| reason.rule);
        let explained = reasons.iter().map(|reason| {
            RuleExplanation::from_reason(
                reason,
                reason.rule.map(behavior_name),
                render(input.policy, reason),
            )
        });
        explained.collect()
    }

    fn occurrence(view: View<'_, Self>, policy: &Identity, record: &Recorded) -> Option<Happened> {
        // An earlier process decided the first published value.
        record.before?;
        let (what, behavior) = record.occurrence(gather(view, policy)?.policy);
        Some((what, behavior.map(behavior_name)))
    }

    fn begin(view: ViewMut<'_, Self>, policies: &[&Identity], from: Beginning) -> Start<Self> {
        super::begin::begin(view, policies, from)
    }

    /// An invalid schedule publishes nothing.
    fn stored(mut object: ObjectOf<Self>, before: Option<ObjectOf<Self>>) -> ObjectOf<Self> {
        let previous = before.and_then(|before| before.memory);
        object.memory = previous.or(object.memory).filter(|_| object.policy.is_some());
        object
    }

    /// A published number changes no object by itself.
    fn is_stopped(_: View<'_, Self>, _: &Identity) -> bool {
        false
    }

    fn zones(view: View<'_, Self>, policy: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        gather(view, policy).map(|input| (None, input.policy.zone)).into_iter().collect()
    }

    fn schedules(view: View<'_, Self>, policy: &Identity) -> Vec<RuleSchedule> {
        let behaviors = gather(view, policy).map(|input| input.policy.behaviors.iter());
        let rule_schedule = |(position, behavior): (u32, &Behavior)| RuleSchedule {
            rule: behavior_name(position),
            position,
            is_off: false,
            schedule: Schedule::Windows(behavior.windows.clone()),
            ranked: Some((behavior.priority, behavior.value)),
            requested_value: Some(behavior.value.into()),
            sets: Vec::new(),
        };
        (0..).zip(behaviors.into_iter().flatten()).map(rule_schedule).collect()
    }
}

impl PublishesNumber for ScheduledCapacity {
    fn number_at(&self, at: Timestamp) -> u32 {
        value_at(self, at)
    }

    fn next_change(&self, after: Timestamp) -> Option<Timestamp> {
        next_change(self, after)
    }
}
