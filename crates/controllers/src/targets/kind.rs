//! A target kind: its name in the cluster, and how it can be scaled.

use std::time::Duration;

use almanac_api::status::TargetProblem;
use almanac_engine::{Identity, Target, TargetReference};
use almanac_shell::writer::summarize;
use kube::Client;
use kube::core::{ApiResource, GroupVersion};
use kube::discovery;

use super::TargetError;
use super::followed::Following;
use super::lanes::RequestPermit;

/// The result of discovery for a kind.
pub(super) struct DiscoveredKind {
    pub(super) resource: ApiResource,
    pub(super) is_cluster_scoped: bool,
}

/// A kind of targets.
pub(super) struct Kind {
    resource: ApiResource,
    pub(super) is_cluster_scoped: bool,
    /// The states of its watches; none if its objects are read on demand.
    followings: Vec<Following>,
}

impl Kind {
    pub(super) fn new(resolved: DiscoveredKind, followings: Vec<Following>) -> Self {
        let DiscoveredKind { resource, is_cluster_scoped } = resolved;
        Self { resource, is_cluster_scoped, followings }
    }

    /// The state of the watch that covers a target; `None` if the target is read on demand.
    pub(super) fn following(&self, target: &Identity) -> Option<&Following> {
        self.followings.iter().find(|following| following.covers(target))
    }

    /// Whether its objects are watched.
    pub(super) fn is_followed(&self) -> bool {
        !self.followings.is_empty()
    }

    /// The path of the collection a target is in.
    pub(super) fn collection(&self, target: &Identity) -> String {
        let ApiResource { group, version, plural, .. } = &self.resource;
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        if self.is_cluster_scoped {
            format!("{root}/{plural}")
        } else {
            format!("{root}/namespaces/{}/{plural}", target.namespace())
        }
    }
}

/// The time limit of a response; other turns of the kind wait for it, too.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Discovers a kind that can be scaled, in the version that the user has written. Needs a permit in the kind's lane.
pub(super) async fn resolve(
    client: &Client,
    reference: &TargetReference,
    permit: &RequestPermit<'_>,
) -> Result<DiscoveredKind, TargetError> {
    let TargetReference { target, api_version } = reference;
    let identity = target.identity();
    let version = api_version.rsplit_once('/').map_or(&**api_version, |(_, version)| version);
    let group_version = GroupVersion::gv(identity.group(), version);
    let unknown = || TargetError::Problem(TargetProblem::UnknownKind);
    let api = group_version.api_version();
    let request = discovery::pinned_group(client, &group_version);
    let response = tokio::time::timeout(REQUEST_TIMEOUT, request).await;
    permit.note(response.is_ok());
    let group = match response {
        Ok(Ok(group)) => group,
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => return Err(unknown()),
        Ok(Err(kube::Error::Discovery(_))) => return Err(unknown()),
        Ok(Err(error)) => {
            return Err(TargetError::Transient(format!(
                "failed to discover {api}: {}",
                summarize(&error)
            )));
        }
        Err(_) => {
            let seconds = REQUEST_TIMEOUT.as_secs();
            return Err(TargetError::Transient(format!(
                "failed to discover {api}: no response within {seconds} s"
            )));
        }
    };
    let resources = group.versioned_resources(version);
    let resource = resources.into_iter().find(|(resource, _)| resource.kind == identity.kind());
    let (resource, capabilities) = resource.ok_or_else(unknown)?;
    let has_scale = || capabilities.subresources.iter().any(|(sub, _)| sub.plural == "scale");
    // An autoscaler has bounds.
    if !matches!(target, Target::Autoscaler(_)) && !has_scale() {
        return Err(TargetError::Problem(TargetProblem::NotScalable));
    }
    let is_cluster_scoped = capabilities.scope == discovery::Scope::Cluster;
    Ok(DiscoveredKind { resource, is_cluster_scoped })
}
