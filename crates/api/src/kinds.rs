//! The known kinds: their names and roles.
//!
//! The table has one row for each kind: the only definition of its names, and of the processes that watch its objects.
//! The module `recognition` handles near misses; the descriptor of a family lists the kinds that it reads and writes.

mod built_in;
mod names;
mod recognition;
mod requests;

use almanac_engine::{Family, Identity};

pub use names::kind_named;
pub(crate) use names::nearest;
pub use recognition::group_and_version;
pub(crate) use recognition::{
    APPS_MISTYPED, Recognition, RemovedVersion, is_group_of_kubernetes, is_group_of_ours,
    is_nearly_ours, near_kind, recognize, removed_version,
};

/// The role of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The objects are policies of a family.
    Policy(Family),
    /// Placements select from the objects, or write their decisions into them.
    Hub,
    /// The objects have bounds, which policies set.
    Bounds,
    /// The objects have replicas, which policies set.
    Workload {
        /// The default number of replicas; `None` if unknown.
        absent_replicas: Option<u32>,
    },
}

/// The table entry of one kind.
struct Row {
    group: &'static str,
    versions: &'static [&'static str],
    name: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    namespaced: bool,
    role: Role,
    /// See [`Kind::is_followed`].
    is_followed: bool,
    /// See [`Kind::is_compared`].
    is_compared: bool,
}

/// Writes the table once: the enum, the list of all, and the row of each.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident {
        group: $group:expr, versions: $versions:expr, plural: $plural:literal,
        short: $short:expr, namespaced: $namespaced:literal, role: $role:expr,
        followed: $followed:literal, compared: $compared:literal $(,)?
    })+) => {
        /// A kind that Almanac reads.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Kind] = &[$(Kind::$kind,)+];

            fn row(self) -> &'static Row {
                match self {
                    $(Kind::$kind => const {
                        &Row {
                            group: $group,
                            versions: &$versions,
                            name: stringify!($kind),
                            plural: $plural,
                            short_names: &$short,
                            namespaced: $namespaced,
                            role: $role,
                            is_followed: $followed,
                            is_compared: $compared,
                        }
                    },)+
                }
            }
        }
    };
}

const KARPENTER: &str = "autoscaling.karpenter.sh";
const KARMADA: &str = "autoscaling.karmada.io";
const CLUSTERS: &str = "cluster.open-cluster-management.io";
const ONE_BY_DEFAULT: Role = Role::Workload { absent_replicas: Some(1) };

