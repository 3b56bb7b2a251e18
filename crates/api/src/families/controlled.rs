//! The objects that controllers reconcile: the policies of each family, and groups of nodes, which are not policies.

use almanac_engine::Family;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use super::{DESCRIPTORS, Descriptor, KARPENTER, Process, Upstream};
use crate::kinds::{Kind, is_group_of_kubernetes};
use crate::objects::ScalableNodeGroup;

/// The objects that one controller reconciles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Controlled {
    /// The policies of a family.
    Policies(Family),
    /// Groups of nodes.
    NodeGroups,
}

impl Controlled {
    /// The objects of all controllers, in any process. Those that are reconciled by default come first.
    pub fn all() -> impl Iterator<Item = Self> {
        let all = || Family::ALL.into_iter().map(Self::Policies).chain([Self::NodeGroups]);
        all().filter(|it| it.is_by_default()).chain(all().filter(|it| !it.is_by_default()))
    }

    /// The kind of the objects.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Policies(family) => Kind::for_family(family),
            Self::NodeGroups => Kind::ScalableNodeGroup,
        }
    }

    /// The entry for a kind whose objects are reconciled, or read or written by a reconcile. `None` for Kubernetes' own
    /// kinds.
    #[must_use]
    pub fn for_kind(kind: Kind) -> Option<Controlled> {
        let using_family = || {
            let mut families = DESCRIPTORS.iter().filter(|_| !is_group_of_kubernetes(kind.group()));
            let it = families.find(|it| it.reads.contains(&kind) || it.writes.contains(&kind))?;
            Some(Self::Policies(it.family))
        };
        Self::all().find(|it| it.kind() == kind).or_else(using_family)
    }

    /// The command-line name of the objects.
    #[must_use]
    pub fn flag(self) -> &'static str {
        self.descriptor().map_or("scalable-node-group", |it| it.flag)
    }

    /// The upstream controller of the objects; `None` if it cannot be recognized.
    #[must_use]
    pub fn upstream(self) -> Option<Upstream> {
        self.descriptor().map_or(Some(KARPENTER), |it| it.upstream)
    }

    /// The process that reconciles the objects.
    #[must_use]
    pub fn process(self) -> Process {
        self.descriptor().map_or(Process::Controller { by_default: true }, |it| it.process)
    }

    /// Whether the controllers reconcile the objects by default.
    #[must_use]
    pub fn is_by_default(self) -> bool {
        self.process() == Process::Controller { by_default: true }
    }

    /// The CRDs of the kind of the objects and of its companion kinds.
    pub(crate) fn definitions(self) -> Vec<CustomResourceDefinition> {
        match self.descriptor() {
            Some(descriptor) => (descriptor.definitions)(),
            None => vec![ScalableNodeGroup::crd()],
        }
    }

    /// The reason that a process limited to some namespaces cannot reconcile the objects; `None` if it can.
    #[must_use]
    pub fn why_cluster_wide(self) -> Option<&'static str> {
        self.descriptor()?.why_cluster_wide
    }

    fn descriptor(self) -> Option<&'static Descriptor> {
        match self {
            Self::Policies(family) => Some(Descriptor::for_family(family)),
            Self::NodeGroups => None,
        }
    }
}

impl From<Family> for Controlled {
    fn from(family: Family) -> Self {
        Self::Policies(family)
    }
}
