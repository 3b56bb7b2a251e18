//! Where a run of levels begins: just before its first instant, so that a window that opens or closes there is
//! included. What the pods say is all there is to know of the past.

use std::sync::Arc;

use super::Levels;
use crate::seam::{Beginning, RunStart, Start, ViewMut};
use crate::{Family, Identity, PolicyName};

pub(super) fn begin(
    view: ViewMut<'_, Levels>,
    policies: &[&Identity],
    beginning: Beginning,
) -> Start<Levels> {
    // Whoever has no cluster takes it that a node that is only named has no labels.
    let named: Vec<Arc<str>> =
        view.objects.pods.values().filter_map(|pod| pod.node.clone()).collect();
    for node in named {
        view.objects.nodes.entry(node).or_default();
    }
    let mut begun = RunStart::default();
    let view = view.alone();
    for policy in policies {
        if super::gather(view, policy).is_some() {
            let name = PolicyName::new(Family::QosLevels, (*policy).clone());
            begun.first_turns.push((name, beginning.moment_before()));
        }
    }
    begun
}
