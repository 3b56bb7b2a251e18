//! The start of a run of autoscalers: the current state if the status is known. Otherwise the run starts at its first
//! instant, with the recommendations of the windows before that instant. Autoscalers scaled nothing then: other field
//! managers set the replicas.

use jiff::{SignedDuration, Timestamp};

use super::decide::only_recommend;
use super::memory::before;
use super::{Autoscalers, Memory, MetricScaling, gather};
use crate::seam::{Beginning, FamilyState, RunStart, Start, View, ViewMut};
use crate::{Exempt, Family, Identity, PolicyName, Reach};

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// The maximum number of earlier instants to search for a recommendation. A schedule changes at most once a minute, and
/// a window lasts at most an hour.
const MAX_LOOKBACK: usize = 1024;

pub(super) fn begin(
    view: ViewMut<'_, Autoscalers>,
    policies: &[&Identity],
    beginning: Beginning,
) -> Start<Autoscalers> {
    let ViewMut { objects, state } = view;
    let mut start = RunStart::default();
    for identity in policies {
        let Some(object) = state.policies.get_mut(*identity) else { continue };
        let Some(policy) = &object.policy else { continue };
        if Exempt::for_policy(&objects.exempt, identity, Some(policy.target.identity())).is_some() {
            continue;
        }
        // A run assumes that a target reaches its desired replicas immediately.
        if let Some(workload) = objects.workloads.get_mut(policy.target.identity()) {
            workload.current = None;
        }
        let name = PolicyName::new(Family::MetricScaling, (*identity).clone());
        // A status contains the time of the last change, not the time at which the replicas were read.
        if let Some(seen) = objects.seen_at.filter(|seen| *seen <= beginning.from) {
            start.first_turns.push((name, seen));
            continue;
        }
        start.replayed.predates_state |= beginning.is_behind;
        let known_until = object.memory.as_ref().and_then(Memory::known_until);
        if known_until.is_some_and(|known_until| known_until > beginning.from) {
            object.memory = None;
        }
        start.arriving.push(name.clone());
        start.first_turns.push((name, beginning.from));
    }
    start
}

/// Makes an autoscaler new at an instant, without recommendations or changes.
pub(super) fn start_as_new(
    state: &mut FamilyState<Autoscalers>,
    autoscaler: &Identity,
    at: Timestamp,
) {
    if let Some(object) = state.policies.get_mut(autoscaler) {
        (object.created, object.memory) = (Some(at), None);
    }
}

/// The policy state of an autoscaler with its recommendations from before the first instant, and whether none of its
/// samples changes at that instant.
pub(super) fn arrive(
    view: View<'_, Autoscalers>,
    autoscaler: &Identity,
    from: Timestamp,
) -> Option<(Option<Memory>, bool)> {
    let object = view.state.policies.get(autoscaler)?;
    let policy = object.policy.as_deref()?;
    let created = object.created.filter(|created| *created <= from);
    let known_until = object.memory.as_ref().and_then(Memory::known_until);
    let since = created.max(known_until);
    let (memory, changes_at) = recommended_before(view, autoscaler, policy, since, from);
    Some((memory, changes_at != Some(from)))
}

/// Whether an autoscaler has queries, each with a sample at an instant.
pub(super) fn decides(view: View<'_, Autoscalers>, autoscaler: &Identity, at: Timestamp) -> bool {
    let reach = Reach::everything();
    gather(view, autoscaler, &reach, at)
        .is_some_and(|it| !it.samples.is_empty() && it.samples.iter().all(Result::is_ok))
}

/// The start of the windows before an instant.
pub(super) fn window_start(policy: &MetricScaling, until: Timestamp) -> Timestamp {
    let window = policy.up.window_seconds.max(policy.down.window_seconds);
    before(until, window).min(until.saturating_sub(NANOSECOND).unwrap_or(Timestamp::MIN))
}

/// The policy state with the recommendations of the windows before an instant, and the next instant at which time alone
/// changes a sample.
fn recommended_before(
    view: View<'_, Autoscalers>,
    autoscaler: &Identity,
    policy: &MetricScaling,
    since: Option<Timestamp>,
    until: Timestamp,
) -> (Option<Memory>, Option<Timestamp>) {
    let first = window_start(policy, until);
    let mut next = Some(since.map_or(first, |since| since.max(first)));
    let reach = Reach::everything();
    let mut memory = view.state.policies.get(autoscaler).and_then(|it| it.memory.clone());
    let mut changes_at = None;
    for _ in 0..MAX_LOOKBACK {
        let Some(at) = next.filter(|at| *at < until) else { break };
        let Some(input) = gather(view, autoscaler, &reach, at) else { break };
        memory = Some(only_recommend(&input, memory.unwrap_or_default(), at));
        next = input.samples_change_at.filter(|change| *change > at);
        changes_at = next;
    }
    (memory, changes_at)
}
