//! The kinds of objects that the tests of the controller create, with their paths, and the published numbers.

use almanac_fixtures::designs;

/// A kind of objects, with the parts of its paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// The API group and version: `/apis/apps/v1`.
    pub(crate) root: &'static str,
    /// The resource: `deployments`.
    pub(crate) plural: &'static str,
}

pub(crate) const CRON_VERSION: &str = almanac_fixtures::objects::KARMADA;
pub(crate) const CRON: Kind =
    Kind { root: "/apis/autoscaling.karmada.io/v1alpha1", plural: "cronfederatedhpas" };
pub(crate) const FEDERATED: Kind =
    Kind { root: "/apis/autoscaling.karmada.io/v1alpha1", plural: "federatedhpas" };
pub(crate) const HORIZONTAL: Kind =
    Kind { root: "/apis/autoscaling/v2", plural: "horizontalpodautoscalers" };
pub(crate) const DEPLOYMENT: Kind = Kind { root: "/apis/apps/v1", plural: "deployments" };
pub(crate) const STATEFUL: Kind = Kind { root: "/apis/apps/v1", plural: "statefulsets" };
pub(crate) const PRODUCER: Kind =
    Kind { root: "/apis/autoscaling.karpenter.sh/v1alpha1", plural: "metricsproducers" };
pub(crate) const AUTOSCALER: Kind =
    Kind { root: "/apis/autoscaling.karpenter.sh/v1alpha1", plural: "horizontalautoscalers" };
pub(crate) const NODE_GROUP: Kind =
    Kind { root: "/apis/autoscaling.karpenter.sh/v1alpha1", plural: "scalablenodegroups" };
pub(crate) const NODE: Kind = Kind { root: "/api/v1", plural: "nodes" };
pub(crate) const DEFINITION: Kind =
    Kind { root: "/apis/apiextensions.k8s.io/v1", plural: "customresourcedefinitions" };
pub(crate) const LEASE: Kind = Kind { root: "/apis/coordination.k8s.io/v1", plural: "leases" };

impl Kind {
    /// The path of all objects of the kind in a namespace, or in all namespaces if the namespace is empty.
    pub(crate) fn collection(self, namespace: &str) -> String {
        let Self { root, plural } = self;
        if namespace.is_empty() {
            format!("{root}/{plural}")
        } else {
            format!("{root}/namespaces/{namespace}/{plural}")
        }
    }

    /// The path of an object.
    pub(crate) fn path(self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

/// The example of the design of scheduled capacity.
pub(crate) fn schedule_of_the_design() -> String {
    designs::cured(designs::SCHEDULE)
}
