//! The kinds in Kubernetes' own API groups. Only Kubernetes adds kinds to these groups, so an unlisted kind with a
//! spelling similar to a listed kind is a typo. The table of kinds defines the role of each kind.

use super::names::nearest_within;

/// An API group of Kubernetes in which Almanac reads some kinds.
struct Group {
    name: &'static str,
    /// The kinds that Almanac reads.
    read: &'static [&'static str],
    /// All other kinds of Kubernetes 1.33 to 1.37, and the kinds of versions that were removed earlier.
    others: &'static [&'static str],
}

static GROUPS: [Group; 4] = [
    Group {
        name: "",
        read: &[
            "ConfigMap",
            "LimitRange",
            "Namespace",
            "Node",
            "Pod",
            "ReplicationController",
            "ResourceQuota",
        ],
        others: &[
            "APIGroup",
            "APIGroupList",
            "APIResourceList",
            "APIVersions",
            "Binding",
            "ComponentStatus",
            "Endpoints",
            "Event",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "PodTemplate",
            "RangeAllocation",
            "Secret",
            "SerializedReference",
            "Service",
            "ServiceAccount",
            "Status",
        ],
    },
    Group {
        name: "apps",
        read: &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
        others: &["ControllerRevision", "DeploymentRollback", "Scale"],
    },
    Group { name: "autoscaling", read: &["HorizontalPodAutoscaler"], others: &["Scale"] },
    Group { name: "batch", read: &["CronJob", "Job"], others: &["JobTemplate", "ScheduledJob"] },
];

/// The kind that was probably meant by a kind that the group does not have; only kinds that Almanac reads.
pub(super) fn near_kind(group: &str, kind: &str) -> Option<&'static str> {
    let Group { read, others, .. } = GROUPS.iter().find(|it| it.name == group)?;
    let known = read.iter().chain(*others).copied();
    // In a short name, two letters are half of it: `Job` is not meant by `Pod`.
    let most = |name: &str| (name.len() / 4).clamp(1, super::recognition::MAX_SLIPS);
    nearest_within(kind, known, most).filter(|meant| *meant != kind && read.contains(meant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::{Kind, is_group_of_ours};

    #[test]
    fn each_kind_of_the_table_outside_the_groups_of_policies_is_listed_as_read() {
        for kind in Kind::ALL.iter().filter(|it| !is_group_of_ours(it.group())) {
            let group = GROUPS.iter().find(|it| it.name == kind.group());
            assert!(
                group.is_some_and(|it| it.read.contains(&kind.name())),
                "{}",
                kind.display_name()
            );
        }
    }

    #[test]
    fn a_kind_that_its_group_has_is_not_a_slip() {
        for Group { name, read, others } in &GROUPS {
            for kind in read.iter().chain(*others) {
                assert_eq!(near_kind(name, kind), None, "{name} {kind}");
            }
        }
    }

    #[test]
    fn a_slip_of_a_kind_is_near_only_in_its_own_group() {
        for (group, kind, meant) in [
            ("apps", "Deploymnt", "Deployment"),
            ("apps", "deployments", "Deployment"),
            ("apps", "Statefulset", "StatefulSet"),
            ("batch", "Cronjob", "CronJob"),
            ("autoscaling", "HorizontalPodAutoScaler", "HorizontalPodAutoscaler"),
            ("", "Configmap", "ConfigMap"),
            ("", "ResourceQuotas", "ResourceQuota"),
            ("", "Nod", "Node"),
        ] {
            assert_eq!(near_kind(group, kind), Some(meant), "{group} {kind}");
            assert_eq!(near_kind("example.com", kind), None, "{kind}");
        }
        for (group, kind) in [
            ("apps", "Cronjob"),
            ("apps", "DeploymentConfig"),
            ("batch", "Pods"),
            ("", "Config"),
            ("", "Job"),
            ("", "Role"),
            ("", "Secrets"),
            ("", "Template"),
            ("policy", "PodDisruptionBudgets"),
        ] {
            assert_eq!(near_kind(group, kind), None, "{group} {kind}");
        }
    }
}
