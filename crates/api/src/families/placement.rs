//! `Placement`: selections of clusters.

mod cel_words;
mod spec;

use almanac_engine::{Family, Slim};

use super::{
    Descriptor, Interpretation, Nouns, OPEN_CLUSTER_MANAGEMENT, Process, ShapeCheckedObject,
};
use crate::finding::Path;
use crate::kinds::Kind;
use crate::objects::hub_definitions;

const WHOLE: &str = "the placement";

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    reads: &[
        Kind::ManagedCluster,
        Kind::ManagedClusterSet,
        Kind::ManagedClusterSetBinding,
        Kind::AddOnPlacementScore,
        Kind::PlacementDecision,
    ],
    writes: &[Kind::PlacementDecision],
    upstream: Some(OPEN_CLUSTER_MANAGEMENT),
    process: Process::Controller { by_default: false },
    why_cluster_wide: Some(
        "placements select from clusters and sets of clusters, which are in no namespace",
    ),
    nouns: Nouns { policy: WHOLE, object: WHOLE },
    selector_field: |_, _| {
        let spec = Path::Root.key("spec");
        Some((&spec.key("predicates")).into())
    },
    ..Descriptor::plain(Family::Placement, "placement", hub_definitions, check)
};

fn check(object: &mut ShapeCheckedObject<'_>) -> Interpretation {
    let metadata = object.object["metadata"].clone();
    let unusable = spec::unusable(&object.object);
    let checked = object.check_spec(|_, spec| spec::check(&spec, &metadata));
    let policy = checked.value.filter(|_| object.is_sound()).or(unusable);
    Interpretation::new(Slim::Placement(object.kept(policy, None)), checked.findings)
}
