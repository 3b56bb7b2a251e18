//! The inputs of a decision about scheduled capacity.

use super::{PublishedNumber, ScheduledCapacity, Schedules};
use crate::Identity;
use crate::seam::View;

/// All inputs of a decision about one schedule.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The name of the schedule, under which the number is published.
    pub identity: &'a Identity,
    /// The checked spec.
    pub policy: &'a ScheduledCapacity,
    /// The last published number.
    pub published: Option<&'a PublishedNumber>,
}

/// Gathers the inputs of a decision about the schedule of this name. Nothing must be fetched. An exempt schedule has no
/// decision, and publishes no number.
#[must_use]
pub fn gather<'a>(view: View<'a, Schedules>, schedule: &Identity) -> Option<Input<'a>> {
    let (identity, object) = view.state.policies.get_key_value(schedule)?;
    let policy = object.policy.as_deref()?;
    if view.objects.exempt.get(schedule).is_some() {
        return None;
    }
    Some(Input { identity, policy, published: object.memory.as_ref() })
}
