//! The kinds we ask for by name, and what the API server calls them.

use almanac_engine::Identity;
use kube::api::{ApiResource, DynamicObject};

/// A kind that is known beforehand.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct KnownKind {
    pub(super) group: &'static str,
    version: &'static str,
    pub(super) kind: &'static str,
    plural: &'static str,
}

const KARPENTER: &str = "autoscaling.karpenter.sh";
const KARMADA: &str = "autoscaling.karmada.io";

const fn kind(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> KnownKind {
    KnownKind { group, version, kind, plural }
}

/// What is forecast.
pub(super) const POLICIES: &[KnownKind] = &[
    kind(KARMADA, "v1alpha1", "CronFederatedHPA", "cronfederatedhpas"),
    kind(KARPENTER, "v1alpha1", "MetricsProducer", "metricsproducers"),
];

/// What else writes the targets of policies, and so has to be known as a whole.
pub(super) const AUTOSCALERS: &[KnownKind] = &[
    kind(KARMADA, "v1alpha1", "FederatedHPA", "federatedhpas"),
    kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    kind(KARPENTER, "v1alpha1", "HorizontalAutoscaler", "horizontalautoscalers"),
];

/// What policies act on. Of these only what a policy names is of interest.
const TARGETS: &[KnownKind] = &[
    kind("apps", "v1", "Deployment", "deployments"),
    kind("apps", "v1", "StatefulSet", "statefulsets"),
    kind("apps", "v1", "ReplicaSet", "replicasets"),
    kind("", "v1", "ReplicationController", "replicationcontrollers"),
    kind(KARPENTER, "v1alpha1", "ScalableNodeGroup", "scalablenodegroups"),
];

impl KnownKind {
    /// The kind of a target, whatever version it is named in.
    pub(super) fn of_target(target: &Identity) -> Option<&'static KnownKind> {
        let fits = |kind: &&KnownKind| kind.group == target.group() && kind.kind == target.kind();
        TARGETS.iter().chain(AUTOSCALERS).find(fits)
    }

    /// `apps/v1`, or `v1` for the core group.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `deployments.apps`: what a role has to name, as far as one string can say it.
    pub(super) fn resource_name(&self) -> String {
        qualified(self.plural, self.group)
    }

    /// `Deployment.apps`, as objects are called in messages.
    pub(super) fn shown(&self) -> String {
        qualified(self.kind, self.group)
    }

    pub(super) fn plural(&self) -> &'static str {
        self.plural
    }

    pub(super) fn resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    pub(super) fn identity_of(&self, object: &DynamicObject) -> Identity {
        let (namespace, name) = (&object.metadata.namespace, &object.metadata.name);
        let namespace = namespace.as_deref().unwrap_or_default();
        Identity::new(self.group, self.kind, namespace, name.as_deref().unwrap_or_default())
    }
}

/// A name and its group, joined as Kubernetes joins them.
pub(super) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}
