//! Where a run of levels begins: just before its first instant, so that a window that opens or closes there is
//! included. What the pods say is all there is to know of the past.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Cause, Levels};
use crate::seam::{Beginning, RunStart, ViewMut};
use crate::{Family, Identity, PolicyName, Reason};

pub(super) fn begin(
    view: ViewMut<'_, Levels>,
    policies: &[&Identity],
    beginning: Beginning,
) -> RunStart<Reason<Cause>> {
    // Whoever has no cluster takes it that a node that is only named has no labels.
    let named: Vec<Arc<str>> =
        view.objects.pods.values().filter_map(|pod| pod.node.clone()).collect();
    for node in named {
        view.objects.nodes.entry(node).or_default();
    }
    let moment_before = beginning.from.checked_sub(SignedDuration::from_nanos(1));
    let moment_before = moment_before.unwrap_or(Timestamp::MIN);
    let mut begun = RunStart::default();
    for policy in policies {
        if super::gather(view.alone(), policy).is_some() {
            let name = PolicyName::new(Family::QosLevels, (*policy).clone());
            begun.first_turns.push((name, moment_before));
        }
    }
    begun
}
