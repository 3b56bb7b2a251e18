//! Looks up the kind of an `apiVersion` and a `kind`, and recognizes misspelled kinds.

use super::names::nearest_within;
use super::{Kind, built_in};

/// The spelling of the group `apps` in published examples.
pub(crate) const APPS_MISTYPED: &str = "app/v1";

/// The maximum number of differing letters of a mistyped kind. A kind with more differences is another kind: an API
/// group of policies has kinds that Almanac does not support, such as `BackupSchedule` next to `Placement`.
pub(super) const MAX_SLIPS: usize = 2;

/// The result of looking up an `apiVersion` and a `kind` in the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Recognition {
    /// A kind that Almanac reads.
    Supported(Kind),
    /// A kind that Almanac does not read, and not a misspelled one.
    Other,
    /// A misspelled kind or version: the wrong field, and its intended value.
    Mistyped {
        /// The wrong field: `apiVersion` or `kind`.
        field: &'static str,
        /// The intended value of the field.
        meant: String,
    },
}

/// Splits `apps/v1` into group and version; the core group is `""`.
#[must_use]
pub fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}

/// Whether an API group contains kinds of policies, and perhaps further kinds. The core group is excluded, although it
/// has the `ConfigMaps` of the agent.
pub(crate) fn is_group_of_ours(group: &str) -> bool {
    !group.is_empty() && Kind::ALL.iter().any(|it| it.group() == group && it.is_policy())
}

/// Whether an API group belongs to Kubernetes itself. All kinds of these groups are known.
pub(crate) fn is_group_of_kubernetes(group: &str) -> bool {
    let is_of_table = Kind::ALL.iter().any(|it| it.group() == group) && !is_group_of_ours(group);
    is_of_table || group == "batch"
}

/// Looks up the kind of an `apiVersion` and a `kind`.
pub(crate) fn recognize(api_version: &str, kind: &str) -> Recognition {
    let (group, version) = group_and_version(api_version);
    if let Some(known) = Kind::find(group, kind) {
        return if known.versions().contains(&version) {
            Recognition::Supported(known)
        } else {
            Recognition::Mistyped { field: "apiVersion", meant: known.api_version() }
        };
    }
    if let Some(meant) = near_kind(group, kind).or_else(|| built_in::near_kind(group, kind)) {
        return Recognition::Mistyped { field: "kind", meant: meant.to_owned() };
    }
    if let Some(known) = Kind::written(kind)
        && (is_group_of_ours(known.group()) || api_version == APPS_MISTYPED || group.is_empty())
    {
        return Recognition::Mistyped { field: "apiVersion", meant: known.api_version() };
    }
    Recognition::Other
}

/// The kind in a group of policies that was probably meant by a misspelled kind.
pub(crate) fn near_kind(group: &str, kind: &str) -> Option<&'static str> {
    let of_group = Kind::ALL.iter().filter(|it| it.group() == group && is_group_of_ours(group));
    nearest_within(kind, of_group.map(|it| it.name()), |_| MAX_SLIPS)
}

/// Whether an `apiVersion` and a `kind` are those of a kind in a group of policies, or similar. One of the two may be
/// empty.
pub(crate) fn is_nearly_ours(api_version: &str, kind: &str) -> bool {
    let (group, _) = group_and_version(api_version);
    let is_written = Kind::written(kind).is_some_and(|it| is_group_of_ours(it.group()));
    let is_of_group = is_group_of_ours(group) && kind.is_empty();
    is_written || is_of_group || near_kind(group, kind).is_some()
}

/// An API version that Kubernetes has removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RemovedVersion {
    /// The release of Kubernetes that removed it.
    pub(crate) release: &'static str,
    /// The `apiVersion` that replaces it.
    pub(crate) now: &'static str,
    /// An additional requirement of the new version, if any.
    pub(crate) needs: Option<&'static str>,
}

impl RemovedVersion {
    /// The problem, and the version to write.
    pub(crate) fn message(self, kind: &str) -> String {
        let RemovedVersion { release, now, .. } = self;
        format!("Kubernetes {release} removed this version of {kind}; write {now}")
    }
}

