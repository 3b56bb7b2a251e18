//! Decides the level of every pod. The decision depends only on the state of the pod and the lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{
    Cause, FollowingPod, Input, LevelFormat, ListInForce, Pod, QosAnnotations, QosLevels, QosPolicy,
};
use crate::{Action, Identity, Labels, Reason, Verdict};

/// The decision about the pods that follow the lists of a `ConfigMap`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Decision {
    /// One write for each pod that lacks its desired annotations, in the order of the pods.
    pub actions: Vec<Action>,
    /// The pods whose level a policy sets, or no longer sets, in order. A pod without any change by a policy is omitted.
    pub pods: Vec<DecidedPod>,
    /// The next boundary of an enabled policy; also `None` for a decision about a single pod.
    pub wake_at: Option<Timestamp>,
}

/// A pod whose level a policy sets, or has set.
#[derive(Clone, PartialEq, Debug)]
pub struct DecidedPod {
    /// The name of the pod.
    pub pod: Identity,
    /// The policy that sets the level, with the cause; without a policy, the original level is restored.
    pub reason: Reason<Cause>,
    /// The name of the policy that sets the level.
    pub policy: Option<Arc<str>>,
    /// The instant at which the policy opened, if a different policy has set the level before; also `None` for a policy
    /// that is always open.
    pub opened: Option<Timestamp>,
    /// The desired annotations.
    pub wanted: QosAnnotations,
    /// The current annotations.
    pub found: QosAnnotations,
}

impl DecidedPod {
    /// Whether the annotations of the pod must be written.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.wanted != self.found
    }
}

/// Decides the levels at `now`.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let mut open = OpenPolicies::at(now);
    let pods: Vec<DecidedPod> =
        input.pods.iter().filter_map(|pod| decide_pod(pod, &mut open, input.format)).collect();
    let pods_to_write = pods.iter().filter(|pod| pod.is_written());
    let actions = pods_to_write.map(|it| Action::Annotate {
        pod: it.pod.clone(),
        annotations: Box::new(it.wanted.clone()),
    });
    let wake_at = if input.is_about_all { next_boundary(input.policy, now) } else { None };
    Decision { actions: actions.collect(), pods, wake_at }
}

/// The next boundary of any enabled policy.
fn next_boundary(policies: &QosLevels, now: Timestamp) -> Option<Timestamp> {
    let enabled = policies.lists().flat_map(|(_, list)| list).filter(|it| it.is_enabled);
    let boundaries = enabled.filter_map(|it| it.windows.next_transition(now));
    boundaries.map(|boundary| boundary.at).min()
}

/// The decision about one pod; `None` if the pod stays unchanged and no policy concerns it.
fn decide_pod<'a>(
    following: &FollowingPod<'a>,
    open: &mut OpenPolicies<'a>,
    format: LevelFormat,
) -> Option<DecidedPod> {
    let FollowingPod { identity, pod, list } = following;
    // The policies of an unusable list are unknown, so the pod stays unchanged.
    let ListInForce::Known(entry, policies) = *list else { return None };
    let winner = open.first(entry, policies, pod);
    if winner.is_none() && !pod.is_marked() {
        return None;
    }
    let found = pod.annotations();
    let (rule, policy, wanted, cause) = match winner {
        Some((position, policy)) => {
            let wanted = found.under(&policy.name, policy.target.written(format));
            (Some(position), Some(Arc::clone(&policy.name)), wanted, Cause::Open { entry })
        }
        None => (None, None, found.restored(), Cause::NothingOpen { entry }),
    };
    let reason = Reason { rule, verdict: Verdict::Won, cause, since: None, until: None };
    let replaces = found.policy.is_some() && found.policy != policy;
    let opened = winner.filter(|_| replaces).and_then(|(_, policy)| {
        policy.windows.previous_transition(open.now).map(|transition| transition.at)
    });
    Some(DecidedPod { pod: (*identity).clone(), reason, policy, opened, wanted, found })
}

