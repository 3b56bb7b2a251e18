//! Where a run of schedules begins: just before its first instant, so that a window that opens or closes
//! there is included. The past of a schedule does not matter.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Cause, Schedules};
use crate::seam::{Beginning, RunStart, ViewMut};
use crate::{Family, Identity, PolicyName, Reason};

pub(super) fn begin(
    view: ViewMut<'_, Schedules>,
    policies: &[&Identity],
    beginning: Beginning,
) -> RunStart<Reason<Cause>> {
    let moment_before = beginning.from.checked_sub(SignedDuration::from_nanos(1));
    let moment_before = moment_before.unwrap_or(Timestamp::MIN);
    let mut begun = RunStart::default();
    let exempt = Arc::clone(&view.objects.exempt);
    for policy in policies {
        let Some(object) = view.state.policies.get_mut(*policy) else { continue };
        object.memory = None;
        if object.policy.is_some() && exempt.of(policy).is_none() {
            let name = PolicyName::new(Family::ScheduledCapacity, (*policy).clone());
            begun.first_turns.push((name, moment_before));
        }
    }
    begun
}