/// A removed version, the kinds, and the requirement that only the later version has.
const NEEDS: [(&str, &[&str], &str); 3] = [
    ("apps/v1beta1", &["Deployment", "StatefulSet"], SELECTOR),
    ("extensions/v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], SELECTOR),
    (
        "autoscaling/v2beta1",
        &["HorizontalPodAutoscaler"],
        "a target in each metric, in place of targetAverageUtilization and the like",
    ),
];

/// The removed versions have a default for this field.
const SELECTOR: &str = "spec.selector, which is required there";

/// A removed API version, its kinds, the release that removed it, and the new version.
type Removal = (&'static str, &'static [&'static str], &'static str, &'static str);

/// The removed versions of the kinds that policies, their targets and their pods depend on.
const REMOVED: [Removal; 9] = [
    ("apps/v1beta1", &["Deployment", "StatefulSet"], "1.16", "apps/v1"),
    ("apps/v1beta2", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"], "1.16", "apps/v1"),
    ("extensions/v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], "1.16", "apps/v1"),
    ("batch/v2alpha1", &["CronJob"], "1.21", "batch/v1"),
    ("batch/v1beta1", &["CronJob"], "1.25", "batch/v1"),
    ("autoscaling/v2beta1", &["HorizontalPodAutoscaler"], "1.25", "autoscaling/v2"),
    ("autoscaling/v2beta2", &["HorizontalPodAutoscaler"], "1.26", "autoscaling/v2"),
    ("policy/v1beta1", &["PodDisruptionBudget"], "1.25", "policy/v1"),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"], "1.22", "scheduling.k8s.io/v1"),
];

/// The removal of an API version of a kind; `None` if Kubernetes has not removed the version.
pub(crate) fn removed_version(api_version: &str, kind: &str) -> Option<RemovedVersion> {
    let is_meant =
        |(version, kinds, ..): &&Removal| *version == api_version && kinds.contains(&kind);
    let (_, _, release, now) = *REMOVED.iter().find(is_meant)?;
    let needs =
        NEEDS.iter().find(|(version, kinds, _)| *version == api_version && kinds.contains(&kind));
    let needs = needs.map(|(.., needs)| *needs);
    Some(RemovedVersion { release, now, needs })
}

impl Kind {
    /// The kind with this name, in any group.
    pub(crate) fn written(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|it| it.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistyped(field: &'static str, meant: &str) -> Recognition {
        Recognition::Mistyped { field, meant: meant.to_owned() }
    }

    #[test]
    fn kinds_are_recognized_by_group_version_and_name() {
        for kind in Kind::ALL {
            assert_eq!(recognize(&kind.api_version(), kind.name()), Recognition::Supported(*kind));
        }
        let older = recognize("autoscaling/v1", "HorizontalPodAutoscaler");
        assert_eq!(older, Recognition::Supported(Kind::HorizontalPodAutoscaler));
        assert_eq!(recognize("batch/v1", "CronJob"), Recognition::Other);
        assert_eq!(recognize("v1", "Secret"), Recognition::Other);
        assert_eq!(recognize("extensions/v1beta1", "Deployment"), Recognition::Other);
        assert_eq!(recognize("apps/v1", "ReplicationController"), Recognition::Other);
        assert_eq!(recognize("apps/v1", "ControllerRevision"), Recognition::Other);
    }

    #[test]
    fn a_near_miss_of_our_kinds_is_distinguished_from_other_kinds() {
        assert_eq!(
            recognize("autoscaling.karmada.io/v1", "CronFederatedHPA"),
            mistyped("apiVersion", "autoscaling.karmada.io/v1alpha1")
        );
        assert_eq!(
            recognize("autoscaling.karmada.io/v1alpha1", "CronFederatedHpa"),
            mistyped("kind", "CronFederatedHPA")
        );
        assert_eq!(
            recognize("autoscaling.karmada.com/v1alpha1", "FederatedHPA"),
            mistyped("apiVersion", "autoscaling.karmada.io/v1alpha1")
        );
        assert_eq!(recognize("apps/v1", "Deploymnt"), mistyped("kind", "Deployment"));
        assert!(!is_nearly_ours("apps/v1", "Deploymnt"));
        assert_eq!(recognize("app/v1", "Deployment"), mistyped("apiVersion", "apps/v1"));
        assert_eq!(recognize("v1", "Deployment"), mistyped("apiVersion", "apps/v1"));
        assert_eq!(
            recognize("autoscaling.karmada.io/v1alpha1", "MetricsProducer"),
            mistyped("apiVersion", "autoscaling.karpenter.sh/v1alpha1")
        );
    }

    #[test]
    fn an_unknown_kind_of_a_group_with_known_kinds_is_another_kind() {
        let hub = "cluster.open-cluster-management.io/v1beta1";
        for (api_version, kind) in [
            (hub, "BackupSchedule"),
            (hub, "Restore"),
            (hub, "ClusterCurator"),
            (hub, "ClusterClaim"),
            (hub, "ManagedClusterView"),
            (hub, "PlacementRule"),
            ("scheduling.sigs.x-k8s.io/v1alpha1", "PodGroup"),
            ("scheduling.sigs.x-k8s.io/v1alpha1", "ElasticQuota"),
            ("autoscaling.karpenter.sh/v1alpha1", "HorizontalPodAutoscaler"),
            ("autoscaling.karmada.io/v1alpha1", "Deployment"),
            ("autoscaling.karmada.io/v1alpha1", "Gadget"),
        ] {
            assert_eq!(recognize(api_version, kind), Recognition::Other, "{kind}");
            assert!(!is_nearly_ours(api_version, kind), "{kind}");
        }
        for (api_version, kind, meant) in [
            (hub, "Placment", "Placement"),
            (hub, "placementdecisions", "PlacementDecision"),
            (hub, "AddonPlacementScore", "AddOnPlacementScore"),
            (hub, "ManagedClusterSets", "ManagedClusterSet"),
            ("autoscaling.karpenter.sh/v2", "MetricProducer", "MetricsProducer"),
            ("scheduling.sigs.x-k8s.io/v1alpha1", "ResourcesPolicy", "ResourcePolicy"),
        ] {
            assert_eq!(recognize(api_version, kind), mistyped("kind", meant));
            assert!(is_nearly_ours(api_version, kind), "{kind}");
        }
        assert!(is_nearly_ours(hub, "") && is_nearly_ours("", "Placement"));
        assert!(!is_nearly_ours("", "") && !is_nearly_ours("apps/v1", "Deployment"));
    }

    #[test]
    fn a_removed_version_is_known_with_its_replacement() {
        for (api_version, kind, release, now) in [
            ("batch/v1beta1", "CronJob", "1.25", "batch/v1"),
            ("autoscaling/v2beta1", "HorizontalPodAutoscaler", "1.25", "autoscaling/v2"),
            ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26", "autoscaling/v2"),
            ("apps/v1beta1", "StatefulSet", "1.16", "apps/v1"),
            ("apps/v1beta2", "ReplicaSet", "1.16", "apps/v1"),
            ("extensions/v1beta1", "Deployment", "1.16", "apps/v1"),
            ("policy/v1beta1", "PodDisruptionBudget", "1.25", "policy/v1"),
            ("scheduling.k8s.io/v1beta1", "PriorityClass", "1.22", "scheduling.k8s.io/v1"),
        ] {
            let removed = removed_version(api_version, kind).map(|it| (it.release, it.now));
            assert_eq!(removed, Some((release, now)), "{api_version} {kind}");
            assert_eq!(removed_version(now, kind), None, "{now} {kind}");
        }
        assert_eq!(removed_version("autoscaling/v1", "HorizontalPodAutoscaler"), None);
        assert_eq!(removed_version("extensions/v1beta1", "Ingress"), None);
        assert_eq!(removed_version("apps/v1beta1", "ReplicaSet"), None);
    }

    #[test]
    fn newly_required_fields_belong_to_a_removed_version() {
        for (api_version, kinds, needs) in NEEDS {
            for kind in kinds {
                let removed = removed_version(api_version, kind).and_then(|it| it.needs);
                assert_eq!(removed, Some(needs), "{api_version} {kind}");
            }
        }
        // These kinds differ only in their names.
        for (api_version, kind) in [
            ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
            ("apps/v1beta2", "Deployment"),
            ("batch/v1beta1", "CronJob"),
        ] {
            assert_eq!(removed_version(api_version, kind).and_then(|it| it.needs), None, "{kind}");
        }
    }
}
