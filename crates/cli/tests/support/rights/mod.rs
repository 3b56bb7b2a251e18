//! The permissions that roles grant, and those that requests have used.

use std::collections::BTreeSet;

use almanac_harness::{AuditLog, AuditedRequest, Kubectl, OwnTest};
use anyhow::{Context as _, ensure};

use crate::reading::get;

/// A verb, an API group, and one of its resources.
pub(crate) type Right = (String, String, String);

/// The permissions of roles in the cluster, by the names that kubectl uses.
pub(crate) async fn granted(
    kubectl: &Kubectl,
    roles: &[&[&str]],
) -> anyhow::Result<BTreeSet<Right>> {
    let mut rights = BTreeSet::new();
    for role in roles {
        let role = get(kubectl, role).await?;
        for rule in role["rules"].as_array().context("a role without rules")? {
            let texts = |field: &str| -> anyhow::Result<Vec<String>> {
                Ok(serde_json::from_value(rule[field].clone())?)
            };
            for group in texts("apiGroups")? {
                for resource in texts("resources")? {
                    for verb in texts("verbs")? {
                        let is_plain = ![&group, &resource, &verb].iter().any(|it| *it == "*");
                        ensure!(is_plain, "{rule} grants more than it names");
                        rights.insert((verb, group.clone(), resource.clone()));
                    }
                }
            }
        }
    }
    Ok(rights)
}

/// The permission that a request used; `None` if every client has the permission, such as for the list of kinds.
pub(crate) fn right(request: &AuditedRequest) -> Option<Right> {
    if request.resource.is_empty() {
        return None;
    }
    let mut resource = request.resource.clone();
    if !request.subresource.is_empty() {
        resource = format!("{resource}/{}", request.subresource);
    }
    Some((request.verb.clone(), request.group.clone(), resource))
}

/// The permissions that requests used. A server-side apply that created its object used `create` as well.
pub(crate) fn used<'r>(requests: impl IntoIterator<Item = &'r AuditedRequest>) -> BTreeSet<Right> {
    let rights = requests.into_iter().filter_map(|request| {
        let is_made = request.verb == "patch" && request.code == 201;
        right(request).map(|right| (right, is_made))
    });
    let all = rights.flat_map(|(right, is_made)| {
        let created = is_made.then(|| ("create".to_owned(), right.1.clone(), right.2.clone()));
        std::iter::once(right).chain(created)
    });
    all.collect()
}

/// The requests of an account so far. Fails if the API server has refused one.
pub(crate) async fn requests_by(
    test: &OwnTest,
    is_ours: impl Fn(&AuditedRequest) -> bool,
) -> anyhow::Result<Vec<AuditedRequest>> {
    let mut requests = AuditLog::open(&test.plane)?.requests(&test.client()).await?;
    requests.retain(is_ours);
    let refused: Vec<_> = requests.iter().filter(|it| it.code == 403).collect();
    ensure!(refused.is_empty(), "refused: {refused:#?}");
    Ok(requests)
}

/// Checks that two sets of permissions are equal.
pub(crate) fn compare(used: &BTreeSet<Right>, granted: &BTreeSet<Right>) {
    let unused: Vec<_> = granted.difference(used).collect();
    assert!(unused.is_empty(), "granted and never used: {unused:#?}");
    let elsewhere: Vec<_> = used.difference(granted).collect();
    assert!(elsewhere.is_empty(), "used, though these roles do not grant it: {elsewhere:#?}");
}