kinds! {
    /// A number over time.
    MetricsProducer {
        group: KARPENTER, versions: ["v1alpha1"], plural: "metricsproducers",
        short: ["mp"], namespaced: true, role: Role::Policy(Family::ScheduledCapacity),
        followed: false, compared: false,
    }
    /// Scales anything with a `scale` subresource by a query.
    HorizontalAutoscaler {
        group: KARPENTER, versions: ["v1alpha1"], plural: "horizontalautoscalers",
        short: ["ha"], namespaced: true, role: Role::Policy(Family::MetricScaling),
        followed: false, compared: true,
    }
    /// A group of nodes with a `scale` subresource. A group without a number of replicas keeps its nodes.
    ScalableNodeGroup {
        group: KARPENTER, versions: ["v1alpha1"], plural: "scalablenodegroups",
        short: ["sng"], namespaced: true, role: Role::Workload { absent_replicas: None },
        followed: true, compared: false,
    }
    /// Cron rules that set replicas or bounds.
    CronFederatedHPA {
        group: KARMADA, versions: ["v1alpha1"], plural: "cronfederatedhpas",
        short: ["cronfhpa"], namespaced: true, role: Role::Policy(Family::CronScaling),
        followed: false, compared: true,
    }
    /// Strings by key. Only the `ConfigMaps` of Volcano's agent are of interest: see [`Kind::is_of_interest`].
    ConfigMap {
        group: "", versions: ["v1"], plural: "configmaps",
        short: ["cm"], namespaced: true, role: Role::Policy(Family::QosLevels),
        followed: false, compared: false,
    }
    /// Selects clusters.
    Placement {
        group: CLUSTERS, versions: ["v1beta1", "v1alpha1"], plural: "placements",
        short: [], namespaced: true, role: Role::Policy(Family::Placement),
        followed: false, compared: false,
    }
    /// A cluster that is registered at a hub.
    ManagedCluster {
        group: CLUSTERS, versions: ["v1"], plural: "managedclusters",
        short: ["mcl", "mcls"], namespaced: false, role: Role::Hub,
        followed: false, compared: false,
    }
    /// A set of clusters.
    ManagedClusterSet {
        group: CLUSTERS, versions: ["v1beta2", "v1beta1"], plural: "managedclustersets",
        short: ["mclset", "mclsets"], namespaced: false, role: Role::Hub,
        followed: false, compared: false,
    }
    /// Lets the placements of a namespace select from a set.
    ManagedClusterSetBinding {
        group: CLUSTERS, versions: ["v1beta2", "v1beta1"], plural: "managedclustersetbindings",
        short: ["mclsetbinding", "mclsetbindings"], namespaced: true, role: Role::Hub,
        followed: false, compared: false,
    }
    /// Scores of the cluster to which its namespace belongs.
    AddOnPlacementScore {
        group: CLUSTERS, versions: ["v1alpha1"], plural: "addonplacementscores",
        short: [], namespaced: true, role: Role::Hub,
        followed: false, compared: false,
    }
    /// The clusters that a placement has selected.
    PlacementDecision {
        group: CLUSTERS, versions: ["v1beta1", "v1alpha1"], plural: "placementdecisions",
        short: [], namespaced: true, role: Role::Hub,
        followed: false, compared: false,
    }
    /// Units of nodes that pods fill in order.
    ResourcePolicy {
        group: "scheduling.sigs.x-k8s.io", versions: ["v1alpha1"], plural: "resourcepolicies",
        short: ["rp"], namespaced: true, role: Role::Policy(Family::Units),
        followed: false, compared: true,
    }
    /// An autoscaler over clusters; data that cron rules change.
    FederatedHPA {
        group: KARMADA, versions: ["v1alpha1"], plural: "federatedhpas",
        short: ["fhpa"], namespaced: true, role: Role::Bounds,
        followed: true, compared: true,
    }
    /// Kubernetes' own autoscaler; data that cron rules change.
    HorizontalPodAutoscaler {
        group: "autoscaling", versions: ["v2", "v1"], plural: "horizontalpodautoscalers",
        short: ["hpa"], namespaced: true, role: Role::Bounds,
        followed: true, compared: true,
    }
    /// Kubernetes' own, for long-running services.
    Deployment {
        group: "apps", versions: ["v1"], plural: "deployments",
        short: ["deploy"], namespaced: true, role: ONE_BY_DEFAULT,
        followed: true, compared: true,
    }
    /// Kubernetes' own, for pods with stable names and volumes.
    StatefulSet {
        group: "apps", versions: ["v1"], plural: "statefulsets",
        short: ["sts"], namespaced: true, role: ONE_BY_DEFAULT,
        followed: true, compared: true,
    }
    /// Kubernetes' own, usually created by a Deployment.
    ReplicaSet {
        group: "apps", versions: ["v1"], plural: "replicasets",
        short: ["rs"], namespaced: true, role: ONE_BY_DEFAULT,
        followed: false, compared: false,
    }
    /// The predecessor of `ReplicaSets`.
    ReplicationController {
        group: "", versions: ["v1"], plural: "replicationcontrollers",
        short: ["rc"], namespaced: true, role: ONE_BY_DEFAULT,
        followed: false, compared: false,
    }
}

