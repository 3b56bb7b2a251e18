//! Where a run of units begins: at its first instant, with the pods there are. What other policies have done before is
//! what these pods are there by, so nothing of it is poured again.

use crate::beginning::{Beginning, RunStart};
use crate::{Family, Identity, PolicyName, World};

use super::Pouring;
use super::gather::{all_in_force, in_force};

pub(super) fn begin(world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
    let mut begun = RunStart::default();
    if world.units.extra.pouring.is_none() {
        let pouring = Pouring::new(&world.units.extra.fleet, all_in_force(world), beginning.from);
        world.units.extra.pouring = Some(Box::new(pouring));
    }
    for policy in policies.iter().filter(|policy| in_force(world, policy).is_some()) {
        let name = PolicyName::new(Family::Units, (*policy).clone());
        begun.first_turns.push((name, beginning.from));
    }
    begun
}
