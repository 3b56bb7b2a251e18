//! Policies that set a field of the same target: their names, and the values of one that another one replaces.
//!
//! The names depend on the specs only. So a status changes when a rival appears or disappears, and not with each value.

use almanac_api::status::conditions::{ConditionState, ConditionType};
use almanac_engine::{Action, Field, Outcome, PolicyName};
use jiff::Timestamp;

use super::ClusterState;

/// How many rivals a condition names; the others are counted.
const MAX_NAMED: usize = 3;

impl ClusterState {
    /// The other policies that set a field of the target of a policy, in order; empty for a policy that sets nothing.
    pub(crate) fn rivals(&self, policy: &PolicyName) -> Vec<PolicyName> {
        let sets = |it: &PolicyName| !self.world.footprint(it).writes.is_empty();
        let reference = self.world.target_of(policy);
        let target = reference.as_ref().map(|it| it.target.identity());
        let all = target.map_or(&[][..], |target| self.targets.policies_targeting(target));
        if all.len() < 2 || !sets(policy) {
            return Vec::new();
        }
        let mut rivals: Vec<PolicyName> =
            all.iter().filter(|it| *it != policy && sets(it)).cloned().collect();
        rivals.sort();
        rivals
    }

    /// Records the values that a policy has set, if it sets them again after each change. They replace the values of
    /// its rivals, as those of another field manager do. Returns the rivals that need a turn because of that.
    pub(crate) fn note_replaced(
        &mut self,
        policy: &PolicyName,
        done: &[(Action, Outcome)],
        now: Timestamp,
    ) -> Vec<PolicyName> {
        let mut woken = Vec::new();
        let written = done.iter().filter(|(_, outcome)| *outcome == Outcome::Done);
        for (action, _) in written.filter(|_| policy.family.writes_again()) {
            let target = action.target();
            let rivals = self.targets.policies_targeting(target).iter().filter(|it| *it != policy);
            let rivals: Vec<PolicyName> = rivals.cloned().collect();
            if rivals.is_empty() {
                continue;
            }
            for change in numbers_set_by(action) {
                self.targets.note_field_change(target, change, Some(&policy.to_string()));
            }
            // A policy that sets its own value again detects that in its next turn.
            let reports = |it: &PolicyName| {
                !it.family.writes_again() && self.world.reacts_to_changes(it, now)
            };
            woken.extend(rivals.into_iter().filter(reports));
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
    let named: Vec<String> = rivals.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let named = named.join(", ");
    let more = match rivals.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = &ready.message;
    ready.message = format!(
        "{message}; the target is also set by {named}{more}: set the target with only one policy"
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use almanac_api::status::conditions::ConditionReason;
    use almanac_engine::other_writer::ExternalChange;
    use almanac_fixtures::names;

    use super::*;

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
    fn a_condition_names_three_rivals_and_counts_the_others() {
        let producer =
            |name: &str| format!("MetricsProducer.autoscaling.karpenter.sh default/{name}");
        let [a, b, c] = ["a", "b", "c"].map(producer);
        let said = |rivals: &str| {
            format!(
                "nothing needs attention; the target is also set by {rivals}: set the target with only one policy"
            )
        };
        assert_eq!(named(0), "nothing needs attention");
        assert_eq!(named(1), said(&a));
        assert_eq!(named(5), said(&format!("{a}, {b}, {c} and 2 more")));
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
