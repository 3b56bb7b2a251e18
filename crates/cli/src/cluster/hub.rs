//! The clusters, sets, bindings and scores of placements, and their decisions. They are read only where there are
//! placements, and they are left out where it cannot be: without its clusters, every placement would seem to lose them.

use std::collections::BTreeSet;

use almanac_api::families::Descriptor;
use almanac_api::kinds::Kind;
use almanac_engine::Family;
use kube::api::DynamicObject;

use super::requests::{LookupResult, Requests};
use super::{FetchedObject, Seen};

/// Lists what the placements among the objects select from, and what all placements have selected. Leaves the
/// placements out if some of that cannot be read.
pub(super) async fn list(
    requests: &Requests,
    objects: &mut Vec<FetchedObject>,
    seen: &mut Seen,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    let mut found = Vec::new();
    if !objects.iter().any(|it| it.kind == Kind::Placement) {
        return Ok(found);
    }
    let mut missing = BTreeSet::new();
    for kind in Descriptor::for_family(Family::Placement).reads.iter().copied() {
        let is_everywhere = !kind.is_namespaced() || kind.counts_everywhere();
        let answer = requests.list_of(kind, is_everywhere).await?;
        let answer = match answer {
            LookupResult::Forbidden(_) if kind == Kind::PlacementDecision => {
                list_own_decisions(requests, seen).await?
            }
            answer => answer,
        };
        let right = kind.resource_name();
        match answer {
            LookupResult::Found(objects) => found.push((kind, objects)),
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
        return Ok(found);
    }
    objects.retain(|it| it.kind != Kind::Placement);
    let (shown, place) = (Kind::Placement.display_name(), requests.place());
    for why in missing {
        seen.unseen.insert(format!("no {shown} in {place} was read: {why}"));
    }
    Ok(Vec::new())
}

/// The decisions in the namespace of the scope, if those elsewhere may not be read.
async fn list_own_decisions(
    requests: &Requests,
    seen: &mut Seen,
) -> anyhow::Result<LookupResult<Vec<DynamicObject>>> {
    let kind = Kind::PlacementDecision;
    let answer = requests.list_of(kind, false).await?;
    if matches!(answer, LookupResult::Found(_)) {
        let (shown, right, place) = (kind.display_name(), kind.resource_name(), requests.place());
        seen.unseen.insert(format!(
            "no {shown} outside {place} was read, so how often a cluster is selected is not known: missing \
             permission to list {right} in all namespaces"
        ));
    }
    Ok(answer)
}
