//! Where a run of units begins: at its first instant, with the pods there are. What other policies have done before is
//! what these pods are there by, so nothing of it is poured again.

use crate::seam::{Beginning, RunStart, ViewMut};
use crate::{Family, Identity, PolicyName, Reason};

use super::gather::{all_in_force, in_force};
use super::{Cause, Pouring, Units};

pub(super) fn begin(
    view: ViewMut<'_, Units>,
    policies: &[&Identity],
    beginning: Beginning,
) -> RunStart<Reason<Cause>> {
    let mut begun = RunStart::default();
    if view.state.extra.pouring.is_none() {
        let pouring = Pouring::new(
            &view.state.extra.fleet,
            all_in_force(view.objects, view.state),
            beginning.from,
        );
        view.state.extra.pouring = Some(Box::new(pouring));
    }
    for policy in
        policies.iter().filter(|policy| in_force(view.objects, view.state, policy).is_some())
    {
        let name = PolicyName::new(Family::Units, (*policy).clone());
        begun.first_turns.push((name, beginning.from));
    }
    begun
}
