//! Requirements on any decision about the levels of pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::qos_levels::{
    DecidedPod, Decision, FollowingPod, Input, ListInForce, QosAnnotations, QosPolicy,
};
use almanac_engine::{Action, Identity};
use jiff::Timestamp;

use crate::Violations;

/// Checks the decision for the pods that follow a `ConfigMap` at `now`.
#[must_use]
pub fn check_qos_levels(input: &Input<'_>, now: Timestamp, decision: &Decision) -> Violations {
    let mut violations = Violations::default();
    let decided: BTreeMap<&Identity, &DecidedPod> =
        decision.pods.iter().map(|pod| (&pod.pod, pod)).collect();
    violations.unless(decided.len() == decision.pods.len(), || "a pod is decided twice".to_owned());
    let known: Vec<&Identity> = input.pods.iter().map(|pod| pod.identity).collect();
    for pod in decided.keys().filter(|pod| known.binary_search(pod).is_err()) {
        violations.unless(false, || format!("{pod} is decided, but not there to be changed"));
    }
    for following in &input.pods {
        let decided = decided.get(following.identity).copied();
        check_pod(&mut violations, input, following, now, decided);
    }
    check_actions(&mut violations, decision);
    check_waking(&mut violations, input, now, decision);
    violations
}

/// The policies of a list that are in force for a pod, in their order.
fn in_force<'a>(
    policies: &'a [QosPolicy],
    following: &FollowingPod<'_>,
    now: Timestamp,
) -> Vec<&'a QosPolicy> {
    let mut found = Vec::new();
    for policy in policies {
        if policy.is_enabled
            && policy.windows.is_open(now)
            && policy.selector.selects(&following.pod.labels)
        {
            found.push(policy);
        }
    }
    found
}

fn check_pod(
    violations: &mut Violations,
    input: &Input<'_>,
    following: &FollowingPod<'_>,
    now: Timestamp,
    decided: Option<&DecidedPod>,
) {
    let pod = following.identity;
    let found = following.pod.annotations();
    let ListInForce::Known(_, policies) = following.list else {
        violations
            .unless(decided.is_none(), || format!("{pod} is decided, though its list is unknown"));
        return;
    };
    let in_force = in_force(policies, following, now);
    let is_marked = found.original.is_some() || found.policy.is_some() || found.applied.is_some();
    let Some(decided) = decided else {
        violations.unless(in_force.is_empty(), || {
            format!("{pod} is left out, though {} is in force for it", in_force[0].name)
        });
        violations.unless(!is_marked, || format!("{pod} is left as a policy has made it"));
        return;
    };
    let annotations = &decided.wanted;
    violations.unless(decided.found == found, || format!("{pod} is taken for another"));
    let original_text = original_level(&found);
    let Some(name) = &decided.policy else {
        violations.unless(in_force.is_empty(), || {
            format!("{pod} is restored, though {} is in force for it", in_force[0].name)
        });
        let level = Some(Arc::from(&*original_text)).filter(|it: &Arc<str>| !it.is_empty());
        let restored = QosAnnotations { level, ..QosAnnotations::default() };
        violations.unless(*annotations == restored, || {
            format!("{pod} should be {restored:?}, and becomes {annotations:?}")
        });
        return;
    };
    violations.unless(in_force.first().is_some_and(|it| it.name == *name), || {
        format!("{name} sets the level of {pod}, but is not the first in force")
    });
    let target = in_force.first().map(|it| it.target.written(input.format));
    violations.unless(target.as_ref() == Some(&annotations.level), || {
        format!("{pod} gets {:?}, and {name} sets {target:?}", annotations.level)
    });
    violations.unless(annotations.original.as_deref() == Some(&*original_text), || {
        format!("{original_text:?} is what the user of {pod} wants, not {:?}", annotations.original)
    });
    violations.unless(annotations.policy.as_ref() == Some(name), || {
        format!("{pod} does not say that {name} sets its level")
    });
    let applied = annotations.applied.as_deref();
    violations.unless(applied == Some(annotations.level.as_deref().unwrap_or_default()), || {
        format!("{pod} does not say what it was set to")
    });
}

/// The original level of a pod, empty for none: the current level, unless that is the applied level.
fn original_level(found: &QosAnnotations) -> String {
    let text = |it: &Option<Arc<str>>| it.as_deref().unwrap_or_default().to_owned();
    let is_ours = match (&found.applied, &found.original) {
        (Some(_), _) => text(&found.level) == text(&found.applied),
        (None, original) => original.is_some(),
    };
    if is_ours { text(&found.original) } else { text(&found.level) }
}

fn check_actions(violations: &mut Violations, decision: &Decision) {
    let changed = decision.pods.iter().filter(|pod| pod.wanted != pod.found);
    let due = changed.map(|it| Action::Annotate {
        pod: it.pod.clone(),
        annotations: Box::new(it.wanted.clone()),
    });
    let due: Vec<Action> = due.collect();
    violations.unless(decision.actions == due, || {
        format!("does {:?} instead of {due:?}", decision.actions)
    });
}

fn check_waking(
    violations: &mut Violations,
    input: &Input<'_>,
    now: Timestamp,
    decision: &Decision,
) {
    let policies = || input.policy.lists().flat_map(|(_, list)| list).filter(|it| it.is_enabled);
    for next in policies().filter_map(|it| it.windows.next_transition(now)) {
        violations.unless(decision.wake_at.is_some_and(|wake_at| wake_at <= next.at), || {
            format!("would sleep past {}, a boundary", next.at)
        });
    }
    if let Some(wake_at) = decision.wake_at {
        violations.unless(wake_at > now, || format!("wakes at {wake_at}, which is over at {now}"));
        let is_boundary = policies().any(|it| {
            it.windows.previous_transition(wake_at).is_some_and(|change| change.at == wake_at)
        });
        violations.unless(is_boundary, || format!("wakes at {wake_at}, which is no boundary"));
    }
}
