//! The start of a run of units: its first instant, with the current pods. These pods already include the effects of
//! earlier turns of other policies, so the simulation does not repeat these turns.

use crate::seam::{Beginning, RunStart, Start, ViewMut};
use crate::{Family, Identity, PolicyName};

use super::gather::{all_in_force, in_force};
use super::{SchedulingSimulation, Units};

pub(super) fn begin(
    view: ViewMut<'_, Units>,
    policies: &[&Identity],
    beginning: Beginning,
) -> Start<Units> {
    let ViewMut { objects, state } = view;
    let mut begun = RunStart::default();
    if state.extra.scheduling.is_none() {
        let scheduling = SchedulingSimulation::new(
            &state.extra.pods_and_nodes,
            all_in_force(objects, state),
            beginning.from,
        );
        state.extra.scheduling = Some(Box::new(scheduling));
    }
    for policy in policies.iter().filter(|policy| in_force(objects, state, policy).is_some()) {
        let name = PolicyName::new(Family::Units, (*policy).clone());
        begun.first_turns.push((name, beginning.from));
    }
    begun
}
