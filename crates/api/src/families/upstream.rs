//! The upstream projects of the kinds of policies, and the marks of their controllers in a cluster. All names are from
//! the sources of these projects:
//!
//! | upstream | marks | found in |
//! |---|---|---|
//! | Karpenter 0.1 | the Lease `karpenter-leader-election`, and its CRD of the kind: later Karpenters have a lease of the same name, and no such kinds | `cmd/controller/main.go` and `config/crd/bases` of aws/karpenter-provider-aws, before 0.2 |
//! | Karmada | the Lease `karmada-controller-manager` | `cmd/controller-manager/app/options/options.go` of karmada-io/karmada |
//! | Open Cluster Management | the Lease `placement-lock`: the component is called `placement` in all versions, and openshift/library-go adds `-lock` | `pkg/cmd/hub/placement.go` of open-cluster-management-io/ocm, before that `pkg/cmd/hub/controller.go` of open-cluster-management-io/placement; `pkg/controller/controllercmd/cmd.go` of openshift/library-go |
//!
//! Volcano's agent and the scheduler plugin of `ResourcePolicy` cannot be recognized. They have no Lease of their own:
//! the agent is a `DaemonSet`, and the plugin a part of kube-scheduler. The controllers search for the Leases.

/// The upstream controller of a family, and its marks in a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upstream {
    /// The name of the project.
    pub name: &'static str,
    /// The name of the controller's Lease, in any namespace.
    pub lease: &'static str,
    /// Whether the CRD of the kind must be from the project, because the Lease alone is ambiguous.
    pub by_definition: bool,
    /// Whether the controller writes conditions into the statuses of the objects. A condition of ours would replace
    /// them.
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