/// The enabled and open policies of each list, in order. Each list is evaluated when the first pod follows it.
struct OpenPolicies<'a> {
    now: Timestamp,
    of_lists: BTreeMap<Option<u32>, Vec<usize>>,
    /// The first open policy for pods with these labels. Most pods share their labels with many others.
    first: BTreeMap<(Option<u32>, &'a Labels), Option<usize>>,
}

impl<'a> OpenPolicies<'a> {
    fn at(now: Timestamp) -> Self {
        OpenPolicies { now, of_lists: BTreeMap::new(), first: BTreeMap::new() }
    }

    /// The first open policy of a list that selects a pod.
    fn first(
        &mut self,
        entry: Option<u32>,
        policies: &'a [QosPolicy],
        pod: &'a Pod,
    ) -> Option<(u32, &'a QosPolicy)> {
        let now = self.now;
        let open = self.of_lists.entry(entry).or_insert_with(|| {
            let is_open = |it: &QosPolicy| it.is_enabled && it.windows.is_open(now);
            let open = policies.iter().enumerate().filter(|(_, it)| is_open(it));
            open.map(|(position, _)| position).collect()
        });
        let position = *self.first.entry((entry, &pod.labels)).or_insert_with(|| {
            let selects = |position: &&usize| {
                policies.get(**position).is_some_and(|it| it.selector.selects(&pod.labels))
            };
            open.iter().find(selects).copied()
        });
        let position = position?;
        Some((u32::try_from(position).ok()?, policies.get(position)?))
    }
}

/// The verdict on every policy of the list that a pod follows. Without a winner, also the verdict on the list itself.
#[must_use]
pub fn explain(following: &FollowingPod<'_>, now: Timestamp) -> Vec<Reason<Cause>> {
    let whole = |verdict, cause| Reason { rule: None, verdict, cause, since: None, until: None };
    let (entry, policies) = match following.list {
        ListInForce::Known(entry, policies) => (entry, policies),
        ListInForce::Unusable => return vec![whole(Verdict::Error, Cause::UnusableList)],
        ListInForce::UnknownNode => return vec![whole(Verdict::Error, Cause::UnknownNode)],
    };
    let selects = |it: &QosPolicy| it.selector.selects(&following.pod.labels);
    let counts = |it: &&QosPolicy| it.is_enabled && selects(it);
    let is_open = |it: &QosPolicy| it.windows.is_open(now);
    let winner = policies.iter().position(|it| counts(&it) && is_open(it));
    let position = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    // The policies after the winner do not matter until the winner ends.
    let deciding = &policies[..winner.map_or(policies.len(), |winner| winner + 1)];
    let deciding = || deciding.iter().filter(counts);
    let since =
        deciding().filter_map(|it| it.windows.previous_transition(now)).map(|it| it.at).max();
    let until = deciding().filter_map(|it| it.windows.next_transition(now)).map(|it| it.at).min();
    let mut reasons = Vec::new();
    if winner.is_none() {
        let cause = Cause::NothingOpen { entry };
        reasons.push(Reason { since, until, ..whole(Verdict::Won, cause) });
    }
    for (index, policy) in policies.iter().enumerate() {
        let (verdict, cause) = match winner {
            _ if !selects(policy) => (Verdict::Excluded, Cause::NotSelected { entry }),
            _ if !policy.is_enabled => (Verdict::Inactive, Cause::Disabled { entry }),
            _ if !is_open(policy) => (Verdict::Inactive, Cause::Closed { entry }),
            Some(winner) if winner != index => {
                (Verdict::Lost, Cause::ListedAfter { entry, than: position(winner) })
            }
            _ => (Verdict::Won, Cause::Open { entry }),
        };
        let changes = !matches!(cause, Cause::NotSelected { .. } | Cause::Disabled { .. });
        let windows = Some(&policy.windows).filter(|_| changes);
        let (since, until) = if verdict == Verdict::Won {
            (since, until)
        } else {
            let last = windows.and_then(|it| it.previous_transition(now)).map(|it| it.at);
            (last, windows.and_then(|it| it.next_transition(now)).map(|it| it.at))
        };
        reasons.push(Reason { rule: Some(position(index)), verdict, cause, since, until });
    }
    reasons
}
