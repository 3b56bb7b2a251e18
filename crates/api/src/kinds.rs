//! The kinds we read, and what to say about those that are nearly one of them.

/// Which of the kinds we know an object is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A number over time.
    MetricsProducer,
    /// Scales anything with a `scale` subresource by a query.
    HorizontalAutoscaler,
    /// A group of nodes with a `scale` subresource.
    ScalableNodeGroup,
    /// Cron rules that set replicas or bounds.
    CronFederatedHPA,
    /// An autoscaler over clusters; data that cron rules change.
    FederatedHPA,
    /// Kubernetes' own autoscaler; data that cron rules change.
    HorizontalPodAutoscaler,
    /// Anything of Kubernetes' own that has replicas.
    Workload,
}

struct Row {
    kind: Kind,
    group: &'static str,
    versions: &'static [&'static str],
    name: &'static str,
}

const KARPENTER: &str = "autoscaling.karpenter.sh";
const KARMADA: &str = "autoscaling.karmada.io";

const TABLE: &[Row] = &[
    Row {
        kind: Kind::MetricsProducer,
        group: KARPENTER,
        versions: &["v1alpha1"],
        name: "MetricsProducer",
    },
    Row {
        kind: Kind::HorizontalAutoscaler,
        group: KARPENTER,
        versions: &["v1alpha1"],
        name: "HorizontalAutoscaler",
    },
    Row {
        kind: Kind::ScalableNodeGroup,
        group: KARPENTER,
        versions: &["v1alpha1"],
        name: "ScalableNodeGroup",
    },
    Row {
        kind: Kind::CronFederatedHPA,
        group: KARMADA,
        versions: &["v1alpha1"],
        name: "CronFederatedHPA",
    },
    Row { kind: Kind::FederatedHPA, group: KARMADA, versions: &["v1alpha1"], name: "FederatedHPA" },
    Row {
        kind: Kind::HorizontalPodAutoscaler,
        group: "autoscaling",
        versions: &["v2", "v1"],
        name: "HorizontalPodAutoscaler",
    },
    Row { kind: Kind::Workload, group: "apps", versions: &["v1"], name: "Deployment" },
    Row { kind: Kind::Workload, group: "apps", versions: &["v1"], name: "StatefulSet" },
    Row { kind: Kind::Workload, group: "apps", versions: &["v1"], name: "ReplicaSet" },
    Row { kind: Kind::Workload, group: "", versions: &["v1"], name: "ReplicationController" },
];

/// What the table says about an `apiVersion` and a `kind`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Recognised {
    /// One of ours.
    Known(Kind),
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
pub(crate) fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}

/// Looks a kind up.
pub(crate) fn recognise(api_version: &str, kind: &str) -> Recognised {
    let (group, version) = group_and_version(api_version);
    let api = |row: &Row| match row.group {
        "" => row.versions[0].to_owned(),
        group => format!("{group}/{}", row.versions[0]),
    };
    if let Some(row) = TABLE.iter().find(|row| row.group == group && row.name == kind) {
        return if row.versions.contains(&version) {
            Recognised::Known(row.kind)
        } else {
            Recognised::Mistyped { field: "apiVersion", meant: api(row) }
        };
    }
    let ours = |group: &str| group == KARPENTER || group == KARMADA;
    if ours(group) {
        let rows = TABLE.iter().filter(|row| row.group == group);
        let meant = nearest(kind, rows.map(|row| row.name));
        let meant = meant.map_or_else(|| kinds_of(group), str::to_owned);
        return Recognised::Mistyped { field: "kind", meant };
    }
    let same_name = TABLE.iter().find(|row| row.name == kind);
    if let Some(row) = same_name
        && (ours(row.group) || api_version == "app/v1" || group.is_empty())
        && row.group != group
    {
        return Recognised::Mistyped { field: "apiVersion", meant: api(row) };
    }
    Recognised::Other
}

fn kinds_of(group: &str) -> String {
    let names: Vec<_> = TABLE.iter().filter(|row| row.group == group).map(|row| row.name).collect();
    names.join(" or ")
}

/// The name that was probably meant: few slips away, and nearer than any other.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = written.to_lowercase();
    names
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(slips, name)| *slips <= (name.len() / 3).clamp(1, 4))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistyped(field: &'static str, meant: &str) -> Recognised {
        Recognised::Mistyped { field, meant: meant.to_owned() }
    }

    #[test]
    fn kinds_are_recognised_by_group_version_and_name() {
        assert_eq!(recognise("apps/v1", "Deployment"), Recognised::Known(Kind::Workload));
        assert_eq!(recognise("batch/v1", "CronJob"), Recognised::Other);
        assert_eq!(recognise("v1", "ConfigMap"), Recognised::Other);
        assert_eq!(recognise("extensions/v1beta1", "Deployment"), Recognised::Other);
    }

    #[test]
    fn what_is_nearly_a_kind_of_ours_is_told_apart_from_others() {
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
        assert_eq!(
            recognise("autoscaling.karmada.io/v1alpha1", "Gadget"),
            mistyped("kind", "CronFederatedHPA or FederatedHPA")
        );
    }
}
