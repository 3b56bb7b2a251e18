//! Where a run of schedules begins: just before its first instant, so that a window that opens or closes
//! there is included. The past of a schedule does not matter.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::beginning::{Beginning, RunStart};
use crate::{Family, Identity, PolicyName, World};

pub(super) fn begin(world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
    let moment_before = beginning.from.checked_sub(SignedDuration::from_nanos(1));
    let moment_before = moment_before.unwrap_or(Timestamp::MIN);
    let mut begun = RunStart::default();
    let exempt = Arc::clone(&world.objects.exempt);
    for policy in policies {
        let Some(object) = world.scheduled_capacity.policies.get_mut(*policy) else { continue };
        object.memory = None;
        if object.policy.is_some() && exempt.of(policy).is_none() {
            let name = PolicyName::new(Family::ScheduledCapacity, (*policy).clone());
            begun.first_turns.push((name, moment_before));
        }
    }
    begun
}
