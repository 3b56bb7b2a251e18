//! The start of a run of placements: the instant at which the world was observed, if that is known. Otherwise the run
//! starts just before the first instant, so that only later changes count as changes. It starts at the first instant if
//! a score or a toleration expires at that instant. Placements that may influence each other start together. The
//! decisions are the only record of the past. A placement with an unknown selection does not start.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::logic::policy_of;
use super::{Placements, gather, why_unknown};
use crate::seam::{Beginning, RunStart, Start, View};
use crate::{Family, Identity, PolicyName};

pub(super) fn begin(
    view: View<'_, Placements>,
    policies: &[&Identity],
    beginning: Beginning,
) -> Start<Placements> {
    let from = beginning.from;
    let first = match beginning.state_at {
        Some(seen) if seen < from => seen,
        // A decision just before the first instant would replace the first decision of the run.
        _ if something_ends(view, policies, from) => from,
        _ => beginning.moment_before(),
    };
    let mut begun = RunStart::default();
    for policy in policies {
        if gather(view, policy).is_some() && why_unknown(view, policy).is_none() {
            let name = PolicyName::new(Family::Placement, (*policy).clone());
            begun.first_turns.push((name, first));
        }
    }
    begun
}

/// Whether a score or a toleration expires exactly at this instant.
fn something_ends(view: View<'_, Placements>, policies: &[&Identity], at: Timestamp) -> bool {
    let mut scores =
        view.state.extra.hub.scores.values().flat_map(|of_clusters| of_clusters.values());
    let tolerations = policies.iter().filter_map(|it| policy_of(view, it));
    let tolerations = tolerations.flat_map(|policy| &policy.tolerations);
    let tolerated: BTreeSet<i64> = tolerations.filter_map(|it| it.seconds).collect();
    let mut taints = view.state.extra.hub.clusters.values().flat_map(|cluster| &cluster.taints);
    scores.any(|it| it.valid_until == Some(at))
        || taints.any(|taint| {
            let for_so_long = taint.added.map(|added| at.duration_since(added));
            for_so_long
                .is_some_and(|it| it.subsec_nanos() == 0 && tolerated.contains(&it.as_secs()))
        })
}
