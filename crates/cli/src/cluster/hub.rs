//! The clusters, sets, bindings and scores of placements, and their decisions. These objects are read only for a
//! cluster with placements. If one of these kinds cannot be read, the placements are left out: without its clusters,
//! a placement would appear to lose them.

use std::collections::BTreeSet;

use almanac_api::families::Descriptor;
use almanac_api::kinds::Kind;
use almanac_engine::Family;
use kube::api::DynamicObject;

use super::requests::{LookupResult, Requests};
use super::{ExtraObjects, FetchedObject};

/// Lists the candidates of the placements among the objects, and the decisions of all placements. Removes the
/// placements if any of these objects cannot be read.
pub(super) async fn list(
    requests: &Requests,
    objects: &mut Vec<FetchedObject>,
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    let mut objects_by_kind = Vec::new();
    if !objects.iter().any(|it| it.kind == Kind::Placement) {
        return Ok(objects_by_kind);
    }
    let mut missing = BTreeSet::new();
    for kind in Descriptor::for_family(Family::Placement).reads.iter().copied() {
        let is_everywhere = !kind.is_namespaced() || kind.counts_everywhere();
        let result = requests.list_of(kind, is_everywhere).await?;
        let result = match result {
            LookupResult::Forbidden(_) if kind == Kind::PlacementDecision => {
                list_own_decisions(requests, extras).await?
            }
            result => result,
        };
        let right = kind.resource_name();
        match result {
            LookupResult::Found(objects) => objects_by_kind.push((kind, objects)),
            LookupResult::Absent => {
                missing.insert(format!("the cluster does not serve {right}"));
            }
            LookupResult::Forbidden(_) => {
                let place =
                    if is_everywhere { String::new() } else { format!(" in {}", requests.place()) };
                missing.insert(format!("missing permission to list {right}{place}"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(objects_by_kind);
    }
    objects.retain(|it| it.kind != Kind::Placement);
    let (shown, place) = (Kind::Placement.display_name(), requests.place());
    for why in missing {
        extras.unseen.insert(format!("no {shown} in {place} was read: {why}"));
    }
    Ok(Vec::new())
}

/// The decisions in the namespace of the scope, for a user without permission in other namespaces.
async fn list_own_decisions(
    requests: &Requests,
    extras: &mut ExtraObjects,
) -> anyhow::Result<LookupResult<Vec<DynamicObject>>> {
    let kind = Kind::PlacementDecision;
    let result = requests.list_of(kind, false).await?;
    if matches!(result, LookupResult::Found(_)) {
        let (shown, right, place) = (kind.display_name(), kind.resource_name(), requests.place());
        extras.unseen.insert(format!(
            "no {shown} outside {place} was read, so how often a cluster is selected is unknown: missing \
             permission to list {right} in all namespaces"
        ));
    }
    Ok(result)
}
