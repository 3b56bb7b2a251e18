//! The start of a run of levels: just before its first instant, so that a window that opens or closes there is
//! included. The annotations of the pods are the only source for the past.

use std::sync::Arc;

use super::Levels;
use crate::seam::{Beginning, RunStart, Start, ViewMut};
use crate::{Family, Identity, PolicyName};

pub(super) fn begin(
    view: ViewMut<'_, Levels>,
    policies: &[&Identity],
    beginning: Beginning,
) -> Start<Levels> {
    // Without a cluster, a node of which only the name is known is assumed to have no labels.
    let node_names: Vec<Arc<str>> =
        view.objects.pods.values().filter_map(|pod| pod.node.clone()).collect();
    for node in node_names {
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
