//! Policies that set a field of the same target: their names, and the values of a policy that another policy replaces.
//!
//! The names depend only on the specs and the exemptions. So a status changes when a rival appears or disappears, and
//! not with each value. A policy names the rivals after it in the order of turns. So a rival that appears or disappears
//! changes a few statuses, however many policies have the target.

use almanac_api::status::conditions::{ConditionState, ConditionType};
use almanac_engine::{Action, Family, Field, Outcome, PolicyName, World};
use jiff::Timestamp;

use super::ClusterState;

/// The maximum number of rivals that a condition names. The condition does not count further rivals, because each new
/// rival would change all conditions.
pub(super) const MAX_NAMED: usize = 3;

/// Whether a policy sets its target, unless the target is exempt: the policy is armed, and is not exempt itself.
pub(super) fn sets_target(world: &World, policy: &PolicyName) -> bool {
    let rules = world.cron_scaling.policy(&policy.identity);
    let has_armed_rule = || rules.is_some_and(|it| it.rules.iter().any(|rule| !rule.suspended));
    // Only rules can be suspended.
    let is_armed = policy.family != Family::CronScaling || has_armed_rule();
    is_armed && world.objects.exempt.get(&policy.identity).is_none()
}

impl ClusterState {
    /// The next other policies, in the order of turns, that set the target of a policy: at most one more than a
    /// condition names. Empty for a policy that sets nothing.
    pub(crate) fn rivals(&self, policy: &PolicyName) -> Vec<PolicyName> {
        let target =
            self.target_of(policy).filter(|it| self.world.objects.exempt.get(it).is_none());
        target.map(|target| self.targets.rivals(&target, policy)).unwrap_or_default()
    }

    /// Records the values that a policy has set, if it sets them again after each change. They replace the values of
    /// its rivals, as those of another field manager do. Returns the rivals that need a turn because of these values.
    pub(crate) fn note_replaced(
        &mut self,
        policy: &PolicyName,
        done: &[(Action, Outcome)],
        now: Timestamp,
    ) -> Vec<PolicyName> {
        let mut woken = Vec::new();
        let writes = done.iter().filter(|(_, outcome)| *outcome == Outcome::Done);
        for (action, _) in writes.filter(|_| policy.family.writes_again()) {
            let target = action.target();
            if self.targets.policies_targeting(target).all(|it| it == policy) {
                continue;
            }
            for change in numbers_set_by(action) {
                self.targets.note_field_change(target, change, Some(&policy.to_string()));
            }
            // A policy that sets its own value again detects that in its next turn.
            let reports = |it: &&PolicyName| {
                !it.family.writes_again() && self.world.reacts_to_changes(it, now)
            };
            woken.extend(self.targets.policies_targeting(target).filter(reports).cloned());
        }
        woken
    }
}

/// The fields of the target that an action sets to a number.
fn numbers_set_by(action: &Action) -> Vec<(Field, u32)> {
    match action {
        Action::SetReplicas { replicas, .. } => vec![(Field::Replicas, *replicas)],
        Action::SetBounds { min, max, .. } => {
            let bounds = [(Field::MinReplicas, *min), (Field::MaxReplicas, *max)];
            bounds.into_iter().filter_map(|(field, bound)| Some((field, bound?))).collect()
        }
        Action::Publish { .. }
        | Action::Annotate { .. }
        | Action::WriteDecision { .. }
        | Action::RemoveDecision { .. }
        | Action::SchedulePods { .. } => Vec::new(),
    }
}

