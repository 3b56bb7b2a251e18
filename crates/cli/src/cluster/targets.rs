//! Determines the targets of the policies and fetches only those.

use std::collections::BTreeMap;

use almanac_api::kinds::Kind;
use almanac_engine::{Identity, Workload, World};
use futures::{StreamExt as _, stream};
use kube::api::DynamicObject;

use super::requests::{LookupResult, MAX_CONCURRENT, Requests};
use super::{ExtraObjects, FetchedObject, identity_of};

/// The maximum number of objects of a kind that are read one by one; beyond that, a list is cheaper.
const ONE_BY_ONE: usize = 20;

/// The targets, each with the API version in its reference. Only kinds without a type in Almanac need the version.
pub(super) type Targets = BTreeMap<Identity, String>;

/// The targets named by the policies among the objects. Invalid names are left out, because names become
/// parts of request paths.
pub(super) fn for_policies(objects: &[FetchedObject]) -> Targets {
    let mut world = World::default();
    for FetchedObject { checked, .. } in objects {
        if let (Some(identity), Some(slim)) = (&checked.identity, &checked.slim) {
            world.upsert(identity.clone(), slim.clone());
        }
    }
    let references = world.policies().filter_map(|policy| world.target_of(&policy));
    let targets = references.filter_map(|reference| {
        let target = reference.target.identity().clone();
        let api_version = &*reference.api_version;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let group_is_sound = group.is_empty() || is_one_segment(group);
        let is_sound = group_is_sound && is_one_segment(version) && is_one_segment(target.name());
        is_sound.then(|| (target, version.to_owned()))
    });
    targets.collect()
}

/// Whether a string is exactly one segment of a path.
fn is_one_segment(text: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    text.chars().all(is_allowed) && text.chars().any(|letter| letter != '.')
}

/// Fetches the targets, except for kinds that were already listed.
pub(super) async fn fetch(
    requests: &Requests,
    targets: Targets,
    complete: &[Kind],
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    let (known, others): (Targets, Targets) =
        targets.into_iter().partition(|(target, _)| Kind::for_object(target).is_some());
    let mut objects_by_kind = Vec::new();
    // Identities are ordered by their kinds.
    let known: Vec<Identity> = known.into_keys().collect();
    for wanted in known.chunk_by(is_of_same_kind) {
        let kind = wanted.first().and_then(Kind::for_object);
        if let Some(kind) = kind.filter(|kind| !complete.contains(kind)) {
            objects_by_kind.push((kind, fetch_known(requests, kind, wanted, extras).await?));
        }
    }
    let others: Vec<(Identity, String)> = others.into_iter().collect();
    for wanted in others.chunk_by(|(one, _), (other, _)| is_of_same_kind(one, other)) {
        fetch_scales(requests, wanted, extras).await?;
    }
    Ok(objects_by_kind)
}

fn is_of_same_kind(one: &Identity, other: &Identity) -> bool {
    (one.group(), one.kind()) == (other.group(), other.kind())
}

async fn fetch_known(
    requests: &Requests,
    kind: Kind,
    wanted: &[Identity],
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<DynamicObject>> {
    let permission = format!("get {}", kind.resource_name());
    if wanted.len() > ONE_BY_ONE {
        match requests.list(kind).await? {
            LookupResult::Found(mut objects) => {
                objects.retain(|object| wanted.contains(&identity_of(kind, object)));
                return Ok(objects);
            }
            LookupResult::Absent => return Ok(Vec::new()),
            // A user without permission to list may still be allowed to get.
            LookupResult::Forbidden(_) => {}
        }
    }
    let gets = wanted.iter().map(|target| async move {
        (target, requests.get(kind, target.namespace(), target.name()).await)
    });
    let results: Vec<_> = stream::iter(gets).buffered(MAX_CONCURRENT).collect().await;
    let mut existing = Vec::new();
    for (target, result) in results {
        match result? {
            LookupResult::Found(object) => existing.push(object),
            LookupResult::Absent => {}
            LookupResult::Forbidden(_) => {
                extras.unseen.insert(unseen(target, &permission));
            }
        }
    }
    Ok(existing)
}

/// Requests the `scale` of objects of a kind for which Almanac has no type.
async fn fetch_scales(
    requests: &Requests,
    wanted: &[(Identity, String)],
    extras: &mut ExtraObjects,
) -> anyhow::Result<()> {
    let Some((first, version)) = wanted.first() else { return Ok(()) };
    let (group, kind) = (first.group(), first.kind());
    let kind = match requests.discover(group, version, kind).await? {
        LookupResult::Found(kind) => kind,
        LookupResult::Absent => return Ok(()),
        LookupResult::Forbidden(_) => {
            let permission = format!("discover the kinds of {group}/{version}");
            let missing = wanted.iter().map(|(target, _)| unseen(target, &permission));
            extras.unseen.extend(missing);
            return Ok(());
        }
    };
    let kind = &kind;
    let gets = wanted.iter().map(|(target, _)| async move {
        (target, requests.get_replicas(kind, target.namespace(), target.name()).await)
    });
    let results: Vec<_> = stream::iter(gets).buffered(MAX_CONCURRENT).collect().await;
    for (target, result) in results {
        match result? {
            LookupResult::Found(replicas) => {
                extras.scales.insert(target.clone(), Workload { replicas, ..Workload::default() });
            }
            LookupResult::Absent => {}
            LookupResult::Forbidden(_) => {
                let scale = format!("{}/scale", kind.resource.plural);
                let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                let permission = format!("get {scale}{group}");
                extras.unseen.insert(unseen(target, &permission));
            }
        }
    }
    Ok(())
}

fn unseen(target: &Identity, permission: &str) -> String {
    format!("{target} was not read: missing permission to {permission}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_change_the_request_path_is_not_requested() {
        for sound in ["shop", "shop.v2", "argoproj.io", "v1alpha1"] {
            assert!(is_one_segment(sound), "{sound}");
        }
        for other in ["", ".", "..", "../secrets", "a/b", "shop?watch=1", "shop#", "%2e%2e", "ü"] {
            assert!(!is_one_segment(other), "{other}");
        }
    }
}
