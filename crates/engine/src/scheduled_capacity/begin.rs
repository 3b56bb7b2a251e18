//! The start of a run of schedules: just before its first instant, so that a window that opens or closes at that
//! instant is included. The past of a schedule has no effect.

use super::Schedules;
use crate::seam::{Beginning, RunStart, Start, ViewMut};
use crate::{Family, Identity, PolicyName};

pub(super) fn begin(
    view: ViewMut<'_, Schedules>,
    policies: &[&Identity],
    beginning: Beginning,
) -> Start<Schedules> {
    let ViewMut { objects, state } = view;
    let mut begun = RunStart::default();
    for policy in policies {
        let Some(object) = state.policies.get_mut(*policy) else { continue };
        object.memory = None;
        if object.policy.is_some() && objects.exempt.get(policy).is_none() {
            let name = PolicyName::new(Family::ScheduledCapacity, (*policy).clone());
            begun.first_turns.push((name, beginning.moment_before()));
        }
    }
    begun
}