/// Names the rivals of a policy in the message of its `Ready` condition.
pub(crate) fn name_rivals(states: &mut [ConditionState], rivals: &[PolicyName]) {
    let Some(ready) = states.iter_mut().find(|it| it.about == ConditionType::Ready) else { return };
    if rivals.is_empty() {
        return;
    }
    let names: Vec<String> = rivals.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let names = names.join(", ");
    let others = if rivals.len() > MAX_NAMED { " and others" } else { "" };
    let message = &ready.message;
    ready.message = format!(
        "{message}; the target is also set by {names}{others}: set the target with only one policy"
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use almanac_api::status::conditions::ConditionReason;
    use almanac_engine::Identity;
    use almanac_engine::other_writer::ExternalChange;
    use almanac_fixtures::names;

    use super::*;
    use crate::cluster::TargetTable;

    fn named(count: usize) -> String {
        let rivals: Vec<PolicyName> = ["a", "b", "c", "d", "e"]
            .map(names::metrics_producer)
            .into_iter()
            .take(count)
            .collect();
        let (about, reason) = (ConditionType::Ready, ConditionReason::Armed);
        let message = "nothing needs attention".to_owned();
        let mut states = [ConditionState { about, holds: true, reason, message }];
        name_rivals(&mut states, &rivals);
        let [ready] = states;
        assert!(ready.holds, "two policies on one target may be intended");
        ready.message
    }

    #[test]
    fn a_condition_names_three_rivals_without_the_number_of_the_others() {
        let producer =
            |name: &str| format!("MetricsProducer.autoscaling.karpenter.sh default/{name}");
        let [a, b, c] = ["a", "b", "c"].map(producer);
        let message = |rivals: &str| {
            format!(
                "nothing needs attention; the target is also set by {rivals}: set the target with only one policy"
            )
        };
        assert_eq!(named(0), "nothing needs attention");
        assert_eq!(named(1), message(&a));
        assert_eq!(named(3), message(&format!("{a}, {b}, {c}")));
        assert_eq!(named(4), message(&format!("{a}, {b}, {c} and others")));
    }

    #[test]
    fn rivals_are_the_next_policies_in_the_order_of_turns_and_then_the_first_policies() {
        let target = names::deployment("shop");
        let mut targets = TargetTable::default();
        let named = names::cron_federated_hpa;
        for name in ["f", "d", "b", "a", "c"] {
            targets.set_target_of(&named(name), None, Some((&target, true)));
        }
        targets.set_target_of(&named("e"), None, Some((&target, false)));
        let rivals = |target: &Identity, name: &str| {
            let rivals = targets.rivals(target, &named(name));
            rivals.iter().map(|it| it.identity.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(rivals(&target, "d"), ["f", "a", "b", "c"]);
        assert!(rivals(&target, "e").is_empty(), "a policy that sets nothing has no rivals");
        assert!(rivals(&names::deployment("other"), "d").is_empty());
        assert_eq!(targets.policies_targeting(&target).count(), 6);
        assert_eq!(targets.sharing().count(), 5);
    }

    #[test]
    fn a_new_or_removed_policy_changes_the_rivals_of_at_most_four_others() {
        let target = names::deployment("shop");
        let all = ["d", "a", "f", "c", "h", "g", "b", "e"].map(names::cron_federated_hpa);
        let mut targets = TargetTable::default();
        let rivals = |targets: &TargetTable| all.each_ref().map(|it| targets.rivals(&target, it));
        let mut change = |policy: &PolicyName, before: Option<&Identity>, now: Option<bool>| {
            let former = rivals(&targets);
            let now = now.map(|sets| (&target, sets));
            let changed = targets.set_target_of(policy, before, now);
            assert!(changed.len() <= MAX_NAMED + 1, "{changed:?}");
            for (other, (former, current)) in all.iter().zip(former.iter().zip(rivals(&targets))) {
                let is_reported = other == policy || changed.contains(other);
                assert!(is_reported || *former == current, "{other}: {former:?}, {current:?}");
            }
            changed.len()
        };
        for policy in &all {
            change(policy, None, Some(true));
            assert_eq!(change(policy, Some(&target), Some(true)), 0, "nothing has changed");
        }
        for policy in &all {
            change(policy, Some(&target), Some(false));
            change(policy, Some(&target), Some(true));
        }
        for policy in &all {
            change(policy, Some(&target), None);
        }
    }

    #[test]
    fn the_changes_of_a_missing_target_are_removed_with_its_last_policy() {
        let autoscalers = ["one", "two"].map(names::horizontal_autoscaler);
        let mut state = state(&autoscalers);
        let target = names::deployment("shop");
        state.note_replaced(&autoscalers[0], &scaled(3), Timestamp::UNIX_EPOCH);
        for (policy, left) in autoscalers.iter().zip([1, 0]) {
            state.set_target_of(policy, Some(&target), None);
            assert_eq!(state.targets.foreign(&target).len(), left);
        }
    }

    /// A cluster in which these policies have the same target.
    fn state(policies: &[PolicyName]) -> ClusterState {
        let mut state = ClusterState::default();
        for policy in policies {
            state.set_target_of(policy, None, Some(&names::deployment("shop")));
        }
        state
    }

    fn scaled(replicas: u32) -> Vec<(Action, Outcome)> {
        let target = names::deployment("shop");
        vec![(Action::SetReplicas { target, replicas }, Outcome::Done)]
    }

    #[test]
    fn an_autoscaler_replaces_the_values_of_its_rivals_as_another_field_manager_does() {
        let autoscaler = names::horizontal_autoscaler("shop");
        let mut state = state(&[names::cron_federated_hpa("shop"), autoscaler.clone()]);
        let woken = state.note_replaced(&autoscaler, &scaled(3), Timestamp::UNIX_EPOCH);
        assert!(woken.is_empty(), "no rule has just set a value");
        let by = Arc::from("HorizontalAutoscaler.autoscaling.karpenter.sh default/shop");
        let expected = ExternalChange { field: Field::Replicas, to: 3, by };
        assert_eq!(state.targets.foreign(&names::deployment("shop")), [expected]);
    }

    #[test]
    fn a_firing_and_an_autoscaler_without_rivals_replace_nothing() {
        let [rule, autoscaler] =
            [names::cron_federated_hpa("shop"), names::horizontal_autoscaler("shop")];
        for (policies, policy) in [
            (vec![rule.clone(), autoscaler.clone()], &rule),
            (vec![autoscaler.clone()], &autoscaler),
        ] {
            let mut state = state(&policies);
            state.note_replaced(policy, &scaled(3), Timestamp::UNIX_EPOCH);
            assert!(state.targets.foreign(&names::deployment("shop")).is_empty());
        }
    }
}
