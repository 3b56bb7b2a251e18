//! Where a run of autoscalers begins: at the current state, if that is known. Otherwise early enough that
//! whatever still counts at the beginning has been recommended and scaled in the run itself.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::beginning::{Beginning, RunStart};
use crate::{Exempt, Family, Identity, PolicyName, World};

pub(super) fn begin(world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
    let exempt = Arc::clone(&world.exempt);
    let mut start = RunStart::default();
    for identity in policies {
        let Some(object) = world.metric_scalings.get_mut(*identity) else { continue };
        let Some(policy) = &object.policy else { continue };
        if Exempt::of(&exempt, identity, Some(policy.target.identity())).is_some() {
            continue;
        }
        // Whoever runs through time takes it that a target follows at once.
        if let Some(workload) = world.workloads.get_mut(policy.target.identity()) {
            workload.current = None;
        }
        let name = PolicyName::new(Family::MetricScaling, (*identity).clone());
        if let Some(at) = beginning.state_at {
            start.first_turns.push((name, at));
            continue;
        }
        object.memory = None;
        start.replayed.predates_state |= beginning.is_behind;
        let rules = [&policy.up, &policy.down];
        let windows = rules.iter().map(|rules| rules.window_seconds).max().unwrap_or_default();
        let periods = rules.iter().filter_map(|rules| rules.longest_period()).max();
        let seconds = i64::from(windows) + i64::from(periods.unwrap_or_default());
        let earlier = SignedDuration::new(seconds, 1);
        let first = beginning.from.checked_sub(earlier).unwrap_or(Timestamp::MIN);
        start.first_turns.push((name, first));
    }
    start
}
