//! Which kind an `apiVersion` and a `kind` mean, and what to say about those that are nearly one.

use super::{Kind, nearest};

/// What published examples write for the group `apps`.
pub(crate) const APPS_MISTYPED: &str = "app/v1";

/// The kinds in groups of policies that have nothing to do with them.
const NOT_OURS: [(&str, &str); 1] = [("cluster.open-cluster-management.io", "ClusterClaim")];

/// What the table says about an `apiVersion` and a `kind`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Recognised {
    /// One of ours.
    Supported(Kind),
    /// None of ours, and not meant to be as far as one can tell.
    Other,
    /// Nearly one of ours: the field that is wrong, and what it should be.
    Mistyped {
        /// `apiVersion` or `kind`.
        field: &'static str,
        /// What it should say.
        meant: String,
    },
}

/// Splits `apps/v1` into group and version; the core group is `""`.
#[must_use]
pub fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}

/// Whether a group is that of policies: of such a group we know every kind. That of `ConfigMaps` is not.
pub(crate) fn is_group_of_ours(group: &str) -> bool {
    !group.is_empty() && Kind::ALL.iter().any(|it| it.group() == group && it.is_policy())
}

/// Whether a group is one of Kubernetes' own, of which we know well enough what is not in it.
pub(crate) fn is_group_of_kubernetes(group: &str) -> bool {
    let is_of_table = Kind::ALL.iter().any(|it| it.group() == group) && !is_group_of_ours(group);
    is_of_table || group == "batch"
}

/// Looks a kind up.
pub(crate) fn recognise(api_version: &str, kind: &str) -> Recognised {
    let (group, version) = group_and_version(api_version);
    if let Some(known) = Kind::of(group, kind) {
        return if known.versions().contains(&version) {
            Recognised::Supported(known)
        } else {
            Recognised::Mistyped { field: "apiVersion", meant: known.api_version() }
        };
    }
    if NOT_OURS.contains(&(group, kind)) {
        return Recognised::Other;
    }
    if is_group_of_ours(group) {
        let kinds = || Kind::ALL.iter().filter(|it| it.group() == group).map(|it| it.name());
        let meant = nearest(kind, kinds()).map(str::to_owned);
        let meant = meant.unwrap_or_else(|| kinds().collect::<Vec<_>>().join(" or "));
        return Recognised::Mistyped { field: "kind", meant };
    }
    if let Some(known) = Kind::written(kind)
        && (is_group_of_ours(known.group()) || api_version == APPS_MISTYPED || group.is_empty())
    {
        return Recognised::Mistyped { field: "apiVersion", meant: known.api_version() };
    }
    Recognised::Other
}

impl Kind {
    /// The kind of this name, whatever group it is said to be of.
    pub(crate) fn written(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|it| it.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistyped(field: &'static str, meant: &str) -> Recognised {
        Recognised::Mistyped { field, meant: meant.to_owned() }
    }

    #[test]
    fn kinds_are_recognised_by_group_version_and_name() {
        for kind in Kind::ALL {
            assert_eq!(recognise(&kind.api_version(), kind.name()), Recognised::Supported(*kind));
        }
        let older = recognise("autoscaling/v1", "HorizontalPodAutoscaler");
        assert_eq!(older, Recognised::Supported(Kind::HorizontalPodAutoscaler));
        assert_eq!(recognise("batch/v1", "CronJob"), Recognised::Other);
        assert_eq!(recognise("v1", "Secret"), Recognised::Other);
        assert_eq!(recognise("extensions/v1beta1", "Deployment"), Recognised::Other);
        assert_eq!(recognise("apps/v1", "ReplicationController"), Recognised::Other);
    }

    #[test]
    fn a_near_miss_of_our_kinds_is_distinguished_from_other_kinds() {
        assert_eq!(
            recognise("autoscaling.karmada.io/v1", "CronFederatedHPA"),
            mistyped("apiVersion", "autoscaling.karmada.io/v1alpha1")
        );
        assert_eq!(
            recognise("autoscaling.karmada.io/v1alpha1", "CronFederatedHpa"),
            mistyped("kind", "CronFederatedHPA")
        );
        assert_eq!(
            recognise("autoscaling.karmada.com/v1alpha1", "FederatedHPA"),
            mistyped("apiVersion", "autoscaling.karmada.io/v1alpha1")
        );
        assert_eq!(recognise("app/v1", "Deployment"), mistyped("apiVersion", "apps/v1"));
        assert_eq!(recognise("v1", "Deployment"), mistyped("apiVersion", "apps/v1"));
        assert_eq!(
            recognise("autoscaling.karmada.io/v1alpha1", "Gadget"),
            mistyped("kind", "CronFederatedHPA or FederatedHPA")
        );
    }
}
