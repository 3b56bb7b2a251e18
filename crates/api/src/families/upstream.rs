//! The projects that the kinds of policies come from, and the recognition of their controllers in a cluster. All names
//! are those in the sources of these projects:
//!
//! | upstream | marks | found in |
//! |---|---|---|
//! | Karpenter 0.1 | the Lease `karpenter-leader-election`, and its CRD of the kind: later Karpenters have a lease of the same name, and no such kinds | `cmd/controller/main.go` and `config/crd/bases` of aws/karpenter-provider-aws, before 0.2 |
//! | Karmada | the Lease `karmada-controller-manager` | `cmd/controller-manager/app/options/options.go` of karmada-io/karmada |
//! | Open Cluster Management | the Lease `placement-lock`: the component is called `placement` in all versions, and openshift/library-go adds `-lock` | `pkg/cmd/hub/placement.go` of open-cluster-management-io/ocm, before that `pkg/cmd/hub/controller.go` of open-cluster-management-io/placement; `pkg/controller/controllercmd/cmd.go` of openshift/library-go |
//!
//! Volcano's agent and the scheduler plugin of `ResourcePolicy` cannot be recognized: they have no lease of their own, as
//! one is a `DaemonSet` and the other a part of kube-scheduler. Looking for a lease is up to the controllers.

/// The upstream controller of a family, and its marks in a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upstream {
    /// Its project.
    pub name: &'static str,
    /// The name of its lease, in any namespace.
    pub lease: &'static str,
    /// Whether the CRD of the kind must be that of the project, because the lease alone is ambiguous.
    pub by_definition: bool,
    /// Whether it keeps conditions of its own in the objects' statuses, which a note of ours would replace.
    pub writes_conditions: bool,
}

pub(super) const KARPENTER: Upstream = Upstream {
    name: "Karpenter",
    lease: "karpenter-leader-election",
    by_definition: true,
    writes_conditions: false,
};

pub(super) const KARMADA: Upstream = Upstream {
    name: "Karmada",
    lease: "karmada-controller-manager",
    by_definition: false,
    writes_conditions: false,
};

pub(super) const OPEN_CLUSTER_MANAGEMENT: Upstream = Upstream {
    name: "Open Cluster Management",
    lease: "placement-lock",
    by_definition: false,
    writes_conditions: true,
};