impl Kind {
    /// The kind with this name in this group, in any version.
    #[must_use]
    pub fn find(group: &str, kind: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|it| it.name() == kind && it.group() == group)
    }

    /// The kind of an object; `None` for a kind that Almanac does not read.
    #[must_use]
    pub fn for_object(object: &Identity) -> Option<Kind> {
        Kind::find(object.group(), object.kind())
    }

    /// The kind whose objects are the policies of a family.
    #[must_use]
    pub fn for_family(family: Family) -> Kind {
        let is_of_family = |kind: &Kind| kind.family() == Some(family);
        // A test proves that every family has a kind.
        Kind::ALL.iter().copied().find(is_of_family).unwrap_or(Kind::ConfigMap)
    }

    /// The family, if the objects of the kind are policies.
    #[must_use]
    pub fn family(self) -> Option<Family> {
        match self.role() {
            Role::Policy(family) => Some(family),
            Role::Hub | Role::Bounds | Role::Workload { .. } => None,
        }
    }

    /// Whether the kind is of a policy, or in an API group of policies. All mistakes in such objects are reported.
    #[must_use]
    pub(crate) fn is_ours(self) -> bool {
        self.is_policy() || is_group_of_ours(self.group())
    }

    /// Whether Open Cluster Management defines the kind. Our CRD must not replace that CRD.
    pub(crate) fn is_defined_by_hub(self) -> bool {
        self.group() == CLUSTERS
    }

    /// Whether all objects of the kind are watched once a policy scales one of them. Objects of other kinds are read on
    /// demand, which needs no permission to list them.
    #[must_use]
    pub fn is_followed(self) -> bool {
        self.row().is_followed
    }

    /// Whether an object of the kind may be wrong because of another object. Mistakes in objects of other kinds do not
    /// depend on other objects.
    #[must_use]
    pub fn is_compared(self) -> bool {
        self.row().is_compared
    }

    /// Whether policies of the kind depend on all pods and nodes.
    #[must_use]
    pub fn reads_pods(self) -> bool {
        matches!(self.family(), Some(Family::QosLevels | Family::Units))
    }

    /// Whether objects of the kind affect other namespaces. The `ConfigMap` of the agent is not in the namespaces of
    /// the pods, scores are in the namespaces of their clusters, and Balance counts all decisions.
    #[must_use]
    pub fn counts_everywhere(self) -> bool {
        matches!(self, Kind::ConfigMap | Kind::AddOnPlacementScore | Kind::PlacementDecision)
    }

    /// Whether the objects of the kind are policies.
    #[must_use]
    pub fn is_policy(self) -> bool {
        self.family().is_some()
    }

    /// The role of the kind for policies.
    #[must_use]
    pub fn role(self) -> Role {
        self.row().role
    }

    /// The API group, `""` for the core group.
    #[must_use]
    pub fn group(self) -> &'static str {
        self.row().group
    }

    /// The versions that Almanac reads, the usual version first.
    #[must_use]
    pub fn versions(self) -> &'static [&'static str] {
        self.row().versions
    }

    /// The usual version.
    #[must_use]
    pub fn version(self) -> &'static str {
        self.versions().first().copied().unwrap_or_default()
    }

    /// The group and the usual version: `apps/v1`, or `v1` for the core group.
    #[must_use]
    pub fn api_version(self) -> String {
        match (self.group(), self.version()) {
            ("", version) => version.to_owned(),
            (group, version) => format!("{group}/{version}"),
        }
    }

    /// The name of the kind in manifests: `Deployment`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The plural resource name: `deployments`.
    #[must_use]
    pub fn plural(self) -> &'static str {
        self.row().plural
    }

    /// The short names for kubectl, such as `deploy`.
    #[must_use]
    pub fn short_names(self) -> &'static [&'static str] {
        self.row().short_names
    }

    /// Whether the kind is namespaced.
    #[must_use]
    pub fn is_namespaced(self) -> bool {
        self.row().namespaced
    }

    /// The identity of an object of the kind.
    #[must_use]
    pub fn identity(self, namespace: &str, name: &str) -> Identity {
        let namespace = if self.is_namespaced() { namespace } else { "" };
        Identity::new(self.group(), self.name(), namespace, name)
    }
}
