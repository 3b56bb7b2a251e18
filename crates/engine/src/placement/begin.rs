//! Where a run of placements begins: when the world was as it is, if that is known, or just before the first instant,
//! so that a score or a toleration that ends there is included. What the decisions say is all there is to know of
//! the past.

use jiff::{SignedDuration, Timestamp};

use crate::beginning::{Beginning, RunStart};
use crate::{Family, Identity, PolicyName, World};

pub(super) fn begin(world: &World, policies: &[&Identity], beginning: Beginning) -> RunStart {
    let moment_before = beginning.from.checked_sub(SignedDuration::from_nanos(1));
    let moment_before = moment_before.unwrap_or(Timestamp::MIN);
    let first = beginning.state_at.map_or(moment_before, |seen| seen.min(moment_before));
    let mut begun = RunStart::default();
    for policy in policies {
        if super::gather(world, policy).is_some() {
            let name = PolicyName::new(Family::Placement, (*policy).clone());
            begun.first_turns.push((name, first));
        }
    }
    begun
}
