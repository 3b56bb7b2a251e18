//! The inputs of a decision about scheduled capacity.

use super::{Published, ScheduledCapacity};
use crate::{Identity, World};

/// All inputs of a decision about one schedule.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The schedule's own name, under which it publishes.
    pub identity: &'a Identity,
    /// What it says.
    pub policy: &'a ScheduledCapacity,
    /// What it published last.
    pub published: Option<&'a Published>,
}

/// Gathers the inputs of a decision about the schedule of this name. Nothing has to be fetched. There is
/// no decision about one that is exempt: no number is published.
#[must_use]
pub fn gather<'a>(world: &'a World, schedule: &Identity) -> Option<Input<'a>> {
    let (identity, object) = world.scheduled_capacity.policies.get_key_value(schedule)?;
    let policy = object.policy.as_deref()?;
    if world.objects.exempt.of(schedule).is_some() {
        return None;
    }
    Some(Input { identity, policy, published: object.memory.as_ref() })
}
